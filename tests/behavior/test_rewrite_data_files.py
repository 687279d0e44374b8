"""Tests of rewriting data files: which files, what stays the same, and concurrent writers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import (
    CommitConflictError,
    CorruptDataFileError,
    FrazilError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchSnapshotError,
    UnsupportedError,
)
from support.cases import golden_cases
from support.equality import delete_by_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.cases import Case

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": ["ab"[one % 2] for one in ids]}, schema=SCHEMA)


def made(folder: Path, files: int = 6, **arguments: Any) -> Any:
    """Return a table of `files` appends, each of ten rows, of which every other one is in partition `a`."""
    table = frazil.create_table(folder / "t", SCHEMA, **arguments)
    for number in range(files):
        table.append(rows(*range(number * 10, number * 10 + 10)))
    return table


def content(table: Any, **arguments: Any) -> list[str]:
    """Return all rows, in v3 with their ids."""
    kept = ["_row_id", "_last_updated_sequence_number"] if table.format_version > 2 else []
    data = table.scan(selected_fields=["*", *kept], **arguments).to_arrow()
    return sorted(map(repr, data.to_pylist()))


def files_of(table: Any, **arguments: Any) -> list[Any]:
    return list(table.scan(**arguments).plan_files())


def data_files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and path.parent.name != "metadata"}


@pytest.mark.parametrize("partition_by", [[], ["p"]])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_small_files_become_one_and_keep_their_rows(tmp_path: Path, version: int, partition_by: list[str]) -> None:
    table = made(tmp_path, format_version=version, partition_by=partition_by, properties=MERGE_ON_READ)
    if version > 1:
        table.delete("id in (3, 33)")
    before, count = content(table), max(1, 2 * len(partition_by))
    known, head = data_files_in(tmp_path), table.current_snapshot()
    plan = table.rewrite_data_files()
    assert (plan.input_files, plan.output_files, plan.groups.num_rows) == (6 * count, count, count)
    assert f"{6 * count} files in {count} groups" in repr(plan)
    assert data_files_in(tmp_path) == known
    planned_bytes = plan.input_bytes
    result = plan.apply()
    assert (result.rewritten_files, result.added_files, result.refused_groups) == (6 * count, count, 0)
    assert result.rewritten_bytes == planned_bytes == bytes_of(table, head)
    assert content(table) == before == content(table.refresh())
    assert [file.delete_files for file in files_of(table)] == [[]] * count
    snapshot = table.current_snapshot()
    assert (snapshot.operation, snapshot.parent_snapshot_id) == ("replace", head.snapshot_id)
    assert result.snapshot_ids == (snapshot.snapshot_id,)
    assert snapshot.summary["total-records"] == str(len(before))
    assert snapshot.summary["total-delete-files"] == "0"
    if version > 1:
        assert set(sequence_numbers(table)) == {head.sequence_number}
    assert table.changes(head.snapshot_id).count() == 0
    again = table.rewrite_data_files().apply()
    assert (again.snapshot_ids, again.rewritten_files) == ((), 0)


def sequence_numbers(table: Any) -> list[int]:
    """Return the data sequence numbers of the live data files."""
    entries = table.inspect.entries().to_pylist()
    return [one["sequence_number"] for one in entries if one["status"] < 2 and one["data_file"]["content"] == 0]


def bytes_of(table: Any, snapshot: Any) -> int:
    """Return the bytes of the data files of a snapshot."""
    paths = [file.file.file_path.removeprefix("file:") for file in files_of(table, snapshot_id=snapshot.snapshot_id)]
    return sum(Path(path).stat().st_size for path in paths)


def test_files_of_a_good_length_stay(tmp_path: Path) -> None:
    table = made(tmp_path, 1)
    size = files_of(table)[0].file.file_size_in_bytes
    for number in range(1, 6):
        table.append(rows(*range(number * 10, number * 10 + 10)))
    good = table.rewrite_data_files(target_file_size_bytes=size, min_file_size_bytes=size // 2)
    assert good.input_files == 0
    few = table.rewrite_data_files(min_input_files=7)
    assert few.input_files == 0
    enough = table.rewrite_data_files(target_file_size_bytes=size * 3, min_input_files=7)
    assert enough.input_files == 6
    assert enough.output_files == 2
    split = table.rewrite_data_files(target_file_size_bytes=size // 2)
    assert split.input_files == 6
    grouped = table.rewrite_data_files(max_file_group_size_bytes=size * 3, min_input_files=2)
    assert grouped.groups["input_files"].to_pylist() == [3, 3]


def test_files_full_of_deletes_are_written_again(tmp_path: Path) -> None:
    table = made(tmp_path, 4, properties=MERGE_ON_READ)
    table.delete("id in (0, 1)")
    table.delete("id in (10, 11, 12)")
    assert table.rewrite_data_files().input_files == 4, "too short, and one of them a reason to write its group"
    sizes = {"target_file_size_bytes": 100, "min_file_size_bytes": 1, "max_file_size_bytes": 1 << 20}
    full = table.rewrite_data_files(**sizes)
    assert (
        full.groups.to_pylist()
        == [{"partition": "", "input_files": 1, "input_bytes": full.input_bytes, "delete_files": 1, "output_files": 6}]
        or full.input_files == 1
    )
    assert table.rewrite_data_files(delete_ratio_threshold=0.2, **sizes).input_files == 2
    assert table.rewrite_data_files(delete_ratio_threshold=0.2, delete_file_threshold=2, **sizes).input_files == 2
    assert table.rewrite_data_files(delete_ratio_threshold=1, **sizes).input_files == 0
    assert table.rewrite_data_files(delete_ratio_threshold=1, delete_file_threshold=1, **sizes).input_files == 2
    before = content(table)
    full.apply()
    assert content(table) == before
    assert sorted(len(file.delete_files) for file in files_of(table)) == [0, 0, 0, 1]


def test_only_files_that_may_match_are_written_again(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["p"])
    before, plan = content(table), table.rewrite_data_files("p = 'a' and id >= 20", min_input_files=2)
    assert plan.groups.to_pylist() == [
        {"partition": "p='a'", "input_files": 4, "input_bytes": plan.input_bytes, "delete_files": 0, "output_files": 1}
    ]
    plan.apply()
    assert content(table) == before
    assert len(files_of(table)) == 2 + 1 + 6
    with pytest.raises(InvalidArgumentError, match="`P`"):
        table.rewrite_data_files("P = 'a'").apply()
    assert table.rewrite_data_files("P = 'a'", case_sensitive=False).input_files == 0


def test_files_of_earlier_specs_move_to_the_current_one(tmp_path: Path) -> None:
    table = made(tmp_path, properties=MERGE_ON_READ)
    table.update_spec().add_field("p").commit()
    table.append(rows(100, 101))
    before, plan = content(table), table.rewrite_data_files()
    assert plan.groups["partition"].to_pylist() == [None]
    plan.apply()
    assert content(table) == before
    assert {file.file.spec_id for file in files_of(table)} == {1}
    # The new files have the sequence number of the commit, so equality deletes of the new partitions by concurrent
    # writers are older.
    newest = table.current_snapshot().sequence_number
    assert sorted(sequence_numbers(table)) == [newest - 1, newest - 1, newest, newest]


def test_rows_of_a_sorted_table_are_sorted(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.update_sort_order().desc("id").commit()
    table.rewrite_data_files().apply()
    assert table.scan().to_arrow()["id"].to_pylist() == list(range(59, -1, -1))


def test_new_files_have_the_format_and_length_that_the_table_asks_for(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties={"write.parquet.row-group-size-bytes": "2000"})
    for number in range(6):
        table.append(rows(*range(number * 2_000, number * 2_000 + 2_000)))
    before = content(table)
    table.set_properties({"write.format.default": "avro", "write.target-file-size-bytes": "8000"})
    table.rewrite_data_files(rewrite_all=True).apply()
    assert content(table) == before
    assert {file.file.file_format for file in files_of(table)} == {"AVRO"}
    assert len(files_of(table)) > 1


def test_groups_are_committed_in_at_most_max_commits_snapshots(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["bucket(8, id)"])
    before, count, groups = content(table), len(table.snapshots()), table.rewrite_data_files().groups.num_rows
    assert groups > 3
    result = table.rewrite_data_files(max_commits=2, snapshot_properties={"by": "me"}).apply()
    assert len(result.snapshot_ids) == 2 == len(table.snapshots()) - count
    assert result.added_files == groups
    assert content(table) == before
    assert [snapshot.summary["by"] for snapshot in table.snapshots()[-2:]] == ["me"] * 2
    assert made(tmp_path / "few").rewrite_data_files(max_commits=100).apply().added_files == 1


def test_another_branch_is_rewritten(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "dev").commit()
    table.append(rows(100), branch="dev")
    before = content(table, ref="dev")
    result = table.rewrite_data_files(branch="dev").apply()
    assert (result.rewritten_files, len(files_of(table, ref="dev")), len(files_of(table))) == (7, 1, 6)
    assert content(table, ref="dev") == before
    with pytest.raises(NoSuchSnapshotError, match="dev"):
        table.rewrite_data_files(branch="prod").apply()


# Other writers


def vectors(table: Any) -> None:
    table.delete("id = 4")


def whole_files(table: Any) -> None:
    table.delete("id < 10 and p = 'a'")


@pytest.mark.parametrize("moment", ["before apply", "while files are written"])
@pytest.mark.parametrize("change", [vectors, whole_files])
@pytest.mark.parametrize("version", [2, 3])
def test_groups_that_others_change_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, change: Callable[[Any], None], moment: str
) -> None:
    table = made(tmp_path, format_version=version, partition_by=["p"], properties=MERGE_ON_READ)
    other = table.refresh()
    plan = table.rewrite_data_files()
    assert plan.groups.num_rows == 2
    if moment == "before apply":
        change(other)
        other.append(rows(100))
    else:
        told: list[int] = []

        def tell(written: int, _size: int, _files: int) -> None:
            told.append(written)
            if len(told) == 1:
                monkeypatch.setattr(frazil.config, "progress", False)
                change(other)
                other.append(rows(100))

        monkeypatch.setattr(frazil.config, "progress", tell)
    result = plan.apply()
    assert (result.refused_groups, result.refused_files) == (1, 6)
    assert (result.rewritten_files, result.added_files) == (6, 1)
    expected = content(other.refresh(), snapshot_id=other.current_snapshot().snapshot_id)
    assert content(table) == expected
    assert not new_files_without_a_snapshot(tmp_path, table)


def new_files_without_a_snapshot(folder: Path, table: Any) -> set[Path]:
    """Return the data files that are in no snapshot of a table."""
    known = {
        Path(location.removeprefix("file:"))
        for content in ("all_data_files", "all_delete_files")
        for location in table.inspect[content].scan(selected_fields=["file_path"]).to_arrow()["file_path"].to_pylist()
    }
    return data_files_in(folder) - known


@pytest.mark.parametrize("version", [2, 3])
def test_concurrent_equality_deletes_apply_to_the_rewritten_files(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version, partition_by=["p"])
    delete_by_key(table, {"id": [4, 5]}, {"p": "a"}, 0)
    table = table.refresh()
    assert table.scan().count() == 59
    other, plan = table.refresh(), table.rewrite_data_files()
    assert plan.groups["delete_files"].to_pylist() == [6, 0] or plan.input_files == 12
    delete_by_key(other, {"id": [24]}, {"p": "a"}, 0)
    result = plan.apply()
    assert (result.refused_groups, result.added_files) == (0, 2)
    ids = table.scan().to_arrow()["id"].to_pylist()
    assert sorted(ids) == [one for one in range(60) if one not in (4, 24)]
    table.rewrite_data_files(rewrite_all=True).apply()
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == sorted(ids)
    assert table.inspect.delete_files().num_rows == 0


def test_a_newer_equality_delete_stops_files_that_change_their_spec(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.update_spec().add_field("p").commit()
    table.append(rows(100, 101))
    # A delete of the unpartitioned spec applies to all files; one of the new spec applies only to files of that spec.
    for spec_id, partition, ids, refused in [(0, {}, [4, 200], 3), (1, {"p": "a"}, [6, 200], 1)]:
        other, plan = table.refresh(), table.rewrite_data_files(rewrite_all=True)
        assert plan.groups["partition"].to_pylist().count(None) == 1
        delete_by_key(other, {"id": ids}, partition, spec_id)
        expected = sorted(other.refresh().scan().to_arrow()["id"].to_pylist())
        assert (ids[0] in expected) == (spec_id == 1)
        assert plan.apply().refused_groups == refused
        assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == expected


def test_concurrent_appends_do_not_conflict(tmp_path: Path) -> None:
    table = made(tmp_path)
    other, plan = table.refresh(), table.rewrite_data_files()
    assert plan.input_files == 6
    other.append(rows(100))
    result = plan.apply()
    assert (result.refused_groups, result.rewritten_files) == (0, 6)
    assert table.scan().count() == 61


def test_stale_handle_rewrites_the_latest_state(tmp_path: Path) -> None:
    table = made(tmp_path)
    behind = table.refresh()
    table.append(rows(100))
    assert behind.rewrite_data_files().apply().rewritten_files == 7
    assert behind.scan().count() == 61


def test_rows_keep_the_ids_that_a_concurrent_commit_assigns_after_an_upgrade(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upgrade(3)
    other, plan = table.refresh(), table.rewrite_data_files()
    assert plan.input_files == 6
    other.append(rows(100))
    assigned = content(other)
    result = plan.apply()
    assert (result.refused_groups, content(table)) == (1, assigned)
    assert (table.rewrite_data_files().apply().refused_groups, content(table)) == (0, assigned)


def test_a_delete_is_planned_again_if_a_concurrent_commit_assigned_row_ids(tmp_path: Path) -> None:
    table = made(tmp_path, 1)
    table.upgrade(3)
    other = table.refresh()

    def delete_late() -> None:
        with table.transaction() as changes:
            changes.delete("id = 3")
            other.append(rows(100))

    with pytest.raises(CommitConflictError, match="enabled row ids for the table"):
        delete_late()
    assigned = content(other)
    table.delete("id = 3")
    assert content(table) == [row for row in assigned if "'id': 3," not in row]


def test_a_rewrite_gives_up_when_the_columns_changed(tmp_path: Path) -> None:
    table = made(tmp_path, format_version=3)
    other, plan = table.refresh(), table.rewrite_data_files()
    assert plan.input_files == 6
    with other.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("p")
        update.add_column("q", pa.string(), required=True, default_value="x")
    known = data_files_in(tmp_path)
    try:
        plan.apply()
    except CommitConflictError:
        assert data_files_in(tmp_path) == known
    assert sorted(set(table.refresh().scan().to_arrow()["q"].to_pylist())) == ["x"]


# Failures


def test_group_with_concurrently_expired_files_is_skipped(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["p"])
    plan = table.rewrite_data_files()
    assert plan.input_files == 12
    other = frazil.load_table(tmp_path / "t")
    other.rewrite_data_files("p = 'a'").apply()
    other.expire_snapshots("2100-01-01T00:00:00Z").apply()
    before = content(other)
    result = plan.apply()
    assert (result.refused_groups, result.refused_files, result.rewritten_files) == (1, 6, 6)
    assert content(frazil.load_table(tmp_path / "t")) == before


def test_a_file_that_is_missing_from_the_table_is_an_error(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["p"])
    lost = Path(next(one.file.file_path for one in files_of(table)))
    known = data_files_in(tmp_path)
    lost.unlink()
    with pytest.raises(MissingFileError, match=lost.name):
        table.rewrite_data_files().apply()
    assert data_files_in(tmp_path) == known - {lost}


def test_other_commits_are_made_if_one_fails(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["p"])
    damaged = next(Path(one.file.file_path) for one in files_of(table) if "p=b" in one.file.file_path)
    content_before = damaged.read_bytes()
    damaged.write_bytes(b"PAR1" + bytes(len(content_before) - 8) + b"PAR1")
    plan = table.rewrite_data_files(max_commits=2)
    with pytest.warns(RuntimeWarning, match="1 commits failed and 1 succeeded"):
        result = plan.apply()
    assert (result.failed_groups, result.failed_files, result.rewritten_files, len(result.snapshot_ids)) == (1, 6, 6, 1)
    assert [type(error) for error in result.failures] == [CorruptDataFileError]
    damaged.write_bytes(content_before)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(60))
    assert table.rewrite_data_files(max_commits=2).apply().failures == ()
    damaged = Path(next(one.file.file_path for one in files_of(table)))
    damaged.write_bytes(b"")
    with pytest.raises(FrazilError):
        table.rewrite_data_files(f"p = '{damaged.parent.name[-1]}'", rewrite_all=True, max_commits=2).apply()


def test_a_delete_file_that_several_commits_leave_without_data_is_removed(tmp_path: Path) -> None:
    properties = {**MERGE_ON_READ, "write.delete.granularity": "partition"}
    table = made(tmp_path, files=3, format_version=2, properties=properties)
    table.delete("id in (1, 11, 21)")
    before = content(table)
    assert table.inspect.delete_files().num_rows == 1
    result = table.rewrite_data_files(rewrite_all=True, max_file_group_size_bytes=1, max_commits=3).apply()
    assert (len(result.snapshot_ids), result.removed_delete_files) == (3, 1)
    assert (content(table), table.inspect.delete_files().num_rows) == (before, 0)


def test_a_file_that_cannot_be_read_stops_the_rewrite(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["p"])
    path = Path(files_of(table)[7].file.file_path.removeprefix("file:"))
    path.write_bytes(path.read_bytes()[:100] + os.urandom(50))
    known, head = data_files_in(tmp_path), table.current_snapshot().snapshot_id
    with pytest.raises(CorruptDataFileError, match=path.name):
        table.rewrite_data_files().apply()
    assert data_files_in(tmp_path) == known
    assert table.refresh().current_snapshot().snapshot_id == head


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"min_input_files": 0}, "min_input_files is 0, expected at least 1"),
        ({"max_commits": 0}, "max_commits is 0"),
        ({"delete_file_threshold": 0}, "delete_file_threshold is 0"),
        ({"max_file_group_size_bytes": 0}, "max_file_group_size_bytes is 0"),
        ({"delete_ratio_threshold": 0}, "delete_ratio_threshold is 0, expected a number above 0"),
        ({"delete_ratio_threshold": "0.3"}, "delete_ratio_threshold is '0.3'"),
        ({"target_file_size_bytes": "1 GB"}, "target_file_size_bytes is '1 GB', expected an integer"),
        ({"target_file_size_bytes": 100, "min_file_size_bytes": 100}, "min_file_size_bytes=100, target_file_size_"),
        ({"target_file_size_bytes": 100, "max_file_size_bytes": 90}, "max_file_size_bytes=90"),
        ({"target_file_size_bytes": 0}, "target_file_size_bytes=0"),
        ({"rewrite_all": "yes"}, "rewrite_all must be True or False"),
        ({"row_filter": "nothing = 1"}, "nothing"),
        ({"row_filter": "id >"}, "id >"),
    ],
)
def test_bad_options_are_named(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    table = made(tmp_path, 1)
    known = data_files_in(tmp_path)
    with pytest.raises(InvalidArgumentError, match=message):
        table.rewrite_data_files(**arguments).apply()
    assert data_files_in(tmp_path) == known


def test_a_table_without_snapshots_has_nothing_to_write(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA)
    plan = table.rewrite_data_files(rewrite_all=True)
    assert (plan.input_files, plan.output_files, plan.groups.num_rows) == (0, 0, 0)
    assert plan.apply().snapshot_ids == ()


def test_progress_is_that_of_all_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, told = made(tmp_path, partition_by=["p"]), []
    monkeypatch.setattr(frazil.config, "progress", lambda *numbers: told.append(numbers))
    result = table.rewrite_data_files().apply()
    assert told[-1] == (60, result.added_bytes, 2)
    assert [rows for rows, _, _ in told] == sorted(rows for rows, _, _ in told)


# Tables by other writers


@pytest.mark.sampled(80)
@pytest.mark.parametrize("case", list(golden_cases()), ids=lambda case: case.id)
def test_tables_that_others_wrote_keep_their_rows(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / case.root.name
    shutil.copytree(case.root, folder)
    try:
        table = frazil.load_table(folder, format="iceberg")
        before = content(table)
    except FrazilError:
        pytest.skip("the table is damaged")
    try:
        table.rewrite_data_files(rewrite_all=True).apply()
    except (UnsupportedError, frazil.errors.CommitValidationError):
        assert content(table) == before
        return
    assert content(table) == before
    assert [len(file.delete_files) for file in files_of(table)] == [0] * len(files_of(table))
