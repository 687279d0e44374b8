"""Deletes and updates of rows."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import pyarrow as pa

from frazil import _native
from frazil._merge import statement_time_us
from frazil._run import Done
from frazil._write_result import RowCounts
from frazil.iceberg._paths import Paths
from frazil.iceberg.operations.row_change_plan import Choice, RowChangePlan, RowRewriter, TaskGroup
from frazil.iceberg.operations.rows import NOTHING, Nothing
from frazil.iceberg.operations.values import Filter, Replace, SnapshotOptions, SnapshotRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil._merge import Assignment
    from frazil._run import States
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.rows import Written, WrittenRows
    from frazil.iceberg.operations.values import NewFiles

__all__ = ["Delete", "Deletion", "RowChange", "Update", "WorkerResult"]


class Writer(Protocol):
    """Writes the files of one change, which are deleted if the change fails."""

    def write(self, state: TableState, data: Iterator[pa.RecordBatch]) -> _native.RowWriter:
        """Write changed and new rows into data files."""

    def own(self, written: Written) -> None:
        """Take ownership of files written elsewhere, to delete them if the change fails."""


class WorkerResult(NamedTuple):
    """The result of a worker for a group of tasks, in addition to the files in its commit message."""

    group: TaskGroup
    deleted: int
    updated: int


class RowChange(ABC):
    """A row change for a plan: for all its files, or for those assigned to a worker."""

    def __init__(self, plan: RowChangePlan, options: SnapshotOptions, added: Sequence[WrittenRows] = ()) -> None:
        """Keep the plan; `added` are new rows that are already written into files."""
        self.plan = plan
        self._options = options
        self._added = added
        self._rewriter = RowRewriter(plan)

    @abstractmethod
    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete rows, and stream the rows of new files."""

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """Return the number of rows that `rows` deleted and updated."""

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream the inserted rows; call this after all rows of `rows` have been read."""
        return iter(())

    def inserted(self) -> int:
        """Return the number of inserted rows."""
        return sum(rows.count for rows in self._added)

    def matched(self) -> bytes:
        """Return which source rows were matched, as one bit per row."""
        return b""

    def take_matched(self, bits: bytes) -> None:  # noqa: B027 - only a merge has a source
        """Add the matched source rows of a worker, as returned by its `matched`."""

    def execute(self, writer: Writer) -> SnapshotRequest:
        """Carry out the change in this process and return the snapshot request."""
        files = writer.write(self.plan.state, itertools.chain(self.rows(), self.inserts()))
        return self._request(writer, [files], *self.counts())

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[TaskGroup]:
        """Return the tasks for workers, in groups of about `target_bytes`."""
        return self.plan.groups(range(len(self.plan.tasks)), target_bytes, open_cost_bytes)

    def take(
        self, writer: Writer, messages: _native.CommitMessages, results: Sequence[WorkerResult]
    ) -> SnapshotRequest:
        """Combine the results of workers for the groups; messages and results are in the same order."""
        for place, result in enumerate(results):
            self.plan.delta.take(messages, place, result.group.places)
            self.take_matched(messages.matched(place))
        files = writer.write(self.plan.state, self.inserts())
        deleted, updated = self.counts()
        deleted += sum(result.deleted for result in results)
        updated += sum(result.updated for result in results)
        return self._request(writer, [messages, files], deleted, updated)

    def _request(self, writer: Writer, files: list[NewFiles], deleted: int, updated: int) -> SnapshotRequest:
        """Write the deletes of retained files, and return the snapshot request."""
        plan = self.plan
        if plan.merge_on_read:
            plan.delta.remove_emptied()
            paths: list[str] = []
            # The path is owned before the file is written, because a failed write may leave a partial file.
            writer.own(Paths(plan.state.files, paths))
            plan.write_deletes(paths)
        return SnapshotRequest(
            options=self._options,
            files=[*(rows.files for rows in self._added), *files],
            counts=RowCounts(deleted, updated, self.inserted()),
            delta=plan.delta,
            validation=plan.validation,
        )


class Deletion(RowChange):
    """The execution of a DELETE."""

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete the matching rows; if files are rewritten, stream their other rows."""
        self.plan.find()
        self.plan.delta.remove_emptied()
        if not self.plan.merge_on_read:
            yield from self._rewriter.rewritten()

    def counts(self) -> tuple[int, int]:
        """Return the number of rows that `rows` deleted and updated."""
        return self.plan.matched_rows, 0

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[TaskGroup]:
        """Return the tasks for workers, without the files that are removed unread."""
        return self.plan.groups(self.plan.pending(), target_bytes, open_cost_bytes)


class Updating(RowChange):
    """The execution of an UPDATE."""

    def __init__(self, plan: RowChangePlan, options: SnapshotOptions, updater: _native.Updater) -> None:
        """Keep the plan and the updater, which computes the new values."""
        super().__init__(plan, options)
        self._updater = updater

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Stream the updated rows; if files are rewritten, also stream the files' unchanged rows."""
        if self.plan.merge_on_read:
            return self._rewriter.changed(self._update, matching=True)
        self.plan.find(whole=False)
        return self._rewriter.rewritten(self._update)

    def counts(self) -> tuple[int, int]:
        """Return the number of rows that `rows` deleted and updated."""
        return 0, self.plan.matched_rows

    def _update(self, place: int, found: pa.Array, rows: pa.RecordBatch) -> Choice:  # noqa: ARG002 - as of `Choose`
        return Choice(pa.arange(0, rows.num_rows), self._updater.update(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Deletes the rows that match a filter."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    filter: Filter | None
    """The filter; None for all rows, in which case all files are removed without being read."""

    def prepare(self, table: States[TableState], rows: None) -> Nothing:  # noqa: ARG002 - as of `Operation`
        """Load the latest state."""
        table.newest()
        return NOTHING

    def plan(
        self,
        state: TableState,
        ready: Nothing,  # noqa: ARG002 - as of `Operation`
        tasks: bytes | None = None,
    ) -> Deletion | Done[SnapshotRequest]:
        """Plan the files whose rows may match."""
        if self.filter is None:
            request = SnapshotRequest(options=self.options, files=[], counts=RowCounts(), replace=Replace.ALL)
            return Done(request)
        return Deletion(RowChangePlan(state, "delete", self.options, self.filter, tasks), self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Sets columns of the rows that match a filter."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    filter: Filter
    assignments: Sequence[Assignment]
    now_us: int = field(default_factory=statement_time_us)

    def prepare(self, table: States[TableState], rows: None) -> Nothing:  # noqa: ARG002 - as of `Operation`
        """Load the latest state."""
        table.newest()
        return NOTHING

    def plan(self, state: TableState, ready: Nothing, tasks: bytes | None = None) -> Updating:  # noqa: ARG002
        """Plan the files whose rows may match."""
        plan = RowChangePlan(state, "update", self.options, self.filter, tasks)
        updater = _native.Updater(self.assignments, state.arrow_schema(), "target", now_us=self.now_us)
        return Updating(plan, self.options, updater)
