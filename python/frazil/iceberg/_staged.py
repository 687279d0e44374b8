"""Staged changes to a table, before their commit."""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import TYPE_CHECKING, Any, Self

from frazil import _native
from frazil._write_result import WriteResult, settle
from frazil.errors import FrazilError
from frazil.iceberg._state import TableState
from frazil.iceberg.operations.values import Evolution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    import pyarrow as pa

    from frazil._folders import NewFolder
    from frazil._run import ReadSnapshot
    from frazil._write_result import RowCounts
    from frazil.iceberg.operations.rows import Written
    from frazil.iceberg.operations.values import SnapshotRequest

__all__ = ["StagedTable"]


class StagedTable:
    """The staged changes of a commit, with the files written for them and the results returned to users."""

    def __init__(
        self,
        changes: _native.Transaction,
        options: Mapping[str, Any],
        location: str,
        attempts: _native.Attempts | None = None,
    ) -> None:
        """Keep the changes, the options that the table was opened with, and the number of earlier attempts."""
        self.native = changes
        self._attempts = attempts or _native.Attempts()
        self._options = options
        self.location = location
        self._written: list[Written] = []
        self._results: list[tuple[WriteResult, RowCounts]] = []
        self._process_id = os.getpid()
        self.is_changed = False
        self.replaces_definition = False
        """Whether the table definition is replaced, which removes all rows of the main branch."""
        self._state: TableState | None = None
        self.folder: NewFolder | None = None
        """The folder of the table, if the commit will create the table; otherwise None."""
        self.committed: TableState | None = None
        self.replaced: TableState | None = None
        """The state that the commit replaced; None if there was nothing to commit or the table was created."""

    @property
    def may_be_committed(self) -> bool:
        """Whether the changes are committed or their outcome is unknown, so that nothing may be deleted."""
        return self.native.may_be_committed

    def state(self) -> TableState:
        """Return the state with all changes so far, which is not visible to other readers."""
        if self._state is None:
            self._state = TableState(self.native.staged(), self._options, is_staged=self.is_changed)
        return self._state

    def newest(self) -> TableState:
        """Return the state with all changes so far, which operations of the same transaction treat as the latest."""
        return self.state()

    def own(self, written: Written) -> None:
        """Take ownership of written files, which are deleted if the changes fail."""
        self._written.append(written)

    @contextlib.contextmanager
    def owning(self) -> Iterator[None]:
        """Take ownership of the files written in the block, and delete them if it raises a frazil error.

        Files are kept after any other exception, which may come from a signal that arrived after the change was staged.
        """
        before = len(self._written)
        try:
            yield
        except FrazilError:
            self.discard(before)
            raise

    def write(self, state: TableState, data: Iterator[pa.RecordBatch]) -> _native.RowWriter:
        """Write changed and new rows into data files; rows moved from other files keep their row ids."""
        from frazil.iceberg._write import write_rows

        lineage_of = self.native.base() if state.lineage() else None
        written = write_rows(state.native, state.properties, data, lineage_of=lineage_of)
        self.own(written)
        return written.rows

    def add(self, change: SnapshotRequest | Evolution) -> WriteResult:
        """Add a change and return its result, which is updated if the commit is rebased on a later state."""
        if isinstance(change, Evolution):
            self.native.evolve(change.json, change.known)
            self.changed()
            return WriteResult(None)
        self.native.snapshot(change)
        self.changed()
        counts = change.counts
        result = WriteResult(None, updated_rows=counts.updated, inserted_rows=counts.inserted)
        self._results.append((result, counts))
        self._settle(self.state, len(self._results) - 1)
        return result

    def validate_read(self, read: ReadSnapshot) -> None:
        """Record the snapshot that the rows of a new definition were read from.

        Row changes after this snapshot are conflicts.

        Raises:
            CommitConflictError: A concurrent writer changed rows before the transaction began.
        """
        if self.replaces_definition:
            self.native.validate_read(read.snapshot_id)

    def changed(self) -> None:
        """Record that the staged state has changed."""
        self.is_changed, self._state = True, None

    def commit(self) -> int:
        """Commit all changes as one; return the number of attempts, including earlier ones.

        Raises:
            CommitConflictError: Concurrent commits won in each attempt, or changed data that the changes depend on.
            CommitStateUnknownError: It is unknown whether the changes were committed; nothing was deleted.
        """
        try:
            native, replaced, count = self.native.commit(self._attempts)
            self.committed = TableState(native, self._options)
            self.replaced = None if replaced is None else TableState(replaced, self._options)
        except BaseException:
            # A signal may arrive after the commit.
            if not self.may_be_committed:
                self.discard()
            raise
        if count > 1:
            with contextlib.suppress(FrazilError):
                committed = self.committed
                self._settle(lambda: committed)
        return count

    def abort(self) -> None:
        """Discard the changes, and delete the files that were written."""
        self.native.abort()
        self.discard()

    def discard(self, first: int = 0) -> None:
        """Delete the written files, starting with the owned file at index `first`."""
        for written in self._written[first:]:
            written.abort()
        del self._written[first:]
        if self.folder is not None:
            self.folder.remove_if_empty()

    def abandon(self) -> None:
        """Delete the written files and warn, if a transaction is garbage collected or the interpreter exits."""
        # A forked process has a copy of the transaction, but the files belong to the parent process.
        if self._process_id != os.getpid() or not (self.is_changed or self._written):
            return
        self.discard()
        message = (
            f"a transaction of table {self.location} was not committed: its changes were discarded and its files "
            "deleted; call commit_transaction(), or use `with table.transaction() as tx:`"
        )
        warnings.warn(message, ResourceWarning, stacklevel=2)

    def __enter__(self) -> Self:
        """Abort if the block raises before the commit."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Abort the changes that are not committed."""
        if kind is not None and not self.may_be_committed:
            self.abort()

    def _settle(self, state: Callable[[], TableState], first: int = 0) -> None:
        """Set the results of the changes from index `first` on; `state` returns a state that contains the changes."""
        outcomes = self.native.outcomes()
        for (result, counts), outcome in list(zip(self._results, outcomes, strict=True))[first:]:
            settle(
                result,
                snapshot_id=outcome.snapshot_id,
                added_files=outcome.added_files,
                added_records=outcome.added_records,
                added_bytes=outcome.added_bytes,
                added_delete_files=outcome.added_delete_files,
                removed_files=outcome.removed_files,
                removed_records=outcome.removed_records,
                removed_delete_files=outcome.removed_delete_files,
            )
            settle(result, deleted_rows=_replaced_rows(state(), result) if counts.deleted is None else counts.deleted)


def _replaced_rows(state: TableState, result: WriteResult) -> int:
    """Count the rows of the replaced files, excluding rows that were already deleted."""
    if not result.removed_records:
        return 0
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in state.metadata.snapshots}
    parent = None if result.snapshot_id is None else snapshots[result.snapshot_id].parent_snapshot_id
    if parent is None or snapshots[parent].summary.get("total-delete-files") == "0":
        return result.removed_records
    before, after = (
        state.scan(snapshot=None if number is None else ("id", number)).count()
        for number in (parent, result.snapshot_id)
    )
    return before - after + result.inserted_rows
