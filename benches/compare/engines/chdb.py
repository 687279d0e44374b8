"""ClickHouse, embedded by chdb. It counts rows, not files, so only filters that match nothing are compared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import chdb
import pyarrow as pa

from targets import int64s, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("chdb", "chdb-core")


def filter_bounds(target: Target) -> Callable[[], dict[str, float]]:
    return _count(target, "l3 = -1")


def filter_partition(target: Target) -> Callable[[], dict[str, float]]:
    start, end = (f"toDateTime64('{time:%Y-%m-%d %H:%M:%S}', 6, 'UTC')" for time in target.day)
    return _count(target, f"id = {target.absent_id} and ts >= {start} and ts < {end}")


def _count(target: Target, predicate: str) -> Callable[[], dict[str, float]]:
    query = f"select count() from {_table(target)} where {predicate}"  # noqa: S608 - our own text
    return lambda: {"files": int(str(chdb.query(query, "CSV")))}


def _table(target: Target) -> str:
    # chdb reads only files below the working directory.
    os.chdir(target.shared)
    return f"icebergLocal('{target.folder}')"


def read_rows(target: Target) -> Callable[[], pa.Table]:
    query = f"select * from {_table(target)}"  # noqa: S608 - our own text
    return lambda: chdb.query(query, "ArrowTable")


def stream_rows(target: Target) -> Callable[[], dict[str, float]]:
    """Aggregate all columns of the rows without returning any, which is less work than a stream."""
    sums = "count(), sum(id), sum(d), sum(v), max(s), max(ts)"
    query = f"select {sums} from {_table(target)}"  # noqa: S608 - our own text
    return lambda: {"rows": int(str(chdb.query(query, "CSV")).split(",")[0])}


def bucket_int64(target: Target) -> Callable[[], dict[str, float]]:
    return _bucket(int64s(target.rows))


def bucket_string(target: Target) -> Callable[[], dict[str, float]]:
    return _bucket(strings(target.rows))


def _bucket(array: pa.Array) -> Callable[[], dict[str, float]]:
    def run() -> dict[str, float]:
        values = pa.table({"a": array})  # noqa: F841 - the query names it
        return {"sum": int(str(chdb.query("select sum(icebergBucket(64, a)) from Python(values)", "CSV")))}

    return run
