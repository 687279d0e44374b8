"""The search for the orphan files of a Paimon table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._deletion import DeletionPlan
from frazil.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OrphanSearch"]


class OrphanSearch:
    """The search in the folder of a table."""

    def __init__(self, table: Callable[[], _native.PaimonTable], files: _native.Files) -> None:
        """Keep the function that loads the latest state."""
        self._table, self._files = table, files

    def check(self) -> None:
        """Do nothing: the folders of other tables are not searched."""

    def listing(self, older_than_ms: int) -> _native.PaimonListing:
        """List the folder."""
        return _native.PaimonListing(self._table(), older_than_ms, config.max_workers)

    def orphans(self, listing: _native.PaimonListing) -> DeletionPlan:
        """Return the listed files that no branch, tag or changelog references."""
        return DeletionPlan(batch=listing.orphans(self._table()), files=self._files)
