"""Transactions: changes of a table that are committed as one."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from frazil import _native
from frazil.errors import CommitStateUnknown
from frazil.iceberg.write import WriteResult, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from frazil.iceberg.table import Table

__all__ = ["Transaction"]


class Written(Protocol):
    """Data files that a change wrote."""

    def abort(self) -> None:
        """Delete them; what cannot be deleted is an orphan and no second failure."""


class Transaction:
    """Changes of a table that are committed as one when the `with` block ends; none of them when it fails.

    >>> import frazil, tempfile, pyarrow as pa
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", pa.schema([("id", pa.int64())]))
    >>> with table.transaction() as changes:
    ...     first = changes.append([{"id": 1}])
    ...     second = changes.append([{"id": 2}])
    >>> [first.added_records, second.added_records, len(table.snapshots()), table.scan().count()]
    [1, 1, 2, 2]
    """

    def __init__(self, table: Table) -> None:
        """Use `Table.transaction` instead."""
        self._table = table
        self._native = _native.Transaction(table._native)  # noqa: SLF001 - one module in two files
        self._written: list[Written] = []
        self._ended = False
        self.attempts = 0

    def table(self) -> Table:
        """Give the table with the changes so far, which nobody else sees."""
        return self._table._at(self._native.staged())  # noqa: SLF001

    def append(
        self, data: Any, *, branch: str = "main", snapshot_properties: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Add rows; see `Table.append`."""
        began = time.perf_counter()
        staged = self.table()
        written = write_rows(staged._native, staged._files, staged.properties, data)  # noqa: SLF001
        self._written.append(written)
        snapshot_id = self._native.append(written.rows, branch, dict(snapshot_properties or {}))
        files, records, size = written.rows.written()
        return WriteResult(
            snapshot_id,
            added_files=files,
            added_records=records,
            added_bytes=size,
            seconds=time.perf_counter() - began,
        )

    def commit_transaction(self) -> Table:
        """Commit now; the `with` block does it when it ends.

        Raises:
            CommitConflict: Others were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknown: It is not known whether the changes took effect; nothing was deleted.
        """
        if not self._ended:
            self._ended = True
            try:
                committed, self.attempts = self._native.commit()
            except CommitStateUnknown:
                raise
            except BaseException:
                self._discard()
                raise
            self._table._native = committed  # noqa: SLF001
        return self._table

    def abort(self) -> None:
        """Give up, and delete the files that were written."""
        if not self._ended:
            self._ended = True
            self._native.abort()
            self._discard()

    def _discard(self) -> None:
        for written in self._written:
            written.abort()

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
    """Make one change as a transaction of its own."""
    with table.transaction() as changes:
        result = change(changes)
    return replace(result, attempts=changes.attempts)
