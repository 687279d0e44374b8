"""Conversion of Python values to variants.

| Variant | Python |
|---|---|
| null | None inside a list or a dictionary; None instead of a variant is NULL |
| boolean | bool |
| integer | int of at most 64 bits |
| double | float |
| decimal | Decimal of at most 38 digits; larger int |
| date | date |
| timestamp | datetime, with or without a time zone; pandas.Timestamp |
| string | str |
| binary | bytes, bytearray, memoryview |
| array | list, tuple, one-dimensional numpy.ndarray |
| object | a dictionary whose keys are strings |

A dictionary of the bytes `metadata` and `value`, as in the rows of a scan, is an encoded variant.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil.files.rows.scalars import UnfitError, is_vector, nanoseconds, plain_value, string

if TYPE_CHECKING:
    from frazil.files.rows.places import Place

__all__ = ["variants"]

_MOST_LEVELS = 128
_MOST_DIGITS = 38
_LONG_LIMIT = 1 << 63
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_PARTS = {"metadata", "value"}


def variants(values: list[Any], place: Place) -> pa.Array:
    """Return Python values as variants.

    Raises:
        InvalidArgumentError: A value, or a part of it, cannot be a variant; the message contains its path.
    """
    parts = [_encoded(value, position, place) for position, value in enumerate(values)]
    metadata, content = ([b"" if part is None else part[index] for part in parts] for index in range(2))
    columns = [pa.array(metadata, pa.binary()), pa.array(content, pa.binary())]
    fields = [pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")]
    mask = pa.array([part is None for part in parts], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)


def _encoded(value: Any, position: int, place: Place) -> tuple[bytes, bytes] | None:
    """Return the metadata and the value of a variant."""
    if isinstance(value, Mapping) and value.keys() == _PARTS and all(type(part) is bytes for part in value.values()):
        return value["metadata"], value["value"]
    tree = _tree(value, position, place, 0)
    return None if tree is None else _native.encode_variant(tree)


def _tree(value: Any, position: int, place: Place, level: int) -> Any:
    """Return a value in the form of `encode_variant`."""
    if level > _MOST_LEVELS:
        place.reject(position, value, "variant", f"which is nested more than {_MOST_LEVELS} levels deep")
    part = plain_value(value)
    if isinstance(part, Mapping):
        wrong = next((key for key in part if not isinstance(key, str)), None)
        if wrong is not None:
            place.reject(position, value, "variant", f"the key {wrong!r} is not a string")
        return {
            _scalar(key, position, place): _tree(item, position, place.at(key), level + 1) for key, item in part.items()
        }
    if isinstance(part, list | tuple) or is_vector(part):
        inner = place.at("element")
        return [_tree(item, position, inner, level + 1) for item in part]
    return _scalar(part, position, place)


def _scalar(value: Any, position: int, place: Place) -> Any:
    try:
        return _leaf(value)
    except UnfitError as error:
        place.reject(position, value, "variant", str(error))


def _leaf(value: Any) -> Any:
    match value:
        case None | bool() | float():
            leaf: Any = value
        case str():
            leaf = string(value)
        case bytes() | bytearray() | memoryview():
            leaf = bytes(value)
        case int() if -_LONG_LIMIT <= value < _LONG_LIMIT:
            leaf = int(value)
        case int() | Decimal():
            leaf = _decimal(Decimal(value))
        case dt.datetime():
            has_zone = value.utcoffset() is not None
            nanos = nanoseconds(value, with_zone=has_zone)
            micros, lost = divmod(nanos, 1_000)
            leaf = "timestamp", nanos if lost else micros, bool(lost), has_zone
        case dt.date():
            leaf = "date", value.toordinal() - _EPOCH_DAY
        case _:
            message = "which is not a type of variants"
            raise UnfitError(message)
    return leaf


def _decimal(value: Decimal) -> tuple[str, int, int]:
    """Return the unscaled integer and the scale of a decimal."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        message = "which is not a finite number"
        raise UnfitError(message)
    scale = max(0, -exponent)
    if max(scale, len(digits) + max(0, exponent)) > _MOST_DIGITS:
        message = f"which has more than {_MOST_DIGITS} digits"
        raise UnfitError(message)
    unscaled = int("".join(map(str, digits))) * 10 ** max(0, exponent)
    return "decimal", -unscaled if sign else unscaled, scale
