"""Planned deletion of all files of a Paimon table."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from frazil._folders import local_path
from frazil.catalog._purge import PurgePlan
from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil import _native
    from frazil.catalog._identifiers import Levels
    from frazil.paimon._table import Table

_KINDS = frozenset({"schema", "snapshot", "manifest", "index", "statistics", "changelog", "tag", "branch", "consumer"})
"""The folder names that determine the type of the files in them; files in other folders are data files."""

_EXTERNAL = "data-file.external-paths"


def planned(levels: Levels, table: Table) -> PurgePlan:
    """Plan the deletion of all files in the folder of a table that was just opened.

    Raises:
        UnsupportedError: The table has data files in other folders.
    """
    import pyarrow as pa

    if any(schema.options.get(_EXTERNAL) for schema in table.schemas()):
        message = f"the table has the option {_EXTERNAL!r}, and this release does not delete external files"
        raise UnsupportedError(
            message, context={"table": table.location}, hint=("use drop_table, then delete the files separately")
        )
    files, state = table._files, _state(table)  # noqa: SLF001 - the two halves of one package
    kinds, locations, sizes = zip(*_found(files, table.location, table.location), strict=True)
    batch = pa.record_batch({"kind": pa.array(kinds), "location": pa.array(locations), "size_bytes": pa.array(sizes)})
    return PurgePlan(identifier=levels, metadata_location=state, batch=batch, files=files)


def check_state(plan: PurgePlan, table: Table) -> bool:
    """Return whether a table that was just opened is still in the state for which the deletion was planned."""
    return plan.metadata_location == _state(table)


def delete(plan: PurgePlan, location: str) -> None:
    """Delete the files of a plan, schemas last, and then the empty folders.

    While the schemas exist, no new table can be created in the folder.

    Raises:
        StorageError: Some files could not be deleted.
    """
    schemas = plan.of_kind("schema")
    plan.delete(keep=frozenset(schemas))
    for schema in schemas:
        plan.files.delete(schema)
    remove_empty_folders(location)


def remove_empty_folders(location: str) -> None:
    """Remove a local folder and its subfolders, except those that contain files."""
    folder = local_path(location)
    for inner, _, _ in os.walk(folder, topdown=False) if folder is not None else ():
        with suppress(OSError):
            Path(inner).rmdir()


def _found(files: _native.Files, root: str, folder: str) -> Iterator[tuple[str, str, int]]:
    """Yield the type, location and size of the files in a folder and its subfolders."""
    kind = folder.removeprefix(root).strip("/").partition("/")[0]
    for location, size, _ in files.list(folder):
        yield kind if kind in _KINDS else "data", location, size
    for name in files.folders(folder):
        yield from _found(files, root, f"{folder}/{name}")


def _state(table: Table) -> str:
    """Return the latest snapshot and schema of each branch as a string that identifies the table's state."""
    states = []
    for branch in ("main", *sorted(table.branches())):
        found = table.with_branch(branch)
        snapshot = found.current_snapshot()
        states.append(f"{branch}: {snapshot and snapshot.snapshot_id}, {found.schema().schema_id}")
    return f"{table.location} ({'; '.join(states)})"
