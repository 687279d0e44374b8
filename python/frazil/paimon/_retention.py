"""The options that make Java's commits delete old snapshots, changelogs, partitions, tags and consumers.

frazil does not delete these objects, so a table with such an option keeps more data than its owner intends.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from frazil._caller import caller_depth

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RETENTION_OPTIONS", "warn_of_retention"]

RETENTION_OPTIONS = (
    "snapshot.num-retained.min",
    "snapshot.num-retained.max",
    "snapshot.time-retained",
    "snapshot.expire.limit",
    "changelog.num-retained.min",
    "changelog.num-retained.max",
    "changelog.time-retained",
    "partition.expiration-time",
    "tag.num-retained-max",
    "tag.default-time-retained",
    "consumer.expiration-time",
)
"""Options that have no effect when frazil commits."""

_WRITE_ONLY = ("write-only", "write.compaction-skip")


def warn_of_retention(options: Mapping[str, str]) -> None:
    """Emit a `UserWarning` that lists the table options by which Java commits would delete data.

    A table with `write-only` is not reported, because Java's commits to it do not delete data either.
    """
    if any(options.get(name, "").lower() == "true" for name in _WRITE_ONLY):
        return
    names = [f"`{name}`" for name in RETENTION_OPTIONS if name in options]
    if not names:
        return
    what = f"option {names[0]} has" if len(names) == 1 else f"options {', '.join(names)} have"
    message = f"the table {what} no effect in frazil, which expires nothing; expire with Paimon's own connectors"
    warnings.warn(message, UserWarning, stacklevel=caller_depth())
