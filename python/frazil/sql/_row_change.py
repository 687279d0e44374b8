"""Changes of rows that a query selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Frame = TypeVar("Frame")


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """The change of the rows that a clause of MERGE applies to."""

    action: Literal["delete", "update", "insert"]
    columns: tuple[str, ...] = ()
    """The columns to set; the query has their new values."""


@dataclass(frozen=True, slots=True)
class Selection(Generic[Frame]):
    """The query that selects rows in one state of a table."""

    frame: Frame
    row_filter: str
    """A filter that all selected rows match; empty if there is none. Concurrent writers may add other rows."""
    reads_others: bool = False
    """Whether the result also depends on rows of the table that do not change."""
    columns: tuple[str, ...] = ()
    """The columns to set; the query has their new values after the addresses."""
    clauses: tuple[ClauseChange, ...] = ()
    """The clauses of a MERGE. After the addresses, the query has whether a source row exists, the number of the clause,
    and the new values of each clause.
    """
    release: Callable[[], None] = _nothing
    """A function that is called once the result was read."""


@dataclass(frozen=True, slots=True)
class Change(Generic[Frame]):
    """The change of the rows that a query selects."""

    kind: Literal["delete", "update", "merge"]
    branch: str
    select: Callable[[Any], Selection[Frame]]
    """A function that returns the query for the table at one state. Each attempt to commit calls it."""
    checks_matches: bool = False
    """Whether a row of the table must not match several source rows."""
