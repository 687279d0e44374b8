"""A table that is overwritten by a scan of itself loses no rows that others append meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table: Table = frazil.create_table(
        tmp_path / "t", SCHEMA, partition_by=["part"], properties={"commit.retry.num-retries": "0"}
    )
    table.append([{"id": 1, "part": "a"}, {"id": 2, "part": "b"}])
    return table


def ids(table: Table) -> list[int]:
    found: list[int] = sorted(table.refresh().scan().to_arrow()["id"].to_pylist())
    return found


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "all": lambda table, rows: table.overwrite(rows),
    "filter": lambda table, rows: table.overwrite(rows, "part = 'a'"),
    "partitions": lambda table, rows: table.dynamic_partition_overwrite(rows),
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_others_added_since_the_scan_are_a_conflict(table: Table, tmp_path: Path, way: str) -> None:
    rows = table.scan("part = 'a'")
    frazil.load_table(tmp_path / "t").append([{"id": 3, "part": "a"}])
    before = {path for path in (tmp_path / "t").rglob("*") if path.is_file()}
    with pytest.raises(CommitConflictError):
        WAYS[way](table, rows)
    assert ids(table) == [1, 2, 3]
    assert {path for path in (tmp_path / "t").rglob("*") if path.is_file()} == before
    # What was scanned now is the newest state.
    WAYS[way](table, table.refresh().scan("part = 'a'"))
    assert ids(table) == ([1, 3] if way == "all" else [1, 2, 3])


@pytest.mark.parametrize("way", WAYS)
def test_a_scan_without_other_writers(table: Table, way: str) -> None:
    WAYS[way](table, table.scan("part = 'a'"))
    assert ids(table) == ([1] if way == "all" else [1, 2])
    with table.transaction() as changes:
        changes.append([{"id": 5, "part": "a"}])
        WAYS[way](changes, changes.table().scan("part = 'a'"))
    assert ids(table) == ([1, 5] if way == "all" else [1, 2, 5])


def test_a_filter_leaves_rows_of_others_that_do_not_match(table: Table, tmp_path: Path) -> None:
    rows = table.scan("part = 'a'")
    frazil.load_table(tmp_path / "t").append([{"id": 3, "part": "b"}])
    table.overwrite(rows, "part = 'a'")
    assert ids(table) == [1, 2, 3]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("way", WAYS)
def test_rows_that_others_deleted_since_the_scan_are_a_conflict(
    table: Table, tmp_path: Path, way: str, mode: str
) -> None:
    table.set_properties({"write.delete.mode": mode})
    table.append([{"id": 3, "part": "a"}, {"id": 4, "part": "a"}])
    rows = table.scan("part = 'a'")
    frazil.load_table(tmp_path / "t").delete("id = 3")
    with pytest.raises(CommitConflictError):
        WAYS[way](table, rows)
    assert ids(table) == [1, 2, 4]


def test_a_concurrent_compaction_is_not_a_conflict(table: Table, tmp_path: Path) -> None:
    table.append([{"id": 3, "part": "a"}])
    rows = table.scan()
    frazil.load_table(tmp_path / "t").rewrite_data_files(rewrite_all=True).apply()
    table.overwrite(rows)
    assert ids(table) == [1, 2, 3]


def test_an_earlier_state_that_was_chosen_replaces_the_newest(table: Table, tmp_path: Path) -> None:
    first = table.snapshots()[0].snapshot_id
    frazil.load_table(tmp_path / "t").append([{"id": 3, "part": "a"}])
    table.overwrite(table.scan(snapshot_id=first))
    assert ids(table) == [1, 2]


def test_a_scan_of_another_table(table: Table, tmp_path: Path) -> None:
    other = frazil.create_table(tmp_path / "other", SCHEMA)
    other.append([{"id": 7, "part": "x"}])
    rows = other.scan()
    table.append([{"id": 3, "part": "a"}])
    table.overwrite(rows)
    assert ids(table) == [7]
