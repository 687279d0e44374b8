"""Conversion of Python values to SQL literals."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class SqlText:
    """A part of an SQL expression."""

    sql: str

    def __str__(self) -> str:
        """Return the SQL."""
        return self.sql


class Lit(SqlText):
    """An SQL literal created by `lit`."""

    __slots__ = ()


Value: TypeAlias = "str | SqlText | bool | int | float | decimal.Decimal | bytes | datetime.date | datetime.time | None"


def lit(value: Any) -> Lit:
    """Return a Python value as a literal for `set=` and `values=`, where a plain string is an SQL expression.

    >>> print(lit("it's"))
    'it''s'
    """
    return Lit(_sql(value))


def plain(value: Any) -> Any:
    """Return the Python value of a NumPy or pyarrow scalar; return any other value unchanged."""
    if hasattr(value, "as_py"):
        return value.as_py()
    # Arrays have a non-empty shape.
    return value.item() if getattr(value, "shape", None) == () else value


def _sql(value: Any) -> str:
    if isinstance(value, SqlText):
        return value.sql
    value = plain(value)
    if value is None:
        return "NULL"
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    message = f"a value of type {type(value).__name__} cannot be written as an SQL literal"
    raise InvalidArgumentError(message, hint="pass it as an SQL string")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _float(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    return f"CAST('{value}' AS double)"


def _decimal(value: decimal.Decimal) -> str:
    if not value.is_finite():
        message = f"{value} is not a finite decimal"
        raise InvalidArgumentError(message)
    return f"{value:f}"


# The order matters: a bool is also an int, and a datetime is also a date.
_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (bool, lambda value: "TRUE" if value else "FALSE"),
    (int, str),
    (float, _float),
    (decimal.Decimal, _decimal),
    (str, _quoted),
    ((bytes, bytearray, memoryview), lambda value: f"X'{bytes(value).hex()}'"),
    (datetime.datetime, lambda value: f"TIMESTAMP '{value.isoformat()}'"),
    (datetime.date, lambda value: f"DATE '{value.isoformat()}'"),
    (datetime.time, lambda value: f"TIME '{value.isoformat()}'"),
    (uuid.UUID, lambda value: f"CAST('{value}' AS uuid)"),
)
