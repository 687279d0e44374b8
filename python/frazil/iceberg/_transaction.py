"""Transactions: changes of a table that are committed as one."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from frazil._border import operation_of
from frazil._run import HERE, apply
from frazil._write_result import settle
from frazil.errors import UnsupportedError
from frazil.iceberg._verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from frazil._run import Executor
    from frazil._write_result import WriteResult
    from frazil.iceberg._new_table import NewTable
    from frazil.iceberg._staged import StagedTable
    from frazil.iceberg._state import TableState
    from frazil.iceberg._table import Table
    from frazil.iceberg._verbs import Operation

__all__ = ["Transaction", "replace_definition"]


class Transaction(Verbs):
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
        self, staged: StagedTable, at: Callable[[TableState], Table], adopt: Callable[[TableState | None], Table]
    ) -> None:
        """Use `Table.transaction` instead.

        `at` returns the table at a state. `adopt` brings the user's table to a state, if there is one, and returns it.
        """
        self._staged, self._at, self._adopt = staged, at, adopt
        self._finalizer = weakref.finalize(self, staged.abandon)
        self._ended = False
        self.attempts = 0

    def __reduce__(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        message = "a transaction cannot be pickled: it is committed by the process that began it"
        raise UnsupportedError(message)

    def table(self) -> Table:
        """Return the table with the changes so far, which nobody else sees."""
        return self._at(self._staged.state())

    @operation_of
    def commit_transaction(self) -> Table:
        """Commit now; the `with` block does it when it ends.

        Raises:
            CommitConflictError: Other writers were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is not known whether the changes took effect; nothing was deleted.
        """
        if not self._ended:
            self._end()
            self.attempts = self._staged.commit()
            return self._adopt(self._staged.committed)
        return self._adopt(None)

    def abort(self) -> None:
        """Discard the changes, and delete the files that were written."""
        if not self._ended:
            self._end()
            self._staged.abort()

    def _run(self, operation: Operation, rows: Any = None, executor: Executor = HERE) -> WriteResult:
        began = time.perf_counter()
        staged = self._staged
        with staged.owning():
            ready = operation.prepare(staged, rows)
            staged.own(ready)
            result = apply(staged, operation, ready.fit(staged.state()), executor)
        settle(result, seconds=time.perf_counter() - began)
        return result

    def _newest(self) -> TableState:
        return self._staged.state()

    def _place(self) -> str:
        return self._staged.location

    def _end(self) -> None:
        self._ended = True
        self._finalizer.detach()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or give up if the block failed."""
        if kind is None:
            self.commit_transaction()
        else:
            self.abort()


def replace_definition(changes: Transaction, new: NewTable, *, keep_location: bool) -> None:
    """Replace the definition of the table of a transaction; see `Catalog.replace_table_transaction`."""
    staged = changes._staged  # noqa: SLF001 - of this class
    new.replace(staged.native, keep_location=keep_location)
    staged.changed()
