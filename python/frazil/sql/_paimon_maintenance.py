"""The procedures that expire snapshots of Paimon tables and roll tables back."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._procedure_types import Context, Rows

__all__ = ["expire_snapshots", "remove_orphan_files", "rollback", "rollback_to_timestamp", "table_of"]


def table_of(context: Context, given: Mapping[str, Any]) -> Table:
    """Load the table that a procedure changes.

    Raises:
        UnsupportedError: The name is not that of a table with snapshots.
    """
    table = context.table(given["table"])
    if not isinstance(table, Table):
        message = f"{given['table']} has no snapshots, tags and branches"
        raise UnsupportedError(message)
    return table


def expire_snapshots(context: Context, given: Mapping[str, Any]) -> Rows:
    """Expire snapshots."""
    names = ("retain_max", "retain_min", "max_deletes")
    plan = table_of(context, given).expire_snapshots(_older_than(given), **{name: given.get(name) for name in names})
    return [(len(plan.apply().snapshot_ids),)]


def rollback(context: Context, given: Mapping[str, Any]) -> Rows:
    """Roll a table back to a snapshot, or to a tag."""
    targets = [name for name in ("version", "snapshot", "tag") if name in given]
    if len(targets) != 1:
        message = "rollback needs exactly one of snapshot, tag and version"
        raise InvalidArgumentError(message, hint="pass snapshot => 5, for example")
    snapshot, tag = given.get("snapshot"), given.get("tag")
    if "version" in given:
        version = given["version"].strip()
        snapshot, tag = (int(version), None) if version.isdecimal() else (None, version)
    return _moved(table_of(context, given), snapshot, tag=tag)


def rollback_to_timestamp(context: Context, given: Mapping[str, Any]) -> Rows:
    """Roll a table back to its latest snapshot at a time, in milliseconds since the epoch."""
    return _moved(table_of(context, given), None, as_of=given["timestamp"])


def remove_orphan_files(context: Context, given: Mapping[str, Any]) -> Rows:
    """Delete the orphan files of a table, or of all tables of a database (`db.*`)."""
    name = given["table"].strip()
    if name.endswith(".*"):
        catalog, levels = context.catalog.catalog, context.levels(name.removesuffix(".*") + ".t")[:-1]
        tables = [catalog.load_table(one) for one in catalog.list_tables(levels)]
    else:
        tables = [table_of(context, given)]
    count = size_bytes = 0
    for table in tables:
        if not isinstance(table, Table):
            continue
        plan = table.remove_orphan_files(_older_than(given))
        done = None if given["dry_run"] else plan.apply()
        count += plan.files.num_rows if done is None else done.deleted_files
        size_bytes += plan.size_bytes if done is None else done.deleted_bytes
    return [(count, size_bytes)]


def _older_than(given: Mapping[str, Any]) -> dt.datetime | None:
    """Return the argument `older_than`, which is in the local time zone, as in Java."""
    if "older_than" not in given:
        return None
    try:
        return dt.datetime.fromisoformat(given["older_than"].strip()).astimezone()
    except ValueError:
        message = f"older_than is {given['older_than']!r}, expected a time"
        raise InvalidArgumentError(message, hint="write '2024-02-29 12:00:00'") from None


def _moved(table: Table, snapshot: int | None, **target: Any) -> Rows:
    current = table.current_snapshot()
    done = table.rollback_to(snapshot, **target).apply()
    return [(done.snapshot_id if current is None else current.snapshot_id, done.snapshot_id)]
