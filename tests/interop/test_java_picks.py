"""Tests that frazil cherry-picks the same staged replacements as Iceberg (Java)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitValidationError
from support.java import JavaError
from support.java_checks import check_metadata, check_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table
    from support.java import Java

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])
STAGED = {"wap.id": "w"}
SUMMARY = [
    "operation",
    "published-wap-id",
    "replace-partitions",
    "added-data-files",
    "deleted-data-files",
    "added-records",
    "deleted-records",
    "total-records",
    "total-data-files",
]


def rows(p: int, *ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": [p] * len(ids)}, schema=SCHEMA)


def made(folder: Path, name: str, version: int, partition_by: tuple[str, ...]) -> Table:
    properties = {"write.wap.enabled": "true", "write.delete.mode": "merge-on-read"}
    table = frazil.create_table(
        folder / name, SCHEMA, partition_by=partition_by, format_version=version, properties=properties
    )
    table.append(rows(1, 1, 3))
    table.append(rows(2, 2, 4))
    table.delete("id in (3, 4)")
    return table


def spec_changed(table: Table) -> None:
    table.update_spec().add_field("bucket(4, id)").commit()
    table.append(rows(1, 8))


def written_again(table: Table) -> None:
    table.set_properties({"write.delete.mode": "copy-on-write"})
    table.delete("id = 1 or id = 2")


MEANWHILE: dict[str, tuple[Callable[[Table], Any], tuple[str, ...], bool]] = {
    "an append elsewhere": (lambda t: t.append(rows(2, 8)), ("p",), True),
    "a removal elsewhere": (lambda t: t.delete("p = 2"), ("p",), True),
    "deleted rows elsewhere": (lambda t: t.delete("id = 2"), ("p",), True),
    "a replacement elsewhere": (lambda t: t.dynamic_partition_overwrite(rows(2, 8)), ("p",), True),
    "files of another spec": (spec_changed, ("p",), True),
    "an append": (lambda t: t.append(rows(1, 8)), ("p",), False),
    "a removal": (lambda t: t.delete("p = 1"), ("p",), False),
    "files written again": (written_again, ("p",), False),
    "a replacement": (lambda t: t.dynamic_partition_overwrite(rows(1, 8)), ("p",), False),
    "an append without partitions": (lambda t: t.append(rows(2, 8)), (), False),
}
"""The concurrent commit, the partition columns, and whether the replacement can then be picked."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("case", MEANWHILE)
def test_java_and_frazil_cherry_picks_agree(java: Java, warehouse: Path, case: str, version: int) -> None:
    meanwhile, partition_by, is_picked = MEANWHILE[case]
    summaries = []
    for engine in ("frazil", "java"):
        name = f"{engine}_{version}_{case.replace(' ', '_')}"
        table = made(warehouse / "picks", name, version, partition_by)
        picked = table.dynamic_partition_overwrite(rows(1, 5), snapshot_properties=STAGED).snapshot_id
        meanwhile(table)
        before = table.current_snapshot().snapshot_id  # type: ignore[union-attr]
        refused = pytest.raises(CommitValidationError if engine == "frazil" else JavaError)
        with contextlib.nullcontext() if is_picked else refused:
            if engine == "frazil":
                table.manage_snapshots().cherry_pick(picked).commit()  # type: ignore[arg-type]
            else:
                java.sql(f"call java.system.cherrypick_snapshot('picks.{name}', {picked})")
        table = table.refresh()
        current = table.current_snapshot()
        assert current is not None
        assert (current.snapshot_id != before) == is_picked
        check_rows(java, table, f"java.picks.{name}")
        check_metadata(java, table, f"java.picks.{name}", dangling=True)
        assert (current.summary.get("source-snapshot-id") == str(picked)) == is_picked
        ids = sorted(table.scan().to_arrow()["id"].to_pylist())
        summaries.append((ids, {key: current.summary.get(key) for key in SUMMARY}))
    assert summaries[0] == summaries[1]


def test_frazil_cherry_picks_partitions_replaced_by_java(java: Java, warehouse: Path) -> None:
    for partition, expected in ((2, [2, 5, 8]), (1, None)):
        name = f"staged_{partition}"
        table = made(warehouse / "picks", name, 2, ("p",))
        settings = {"spark.wap.id": "w", "spark.sql.sources.partitionOverwriteMode": "dynamic"}
        java.many(f"set {key} = {value}" for key, value in settings.items())
        java.sql(f"insert overwrite java.picks.{name} values (5, 1)")  # noqa: S608
        java.many(f"reset {key}" for key in settings)
        table = table.refresh()
        table.append(rows(partition, 8))
        if expected is None:
            with pytest.raises(
                CommitValidationError,
                match="a concurrent commit added files to a partition that this operation replaces",
            ):
                table.manage_snapshots().publish_changes("w").commit()
        else:
            table.manage_snapshots().publish_changes("w").commit()
            assert sorted(table.scan().to_arrow()["id"].to_pylist()) == expected
            check_rows(java, table, f"java.picks.{name}")
            check_metadata(java, table, f"java.picks.{name}")


def test_only_frazil_looks_at_rows_that_were_deleted(java: Java, warehouse: Path) -> None:
    """Java replaces a partition even if its rows were concurrently deleted by delete files."""
    for engine in ("frazil", "java"):
        table = made(warehouse / "picks", f"lost_{engine}", 2, ("p",))
        table.append(rows(1, 6, 7))
        picked = table.dynamic_partition_overwrite(rows(1, 5), snapshot_properties=STAGED).snapshot_id
        assert picked is not None
        table.delete("id = 6")
        if engine == "frazil":
            with pytest.raises(
                CommitValidationError,
                match="a concurrent commit deleted rows of a data file that this operation changes",
            ):
                table.manage_snapshots().cherry_pick(picked).commit()
        else:
            java.sql(f"call java.system.cherrypick_snapshot('picks.lost_java', {picked})")
            assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [2, 5]
