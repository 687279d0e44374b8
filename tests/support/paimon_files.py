"""The files of a Paimon table on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.paimon import Snapshot, Table

__all__ = ["HINTS", "files_in", "files_known"]

HINTS = frozenset({"snapshot/LATEST", "snapshot/EARLIEST"})
"""Files that readers do not need."""


def files_in(table: Table) -> set[str]:
    """Return the paths of all files in the folder of a table, below it."""
    folder = Path(table.location)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def files_known(table: Table) -> set[str]:
    """Return the paths of the schemas and snapshots, and of all files that a snapshot needs."""
    known = {f"schema/schema-{schema.schema_id}" for schema in table.schemas()}
    for snapshot in table.snapshots():
        known.add(f"snapshot/snapshot-{snapshot.snapshot_id}")
        known |= set(_files_of(table, snapshot))
    return known


def _files_of(table: Table, snapshot: Snapshot) -> Iterator[str]:
    manifests = table.inspect.manifests(snapshot_id=snapshot.snapshot_id).column("file_name").to_pylist()
    for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, *manifests):
        yield f"manifest/{name}"
    for split in table.scan(snapshot_id=snapshot.snapshot_id).plan_files():
        for file in split.files:
            path = file.file_path.removeprefix(f"{table.location}/")
            folder = path.rpartition("/")[0]
            yield path
            for name in file.extra_files:
                yield f"{folder}/{name}"
