"""Tests of `purge_files` and `mark_partition_done`."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.paimon_garbage import garbage

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {"id": "BIGINT", "day": "DATE", "part": "STRING"}


def create(folder: Path, **arguments: Any) -> Any:
    return frazil.create_table(folder / "t", COLUMNS, format="paimon", **arguments)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("keys", [[], ["id"]])
def test_only_the_schema_and_an_empty_snapshot_remain(tmp_path: Path, keys: list[str]) -> None:
    options = {"bucket": 2, "bucket-key": "id", "deletion-vectors.enabled": "true"}
    table = create(tmp_path, primary_keys=keys, options=options)
    table.append([{"id": number} for number in range(9)])
    table.manage_snapshots().create_tag(None, "kept").create_branch("kept", "b").set_consumer("reader", 1).commit()
    table.with_branch("b").append([{"id": 100}])
    table.delete("id in (1, 2)")
    table.append([{"id": 50}])
    table.purge_files()
    assert (table.scan().count(), table.branches(), table.tags()) == (0, [], {})
    assert table.inspect.consumers().num_rows == 0
    assert len(table.snapshots()) == 1
    assert not garbage(tmp_path / "t")
    assert not any("/data-" in name or name.startswith("index/") for name in files(tmp_path / "t"))
    table.append([{"id": 7}])
    assert table.scan(selected_fields=["id"]).to_arrow().to_pylist() == [{"id": 7}]


def test_empty_tables_are_purged_and_branches_are_not(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.purge_files()
    table.append([{"id": 1}])
    table.manage_snapshots().create_branch(None, "b").commit()
    with pytest.raises(errors.InvalidArgumentError, match="all branches are purged together"):
        table.with_branch("b").purge_files()
    assert table.scan().count() == 1


def test_partitions_are_marked_as_done(tmp_path: Path) -> None:
    table = create(tmp_path, partition_keys=["day", "part"])
    table.append([{"id": 1, "day": dt.date(2024, 2, 29), "part": "a/b"}])
    table.mark_partition_done([{"part": "a/b", "day": "2024-02-29"}, {"day": None, "part": "é"}])
    (data,) = (path.parent.parent for path in tmp_path.rglob("data-*"))
    made = json.loads((data / "_SUCCESS").read_text())
    assert made["creationTime"] == made["modificationTime"]
    assert (data / "_SUCCESS").read_text().startswith('{\n  "creationTime" : ')
    assert (tmp_path / "t/day=__DEFAULT_PARTITION__/part=é/_SUCCESS").is_file()
    (data / "_SUCCESS").write_text('{"creationTime": 5, "modificationTime": 6}')
    table.mark_partition_done([{"part": "a/b", "day": "2024-02-29"}])
    again = json.loads((data / "_SUCCESS").read_text())
    assert again["creationTime"] == 5
    assert again["modificationTime"] >= made["modificationTime"]
    assert table.scan().count() == 1
    assert table.remove_orphan_files().files.num_rows == 0


def test_bad_partitions_mark_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, partition_keys=["day", "part"])
    good = {"day": "2024-02-29", "part": "a"}
    for bad, message in [
        ({"day": "2024-02-29"}, "no value for the column `part`"),
        (good | {"day": "yesterday"}, "not a value of type DATE"),
        (good | {"id": "1"}, "`id` is not a partition key"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=message):
            table.mark_partition_done([good, bad])
    table.set_properties({"partition.mark-done-action": "success-file,http-report"})
    with pytest.raises(errors.UnsupportedError, match="http-report"):
        table.mark_partition_done([good])
    with pytest.raises(errors.UnsupportedError, match="read-only"):
        table.audit_log().mark_partition_done([good])
    with pytest.raises(errors.InvalidArgumentError, match="the table has no partitions"):
        frazil.create_table(tmp_path / "u", COLUMNS, format="paimon").mark_partition_done([good])
    assert not list(tmp_path.rglob("_SUCCESS"))
