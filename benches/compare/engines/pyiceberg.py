"""PyIceberg with pyiceberg-core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyiceberg.io.pyarrow  # noqa: F401 - is imported by what is timed
from pyiceberg.expressions import AlwaysTrue, And, EqualTo, GreaterThanOrEqual, LessThan
from pyiceberg.table import StaticTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("pyiceberg", "pyiceberg-core")


def list_files(target: Target) -> Callable[[], dict[str, float]]:
    return _plan(target, AlwaysTrue())


def filter_bounds(target: Target) -> Callable[[], dict[str, float]]:
    return _plan(target, EqualTo("l3", -1))


def filter_partition(target: Target) -> Callable[[], dict[str, float]]:
    start, end = (time.isoformat() for time in target.day)
    of_day = And(GreaterThanOrEqual("ts", start), LessThan("ts", end))
    return _plan(target, And(EqualTo("id", target.absent_id), of_day))


def read_rows(target: Target) -> Callable[[], pa.Table]:
    # pyarrow imports pandas here, which is not to be timed.
    pa.chunked_array(values for values in [[1]])
    return lambda: StaticTable.from_metadata(target.location).scan().to_arrow()


def deletion_mask(target: Target) -> Callable[[], pa.Array]:
    import numpy as np
    from pyiceberg.table.deletion_vector import DeletionVector

    from targets import deletion_vector

    pa.chunked_array(values for values in [[1]])
    # What follows the length and the magic number; the CRC is left out.
    vector = deletion_vector(target.rows)[8:-4]

    def run() -> pa.Array:
        positions = DeletionVector("file", DeletionVector._deserialize_bitmap(vector)).to_vector()  # noqa: SLF001
        kept = np.ones(target.rows, bool)
        kept[positions.combine_chunks().to_numpy(zero_copy_only=False)] = False
        return pa.array(kept)

    return run


def _plan(target: Target, row_filter: Any) -> Callable[[], dict[str, float]]:
    def run() -> dict[str, float]:
        tasks = list(StaticTable.from_metadata(target.location).scan(row_filter=row_filter).plan_files())
        return {"files": len(tasks), "deletes": sum(len(task.delete_files) for task in tasks)}

    return run
