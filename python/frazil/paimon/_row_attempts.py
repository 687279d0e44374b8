"""Attempts to change rows: each reads the rows of the latest snapshot and writes new files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from frazil import _native
    from frazil._run import States
    from frazil.paimon._merge_source import MergeSource
    from frazil.paimon._messages import Messages
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["Attempt", "Ready", "RowOperation"]


class Ready:
    """The source rows of a change, and the files of its latest attempt."""

    def __init__(self, source: MergeSource | None = None) -> None:
        """Keep the source."""
        self._source = source
        self._files: Messages | None = None

    def source(self, table: _native.PaimonTable, *, exact: bool) -> list[pa.RecordBatch]:
        """Return the source rows in the types of the columns of a table; see `MergeSource.hold`."""
        return [] if self._source is None else self._source.hold(table, exact=exact)

    def fit(self, state: TableState) -> Self:  # noqa: ARG002 - as of `Ready`
        """Return self, because each attempt is planned on its state."""
        return self

    def own(self, files: Messages) -> None:
        """Take ownership of the files of an attempt."""
        self._files = files

    def abort(self) -> None:
        """Delete the files of the latest attempt, which is not committed."""
        if self._files is not None:
            self._files.abort()
            self._files = None


class Attempt:
    """One attempt to change rows, planned on one snapshot."""

    def __init__(self, write: Callable[[], Messages], ready: Ready) -> None:
        """Keep the work, and the owner of its files."""
        self._write, self._ready = write, ready

    def execute(self, writer: object) -> Messages:  # noqa: ARG002 - as of `Work`
        """Write the new files and return the commit."""
        messages = self._write()
        self._ready.own(messages)
        return messages


class RowOperation:
    """The common parts of operations that change rows."""

    replans: ClassVar[bool] = True
    options: CommitOptions

    def prepare(self, table: States[TableState], rows: MergeSource | None) -> Ready:
        """Load the latest state."""
        table.newest()
        return Ready(rows)

    def plan(self, state: TableState, ready: Ready, tasks: bytes | None = None) -> Attempt:  # noqa: ARG002
        """Plan to read the rows and write the changed ones."""
        # The files of an earlier attempt lost to a concurrent commit.
        ready.abort()
        return Attempt(partial(self._write, state, ready), ready)

    def _write(self, state: TableState, ready: Ready) -> Messages:
        """Write the changed rows into new files."""
        raise NotImplementedError
