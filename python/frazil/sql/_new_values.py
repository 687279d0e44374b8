"""The new values that UPDATE and MERGE set: expressions, and structs of which single fields are set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from frazil.sql._reader import Text
from frazil.sql._references import braced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["NewStruct", "OldValue", "Value", "old_columns", "path_sql", "value_sql"]


@dataclass(frozen=True, slots=True)
class OldValue:
    """The present value of a field of a struct, by the names of its column and its fields."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewStruct:
    """A new struct, by the names and values of its fields."""

    fields: tuple[tuple[str, Value], ...]


Value: TypeAlias = "Text | str | OldValue | NewStruct"
"""An expression of the statement, other SQL without columns, a present value, or a struct."""


def old_columns(value: Value) -> Iterator[str]:
    """Yield the columns whose present values are used."""
    if isinstance(value, OldValue):
        yield value.path[0]
    elif isinstance(value, NewStruct):
        for _, field in value.fields:
            yield from old_columns(field)


def value_sql(value: Value, expression: Callable[[Text], str], old: Callable[[str], str]) -> str:
    r"""Return a value as SQL, in which braces are doubled.

    Args:
        value: The value.
        expression: Returns the SQL of an expression of the statement.
        old: Returns the SQL of the present value of a column.

    >>> path = OldValue(("s", "b c"))
    >>> value_sql(NewStruct((("a", Text("1", 9)), ("b c", path))), lambda text: text.text, lambda name: f"t.{name}")
    'struct((1\n) AS `a`, (t.s.`b c`\n) AS `b c`)'
    """
    if isinstance(value, Text):
        return expression(value)
    if isinstance(value, str):
        return braced(value)
    if isinstance(value, OldValue):
        column, *fields = value.path
        return old(column) + "".join(f".{path_sql(field)}" for field in fields)
    # An expression may end with a comment.
    fields = [f"({value_sql(field, expression, old)}\n) AS {path_sql(name)}" for name, field in value.fields]
    return f"struct({', '.join(fields)})"


def path_sql(*names: str) -> str:
    """Return the name of a column or field as SQL, in which braces are doubled."""
    return braced(".".join("`" + name.replace("`", "``") + "`" for name in names))
