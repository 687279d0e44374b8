"""The search for the orphan files of an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._deletion import DeletionPlan
from frazil.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.iceberg._state import TableState

__all__ = ["OrphanSearch"]


class OrphanSearch:
    """The search in the folder of a table, or in `location`."""

    def __init__(
        self, newest: Callable[[], TableState], check_folder: Callable[[], None], location: str | None
    ) -> None:
        """Keep the functions that load the latest state, and that raise an error if another table uses the folder."""
        self._newest, self._check_folder, self._location = newest, check_folder, location
        self._found: tuple[str, DeletionPlan] | None = None

    def check(self) -> None:
        """Raise an error if another table may use files in the folder."""
        self._check_folder()

    def listing(self, older_than_ms: int) -> _native.Listing:
        """List the folder."""
        self._found = None
        state = self._newest()
        return _native.Listing(
            state.native, self._location or state.metadata.location, older_than_ms, config.max_workers
        )

    def orphans(self, listing: _native.Listing) -> DeletionPlan:
        """Return the listed files that the latest state does not reference."""
        # The state is loaded after the listing, so that it references the files of commits made during the listing.
        state = self._newest()
        if self._found is None or self._found[0] != state.native.metadata_location:
            batch = listing.orphans(state.native, config.max_workers)
            self._found = state.native.metadata_location, DeletionPlan(batch=batch, files=state.files)
        return self._found[1]
