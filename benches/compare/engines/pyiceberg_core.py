"""The transforms of iceberg-rust, from its Python package."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyiceberg_core.transform import bucket

from targets import int64s, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from targets import Target

PACKAGES = ("pyiceberg-core",)


def bucket_int64(target: Target) -> Callable[[], pa.Array]:
    return partial(bucket, int64s(target.rows), 64)


def bucket_string(target: Target) -> Callable[[], pa.Array]:
    return partial(bucket, strings(target.rows), 64)
