"""Converts values of the model to Arrow arrays of any layout, and back."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from histories.types import List, Map, Simple, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def build(values: Sequence[Any], kind: Type, arrow: pa.DataType) -> pa.Array:  # noqa: PLR0911
    """Return an array of an Arrow type that can hold values of the type."""
    if pa.types.is_dictionary(arrow):
        return build(values, kind, arrow.value_type).dictionary_encode()
    if pa.types.is_run_end_encoded(arrow):
        return pa.compute.run_end_encode(build(values, kind, arrow.value_type), run_end_type=arrow.run_end_type)
    match kind:
        case Struct(fields):
            # Values below NULL are never read.
            below = next((v for v in values if v is not None), dict.fromkeys(kind.names))
            children = [
                build([(below if v is None else v)[field.name] for v in values], field.type, arrow.field(i).type)
                for i, field in enumerate(fields)
            ]
            if not children:
                return pa.array([None if v is None else {} for v in values], arrow)
            return pa.StructArray.from_arrays(children, fields=list(arrow), mask=_mask(values))
        case List(element):
            below = next((v for v in values if v), [])
            filled = [below if v is None else v for v in values]
            return _lists(
                filled, _mask(values), build([e for v in filled for e in v], element, arrow.value_type), arrow
            )
        case Map(key, value):
            pairs = [pair for v in values if v is not None for pair in v]
            keys = build([k for k, _ in pairs], key, arrow.key_type)
            items = build([i for _, i in pairs], value, arrow.item_type)
            return pa.MapArray.from_arrays(_offsets(values), keys, items, type=arrow, mask=_mask(values))
        case _:
            return _simple(values, kind, arrow)


def table_of(rows: Sequence[dict[str, Any]], columns: Struct, types: Sequence[pa.DataType]) -> pa.Table:
    """Return rows as a table with these Arrow types."""
    arrays = [
        build([row[field.name] for row in rows], field.type, arrow)
        for field, arrow in zip(columns.fields, types, strict=True)
    ]
    fields = [
        pa.field(field.name, arrow, nullable=not field.required)
        for field, arrow in zip(columns.fields, types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def rows_of(data: pa.Table, columns: Struct) -> list[dict[str, Any]]:
    """Return the rows of a table, whose columns are these in their order, as values of the model."""
    found = [
        [value for chunk in column.chunks for value in read(chunk, field.type)]
        for column, field in zip(data.columns, columns.fields, strict=True)
    ]
    names = columns.names
    return [dict(zip(names, row, strict=True)) for row in zip(*found, strict=True)] if found else [{}] * data.num_rows


def read(array: pa.Array, kind: Type) -> list[Any]:
    """Return the values of an array."""
    match kind:
        case Struct(fields):
            children = [read(array.field(i), field.type) for i, field in enumerate(fields)]
            there = array.is_valid().to_pylist()
            names = [field.name for field in fields]
            return [
                dict(zip(names, (child[row] for child in children), strict=True)) if valid else None
                for row, valid in enumerate(there)
            ]
        case List(element):
            return _cut(array, read(array.values, element))
        case Map(key, value):
            pairs = zip(read(array.keys, key), read(array.items, value), strict=True)
            return _cut(array, list(pairs))
        case Simple("uuid"):
            return array.storage.to_pylist()
        case Simple("date" | "time" | "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns"):
            return array.view(pa.int32() if kind.name == "date" else pa.int64()).to_pylist()
        case _:
            return array.to_pylist()


def _simple(values: Sequence[Any], kind: Simple, arrow: pa.DataType) -> pa.Array:
    if kind.name == "uuid":
        storage = pa.array(values, pa.binary(16))
        return storage if pa.types.is_fixed_size_binary(arrow) else pa.ExtensionArray.from_storage(arrow, storage)
    unit = getattr(arrow, "unit", None)
    if unit is not None and kind.name != "date":
        stored = _PER_SECOND["ns" if kind.name.endswith("_ns") else "us"]
        values = [None if v is None else v * _PER_SECOND[unit] // stored for v in values]
    elif unit == "ms":
        values = [None if v is None else v * 86_400_000 for v in values]
    return pa.array(values, arrow)


def _lists(values: Sequence[Any], mask: pa.Array, child: pa.Array, arrow: pa.DataType) -> pa.Array:
    if pa.types.is_large_list(arrow):
        return pa.LargeListArray.from_arrays(_offsets(values, pa.int64()), child, type=arrow, mask=mask)
    if pa.types.is_list_view(arrow):
        offsets, sizes = _offsets(values)[:-1], pa.array([0 if v is None else len(v) for v in values], pa.int32())
        return pa.ListViewArray.from_arrays(offsets, sizes, child, type=arrow, mask=mask)
    return pa.ListArray.from_arrays(_offsets(values), child, type=arrow, mask=mask)


def _mask(values: Sequence[Any]) -> pa.Array:
    return pa.array([v is None for v in values], pa.bool_())


def _offsets(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
    lengths = (0 if v is None else len(v) for v in values)
    return pa.array(accumulate(lengths, initial=0), kind or pa.int32())


def _cut(array: pa.Array, values: list[Any]) -> list[Any]:
    ends = array.offsets.to_pylist()
    there = array.is_valid().to_pylist()
    return [values[ends[row] : ends[row + 1]] if valid else None for row, valid in enumerate(there)]
