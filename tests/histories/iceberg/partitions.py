"""Partition transforms, value by value (specification: "Partition Transforms")."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import mmh3

from histories.types import DAY_US, MOMENTS, Simple, at, value_at
from histories.values import text_of, unscaled

if TYPE_CHECKING:
    from histories.iceberg.history import Term
    from histories.types import Struct

BUCKETED = ("int", "long", "decimal", "date", "time", *MOMENTS, "string", "uuid", "fixed", "binary")
TRUNCATED = ("int", "long", "string", "binary")
"""Decimals are excluded because the maximum and minimum would need another digit."""


def transforms_of(kind: Simple) -> list[str]:
    """Return transforms that a type supports."""
    found = ["identity"]
    if kind.name in BUCKETED:
        found += ["bucket[1]", "bucket[4]", "bucket[16]"]
    if kind.name in TRUNCATED:
        found += ["truncate[1]", "truncate[3]", "truncate[10]"]
    if kind.name == "decimal":
        found.append("truncate[1]")
    if kind.name in ("date", *MOMENTS):
        found += ["year", "month", "day"]
    if kind.name in MOMENTS:
        found.append("hour")
    return found


def partition_of(row: dict[str, Any], columns: Struct, spec: tuple[Term, ...]) -> tuple[str, ...]:
    """Return the partition of a row as strings."""
    found = []
    for term in spec:
        field = at(columns, term.path)
        assert field is not None
        assert isinstance(field.type, Simple)
        value = value_at(row, term.path)
        found.append("null" if value is None else text_of(transformed(term.transform, field.type, value)))
    return tuple(found)


def transformed(transform: str, kind: Simple, value: Any) -> Any:
    """Return the result of a transform for a value that is not NULL."""
    name, _, argument = transform.rstrip("]").partition("[")
    if name == "identity":
        return "nan" if isinstance(value, float) and math.isnan(value) else value
    if name == "void":
        return None
    if name == "bucket":
        return (_hash(kind, value) & 0x7FFFFFFF) % int(argument)
    if name == "truncate":
        return _truncated(kind, value, int(argument))
    return _part(name, kind, value)


def _hash(kind: Simple, value: Any) -> int:
    if kind.name == "decimal":
        number = unscaled(value, kind.scale)
        return mmh3.hash(number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True))
    if kind.name == "string":
        return mmh3.hash(value.encode())
    if isinstance(value, bytes):
        return mmh3.hash(value)
    return mmh3.hash(struct.pack("<q", value // 1000 if kind.name.endswith("_ns") else value))


def _truncated(kind: Simple, value: Any, width: int) -> Any:
    if isinstance(value, (str, bytes)):
        return value[:width]
    if isinstance(value, Decimal):
        number = unscaled(value, kind.scale)
        return number - number % width
    return value - value % width


def _part(name: str, kind: Simple, value: int) -> int:
    if kind.name == "date":
        day = value
    else:
        micros = value // 1000 if kind.name.endswith("_ns") else value
        if name == "hour":
            return micros // 3_600_000_000
        day = micros // DAY_US
    if name == "day":
        return day
    date = dt.date.fromordinal(day + 719163)
    months = (date.year - 1970) * 12 + date.month - 1
    return months if name == "month" else months // 12
