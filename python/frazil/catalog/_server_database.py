"""Catalogs in a database that is accessed through SQLAlchemy."""

from __future__ import annotations

from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from frazil import errors
from frazil.catalog._database import Database
from frazil.catalog._server_session import is_mysql, is_rolled_back, session_of
from frazil.catalog._sql_session import DuplicateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from frazil.catalog._database import Initial
    from frazil.catalog._sql_session import Session

_SHORT = 4

_OF_POSTGRESQL = {"psycopg": "psycopg", "psycopg2": "psycopg2", "pg8000": "pg8000"}
_OF_MYSQL = {"mysqldb": "MySQLdb", "pymysql": "pymysql"}
_DRIVERS = {"postgresql": _OF_POSTGRESQL, "mysql": _OF_MYSQL, "mariadb": _OF_MYSQL}
"""The drivers of databases and their modules."""


class ServerDatabase(Database):
    """A database on a server."""

    def __init__(self, catalog: str, uri: str, properties: Mapping[str, str]) -> None:
        """Accept a SQLAlchemy or JDBC address, and `jdbc.user` and `jdbc.password` from the properties.

        Raises:
            InvalidArgumentError: The address is not a database address.
            UnsupportedError: The driver is not installed.
        """
        self._engine = _engine(catalog, uri, properties)
        url = self._engine.url
        super().__init__(catalog, ":".join(part for part in (url.drivername, url.host, url.database) if part))

    @property
    def is_present(self) -> bool:
        """Always True; a server that does not respond raises an error when it is queried."""
        return True

    @property
    def dialect(self) -> str:
        """The SQL dialect of the server, as named by SQLAlchemy."""
        return str(self._engine.dialect.name)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Connect for reading."""
        # The option is not set on the engine itself, because the options of an engine override those of engines derived
        # from it.
        reading = self._engine.execution_options(postgresql_readonly=True)
        with self._guarded(), self._connect(reading) as connection:
            yield session_of(connection)

    @contextmanager
    def changing(self, initial: Initial | None) -> Iterator[Session]:  # noqa: ARG002 - there is no file to make
        """Begin a transaction."""
        # READ COMMITTED is set explicitly, because the default of the server may differ. At this level an UPDATE
        # evaluates its WHERE clause again after a concurrent change.
        isolated = self.dialect == "postgresql" or is_mysql(self.dialect)
        writing = self._engine.execution_options(isolation_level="READ COMMITTED") if isolated else self._engine
        with self._guarded(), self._connect(writing) as connection:
            connection.begin()
            yield session_of(connection)
            self._commit(connection)

    def _connect(self, engine: sa.Engine) -> sa.Connection:
        try:
            return engine.connect()
        except TypeError as error:
            message = f"the driver for the database of catalog {self.catalog!r} rejected the uri: {self._told(error)}"
            hint = "remove the parameters of the uri that the driver does not support"
            raise errors.InvalidArgumentError(message, context=self.context(), hint=hint) from None

    def _commit(self, connection: sa.Connection) -> None:
        try:
            connection.commit()
        except SQLAlchemyError as error:
            if is_rolled_back(error):
                raise
            message = f"the database of catalog {self.catalog!r} failed during the commit: {self._told(error)}"
            raise errors.CommitStateUnknownError(message, context=self.context()) from None

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Convert database errors to frazil errors, without statement, parameters and address."""
        try:
            yield
        except DuplicateError:
            reason = "a concurrent transaction inserted a row with the same key"
            raise self._undone(reason) from None
        except SQLAlchemyError as error:
            if is_rolled_back(error):
                raise self._undone(self._told(error)) from None
            message = f"the database of catalog {self.catalog!r} returned an error: {self._told(error)}"
            raise errors.CatalogError(message, context=self.context()) from None

    def _undone(self, reason: str) -> errors.UnavailableError:
        message = f"the database of catalog {self.catalog!r} rolled back the transaction: {reason}"
        return errors.UnavailableError(message, context=self.context(), hint="nothing changed; try again")

    def _told(self, error: Exception) -> str:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        return without_secrets(" ".join(str(cause).split()), self._engine.url)


def without_secrets(text: str, url: sa.URL) -> str:
    """Hide the password and the parameters of an address in a string, however they are escaped."""
    parts = [url.password, *(value for values in url.normalized_query.values() for value in values)]
    for part in filter(None, parts):
        # Short parameters, such as numbers, are not secrets, and hiding them would mangle other words.
        if part == url.password or len(part) > _SHORT:
            for form in (part, quote(part, safe=""), quote_plus(part)):
                text = text.replace(form, "***")
    return text


def _engine(name: str, uri: str, properties: Mapping[str, str]) -> sa.Engine:
    try:
        url = _url(uri, properties)
    except (ArgumentError, ValueError):
        message = f"the uri of catalog {name!r} is not a database address"
        raise errors.InvalidArgumentError(message, context={"catalog": name}) from None
    try:
        engine = sa.create_engine(_with_driver(url), poolclass=sa.NullPool)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        message = f"the driver for the database of catalog {name!r} is not installed: {error}"
        hint = "install it, or specify another driver, as in postgresql+psycopg://"
        raise errors.UnsupportedError(message, context={"catalog": name}, hint=hint) from None
    if is_mysql(engine.dialect.name):
        sa.event.listen(engine, "connect", _make_strict)
    return engine


def _make_strict(connection: Any, _: object) -> None:
    """Make MySQL reject strings that do not fit their column; without a strict mode it truncates them."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_ALL_TABLES')")


def _with_driver(url: sa.URL) -> sa.URL:
    """Select the first installed driver if the address does not specify one, as with JDBC addresses."""
    for driver, module in _DRIVERS.get(url.drivername, {}).items():
        if find_spec(module) is not None:
            return url.set(drivername=f"{url.drivername}+{driver}")
    return url


def _url(uri: str, properties: Mapping[str, str]) -> sa.URL:
    """Parse a SQLAlchemy address, or a JDBC address with user and password in its query or in properties."""
    jdbc = uri.lower().startswith("jdbc:")
    address = uri[len("jdbc:") :] if jdbc else uri
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
