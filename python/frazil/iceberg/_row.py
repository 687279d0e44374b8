"""What a catalog keeps of one table."""

from __future__ import annotations

from typing import Protocol


class CatalogRow(Protocol):
    """The place in a catalog that names the newest metadata file of a table. Commits call it, on other threads too."""

    def location(self) -> str | None:
        """Give the metadata file; None when the catalog has no such table."""

    def replace(self, expected: str | None, new: str) -> bool:
        """Name `new` if `expected` is named (None: there is no such table), in one step; say whether it was.

        Raises:
            CatalogError: The catalog refused, and nothing changed.
            CommitStateUnknownError: It may have changed.
        """
