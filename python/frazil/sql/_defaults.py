"""Column defaults of Iceberg tables, as SQL literals and as JSON (spec: "JSON single-value serialization")."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from frazil.errors import InvalidArgumentError
from frazil.sql._reader import literal

_DIGITS = 38
_BINARY = ("binary", "fixed")
_BITS = {"int": 32, "long": 64}
_DIGITS_ONLY = re.compile(r"\s*[+-]?[0-9]+\s*")
_FLOAT_LIMIT = (2.0 - 2.0**-24) * 2.0**127
"""The least positive number that is rounded to infinity in 32 bits."""

_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[ T](?P<time>\d\d:\d\d:\d\d)(?P<fraction>\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d:\d\d)?"
)
_WORDS = {"date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP"}
"""The keyword before the string in a literal, by type."""

_SUFFIXES = {"long": "L", "float": "F", "double": "D", "decimal": "BD"}


def default_json(name: str, value: str, iceberg: str, *, is_binary: bool) -> Any:
    """Return the JSON form of a default.

    Args:
        name: The name of the column.
        value: The value of the literal as a string.
        iceberg: The type of the column.
        is_binary: Whether the literal is `X'…'`, whose value consists of hexadecimal digits.

    Raises:
        InvalidArgumentError: The value does not fit the type.

    >>> default_json("a", "1.5", "decimal(9, 2)", is_binary=False)
    '1.50'
    >>> default_json("a", "2024-02-29 12:00:00+01:00", "timestamptz", is_binary=False)
    '2024-02-29T11:00:00+00:00'
    """
    try:
        if is_binary != (_root(iceberg) in _BINARY):
            raise ValueError  # noqa: TRY301 - the message is the same for all values
        return _parsed(value, iceberg)
    except (ValueError, KeyError, InvalidOperation) as error:
        message = f"column `{name}`: the default {value!r} is not a valid {iceberg} value"
        raise InvalidArgumentError(message, hint=_HINTS.get(_root(iceberg))) from error


_HINTS = {
    "binary": "write X'0A'",
    "fixed": "write X'0A'",
    "timestamptz": "write TIMESTAMP '2024-02-29 12:00:00+00:00', with a time zone",
    "timestamptz_ns": "write TIMESTAMP '2024-02-29 12:00:00+00:00', with a time zone",
}


def default_literal(value: Any, iceberg: str) -> str:
    """Return the Spark SQL literal for a default in JSON form.

    >>> default_literal("1.50", "decimal(9, 2)"), default_literal(7, "long"), default_literal("00FF", "binary")
    ('1.50BD', '7L', "X'00FF'")
    """
    root = _root(iceberg)
    if isinstance(value, bool):
        return str(value).lower()
    if root in _BINARY:
        return f"X'{value}'"
    if root in ("float", "double") and isinstance(value, str):
        return f"CAST({literal(value)} AS {root.upper()})"
    if word := _WORDS.get(root.removesuffix("_ns")):
        return f"{word} {literal(str(value).replace('T', ' '))}"
    return literal(value) if root in ("string", "uuid") else f"{value}{_SUFFIXES.get(root, '')}"


def _root(iceberg: str) -> str:
    return re.split(r"[\[(<]", iceberg, maxsplit=1)[0]


def _parsed(value: str, iceberg: str) -> Any:  # noqa: PLR0911 - one line for each type
    match _root(iceberg):
        case "boolean":
            return {"true": True, "false": False}[value.lower()]
        case "int" | "long":
            return _whole(value, _BITS[iceberg])
        case "float" | "double":
            return _number(value, iceberg)
        case "decimal":
            return _decimal(value, *(int(number) for number in iceberg[len("decimal(") : -1].split(",")))
        case "string":
            return value
        case "date" | "time":
            return (dt.date if iceberg == "date" else dt.time).fromisoformat(value).isoformat()
        case "timestamp" | "timestamp_ns":
            return _moment(value, has_zone=False)
        case "timestamptz" | "timestamptz_ns":
            return _moment(value, has_zone=True)
        case "binary" | "fixed":
            return _bytes(value, iceberg)
    raise ValueError


def _whole(value: str, bits: int) -> int:
    found = int(value) if _DIGITS_ONLY.fullmatch(value) else None
    if found is None or not -(1 << bits - 1) <= found < 1 << bits - 1:
        raise ValueError
    return found


def _bytes(value: str, iceberg: str) -> str:
    found = bytes.fromhex(value)
    if iceberg not in ("binary", f"fixed[{len(found)}]"):
        raise ValueError
    return found.hex().upper()


def _number(value: str, iceberg: str) -> float | str:
    found = float(value)
    if iceberg == "float" and math.isfinite(found) and abs(found) >= _FLOAT_LIMIT:
        raise ValueError
    if math.isnan(found):
        return "NaN"
    if math.isfinite(found):
        return found
    return {"infinity": "Infinity", "-infinity": "-Infinity"}[value.lower()]


def _decimal(value: str, precision: int, scale: int) -> str:
    given = Decimal(value)
    found = given.quantize(Decimal(1).scaleb(-scale), context=Context(prec=_DIGITS))
    if found != given or found.copy_abs() >= Decimal(10) ** (precision - scale):
        raise ValueError
    return format(found, "f")


def _moment(value: str, *, has_zone: bool) -> str:
    found = _MOMENT.fullmatch(value.strip())
    if found is None or (found["zone"] is not None) != has_zone:
        raise ValueError
    moment = dt.datetime.fromisoformat(f"{found['date']}T{found['time'] or '00:00:00'}{found['zone'] or ''}")
    moment = moment.astimezone(dt.UTC) if has_zone else moment
    return f"{moment:%Y-%m-%dT%H:%M:%S}{found['fraction'] or ''}{'+00:00' if has_zone else ''}"
