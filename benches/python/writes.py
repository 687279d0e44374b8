"""Write jobs of frazil, end to end, like `jobs`. Output goes to `written` below the folder of the tables.

Existing tables are not changed: a job writes to a separate table that has the same files.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from targets import PAIMON_ROWS, Target, all_rows, last_merged, merge_source, scattered_ids, some_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil._write_result import WriteResult

ON_READ = {"write.delete.mode": "merge-on-read", "write.merge.mode": "merge-on-read"}
LOGGED_ROWS, MARKED_ROWS = 1_000_000, 10_000_000
ONE_ROW = [{"id": 1, "ts": dt.datetime(2025, 1, 1, tzinfo=dt.UTC)}]


def append_rows(target: Target) -> Callable[[], dict[str, float]]:
    """Append all rows, which are in memory, to a bucketed table."""
    _warm_up(target)
    rows = all_rows(target)
    table = frazil.create_table(_folder(target), rows.schema, partition_by=["bucket(8, id)"])
    return lambda: {"rows": table.append(rows).added_records}


def delete_ids(target: Target) -> Callable[[], dict[str, float]]:
    """Delete scattered rows by an `IN` of their ids."""
    table = _own_table(target, ON_READ)
    row_filter = f"id IN ({', '.join(map(str, scattered_ids(target).to_pylist()))})"
    return lambda: _changed(table.delete(row_filter))


def delete_joined(target: Target) -> Callable[[], dict[str, float]]:
    """Delete the same rows by merging with a table of their ids."""
    table = _own_table(target, ON_READ)
    ids = pa.table({"id": scattered_ids(target)})
    return lambda: _changed(table.merge(ids, on=["id"]).when_matched_delete().execute())


def merge_on_read(target: Target) -> Callable[[], dict[str, float]]:
    """Upsert rows into the first half, by delete files and new data files."""
    return _merge(target, "merge-on-read")


def merge_on_write(target: Target) -> Callable[[], dict[str, float]]:
    """Upsert rows into the first half, whose files are rewritten."""
    return _merge(target, "copy-on-write")


def append_file(target: Target) -> Callable[[], dict[str, float]]:
    """Append one row without merging manifests."""
    table = _own_table(target)
    return lambda: _added(table.append(ONE_ROW, fast=True))


def append_merging(target: Target) -> Callable[[], dict[str, float]]:
    """Append one row, and merge the manifests."""
    table = _own_table(target)
    return lambda: _added(table.append(ONE_ROW))


def append_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Append rows, which are in memory, to a Paimon table without a key."""
    rows = some_rows(target)
    table = _paimon(target, rows.schema)
    return lambda: {"rows": table.append(rows).added_records}


