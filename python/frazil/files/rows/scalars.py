"""Conversion of single Python values to values that pyarrow converts to the type of a column.

The rules are those for Arrow input: a number takes the type of the column if that represents it exactly, except that a
float may be rounded to the nearest value of a float column. Values of other types are rejected.

| Column | Python |
|---|---|
| boolean | bool |
| integer | int; float, Decimal without a fraction |
| float | float; int, Decimal if exactly representable |
| decimal | Decimal, int, float, if no digit is lost |
| date | date; datetime, numpy.datetime64, pandas.Timestamp without a time zone, at midnight |
| time | time without a time zone |
| timestamp | datetime, with a time zone if the column has one; numpy.datetime64, pandas.Timestamp if no digit is lost |
| string | str |
| binary | bytes, bytearray, memoryview |
| uuid | UUID, 16 bytes |

NULL is None, pandas.NA, pandas.NaT or NumPy's NaT. NumPy and pyarrow scalars are converted to their values.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import struct
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

import pyarrow as pa

__all__ = ["UnfitError", "converter", "is_vector", "nanoseconds", "plain_value", "ready", "string"]

_Convert = Callable[[Any], Any]
_NO_ZONE = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps without a time zone count from it
_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_NANOS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_NANOS_OF_DAY = 24 * _NANOS["h"]
_UUID_BYTES = 16
_PANDAS_NULLS = ("NAType", "NaTType")
_LONG_LIMIT = 1 << 63
_MOST_DIGITS = 19


class UnfitError(Exception):
    """A value does not fit its column. The exception contains the reason if the value alone does not explain it."""


def plain_value(value: Any) -> Any:
    """Return the value of a pyarrow or NumPy scalar; None for every form of NULL."""
    if isinstance(value, pa.Scalar):
        with contextlib.suppress(ValueError, OverflowError):
            # A scalar whose value Python cannot represent is kept, so that every column rejects it.
            value = value.as_py()
    kind = type(value)
    if value is None or (kind.__name__ in _PANDAS_NULLS and kind.__module__.startswith("pandas.")):
        return None
    numpy = _numpy()
    if numpy is None or not isinstance(value, numpy.generic):
        return value
    if isinstance(value, numpy.datetime64 | numpy.timedelta64):
        return None if numpy.isnat(value) else value
    return value.item()


def _numpy() -> Any:
    """Return the NumPy module if it has been imported; otherwise None, because no value can be a NumPy value."""
    return sys.modules.get("numpy")


def is_vector(value: Any) -> bool:
    """Return whether a value is a one-dimensional NumPy array."""
    numpy = _numpy()
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1


def ready(data_type: pa.DataType) -> set[type]:
    """Return the Python types whose values pyarrow always converts correctly or rejects."""
    return _READY.get(data_type.id, set()) if not isinstance(data_type, pa.UuidType) else {UUID}


def converter(data_type: pa.DataType) -> _Convert:
    """Return a function that converts plain values for pyarrow and raises `UnfitError` for unsuitable ones."""
    types = pa.types
    if isinstance(data_type, pa.UuidType):
        return _uuid
    if types.is_timestamp(data_type):
        return lambda value: _timestamp(value, data_type)
    if types.is_fixed_size_binary(data_type):
        return lambda value: _fixed(value, data_type.byte_width)
    if types.is_decimal(data_type):
        return lambda value: _decimal(value, data_type)
    if types.is_integer(data_type):
        return lambda value: _integer(value, data_type.bit_width)
    return _CONVERTERS.get(data_type.id, _nothing)


def _nothing(_: Any) -> NoReturn:
    message = "the column accepts only NULL"
    raise UnfitError(message)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitError
    return value


def _integer(value: Any, bits: int) -> int:
    if not is_number(value):
        raise UnfitError
    number: int = value if isinstance(value, int) else _whole(value)
    limit = 1 << (bits - 1)
    if not -limit <= number < limit:
        message = "out of range"
        raise UnfitError(message)
    return number


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _whole(value: float | Decimal) -> int:
    """Return the integer that is equal to a number."""
    number = Decimal(value)
    if not number.is_finite():
        message = "which is not a finite number"
        raise UnfitError(message)
    if not number:
        return 0
    # The integer of a Decimal with a large exponent would need much memory.
    if number.adjusted() > _MOST_DIGITS:
        message = "out of range"
        raise UnfitError(message)
    if number != number.to_integral_value():
        message = "which has a fraction"
        raise UnfitError(message)
    return int(number)


def _double(value: Any) -> float:
    if not is_number(value):
        raise UnfitError
    if isinstance(value, Decimal) and not value.is_finite():
        message = "which is not a finite number"
        raise UnfitError(message)
    try:
        number = float(value)
    except OverflowError as error:
        message = "out of range"
        raise UnfitError(message) from error
    if not isinstance(value, float) and number != value:
        message = "which cannot be represented exactly"
        raise UnfitError(message)
    return number


def _float(value: Any) -> float:
    number = _double(value)
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError as error:
        message = "out of range"
        raise UnfitError(message) from error
    if (not isinstance(value, float) and rounded != number) or (rounded == 0 and number != 0):
        message = "which cannot be represented exactly"
        raise UnfitError(message)
    return number


def _decimal(value: Any, data_type: pa.DataType) -> Decimal:
    if not is_number(value):
        raise UnfitError
    value = Decimal(value)
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        message = "which is not a finite number"
        raise UnfitError(message)
    if not any(digits):
        return Decimal((0, (0,), 0))
    text = "".join(map(str, digits)).lstrip("0")
    shift = exponent + data_type.scale
    if len(text) + shift > data_type.precision:
        message = "out of range"
        raise UnfitError(message)
    if shift < 0 and text[shift:].strip("0"):
        message = "which has more fractional digits"
        raise UnfitError(message)
    kept = text[:shift] if shift < 0 else text + "0" * shift
    return Decimal((sign, tuple(map(int, kept)), -data_type.scale))


def _date(value: Any) -> int:
    numpy = _numpy()
    if numpy is not None and isinstance(value, numpy.datetime64) and numpy.datetime_data(value)[0] == "D":
        days = int(value.astype("int64")) * int(numpy.datetime_data(value)[1])
        return _integer(days, 32)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.toordinal() - _EPOCH_DAY
    days, lost = divmod(nanoseconds(value, with_zone=False), _NANOS_OF_DAY)
    if lost:
        message = "which has a time of day"
        raise UnfitError(message)
    return _integer(days, 32)


def _time(value: Any) -> int:
    if not isinstance(value, dt.time):
        raise UnfitError
    if value.tzinfo is not None:
        message = "which has a time zone"
        raise UnfitError(message)
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _milliseconds(value: Any) -> int:
    milliseconds, lost = divmod(_time(value), 1_000)
    if lost:
        message = "which has microseconds"
        raise UnfitError(message)
    return milliseconds


def _timestamp(value: Any, data_type: pa.TimestampType) -> int:
    nanos = nanoseconds(value, with_zone=data_type.tz is not None)
    ticks, lost = divmod(nanos, _NANOS[data_type.unit])
    if lost:
        message = "which has nanoseconds" if data_type.unit == "us" else "which has microseconds"
        raise UnfitError(message)
    if not -_LONG_LIMIT <= ticks < _LONG_LIMIT:
        message = "out of range"
        raise UnfitError(message)
    return ticks


def nanoseconds(value: Any, *, with_zone: bool) -> int:
    """Return the number of nanoseconds since 1970."""
    numpy = _numpy()
    if numpy is not None and isinstance(value, numpy.datetime64):
        unit, count = numpy.datetime_data(value)
        if unit not in _NANOS or with_zone:
            raise UnfitError
        return int(value.astype("int64")) * int(count) * _NANOS[unit]
    if not isinstance(value, dt.datetime):
        raise UnfitError
    has_zone = value.utcoffset() is not None
    if has_zone != with_zone:
        raise UnfitError("which has a time zone" if has_zone else "which has no time zone")
    extra = getattr(value, "nanosecond", 0)
    if hasattr(value, "to_pydatetime"):
        # Arithmetic with pandas timestamps overflows for values that Python's datetime supports.
        value = value.to_pydatetime(warn=False)
    since: dt.timedelta = value - _UTC if has_zone else value.replace(tzinfo=None) - _NO_ZONE
    return since // _MICROSECOND * 1_000 + int(extra)


def string(value: Any) -> str:
    """Return a string that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise UnfitError
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "which is not valid Unicode"
        raise UnfitError(message) from error
    return text


def _binary(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise UnfitError
    return bytes(value)


def _fixed(value: Any, width: int) -> bytes:
    content = _binary(value)
    if len(content) != width:
        message = f"which has {len(content)} bytes"
        raise UnfitError(message)
    return content


def _uuid(value: Any) -> bytes:
    return value.bytes if isinstance(value, UUID) else _fixed(value, _UUID_BYTES)


_READY: dict[int, set[type]] = {
    pa.bool_().id: {bool},
    pa.int32().id: {int},
    pa.int64().id: {int},
    pa.float64().id: {float},
    pa.date32().id: {dt.date},
    pa.string().id: {str},
    pa.binary().id: {bytes, bytearray},
}
"""The Python and Arrow types for each Arrow type id."""

_CONVERTERS: dict[int, _Convert] = {
    pa.bool_().id: _boolean,
    pa.float32().id: _float,
    pa.float64().id: _double,
    pa.date32().id: _date,
    pa.time32("ms").id: _milliseconds,
    pa.time64("us").id: _time,
    pa.string().id: string,
    pa.binary().id: _binary,
}
