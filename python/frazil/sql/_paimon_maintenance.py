"""The procedures that expire snapshots of Paimon tables and roll tables back."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._procedure_types import Context, Rows

__all__ = ["expire_snapshots", "rollback", "rollback_to_timestamp", "table_of"]


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
    """Expire snapshots; times are in the local time zone, as in Java."""
    older_than = None
    if "older_than" in given:
        try:
            older_than = dt.datetime.fromisoformat(given["older_than"].strip()).astimezone()
        except ValueError:
            message = f"expire_snapshots: older_than is {given['older_than']!r}, expected a time"
            raise InvalidArgumentError(message, hint="write '2024-02-29 12:00:00'") from None
    names = ("retain_max", "retain_min", "max_deletes")
    plan = table_of(context, given).expire_snapshots(older_than, **{name: given.get(name) for name in names})
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


def _moved(table: Table, snapshot: int | None, **target: Any) -> Rows:
    current = table.current_snapshot()
    done = table.rollback_to(snapshot, **target).apply()
    return [(done.snapshot_id if current is None else current.snapshot_id, done.snapshot_id)]
