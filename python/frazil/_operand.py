"""Operands of the filters of other libraries, and their comparison and membership tests as SQL."""

from __future__ import annotations

import decimal
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil._expression import Expression, column
from frazil._literal import lit
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The order matters: a bool is also an int.
_KINDS = ((bool, "bool"), (int, "int"), (float, "double"), (decimal.Decimal, "number"))
_NUMBERS = ("int", "double", "number")
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Operand:
    """A part of a filter. The type of a column is not known until the filter is applied to a table."""

    sql: Expression
    value: Any = None
    """The Python value of a literal."""
    is_literal: bool = False
    kind: str = ""
    """`bool`, `int`, `double`, `number` or `other`; empty if it is not known."""
    path: tuple[str, ...] = ()
    """The name of a column; the names of the fields that lead to it if it is in a struct."""

    @property
    def is_nan(self) -> bool:
        """Return whether the operand is the literal NaN."""
        return isinstance(self.value, float) and math.isnan(self.value)

    @property
    def is_number(self) -> bool:
        """Return whether the operand is known to be a number."""
        return self.kind in _NUMBERS


def literal(value: Any) -> Operand:
    """Return a Python value, or an SQL literal, as an operand."""
    kind = next((kind for type_, kind in _KINDS if isinstance(value, type_)), "other")
    return Operand(Expression(str(lit(value))), value=value, is_literal=True, kind=kind)


def reference(*path: str) -> Operand:
    """Return a column, or the field of a struct, as an operand."""
    return Operand(column(*path), path=path)


def condition(sql: Expression) -> Operand:
    """Return a condition as an operand."""
    return Operand(sql, kind="bool")


def compared(symbol: str, left: Operand, right: Operand) -> Operand:
    """Return a comparison with NaN as SQL has it: equal to itself and greater than every number."""
    symbol, left, right = _literal_last(symbol, left, right)
    return condition(_OPERATORS[symbol](left.sql, right.value if right.is_literal else right.sql))


def compared_as_floats(symbol: str, left: Operand, right: Operand) -> Operand | None:
    """Return a comparison with NaN as IEEE 754 has it: only `<>` is true; None if the types must be known for that."""
    if left.is_nan or right.is_nan:
        return _for_values(left if right.is_literal else right, holds=symbol == "<>")
    symbol, left, right = _literal_last(symbol, left, right)
    if symbol in ("<", "<=") and not right.is_literal:
        symbol, left, right = _MIRRORED[symbol], right, left
    found = compared(symbol, left, right)
    if not {left.kind, right.kind} <= {"", *_NUMBERS} or left.kind == right.kind == "int":
        return found
    if right.is_literal:
        # SQL agrees, except that NaN is greater than every number.
        return condition(found.sql & _no_nan(left)) if symbol in (">", ">=") else found
    if not (left.is_number or right.is_number):
        return None
    if symbol == "<>":
        equal = compared("=", left, right)
        return condition(~(equal.sql & (_no_nan(left) | right.sql.is_null())))
    return condition(found.sql & (_no_nan(left) | right.sql.is_null()))


def same_or_null(symbol: str, left: Operand, right: Operand) -> Operand:
    """Return a comparison in which NULL equals NULL; the symbol is `=` or `<>`."""
    _, left, right = _literal_last("=", left, right)
    words = "IS NOT DISTINCT FROM" if symbol == "=" else "IS DISTINCT FROM"
    return condition(Expression(f"({left.sql} {words} {right.sql})"))


def contained(left: Operand, values: Iterable[Any]) -> Operand:
    """Return whether a value is in a list without NULL; NULL for NULL."""
    listed = list(values)
    if any(value is None for value in listed):
        message = "a list of values contains NULL"
        raise ValueError(message)
    return condition(left.sql.is_in(listed)) if listed else _for_values(left, holds=False)


def contained_or_null(left: Operand, values: Iterable[Any], *, null: bool) -> Operand:
    """Return whether a value is in a list without NULL; `null` for NULL."""
    found = contained(left, values).sql
    return condition(found | left.sql.is_null() if null else found & left.sql.is_not_null())


def is_nan(left: Operand) -> Operand:
    """Return whether a value is NaN; NULL for NULL, unlike `IS NAN`."""
    return compared("=", left, literal(math.nan))


def refused(library: str, what: str, hint: str = "") -> InvalidArgumentError:
    """Return the error for a part of a filter that has no exact counterpart in SQL."""
    message = f"the {library} expression contains {what}, which cannot be used as a filter"
    return InvalidArgumentError(message, hint=hint or "write this condition as an SQL string or with frazil.col")


def _literal_last(symbol: str, left: Operand, right: Operand) -> tuple[str, Operand, Operand]:
    if left.is_literal and not right.is_literal:
        return _MIRRORED[symbol], right, left
    return symbol, left, right


def _no_nan(operand: Operand) -> Expression:
    return operand.sql <= math.inf


def _for_values(operand: Operand, *, holds: bool) -> Operand:
    """Return `holds` for each value, and NULL for NULL."""
    if holds:
        return condition(operand.sql.is_not_null() | lit(None))
    return condition(operand.sql.is_null() & lit(None))
