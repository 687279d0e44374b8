"""The SQL statements of catalogs, as text that every database takes.

Names of tables and columns are constants of this package. Values are always parameters, written `:name`.
"""

# ruff: noqa: S608 - see above

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class DuplicateError(Exception):
    """A row with this key exists already."""


class Cursor(Protocol):
    """What is used of the result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows a statement changed."""

    def fetchall(self) -> Iterable[Any]:
        """Return the rows of a query."""


class Creatable(Protocol):
    """A table of a catalog that may have to be created."""

    @property
    def name(self) -> str:
        """The name of the table."""

    def statement(self) -> str:
        """Return the statement that creates it."""


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table that a catalog makes: columns of text with their lengths, the first ones of which are the key."""

    name: str
    key: Mapping[str, int]
    others: Mapping[str, int]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.key, *self.others)

    def statement(self) -> str:
        """Return the statement that makes it."""
        key = [f"{name} VARCHAR({length}) NOT NULL" for name, length in self.key.items()]
        others = [f"{name} VARCHAR({length})" for name, length in self.others.items()]
        return f"CREATE TABLE {self.name} ({', '.join((*key, *others))}, PRIMARY KEY ({', '.join(self.key)}))"


class Session(ABC):
    """A connection to a database, in a transaction or to read."""

    @abstractmethod
    def run(self, statement: str, values: Mapping[str, Any]) -> Cursor:
        """Run a statement; raise `DuplicateError` if it would break a key."""

    @abstractmethod
    def columns(self, table: str) -> set[str] | None:
        """Return the names of the columns of a table in lower case; None if there is no such table."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo the transaction."""

    def create(self, table: Creatable) -> None:
        """Make a table unless it exists."""
        if self.columns(table.name) is None:
            self.run(table.statement(), {})

    def select(
        self, table: str, columns: Iterable[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        """Return the distinct values of columns, in the rows where other columns have these values."""
        statement = f"SELECT DISTINCT {', '.join(columns)} FROM {table}{self._where(where, condition)}"
        return [tuple(row) for row in self.run(statement, where).fetchall()]

    def insert(self, table: str, row: Mapping[str, str | int | None]) -> None:
        """Add a row; raise `DuplicateError` if its key exists."""
        values = ", ".join(f":{name}" for name in row)
        self.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", row)

    def update(self, table: str, row: Mapping[str, str | None], where: Mapping[str, str], condition: str = "") -> int:
        """Change rows; return how many."""
        changes = ", ".join(f"{name} = :new_{name}" for name in row)
        values = {f"new_{name}": value for name, value in row.items()} | dict(where)
        return self.run(f"UPDATE {table} SET {changes}{self._where(where, condition)}", values).rowcount

    def delete(self, table: str, where: Mapping[str, Any], condition: str = "") -> int:
        """Delete rows; return how many."""
        return self.run(f"DELETE FROM {table}{self._where(where, condition)}", where).rowcount

    def _where(self, where: Mapping[str, Any], condition: str) -> str:
        conditions = [self._equal(name, value) for name, value in where.items()] + ([condition] if condition else [])
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _equal(self, name: str, value: object) -> str:  # noqa: ARG002 - a database may compare by the type
        """Return the condition that a column has the value of the parameter of its name."""
        return f"{name} = :{name}"
