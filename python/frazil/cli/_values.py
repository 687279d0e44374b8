"""Values of Arrow columns as JSON values and as CSV cells, which `frazil append` reads back unchanged."""

from __future__ import annotations

import base64
import json
import math
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil._calendar import date_text, time_text, timestamp_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["csv_line", "json_values", "text_of"]

_QUOTED = re.compile('["\r\n,\ufeff]')
"""The characters of quoted CSV cells; a byte order mark at the start of a file would be dropped."""


def json_values(array: pa.Array) -> list[Any]:  # noqa: PLR0911 - one line for each type
    """Return the values of a column as JSON values.

    Types that JSON lacks become strings: NaN and infinity, decimals, dates and times in ISO 8601, UUIDs, and binary
    values as base64. Maps become lists of pairs.
    """
    kind = array.type
    types = pa.types
    if types.is_struct(kind):
        return _structs(array)
    if types.is_map(kind):
        keys, items = ([*json_values(_within(array, child))] for child in (array.keys, array.items))
        return _parts(array, [[key, item] for key, item in zip(keys, items, strict=True)])
    if types.is_list(kind) or types.is_large_list(kind):
        return _parts(array, json_values(_within(array, array.values)))
    if types.is_fixed_size_list(kind):
        values = iter(json_values(array.flatten()))
        return [[next(values) for _ in range(kind.list_size)] if valid else None for valid in _valid(array)]
    if types.is_date32(kind):
        return _each(array.cast(pa.int32()), date_text)
    if types.is_timestamp(kind):
        zone = "" if kind.tz is None else "+00:00"
        return _each(array.cast(pa.int64()), lambda count: timestamp_text(count, kind.unit) + zone)
    if types.is_time(kind):
        ticks = array.cast(pa.int32() if types.is_time32(kind) else pa.int64())
        return _each(ticks, lambda count: time_text(count, kind.unit))
    return _each(array, _plain)


def _each(array: pa.Array, convert: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else convert(value) for value in array.to_pylist()]


def _valid(array: pa.Array) -> list[bool]:
    valid: list[bool] = array.is_valid().to_pylist()
    return valid


def _structs(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [json_values(column) for column in array.flatten()]
    rows = zip(*columns, strict=True) if columns else ((),) * len(array)
    return [
        dict(zip(names, row, strict=True)) if valid else None for row, valid in zip(rows, _valid(array), strict=True)
    ]


def _within(array: pa.Array, child: pa.Array) -> pa.Array:
    """Return the elements of the lists of an array, which may be a slice of the lists that `child` belongs to."""
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return child.slice(first, last - first)


def _parts(array: pa.Array, elements: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    first = offsets[0]
    return [
        elements[start - first : end - first] if valid else None
        for start, end, valid in zip(offsets, offsets[1:], _valid(array), strict=False)
    ]


def _plain(value: Any) -> Any:
    match value:
        case bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return base64.b64encode(value).decode()
    return f"{value:f}" if hasattr(value, "as_tuple") else str(value)


def text_of(value: Any) -> str:
    """Return a JSON value as text; a string is its own text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def csv_line(values: tuple[Any, ...]) -> str:
    r"""Return JSON values as a line of CSV. NULL is an empty cell, and an empty string is a quoted one.

    >>> csv_line((None, "", "a,b", 1.5, True, ["x"]))
    ',"","a,b",1.5,true,"[""x""]"\r\n'
    """
    return ",".join("" if value is None else _cell(text_of(value)) for value in values) + "\r\n"


def _cell(text: str) -> str:
    return text if text and not _QUOTED.search(text) else '"' + text.replace('"', '""') + '"'