def upsert_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Upsert rows, which are in memory, into a Paimon table with four buckets."""
    rows = some_rows(target)
    table = _paimon(target, rows.schema, primary_keys=["id"], options={"bucket": "4"})
    return lambda: {"rows": table.append(rows).added_records}


def compact_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Merge the sorted runs of five writes of all keys."""
    rows = some_rows(target).slice(0, PAIMON_ROWS // 5)
    table = _paimon(target, rows.schema, primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for _ in range(5):
        table.append(rows)
    return lambda: {"rows": table.compact().added_records}


def log_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Upsert a tenth of the rows of a table that looks up what they replace, and write the changelog."""
    return _upsert_again(target, LOGGED_ROWS, {"bucket": "1", "changelog-producer": "lookup"})


def mark_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Upsert a tenth of the rows of a table with deletion vectors, which mark the replaced rows."""
    return _upsert_again(target, MARKED_ROWS, {"bucket": "1", "deletion-vectors.enabled": "true"})


def assign_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Upsert rows into a Paimon table with dynamic buckets."""
    rows = all_rows(target).slice(0, MARKED_ROWS)
    table = _paimon(target, rows.schema, primary_keys=["id"])
    return lambda: {"rows": table.append(rows).added_records}


def _upsert_again(target: Target, count: int, options: dict[str, str]) -> Callable[[], dict[str, float]]:
    """Append rows to an empty table, and upsert each tenth row of them again."""
    rows = all_rows(target).slice(0, count)
    table = _paimon(target, rows.schema, primary_keys=["id"], options=options)
    table.append(rows)
    some = pa.concat_tables([rows.slice(start, count // 100) for start in range(0, count, count // 10)])
    return lambda: {"rows": table.append(some).added_records}


def append_paimon_row(target: Target) -> Callable[[], dict[str, float]]:
    """Append a row after 1,000 snapshots."""
    table = _paimon(target, pa.Table.from_pylist(ONE_ROW).schema)
    for _ in range(1_000):
        table.append(ONE_ROW)
    return lambda: {"rows": table.append(ONE_ROW).added_records}


def update_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Update scattered rows of a Paimon table with a primary key by an `IN` of their keys."""
    rows = some_rows(target)
    table = _paimon(target, rows.schema, primary_keys=["id"], options={"bucket": "4"})
    table.append(rows)
    ids = rows.column("id").take(pa.array(range(0, rows.num_rows, rows.num_rows // 1_000))).to_pylist()
    row_filter = f"id IN ({', '.join(map(str, ids))})"
    return lambda: {"updated": table.update({"ts": dt.datetime(2025, 1, 1, tzinfo=dt.UTC)}, row_filter).updated_rows}


def expire_paimon(target: Target) -> Callable[[], dict[str, float]]:
    """Expire 999 snapshots of one file each."""
    table = _paimon(target, pa.Table.from_pylist(ONE_ROW).schema)
    for _ in range(1_000):
        table.append(ONE_ROW)
    count = {"retain_min": 1, "retain_max": 1, "max_deletes": 1_000}
    return lambda: {"snapshots": len(table.expire_snapshots(**count).apply().snapshot_ids)}


def find_orphans(target: Target) -> Callable[[], dict[str, float]]:
    """Find and delete 100 files that no snapshot references, among 20,000 that one references."""
    rows = pa.table({"id": range(20_000), "part": [number % 100 for number in range(20_000)]})
    table = _paimon(target, rows.schema, partition_keys=["part"], options={"bucket": "200", "bucket-key": "id"})
    table.append(rows)
    folders = sorted(Path(table.location.removeprefix("file:")).glob("part=*/bucket-0"))
    for number in range(100):
        orphan = folders[number % len(folders)] / f"data-orphan-{number}.parquet"
        orphan.write_bytes(b"x")
        os.utime(orphan, (0, 0))
    return lambda: {"files": table.remove_orphan_files().apply().deleted_files}


def _paimon(target: Target, schema: pa.Schema, **arguments: Any) -> Any:
    """Return an empty Paimon table; lazily imported modules are imported first."""
    frazil.config.allowed_locations = [target.shared, target.tables]
    for name in ("warm-up", "table"):
        table: Any = frazil.create_table(_folder(target, name), schema, format="paimon", **arguments)
        table.append(schema.empty_table())
    return table


def _merge(target: Target, mode: str) -> Callable[[], dict[str, float]]:
    table = table_to_merge(target, mode)
    source = merge_source(target)
    return lambda: _changed(table.upsert(source, ["id"]))


def table_to_merge(target: Target, mode: str) -> Any:
    """Return a writable table of the first half of the files: `table` in the folder `written`, next to `warm-up`."""
    table = _own_table(target, {"write.merge.mode": mode})
    # The times of consecutive files do not overlap.
    table.delete(f"ts > TIMESTAMP '{last_merged(target):%Y-%m-%dT%H:%M:%S.%f}+00:00'")
    return table


def _changed(result: WriteResult) -> dict[str, float]:
    return {
        "deleted": result.deleted_rows,
        "updated": result.updated_rows,
        "inserted": result.inserted_rows,
        "files_removed": result.removed_files,
    }


def _added(result: WriteResult) -> dict[str, float]:
    return {"rows_added": result.added_records, "files_added": result.added_files}


def _own_table(target: Target, properties: dict[str, str] | None = None) -> Any:
    """Return a writable table of the same files, with the same number of commits as the table has snapshots."""
    _warm_up(target)
    folder = Path(_folder(target))
    (folder / "metadata").mkdir(parents=True)
    metadata = json.loads(Path(target.location).read_text())
    metadata["location"] = str(folder)
    metadata["properties"] |= properties or {}
    version = len(metadata["snapshots"])
    for earlier in range(1, version):
        (folder / "metadata" / f"v{earlier}.metadata.json").write_text("{}")
    (folder / "metadata" / f"v{version}.metadata.json").write_text(json.dumps(metadata))
    (folder / "metadata" / "version-hint.text").write_text(str(version))
    return frazil.load_table(folder)


def _folder(target: Target, name: str = "table") -> str:
    """Return an empty location for a table."""
    folder = Path(target.tables) / "written" / name
    shutil.rmtree(folder, ignore_errors=True)
    return str(folder)


def _warm_up(target: Target) -> None:
    """Import lazily imported modules."""
    frazil.config.allowed_locations = [target.shared, target.tables]
    table = frazil.create_table(
        _folder(target, "warm-up"), pa.table({"id": [1]}).schema, properties=ON_READ, partition_by=["bucket(8, id)"]
    )
    table.append([{"id": 1}, {"id": 2}])
    table.delete("id = 1")
    table.upsert(pa.table({"id": [2, 3]}), ["id"])
