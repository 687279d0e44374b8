"""The catalog pointer of a table."""

from __future__ import annotations

from typing import Protocol


class ServerRow(Protocol):
    """A table whose metadata is stored and changed by a server. Commits call it, possibly from other threads."""

    def load(self) -> tuple[str, bytes] | None:
        """Return the metadata file and the metadata of the latest state; None if the table does not exist."""

    def commit(self, request: str) -> tuple[str, bytes] | None:
        """Send a commit as JSON and return the new state; None if a requirement of the commit is not met.

        Raises:
            CatalogError: The server rejected the commit, and nothing changed.
            CommitStateUnknownError: The commit may have succeeded.
        """


class CatalogRow(Protocol):
    """The catalog pointer to the latest metadata file of a table. Commits call it, possibly from other threads."""

    def location(self) -> str | None:
        """Return the metadata file; None if the catalog does not contain the table."""

    def replace(self, expected: str | None, new: str) -> bool:
        """Replace the pointer atomically if it is `expected` (None: no table exists); return whether it was replaced.

        Raises:
            CatalogError: The catalog returned an error, and nothing changed.
            CommitStateUnknownError: The pointer may have changed.
        """
