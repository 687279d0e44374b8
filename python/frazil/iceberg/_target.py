"""The table of a handle, in the form that operations use to read and change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil.iceberg._staged import StagedTable
from frazil.iceberg._state import TableState

if TYPE_CHECKING:
    from frazil.iceberg._pointer import CatalogRow, ServerRow

__all__ = ["Target"]


class Target:
    """A table changed by one operation: its current state, and the source of the latest state."""

    def __init__(self, state: TableState, row: CatalogRow | ServerRow | None) -> None:
        """Keep the state of a table handle, and the table's catalog pointer, if any.

        Raises:
            UnsupportedError: The table belongs to a catalog, but was opened without the catalog.
        """
        state.native.check_writable(row)
        self._state, self._row = state, row
        self._attempts = _native.Attempts()
        self.replaced: TableState | None = None
        """The state that the last commit replaced; None if there was nothing to commit."""

    def state(self) -> TableState:
        """Return the current state."""
        return self._state

    def newest(self) -> TableState:
        """Load the latest state, make it the current one and return it."""
        self._state = TableState(self._state.native.newest(self._row), self._state.options)
        return self._state

    def begin(self) -> StagedTable:
        """Begin changes to the current state."""
        state = self._state
        changes = _native.Transaction(state.native, self._row)
        return StagedTable(changes, state.options, state.metadata.location, self._attempts)

    def adopt(self, staged: StagedTable) -> None:
        """Make the state that the commit of `staged` published the current state."""
        if staged.committed is not None:
            self._state, self.replaced = staged.committed, staged.replaced

    def replan(self) -> bool:
        """Back off and load the latest state for another attempt; return False if the attempts are used up."""
        if not self._attempts.again(self._state.native, self._row):
            return False
        self.newest()
        return True

    def is_behind(self) -> bool:
        """Load the latest state and return whether it differs from the current one."""
        known = self._state.native.metadata_location
        return self.newest().native.metadata_location != known

    def end(self) -> None:
        """End the attempts and let the next waiting writer on this machine continue."""
        self._attempts.end_turn()
