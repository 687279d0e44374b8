"""Changes of rows that a query selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the rows that a query selects."""

    kind: Literal["delete", "update"]
    branch: str
    row_filter: str
    """A filter that all selected rows match; empty if there is none. Concurrent writers may add other rows."""
    columns: tuple[str, ...] = ()
    """The columns to set; the query has their new values after the addresses."""
