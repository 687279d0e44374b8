"""Changes of rows that a query selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ClauseChange:
    """The change of the rows that a clause of MERGE applies to."""

    action: Literal["delete", "update", "insert"]
    columns: tuple[str, ...] = ()
    """The columns to set; the query has their new values."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the rows that a query selects."""

    kind: Literal["delete", "update", "merge"]
    branch: str
    row_filter: str
    """A filter that all selected rows match; empty if there is none. Concurrent writers may add other rows."""
    columns: tuple[str, ...] = ()
    """The columns to set; the query has their new values after the addresses."""
    clauses: tuple[ClauseChange, ...] = ()
    """The clauses of a MERGE. After the addresses, the query has whether a source row exists, the number of the clause,
    and the new values of each clause.
    """
    checks_matches: bool = False
    """Whether a row of the table must not match several source rows."""
