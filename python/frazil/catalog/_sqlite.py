"""Catalogs in an SQLite file, accessed with Python's own `sqlite3`."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from frazil import errors
from frazil.catalog._database import Database
from frazil.catalog._sql_session import DuplicateError, Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from frazil.catalog._database import Initial

_BUSY_SECONDS = 30.0

_UNDONE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY})
"""The SQLite error codes after which a failed commit was rolled back."""

_PRIMARY_CODE = 0xFF


class SqliteDatabase(Database):
    """An SQLite file."""

    def __init__(self, catalog: str, file: Path, *, may_be_absent: bool = False) -> None:
        """Use the database in a file.

        Raises:
            MissingFileError: The file does not exist, and `may_be_absent` is not set.
        """
        super().__init__(catalog, f"sqlite:{file}")
        self._file = file
        if not may_be_absent:
            self._check_present()

    @property
    def is_present(self) -> bool:
        """Whether the file exists."""
        return self._file.is_file()

    @property
    def dialect(self) -> str:
        """The SQL dialect of SQLite."""
        return "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Connect for reading.

        The file is opened for writing if permitted: an unfinished transaction of a killed writer is rolled back by the
        next connection that has write access.
        """
        self._check_present()
        with self._guarded(), closing(self._connect(self._file, "rw")) as connection:
            connection.execute("PRAGMA query_only = ON")
            yield _SqliteSession(connection)

    @contextmanager
    def changing(self, initial: Initial | None) -> Iterator[Session]:
        """Begin a transaction that holds the write lock from its start."""
        if initial is None:
            self._check_present()
        elif not self.is_present:
            self._make(initial)
        with self._guarded(), closing(self._connect(self._file, "rw")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            session = _SqliteSession(connection)
            yield session
            self._commit(session)

    def _make(self, initial: Initial) -> None:
        """Create the file and initialize it atomically; SQLite would leave an empty file on a full disk."""
        made = self._file.with_name(f".{self._file.name}.{uuid.uuid4().hex}")
        try:
            with self._guarded(), closing(self._connect(made, "rwc")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                initial(_SqliteSession(connection))
                connection.commit()
            with suppress(FileExistsError):  # another process created the file first
                os.link(made, self._file)
        except OSError:
            # The file system does not support hard links: SQLite creates the file in place.
            with self._guarded(), closing(self._connect(self._file, "rwc")):
                pass
        finally:
            for left in (made, made.with_name(f"{made.name}-journal")):
                with suppress(OSError):
                    left.unlink(missing_ok=True)

    def _connect(self, file: Path, mode: str) -> sqlite3.Connection:
        # With an isolation level the driver would begin the transaction only at the first change.
        return sqlite3.connect(
            f"{file.as_uri()}?mode={mode}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )

    def _commit(self, session: _SqliteSession) -> None:
        try:
            session.connection.commit()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
            if session.connection.in_transaction or code in _UNDONE:
                # SQLite has already rolled back the transaction, or rolls it back when the connection is closed.
                raise
            message = f"the database of catalog {self.catalog!r} failed during the commit: {error}"
            raise errors.CommitStateUnknownError(message, context=self.context()) from None

    def _check_present(self) -> None:
        if not self.is_present:
            message = f"the database of catalog {self.catalog!r} does not exist: {self._file}"
            raise errors.MissingFileError(message, context={"catalog": self.catalog, "file": str(self._file)})

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Convert SQLite errors to frazil errors."""
        try:
            yield
        except sqlite3.Error as error:
            message = f"the database of catalog {self.catalog!r} returned an error: {error} ({self._file})"
            raise errors.CatalogError(message, context=self.context()) from None


class _SqliteSession(Session):
    """A `sqlite3` connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def run(self, statement: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        try:
            return self.connection.execute(statement, dict(values))
        except sqlite3.IntegrityError as error:
            raise DuplicateError from error

    def columns(self, table: str) -> set[str] | None:
        rows = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return {name.lower() for (name,) in rows} or None

    def rollback(self) -> None:
        self.connection.rollback()
