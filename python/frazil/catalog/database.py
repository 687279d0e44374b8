"""Databases that hold a catalog.

Reading makes no table, and a SQLite file that is not there stays away. A change is one transaction. Names go into
statements as parameters and are compared whole.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SHORT = 4
_BUSY_SECONDS = 30.0


class Database:
    """The database of a catalog."""

    def __init__(
        self,
        catalog: str,
        catalog_type: str,
        properties: Mapping[str, str],
        *,
        file: Path | None = None,
        may_be_absent: bool = False,
    ) -> None:
        """Take `uri`, of SQLAlchemy or of JDBC, from the properties, and `jdbc.user` and `jdbc.password` if given.

        Args:
            catalog: The name of the catalog, for messages.
            catalog_type: Its type, for messages.
            properties: Its properties.
            file: A file of SQLite, instead of the `uri`.
            may_be_absent: Whether the first change makes a SQLite file that is not there.

        Raises:
            InvalidArgument: The properties name no database.
            MissingFile: There is no such file of SQLite.
            Unsupported: The driver is not installed.
        """
        self._catalog = catalog
        self._engine = _engine(catalog, catalog_type, properties) if file is None else _sqlite_to_read(file)
        if not may_be_absent:
            self._check_present()

    @property
    def name(self) -> str:
        """The address without user and password."""
        url = self._engine.url
        return ":".join(part for part in (url.drivername, url.host, url.database) if part)

    def select(self, columns: Sequence[sa.Column[str]], *conditions: sa.ColumnElement[bool]) -> list[tuple[Any, ...]]:
        """Give the distinct rows of columns where the conditions hold.

        Raises:
            Catalog: The database refused.
        """
        self._check_present()
        with self._guarded(), self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.select(*columns).distinct().where(*conditions))]

    def table(self, name: str, needed: Sequence[str], optional: Sequence[str] = ()) -> sa.Table | None:
        """Give a table with those of its columns that the database has; None where there is no such table.

        Raises:
            Catalog: A needed column is missing, or the database refused.
        """
        self._check_present()
        with self._guarded():
            inspector = sa.inspect(self._engine)
            if not inspector.has_table(name):
                return None
            present = {column["name"].lower() for column in inspector.get_columns(name)}
        missing = [column for column in needed if column not in present]
        if missing:
            message = f"table {name} of catalog {self._catalog!r} has no column {', '.join(missing)}"
            raise errors.Catalog(message, context={"catalog": self._catalog, "database": self.name})
        columns = [*needed, *(column for column in optional if column in present)]
        return sa.Table(name, sa.MetaData(), *(sa.Column(column, sa.String()) for column in columns))

    def needed_table(self, name: str, needed: Sequence[str], what: str, optional: Sequence[str] = ()) -> sa.Table:
        """Give a table without which there is no `what`.

        Raises:
            Catalog: There is no such table, or as `table` says.
        """
        found = self.table(name, needed, optional)
        if found is None:
            message = f"the database of catalog {self._catalog!r} has no table {name}, so it holds no {what}"
            raise errors.Catalog(message, context={"catalog": self._catalog, "database": self.name})
        return found

    @property
    def is_present(self) -> bool:
        """Whether a SQLite file is there; other databases know only themselves."""
        file = self._file
        return file is None or file.is_file()

    @contextmanager
    def changing(self, *, makes_file: bool) -> Iterator[sa.Connection]:
        """Begin a transaction, which is committed at the end of the block, or undone if the block raises.

        With `makes_file`, a SQLite file that is not there is made.

        Raises:
            Catalog: The database refused, and nothing changed.
            CommitStateUnknown: The database failed while it committed.
        """
        if not makes_file:
            self._check_present()
        with self._guarded(), self._writing.connect() as connection:
            connection.begin()
            yield connection
            self._commit(connection)

    def _commit(self, connection: sa.Connection) -> None:
        try:
            connection.commit()
        except SQLAlchemyError as error:
            driver: object = connection.connection.dbapi_connection
            if isinstance(driver, sqlite3.Connection) and driver.in_transaction:
                # Such as another connection that reads for too long: SQLite waits for a rollback, and gets one.
                raise
            message = f"the database of catalog {self._catalog!r} failed to commit: {self._told(error)}"
            context = {"catalog": self._catalog, "database": self.name}
            raise errors.CommitStateUnknown(message, context=context) from None

    @cached_property
    def _writing(self) -> sa.Engine:
        """The engine for changes."""
        file = self._file
        return self._engine.execution_options(postgresql_readonly=False) if file is None else _sqlite_to_write(file)

    @property
    def _file(self) -> Path | None:
        url = self._engine.url
        return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None

    def _check_present(self) -> None:
        if not self.is_present:
            message = f"the database of catalog {self._catalog!r} is not there"
            raise errors.MissingFile(message, context={"catalog": self._catalog, "file": str(self._file)})

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn errors of the database into ours, without statement, parameters and address."""
        try:
            yield
        except SQLAlchemyError as error:
            message = f"the database of catalog {self._catalog!r} refused: {self._told(error)}"
            context = {"catalog": self._catalog, "database": self.name}
            raise errors.Catalog(message, context=context) from None

    def _told(self, error: SQLAlchemyError) -> str:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        return self._without_secrets(str(cause))

    def _without_secrets(self, text: str) -> str:
        """Hide the password and the parameters of the address, however they are escaped."""
        url = self._engine.url
        parts = [url.password, *(value for values in url.normalized_query.values() for value in values)]
        for part in filter(None, parts):
            # A short parameter, such as a number, is no secret and would tear words apart.
            if part == url.password or len(part) > _SHORT:
                for form in (part, quote(part, safe=""), quote_plus(part)):
                    text = text.replace(form, "***")
        return text


