"""Parts that several kinds of statements contain, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frazil.sql._reader import Name, Text


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition column, or a transform of a column with its parameter."""

    transform: str
    column: Name
    number: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """A column in a PARTITION clause, and its constant; None if the query provides the value."""

    column: str
    constant: Text | None
    start: int


@dataclass(frozen=True, slots=True)
class SortKey:
    """A key of a sort order."""

    field: PartitionField
    descending: bool = False
    nulls_first: bool = True
