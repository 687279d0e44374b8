"""Columns of a table from text and from JSON values: the inverse of `_values`."""

from __future__ import annotations

import base64
import difflib
import json
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from frazil._calendar import days_of, ticks_of
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ROW_KIND",
    "Place",
    "check_names",
    "column_of_json",
    "column_of_texts",
    "malformed",
    "parse_json",
    "unknown_name",
]

ROW_KIND = "_ROW_KIND"
"""A column that the rows of Paimon tables with a primary key may also have."""

_UNFIT = (pa.ArrowException, ValueError, OverflowError)
_MOST_SHOWN = 60
_INT_BITS = 32
_NO_DAY = "1970-01-01T"
"""The date of times, which Arrow cannot parse."""


class _Number(str):
    """The digits of a JSON number, which a column parses in its own type."""

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        message = f"the name {next(name for name in names if names.count(name) > 1)!r} occurs twice in an object"
        raise ValueError(message)
    return found


parse_json = json.JSONDecoder(
    parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=_object
).decode
"""Parse JSON and keep the digits of numbers; a `ValueError` is raised for invalid JSON and for repeated names."""


@dataclass(frozen=True, slots=True)
class Place:
    """The origin of values, for messages."""

    file: str
    path: str
    """The column, or the nested value, such as `s.x`."""
    line_of: Callable[[int], int]
    """The function that returns the line of a value, given its position in the column."""

    def inside(self, name: str, parents: Sequence[int]) -> Place:
        """Return the place of nested values; `parents` holds the position of each value's parent here."""
        return Place(self.file, f"{self.path}.{name}", lambda position: self.line_of(parents[position]))

    def after(self, count: int) -> Place:
        """Return the place of the values after the first `count` ones."""
        return replace(self, line_of=lambda position: self.line_of(position + count))

    def rejected(self, position: int, value: Any, data_type: pa.DataType, reason: str = "") -> InvalidArgumentError:
        """Return the error for a value that does not fit its column."""
        shown = "NULL" if value is None else repr(value)
        shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
        message = f"the value of `{self.path}` does not fit {_name(data_type)}: {shown}" + (reason and f", {reason}")
        return malformed(self.file, self.line_of(position), message, column=self.path)


def _name(data_type: pa.DataType) -> str:
    return "uuid" if isinstance(data_type, pa.UuidType) else str(data_type)


def malformed(file: str, line: int, message: str, **context: str) -> InvalidArgumentError:
    """Return the error for a line of a file."""
    return InvalidArgumentError(f"{file}, line {line}: {message}", context={"file": file, **context})


def check_names(names: Sequence[str], known: Sequence[str], file: str) -> None:
    """Check the names of the columns of a file.

    Raises:
        InvalidArgumentError: The table lacks a column, or a name occurs twice.
    """
    for position, name in enumerate(names):
        if name in names[:position]:
            message = f"{file}: the column `{name}` occurs twice"
            raise InvalidArgumentError(message, context={"file": file, "column": name})
        if name not in known:
            raise unknown_name(file, "the table", name, known)


def unknown_name(where: str, owner: str, name: str, known: Sequence[str]) -> InvalidArgumentError:
    """Return the error for a column or a field that does not exist."""
    near = difflib.get_close_matches(name.lower(), [one.lower() for one in known], n=1)
    match = next((one for one in known if near and one.lower() == near[0]), None)
    hint = f"did you mean `{match}`?" if match is not None else f"the names are {', '.join(known)}"
    return InvalidArgumentError(f"{where}: {owner} has no column `{name}`", context={"column": name}, hint=hint)


def column_of_texts(texts: pa.StringArray, field: pa.Field, place: Place) -> pa.Array:
    """Return a column from text; lists, maps and structs are parsed as JSON.

    Raises:
        InvalidArgumentError: A text does not fit the type of the column, or is NULL in a required column.
    """
    if not pa.types.is_nested(field.type):
        _check_required(texts, field, place)
        return _scalars(texts, field.type, place)
    values = texts.to_pylist()
    for position, text in enumerate(values):
        if text is not None:
            try:
                values[position] = parse_json(text)
            except (ValueError, RecursionError) as error:
                raise place.rejected(position, text, field.type, f"which is not JSON: {error}") from error
    return column_of_json(values, field, place)


def column_of_json(values: list[Any], field: pa.Field, place: Place) -> pa.Array:
    """Return a column from the values of `parse_json`.

    Raises:
        InvalidArgumentError: A value does not fit the type of the column, or is NULL in a required column.
    """
    if not field.nullable and None in values:
        raise place.rejected(values.index(None), None, field.type, "which the column requires")
    kind = field.type
    if pa.types.is_struct(kind):
        return _structs(values, kind, place)
    if pa.types.is_map(kind):
        return _maps(values, kind, place)
    if pa.types.is_nested(kind):
        return _lists(values, kind, place)
    for position, value in enumerate(values):
        if not _is_scalar(value, kind):
            raise place.rejected(position, value, kind)
    texts = [("true" if value else "false") if isinstance(value, bool) else value for value in values]
    return _scalars(_string_array(texts, place, kind), kind, place)


def _is_scalar(value: Any, kind: pa.DataType) -> bool:
    if isinstance(value, bool):
        return bool(pa.types.is_boolean(kind))
    if isinstance(value, _Number):
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
    return value is None or isinstance(value, str)


def _string_array(texts: list[str | None], place: Place, kind: pa.DataType) -> pa.StringArray:
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        # JSON can escape half a surrogate pair, which is not valid Unicode.
        wrong = error.object
    raise place.rejected(texts.index(wrong), wrong, kind, "which is not valid Unicode")


def _check_required(array: pa.Array, field: pa.Field, place: Place) -> None:
    if not field.nullable and array.null_count:
        position = pc.index(array.is_null(), value=True).as_py()
        raise place.rejected(position, None, field.type, "which the column requires")


