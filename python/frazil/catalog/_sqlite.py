"""Catalogs in a file of SQLite, by Python's own `sqlite3`."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from frazil import errors
from frazil.catalog._database import Database
from frazil.catalog._statements import DuplicateError, Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from frazil.catalog._database import Initial

_BUSY_SECONDS = 30.0

_UNDONE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY})
"""A commit that fails with these codes was undone."""

_PRIMARY_CODE = 0xFF


class SqliteDatabase(Database):
    """A file of SQLite."""

    def __init__(self, catalog: str, file: Path, *, may_be_absent: bool = False) -> None:
        """Take the file.

        Raises:
            MissingFileError: It does not exist, and `may_be_absent` is not set.
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
        """The SQL of SQLite."""
        return "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Connect to read.

        The file is opened for writing where that is allowed: what a killed writer left half done is undone by the next
        one that opens the file and may write it.
        """
        self._check_present()
        with self._guarded(), closing(self._connect(self._file, "rw")) as connection:
            connection.execute("PRAGMA query_only = ON")
            yield _SqliteSession(connection)

    @contextmanager
    def changing(self, initial: Initial | None) -> Iterator[Session]:
        """Begin a transaction; it is the only writer from its beginning."""
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
        """Make the file, whole or not at all: on a full disk SQLite leaves an empty one."""
        made = self._file.with_name(f".{self._file.name}.{uuid.uuid4().hex}")
        try:
            with self._guarded(), closing(self._connect(made, "rwc")) as connection:
                connection.execute("BEGIN IMMEDIATE")
                initial(_SqliteSession(connection))
                connection.commit()
            with suppress(FileExistsError):  # another process was first
                os.link(made, self._file)
        except OSError:
            # The file system has no hard links: SQLite makes the file in place.
            with self._guarded(), closing(self._connect(self._file, "rwc")):
                pass
        finally:
            for left in (made, made.with_name(f"{made.name}-journal")):
                with suppress(OSError):
                    left.unlink(missing_ok=True)

    def _connect(self, file: Path, mode: str) -> sqlite3.Connection:
        # With an isolation level the driver would begin a transaction at the first change only.
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
                # It is undone when the connection is closed, or was undone by SQLite.
                raise
            message = f"the database of catalog {self.catalog!r} failed to commit: {error}"
            raise errors.CommitStateUnknownError(message, context=self.context()) from None

    def _check_present(self) -> None:
        if not self.is_present:
            message = f"the database of catalog {self.catalog!r} is not there: {self._file}"
            raise errors.MissingFileError(message, context={"catalog": self.catalog, "file": str(self._file)})

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn errors of SQLite into ours."""
        try:
            yield
        except sqlite3.Error as error:
            message = f"the database of catalog {self.catalog!r} refused: {error} ({self._file})"
            raise errors.CatalogError(message, context=self.context()) from None


class _SqliteSession(Session):
    """A connection of `sqlite3`."""

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
