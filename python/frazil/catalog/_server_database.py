"""Catalogs in a database that SQLAlchemy reaches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from frazil import errors
from frazil.catalog._database import Database
from frazil.catalog._statements import DuplicateError, Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from frazil.catalog._database import Initial

_SHORT = 4


class ServerDatabase(Database):
    """A database of a server."""

    def __init__(self, catalog: str, uri: str, properties: Mapping[str, str]) -> None:
        """Take an address of SQLAlchemy or of JDBC, and `jdbc.user` and `jdbc.password` from the properties.

        Raises:
            InvalidArgumentError: The address is not one of a database.
            UnsupportedError: The driver is not installed.
        """
        self._engine = _engine(catalog, uri, properties)
        url = self._engine.url
        super().__init__(catalog, ":".join(part for part in (url.drivername, url.host, url.database) if part))

    @property
    def is_present(self) -> bool:
        """Always; a server that does not answer raises an error when it is asked."""
        return True

    @property
    def dialect(self) -> str:
        """The SQL of the server, by the name that SQLAlchemy has for it."""
        return str(self._engine.dialect.name)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Connect to read."""
        with self._guarded(), self._engine.connect() as connection:
            yield _ServerSession(connection)

    @contextmanager
    def changing(self, initial: Initial | None) -> Iterator[Session]:  # noqa: ARG002 - there is no file to make
        """Begin a transaction."""
        writing = self._engine.execution_options(postgresql_readonly=False)
        with self._guarded(), writing.connect() as connection:
            connection.begin()
            yield _ServerSession(connection)
            self._commit(connection)

    def _commit(self, connection: sa.Connection) -> None:
        try:
            connection.commit()
        except SQLAlchemyError as error:
            message = f"the database of catalog {self.catalog!r} failed to commit: {self._told(error)}"
            raise errors.CommitStateUnknownError(message, context=self.context()) from None

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn errors of the database into ours, without statement, parameters and address."""
        try:
            yield
        except SQLAlchemyError as error:
            message = f"the database of catalog {self.catalog!r} refused: {self._told(error)}"
            raise errors.CatalogError(message, context=self.context()) from None

    def _told(self, error: SQLAlchemyError) -> str:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        return without_secrets(str(cause), self._engine.url)


class _ServerSession(Session):
    """A connection of SQLAlchemy."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, values: Mapping[str, Any]) -> sa.CursorResult[Any]:
        try:
            return self._connection.execute(sa.text(statement), dict(values))
        except IntegrityError as error:
            raise DuplicateError from error

    def columns(self, table: str) -> set[str] | None:
        inspector = sa.inspect(self._connection)
        if not inspector.has_table(table):
            return None
        return {column["name"].lower() for column in inspector.get_columns(table)}

    def rollback(self) -> None:
        self._connection.rollback()


def without_secrets(text: str, url: sa.URL) -> str:
    """Hide the password and the parameters of an address in a text, however they are escaped."""
    parts = [url.password, *(value for values in url.normalized_query.values() for value in values)]
    for part in filter(None, parts):
        # A short parameter, such as a number, is not a secret and would tear words apart.
        if part == url.password or len(part) > _SHORT:
            for form in (part, quote(part, safe=""), quote_plus(part)):
                text = text.replace(form, "***")
    return text


def _engine(name: str, uri: str, properties: Mapping[str, str]) -> sa.Engine:
    try:
        url = _url(uri, properties)
    except (ArgumentError, ValueError):
        message = f"the uri of catalog {name!r} is not an address of a database"
        raise errors.InvalidArgumentError(message, context={"catalog": name}) from None
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        message = f"the driver for the database of catalog {name!r} is not installed: {error}"
        hint = "install it, or name another one, as in postgresql+psycopg://"
        raise errors.UnsupportedError(message, context={"catalog": name}, hint=hint) from None
    return engine.execution_options(postgresql_readonly=True)


def _url(uri: str, properties: Mapping[str, str]) -> sa.URL:
    """Read an address of SQLAlchemy, or one of JDBC, which has user and password in its query or in properties."""
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
