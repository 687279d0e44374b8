"""Appends and overwrites of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from frazil._run import Done
from frazil._write_result import RowCounts
from frazil.errors import CommitConflictError
from frazil.iceberg.operations.values import Filter, Replace, SnapshotOptions, SnapshotRequest, Validation

if TYPE_CHECKING:
    from frazil._run import ReadSnapshot, States, Work
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.rows import RowInput, WrittenRows

__all__ = ["Append", "Overwrite", "OverwritePartitions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Adds rows."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    fast: bool = False

    def prepare(self, table: States[TableState], rows: RowInput) -> WrittenRows:
        """Write the rows into new files."""
        # An append to `main` does not need the latest state, because its commit detects concurrent changes. For another
        # branch, the latest state is loaded, because the branch may be missing from the current state.
        return rows.write(table.state() if self.options.branch == "main" else table.newest())

    def plan(self, state: TableState, ready: WrittenRows, tasks: bytes | None = None) -> Work[Any, SnapshotRequest]:  # noqa: ARG002
        """Plan a snapshot with the new files."""
        counts = RowCounts(0, inserted=ready.count)
        return Done(SnapshotRequest(options=self.options, files=[ready.files], counts=counts, fast=self.fast))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite:
    """Replaces the rows that match a filter, or all rows, with other rows."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    filter: Filter | None = None
    """The filter; None for all rows, in which case all files are removed without being read."""
    read: ReadSnapshot | None = None
    """The snapshot that the rows were read from; later changes are conflicts."""

    def prepare(self, table: States[TableState], rows: RowInput) -> WrittenRows:
        """Write the rows into new files."""
        return rows.write(table.newest())

    def plan(self, state: TableState, ready: WrittenRows, tasks: bytes | None = None) -> Work[Any, SnapshotRequest]:
        """Plan a snapshot with the new files and without the matching rows."""
        since = _validation(state, ready, self)
        if self.filter is not None:
            from frazil.iceberg.operations.row_change import Deletion
            from frazil.iceberg.operations.row_change_plan import RowChangePlan

            plan = RowChangePlan(state, "delete", self.options, self.filter, tasks)
            if since is not None:
                plan.validation = replace(
                    plan.validation, planned_on=since.planned_on, isolation=since.isolation, refuses_removals=True
                )
            return Deletion(plan, self.options, added=[ready])
        counts = RowCounts(inserted=ready.count)
        return Done(
            SnapshotRequest(
                options=self.options, files=[ready.files], counts=counts, replace=Replace.ALL, validation=since
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwritePartitions:
    """Replaces all rows of the partitions that contain new rows."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    read: ReadSnapshot | None = None
    """The snapshot that the rows were read from; later changes are conflicts."""

    def prepare(self, table: States[TableState], rows: RowInput) -> WrittenRows:
        """Write the rows into new files."""
        return rows.write(table.newest())

    def plan(self, state: TableState, ready: WrittenRows, tasks: bytes | None = None) -> Work[Any, SnapshotRequest]:  # noqa: ARG002
        """Plan a snapshot with the new files and without the existing files in their partitions."""
        if ready.spec_id != state.metadata.default_spec_id:
            message = "the partition spec changed after the rows were written"
            raise CommitConflictError(message, hint="reload the table and repeat the overwrite")
        properties = {**self.options.properties, "replace-partitions": "true"}
        request = SnapshotRequest(
            options=replace(self.options, properties=properties),
            files=[ready.files],
            counts=RowCounts(inserted=ready.count),
            replace=Replace.PARTITIONS if ready.count else Replace.NONE,
            validation=_validation(state, ready, self),
        )
        return Done(request)


def _validation(state: TableState, rows: WrittenRows, operation: Overwrite | OverwritePartitions) -> Validation | None:
    """Return the validation for rows that were read from the same branch; None for rows from elsewhere.

    If the user selected an earlier snapshot, replacing newer rows is intended, and None is returned.
    """
    if operation.read is not None:
        planned_on = operation.read.snapshot_id
    elif rows.scan is None or not rows.scan.reads_branch_of(state.native, operation.options.head(state.metadata.refs)):
        return None
    else:
        planned_on = rows.scan.snapshot_id
    return Validation(
        planned_on=planned_on,
        isolation="serializable",
        filter=Filter(),
        refuses_new_deletes=True,
        refuses_removals=True,
    )
