"""Lists the files of a local Paimon table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from support.paimon_manifests import entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.paimon import Snapshot, Table

__all__ = ["HINTS", "branch_root", "files_in", "files_known", "make_branch"]

HINTS = frozenset({"snapshot/LATEST", "snapshot/EARLIEST"})
"""The files that readers do not need."""


def branch_root(branch: str) -> str:
    """Return the path of the metadata of a branch in the table folder; it ends with a slash."""
    return "" if branch == "main" else f"branch/branch-{branch}/"


def make_branch(table: Table, branch: str) -> Table:
    """Create a branch with the first schema but without snapshots, as Java does; return the table on it."""
    root = Path(table.location)
    schema = root / branch_root(branch) / "schema"
    schema.mkdir(parents=True)
    shutil.copy(root / "schema" / "schema-0", schema)
    return table.with_branch(branch)


def files_in(table: Table) -> set[str]:
    """Return the paths of all files in the folder of a table, relative to it."""
    folder = Path(table.location)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def files_known(table: Table) -> set[str]:
    """Return the paths of the schemas and snapshots of a branch, and of all files that its snapshots need."""
    root = branch_root(table.branch)
    known = {f"{root}schema/schema-{schema.schema_id}" for schema in table.schemas()}
    for snapshot in table.snapshots():
        known.add(f"{root}snapshot/snapshot-{snapshot.snapshot_id}")
        known |= set(_files_of(table, snapshot))
    return known


def _waiting_files(folder: Path, manifests: list[str]) -> Iterator[str]:
    """Yield the files whose rows are not assigned to buckets."""
    for name in manifests:
        for entry in entries(folder / "manifest" / name):
            if entry["_BUCKET"] == -2:
                file = entry["_FILE"]["_FILE_NAME"]
                yield from (path.relative_to(folder).as_posix() for path in folder.rglob(f"bucket-postpone/{file}"))


def _files_of(table: Table, snapshot: Snapshot) -> Iterator[str]:
    manifests = table.inspect.manifests(snapshot_id=snapshot.snapshot_id).column("file_name").to_pylist()
    if table.options.get("bucket") == "-2":
        yield from _waiting_files(Path(table.location), manifests)
    for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, *manifests):
        yield f"manifest/{name}"
    if snapshot.statistics is not None:
        yield f"statistics/{snapshot.statistics}"
    if snapshot.index_manifest is not None:
        yield f"manifest/{snapshot.index_manifest}"
        names = table.inspect.table_indexes(snapshot_id=snapshot.snapshot_id)["file_name"].to_pylist()
        yield from (path for path in files_in(table) if path.rpartition("/")[2] in names)
    # Scans may leave out files of level 0.
    for path in table.inspect.files(snapshot_id=snapshot.snapshot_id)["file_path"].to_pylist():
        yield path.removeprefix(f"{table.location}/")
    yield from _changelog_of(table, snapshot)
    for split in table.scan(snapshot_id=snapshot.snapshot_id).plan_files():
        for file in split.files:
            path = file.file_path.removeprefix(f"{table.location}/")
            folder = path.rpartition("/")[0]
            yield path
            for name in file.extra_files:
                yield f"{folder}/{name}"


def _changelog_of(table: Table, snapshot: Snapshot) -> Iterator[str]:
    """Yield the changelog files of a snapshot, and the manifests with the UUID of their list."""
    found = table.inspect.snapshots().to_pylist()
    (name,) = (row["changelog_manifest_list"] for row in found if row["snapshot_id"] == snapshot.snapshot_id)
    if name is None:
        return
    identity = name.removeprefix("manifest-list-").rpartition("-")[0]
    yield from (path for path in files_in(table) if path.startswith("manifest/") and identity in path)
    between = f"{snapshot.snapshot_id - 1},{snapshot.snapshot_id}"
    options = {"incremental-between": between, "incremental-between-scan-mode": "changelog"}
    for split in table.scan(options=options).plan_files():
        yield from (file.file_path.removeprefix(f"{table.location}/") for file in split.files)
