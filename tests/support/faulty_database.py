"""A catalog database that fails at one statement."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.catalog._sqlite import SqliteDatabase, _SqliteSession
from frazil.errors import CommitStateUnknownError
from support.faults import check, copied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.faults import Sweep

FAULTS = ("before", "after", "commit lost", "commit unknown")
"""A statement fails before or after it takes effect; a commit fails after it takes effect, or with an unknown outcome.
"""

_copies = itertools.count()


@dataclass
class FaultyDatabase:
    """A database that counts statements and commits, and fails at one of them."""

    fault: str = ""
    at: int = -1
    statements: int = 0
    commits: int = 0
    is_tripped: bool = False

    def arm(self) -> None:
        """Start counting."""
        self.statements = self.commits = 0

    def is_due(self, fault: str, number: int) -> bool:
        """Return whether to fail now."""
        due = not self.is_tripped and self.fault == fault and number == self.at
        self.is_tripped |= due
        return due

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Make all databases fail while the context is active."""
        commit, run = SqliteDatabase._commit, _SqliteSession.run

        def statement(session: _SqliteSession, text: str, values: Any) -> sqlite3.Cursor:
            if self.is_due("before", self.statements):
                raise sqlite3.OperationalError("disk I/O error")
            cursor = run(session, text, values)
            number, self.statements = self.statements, self.statements + 1
            if self.is_due("after", number):
                cursor.close()
                raise sqlite3.OperationalError("disk I/O error")
            return cursor

        def committed(database: SqliteDatabase, session: _SqliteSession) -> None:
            number, self.commits = self.commits, self.commits + 1
            if self.is_due("commit unknown", number):
                raise CommitStateUnknownError("the connection broke")
            commit(database, session)
            if self.is_due("commit lost", number):
                raise CommitStateUnknownError("the answer was lost")

        _SqliteSession.run = statement  # type: ignore[method-assign,assignment]
        SqliteDatabase._commit = committed  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            SqliteDatabase._commit = commit  # type: ignore[method-assign]
            _SqliteSession.run = run  # type: ignore[method-assign]


def statements_of(sweep: Sweep) -> list[tuple[str, int]]:
    """Return the faults that an operation can encounter."""
    database = FaultyDatabase()
    root = sweep.template.parent / f"counted-{next(_copies)}"
    with copied(sweep.operation, sweep.template, root) as world, database.installed():
        sweep.operation.act(world)
    counts = {fault: database.commits if "commit" in fault else database.statements for fault in FAULTS}
    return [(fault, at) for fault, count in counts.items() for at in range(count)]


def look_at_statement(sweep: Sweep, fault: str, at: int) -> bool:
    """Apply the change with a fault and check the table; return whether the fault occurred."""
    database = FaultyDatabase(fault, at)
    root = sweep.template.parent / f"statement-{next(_copies)}"
    with copied(sweep.operation, sweep.template, root) as world, database.installed():
        try:
            check(sweep, world, database.arm)
        except BaseException as error:
            error.add_note(f"{sweep.operation.name}: {fault} at {at}")
            raise
    return database.is_tripped
