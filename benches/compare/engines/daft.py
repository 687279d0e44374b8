"""Daft, which plans through PyIceberg."""

from __future__ import annotations

from typing import TYPE_CHECKING

import daft
import pyarrow as pa
from daft.functions import partition_iceberg_bucket

from targets import int64s, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("daft", "pyiceberg")


def bucket_int64(target: Target) -> Callable[[], pa.ChunkedArray]:
    return _bucket(int64s(target.rows))


def bucket_string(target: Target) -> Callable[[], pa.ChunkedArray]:
    return _bucket(strings(target.rows))


def _bucket(values: pa.Array) -> Callable[[], pa.ChunkedArray]:
    frame = daft.from_arrow(pa.table({"a": values})).collect()
    buckets = partition_iceberg_bucket(daft.col("a"), 64).alias("b")
    return lambda: frame.select(buckets).to_arrow().column("b")


def read_rows(target: Target) -> Callable[[], pa.Table]:
    from pyiceberg.table import StaticTable

    return lambda: daft.read_iceberg(StaticTable.from_metadata(target.location)).to_arrow()
