"""The procedures that expire snapshots of Paimon tables and roll tables back."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, NoSuchSnapshotError, UnsupportedError
from frazil.paimon import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from frazil.sql._procedure_types import Context, Rows

__all__ = [
    "clear_consumers",
    "create_tag_from_timestamp",
    "expire_partitions",
    "expire_snapshots",
    "expire_tags",
    "mark_partition_done",
    "partitions_of",
    "purge_files",
    "remove_orphan_files",
    "reset_consumer",
    "rollback",
    "rollback_to_timestamp",
    "rollback_to_watermark",
    "table_of",
]


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


def rollback_to_watermark(context: Context, given: Mapping[str, Any]) -> Rows:
    """Roll a table back to its latest snapshot whose watermark is not greater than a given one."""
    return _moved(table_of(context, given), None, watermark=given["watermark"])


def create_tag_from_timestamp(context: Context, given: Mapping[str, Any]) -> Rows:
    """Create a tag of the first snapshot that was committed at a time, in milliseconds since the epoch, or later."""
    table, name, since_ms = table_of(context, given), given["tag"], given.get("timestamp") or 0
    found = next((one for one in table.snapshots() if one.timestamp_ms >= since_ms), None)
    if found is None:
        message = f"no snapshot was committed at {since_ms} ms or later"
        raise NoSuchSnapshotError(message, hint="use CALL sys.create_tag to tag the latest snapshot")
    retained = given.get("time_retained")
    table.manage_snapshots().create_tag(found.snapshot_id, name, time_retained=retained).commit()
    watermark = None if found.watermark is None else str(found.watermark)
    return [(name, found.snapshot_id, found.timestamp_ms, watermark)]


def expire_tags(context: Context, given: Mapping[str, Any]) -> Rows:
    """Delete tags whose time is over, and tags that were created before a time."""
    result = table_of(context, given).expire_tags(_older_than(given)).apply()
    return [(name,) for name in result.tags] or [("No expired tags.",)]


def expire_partitions(context: Context, given: Mapping[str, Any]) -> Rows:
    """Delete the rows of old partitions."""
    plan = table_of(context, given).expire_partitions(
        given.get("expiration_time"),
        timestamp_formatter=given.get("timestamp_formatter"),
        timestamp_pattern=given.get("timestamp_pattern"),
        strategy=given.get("expire_strategy"),
        max_expires=given.get("max_expires"),
    )
    expired = plan.apply().partitions
    rows = [(", ".join(f"{name}={value}" for name, value in one.items()),) for one in expired]
    return rows or [("No expired partitions.",)]


def reset_consumer(context: Context, given: Mapping[str, Any]) -> Rows:
    """Set the first snapshot that a consumer has not read; without one, delete the consumer."""
    changes, name = table_of(context, given).manage_snapshots(), given["consumerId"]
    next_snapshot = given.get("nextSnapshotId")
    (changes.remove_consumer(name) if next_snapshot is None else changes.set_consumer(name, next_snapshot)).commit()
    return [(True,)]


def clear_consumers(context: Context, given: Mapping[str, Any]) -> Rows:
    """Delete the consumers whose whole names match a regular expression, and do not match another one."""
    table = table_of(context, given)
    included = _pattern("includingConsumers", given.get("includingConsumers") or ".*")
    excluded = given.get("excludingConsumers")
    is_excluded = _pattern("excludingConsumers", excluded).fullmatch if excluded else lambda _: None
    changes = table.manage_snapshots()
    for name in table.inspect.consumers().column("consumer_id").to_pylist():
        if included.fullmatch(name) and not is_excluded(name):
            changes.remove_consumer(name)
    changes.commit()
    return [(True,)]


def mark_partition_done(context: Context, given: Mapping[str, Any]) -> Rows:
    """Mark partitions as done."""
    table_of(context, given).mark_partition_done(partitions_of(given["partitions"]))
    return [(True,)]


def purge_files(context: Context, given: Mapping[str, Any]) -> Rows:
    """Delete all rows and earlier states of a table."""
    table_of(context, given).purge_files()
    return [(f"Success purge files with table: {given['table']}.",)]


def partitions_of(text: str) -> list[dict[str, str]]:
    """Return the partitions in a text of Java's syntax.

    >>> partitions_of("day=2024-02-29,hour=1; day='2024-03-01'")
    [{'day': '2024-02-29', 'hour': '1'}, {'day': '2024-03-01'}]
    """
    return [dict(_pairs(partition)) for partition in text.split(";") if partition.strip()]


def _pairs(partition: str) -> Iterator[tuple[str, str]]:
    """Yield the columns and values of a partition."""
    for text in partition.split(","):
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            message = f"invalid partition {text.strip()!r}"
            raise InvalidArgumentError(
                message, hint="write column=value pairs separated by commas, and partitions separated by semicolons"
            )
        yield name, value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _pattern(name: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        message = f"{name} is {text!r}, which is not a regular expression: {error}"
        raise InvalidArgumentError(message) from error


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
