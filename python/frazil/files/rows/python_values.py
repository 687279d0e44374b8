"""Conversion of Python values in dictionaries to Arrow; each value must match the type of its column.

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
| struct | a dictionary; fields that are missing from all dictionaries of the column get their defaults |
| list | list, tuple, one-dimensional numpy.ndarray |
| map | a dictionary, or a list of pairs |

NULL is None, pandas.NA, pandas.NaT or NumPy's NaT. NumPy and pyarrow scalars are converted to their values.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate
from typing import Any, NoReturn
from uuid import UUID

import pyarrow as pa

from frazil.errors import InvalidArgumentError

__all__ = ["TypeName", "TypeNames", "batch_of"]

TypeName = Callable[[pa.DataType], str]
"""A function that returns a column type's name for error messages, which depends on the table format."""


@dataclass(frozen=True, slots=True)
class TypeNames:
    """The names of a table's types in messages."""

    of_arrow: TypeName
    """The function that returns the name of an Arrow type."""
    by_path: Mapping[str, str] = field(default_factory=dict)
    """The type names of columns, and of nested values such as `s.x`, whose Arrow types are ambiguous."""


_Convert = Callable[[Any], Any]
_NO_ZONE = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps without a time zone count from it
_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_NANOS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_NANOS_OF_DAY = 24 * _NANOS["h"]
_UUID_BYTES = 16
_MOST_SHOWN = 60
_PANDAS_NULLS = ("NAType", "NaTType")
_LONG_LIMIT = 1 << 63
_MOST_DIGITS = 19


class _UnfitError(Exception):
    """A value does not fit its column. The exception contains the reason if the value alone does not explain it."""


class _Place:
    """The name and type of a column in messages, and the row number of each of its values."""

    def __init__(self, path: str, row_of: Callable[[int], int], names: TypeNames) -> None:
        self.path, self.row_of, self._names = path, row_of, names

    def type_text(self, data_type: pa.DataType) -> str:
        """Return the name of a type at this place for messages."""
        return self._names.by_path.get(self.path) or self._names.of_arrow(data_type)

    def at(self, name: str) -> _Place:
        """Return the place of a field of the same rows' structs."""
        return _Place(f"{self.path}.{name}", self.row_of, self._names)

    def inside(self, name: str, parents: list[int]) -> _Place:
        """Return the place of nested values; `parents` holds the position of each value's parent here."""
        return _Place(f"{self.path}.{name}", lambda position: self.row_of(parents[position]), self._names)

    def reject(self, position: int, value: Any, type_text: str, reason: str = "") -> NoReturn:
        raise rejected(self.path, self.row_of(position), value, type_text, reason)


