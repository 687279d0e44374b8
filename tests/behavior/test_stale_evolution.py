"""Tests of metadata changes by stale handles: the result is that of the same call on the latest state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import AlreadyExistsError, CommitConflictError, InvalidArgumentError, NoSuchSnapshotError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table

    Change = Callable[[Any], Any]

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("x", pa.string())])


def made(folder: Path) -> Table:
    """Create a table with two snapshots, a branch and a tag of the first, a spec, a sort order and a property."""
    table = frazil.create_table(folder / "t", SCHEMA, partition_by=["bucket(4, id)"], properties={"p": "old"})
    with table.transaction() as changes:
        changes.append([{"id": 1, "n": 1, "x": "a"}])
        changes.manage_snapshots().create_branch(None, "b").create_tag(None, "v").commit()
        changes.append([{"id": 2, "n": 2, "x": "b"}])
        changes.update_sort_order().asc("id").commit()
    return table


def state(table: Table) -> dict[str, Any]:
    """Return the properties that evolution changes, except snapshot ids."""
    table = frazil.load_table(table.location)
    order = [snapshot.snapshot_id for snapshot in table.snapshots()]
    return {
        "version": table.format_version,
        "columns": [(field.field_id, field.name, field.type) for field in table.schema().fields],
        "spec": [(field.name, str(field.transform)) for field in table.spec().fields],
        "order": str(table.sort_order().fields),
        "properties": table.properties,
        "refs": {
            name: (ref.type, order.index(ref.snapshot_id), ref.max_ref_age_ms) for name, ref in table.refs().items()
        },
    }


def first(changes: Any) -> int:
    table = changes if isinstance(changes, frazil.iceberg.Table) else changes.table()
    return int(table.snapshots()[0].snapshot_id)


CHANGES: dict[str, dict[str, Change]] = {
    "schema": {
        "add a column": lambda t: t.update_schema().add_column("z", "int").commit(),
        "drop a column": lambda t: t.update_schema().delete_column("x").commit(),
        "rename a column": lambda t: t.update_schema().rename_column("x", "y").commit(),
        "widen a column": lambda t: t.update_schema().update_column("n", "long").commit(),
        "move a column": lambda t: t.update_schema().move_first("x").commit(),
        "move a column back": lambda t: t.update_schema().move_after("x", "n").commit(),
        "union": lambda t: t.update_schema().union_by_name(pa.schema([("n", pa.int64())])).commit(),
    },
    "spec": {
        "add a partition field": lambda t: t.update_spec().add_field("truncate(2, x)").commit(),
        "remove a partition field": lambda t: t.update_spec().remove_field("id_bucket_4").commit(),
        "rename a partition field": lambda t: t.update_spec().rename_field("id_bucket_4", "k").commit(),
    },
    "sort order": {
        "sort": lambda t: t.update_sort_order().asc("id").commit(),
        "sort in another way": lambda t: t.update_sort_order().desc("n").commit(),
        "do not sort": lambda t: t.update_sort_order().commit(),
    },
    "properties": {
        "set a property": lambda t: t.set_properties(p="new"),
        "set a property to what it was": lambda t: t.set_properties(p="old"),
        "remove a property": lambda t: t.remove_properties("p"),
        "remove a property that there was not": lambda t: t.remove_properties("q"),
        "upgrade": lambda t: t.upgrade(3),
        "keep the version": lambda t: t.upgrade(2),
    },
    "references": {
        "create a branch": lambda t: t.manage_snapshots().create_branch(None, "c").commit(),
        "create a tag": lambda t: t.manage_snapshots().create_tag(None, "w").commit(),
        "create a tag of the first": lambda t: t.manage_snapshots().create_tag(first(t), "w").commit(),
        "remove a branch": lambda t: t.manage_snapshots().remove_branch("b").commit(),
        "remove a tag": lambda t: t.manage_snapshots().remove_tag("v").commit(),
        "rename a branch": lambda t: t.manage_snapshots().rename_branch("b", "c").commit(),
        "retain a branch": lambda t: t.manage_snapshots().set_retention("b", max_ref_age_ms=5).commit(),
        "fast-forward": lambda t: t.manage_snapshots().fast_forward("b", "main").commit(),
        "fast-forward to what another made": lambda t: t.manage_snapshots().fast_forward("b", "w").commit(),
    },
}
ALL = {name: change for changes in CHANGES.values() for name, change in changes.items()}

LEAVING: dict[str, Change] = {
    "roll back": lambda t: t.manage_snapshots().rollback_to_snapshot(first(t)).commit(),
    "stay": lambda t: t.manage_snapshots().set_current_snapshot(t.current_snapshot().snapshot_id).commit(),
    "go to a branch": lambda t: t.manage_snapshots().set_current_snapshot(ref_name="b").commit(),
    "replace main": lambda t: t.manage_snapshots().replace_branch("main", first(t)).commit(),
    "pick, then roll back": lambda t: (
        t.manage_snapshots().create_tag(None, "w").rollback_to_snapshot(first(t)).commit()
    ),
}
"""Changes that make the snapshot of `main` unreachable from it."""

EARLIER: dict[str, Change] = {"append": lambda t: t.append([{"id": 3}]), "comment": lambda t: t.set_properties(c="d")}
"""Earlier changes by another handle that are unrelated to the tested change."""

PAIRS = [(earlier, name) for changes in CHANGES.values() for name in changes for earlier in (*EARLIER, *changes)]
"""An earlier change by another handle, unrelated or of the same type, and a change by a stale handle."""

CONFLICTS = [("fast-forward", "remove a branch"), ("fast-forward", "rename a branch")]
"""Changes that would drop a snapshot that the stale handle does not know."""

EXPECTED = (CommitConflictError, AlreadyExistsError, InvalidArgumentError, NoSuchSnapshotError)


def outcome(change: Change, table: Any) -> str:
    try:
        change(table)
    except EXPECTED as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def in_a_transaction(change: Change, table: Table) -> str:
    with table.transaction() as changes:
        return outcome(change, changes)


@pytest.mark.sampled(80)
@pytest.mark.parametrize(("earlier", "name"), PAIRS)
def test_a_change_by_an_old_handle_is_one_of_the_newest_state(tmp_path: Path, earlier: str, name: str) -> None:
    before, change = (EARLIER | ALL)[earlier], ALL[name]
    results = {}
    for run in ("newest", "stale", "stale transaction"):
        table = made(tmp_path / run)
        stale = frazil.load_table(table.location)
        outcome(before, table)
        handle = frazil.load_table(table.location) if run == "newest" else stale
        said = (in_a_transaction if run == "stale transaction" else outcome)(change, handle)
        results[run] = (said, state(table))
        if said == "done":
            assert handle.metadata_location == frazil.load_table(table.location).metadata_location
    assert results["stale transaction"] == results["newest"]
    if (earlier, name) in CONFLICTS:
        assert results["stale"][0].startswith("CommitConflictError: another writer moved `b`")
    else:
        assert results["stale"] == results["newest"]


@pytest.mark.parametrize("name", LEAVING)
def test_stale_handle_does_not_drop_unseen_snapshots(tmp_path: Path, name: str) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(table.location)
    table.append([{"id": 3}])
    before = state(table)
    for _ in range(2):
        with pytest.raises(CommitConflictError, match="another writer moved `main`"):
            LEAVING[name](stale)
    assert state(table) == before
    LEAVING[name](stale.refresh())


@pytest.mark.parametrize("name", LEAVING)
@pytest.mark.parametrize("earlier", ["comment", "sort in another way", "add a column", "remove a tag"])
def test_an_old_handle_that_knows_the_snapshots_moves_main(tmp_path: Path, name: str, earlier: str) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(table.location)
    (EARLIER | ALL)[earlier](table)
    LEAVING[name](stale)
    kept = 1 if name == "stay" else 0
    assert state(table)["refs"]["main"][1] == kept


REPLACED: dict[str, Change] = {
    "drop": lambda t: t.update_schema().delete_column("x").commit(),
    "rename": lambda t: t.update_schema().rename_column("x", "y").commit(),
    "change": lambda t: t.update_schema().update_column("x", doc="text").commit(),
    "move": lambda t: t.update_schema().move_before("n", "x").commit(),
    "partition": lambda t: t.update_spec().add_field("x").commit(),
    "sort": lambda t: t.update_sort_order().asc("x").commit(),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_name_that_means_another_column_now_conflicts(tmp_path: Path, name: str) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(table.location)
    table.update_schema().delete_column("x").commit()
    table.update_schema().add_column("x", "string").commit()
    before = state(table)
    with pytest.raises(CommitConflictError, match="` is now a different column: another writer replaced it"):
        REPLACED[name](stale)
    assert state(table) == before
    REPLACED[name](stale.refresh())


NOTHING_TO_DO: dict[str, tuple[Change, Change]] = {
    "sort order": (
        lambda t: t.update_sort_order().asc("id").commit(),
        lambda t: t.update_sort_order().desc("x").commit(),
    ),
    "property": (lambda t: t.set_properties(p="old"), lambda t: t.set_properties(p="new")),
    "absent property": (lambda t: t.remove_properties("q"), lambda t: t.set_properties(q="new")),
    "type": (
        lambda t: t.update_schema().union_by_name(SCHEMA).commit(),
        lambda t: t.update_schema().delete_column("x").commit(),
    ),
}


@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_nothing_to_do_is_decided_when_a_transaction_is_committed(tmp_path: Path, name: str) -> None:
    change, other = NOTHING_TO_DO[name]
    table = made(tmp_path)
    before = state(table)
    with frazil.load_table(table.location).transaction() as changes:
        change(changes)
        other(table)
    left = state(table)
    kept = [column[1:] for column in left.pop("columns")] == [column[1:] for column in before.pop("columns")]
    assert kept
    assert left == before
