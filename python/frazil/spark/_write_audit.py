"""Write-audit-publish: the settings of a session that keep new snapshots out of `main` until they are audited.

With `spark.wap.branch`, statements and DataFrames read and change that branch. With `spark.wap.id`, snapshots are only
staged. Both settings apply to Iceberg tables with the property `write.wap.enabled`, as in Iceberg's Spark connector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.iceberg import Transaction
from frazil.iceberg._verbs import snapshot_options
from frazil.spark._session_options import session_values
from frazil.spark._session_options import snapshot_properties as session_properties
from frazil.spark._settings import ICEBERG_PREFIX, check_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from frazil.iceberg.operations.values import SnapshotOptions

__all__ = [
    "WAP_BRANCH",
    "WAP_ID",
    "WriteAudit",
    "is_enabled",
    "session_audit",
    "session_snapshot",
    "task_audit",
    "task_setting",
]

WAP_BRANCH = "spark.wap.branch"
WAP_ID = "spark.wap.id"

_ENABLED = "write.wap.enabled"
_STAGED = "wap.id"
"""The entry in the summary of a staged snapshot."""


@dataclass(frozen=True, slots=True)
class WriteAudit:
    """The settings of a session."""

    branch: str | None = None
    wap_id: str | None = None

    @classmethod
    def of(cls, setting: Callable[[str], str | None]) -> WriteAudit:
        """Return the settings that a function returns by name."""
        return cls(setting(WAP_BRANCH), setting(WAP_ID))

    def branch_of(self, table: Any) -> str | None:
        """Return the branch to read and change instead of `main`; None for `main`. It may not exist yet.

        Raises:
            InvalidArgumentError: Both settings are set, and the table has write-audit-publish enabled.
        """
        if self.branch is None or not is_enabled(table):
            return None
        if self.wap_id is not None:
            message = f"`{WAP_BRANCH}` ({self.branch!r}) and `{WAP_ID}` ({self.wap_id!r}) are mutually exclusive"
            raise InvalidArgumentError(message, hint="unset one of the settings of the session")
        return self.branch

    def options(self, table: Any, branch: str | None, snapshot_properties: Mapping[str, str] | None) -> SnapshotOptions:
        """Return the options of a new snapshot.

        Args:
            table: The Iceberg table, or a transaction of it.
            branch: The branch that the user selected; None to change the branch of the session, or `main`.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: As in `branch_of`, if no branch is selected.
        """
        enabled = is_enabled(table)
        if branch is None:
            branch = self.branch_of(table) or "main"
        properties = dict(snapshot_properties or {})
        if enabled and self.wap_id is not None:
            properties[_STAGED] = self.wap_id
        return snapshot_options(branch, properties, creates_branch=enabled and branch == self.branch)


def session_snapshot(
    spark: SparkSession, table: Any, branch: str | None, snapshot_properties: Mapping[str, str] | None
) -> SnapshotOptions:
    """Return the options of a new snapshot by the settings of a session; see `WriteAudit.options`.

    Raises:
        UnsupportedError: A setting would change the rows, and is not supported.
    """
    values = session_values(spark, "spark.wap.", ICEBERG_PREFIX)
    check_settings(values, ICEBERG_PREFIX, "write")
    properties = {**session_properties(values), **(snapshot_properties or {})}
    return WriteAudit.of(values.get).options(table, branch, properties)


def session_audit(spark: SparkSession) -> WriteAudit:
    """Return the settings of a session."""
    return WriteAudit.of(lambda name: spark.conf.get(name, None))


def task_audit() -> WriteAudit:
    """Return the settings of the session whose task runs in this process."""
    return WriteAudit.of(task_setting)


def task_setting(name: str) -> str | None:
    """Return a setting of the session whose task runs in this process."""
    from pyspark import TaskContext

    context = TaskContext.get()
    # Local properties of tasks contain Spark's settings.
    return None if context is None else context.getLocalProperty(name)


def is_enabled(table: Any) -> bool:
    """Return whether a table is an Iceberg table with write-audit-publish enabled."""
    if isinstance(table, Transaction):
        table = table.table()
    return getattr(table, "format", None) == "iceberg" and table.properties.get(_ENABLED, "").lower() == "true"
