"""What a catalog keeps of one table."""

from __future__ import annotations

from typing import Protocol


class ServerRow(Protocol):
    """A table that a server keeps, which makes the changes of its metadata. Commits call it, on other threads too."""

    def load(self) -> tuple[str, bytes] | None:
        """Return the newest state: its metadata file and its metadata; None if there is no such table."""

    def commit(self, request: str) -> tuple[str, bytes] | None:
        """Send a commit in JSON; return the new state, and None if something is otherwise than it requires.

        Raises:
            CatalogError: The server refused, and nothing changed.
            CommitStateUnknownError: The commit may have been made.
        """


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