def _structs(values: list[Any], kind: pa.StructType, place: Place) -> pa.Array:
    known = [field.name for field in kind]
    for position, value in enumerate(values):
        if value is not None and not isinstance(value, dict):
            raise place.rejected(position, value, kind)
        unknown = next((name for name in value or () if name not in known), None)
        if unknown is not None:
            where = f"{place.file}, line {place.line_of(position)}"
            raise unknown_name(where, f"the struct `{place.path}`", unknown, known)
    parents = [position for position, value in enumerate(values) if value is not None]
    taken = pa.array(_positions(values), pa.int32())
    columns = [
        column_of_json([values[parent].get(field.name) for parent in parents], field, place.inside(field.name, parents))
        for field in kind
    ]
    fields = [field.with_nullable(nullable=True) for field in kind]
    return pa.StructArray.from_arrays([_take(column, taken) for column in columns], fields=fields, mask=_mask(values))


def _positions(values: list[Any]) -> list[int | None]:
    """Return the position of each value among those that are not NULL."""
    counts = accumulate(value is not None for value in values)
    return [None if value is None else count - 1 for value, count in zip(values, counts, strict=True)]


def _take(column: pa.Array, positions: pa.Array) -> pa.Array:
    return column if len(column) == len(positions) else column.take(positions)


def _lists(values: list[Any], kind: pa.DataType, place: Place) -> pa.Array:
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else None
    for position, value in enumerate(values):
        if value is not None and not (isinstance(value, list) and size in (None, len(value))):
            raise place.rejected(position, value, kind)
    parents = [position for position, value in enumerate(values) for _ in value or ()]
    elements = [element for value in values for element in value or ()]
    child = column_of_json(elements, kind.value_field, place.inside("element", parents))
    made = pa.ListArray.from_arrays(_offsets(values), child, mask=_mask(values))
    return made if pa.types.is_list(kind) else made.cast(kind)


def _maps(values: list[Any], kind: pa.MapType, place: Place) -> pa.Array:
    maps = [list(value.items()) if isinstance(value, dict) else value for value in values]
    for position, value in enumerate(maps):
        if value is not None and not (isinstance(value, list) and all(map(_is_pair, value))):
            raise place.rejected(position, values[position], kind, "expected an object, or a list of pairs")
    parents = [position for position, value in enumerate(maps) for _ in value or ()]
    pairs = [pair for value in maps for pair in value or ()]
    keys = column_of_json([key for key, _ in pairs], kind.key_field, place.inside("key", parents))
    items = column_of_json([item for _, item in pairs], kind.item_field, place.inside("value", parents))
    return pa.MapArray.from_arrays(_offsets(maps), keys, items, mask=_mask(maps))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2  # noqa: PLR2004 - a key and a value


def _offsets(values: list[Any]) -> pa.Array:
    return pa.array([0, *accumulate(len(value or ()) for value in values)], pa.int32())


def _mask(values: list[Any]) -> pa.Array | None:
    return pa.array([value is None for value in values], pa.bool_()) if None in values else None


def _scalars(texts: pa.StringArray, kind: pa.DataType, place: Place) -> pa.Array:
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, _parsed(texts, kind, place))
    return _parsed(texts, kind, place)


def _parsed(texts: pa.StringArray, kind: pa.DataType, place: Place) -> pa.Array:
    """Parse a column at once; if a text does not fit, halve the column until that text is found."""
    try:
        return _at_once(texts, kind)
    except _UNFIT:
        if len(texts) == 1:
            return _alone(texts[0].as_py(), kind, place)
    middle = len(texts) // 2
    halves = (_parsed(texts[:middle], kind, place), _parsed(texts[middle:], kind, place.after(middle)))
    return pa.concat_arrays(halves)


def _at_once(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    types = pa.types
    if isinstance(kind, pa.UuidType):
        return pa.array([text and UUID(text).bytes for text in texts.to_pylist()], kind.storage_type)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        values = [None if text is None else base64.b64decode(text, validate=True) for text in texts.to_pylist()]
        return pa.array(values, kind)
    if types.is_time(kind):
        times = pc.binary_join_element_wise(_NO_DAY, texts, "")
        return times.cast(pa.timestamp(kind.unit)).cast(kind)
    parsed = texts.cast(kind)
    if types.is_floating(kind) and pc.any(pc.and_(pc.is_inf(parsed), pc.match_substring_regex(texts, "[0-9]"))).as_py():
        message = "out of range"
        raise ValueError(message)
    return parsed


def _alone(text: str, kind: pa.DataType, place: Place) -> pa.Array:
    """Parse a text that Arrow cannot parse: a date or a timestamp of a distant year, or one with more zeros."""
    count = None
    if pa.types.is_date32(kind):
        count = days_of(text)
    elif pa.types.is_time(kind):
        count = ticks_of(f"{_NO_DAY}{text}", kind.unit, zoned=False)
    elif pa.types.is_timestamp(kind):
        count = ticks_of(text, kind.unit, zoned=kind.tz is not None)
    try:
        if count is not None:
            return pa.array([count], pa.int32() if kind.bit_width == _INT_BITS else pa.int64()).cast(kind)
    except _UNFIT:
        pass
    raise place.rejected(0, text, kind, _reason(text, kind))


def _reason(text: str, kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        if kind.tz is None and ticks_of(text, "ns", zoned=True) is not None:
            return "which has a time zone"
        if kind.tz is not None and ticks_of(text, "ns", zoned=False) is not None:
            return "which has no time zone"
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        try:
            content = base64.b64decode(text, validate=True)
        except ValueError:
            return "which is not base64"
        return f"which has {len(content)} bytes"
    return ""
