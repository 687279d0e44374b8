"""Tests that overwriting a table by a scan of itself keeps rows that are appended concurrently."""

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
    # The rows were scanned from the latest state.
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


def remove(table: Table) -> None:
    table.delete("id = 1")


def add(table: Table) -> None:
    table.append([{"id": 3, "part": "a"}])


@pytest.mark.parametrize("change", [add, remove])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("when", ["before", "within"])
def test_a_transaction_that_reads_its_table_conflicts_with_changes_since(
    table: Table, tmp_path: Path, way: str, change: Callable[[Table], None], when: str
) -> None:
    rows = table.scan("part = 'a'")
    other: Any = frazil.load_table(tmp_path / "t")
    if when == "before":
        change(other)

    def overwrite() -> None:
        with table.transaction() as changes:
            WAYS[way](changes, rows)
            if when == "within":
                change(other)

    with pytest.raises(CommitConflictError):
        overwrite()
    assert ids(table) == ([1, 2, 3] if change is add else [2])


@pytest.mark.parametrize("change", [add, remove])
def test_a_transaction_that_reads_its_own_changes_conflicts_with_changes_since(
    table: Table, tmp_path: Path, change: Callable[[Table], None]
) -> None:
    other: Any = frazil.load_table(tmp_path / "t")

    def overwrite() -> None:
        with table.transaction() as changes:
            changes.append([{"id": 5, "part": "a"}])
            changes.overwrite(changes.table().scan())
            change(other)

    with pytest.raises(CommitConflictError):
        overwrite()
    assert ids(table) == ([1, 2, 3] if change is add else [2])


@pytest.mark.parametrize("change", [add, remove])
@pytest.mark.parametrize("way", WAYS)
def test_a_branch_is_validated_against_the_branch(
    table: Table, tmp_path: Path, way: str, change: Callable[[Table], None]
) -> None:
    table.manage_snapshots().create_branch(table.snapshots()[0].snapshot_id, "b").commit()
    rows = table.scan("part = 'a'", ref="b")
    other: Any = frazil.load_table(tmp_path / "t")
    if change is add:
        other.append([{"id": 3, "part": "a"}], branch="b")
    else:
        other.delete("id = 1", branch="b")
    arguments: dict[str, Any] = {"overwrite_filter": "part = 'a'"} if way == "filter" else {}
    write = table.dynamic_partition_overwrite if way == "partitions" else table.overwrite
    with pytest.raises(CommitConflictError):
        write(rows, branch="b", **arguments)
    # Other branches replace their own rows.
    write(rows)
    assert 1 in ids(table)


@pytest.mark.parametrize("change", [add, remove])
@pytest.mark.parametrize("when", ["before", "within"])
def test_a_definition_that_is_replaced_with_rows_of_the_table(
    tmp_path: Path, change: Callable[[Any], None], when: str
) -> None:
    catalog = frazil.load_catalog(type="local", path=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    table.append([{"id": 1, "part": "a"}, {"id": 2, "part": "b"}])
    rows, other = table.scan(), catalog.load_table("db.t")
    if when == "before":
        change(other)

    def replace() -> None:
        with catalog.replace_table_transaction("db.t", SCHEMA) as changes:
            changes.append(rows)
            if when == "within":
                change(other)

    with pytest.raises(CommitConflictError, match="run the statement again"):
        replace()
    left = ids(table)
    assert left == ([1, 2, 3] if change is add else [2])
    with catalog.replace_table_transaction("db.t", SCHEMA) as changes:
        changes.append(table.refresh().scan())
        changes.append(changes.table().scan())
    assert ids(table) == sorted(2 * left)


@pytest.mark.parametrize("is_keyed", [False, True])
@pytest.mark.parametrize("change", ["append", "delete"])
@pytest.mark.parametrize("way", ["all", "partitions", "dynamic"])
def test_a_paimon_table_that_is_overwritten_by_a_scan_of_itself(
    tmp_path: Path, way: str, change: str, *, is_keyed: bool
) -> None:
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "all": lambda table, rows: table.overwrite(rows),
        "partitions": lambda table, rows: table.overwrite(rows, partitions=[{"part": "a"}]),
        "dynamic": lambda table, rows: table.dynamic_partition_overwrite(rows),
    }
    keys = ["id", "part"] if is_keyed else []
    options = {"bucket": "1"} if is_keyed else {}
    table: Any = frazil.create_table(
        tmp_path / "p", SCHEMA, format="paimon", partition_keys=["part"], primary_keys=keys, options=options
    )
    table.append([{"id": 1, "part": "a"}, {"id": 2, "part": "b"}])
    rows = table.scan("part = 'a'")
    other: Any = frazil.load_table(tmp_path / "p")
    if change == "append":
        other.append([{"id": 3, "part": "a"}])
    else:
        other.drop_partitions([{"part": "b"}])
    left = sorted(other.scan().to_arrow()["id"].to_pylist())
    before = {path for path in (tmp_path / "p").rglob("*") if path.is_file()}
    with pytest.raises(CommitConflictError, match="after its snapshot 1 was read"):
        ways[way](table, rows)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == left
    assert {path for path in (tmp_path / "p").rglob("*") if path.is_file()} == before
    other.compact()
    ways[way](table, table.scan("part = 'a'"))
    # An explicitly selected earlier state replaces the latest one.
    other.append([{"id": 7, "part": "a"}])
    table.overwrite(table.scan(snapshot_id=1))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
