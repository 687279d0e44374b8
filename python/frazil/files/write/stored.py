"""Conversion of values to the types that files store, which may differ from the types of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["as_stored", "with_types", "without_offsets"]


def with_types(field: pa.Field, change: Callable[[pa.DataType], pa.DataType]) -> pa.Field:
    """Return a field with its value types changed at any depth; names and metadata are kept."""
    data_type = field.type
    if pa.types.is_struct(data_type):
        return field.with_type(pa.struct([with_types(part, change) for part in data_type]))
    if pa.types.is_map(data_type):
        key, item = with_types(data_type.key_field, change), with_types(data_type.item_field, change)
        return field.with_type(pa.map_(key, item))
    if pa.types.is_list(data_type):
        return field.with_type(pa.list_(with_types(data_type.value_field, change)))
    return field.with_type(change(data_type))


def as_stored(values: Any, data_type: pa.DataType) -> Any:
    """Return values converted to a type of the same shape.

    If the type differs, the returned arrays have no offsets.
    """
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([as_stored(chunk, data_type) for chunk in values.chunks], data_type)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if values.type == data_type:
        return values
    if pa.types.is_struct(data_type):
        parts = [as_stored(part, field.type) for part, field in zip(_fields(values), data_type, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(data_type), mask=values.is_null())
    if pa.types.is_map(data_type):
        keys, items = as_stored(values.keys, data_type.key_type), as_stored(values.items, data_type.item_type)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=data_type, mask=values.is_null())
    if pa.types.is_list(data_type):
        elements = as_stored(values.values, data_type.value_type)
        return pa.ListArray.from_arrays(values.offsets, elements, type=data_type, mask=values.is_null())
    return values.cast(data_type)


def _fields(values: pa.StructArray) -> list[pa.Array]:
    """Return the child arrays unmasked: values in a NULL struct must stay, as fields may not be nullable."""
    return [values.field(index) for index in range(values.type.num_fields)]


def without_offsets(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose arrays have no offset at any depth.

    If a struct or one of its fields has an offset, pyarrow's ORC writer writes the values of other rows.
    """
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([_copied(chunk) if _has_offset(chunk) else chunk for chunk in column.chunks], column.type)


def _copied(values: pa.Array) -> pa.Array:
    return pa.concat_arrays([values, values[:0]])


def _has_offset(values: pa.Array) -> bool:
    if isinstance(values, pa.ExtensionArray):
        return _has_offset(values.storage)
    if values.offset:
        return True
    if isinstance(values, pa.StructArray):
        return any(_has_offset(values.field(index)) for index in range(values.type.num_fields))
    if isinstance(values, pa.MapArray):
        return _has_offset(values.keys) or _has_offset(values.items)
    return isinstance(values, pa.ListArray) and _has_offset(values.values)
