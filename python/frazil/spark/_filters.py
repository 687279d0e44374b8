"""Conversion of pushed Spark filters to frazil SQL.

Spark and frazil SQL have the same semantics: NULL is neither true nor false, NaN equals itself and is greater than
every number, and -0.0 equals 0.0. Spark applies all filters again, so a pushed filter must only keep every row that may
match.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

_COMPARISONS = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_PATTERNS = {"StringStartsWith": "{}%", "StringEndsWith": "%{}", "StringContains": "%{}%"}


def sql(pushed: Any) -> str | None:
    r"""Return a filter as SQL; None if it cannot be expressed.

    >>> from pyspark.sql.datasource import GreaterThan, StringStartsWith
    >>> print(sql(GreaterThan(("s", "x"), 1)), sql(StringStartsWith(("name",), "it's 5%")), sep="; ")
    "s"."x" > 1; "name" like 'it''s 5\%%'
    """
    name = type(pushed).__name__
    if name == "Not":
        child = sql(pushed.child)
        return None if child is None else f"not ({child})"
    column = ".".join(_quoted(part) for part in pushed.attribute)
    if name in ("IsNull", "IsNotNull"):
        return f"{column} is {'not ' if name == 'IsNotNull' else ''}null"
    if name == "In":
        return _membership(column, pushed.value)
    if name in _PATTERNS:
        return f"{column} like {_text(_PATTERNS[name].format(_plain_pattern(pushed.value)))}"
    operator, value = _COMPARISONS.get(name), _literal(getattr(pushed, "value", None))
    if name == "EqualNullSafe" and value is not None:
        return f"({column} is not null and {column} = {value})"
    return None if operator is None or value is None else f"{column} {operator} {value}"


def column_of(pushed: Any) -> str:
    """Return the name of the top-level column that a filter tests."""
    return column_of(pushed.child) if type(pushed).__name__ == "Not" else str(pushed.attribute[0])


def _membership(column: str, values: Any) -> str | None:
    literals = [_literal(value) for value in values]
    if not literals or None in literals:
        return None
    return f"{column} in ({', '.join(str(literal) for literal in literals)})"


def _literal(value: Any) -> str | None:
    text = None
    match value:
        case bool():
            text = str(value).lower()
        case int():
            text = str(value)
        case float() if math.isfinite(value):
            text = repr(value)
        case decimal.Decimal() if value.is_finite():
            text = format(value, "f")
        case str():
            text = _text(value)
        case bytes() | bytearray():
            text = f"X'{value.hex()}'"
        case dt.datetime():
            text = f"TIMESTAMP '{value.isoformat()}'"
        case dt.date():
            text = f"DATE '{value.isoformat()}'"
    return text


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _plain_pattern(value: str) -> str:
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
