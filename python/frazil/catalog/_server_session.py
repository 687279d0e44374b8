"""Connections to a database server through SQLAlchemy."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from frazil.catalog._sql_session import DuplicateError, Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from frazil.catalog._sql_session import Creatable

_ROLLBACK_CLASS = "40"
"""The SQLSTATE class of transactions that are rolled back: deadlocks and serialization failures."""

_LOCK_TIMEOUT = "55P03"
_MYSQL_ROLLBACKS = frozenset({1020, 1205, 1213})
"""The codes for a record changed since the last read, a lock wait timeout and a deadlock."""

_DUPLICATE_KEY = "23505"
_MYSQL_DUPLICATE_KEY = 1062
_MYSQL_KEY_TOO_LONG = 1071


class ServerSession(Session):
    """A SQLAlchemy connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, values: Mapping[str, Any]) -> sa.CursorResult[Any]:
        try:
            return self._connection.execute(sa.text(statement), dict(values))
        except IntegrityError as error:
            if _is_duplicate(error):
                raise DuplicateError from error
            raise

    def columns(self, table: str) -> set[str] | None:
        inspector = sa.inspect(self._connection)
        if not inspector.has_table(table):
            return None
        return {column["name"].lower() for column in inspector.get_columns(table)}

    def rollback(self) -> None:
        self._connection.rollback()

    def create(self, table: Creatable) -> None:
        """Create a table unless it exists or another process is creating it."""
        if self.columns(table.name) is not None:
            return
        try:
            with self._savepoint():
                self._create_new(table)
        except (SQLAlchemyError, DuplicateError):
            if self.columns(table.name) is None:
                raise

    def _savepoint(self) -> AbstractContextManager[Any]:
        """Begin a savepoint, so that a statement can fail without aborting the whole transaction."""
        return self._connection.begin_nested()

    def _create_new(self, table: Creatable) -> None:
        self.run(table.statement(), {})


class MySqlSession(ServerSession):
    """A connection to MySQL or MariaDB, whose collations may treat different names as equal."""

    def select(
        self, table: str, columns: Iterable[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        """Return the distinct values of columns; DISTINCT would merge values that the collation treats as equal."""
        statement = f"SELECT {', '.join(columns)} FROM {table}{self._where(where, condition)}"  # noqa: S608 - constants
        return list(dict.fromkeys(tuple(row) for row in self.run(statement, where).fetchall()))

    def _equal(self, name: str, value: object) -> str:
        """Return a condition that compares twice: by collation to use the index, and by bytes to be exact."""
        equal = super()._equal(name, value)
        return f"{equal} AND {_bytes(name)} = {_bytes(f':{name}')}" if isinstance(value, str) else equal

    def _savepoint(self) -> AbstractContextManager[Any]:
        """Do nothing: CREATE TABLE commits implicitly, and a failed statement does not end the transaction."""
        return nullcontext()

    def _create_new(self, table: Creatable) -> None:
        """Create a table whose keys are compared by code point, independent of the database's default."""
        try:
            self.run(f"{table.statement()} ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", {})
        except DBAPIError as error:
            if _mysql_code(error) != _MYSQL_KEY_TOO_LONG:
                raise
            # A key of four columns with 255 characters stays within MySQL's limit at three bytes per character.
            self.run(f"{table.statement()} ENGINE=InnoDB CHARACTER SET utf8mb3 COLLATE utf8mb3_bin", {})


def session_of(connection: sa.Connection) -> ServerSession:
    """Return the session for a connection, in the SQL dialect of its database."""
    return (MySqlSession if is_mysql(connection.dialect.name) else ServerSession)(connection)


def is_mysql(dialect: str) -> bool:
    """Return whether a database is MySQL or MariaDB."""
    return dialect in {"mysql", "mariadb"}


def is_rolled_back(error: SQLAlchemyError) -> bool:
    """Return whether the database rolled back the transaction because of a concurrent one, so a retry is safe."""
    if not isinstance(error, DBAPIError):
        return False
    state = _state(error)
    return (state is not None and (state.startswith(_ROLLBACK_CLASS) or state == _LOCK_TIMEOUT)) or (
        _mysql_code(error) in _MYSQL_ROLLBACKS
    )


def _is_duplicate(error: IntegrityError) -> bool:
    """Return whether an error is a duplicate key; an error without a code is treated as one."""
    state, code = _state(error), _mysql_code(error)
    if state is None and code is None:
        return True
    return state == _DUPLICATE_KEY or code == _MYSQL_DUPLICATE_KEY


def _state(error: DBAPIError) -> str | None:
    """Return the SQLSTATE of a PostgreSQL error."""
    found = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    return found if isinstance(found, str) else None


def _mysql_code(error: DBAPIError) -> int | None:
    """Return the number of a MySQL or MariaDB error."""
    code = next(iter(getattr(error.orig, "args", ())), None)
    return code if isinstance(code, int) else None


def _bytes(text: str) -> str:
    return f"CAST(CONVERT({text} USING utf8mb4) AS BINARY)"
