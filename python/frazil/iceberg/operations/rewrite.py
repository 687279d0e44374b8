"""Compaction: rewrites data files into files of the target size."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from frazil import _native
from frazil._run import Done
from frazil._write_result import RowCounts
from frazil.config import config
from frazil.errors import InternalError, MissingFileError
from frazil.files.write.concurrent import concurrent_writes, run_writes
from frazil.iceberg._write import write_rows
from frazil.iceberg.operations.file_plan import FilePlan
from frazil.iceberg.operations.values import Filter, SnapshotOptions, SnapshotRequest, Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from frazil._run import States
    from frazil._threads import Stop
    from frazil.config import Progress
    from frazil.files.write.writer import DataFileWriter
    from frazil.iceberg._state import TableState

    Written = DataFileWriter[_native.RowWriter]

__all__ = ["GroupPlan", "Rewrite", "RewriteRules", "Rewriting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteRules:
    """The rules that select the data files to rewrite. The native module reads the fields."""

    target_file_bytes: int
    min_file_bytes: int
    max_file_bytes: int
    min_input_files: int
    delete_file_threshold: int
    delete_ratio_threshold: float
    max_group_bytes: int
    rewrite_all: bool


class GroupPlan(FilePlan):
    """The file groups of a branch that need compaction."""

    def __init__(self, state: TableState, branch: str, row_filter: Filter, rules: RewriteRules) -> None:
        """Group the files that may contain matching rows."""
        super().__init__(state, branch, row_filter)
        self._rules = rules
        self.branch = branch
        self.groups = _native.file_groups(self.planned, rules, state.metadata.default_spec_id)

    @property
    def planned(self) -> _native.Plan:
        """The plan of all files."""
        if isinstance(self.tasks, _native.Tasks):
            message = "file groups can only be planned by this process"
            raise InternalError(message)
        return self.tasks

    @property
    def is_complete(self) -> bool:
        """Whether the plan covers all data files of the branch."""
        return not self._filter.text

    def at(self, state: TableState) -> FilePlan:
        """Return a plan of the same files for another state."""
        return FilePlan(state, self.branch, self._filter)

    @property
    def data_sequence_number(self) -> int | None:
        """The sequence number of the snapshot that is read; None in v1 and for an empty table."""
        snapshots = self.state.metadata.snapshots
        number = next((one.sequence_number for one in snapshots if one.snapshot_id == self.snapshot_id), None)
        return number if self.state.native.format_version > 1 else None


class Rewriting:
    """The file groups of a plan, each of which is written once.

    New files get the data sequence number of the snapshot that was read, so that concurrent equality deletes also apply
    to new files. Equality deletes are scoped to a partition of their own spec. If files move to another spec, new files
    get the sequence number of the commit instead, and a concurrent equality delete is a conflict.
    """

    def __init__(
        self, plan: GroupPlan, groups: Sequence[_native.FileGroup], removed_before: Iterable[int] = ()
    ) -> None:
        """Keep the groups and the file positions removed by earlier commits (`removed_before`); read nothing yet."""
        self._plan = plan
        self._removed_before = set(removed_before)
        self.groups = list(groups)
        """The groups to commit."""
        self.refused: list[_native.FileGroup] = []
        """The groups that concurrent commits changed; they are skipped."""
        self._keeps_number = plan.data_sequence_number is not None and not any(one.changes_spec for one in groups)
        self._written: list[Written] = []
        self._validated_on = plan.snapshot_id

    def write(self, newest: Callable[[], TableState]) -> Self:
        """Write all groups, several concurrently. If one fails, the others stop and all new files are deleted.

        A group with missing files is skipped if concurrent commits removed these files from the latest state.
        """
        readers = max(1, config.max_workers // concurrent_writes(len(self.groups)))
        outcomes = run_writes([functools.partial(self._write, group, readers) for group in self.groups], _abort)
        missing = [one if isinstance(one, MissingFileError) else None for one in outcomes]
        if any(missing):
            try:
                self._check_removed(newest(), missing)
            except BaseException:
                for outcome in outcomes:
                    _abort(outcome)
                raise
        written = [one is None for one in missing]
        self.refused += list(itertools.compress(self.groups, (error is not None for error in missing)))
        self.groups = list(itertools.compress(self.groups, written))
        self._written = [one for one in outcomes if not isinstance(one, MissingFileError)]
        return self

    def _write(
        self, group: _native.FileGroup, readers: int, *, progress: Progress | None, stop: Stop
    ) -> Written | MissingFileError:
        state = self._plan.state
        try:
            return write_rows(
                state.native,
                state.properties,
                self._plan.moved(group.places, readers),
                lineage_of=state.native if state.lineage() else None,
                file_bytes=group.output_file_bytes,
                progress=progress or _nobody,
                stop=stop,
            )
        except MissingFileError as error:
            return error

    def _check_removed(self, newest: TableState, missing: Sequence[MissingFileError | None]) -> None:
        """Raise the error of a group whose missing files are still part of the latest state."""
        for stays, error in zip(self._unchanged(newest), missing, strict=True):
            if stays and error is not None:
                raise error

    def _unchanged(self, state: TableState) -> list[bool]:
        """Return for each group whether its files and deletes are the same in another state."""
        if state.metadata.refs.get(self._plan.branch) is None:
            return [False] * len(self.groups)
        newer = self._plan.at(state)
        if not isinstance(newer.tasks, _native.Plan):
            return [True] * len(self.groups)
        return _native.unchanged_groups(self._plan.planned, newer.tasks, self.groups, self._keeps_number)

    def fit(self, state: TableState) -> Self:
        """Skip the groups whose files or deletes have changed since they were read; see `Ready.fit`."""
        for written in self._written:
            written.rows.check(state.native)
        head = state.metadata.refs.get(self._plan.branch)
        if head is None or head.snapshot_id == self._validated_on:
            return self
        kept = self._unchanged(state)
        for stays, written in zip(kept, self._written, strict=True):
            if not stays:
                written.abort()
        self.refused += [group for group, stays in zip(self.groups, kept, strict=True) if not stays]
        self._written = list(itertools.compress(self._written, kept))
        self.groups = list(itertools.compress(self.groups, kept))
        self._validated_on = head.snapshot_id
        return self

    def abort(self) -> None:
        """Delete the new files."""
        for written in self._written:
            written.abort()

    def request(self, options: SnapshotOptions) -> SnapshotRequest:
        """Return the snapshot request that replaces the old files with the new ones."""
        delta = _native.RowDelta(self._plan.planned)
        for group in self.groups:
            for place in group.places:
                delta.remove_file(place)
        if self.groups and self._plan.is_complete:
            delta.remove_dangling(self._removed_before)
        return SnapshotRequest(
            options=options,
            files=[written.rows for written in self._written],
            counts=RowCounts(0),
            delta=delta,
            validation=Validation(
                planned_on=self._validated_on,
                isolation="snapshot",
                filter=Filter(),
                refuses_new_deletes=False,
                passes_over_equality_deletes=self._keeps_number,
            ),
            operation="replace",
            data_sequence_number=self._plan.data_sequence_number if self._keeps_number else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Replaces data files with other files that contain the same rows."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions

    def prepare(self, table: States[TableState], rows: Rewriting) -> Rewriting:
        """Write the groups. The current state may be older than the planned one, so it is refreshed first."""
        table.newest()
        return rows.write(table.newest)

    def plan(self, state: TableState, ready: Rewriting, tasks: bytes | None = None) -> Done[SnapshotRequest]:  # noqa: ARG002
        """Return the snapshot request."""
        return Done(ready.request(self.options))


def _abort(outcome: Written | MissingFileError) -> None:
    if not isinstance(outcome, MissingFileError):
        outcome.abort()


def _nobody(rows: int, size: int, files: int) -> None:
    """Ignore progress."""
