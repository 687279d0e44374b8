"""pyarrow on the same data files, one after the other: no table format, no deletes, no merge. The limit of reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("pyarrow",)


def read_files(target: Target) -> Callable[[], pa.Table]:
    files = target.data_files
    # Not those that Paimon adds to merge by.
    columns = [name for name in pq.read_schema(files[0]).names if not name.startswith("_")]
    return lambda: pa.concat_tables(pq.ParquetFile(file).read(columns) for file in files)


def stream_files(target: Target) -> Callable[[], dict[str, float]]:
    """The same, but no file is held longer than it takes to read it."""
    files = target.data_files
    return lambda: {"rows": sum(pq.ParquetFile(file).read().num_rows for file in files)}
