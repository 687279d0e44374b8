"""Tests of snapshot expiry: frazil's plan matches what Iceberg (Java) removes and deletes."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.errors import CommitValidationError
from support.garbage import metadata_of, path_of

if TYPE_CHECKING:
    from pathlib import Path

    from support.java import Java

SOON = "2100-01-01 00:00:00"
DAY_MS = 86_400_000


def change(chance: random.Random, table: Any) -> None:
    """Apply a random change to rows, branches or tags."""
    number, name = chance.randrange(100), f"r{chance.randrange(4)}"
    ids = [snapshot.snapshot_id for snapshot in table.snapshots()]
    rows = [{"id": number, "p": "ab"[number % 2]}]
    match chance.randrange(6):
        case 0 | 1:
            table.append(rows)
        case 2:
            # The overwrite is rejected if a file of an earlier spec mixes partitions.
            with contextlib.suppress(CommitValidationError):
                table.dynamic_partition_overwrite(rows)
        case 3:
            table.delete(f"id > {number}")
        case 4 if ids and name not in table.refs():
            table.manage_snapshots().create_tag(chance.choice(ids), name).commit()
        case 5 if ids and name not in table.refs():
            least = chance.choice([None, 2])
            table.manage_snapshots().create_branch(
                chance.choice(ids), name, None, chance.choice([None, DAY_MS]), least
            ).commit()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(10))
def test_java_expiration_deletes_the_planned_files(java: Java, warehouse: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    catalog = frazil.load_catalog(type="hadoop", warehouse=str(warehouse))
    catalog.create_namespace_if_not_exists("expired")
    mode = chance.choice(["copy-on-write", "merge-on-read"])
    table = catalog.create_table(
        f"expired.t{seed}",
        {"id": "long", "p": "string"},
        partition_by=["p"],
        format_version=chance.choice([2, 3]),
        properties={"write.delete.mode": mode, "commit.manifest.min-count-to-merge": chance.choice(["2", "100"])},
    )
    table.append([{"id": 1, "p": "a"}])
    for _ in range(12):
        change(chance, table)
    retain_last = chance.choice([1, 2, 4])
    moment = dt.datetime.fromisoformat(SOON).replace(tzinfo=dt.UTC)
    plan = table.expire_snapshots(moment, retain_last=retain_last)
    planned = {path_of(location) for location in plan.files["location"].to_pylist()}
    gone, refs = set(plan.snapshot_ids), set(plan.refs)
    folder, before = warehouse / "expired" / f"t{seed}", metadata_of(table)
    present = files_in(folder)
    java.sql(
        f"call java.system.expire_snapshots(table => 'java.expired.t{seed}', "
        f"older_than => timestamp '{SOON}', retain_last => {retain_last})"
    )
    after = metadata_of(table.refresh())
    assert {one["snapshot-id"] for one in before["snapshots"]} - {
        one["snapshot-id"] for one in after["snapshots"]
    } == gone
    assert before["refs"].keys() - after["refs"].keys() == refs
    assert present - files_in(folder) == planned


def files_in(folder: Path) -> set[Path]:
    """Return the files of a table, except metadata files, hints and checksums."""
    found = {path for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if not path.name.endswith((".metadata.json", ".text", ".crc"))}
