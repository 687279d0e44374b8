"""The expiry after a commit, and the options by which Java's commits delete more.

As in Java, each commit to a table that is not write-only expires old snapshots, and what `expire_by_options` deletes.
It does not delete changelogs, and does not check partitions in intervals. A table with such an option keeps more data
than its owner intends until `expire_partitions` is called.
"""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._caller import caller_depth
from frazil._deletion import DeletionPlan
from frazil.errors import FrazilError, UnsupportedError
from frazil.paimon._commit_expiry import expire_by_options, expires_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RETENTION_OPTIONS", "expire_after_commit", "warn_of_retention"]

_CHANGELOG_REMEDY = "expire changelogs with Paimon's own connectors"

RETENTION_OPTIONS = {
    "changelog.num-retained.min": _CHANGELOG_REMEDY,
    "changelog.num-retained.max": _CHANGELOG_REMEDY,
    "changelog.time-retained": _CHANGELOG_REMEDY,
    "partition.expiration-time": "call expire_partitions()",
    "tag.num-retained-max": "delete tags with manage_snapshots().remove_tag()",
}
"""Options that have no effect when frazil commits, with what to do instead."""

_WRITE_ONLY = ("write-only", "write.compaction-skip")
_LOGGER = logging.getLogger(__name__)


def expire_after_commit(
    handle: Any, table: _native.PaimonTable, files: _native.Files, options: Mapping[str, str], snapshot_id: int
) -> None:
    """Expire what the options of the table no longer retain, after `snapshot_id` was committed.

    A failure is logged, because the rows are already committed.
    """
    if _is_write_only(options):
        return
    expire_by_options(handle, files, options)
    expiry = _native.PaimonExpiry(older_than_ms=None, retain_max=None, retain_min=None, max_deletes=None)
    try:
        due = expiry.due(table, snapshot_id)
    except UnsupportedError:
        # The options were reported by `warn_of_retention`.
        return
    except FrazilError as error:
        _LOGGER.warning("snapshots of %s were not expired: %s", table.location, error)
        return
    if not due:
        return
    try:
        _, batch = expiry.apply(table, due[-1])
        DeletionPlan(batch=batch, files=files).delete_files("the snapshots expired", {"table": table.location})
    except FrazilError as error:
        message = "snapshots of %s were not expired completely; remove_orphan_files deletes what remains: %s"
        _LOGGER.warning(message, table.location, error)


def warn_of_retention(options: Mapping[str, str]) -> None:
    """Emit a `UserWarning` that lists the table options by which Java commits would delete more data.

    A table with `write-only` is not reported, because Java's commits to it do not delete data either.
    """
    if _is_write_only(options):
        return
    names = [name for name in RETENTION_OPTIONS if name in options]
    if expires_partitions(options):
        names.remove("partition.expiration-time")
    if not names:
        return
    quoted = [f"`{name}`" for name in names]
    what = f"option {quoted[0]} has" if len(names) == 1 else f"options {', '.join(quoted)} have"
    remedies = ", ".join(dict.fromkeys(RETENTION_OPTIONS[name] for name in names))
    message = f"the table {what} no effect when frazil commits: {remedies}"
    warnings.warn(message, UserWarning, stacklevel=caller_depth())


def _is_write_only(options: Mapping[str, str]) -> bool:
    return any(options.get(name, "").lower() == "true" for name in _WRITE_ONLY)
