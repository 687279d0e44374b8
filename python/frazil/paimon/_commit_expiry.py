"""The expiry of consumers, tags and partitions after a commit, by table options as in Java.

Expiry that such an option asks for is part of each commit, so that a table does not grow for ever.
"""

from __future__ import annotations

import datetime as dt
import logging
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.errors import FrazilError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["expire_by_options", "expires_partitions"]

_CHECK_INTERVAL = "partition.expiration-check-interval"
_LOGGER = logging.getLogger(__name__)


def expire_by_options(table: Any, files: _native.Files, options: Mapping[str, str]) -> None:
    """Delete the consumers, partitions and tags whose time is over, if the options define one.

    A failure is logged, because the rows are already committed.
    """
    try:
        if "consumer.expiration-time" in options:
            _expire_consumers(table, files, options["consumer.expiration-time"])
        if expires_partitions(options):
            table.expire_partitions().apply()
        if "tag.default-time-retained" in options:
            table.expire_tags().apply()
    except FrazilError as error:
        _LOGGER.warning("consumers, partitions or tags of %s were not expired: %s", table.location, error)


def expires_partitions(options: Mapping[str, str]) -> bool:
    """Return whether each commit expires partitions.

    With other options, Java's commits check partitions only in intervals of a long-running writer.
    """
    if "partition.expiration-time" not in options:
        return False
    if options.get("end-input.check-partition-expire", "").strip().lower() == "true":
        return True
    interval = options.get(_CHECK_INTERVAL)
    return interval is not None and _native.paimon_duration_ms(_CHECK_INTERVAL, interval) == 0


def _expire_consumers(table: Any, files: _native.Files, expiration_time: str) -> None:
    """Delete consumers whose progress was not recorded for some time."""
    age_ms = _native.paimon_duration_ms("consumer.expiration-time", expiration_time)
    limit_ms = dt.datetime.now(dt.UTC).timestamp() * 1000 - age_ms
    changes = table.manage_snapshots()
    names = list(_consumers_before(table, files, limit_ms))
    for name in names:
        changes.remove_consumer(name)
    if names:
        changes.commit()


def _consumers_before(table: Any, files: _native.Files, limit_ms: float) -> Iterator[str]:
    """Yield the consumers whose files were last written before a time."""
    folder = table.location if table.branch == "main" else f"{table.location}/branch/branch-{table.branch}"
    for location, _, modified_ms in files.list(f"{folder}/consumer"):
        name = location.rpartition("/consumer-")[2]
        if modified_ms is not None and modified_ms < limit_ms and name != location:
            yield name
