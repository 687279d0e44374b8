"""Databases that hold a catalog.

Reading makes no table, and a SQLite file that does not exist is not made by it. A change is one transaction. SQLite
needs Python's own `sqlite3` only; other databases need SQLAlchemy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from frazil import errors
from frazil._extras import imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from frazil.catalog._statements import Session

    Initial = Callable[[Session], None]
    """Makes what a new database begins with."""


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


def open_database(
    catalog: str, catalog_type: str, properties: Mapping[str, str], *, may_be_absent: bool = False
) -> Database:
    """Return the database of the property `uri`: an address of SQLAlchemy or of JDBC.

    Args:
        catalog: The name of the catalog, for messages.
        catalog_type: Its type, for messages.
        properties: Its properties.
        may_be_absent: Whether the first change makes a SQLite file that does not exist.

    Raises:
        InvalidArgumentError: The properties name no database.
        MissingFileError: The file of SQLite does not exist.
        UnsupportedError: SQLAlchemy or the driver is not installed.
    """
    uri = properties.get("uri")
    if not uri:
        message = f"catalog {catalog!r} of type {catalog_type} needs the property 'uri'"
        raise errors.InvalidArgumentError(
            message, context={"catalog": catalog}, hint="such as sqlite:///path/catalog.db"
        )
    file = _sqlite_file(catalog, uri)
    if file is not None:
        from frazil.catalog._sqlite import SqliteDatabase

        return SqliteDatabase(catalog, file, may_be_absent=may_be_absent)
    imported("sqlalchemy", f"catalog {catalog!r} of type {catalog_type}")
    from frazil.catalog._server_database import ServerDatabase

    return ServerDatabase(catalog, uri, properties)


def _sqlite_file(catalog: str, uri: str) -> Path | None:
    """Return the file of an address of SQLite; None for other databases.

    The forms are `sqlite:///relative.db`, `sqlite:////absolute.db`, `jdbc:sqlite:path`, each with `file:` or without.
    """
    address = uri[len("jdbc:") :] if uri.lower().startswith("jdbc:") else uri
    scheme, _, rest = address.partition(":")
    if scheme.partition("+")[0].lower() != "sqlite":
        return None
    database, _, query = rest.partition("?")
    if uri == address:
        authority, _, database = database.removeprefix("//").partition("/")
        if authority:
            message = f"the uri of catalog {catalog!r} names a host, which SQLite does not have"
            raise errors.InvalidArgumentError(
                message, context={"catalog": catalog}, hint="such as sqlite:////path/catalog.db"
            )
    if database.startswith("file:"):
        database = unquote(database[len("file:") :])
    if database in {"", ":memory:"} or "mode=memory" in query.split("&"):
        message = f"the uri of catalog {catalog!r} is a database in memory, which is empty"
        raise errors.InvalidArgumentError(
            message, context={"catalog": catalog}, hint="such as sqlite:///path/catalog.db"
        )
    return Path(database).absolute()
