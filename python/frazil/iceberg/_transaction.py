"""Transactions: changes of a table that are committed as one."""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from frazil import _native
from frazil._arguments import flag, property_texts, text
from frazil._operation import operation, operation_of
from frazil._write_result import RowCounts, WriteResult, settle
from frazil.errors import CommitConflictError, FrazilError, UnsupportedError
from frazil.iceberg._writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from frazil._folders import NewFolder
    from frazil.iceberg._new_table import NewTable
    from frazil.iceberg._row_level import RowChange, RowLevel
    from frazil.iceberg._table import Table

    Added = _native.RowWriter | _native.CommitMessages
    """Files that come: of this process, or of others."""

__all__ = ["Transaction"]


class Written(Protocol):
    """Data files that a change wrote."""

    def abort(self) -> None:
        """Delete them; what cannot be deleted is an orphan and no second failure."""


class Paths:
    """Files that are known by their paths."""

    def __init__(self, files: _native.Files, paths: list[str]) -> None:
        """Know where they are; paths may be added later."""
        self._files, self._paths = files, paths

    def abort(self) -> None:
        """Delete them."""
        for path in self._paths:
            with contextlib.suppress(FrazilError):
                self._files.delete(path)


class Rows:
    """Rows that are in files of a partition spec already, to be committed."""

    def __init__(self, files: Added, written: Written, spec_id: int) -> None:
        """Take what was written."""
        self.files, self.written, self.spec_id = files, written, spec_id
        self.transactions: list[_native.Transaction] = []

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.files.written()[1]


class Uncommitted:
    """The changes of a transaction that is neither committed nor aborted. It does not reference the transaction."""

    def __init__(self, location: str) -> None:
        """Take the location of the table."""
        self.written: list[Written] = []
        self.is_changed = False
        self.folder: NewFolder | None = None
        """The folder of a table that the transaction creates."""
        self._location = location
        self._process_id = os.getpid()

    def discard(self, first: int = 0) -> None:
        """Delete the files that were written, from the `first` change on."""
        for written in self.written[first:]:
            written.abort()
        del self.written[first:]
        if self.folder is not None:
            self.folder.remove_if_empty()

    def abandon(self) -> None:
        """Delete the files and warn, when the transaction is garbage collected or the interpreter exits."""
        # A forked process has a copy of the transaction, but the files belong to its parent.
        if self._process_id != os.getpid() or not (self.is_changed or self.written):
            return
        self.discard()
        message = (
            f"a transaction of table {self._location} was not committed: its changes are lost and its files deleted; "
            "call commit_transaction(), or write `with table.transaction() as tx:`"
        )
        warnings.warn(message, ResourceWarning, stacklevel=2)


