"""Parts that several statements have, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frazil.sql._reader import Name, Text


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A column by which a table is partitioned, or a transform of it with its parameter."""

    transform: str
    column: Name
    number: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """A column in the PARTITION clause of an INSERT, and its constant; None if the query provides the value."""

    column: str
    constant: Text | None
    start: int


@dataclass(frozen=True, slots=True)
class SortKey:
    """A key of a sort order."""

    field: PartitionField
    descending: bool = False
    nulls_first: bool = True
