"""Random values of every type, and strings by which values are compared."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from histories.types import DAY_US, Field, List, Map, Simple, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

YEAR_1_DAY, YEAR_9999_DAY = -719162, 2932896
ORC_DAYS = (-106750, 106750)
"""The range of days whose nanoseconds fit 64 bits."""


@dataclass(frozen=True)
class Limits:
    """The limits of values in a history, because some file formats and inputs do not support all values."""

    days: tuple[int, int] = (YEAR_1_DAY, YEAR_9999_DAY)
    whole_seconds_before_1970: bool = False


ORC = Limits(ORC_DAYS, whole_seconds_before_1970=True)

TEXTS = ("", "a", "A", "ab", "abc", "aé", "日本語", "🎉🎉", "it's", 'q"', "%", "_", "a%b", "\\", "\n", " a ", "null",
         "\x00", "a" * 30, "\uffff" * 3, "\U0010ffff" * 17, "zz" * 20, "\x7f" * 20)  # fmt: skip
BYTES = (b"", b"\x00", b"a", b"abc", b"\xff", b"\xff" * 20, b"\x00\xff", b"a" * 30)
FLOATS = (0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 0.1, 1e10, -3.0)
DOUBLES = (1e300, -1e300, 5e-324, 2.0**53, 1 / 3)
NANOS_MAX = 2**63 - 1


def as_float32(value: float) -> float:
    """Return the nearest 32-bit float."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def random_value(random: Random, kind: Type, limits: Limits, nulls: float = 0.15) -> Any:
    """Return a random value that is not NULL."""
    match kind:
        case Struct(fields):
            return {field.name: random_field(random, field, limits, nulls) for field in fields}
        case List(element, required):
            return [
                _or_null(random, element, limits, 0 if required else nulls)
                for _ in range(random.choice((0, 0, 1, 2, 3)))
            ]
        case Map(key, value, required):
            keys = [random_value(random, key, limits, nulls) for _ in range(random.choice((0, 1, 1, 2, 3)))]
            unique = {text_of(key): key for key in keys}
            return [(key, _or_null(random, value, limits, 0 if required else nulls)) for key in unique.values()]
        case _:
            return _simple(random, kind, limits)


def random_field(random: Random, field: Field, limits: Limits, nulls: float = 0.15) -> Any:
    """Return a random value of a field."""
    return _or_null(random, field.type, limits, 0 if field.required else nulls)


def _or_null(random: Random, kind: Type, limits: Limits, nulls: float) -> Any:
    return None if random.random() < nulls else random_value(random, kind, limits, nulls)


def _simple(random: Random, kind: Simple, limits: Limits) -> Any:  # noqa: PLR0911, PLR0912, C901 - one line for each type
    match kind.name:
        case "boolean":
            return random.random() < 0.5
        case "int":
            return _integer(random, 32)
        case "long":
            return _integer(random, 64)
        case "float":
            return as_float32(random.choice(FLOATS))
        case "double":
            return random.choice(FLOATS + DOUBLES)
        case "decimal":
            most = 10**kind.size - 1
            unscaled = random.choice((0, 1, -1, most, -most, random.randint(-most, most), random.randint(-9, 9)))
            return decimal_of(max(-most, min(most, unscaled)), kind.scale)
        case "date":
            return _day(random, limits)
        case "time":
            return random.choice((0, 1, DAY_US - 1, 3_600_000_000, random.randrange(DAY_US)))
        case "timestamp" | "timestamptz":
            return _moment(random, limits, 1)
        case "timestamp_ns" | "timestamptz_ns":
            return _moment(random, Limits(ORC_DAYS, limits.whole_seconds_before_1970), 1000)
        case "string":
            return random.choice(TEXTS)
        case "binary":
            return random.choice(BYTES)
        case "fixed":
            return random.choice((b"\x00", b"\xff", b"a", b"\x80")) * (kind.size - 1) + random.choice((b"\x00", b"b"))
        case "uuid":
            return random.choice((b"\x00", b"\xff", b"\x12")) * 15 + random.choice((b"\x00", b"\x01", b"\xff"))
        case other:
            raise ValueError(other)


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """Return a decimal from its unscaled value, independently of the context."""
    sign, digits = int(unscaled < 0), tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((sign, digits, -scale))


def unscaled(value: Decimal, scale: int) -> int:
    """Return the unscaled value of a decimal, independently of the context."""
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * 10 ** (scale + int(exponent))
    return -number if sign else number


def _integer(random: Random, bits: int) -> int:
    high = (1 << (bits - 1)) - 1
    return random.choice((0, 1, -1, 2, 3, 7, 34, high, -high - 1, random.randint(-9, 9), random.randint(-high, high)))


def _day(random: Random, limits: Limits) -> int:
    low, high = limits.days
    return random.choice((0, -1, 1, 19_000, 19_001, -719, low, high, random.randint(low, high)))


def _moment(random: Random, limits: Limits, per_us: int) -> int:
    day = _day(random, limits)
    second = random.choice((0, 1, 86_399, random.randrange(86_400)))
    fraction = random.choice((0, 0, 1, 999_999, 500_000)) * per_us + (random.choice((0, 1, 999)) if per_us > 1 else 0)
    if limits.whole_seconds_before_1970 and day < 0:
        fraction = 0
    return (day * 86_400 + second) * 1_000_000 * per_us + fraction


def text_of(value: Any) -> str:
    """Return a string that identifies a value: one NaN, two zeros, decimals with their digits."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {text_of(part)}" for name, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, Decimal):
        return f"d{value:f}"
    return repr(value)


def texts_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return the strings of rows, sorted."""
    return sorted(map(text_of, rows))


def same(left: Any, right: Any) -> bool:
    """Return whether two values are the same in SQL: NULL is NULL, NaN is NaN, 0.0 is -0.0."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return all(same(part, right[name]) for name, part in left.items())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
