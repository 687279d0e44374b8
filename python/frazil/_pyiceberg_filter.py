"""Filters that are PyIceberg expressions, as SQL. PyIceberg itself is not imported.

They select the rows that PyIceberg selects: no comparison with NaN is true except `<>`, and `NotIn` is true for NULL
in scans, but not in deletes.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from frazil._expression import Expression
from frazil._literal import lit
from frazil._operand import (
    Operand,
    compared_as_floats,
    condition,
    contained,
    contained_or_null,
    is_nan,
    literal,
    reference,
    refused,
)
from frazil._temporal import date_text, time_text, timestamp_text

if TYPE_CHECKING:
    from collections.abc import Callable

_LIBRARY = "PyIceberg"
_COMPARISONS = {
    "EqualTo": "=",
    "NotEqualTo": "<>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_TESTS: dict[str, Callable[[Operand], Expression]] = {
    "IsNull": lambda column: column.sql.is_null(),
    "NotNull": lambda column: column.sql.is_not_null(),
    "IsNaN": lambda column: is_nan(column).sql,
    "NotNaN": lambda column: ~is_nan(column).sql,
}
_CONSTANTS = {"AlwaysTrue": True, "AlwaysFalse": False}


def is_expression(value: object) -> bool:
    """Return whether a value is an expression of PyIceberg."""
    return type(value).__module__.startswith("pyiceberg.expressions")


def expression_sql(expression: Any, *, of_changes: bool = False) -> str:
    r"""Return an expression as SQL, for a scan or for the rows that an operation changes.

    Raises:
        InvalidArgumentError: The expression is not an unbound predicate on columns.

    >>> from pyiceberg.expressions import And, LessThan, StartsWith
    >>> print(expression_sql(And(LessThan("id", 10), StartsWith("address.city", "a_"))))
    (("id" < 10) AND ("address"."city" LIKE 'a\_%'))
    """
    return str(_condition(expression, of_changes=of_changes))


def _condition(expression: Any, *, of_changes: bool) -> Expression:
    kind = type(expression).__name__
    if kind in _CONSTANTS:
        return Expression(str(lit(_CONSTANTS[kind])))
    if kind == "And":
        return _condition(expression.left, of_changes=of_changes) & _condition(expression.right, of_changes=of_changes)
    if kind == "Or":
        return _condition(expression.left, of_changes=of_changes) | _condition(expression.right, of_changes=of_changes)
    if kind == "Not":
        return ~_condition(expression.child, of_changes=of_changes)
    return _predicate(expression, kind, of_changes=of_changes)


def _predicate(expression: Any, kind: str, *, of_changes: bool) -> Expression:
    column = _column(expression)
    if kind in _TESTS:
        return _TESTS[kind](column)
    if kind in _COMPARISONS:
        found = compared_as_floats(_COMPARISONS[kind], column, literal(_value(expression.literal)))
        return (found or condition(column.sql)).sql
    if kind in ("In", "NotIn"):
        values = sorted(map(_value, expression.literals), key=lambda value: str(lit(value)))
        found = contained(column, values) if of_changes else contained_or_null(column, values, null=False)
        return found.sql if kind == "In" else ~found.sql
    if kind == "StartsWith":
        return column.sql.starts_with(str(expression.literal.value))
    if kind == "NotStartsWith":
        return ~column.sql.starts_with(str(expression.literal.value))
    raise refused(_LIBRARY, repr(expression), "pass it as an SQL string")


def _column(expression: Any) -> Operand:
    name = getattr(getattr(expression, "term", None), "name", None)
    if not isinstance(name, str):
        raise refused(_LIBRARY, repr(expression), "pass it as an SQL string")
    return reference(*name.split("."))


def _value(literal: Any) -> Any:
    """Return the value of a literal; a string has the type of the column that it is compared with."""
    value = literal.value
    match type(literal).__name__:
        case "TimestampLiteral":
            return timestamp_text(value, "us")
        case "DateLiteral":
            return date_text(value)
        case "TimeLiteral":
            return time_text(value, "us")
        case "UUIDLiteral":
            return uuid.UUID(bytes=value)
    return value
