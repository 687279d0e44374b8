"""Reads of a table as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from histories.paimon.history import MAIN, Options

MOST_ROWS = 20_000
"""The maximum number of rows that Java returns."""

View: TypeAlias = Literal["rows", "audit_log", "ro", "statistics"]


@dataclass(frozen=True)
class Read:
    """A read of all rows; `kinds` requests the kind of each.

    `equal_to_row` requests the rows whose column has the same value as in a row, so that files are pruned.
    """

    view: View = "rows"
    branch: str = MAIN
    options: Options = ()
    kinds: bool = False
    equal_to_row: tuple[str, int] | None = None

    def __str__(self) -> str:
        """Return a short description of the read."""
        chosen = ", ".join(f"{key}={value}" for key, value in self.options) or "latest"
        place = "" if self.branch == MAIN else f" of branch {self.branch}"
        return f"{self.view}{place} ({chosen})"


@dataclass(frozen=True)
class Rows:
    """The rows of a read in canonical form, with their kinds and the columns (name, SQL of the type)."""

    columns: tuple[tuple[str, str], ...]
    rows: list[dict[str, Any]]
    kinds: list[str]


@dataclass(frozen=True)
class Outcome:
    """The result of a history: why steps were rejected, or None for the others; snapshots and tags."""

    rejected: tuple[str | None, ...]
    snapshots: dict[str, list[tuple[int, str]]]
    tags: dict[str, dict[str, int]]

    @property
    def created(self) -> bool:
        """Return whether the table was created."""
        return bool(self.snapshots)
