"""Filters that are PyIceberg expressions, as SQL. PyIceberg itself is not imported."""

from __future__ import annotations

import datetime as dt
import math
import re
import uuid
from typing import Any

from frazil._literal import lit
from frazil.errors import InvalidArgumentError

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without a zone

_COMPARISONS = {
    "EqualTo": "=",
    "NotEqualTo": "<>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_TESTS = {"IsNull": "IS NULL", "NotNull": "IS NOT NULL", "IsNaN": "IS NAN", "NotNaN": "IS NOT NAN"}
_LISTS = {"In": "IN", "NotIn": "NOT IN"}
_PREFIXES = {"StartsWith": "LIKE", "NotStartsWith": "NOT LIKE"}
_CONSTANTS = {"AlwaysTrue": "TRUE", "AlwaysFalse": "FALSE"}
_JOINED = {"And": "AND", "Or": "OR"}


def is_expression(value: object) -> bool:
    """Return whether a value is an expression of PyIceberg."""
    return type(value).__module__.startswith("pyiceberg.expressions")


def expression_sql(expression: Any) -> str:
    r"""Return an expression as SQL.

    Raises:
        InvalidArgumentError: The expression is not an unbound predicate on columns.

    >>> from pyiceberg.expressions import And, GreaterThan, StartsWith
    >>> print(expression_sql(And(GreaterThan("id", 10), StartsWith("address.city", "a_"))))
    ("id" > 10 AND "address"."city" LIKE 'a\_%')
    """
    try:
        return _sql(expression)
    except RecursionError:
        message = "the PyIceberg expression is nested too deeply"
        raise InvalidArgumentError(message, hint="use In for many values, or pass an SQL string") from None


def _sql(expression: Any) -> str:
    kind = type(expression).__name__
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind in _JOINED:
        return f"({_sql(expression.left)} {_JOINED[kind]} {_sql(expression.right)})"
    if kind == "Not":
        return f"NOT ({_sql(expression.child)})"
    return _predicate(expression, kind)


def _predicate(expression: Any, kind: str) -> str:
    column = _column(expression)
    if kind in _TESTS:
        return f"{column} {_TESTS[kind]}"
    if kind in _COMPARISONS:
        return f"{column} {_COMPARISONS[kind]} {_literal(expression.literal)}"
    if kind in _LISTS:
        return f"{column} {_LISTS[kind]} ({', '.join(sorted(map(_literal, expression.literals)))})"
    if kind in _PREFIXES:
        prefix = re.sub(r"([\\%_])", r"\\\1", str(expression.literal.value))
        return f"{column} {_PREFIXES[kind]} {lit(prefix + '%')}"
    raise _refused(expression)


def _column(expression: Any) -> str:
    name = getattr(getattr(expression, "term", None), "name", None)
    if not isinstance(name, str):
        raise _refused(expression)
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def _literal(literal: Any) -> str:
    """Return a literal as SQL; a string has the type of the column that it is compared with."""
    kind, value = type(literal).__name__, literal.value
    if kind == "TimestampLiteral":
        return str(lit((_EPOCH + dt.timedelta(microseconds=value)).isoformat()))
    if kind == "DateLiteral":
        return str(lit((_EPOCH + dt.timedelta(days=value)).date().isoformat()))
    if kind == "TimeLiteral":
        return str(lit((_EPOCH + dt.timedelta(microseconds=value)).time().isoformat()))
    if kind == "UUIDLiteral":
        return str(lit(str(uuid.UUID(bytes=value))))
    if isinstance(value, float) and not math.isfinite(value):
        return str(lit(str(value)))
    return str(lit(value))


def _refused(expression: object) -> InvalidArgumentError:
    message = f"the PyIceberg expression {expression!r} cannot be used as a filter"
    return InvalidArgumentError(message, hint="pass it as an SQL string")
