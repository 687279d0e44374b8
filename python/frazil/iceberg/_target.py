"""The table of a handle, as operations find and change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil.iceberg._staged import StagedTable
from frazil.iceberg._state import TableState

if TYPE_CHECKING:
    from frazil.iceberg._row import CatalogRow, ServerRow

__all__ = ["Target"]


class Target:
    """A table that one operation changes: the state at hand, and where the newest one is found."""

    def __init__(self, state: TableState, row: CatalogRow | ServerRow | None) -> None:
        """Take the state of a handle, and the row of its catalog.

        Raises:
            UnsupportedError: A catalog keeps the table, which was opened without it.
        """
        state.native.check_writable(row)
        self._state, self._row = state, row
        self._attempts = _native.Attempts()
        self.replaced: TableState | None = None
        """The state that the last commit replaced; None if there was nothing to commit."""

    def state(self) -> TableState:
        """Return the state that is at hand."""
        return self._state

    def newest(self) -> TableState:
        """Load and return the newest state; it is the one at hand afterwards."""
        self._state = TableState(self._state.native.newest(self._row), self._state.options)
        return self._state

    def begin(self) -> StagedTable:
        """Begin changes of the state at hand."""
        state = self._state
        changes = _native.Transaction(state.native, self._row)
        return StagedTable(changes, state.options, state.metadata.location, self._attempts)

    def adopt(self, staged: StagedTable) -> None:
        """Take the state that a commit published."""
        if staged.committed is not None:
            self._state, self.replaced = staged.committed, staged.replaced

    def replan(self) -> bool:
        """Wait, and load the newest state for another attempt; return False if no more attempts are allowed."""
        if not self._attempts.again(self._state.native, self._row):
            return False
        self.newest()
        return True

    def is_behind(self) -> bool:
        """Load the newest state, and return whether it is another one than that which was at hand."""
        known = self._state.native.metadata_location
        return self.newest().native.metadata_location != known

    def end(self) -> None:
        """End the attempts: let other writers of this machine have their turn."""
        self._attempts.end_turn()
