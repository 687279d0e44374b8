"""Tests that deletion plans match the files that scans read, over the golden tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import frazil
from frazil import errors

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"
NAMES = sorted(path.parent.name for path in GOLDEN.glob("*/metadata"))


def read_by(name: str) -> set[tuple[str, str]]:
    """Return the names of files that scans of all snapshots read; some tables record other locations."""
    table = frazil.load_table(GOLDEN / name, format="iceberg")
    found, kinds = set(), {1: "position-deletes", 2: "equality-deletes"}
    for snapshot in table.snapshots():
        for task in table.scan(snapshot_id=snapshot.snapshot_id).plan_files():
            found.add(("data", task.file.file_path.rpartition("/")[2]))
            found |= {(kinds[delete.content], delete.file_path.rpartition("/")[2]) for delete in task.delete_files}
        if snapshot.manifest_list:
            found.add(("manifest-list", snapshot.manifest_list.rpartition("/")[2]))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_names_all_that_any_snapshot_reads(name: str) -> None:
    try:
        read = read_by(name)
    except errors.FrazilError as error:
        pytest.skip(f"no scan reads it: {error}")
    catalog = frazil.load_catalog("golden", warehouse=str(GOLDEN))
    plan = catalog.plan_purge((name,))
    rows = list(zip(plan.batch["kind"].to_pylist(), plan.batch["location"].to_pylist(), strict=True))
    planned = {(kind, location.rpartition("/")[2]) for kind, location in rows}
    assert read <= planned
    assert rows[-1] == ("metadata", plan.metadata_location)
    assert len(plan) == len({location for _, location in rows})
    assert plan.size_bytes > 0
    # Recorded lengths are those of the files.
    for location, size in zip(plan.batch["location"].to_pylist(), plan.batch["size_bytes"].to_pylist(), strict=True):
        found = list((GOLDEN / name).rglob(location.rpartition("/")[2]))
        assert not found or size in {path.stat().st_size for path in found}, location
