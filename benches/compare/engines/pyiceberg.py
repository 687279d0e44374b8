"""PyIceberg with pyiceberg-core. It deletes and upserts by rewriting files.

Writes go to separate tables below `written`, in an in-memory catalog, with the same files as the existing tables.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyiceberg.io.pyarrow  # noqa: F401 - is imported by what is timed
from pyiceberg.expressions import AlwaysTrue, And, EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan
from pyiceberg.table import StaticTable
from pyiceberg.transforms import BucketTransform

from targets import all_rows, last_merged, merge_source, scattered_ids

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
    # pyarrow imports pandas here, which must not be timed.
    pa.chunked_array(values for values in [[1]])
    return lambda: StaticTable.from_metadata(target.location).scan().to_arrow()


def deletion_mask(target: Target) -> Callable[[], pa.Array]:
    import numpy as np
    from pyiceberg.table.deletion_vector import DeletionVector

    from targets import deletion_vector

    pa.chunked_array(values for values in [[1]])
    # The bytes after the length and the magic number, without the CRC.
    vector = deletion_vector(target.rows)[8:-4]

    def run() -> pa.Array:
        positions = DeletionVector("file", DeletionVector._deserialize_bitmap(vector)).to_vector()  # noqa: SLF001
        kept = np.ones(target.rows, bool)
        kept[positions.combine_chunks().to_numpy(zero_copy_only=False)] = False
        return pa.array(kept)

    return run


def append_rows(target: Target) -> Callable[[], dict[str, float]]:
    rows = all_rows(target)
    table = _catalog(target).create_table("default.rows", rows.schema)
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(8))

    def run() -> dict[str, float]:
        table.append(rows)
        return {"rows": rows.num_rows}

    return run


def delete_ids(target: Target) -> Callable[[], dict[str, float]]:
    table, ids = _own_table(target), scattered_ids(target).to_pylist()

    def run() -> dict[str, float]:
        before = _rows(table)
        table.delete(In("id", ids))
        return {"deleted": before - _rows(table)}

    return run


def merge_on_write(target: Target) -> Callable[[], dict[str, float]]:
    table, source = _own_table(target), merge_source(target)
    table.delete(GreaterThan("ts", last_merged(target).isoformat()))

    def run() -> dict[str, float]:
        result = table.upsert(source, join_cols=["id"])
        return {"updated": result.rows_updated, "inserted": result.rows_inserted}

    return run


def append_file(target: Target) -> Callable[[], dict[str, float]]:
    table = _own_table(target)
    # The columns that the table of one million files requires.
    row = {"id": 1, "ts": dt.datetime(2025, 1, 1, tzinfo=dt.UTC)}
    rows = pa.Table.from_pylist([row], table.schema().as_arrow())

    def run() -> dict[str, float]:
        table.append(rows)
        return {"rows_added": rows.num_rows, "files_added": 1}

    return run


def _plan(target: Target, row_filter: Any) -> Callable[[], dict[str, float]]:
    def run() -> dict[str, float]:
        tasks = list(StaticTable.from_metadata(target.location).scan(row_filter=row_filter).plan_files())
        return {"files": len(tasks), "deletes": sum(len(task.delete_files) for task in tasks)}

    return run


def _rows(table: Any) -> int:
    """Return the number of rows in the summary of the snapshot."""
    return int(table.current_snapshot().summary["total-records"])


def _own_table(target: Target) -> Any:
    """Return a writable table of the same files."""
    catalog, folder = _catalog(target), Path(_folder(target)) / "own"
    (folder / "metadata").mkdir(parents=True)
    metadata = json.loads(Path(target.location).read_text())
    metadata["location"] = str(folder)
    file = folder / "metadata" / "00000-own.metadata.json"
    file.write_text(json.dumps(metadata))
    return catalog.register_table("default.own", str(file))


def _catalog(target: Target) -> Any:
    from pyiceberg.catalog.memory import InMemoryCatalog

    folder = _folder(target)
    shutil.rmtree(folder, ignore_errors=True)
    catalog = InMemoryCatalog("bench", warehouse=folder)
    catalog.create_namespace("default")
    return catalog


def _folder(target: Target) -> str:
    return str(Path(target.tables) / "written" / "pyiceberg")
