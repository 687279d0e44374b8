"""Tests of the number of buckets of partitions, of merged manifests, and of branches that become the main branch."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.paimon_files import HINTS, files_in, files_known

if TYPE_CHECKING:
    from pathlib import Path

DAYS = [dt.date(2024, 2, 29), dt.date(1969, 12, 31)]
KEYED: dict[str, dict[str, Any]] = {
    "deduplicate": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "first-row": {"merge-engine": "first-row"},
    "input": {"changelog-producer": "input"},
    "sequence": {"sequence.field": "n"},
}
APPEND = {"append": {"bucket-key": "id"}}


def create(folder: Path, options: dict[str, Any], *, partitioned: bool = True) -> Any:
    keys = [] if "bucket-key" in options else ["day", "id"]
    return frazil.create_table(
        folder / "t",
        {"id": "BIGINT NOT NULL", "day": "DATE NOT NULL" if keys else "DATE", "n": "INT"},
        format="paimon",
        primary_keys=keys if partitioned else keys[1:],
        partition_keys=["day"] if partitioned else [],
        options={"bucket": 2, **options},
    )


def rows(table: Any) -> list[str]:
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


def buckets(table: Any) -> set[int]:
    return {split.total_buckets for split in table.scan().plan_files()}


@pytest.mark.parametrize(("name", "options"), [*KEYED.items(), *APPEND.items()])
def test_partitions_get_another_number_of_buckets(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    table = create(tmp_path, options)
    days = [*DAYS, None] if name == "append" else DAYS
    table.append([{"id": number, "day": days[number % len(days)], "n": number} for number in range(30)])
    table.append([{"id": number, "day": DAYS[0], "n": 100} for number in (0, 2)])
    before = rows(table)
    assert table.rescale(3, partitions=[{"day": "2024-02-29"}]).removed_files > 0
    assert (rows(table), buckets(table), table.options["bucket"]) == (before, {2, 3}, "3")
    with pytest.raises(errors.InvalidArgumentError, match=r"has 2 buckets; call rescale\(\)"):
        table.append([{"id": 1, "day": DAYS[1], "n": 1}])
    table.append([{"id": 500, "day": DAYS[0], "n": 1}])
    before = rows(table)
    assert table.rescale().snapshot_id is not None
    assert (rows(table), buckets(table)) == (before, {3})
    assert table.rescale().snapshot_id is None
    table.append([{"id": 501, "day": DAYS[1], "n": 1}])
    assert len(rows(table)) == len(before) + 1
    assert files_known(table) == files_in(table) - HINTS


def test_a_table_without_partitions_is_rescaled(tmp_path: Path) -> None:
    table = create(tmp_path, {}, partitioned=False)
    table.append([{"id": number, "day": DAYS[0], "n": number} for number in range(30)])
    before = rows(table)
    assert table.rescale(1).added_files == 1
    assert (rows(table), buckets(table)) == (before, {1})


def test_bad_numbers_change_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, {})
    table.append([{"id": 1, "day": DAYS[0], "n": 1}])
    for number in (0, -1):
        with pytest.raises(errors.InvalidArgumentError):
            table.rescale(number)
    with pytest.raises(errors.InvalidArgumentError, match="a partition must be a mapping"):
        table.rescale(3, partitions=["day"])
    assert table.options["bucket"] == "2"
    dynamic = frazil.create_table(tmp_path / "d", {"id": "BIGINT"}, format="paimon", primary_keys=["id"])
    with pytest.raises(errors.InvalidArgumentError, match="not fixed"):
        dynamic.rescale(2)


def test_a_concurrent_change_of_rows_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, {}, partitioned=False)
    table.append([{"id": 1, "day": DAYS[0], "n": 1}])
    other: Any = frazil.load_table(table.location)
    from frazil.paimon import _rescale

    read = _rescale.read_splits

    def slow(*arguments: Any, **options: Any) -> Any:
        yield from read(*arguments, **options)
        other.truncate()

    monkeypatch.setattr(_rescale, "read_splits", slow)
    with pytest.raises(errors.CommitConflictError):
        table.rescale(3)
    assert rows(table) == []
    assert files_known(table) == files_in(table) - HINTS


def test_manifests_are_merged_once(tmp_path: Path) -> None:
    table = create(tmp_path, {}, partitioned=False)
    assert table.compact_manifests().snapshot_id is None
    for number in range(5):
        table.append([{"id": number, "day": DAYS[0], "n": number}])
    table.compact()
    before = rows(table)
    assert table.inspect.manifests().num_rows > 1
    result = table.compact_manifests()
    assert result.snapshot_id == table.current_snapshot().snapshot_id
    assert (rows(table), table.inspect.manifests().num_rows) == (before, 1)
    last = table.inspect.snapshots().to_pylist()[-1]
    assert (last["commit_kind"], last["delta_record_count"], last["total_record_count"]) == ("COMPACT", 0, 5)
    assert table.compact_manifests().snapshot_id is None
    assert files_known(table) == files_in(table) - HINTS


@pytest.mark.parametrize("altered", [False, True])
def test_the_main_branch_goes_forward_to_a_branch(tmp_path: Path, altered: bool) -> None:  # noqa: FBT001
    table = create(tmp_path, {}, partitioned=False)
    for number in range(3):
        table.append([{"id": number, "day": DAYS[0], "n": number}])
    table.manage_snapshots().create_tag(2, "v").create_branch("v", "dev").commit()
    dev = table.with_branch("dev")
    if altered:
        dev.update_schema().add_column("more", "INT").commit()
        dev = frazil.load_table(table.location).with_branch("dev")
        table.update_schema().add_column("other", "STRING").commit()
    for number in range(10, 12):
        dev.append([{"id": number, "day": DAYS[1], "n": number}])
    dev.manage_snapshots().create_tag(None, "of dev").commit()
    table.append([{"id": 99, "day": DAYS[0], "n": 99}])
    table.manage_snapshots().create_tag(None, "gone").commit()
    expected = rows(dev)
    table.manage_snapshots().fast_forward("dev").commit()
    main = frazil.load_table(table.location)
    assert (rows(main), rows(main.with_branch("dev"))) == (expected, expected)
    assert sorted(main.tags()) == ["of dev", "v"]
    assert [one.snapshot_id for one in main.snapshots()] == [1, 2, 3, 4]
    assert ("more" in main.schema().column_names, "other" in main.schema().column_names) == (altered, False)
    known = files_known(main) | files_known(main.with_branch("dev"))
    assert known == {
        name for name in files_in(main) if not name.endswith(("LATEST", "EARLIEST")) and "tag-" not in name
    }
    main.append([{"id": 7, "day": DAYS[0], "n": 7}])
    assert len(rows(main)) == len(expected) + 1
    assert rows(main.with_branch("dev")) == expected


def test_branches_that_cannot_be_taken_change_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, {}, partitioned=False)
    table.append([{"id": 1, "day": DAYS[0], "n": 1}])
    table.manage_snapshots().create_branch(None, "empty").commit()
    before = files_in(table)
    for name, problem in (("main", "to itself"), ("nope", "no branch"), ("empty", "no snapshot")):
        with pytest.raises(errors.FrazilError, match=problem):
            table.manage_snapshots().fast_forward(name).commit()
    assert files_in(table) == before
