"""Databases that hold a catalog.

Reading makes no table, and a SQLite file that does not exist is not made by it. A change is one transaction. SQLite
needs Python's own `sqlite3` only; other databases need SQLAlchemy.
"""

from __future__ import annotations

import functools
import random
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from frazil.catalog._statements import Session

    Initial = Callable[[Session], None]
    """Makes what a new database begins with."""

P = ParamSpec("P")
R = TypeVar("R")

_RETRY_SECONDS = 10.0
_FIRST_WAIT_SECONDS = 0.01


class Database(ABC):
    """The database of a catalog."""

    def __init__(self, catalog: str, name: str) -> None:
        """Keep the name of the catalog, and that of the database without user and password, for messages."""
        self.catalog = catalog
        self.name = name

    @property
    @abstractmethod
    def is_present(self) -> bool:
        """Whether the file of the database exists; databases that are not files say so when they are asked."""

    @property
    @abstractmethod
    def dialect(self) -> str:
        """The SQL that the database speaks: `sqlite`, `postgresql`, `mysql` and so on."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """Connect to read.

        Raises:
            CatalogError: The database refused.
            MissingFileError: The file of the database does not exist.
        """

    @abstractmethod
    def changing(self, initial: Initial | None) -> AbstractContextManager[Session]:
        """Begin a transaction, which is committed at the end of the block, or undone if the block raises.

        With `initial`, the file of a database that does not exist is made, and begins with what that makes.

        Raises:
            CatalogError: The database refused, and nothing changed.
            CommitStateUnknownError: The database failed while it committed.
            UnavailableError: The database undid the transaction because of a concurrent one, and nothing changed.
            MissingFileError: The file of the database does not exist, and `initial` is None.
        """

    def select(
        self, table: str, columns: Sequence[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        """Return the distinct values of columns, in the rows where other columns have these values.

        Raises:
            CatalogError: The database refused.
        """
        with self.reading() as session:
            return session.select(table, columns, where, condition)

    def columns(self, table: str, needed: Iterable[str] = ()) -> set[str] | None:
        """Return the names of the columns of a table; None if there is no such table.

        Raises:
            CatalogError: A needed column is missing, or the database refused.
        """
        with self.reading() as session:
            found = session.columns(table)
        missing = [column for column in needed if found is not None and column not in found]
        if missing:
            message = f"table {table} of catalog {self.catalog!r} has no column {', '.join(missing)}"
            raise errors.CatalogError(message, context=self.context())
        return found

    def needed_columns(self, table: str, needed: Iterable[str], what: str) -> set[str]:
        """Return the names of the columns of a table without which there is no `what`.

        Raises:
            CatalogError: There is no such table, or as `columns` says.
        """
        found = self.columns(table, needed)
        if found is None:
            message = f"the database of catalog {self.catalog!r} has no table {table}, so it holds no {what}"
            raise errors.CatalogError(message, context=self.context())
        return found

    def context(self) -> dict[str, str]:
        """Return what errors say of the place."""
        return {"catalog": self.catalog, "database": self.name}


def retried(change: Callable[P, R]) -> Callable[P, R]:
    """Run a method that makes one transaction again if the database undid it because of a concurrent one.

    Retries wait with exponential backoff and end after ten seconds.
    """

    @functools.wraps(change)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        end, wait_s = time.monotonic() + _RETRY_SECONDS, _FIRST_WAIT_SECONDS
        while True:
            try:
                return change(*args, **kwargs)
            except errors.UnavailableError:
                if time.monotonic() + wait_s > end:
                    raise
            time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            wait_s *= 2

    return run