def _engine(name: str, catalog_type: str, properties: Mapping[str, str]) -> sa.Engine:
    uri = properties.get("uri")
    if not uri:
        message = f"catalog {name!r} of type {catalog_type} needs the property 'uri'"
        raise errors.InvalidArgument(message, context={"catalog": name}, hint="such as sqlite:///path/catalog.db")
    try:
        url = _url(uri, properties)
    except (ArgumentError, ValueError):
        message = f"the uri of catalog {name!r} is no address of a database"
        raise errors.InvalidArgument(message, context={"catalog": name}) from None
    if url.get_backend_name() == "sqlite":
        return _sqlite(name, url)
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        message = f"the driver for the database of catalog {name!r} is not installed: {error}"
        hint = "install it, or name another one, as in postgresql+psycopg://"
        raise errors.Unsupported(message, context={"catalog": name}, hint=hint) from None
    return engine.execution_options(postgresql_readonly=True)


def _url(uri: str, properties: Mapping[str, str]) -> sa.URL:
    """Read an address of SQLAlchemy, or one of JDBC, which has user and password in its query or beside it."""
    jdbc = uri.lower().startswith("jdbc:")
    address = uri[len("jdbc:") :] if jdbc else uri
    if jdbc and address.lower().startswith("sqlite:"):
        path = address[len("sqlite:") :].partition("?")[0]
        return sa.URL.create("sqlite", database=path.removeprefix("file:"))
    if address.startswith("postgres://"):
        address = "postgresql" + address[len("postgres") :]
    url = sa.make_url(address)
    given = {"username": properties.get("jdbc.user"), "password": properties.get("jdbc.password")}
    if jdbc:
        query = {"user": "username", "password": "password"}
        for key, part in query.items():
            value = url.query.get(key)
            given[part] = given[part] or (value if isinstance(value, str) else None)
        url = url.difference_update_query(query)
    return url.set(**{part: value for part, value in given.items() if value})  # type: ignore[arg-type]


def _sqlite(name: str, url: sa.URL) -> sa.Engine:
    """Open the SQLite file of an address, only to read."""
    database = url.database or ""
    if database.startswith("file:"):
        database = unquote(database[len("file:") :].partition("?")[0])
    if database in {"", ":memory:"} or url.query.get("mode") == "memory":
        message = f"the uri of catalog {name!r} is a database in memory, which is empty"
        raise errors.InvalidArgument(message, context={"catalog": name}, hint="such as sqlite:///path/catalog.db")
    return _sqlite_to_read(Path(database).absolute())


def _sqlite_to_read(path: Path) -> sa.Engine:
    """Open a SQLite file for statements that read.

    The file itself is opened for writing, where that is allowed: what a writer that was killed left half done is undone
    by the next who opens the file, and by nobody who may only read.
    """

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS)
        connection.execute("PRAGMA query_only = ON")
        return connection

    return sa.create_engine(sa.URL.create("sqlite", database=str(path)), poolclass=sa.NullPool, creator=connect)


def _sqlite_to_write(path: Path) -> sa.Engine:
    """Open a SQLite file to change it, or make it. A transaction is the only writer from its beginning."""

    def connect() -> sqlite3.Connection:
        # The driver would begin a transaction at the first change only.
        return sqlite3.connect(f"{path.as_uri()}?mode=rwc", uri=True, timeout=_BUSY_SECONDS, isolation_level=None)

    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), poolclass=sa.NullPool, creator=connect)
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine
