"""Tests of branches and tags of Iceberg tables: creating, moving, rolling back and publishing them."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import frazil
from frazil.errors import AlreadyExistsError, CommitConflictError, InvalidArgumentError, NoSuchSnapshotError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64())])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids)}, schema=SCHEMA)


def ids_of(table: Any, **arguments: Any) -> list[int]:
    return sorted(table.refresh().scan(**arguments).to_arrow()["id"].to_pylist())


def made(folder: Path, **arguments: Any) -> Any:
    """Return a table of three snapshots, each with one more row."""
    table = frazil.create_table(folder / "t", SCHEMA, **arguments)
    for i in (1, 2, 3):
        table.append(rows(i))
        time.sleep(0.002)
    return table


def snapshot_ids(table: Any) -> list[int]:
    return [snapshot.snapshot_id for snapshot in table.snapshots()]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tags_and_branches_are_read_by_name(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version)
    first, second, third = snapshot_ids(table)
    with table.manage_snapshots() as snapshots:
        snapshots.create_tag(first, "v1", max_ref_age_ms=10**9).create_branch(second, "dev", min_snapshots_to_keep=3)
        snapshots.create_tag(None, "now")
    assert (ids_of(table, ref="v1"), ids_of(table, ref="dev"), ids_of(table, ref="now")) == ([1], [1, 2], [1, 2, 3])
    assert table.append(rows(9), branch="dev").snapshot_id
    assert (ids_of(table, ref="dev"), ids_of(table)) == ([1, 2, 9], [1, 2, 3])
    table.manage_snapshots().replace_tag("v1", third).rename_branch("dev", "test").remove_tag("now").commit()
    assert sorted(table.refs()) == ["main", "test", "v1"]
    assert table.refs()["test"].min_snapshots_to_keep == 3
    assert ids_of(table, ref="v1") == [1, 2, 3]
    table.manage_snapshots().set_retention("test", max_snapshot_age_ms=5).remove_tag("v1").commit()
    assert table.refs()["test"].max_snapshot_age_ms == 5
    table.manage_snapshots().remove_branch("test").commit()
    assert list(table.refs()) == ["main"]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("staged", [False, True])
def test_a_branch_of_a_table_without_snapshots_begins_empty(tmp_path: Path, version: int, *, staged: bool) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, format_version=version)
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        table.manage_snapshots().create_branch(None, "audit", max_ref_age_ms=0).commit()
    assert list((tmp_path / "t" / "metadata").glob("snap-*")) == []
    if staged:
        with table.transaction() as changes:
            changes.manage_snapshots().create_branch(None, "audit", min_snapshots_to_keep=3).commit()
            changes.append(rows(1), branch="audit")
    else:
        table.manage_snapshots().create_branch(None, "audit", min_snapshots_to_keep=3).create_branch(None, "b").commit()
        assert [one.summary["operation"] for one in table.snapshots()] == ["append", "append"]
        table.append(rows(1), branch="audit")
    assert table.current_snapshot() is None
    assert (ids_of(table), ids_of(table, ref="audit")) == ([], [1])
    assert table.refs()["audit"].min_snapshots_to_keep == 3
    with pytest.raises(AlreadyExistsError):
        table.manage_snapshots().create_branch(None, "audit").commit()
    with pytest.raises(NoSuchSnapshotError):
        table.manage_snapshots().create_tag(None, "v").commit()
    table.manage_snapshots().fast_forward("main", "audit").commit()
    assert ids_of(table) == [1]


def test_numbers_of_other_libraries_are_taken(tmp_path: Path) -> None:
    table = made(tmp_path)
    first = np.int64(snapshot_ids(table)[0])
    table.manage_snapshots().create_branch(first, "dev", max_ref_age_ms=np.int32(1000)).commit()
    assert (ids_of(table, ref="dev"), table.refs()["dev"].max_ref_age_ms) == ([1], 1000)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    assert ids_of(table) == [1]


def test_one_snapshot_is_found_without_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    snapshots = table.snapshots()
    metadata = type(table.metadata)
    monkeypatch.setattr(metadata, "snapshots", property(lambda _: pytest.fail("all snapshots are read")))
    assert [table.snapshot_by_id(one.snapshot_id) for one in snapshots] == snapshots
    assert table.current_snapshot() == table.snapshot_by_name("main") == snapshots[-1]
    assert table.snapshot_by_id(1) is None


def test_rollback_accepts_only_ancestors(tmp_path: Path) -> None:
    table = made(tmp_path)
    first, second, third = snapshot_ids(table)
    table.manage_snapshots().rollback_to_snapshot(second).commit()
    assert ids_of(table) == [1, 2]
    with pytest.raises(InvalidArgumentError, match="is not an ancestor of the current snapshot"):
        table.manage_snapshots().rollback_to_snapshot(third).commit()
    table.manage_snapshots().set_current_snapshot(third).commit()
    assert ids_of(table) == [1, 2, 3]
    times = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in table.snapshots()}
    table.manage_snapshots().rollback_to_timestamp(times[second]).commit()
    assert table.current_snapshot().snapshot_id == first
    aware = dt.datetime.fromtimestamp(times[first] / 1000, dt.UTC)
    with pytest.raises(NoSuchSnapshotError, match="older than"):
        table.manage_snapshots().rollback_to_timestamp(aware).commit()
    # The history records which snapshot was current when: "as of" uses it instead of the times of snapshots.
    assert [entry.snapshot_id for entry in table.history()] == [first, second, third, second, third, first]
    table.append(rows(4))
    assert ids_of(table) == [1, 4]
    assert table.current_snapshot().parent_snapshot_id == first


def test_ancestors_end_at_the_first_expired_one(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "empty", SCHEMA)
    assert table.ancestors_of() == []
    table = made(tmp_path)
    first, second, third = snapshot_ids(table)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    fourth = table.append(rows(4)).snapshot_id
    assert [one.snapshot_id for one in table.ancestors_of()] == [fourth, first]
    assert [one.snapshot_id for one in table.ancestors_of(third)] == [third, second, first]
    with pytest.raises(NoSuchSnapshotError, match="no snapshot 7"):
        table.ancestors_of(7)
    with pytest.raises(InvalidArgumentError, match="snapshot_id"):
        table.ancestors_of("7")
    table.expire_snapshots(snapshot_ids=[first]).apply()
    assert [one.snapshot_id for one in table.refresh().ancestors_of()] == [fourth]


def test_a_branch_is_published_by_fast_forward(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.manage_snapshots().create_branch(None, "audit").commit()
    table.append(rows(4), branch="audit")
    assert ids_of(table) == [1, 2, 3]
    table.manage_snapshots().fast_forward("main", "audit").commit()
    assert ids_of(table) == [1, 2, 3, 4]
    table.append(rows(5), branch="audit")
    table.append(rows(6))
    with pytest.raises(InvalidArgumentError, match="it is not an ancestor of `audit`"):
        table.manage_snapshots().fast_forward("main", "audit").commit()
    table.manage_snapshots().set_current_snapshot(ref_name="audit").commit()
    assert ids_of(table) == [1, 2, 3, 4, 5]


def test_staged_changes_are_published_once(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.set_properties({"write.wap.enabled": "true"})
    current = table.current_snapshot().snapshot_id
    first = table.append(rows(4), snapshot_properties={"wap.id": "w1"}).snapshot_id
    second = table.append(rows(5), snapshot_properties={"wap.id": "w2"}).snapshot_id
    assert (ids_of(table), table.current_snapshot().snapshot_id) == ([1, 2, 3], current)
    assert table.scan(snapshot_id=second).count() == 4
    table.manage_snapshots().publish_changes("w1").commit()
    assert (ids_of(table), table.current_snapshot().snapshot_id) == ([1, 2, 3, 4], first)
    with pytest.raises(frazil.errors.CommitValidationError, match="an ancestor"):
        table.manage_snapshots().publish_changes("w1").commit()
    with pytest.raises(NoSuchSnapshotError, match="w3"):
        table.manage_snapshots().publish_changes("w3").commit()
    # The second snapshot was staged on the same snapshot as the first one, so its files are added again.
    table.manage_snapshots().cherry_pick(second).commit()
    assert ids_of(table) == [1, 2, 3, 4, 5]
    summary = table.current_snapshot().summary
    assert (summary["source-snapshot-id"], summary["published-wap-id"]) == (str(second), "w2")
    with pytest.raises(frazil.errors.CommitValidationError, match="it was already picked"):
        table.manage_snapshots().cherry_pick(second).commit()


def test_a_pick_keeps_row_ids_unique(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "v3", SCHEMA, format_version=3, properties={"write.wap.enabled": "true"})
    table.append(rows(1, 2))
    staged = table.append(rows(3, 4), snapshot_properties={"wap.id": "w"}).snapshot_id
    table.append(rows(5))
    table.manage_snapshots().create_tag(None, "before").cherry_pick(staged).commit()
    found = table.scan(selected_fields=("id", "_row_id")).to_arrow()
    assert sorted(found["id"].to_pylist()) == [1, 2, 3, 4, 5]
    assert len(set(found["_row_id"].to_pylist())) == found.num_rows
    assert table.scan(ref="before").count() == 3


def test_only_appends_are_cherry_picked_after_other_commits(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.set_properties({"write.wap.enabled": "true"})
    staged = table.delete("id = 1", snapshot_properties={"wap.id": "w"}).snapshot_id
    table.append(rows(4))
    with pytest.raises(
        frazil.errors.CommitValidationError,
        match="it is not an append or a dynamic overwrite, and is not based on the current snapshot",
    ):
        table.manage_snapshots().cherry_pick(staged).commit()
    assert ids_of(table) == [1, 2, 3, 4]


def test_unseen_commits_are_not_undone(tmp_path: Path) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(tmp_path / "t")
    first = snapshot_ids(table)[0]
    table.append(rows(4))
    with pytest.raises(CommitConflictError, match="another writer moved `main`"):
        stale.manage_snapshots().rollback_to_snapshot(first).commit()
    assert ids_of(table) == [1, 2, 3, 4]
    stale.manage_snapshots().create_tag(first, "v1").commit()
    assert (ids_of(stale), ids_of(stale, ref="v1")) == ([1, 2, 3, 4], [1])


def test_invalid_writes_are_rejected_and_change_nothing(tmp_path: Path) -> None:
    empty = frazil.create_table(tmp_path / "empty", SCHEMA)
    with pytest.raises(NoSuchSnapshotError, match="no snapshot yet"):
        empty.manage_snapshots().create_tag(None, "v1").commit()
    table = made(tmp_path)
    table.manage_snapshots().create_tag(None, "v1").commit()
    state = table.metadata_location
    manage = table.manage_snapshots
    for change, error in [
        (manage().create_branch(None, "v1"), AlreadyExistsError),
        (manage().create_tag(99, "v2"), NoSuchSnapshotError),
        (manage().create_branch(None, "b", min_snapshots_to_keep=0), InvalidArgumentError),
        (manage().remove_branch("main"), InvalidArgumentError),
        (manage().remove_branch("v1"), InvalidArgumentError),
        (manage().rename_branch("nope", "b"), NoSuchSnapshotError),
        (manage().create_branch(None, "b").remove_tag("nope"), NoSuchSnapshotError),
    ]:
        with pytest.raises(error):
            change.commit()
    for call in (lambda: manage().set_current_snapshot(), lambda: manage().set_current_snapshot(1, "v1")):
        with pytest.raises(InvalidArgumentError, match="either"):
            call()
    with pytest.raises(InvalidArgumentError, match="64-bit"):
        manage().cherry_pick(2**70)
    for call, words in [
        (lambda: manage().create_tag("v2", snapshot_ids(table)[0]), "the name of a branch or a tag must be a string"),
        (lambda: manage().create_branch("v2", "v2"), "snapshot_id is 'v2'"),
        (lambda: manage().rollback_to_snapshot("v1"), "snapshot_id is 'v1'"),
        (lambda: manage().rollback_to_timestamp("2024-01-01"), "timestamp is '2024-01-01'"),
        (lambda: manage().set_retention("v1", max_ref_age_ms=0.5), "max_ref_age_ms is 0.5"),
        (lambda: table.incremental_append_scan(from_snapshot_id_exclusive="v1"), "from_snapshot_id_exclusive is 'v1'"),
    ]:
        with pytest.raises(InvalidArgumentError, match=words):
            call()
    assert table.refresh().metadata_location == state
    with pytest.raises(InvalidArgumentError, match="is a tag"):
        table.append(rows(1), branch="v1")
