"""The SQL statements of catalogs, in syntax that every supported database accepts.

Table and column names are constants of this package. Values are always passed as parameters, written `:name`.
"""

# ruff: noqa: S608 - see above

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class DuplicateError(Exception):
    """A row with this key already exists."""


class Cursor(Protocol):
    """The part of a DB-API cursor that this package uses."""

    @property
    def rowcount(self) -> int:
        """The number of rows that a statement changed."""

    def fetchall(self) -> Iterable[Any]:
        """Return the rows of a query."""


class Creatable(Protocol):
    """A catalog table that may have to be created."""

    @property
    def name(self) -> str:
        """The name of the table."""

    def statement(self) -> str:
        """Return the statement that creates the table."""


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table that a catalog creates: string columns with their lengths, of which the first ones form the key."""

    name: str
    key: Mapping[str, int]
    others: Mapping[str, int]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.key, *self.others)

    def statement(self) -> str:
        """Return the statement that creates the table."""
        key = [f"{name} VARCHAR({length}) NOT NULL" for name, length in self.key.items()]
        others = [f"{name} VARCHAR({length})" for name, length in self.others.items()]
        return f"CREATE TABLE {self.name} ({', '.join((*key, *others))}, PRIMARY KEY ({', '.join(self.key)}))"


class Session(ABC):
    """A database connection, in a transaction or for reading."""

    @abstractmethod
    def run(self, statement: str, values: Mapping[str, Any]) -> Cursor:
        """Run a statement; raise `DuplicateError` if it would violate a key."""

    @abstractmethod
    def columns(self, table: str) -> set[str] | None:
        """Return the column names of a table in lower case; None if the table does not exist."""

    @abstractmethod
    def rollback(self) -> None:
        """Roll back the transaction."""

    def create(self, table: Creatable) -> None:
        """Create a table unless it exists."""
        if self.columns(table.name) is None:
            self.run(table.statement(), {})

    def select(
        self, table: str, columns: Iterable[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        """Return the distinct values of columns in the rows whose other columns have the given values."""
        statement = f"SELECT DISTINCT {', '.join(columns)} FROM {table}{self._where(where, condition)}"
        return [tuple(row) for row in self.run(statement, where).fetchall()]

    def insert(self, table: str, row: Mapping[str, str | int | None]) -> None:
        """Insert a row; raise `DuplicateError` if its key already exists."""
        values = ", ".join(f":{name}" for name in row)
        self.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", row)

    def update(self, table: str, row: Mapping[str, str | None], where: Mapping[str, str], condition: str = "") -> int:
        """Update rows and return their number."""
        changes = ", ".join(f"{name} = :new_{name}" for name in row)
        values = {f"new_{name}": value for name, value in row.items()} | dict(where)
        return self.run(f"UPDATE {table} SET {changes}{self._where(where, condition)}", values).rowcount

    def delete(self, table: str, where: Mapping[str, Any], condition: str = "") -> int:
        """Delete rows and return their number."""
        return self.run(f"DELETE FROM {table}{self._where(where, condition)}", where).rowcount

    def _where(self, where: Mapping[str, Any], condition: str) -> str:
        conditions = [self._equal(name, value) for name, value in where.items()] + ([condition] if condition else [])
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _equal(self, name: str, value: object) -> str:  # noqa: ARG002 - a database may compare by the type
        """Return the condition that a column equals the parameter of the same name."""
        return f"{name} = :{name}"
