"""Databases that store a catalog.

Reads create neither tables nor a missing SQLite file. Each change is one transaction. SQLite needs only Python's own
`sqlite3`; other databases need SQLAlchemy.
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

    from frazil.catalog._sql_session import Session

    Initial = Callable[[Session], None]
    """A function that initializes a new database."""

P = ParamSpec("P")
R = TypeVar("R")

_RETRY_SECONDS = 10.0
_FIRST_WAIT_SECONDS = 0.01


class Database(ABC):
    """The database of a catalog."""

    def __init__(self, catalog: str, name: str) -> None:
        """Keep the name of the catalog and the name of the database, without user and password, for messages."""
        self.catalog = catalog
        self.name = name

    @property
    @abstractmethod
    def is_present(self) -> bool:
        """Whether the database file exists; True for a database server, which is checked on connection."""

    @property
    @abstractmethod
    def dialect(self) -> str:
        """The SQL dialect of the database: `sqlite`, `postgresql`, `mysql` and so on."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """Connect for reading.

        Raises:
            CatalogError: The database returned an error.
            MissingFileError: The file of the database does not exist.
        """

    @abstractmethod
    def changing(self, initial: Initial | None) -> AbstractContextManager[Session]:
        """Begin a transaction, committed at the end of the block and rolled back if the block raises.

        With `initial`, a missing database file is created and initialized by that function.

        Raises:
            CatalogError: The database returned an error, and nothing changed.
            CommitStateUnknownError: The database failed during the commit.
            UnavailableError: The database rolled back the transaction because of a concurrent one, and nothing changed.
            MissingFileError: The file of the database does not exist, and `initial` is None.
        """

    def select(
        self, table: str, columns: Sequence[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        """Return the distinct values of `columns` in the rows where other columns equal the given values.

        Raises:
            CatalogError: The database returned an error.
        """
        with self.reading() as session:
            return session.select(table, columns, where, condition)

    def columns(self, table: str, needed: Iterable[str] = ()) -> set[str] | None:
        """Return the column names of a table; None if the table does not exist.

        Raises:
            CatalogError: A needed column is missing, or the database returned an error.
        """
        with self.reading() as session:
            found = session.columns(table)
        missing = [column for column in needed if found is not None and column not in found]
        if missing:
            message = f"table {table} of catalog {self.catalog!r} has no column {', '.join(missing)}"
            raise errors.CatalogError(message, context=self.context())
        return found

    def needed_columns(self, table: str, needed: Iterable[str], what: str) -> set[str]:
        """Return the column names of a table that must exist; error messages state that it stores `what`.

        Raises:
            CatalogError: The table does not exist, or one of the errors of `columns` occurred.
        """
        found = self.columns(table, needed)
        if found is None:
            message = f"the database of catalog {self.catalog!r} has no table {table}, so it contains no {what}"
            raise errors.CatalogError(message, context=self.context())
        return found

    def context(self) -> dict[str, str]:
        """Return the context that errors report for this database."""
        return {"catalog": self.catalog, "database": self.name}


def retried(change: Callable[P, R]) -> Callable[P, R]:
    """Retry a method that runs one transaction if the database rolls it back because of a concurrent one.

    Retries use exponential backoff and stop after ten seconds.
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
