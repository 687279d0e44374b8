"""Tests of stale handles: a change is evaluated on the latest state, regardless of when its handle was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from frazil.iceberg import Table, Transaction

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
STATES = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.Table.from_pylist([{"id": key, "v": value} for key, value in pairs], SCHEMA)


def made(folder: Path, version: int = 2, mode: str = "copy-on-write", **properties: str) -> Table:
    modes = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    table = frazil.create_table(folder / "t", SCHEMA, format_version=version, properties=modes | properties)
    table.append(rows((1, "old"), (2, "x")))
    return table


def found(table: Table) -> list[tuple[int, str]]:
    read = frazil.load_table(table.location).scan().to_arrow().to_pylist()
    return sorted((row["id"], row["v"]) for row in read)


CHANGES: dict[str, tuple[Any, Any, tuple[int, int, int], list[tuple[int, str]]]] = {
    # The change by another handle, the change by the stale handle, the counts (deleted, updated, inserted), and the
    # rows left.
    "delete what was appended": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.delete("id = 3"),
        (1, 0, 0),
        [(1, "old"), (2, "x")],
    ),
    "delete what was updated": (
        lambda t: t.update({"v": "'new'"}, "id = 1"),
        lambda t: t.delete("v = 'new'"),
        (1, 0, 0),
        [(2, "x")],
    ),
    "delete what was deleted": (
        lambda t: t.delete("id = 1"),
        lambda t: t.delete("id = 1"),
        (0, 0, 0),
        [(2, "x")],
    ),
    "delete everything": (lambda t: t.append(rows((3, "z"))), lambda t: t.delete(), (3, 0, 0), []),
    "update what was appended": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.update({"v": "'new'"}, "id = 3"),
        (0, 1, 0),
        [(1, "old"), (2, "x"), (3, "new")],
    ),
    "upsert what was updated": (
        lambda t: t.update({"v": "'new'"}, "id = 1"),
        lambda t: t.upsert(rows((1, "old")), ["id"]),
        (0, 1, 0),
        [(1, "old"), (2, "x")],
    ),
    "upsert what was appended": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.upsert(rows((3, "z")), ["id"]),
        (0, 0, 0),
        [(1, "old"), (2, "x"), (3, "z")],
    ),
    "upsert what was deleted": (
        lambda t: t.delete("id = 2"),
        lambda t: t.upsert(rows((2, "x")), ["id"]),
        (0, 0, 1),
        [(1, "old"), (2, "x")],
    ),
    "merge": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.merge(rows((3, "z")), ["id"]).when_matched_delete().execute(),
        (1, 0, 0),
        [(1, "old"), (2, "x")],
    ),
    "merge by source": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.merge(rows((1, "old")), ["id"]).when_not_matched_by_source_delete().execute(),
        (2, 0, 0),
        [(1, "old")],
    ),
    "overwrite by a filter": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.overwrite(rows((4, "n")), "id = 3"),
        (1, 0, 1),
        [(1, "old"), (2, "x"), (4, "n")],
    ),
    "overwrite everything": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.overwrite(rows((4, "n"))),
        (3, 0, 1),
        [(4, "n")],
    ),
    "overwrite partitions": (
        lambda t: t.append(rows((3, "z"))),
        lambda t: t.dynamic_partition_overwrite(rows((4, "n"))),
        (3, 0, 1),
        [(4, "n")],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("version", "mode"), STATES)
def test_a_change_is_decided_on_the_newest_state(tmp_path: Path, version: int, mode: str, name: str) -> None:
    other, change, counts, left = CHANGES[name]
    table = made(tmp_path, version, mode)
    stale = frazil.load_table(table.location)
    other(table)
    result = change(stale)
    assert (result.deleted_rows, result.updated_rows, result.inserted_rows) == counts
    assert found(table) == left
    assert result.attempts <= 1, "no attempt is wasted on the old state"


BRANCH_CHANGES: dict[str, Callable[[Table], Any]] = {
    "append": lambda t: t.append(rows((3, "z")), branch="b"),
    "append nothing": lambda t: t.append(rows(), branch="b"),
    "overwrite": lambda t: t.overwrite(rows((3, "z")), "id = 1", branch="b"),
    "overwrite everything": lambda t: t.overwrite(rows((3, "z")), branch="b"),
    "overwrite partitions": lambda t: t.dynamic_partition_overwrite(rows((3, "z")), branch="b"),
    "delete": lambda t: t.delete("id = 1", branch="b"),
    "update": lambda t: t.update({"v": "'n'"}, branch="b"),
    "upsert": lambda t: t.upsert(rows((1, "n")), ["id"], branch="b"),
    "merge": lambda t: t.merge(rows((1, "n")), ["id"], branch="b").when_matched_delete().execute(),
}


@pytest.mark.parametrize("change", BRANCH_CHANGES.values(), ids=BRANCH_CHANGES)
def test_a_branch_may_be_newer_than_the_handle(tmp_path: Path, change: Callable[[Table], Any]) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(table.location)
    table.manage_snapshots().create_branch(None, "b").commit()
    change(stale)
    assert "b" in stale.refs()
    assert found(table) == [(1, "old"), (2, "x")]


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("version", "mode"), STATES)
def test_a_transaction_begins_at_the_newest_state(tmp_path: Path, version: int, mode: str, name: str) -> None:
    other, change, counts, left = CHANGES[name]
    table = made(tmp_path, version, mode)
    stale = frazil.load_table(table.location)
    other(table)
    with stale.transaction() as changes:
        result = change(changes)
    assert (result.deleted_rows, result.updated_rows, result.inserted_rows) == counts
    assert found(table) == left


def test_a_handle_that_was_opened_by_its_metadata_file_changes_the_newest_state(tmp_path: Path) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(table.metadata_location)
    table.append(rows((3, "z")))
    assert stale.scan().count() == 2
    assert stale.delete("id = 3").deleted_rows == 1
    assert found(table) == [(1, "old"), (2, "x")]


@pytest.mark.parametrize("what", ["delete", "overwrite", "dynamic_partition_overwrite"])
@pytest.mark.parametrize(("version", "mode"), STATES)
def test_replaced_rows_are_counted_when_they_are_committed(tmp_path: Path, version: int, mode: str, what: str) -> None:
    """Rows that were deleted before are not counted again; rows added while the transaction was open are counted."""
    table = made(tmp_path, version, mode)
    table.append(rows((3, "a"), (4, "b"), (5, "c")))
    table.delete("id = 4")
    with table.transaction() as changes:
        changes.delete("id = 5")
        data = [] if what == "delete" else [rows((9, "n"))]
        replaced = getattr(changes, what)(*data)
        assert replaced.deleted_rows == 3
        frazil.load_table(table.location).append(rows((6, "d"), (7, "e")))
    assert replaced.deleted_rows == 5
    assert replaced.inserted_rows == len(data)
    assert found(table) == [(9, "n")][: len(data)]
    assert sum(snapshot.snapshot_id == replaced.snapshot_id for snapshot in table.snapshots()) == 1


WRITES: dict[str, Any] = {
    "append": lambda t, data: t.append(data),
    "overwrite": lambda t, data: t.overwrite(data),
    "overwrite by a filter": lambda t, data: t.overwrite(data, "id = 1"),
    "overwrite partitions": lambda t, data: t.dynamic_partition_overwrite(data),
    "upsert": lambda t, data: t.upsert(data, ["id"]),
    "merge": lambda t, data: t.merge(data, ["id"]).when_matched_delete().execute(),
    "delete": lambda t, _: t.delete("id = 1"),
    "update": lambda t, _: t.update({"v": "'new'"}),
    "transaction": lambda t, _: t.transaction(),
    "set properties": lambda t, _: t.set_properties(a="b"),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_the_table_of_a_catalog_by_its_folder_is_refused_before_it_begins(
    tmp_path: Path, write: str
) -> None:
    catalog = frazil.load_catalog("local", path=str(tmp_path / "lake"))
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(rows((1, "old")))
    by_folder = frazil.load_table(table.location)
    taken = []

    def data() -> Iterator[pa.RecordBatch]:
        taken.append(1)
        yield from rows((2, "x")).to_batches()

    with pytest.raises(
        frazil.errors.UnsupportedError, match="the table belongs to a catalog and cannot be changed through its folder"
    ) as refused:
        WRITES[write](by_folder, data())
    assert "load_catalog" in str(refused.value.hint)
    assert not taken
    assert catalog.load_table("ns.t").metadata_location == table.metadata_location


def test_filtered_transaction_conflicts_with_concurrently_added_rows(tmp_path: Path) -> None:
    table = made(tmp_path)

    def delete(changes: Transaction) -> None:
        changes.delete("id = 1")
        frazil.load_table(table.location).append(rows((1, "again")))

    with (
        pytest.raises(frazil.errors.CommitConflictError, match="a concurrent commit added rows that may match"),
        table.transaction() as changes,
    ):
        delete(changes)
    assert found(table) == [(1, "again"), (1, "old"), (2, "x")]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_added_and_changed_in_one_transaction_share_no_row_id_with_those_of_other_writers(
    tmp_path: Path, mode: str
) -> None:
    properties = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    columns = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    table = frazil.create_table(str(tmp_path / "t"), columns, format_version=3, properties=properties)
    table.append([{"id": 0, "v": 0}])
    other = frazil.load_table(table.location)
    with table.transaction() as changes:
        changes.append([{"id": 1, "v": 1}, {"id": 2, "v": 2}])
        changes.update({"v": "v + 10"}, "id < 2")
        changes.delete("id = 2")
        other.append([{"id": 3, "v": 3}])
    lineage = ("_row_id", "_last_updated_sequence_number")
    rows = frazil.load_table(table.location).scan(selected_fields=("id", "v", *lineage)).to_arrow().to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [(0, 10), (1, 11), (3, 3)]
    assert len({row["_row_id"] for row in rows}) == len(rows)
    ids = {row["id"]: row["_row_id"] for row in rows}
    assert (ids[0], ids[3]) == (0, 1)
    sequences = {row["id"]: row["_last_updated_sequence_number"] for row in rows}
    assert sequences[3] < sequences[0]
    assert sequences[3] < sequences[1]
