"""Parsing of strings into values, for CSV and JSON files and the names of partition folders."""

from __future__ import annotations

import base64
import decimal
import re
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import UnsupportedError
from frazil.paimon._data_types import LOCAL_ZONED

if TYPE_CHECKING:
    from frazil.paimon._data_types import DataType

_ONE_DIGIT = re.compile(r"(?<![\d.])(?=\d(?!\d))")
"""The positions of omitted leading zeros, as in `2024-2-9 1:2:3`."""
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
TEXTS = frozenset({"CHAR", "VARCHAR"})
BYTES = frozenset({"BINARY", "VARBINARY"})
NESTED = frozenset({"ARRAY", "MAP", "MULTISET", "ROW", "VARIANT", "BLOB"})


def values_of(texts: pa.Array, data_type: DataType) -> tuple[pa.Array, list[int]]:
    """Parse strings; return the values, with NULL for invalid strings, and the row numbers of invalid strings.

    Decimals are rounded half up and become NULL beyond their precision. Timestamps are truncated to their precision;
    timestamps with local time zone are in UTC. Bytes are base64.

    Raises:
        UnsupportedError: Values of the type cannot be represented as strings.
    """
    if data_type.name in NESTED:
        message = f"values of type {data_type} cannot be parsed from strings"
        raise UnsupportedError(message)
    try:
        return _all(texts, data_type), []
    except (pa.ArrowInvalid, ValueError):
        pass
    found, malformed = [], []
    null = pa.scalar(None, data_type.arrow())
    for row, text in enumerate(texts.to_pylist()):
        try:
            found.append(null if text is None else _one(text, data_type))
        except (pa.ArrowInvalid, ValueError, ArithmeticError):
            found.append(null)
            malformed.append(row)
    return pa.array(found, data_type.arrow()), malformed


def value_of(text: str | None, data_type: DataType) -> pa.Scalar:
    """Parse one string into a value of the type; None is NULL.

    Raises:
        ValueError: The string is not a valid value of the type.
        UnsupportedError: Values of the type cannot be represented as strings.
    """
    found, malformed = values_of(pa.array([text], pa.string()), data_type)
    if malformed:
        message = f"{text!r} is not a valid {data_type}"
        raise ValueError(message)
    return found[0]


def _all(texts: pa.Array, data_type: DataType) -> pa.Array:
    """Convert all strings with pyarrow; raise an error if a string is invalid or in an unusual notation."""
    name, arrow = data_type.name, data_type.arrow()
    if name in TEXTS:
        return texts
    if name == "BOOLEAN":
        return pc.equal(pc.utf8_lower(texts), "true")
    if name in BYTES:
        decoded = [None if text is None else base64.b64decode(text, validate=True) for text in texts.to_pylist()]
        return pa.array(decoded, arrow)
    if name == "TIME":
        moments = pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("ns"))
        return moments.cast(pa.time64("ns")).cast(arrow, safe=False)
    if name in {"TIMESTAMP", LOCAL_ZONED}:
        return _moments(texts, arrow.unit).cast(arrow)
    return texts.cast(arrow)


def _moments(texts: pa.Array, unit: str) -> pa.Array:
    if unit != "ms":
        return texts.cast(pa.timestamp(unit))
    # Digits beyond the precision of the type are truncated.
    finer = texts.cast(pa.timestamp("us"))
    return pc.floor_temporal(finer, unit="millisecond").cast(pa.timestamp("ms"))


def _one(text: str, data_type: DataType) -> pa.Scalar:
    arrow = data_type.arrow()
    trimmed = text.strip()
    if data_type.name in _INTEGERS:
        return pa.scalar(int(trimmed) if trimmed.isascii() and "_" not in trimmed else _refuse(text), arrow)
    if data_type.name == "DECIMAL":
        return pa.scalar(_rounded(trimmed, *data_type.numbers), arrow)
    if data_type.name == LOCAL_ZONED:
        trimmed = trimmed.removesuffix("Z").rstrip()
    if data_type.name in {"TIMESTAMP", LOCAL_ZONED} and "." in trimmed:
        whole, _, fraction = trimmed.partition(".")
        trimmed = f"{whole}.{fraction[: max(data_type.numbers[0], 1)]}"
    if data_type.name == "DATE" and trimmed.removeprefix("-").isdecimal():
        return pa.scalar(int(trimmed), pa.int32()).cast(arrow)
    if data_type.name == "TIMESTAMP" and trimmed.isascii() and trimmed.isdecimal() and data_type.numbers[0] in _UNITS:
        # A number counts seconds, milliseconds, microseconds or nanoseconds since 1970, depending on the precision.
        return pa.scalar(int(trimmed), pa.int64()).cast(pa.timestamp(_UNITS[data_type.numbers[0]])).cast(arrow)
    if data_type.name == "TIME" and trimmed.isascii() and trimmed.isdecimal():
        # Java writes map keys of type TIME in JSON files as milliseconds.
        return pa.scalar(int(trimmed), pa.int32()).cast(pa.time32("ms")).cast(arrow)
    if data_type.name in {"DATE", "TIME", "TIMESTAMP", LOCAL_ZONED}:
        trimmed = _ONE_DIGIT.sub("0", trimmed)
    if data_type.name in BYTES:
        trimmed += "=" * (-len(trimmed) % 4)
    return _all(pa.array([trimmed]), data_type)[0]


def _rounded(text: str, precision: int, scale: int) -> decimal.Decimal | None:
    with decimal.localcontext() as context:
        context.prec = 2 * 38 + 2
        value = decimal.Decimal(text)
        if not value.is_finite():
            return _refuse(text)
        if value.adjusted() >= precision:
            return None
        rounded = value.quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP)
        return None if rounded and rounded.adjusted() >= precision - scale else rounded


def _refuse(text: str) -> NoReturn:
    message = f"{text!r} is not a number"
    raise ValueError(message)
