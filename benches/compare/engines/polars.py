"""Polars with polars-iceberg, its own query planner."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from targets import Target

PACKAGES = ("polars", "polars-iceberg")


def list_files(target: Target) -> Callable[[], dict[str, float]]:
    """Measure the time until the first data file is missed, because no call only plans."""

    def run() -> dict[str, float]:
        with suppress(FileNotFoundError):
            pl.scan_iceberg(target.location).collect()
        return {}

    return run


def filter_bounds(target: Target) -> Callable[[], dict[str, float]]:
    return _count(target, pl.col("l3") == -1)


def filter_partition(target: Target) -> Callable[[], dict[str, float]]:
    start, end = target.day
    return _count(target, (pl.col("id") == target.absent_id) & (pl.col("ts") >= start) & (pl.col("ts") < end))


def _count(target: Target, predicate: pl.Expr) -> Callable[[], dict[str, float]]:
    """Count the rows of a filter that matches no file, so that the count is 0."""
    return lambda: {"files": pl.scan_iceberg(target.location).filter(predicate).select(pl.len()).collect().item()}


def read_rows(target: Target) -> Callable[[], pa.Table]:
    return lambda: pl.scan_iceberg(target.location).collect().to_arrow()
