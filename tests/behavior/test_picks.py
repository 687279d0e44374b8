"""Tests of staged replacements of partitions that are published after concurrent commits."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitConflictError, CommitValidationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def rows(p: int | None, *ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": [p] * len(ids)}, schema=SCHEMA)


def ids_of(table: Any, **arguments: Any) -> list[int]:
    return sorted(table.refresh().scan(**arguments).to_arrow()["id"].to_pylist())


def empty(folder: Path, version: int = 2, partition_by: tuple[str, ...] = ("p",), **properties: str) -> Any:
    properties = {"write.wap.enabled": "true", **properties}
    return frazil.create_table(
        folder / "t", SCHEMA, partition_by=partition_by, format_version=version, properties=properties
    )


def staged(table: Any, data: pa.Table) -> int:
    snapshot_id = table.dynamic_partition_overwrite(data, snapshot_properties={"wap.id": "w"}).snapshot_id
    assert isinstance(snapshot_id, int)
    return snapshot_id


def overtaken(folder: Path, version: int, meanwhile: Callable[[Any], Any]) -> tuple[Any, int]:
    """Stage a replacement of partition 1 before another change to the table."""
    table = empty(folder, version)
    table.append(rows(1, 1, 3))
    table.append(rows(2, 2))
    picked = staged(table, rows(1, 5))
    meanwhile(table)
    return table, picked


def publish(table: Any) -> dict[str, str]:
    table.manage_snapshots().publish_changes("w").commit()
    summary: dict[str, str] = table.current_snapshot().summary
    return summary


def spec_changed(table: Any) -> None:
    table.update_spec().add_field("bucket(4, id)").commit()
    table.append(rows(1, 8))


def rolled_back(table: Any) -> None:
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().set_current_snapshot(first).commit()


def lost_row(table: Any) -> None:
    table.set_properties(MERGE_ON_READ)
    table.delete("id = 1")


ELSEWHERE: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "an append": (lambda t: t.append(rows(2, 8)), [2, 5, 8]),
    "an append of no partition": (lambda t: t.append(rows(None, 8)), [2, 5, 8]),
    "a removal": (lambda t: t.delete("p = 2"), [5]),
    "a replacement": (lambda t: t.dynamic_partition_overwrite(rows(2, 8)), [5, 8]),
    "files of another spec": (spec_changed, [2, 5, 8]),
    "a wider column": (
        lambda t: (t.update_schema().update_column("p", "long").commit(), t.append(rows(2, 8))),
        [2, 5, 8],
    ),
}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("case", ELSEWHERE)
def test_partitions_that_nobody_changed_are_replaced(tmp_path: Path, case: str, version: int) -> None:
    meanwhile, expected = ELSEWHERE[case]
    table, picked = overtaken(tmp_path, version, meanwhile)
    summary = publish(table)
    assert ids_of(table) == expected
    counted = {
        "deleted-data-files": "1",
        "deleted-records": "2",
        "added-records": "1",
        "total-records": str(len(expected)),
    }
    properties = {"operation": "overwrite", "source-snapshot-id": str(picked), "published-wap-id": "w"}
    expected_summary = {**counted, **properties}
    assert {key: summary.get(key) for key in expected_summary} == expected_summary
    with pytest.raises(CommitValidationError, match="it was already picked"):
        table.manage_snapshots().cherry_pick(picked).commit()
    if version == 3:
        found = table.scan(selected_fields=("_row_id",)).to_arrow()
        assert len(set(found["_row_id"].to_pylist())) == found.num_rows


IN_THE_WAY: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an append": (
        lambda t: t.append(rows(1, 8)),
        "a concurrent commit added files to a partition that this operation replaces",
    ),
    "a removal": (lambda t: t.delete("p = 1"), "a data file was removed or rewritten concurrently"),
    "a file written again": (
        lambda t: t.delete("id = 1"),
        "removed or rewritten concurrently|a concurrent commit added files",
    ),
    "deleted rows": (lost_row, "a concurrent commit deleted rows of a data file that this operation changes"),
    "a replacement": (
        lambda t: t.dynamic_partition_overwrite(rows(1, 8)),
        "removed or rewritten concurrently|a concurrent commit added files",
    ),
    "everything replaced": (lambda t: t.overwrite(rows(2, 8)), "a data file was removed or rewritten concurrently"),
    "another history": (rolled_back, "no longer descends"),
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("case", IN_THE_WAY)
def test_partitions_that_others_changed_are_not_replaced(tmp_path: Path, case: str, version: int) -> None:
    meanwhile, why = IN_THE_WAY[case]
    table, picked = overtaken(tmp_path, version, meanwhile)
    before, files = ids_of(table), sorted(tmp_path.rglob("*"))
    with pytest.raises(CommitValidationError, match=rf"snapshot {picked} cannot be cherry-picked: .*({why})"):
        publish(table)
    assert (ids_of(table), sorted(tmp_path.rglob("*"))) == (before, files)


@pytest.mark.parametrize("granularity", ["file", "partition"])
@pytest.mark.parametrize("version", [2, 3])
def test_deletes_are_dropped_with_the_partition(tmp_path: Path, version: int, granularity: str) -> None:
    table = empty(tmp_path, version, **MERGE_ON_READ, **{"write.delete.granularity": granularity})
    table.append(rows(1, 1, 3))
    table.append(rows(1, 4, 6))
    table.append(rows(2, 2, 7))
    table.delete("id in (3, 6)")
    table.delete("id = 7")
    by_file = version == 3 or granularity == "file"
    assert table.current_snapshot().summary["total-delete-files"] == str(3 if by_file else 2)
    staged(table, rows(1, 5))
    table.append(rows(2, 8))
    summary = publish(table)
    assert ids_of(table) == [2, 5, 8]
    assert (summary["total-delete-files"], summary["total-position-deletes"]) == ("1", "1")
    assert summary["removed-position-deletes"] == "2"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_without_partitions_is_replaced_as_a_whole(tmp_path: Path, version: int) -> None:
    table = empty(tmp_path, version, ())
    table.append(rows(1, 1))
    staged(table, rows(1, 5))
    table.update_spec().add_field("p").commit()
    table.append(rows(1, 8))
    publish(table)
    assert ids_of(table) == [5, 8], "files of another spec stay"

    table = empty(tmp_path / "other", version, ())
    table.append(rows(1, 1))
    staged(table, rows(1, 5))
    table.append(rows(2, 8))
    with pytest.raises(
        CommitValidationError, match="a concurrent commit added files to a partition that this operation replaces"
    ):
        publish(table)
    assert ids_of(table) == [1, 8]


def test_cherry_pick_that_replaced_nothing_still_checks_its_partition(tmp_path: Path) -> None:
    for into, expected in ((1, None), (2, [5, 8])):
        table = empty(tmp_path / str(into))
        picked = staged(table, rows(1, 5))
        assert table.refresh().snapshots()[0].summary["operation"] == "overwrite"
        table.append(rows(into, 8))
        if expected is None:
            with pytest.raises(
                CommitValidationError,
                match="a concurrent commit added files to a partition that this operation replaces",
            ):
                table.manage_snapshots().cherry_pick(picked).commit()
            assert ids_of(table) == [8]
        else:
            publish(table)
            assert (ids_of(table), table.current_snapshot().summary["operation"]) == (expected, "overwrite")


def test_a_replacement_of_a_branch_is_picked(tmp_path: Path) -> None:
    table = empty(tmp_path)
    table.append(rows(1, 1))
    table.append(rows(2, 2))
    table.manage_snapshots().create_branch(None, "dev").commit()
    first = table.dynamic_partition_overwrite(rows(1, 5), branch="dev").snapshot_id
    second = table.dynamic_partition_overwrite(rows(2, 6), branch="dev").snapshot_id
    table.append(rows(3, 8))
    with pytest.raises(CommitValidationError, match="no longer descends"):
        table.manage_snapshots().cherry_pick(second).commit()
    table.manage_snapshots().cherry_pick(first).commit()
    assert ids_of(table) == [2, 5, 8]


def test_cherry_pick_removes_only_files_removed_by_the_snapshot(tmp_path: Path) -> None:
    """Any operation may be labelled as a replacement of partitions."""
    called = {"wap.id": "w", "replace-partitions": "true"}
    table = empty(tmp_path)
    table.append(rows(1, 1))
    table.append(rows(1, 2))
    table.overwrite(rows(1, 5), "id = 1", snapshot_properties=called)
    table.append(rows(2, 8))
    publish(table)
    assert ids_of(table) == [2, 5, 8]


def test_deletes_for_files_that_stay_are_not_picked(tmp_path: Path) -> None:
    called = {"wap.id": "w", "replace-partitions": "true"}
    table = empty(tmp_path, **MERGE_ON_READ)
    table.append(rows(1, 1, 2))
    table.overwrite(rows(1, 5), "id = 1", snapshot_properties=called)
    table.append(rows(2, 8))
    with pytest.raises(CommitValidationError, match="it deletes rows of files that it does not remove"):
        publish(table)
    assert ids_of(table) == [1, 2, 8]


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        (lambda t: t.append(rows(2, 9)), None),
        (
            lambda t: t.append(rows(1, 9)),
            (CommitValidationError, "a concurrent commit added files to a partition that this operation replaces"),
        ),
        (lambda t: t.update_schema().update_column("p", "long").commit(), (CommitConflictError, "changed the schema")),
    ],
    ids=["elsewhere", "in the partition", "partitions of another type"],
)
def test_cherry_pick_that_loses_a_race_is_revalidated(
    tmp_path: Path, meanwhile: Callable[[Any], Any], why: Any
) -> None:
    table = empty(tmp_path)
    table.append(rows(1, 1))
    picked = staged(table, rows(1, 5))
    table.append(rows(2, 8))
    with contextlib.nullcontext() if why is None else pytest.raises(why[0], match=why[1]), table.transaction() as tx:
        tx.manage_snapshots().cherry_pick(picked).commit()
        meanwhile(frazil.load_table(tmp_path / "t"))
    if why is None:
        assert ids_of(table) == [5, 8, 9]
    else:
        assert set(ids_of(table)) >= {1, 8}