def rejected(path: str, row: int, value: Any, type_text: str, reason: str = "") -> InvalidArgumentError:
    """Return the error for a value that does not fit its column."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - the value is anybody's
        shown = "a value"
    shown = shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."
    message = f"the value of `{path}` in row {row} does not fit {type_text}: {shown} ({type(value).__name__})"
    return InvalidArgumentError(f"{message}, {reason}" if reason else message, context={"column": path})


def batch_of(
    rows: list[dict[str, Any]], schema: pa.Schema, first_row: int, type_names: TypeNames, *, infer: bool
) -> pa.RecordBatch:
    """Return the rows as a batch with all columns that occur in them.

    Args:
        rows: One dictionary per row; a missing key is NULL.
        schema: The columns of the table.
        first_row: The number of the first row, for messages.
        type_names: The names of types in messages.
        infer: Whether to infer the types of columns that the table lacks. Otherwise such columns have no values, and
            the consumer of the batch rejects them.

    Raises:
        InvalidArgumentError: A value does not fit its column; the message contains the path and the row.
    """
    names = list({name: None for row in rows for name in row})
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        message = f"a column name must be a string, not {wrong!r}"
        raise InvalidArgumentError(message)
    if not names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    unknown = [name for name in names if name not in schema.names]
    if unknown and not infer:
        # Columns that the table lacks are rejected before any value is converted, as for an Arrow table.
        return pa.RecordBatch.from_arrays([pa.nulls(0)] * len(unknown), names=unknown)
    columns = []
    for name in names:
        values = [row.get(name) for row in rows]
        place = _Place(name, lambda position: first_row + position, type_names)
        columns.append(_inferred(values, place) if name in unknown else _column(values, schema.field(name).type, place))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _inferred(values: list[Any], place: _Place) -> pa.Array:
    """Return a column that the table lacks, with an inferred type; expressions may refer to such a column."""
    values = [_plain(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"the values of `{place.path}` do not have a common type: {error}"
        raise InvalidArgumentError(message, context={"column": place.path}) from error


def _column(values: list[Any], data_type: pa.DataType, place: _Place) -> pa.Array:
    if pa.types.is_struct(data_type):
        return _structs(values, data_type, place)
    if pa.types.is_list(data_type):
        return _lists(values, data_type, place)
    if pa.types.is_map(data_type):
        return _maps(values, data_type, place)
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if kinds <= _ready(data_type):
        try:
            return pa.array(values, data_type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The loop below converts the values one by one to find the invalid one.
            pass
    convert, converted = _converter(data_type), []
    for position, value in enumerate(values):
        try:
            plain = _plain(value)
            converted.append(None if plain is None else convert(plain))
        except _UnfitError as error:
            place.reject(position, value, place.type_text(data_type), str(error))
    try:
        return pa.array(converted, data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.concat_arrays([_single(value, data_type, place, i) for i, value in enumerate(converted)])


def _single(value: Any, data_type: pa.DataType, place: _Place, position: int) -> pa.Array:
    try:
        return pa.array([value], data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        place.reject(position, value, place.type_text(data_type), str(error))


def _structs(values: list[Any], data_type: pa.StructType, place: _Place) -> pa.Array:
    rows: list[Mapping[Any, Any] | None] = []
    for position, value in enumerate(values):
        plain = _plain(value)
        if plain is not None and not isinstance(plain, Mapping):
            place.reject(position, value, "a struct", "expected a dictionary")
        rows.append(plain)
    known = {field.name: field for field in data_type}
    used: dict[str, None] = {}
    for position, row in enumerate(rows):
        for name in row or ():
            if name not in known:
                place.reject(position, row, "the struct", f"unknown field {name!r}")
            used[name] = None
    if not used:
        return pa.array([None if row is None else {} for row in rows], pa.struct([]))
    parts = [
        _column([None if row is None else row.get(name) for row in rows], known[name].type, place.at(name))
        for name in used
    ]
    fields = [pa.field(name, part.type) for name, part in zip(used, parts, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=_mask(rows))


def _lists(values: list[Any], data_type: pa.ListType, place: _Place) -> pa.Array:
    lists: list[Any] = []
    for position, value in enumerate(values):
        plain = _plain(value)
        if plain is not None and not isinstance(plain, list | tuple) and not _is_vector(plain):
            place.reject(position, value, "a list")
        lists.append(plain)
    parents, offsets = _flat(lists)
    elements = [element for part in lists if part is not None for element in part]
    child = _column(elements, data_type.value_type, place.inside("element", parents))
    return pa.ListArray.from_arrays(offsets, child, type=pa.list_(pa.field("element", child.type)), mask=_mask(lists))


def _maps(values: list[Any], data_type: pa.MapType, place: _Place) -> pa.Array:
    maps: list[Any] = []
    for position, value in enumerate(values):
        plain = _plain(value)
        if isinstance(plain, Mapping):
            plain = list(plain.items())
        is_map = isinstance(plain, list | tuple) and all(isinstance(e, list | tuple) and len(e) == 2 for e in plain)  # noqa: PLR2004
        if plain is not None and not is_map:
            place.reject(position, value, "a map", "expected a dictionary or a list of pairs")
        maps.append(plain)
    parents, offsets = _flat(maps)
    pairs = [pair for part in maps if part is not None for pair in part]
    keys, inside = [key for key, _ in pairs], place.inside("key", parents)
    for position, key in enumerate(keys):
        if _plain(key) is None:
            inside.reject(position, key, inside.type_text(data_type.key_type), "map keys cannot be NULL")
    key_array = _column(keys, data_type.key_type, inside)
    items = _column([item for _, item in pairs], data_type.item_type, place.inside("value", parents))
    return pa.MapArray.from_arrays(offsets, key_array, items, mask=_mask(maps))


def _flat(parts: list[Any]) -> tuple[list[int], pa.Array]:
    """Return the index of the enclosing part for each element, and the offsets of the parts."""
    lengths = [0 if part is None else len(part) for part in parts]
    parents = [number for number, length in enumerate(lengths) for _ in range(length)]
    return parents, pa.array([0, *accumulate(lengths)], pa.int32())


def _mask(values: list[Any]) -> pa.Array | None:
    mask = [value is None for value in values]
    return pa.array(mask, pa.bool_()) if any(mask) else None


def _plain(value: Any) -> Any:
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


def _is_vector(value: Any) -> bool:
    numpy = _numpy()
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1


def _ready(data_type: pa.DataType) -> set[type]:
    """Return the Python types whose values pyarrow always converts correctly or rejects."""
    return _READY.get(data_type.id, set()) if not isinstance(data_type, pa.UuidType) else {UUID}


def _converter(data_type: pa.DataType) -> _Convert:
    """Return a function that converts plain values for pyarrow and raises `_UnfitError` for unsuitable ones."""
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
    raise _UnfitError(message)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _UnfitError
    return value


def _integer(value: Any, bits: int) -> int:
    if not _is_number(value):
        raise _UnfitError
    if not isinstance(value, int):
        value = _whole(value)
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        message = "out of range"
        raise _UnfitError(message)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _whole(value: float | Decimal) -> int:
    """Return the integer that is equal to a number."""
    number = Decimal(value)
    if not number.is_finite():
        message = "which is not a finite number"
        raise _UnfitError(message)
    if not number:
        return 0
    # The integer of a Decimal with a large exponent would need much memory.
    if number.adjusted() > _MOST_DIGITS:
        message = "out of range"
        raise _UnfitError(message)
    if number != number.to_integral_value():
        message = "which has a fraction"
        raise _UnfitError(message)
    return int(number)


def _double(value: Any) -> float:
    if not _is_number(value):
        raise _UnfitError
    if isinstance(value, Decimal) and not value.is_finite():
        message = "which is not a finite number"
        raise _UnfitError(message)
    try:
        number = float(value)
    except OverflowError as error:
        message = "out of range"
        raise _UnfitError(message) from error
    if not isinstance(value, float) and number != value:
        message = "which cannot be represented exactly"
        raise _UnfitError(message)
    return number


def _float(value: Any) -> float:
    number = _double(value)
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError as error:
        message = "out of range"
        raise _UnfitError(message) from error
    if (not isinstance(value, float) and rounded != number) or (rounded == 0 and number != 0):
        message = "which cannot be represented exactly"
        raise _UnfitError(message)
    return number


def _decimal(value: Any, data_type: pa.DataType) -> Decimal:
    if not _is_number(value):
        raise _UnfitError
    value = Decimal(value)
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        message = "which is not a finite number"
        raise _UnfitError(message)
    if not any(digits):
        return Decimal((0, (0,), 0))
    text = "".join(map(str, digits)).lstrip("0")
    shift = exponent + data_type.scale
    if len(text) + shift > data_type.precision:
        message = "out of range"
        raise _UnfitError(message)
    if shift < 0 and text[shift:].strip("0"):
        message = "which has more fractional digits"
        raise _UnfitError(message)
    kept = text[:shift] if shift < 0 else text + "0" * shift
    return Decimal((sign, tuple(map(int, kept)), -data_type.scale))


def _date(value: Any) -> int:
    numpy = _numpy()
    if numpy is not None and isinstance(value, numpy.datetime64) and numpy.datetime_data(value)[0] == "D":
        days = int(value.astype("int64")) * int(numpy.datetime_data(value)[1])
        return _integer(days, 32)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.toordinal() - _EPOCH_DAY
    days, lost = divmod(_nanoseconds(value, with_zone=False), _NANOS_OF_DAY)
    if lost:
        message = "which has a time of day"
        raise _UnfitError(message)
    return _integer(days, 32)


def _time(value: Any) -> int:
    if not isinstance(value, dt.time):
        raise _UnfitError
    if value.tzinfo is not None:
        message = "which has a time zone"
        raise _UnfitError(message)
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _milliseconds(value: Any) -> int:
    milliseconds, lost = divmod(_time(value), 1_000)
    if lost:
        message = "which has microseconds"
        raise _UnfitError(message)
    return milliseconds


def _timestamp(value: Any, data_type: pa.TimestampType) -> int:
    nanos = _nanoseconds(value, with_zone=data_type.tz is not None)
    ticks, lost = divmod(nanos, _NANOS[data_type.unit])
    if lost:
        message = "which has nanoseconds" if data_type.unit == "us" else "which has microseconds"
        raise _UnfitError(message)
    if not -_LONG_LIMIT <= ticks < _LONG_LIMIT:
        message = "out of range"
        raise _UnfitError(message)
    return ticks


def _nanoseconds(value: Any, *, with_zone: bool) -> int:
    """Return the number of nanoseconds since 1970."""
    numpy = _numpy()
    if numpy is not None and isinstance(value, numpy.datetime64):
        unit, count = numpy.datetime_data(value)
        if unit not in _NANOS or with_zone:
            raise _UnfitError
        return int(value.astype("int64")) * int(count) * _NANOS[unit]
    if not isinstance(value, dt.datetime):
        raise _UnfitError
    has_zone = value.utcoffset() is not None
    if has_zone != with_zone:
        raise _UnfitError("which has a time zone" if has_zone else "which has no time zone")
    extra = getattr(value, "nanosecond", 0)
    if hasattr(value, "to_pydatetime"):
        # Arithmetic with pandas timestamps overflows for values that Python's datetime supports.
        value = value.to_pydatetime(warn=False)
    since = value - _UTC if has_zone else value.replace(tzinfo=None) - _NO_ZONE
    return since // _MICROSECOND * 1_000 + int(extra)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _UnfitError
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "which is not valid Unicode"
        raise _UnfitError(message) from error
    return text


def _binary(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _UnfitError
    return bytes(value)


def _fixed(value: Any, width: int) -> bytes:
    content = _binary(value)
    if len(content) != width:
        message = f"which has {len(content)} bytes"
        raise _UnfitError(message)
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
    pa.string().id: _string,
    pa.binary().id: _binary,
}
