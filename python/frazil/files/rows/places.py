"""The columns that Python values belong to, for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pyarrow as pa

from frazil.errors import InvalidArgumentError

__all__ = ["Place", "TypeName", "TypeNames"]

TypeName = Callable[[pa.DataType], str]
"""A function that returns a column type's name for error messages, which depends on the table format."""


@dataclass(frozen=True, slots=True)
class TypeNames:
    """The names of a table's types in messages."""

    of_arrow: TypeName
    """The function that returns the name of an Arrow type."""
    by_path: Mapping[str, str] = field(default_factory=dict)
    """The type names of columns, and of nested values such as `s.x`, whose Arrow types are ambiguous."""


_MOST_SHOWN = 60


class Place:
    """The name and type of a column in messages, and the row number of each of its values."""

    def __init__(self, path: str, row_of: Callable[[int], int], names: TypeNames) -> None:
        self.path, self.row_of, self._names = path, row_of, names

    def type_text(self, data_type: pa.DataType) -> str:
        """Return the name of a type at this place for messages."""
        return self._names.by_path.get(self.path) or self._names.of_arrow(data_type)

    def at(self, name: str) -> Place:
        """Return the place of a field of the same rows' structs."""
        return Place(f"{self.path}.{name}", self.row_of, self._names)

    def inside(self, name: str, parents: list[int]) -> Place:
        """Return the place of nested values; `parents` holds the position of each value's parent here."""
        return Place(f"{self.path}.{name}", lambda position: self.row_of(parents[position]), self._names)

    def reject(self, position: int, value: Any, type_text: str, reason: str = "") -> NoReturn:
        """Raise the error for the value at a position, which does not fit its column."""
        raise rejected(self.path, self.row_of(position), value, type_text, reason)


def rejected(path: str, row: int, value: Any, type_text: str, reason: str = "") -> InvalidArgumentError:
    """Return the error for a value that does not fit its column."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - the value is anybody's
        shown = "a value"
    shown = shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."
    message = f"the value of `{path}` in row {row} does not fit {type_text}: {shown} ({type(value).__name__})"
    return InvalidArgumentError(f"{message}, {reason}" if reason else message, context={"column": path})
