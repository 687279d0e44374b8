"""Conversion of Python values in dictionaries to Arrow; each value must match the type of its column.

Values without parts are converted as described in `scalars`, and variants as described in `variants`.

| Column | Python |
|---|---|
| struct | a dictionary; fields that are missing from all dictionaries of the column get their defaults |
| list | list, tuple, one-dimensional numpy.ndarray |
| map | a dictionary, or a list of pairs |
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import pyarrow as pa

from frazil.errors import InvalidArgumentError
from frazil.files.rows.places import Place, TypeNames
from frazil.files.rows.scalars import UnfitError, converter, is_vector, plain_value, ready
from frazil.files.rows.variants import variants
from frazil.files.write.leaves import is_variant

__all__ = ["batch_of"]


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
        place = Place(name, lambda position: first_row + position, type_names)
        columns.append(_inferred(values, place) if name in unknown else _column(values, schema.field(name), place))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _inferred(values: list[Any], place: Place) -> pa.Array:
    """Return a column that the table lacks, with an inferred type; expressions may refer to such a column."""
    values = [plain_value(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"the values of `{place.path}` do not have a common type: {error}"
        raise InvalidArgumentError(message, context={"column": place.path}) from error


def _column(values: list[Any], column: pa.Field, place: Place) -> pa.Array:
    if is_variant(column):
        return variants(values, place)
    data_type = column.type
    if pa.types.is_struct(data_type):
        return _structs(values, data_type, place)
    if pa.types.is_list(data_type):
        return _lists(values, data_type, place)
    if pa.types.is_map(data_type):
        return _maps(values, data_type, place)
    return _scalars(values, data_type, place)


def _scalars(values: list[Any], data_type: pa.DataType, place: Place) -> pa.Array:
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if kinds <= ready(data_type):
        try:
            return pa.array(values, data_type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The loop below converts the values one by one to find the invalid one.
            pass
    convert, converted = converter(data_type), []
    for position, value in enumerate(values):
        try:
            plain = plain_value(value)
            converted.append(None if plain is None else convert(plain))
        except UnfitError as error:
            place.reject(position, value, place.type_text(data_type), str(error))
    try:
        return pa.array(converted, data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.concat_arrays([_single(value, data_type, place, i) for i, value in enumerate(converted)])


def _single(value: Any, data_type: pa.DataType, place: Place, position: int) -> pa.Array:
    try:
        return pa.array([value], data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        place.reject(position, value, place.type_text(data_type), str(error))


def _structs(values: list[Any], data_type: pa.StructType, place: Place) -> pa.Array:
    rows: list[Mapping[Any, Any] | None] = []
    for position, value in enumerate(values):
        plain = plain_value(value)
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
        _column([None if row is None else row.get(name) for row in rows], known[name], place.at(name)) for name in used
    ]
    fields = [pa.field(name, part.type) for name, part in zip(used, parts, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=_mask(rows))


def _lists(values: list[Any], data_type: pa.ListType, place: Place) -> pa.Array:
    lists: list[Any] = []
    for position, value in enumerate(values):
        plain = plain_value(value)
        if plain is not None and not isinstance(plain, list | tuple) and not is_vector(plain):
            place.reject(position, value, "a list")
        lists.append(plain)
    parents, offsets = _flat(lists)
    elements = [element for part in lists if part is not None for element in part]
    child = _column(elements, data_type.value_field, place.inside("element", parents))
    return pa.ListArray.from_arrays(offsets, child, type=pa.list_(pa.field("element", child.type)), mask=_mask(lists))


def _maps(values: list[Any], data_type: pa.MapType, place: Place) -> pa.Array:
    maps: list[Any] = []
    for position, value in enumerate(values):
        plain = plain_value(value)
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
        if plain_value(key) is None:
            inside.reject(position, key, inside.type_text(data_type.key_type), "map keys cannot be NULL")
    key_array = _column(keys, data_type.key_field, inside)
    items = _column([item for _, item in pairs], data_type.item_field, place.inside("value", parents))
    return pa.MapArray.from_arrays(offsets, key_array, items, mask=_mask(maps))


def _flat(parts: list[Any]) -> tuple[list[int], pa.Array]:
    """Return the index of the enclosing part for each element, and the offsets of the parts."""
    lengths = [0 if part is None else len(part) for part in parts]
    parents = [number for number, length in enumerate(lengths) for _ in range(length)]
    return parents, pa.array([0, *accumulate(lengths)], pa.int32())


def _mask(values: list[Any]) -> pa.Array | None:
    mask = [value is None for value in values]
    return pa.array(mask, pa.bool_()) if any(mask) else None