class Transaction(Writing):
    """Changes of a table that are committed as one when the `with` block ends; none of them when it fails.

    Without a `with` block, call `commit_transaction` or `abort`. A transaction that is garbage collected before that
    emits a `ResourceWarning` and deletes the files that it wrote.

    >>> import frazil, tempfile, pyarrow as pa
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", pa.schema([("id", pa.int64())]))
    >>> with table.transaction() as changes:
    ...     first = changes.append([{"id": 1}])
    ...     second = changes.append([{"id": 2}])
    >>> [first.added_records, second.added_records, len(table.snapshots()), table.scan().count()]
    [1, 1, 2, 2]
    """

    def __init__(
        self, table: Table, attempts: _native.Attempts | None = None, begun: _native.Transaction | None = None
    ) -> None:
        """Use `Table.transaction` instead."""
        self._table = table
        self._attempts = _native.Attempts() if attempts is None else attempts
        if begun is None:
            table._native.check_writable(table._row)  # noqa: SLF001 - one module in two files
            begun = _native.Transaction(table._native, table._row)  # noqa: SLF001
        self._native = begun
        self._uncommitted = Uncommitted(table.location)
        self._finalizer = weakref.finalize(self, self._uncommitted.abandon)
        self._made: list[tuple[WriteResult, RowCounts]] = []
        self._ended = False
        self.attempts = 0

    def __reduce__(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        message = "a transaction cannot be pickled: it is committed by the process that began it"
        raise UnsupportedError(message)

    def table(self) -> Table:
        """Give the table with the changes so far, which nobody else sees."""
        staged = self._table._at(self._native.staged())  # noqa: SLF001
        staged.is_staged = True
        return staged

    def take(self, rows: Rows) -> Rows:
        """Remember that these rows come, so that their files stay if they do."""
        rows.transactions.append(self._native)
        return rows

    def write_changed(self, table: Table, data: Iterator[pa.RecordBatch]) -> _native.RowWriter:
        """Write rows that move to new files, with what they keep, and new ones."""
        from frazil.iceberg._row_level import lineage
        from frazil.iceberg._write import write_rows

        committed = self._native.base() if lineage(table) else None
        written = write_rows(table._native, table.properties, data, lineage_of=committed)  # noqa: SLF001
        self.written(written)
        return written.rows

    def written(self, written: Written) -> None:
        """Delete what was written if the transaction fails."""
        self._uncommitted.written.append(written)

    def change_rows(
        self, change: RowChange, snapshot_properties: Mapping[str, str] | None, rows: Rows | None = None
    ) -> WriteResult:
        """Make a change of rows here, and add `rows`."""
        operation = change.operation
        moved = self.write_changed(operation.table, change.rows())
        counts = RowCounts(*change.counts(), 0 if rows is None else rows.count)
        files = [moved] if rows is None else [rows.files, moved]
        return self.commit_rows(operation, snapshot_properties, files, counts)

    def commit_rows(
        self,
        operation: RowLevel,
        snapshot_properties: Mapping[str, str] | None,
        files: Sequence[Added],
        changed: RowCounts,
    ) -> WriteResult:
        """Take what was deleted, and new files."""
        if operation.on_read:
            operation.delta.remove_emptied()
            paths: list[str] = []
            # Known first: what fails half-way leaves something.
            self.written(Paths(operation.table._native.files, paths))  # noqa: SLF001
            operation.write_deletes(paths)
        return self.snapshot(
            operation.branch,
            snapshot_properties,
            files,
            changed,
            delta=operation.delta,
            validation=operation.validation,
        )

    def snapshot(  # noqa: PLR0913 - what a snapshot is made of
        self,
        branch: str,
        properties: Mapping[str, str] | None,
        files: Sequence[Added],
        changed: RowCounts,
        *,
        delta: _native.RowDelta | None = None,
        replace: str | None = None,
        validation: tuple[int | None, str, str, bool, bool] | None = None,
        fast: bool = False,
    ) -> WriteResult:
        """Make a snapshot of a branch: with new files, without rows of `delta` or the files that are replaced."""
        self._native.snapshot(
            text("branch", branch),
            property_texts(properties, "snapshot_properties"),
            rows=list(files),
            delta=delta,
            replace=replace,
            validation=validation,
            fast=flag("fast", fast),
        )
        self._uncommitted.is_changed = True
        result = WriteResult(None, updated_rows=changed.updated, inserted_rows=changed.inserted)
        self._made.append((result, changed))
        self._settle(self.table(), len(self._made) - 1)
        return result

    def _settle(self, table: Table, first: int = 0) -> None:
        """Set in the results of changes, from the first one on, what they did in this state of the table."""
        outcomes = self._native.outcomes()
        for (result, changed), outcome in list(zip(self._made, outcomes, strict=True))[first:]:
            settle(result, **outcome)
            deleted = _replaced_rows(table, result) if changed.deleted is None else changed.deleted
            settle(result, deleted_rows=deleted)

    def _place(self) -> str:
        return self._table.location

    def _now(self) -> Table:
        return self.table()

    def _change(self, change: Callable[[Transaction], WriteResult]) -> WriteResult:
        began, before = time.perf_counter(), len(self._uncommitted.written)
        try:
            result = change(self)
        except FrazilError:
            # Any other error may be that of a signal, which came when the change was made already.
            self._uncommitted.discard(before)
            raise
        settle(result, seconds=time.perf_counter() - began)
        return result

    def _change_with(self, data: Any, change: Callable[[Transaction, Rows], WriteResult]) -> WriteResult:
        def write(tx: Transaction) -> WriteResult:
            rows = data if isinstance(data, Rows) else _rows(tx.table(), data)
            tx.written(rows.written)
            rows.files.check(tx.table()._native)  # noqa: SLF001 - one module in two files
            return change(tx, rows)

        return self._change(write)

    def _commit(self, change: dict[str, Any]) -> None:
        with operation("commit", self._place):
            self._evolve(change)

    def _evolve(self, change: dict[str, Any], known: _native.Table | None = None) -> None:
        """Make a change that writes no data; `known` is the state that the caller decided on, if it is an older one."""
        self._native.evolve(json.dumps(change), known)
        self._uncommitted.is_changed = True

    def replace_definition(self, new: NewTable, *, keep_location: bool) -> None:
        """Use `Catalog.replace_table_transaction` instead."""
        new.replace(self._native, keep_location=keep_location)
        self._uncommitted.is_changed = True

    @operation_of
    def commit_transaction(self) -> Table:
        """Commit now; the `with` block does it when it ends.

        Raises:
            CommitConflictError: Others were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is not known whether the changes took effect; nothing was deleted.
        """
        if not self._ended:
            self._end()
            try:
                committed, self.attempts = self._native.commit(self._attempts)
                self._table._native = committed  # noqa: SLF001
            except BaseException:
                # Ctrl-C may come when the changes have taken effect already.
                if not self._native.may_be_committed:
                    self._uncommitted.discard()
                raise
            if self.attempts > 1:
                with contextlib.suppress(FrazilError):
                    self._settle(self._table)
        return self._table

    def abort(self) -> None:
        """Give up, and delete the files that were written."""
        if not self._ended:
            self._end()
            self._native.abort()
            self._uncommitted.discard()

    def _end(self) -> None:
        self._ended = True
        self._finalizer.detach()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or give up where the block failed."""
        if kind is None:
            self.commit_transaction()
        else:
            self.abort()


def alone(table: Table, change: Callable[[Transaction], WriteResult]) -> WriteResult:
    """Make one change as a transaction of its own; again on the newest state when others changed what it looked at."""
    began = time.perf_counter()
    attempts = _native.Attempts()
    try:
        while True:
            transaction = Transaction(table, attempts)
            try:
                with transaction:
                    result = change(transaction)
                break
            except CommitConflictError:
                if not attempts.again(table._native, table._row):  # noqa: SLF001 - one module in two files
                    raise
                table._reload()  # noqa: SLF001
    finally:
        attempts.end_turn()
    return replace(result, attempts=transaction.attempts, seconds=time.perf_counter() - began)


def _replaced_rows(table: Table, result: WriteResult) -> int:
    """Count the rows of the files that were replaced, without those that were deleted before."""
    if not result.removed_records:
        return 0
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots()}
    parent = None if result.snapshot_id is None else snapshots[result.snapshot_id].parent_snapshot_id
    if parent is None or snapshots[parent].summary.get("total-delete-files") == "0":
        return result.removed_records
    before, after = (table.scan(snapshot_id=state).count() for state in (parent, result.snapshot_id))
    return before - after + result.inserted_rows


def alone_with(table: Table, data: Any, change: Callable[[Transaction, Rows], WriteResult]) -> WriteResult:
    """Make one change with rows, which are read and written once: a stream gives them only once.

    The files are deleted if no attempt is made. `data` may be `Rows`.
    """
    began = time.perf_counter()
    table._native.check_writable(table._row)  # noqa: SLF001 - one module in two files
    rows = data if isinstance(data, Rows) else _rows(table, data)

    def change_with_rows(tx: Transaction) -> WriteResult:
        nonlocal rows
        rows = _fitting(tx.table(), rows, data)
        return change(tx, tx.take(rows))

    try:
        result = alone(table, change_with_rows)
    except BaseException:
        if not any(transaction.may_be_committed for transaction in rows.transactions):
            rows.written.abort()
        raise
    return replace(result, seconds=time.perf_counter() - began)


def _fitting(table: Table, rows: Rows, data: Any) -> Rows:
    """Return rows that the table reads: written again if another writer changed it, and `data` can be read again.

    Raises:
        CommitConflictError: A stream cannot be read again.
        InvalidArgumentError: The rows do not fit the table as it is now.
    """
    try:
        rows.files.check(table._native)  # noqa: SLF001 - one module in two files
    except CommitConflictError:
        if isinstance(data, Rows) or not hasattr(data, "__len__"):
            raise
        rows.written.abort()
        return _rows(table, data)
    return rows


def _rows(table: Table, data: Any) -> Rows:
    from frazil.iceberg._write import write_rows

    written = write_rows(table._native, table.properties, data)  # noqa: SLF001
    return Rows(written.rows, written, table.spec().spec_id)
