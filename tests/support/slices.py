"""Random Arrow arrays of all types and nestings, and functions that add offsets to them."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

LONG = st.integers(-(2**63), 2**63 - 1)
# pyarrow's ORC files support neither fractions of a second before 1970 nor distant years.
MOMENTS = st.integers(0, 10**15)
DAYS = st.integers(0, 40_000).map(lambda days: dt.date(1970, 1, 1) + dt.timedelta(days))

LEAVES: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...] = (
    (pa.bool_(), st.booleans()),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), LONG),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.decimal128(9, 2), st.integers(-(10**9) + 1, 10**9 - 1).map(lambda number: Decimal(number).scaleb(-2))),
    (pa.decimal128(38, 0), st.integers(-(10**28) + 1, 10**28 - 1).map(Decimal)),
    (pa.date32(), DAYS),
    (pa.time64("us"), st.integers(0, 86_399_999_999)),
    (pa.timestamp("us"), MOMENTS),
    (pa.timestamp("us", "UTC"), MOMENTS),
    (pa.string(), st.text(max_size=3)),
    (pa.binary(), st.binary(max_size=3)),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.uuid(), st.uuids(version=4).map(lambda value: value.bytes)),
)

FOREIGN_LEAVES: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...] = (
    (pa.large_string(), st.text(max_size=3)),
    (pa.string_view(), st.text(max_size=20)),
    (pa.binary_view(), st.binary(max_size=20)),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from("abc")),
    (pa.int8(), st.integers(-128, 127)),
)
"""Types that tables do not have but writes accept."""


@st.composite
def _typed(draw: st.DrawFn, depth: int, *, foreign: bool) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    kinds = ["struct", "struct", "list", "map"] + (["large_list", "fixed_size_list", "list_view"] if foreign else [])
    if depth == 0 or (kind := draw(st.sampled_from(["leaf", *kinds]))) == "leaf":
        return draw(st.sampled_from(LEAVES + (FOREIGN_LEAVES if foreign else ())))
    inner, values = draw(_typed(depth - 1, foreign=foreign))
    values = st.none() | values
    if kind == "struct":
        other, others = draw(_typed(depth - 1, foreign=foreign))
        fields = [pa.field("x", inner), pa.field("y", other)]
        return pa.struct(fields), st.fixed_dictionaries({"x": values, "y": st.none() | others})
    if kind == "map":
        return pa.map_(pa.int32(), inner), st.dictionaries(st.integers(0, 9), values, max_size=3).map(
            lambda entries: list(entries.items())
        )
    if kind == "fixed_size_list":
        return pa.list_(inner, 2), st.lists(values, min_size=2, max_size=2)
    lists = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view}
    return lists[kind](inner), st.lists(values, max_size=3)


@st.composite
def arrays(draw: st.DrawFn, *, depth: int = 3, foreign: bool = False, rows: int = 20) -> pa.Array:
    """Return an array of up to `rows` random values, with NULLs at all levels."""
    data_type, values = draw(_typed(depth, foreign=foreign))
    return array(draw(st.lists(st.none() | values, min_size=1, max_size=rows)), data_type)


def array(values: list[Any], data_type: pa.DataType) -> pa.Array:  # noqa: PLR0911 - a way for each kind of type
    """Return an array of values; pyarrow does not accept values of nested extension types or views."""
    if isinstance(data_type, pa.UuidType):
        return pa.ExtensionArray.from_storage(data_type, pa.array(values, pa.binary(16)))
    if pa.types.is_struct(data_type):
        parts = [
            array([None if value is None else value[field.name] for value in values], field.type) for field in data_type
        ]
        return pa.StructArray.from_arrays(parts, fields=list(data_type), mask=_mask(values))
    if pa.types.is_map(data_type):
        entries = [entry for value in values if value is not None for entry in value]
        keys = array([key for key, _ in entries], data_type.key_type)
        items = array([item for _, item in entries], data_type.item_type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=data_type, mask=_mask(values))
    if pa.types.is_fixed_size_list(data_type):
        elements = [element for value in values for element in (value or [None] * data_type.list_size)]
        inner = array(elements, data_type.value_type)
        return pa.FixedSizeListArray.from_arrays(inner, type=data_type, mask=_mask(values))
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        inner = array([element for value in values if value is not None for element in value], data_type.value_type)
        kind, width = (
            (pa.LargeListArray, pa.int64()) if pa.types.is_large_list(data_type) else (pa.ListArray, pa.int32())
        )
        return kind.from_arrays(_offsets(values).cast(width), inner, type=data_type, mask=_mask(values))
    if pa.types.is_list_view(data_type):
        inner = array([element for value in values for element in value or ()], data_type.value_type)
        sizes = pa.array([len(value or ()) for value in values], pa.int32())
        return pa.ListViewArray.from_arrays(_offsets(values)[:-1], sizes, inner, type=data_type, mask=_mask(values))
    return pa.array(values, data_type)


def _mask(values: list[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())


def _offsets(values: list[Any]) -> pa.Array:
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value or ()))
    return pa.array(ends, pa.int32())


def shifted(values: pa.Array, by: int) -> pa.Array:
    """Return the same values in an array whose buffers have other rows before and after them."""
    around = [values[len(values) - 1 - index % len(values) :][:1] for index in range(by)] if len(values) else []
    return pa.concat_arrays([*around, values, *around]).slice(len(around), len(values))


def deeply_shifted(values: pa.Array, by: int) -> pa.Array:
    """Return the same values with such an offset at every level of a struct."""
    if isinstance(values, pa.StructArray) and not values.offset:
        parts = [deeply_shifted(values.field(index), by) for index in range(values.type.num_fields)]
        values = pa.StructArray.from_arrays(parts, fields=list(values.type), mask=values.is_null())
    return shifted(values, by)


def shifted_batch(batch: pa.RecordBatch, by: int) -> pa.RecordBatch:
    """Return the same rows with offsets in all columns."""
    columns = [deeply_shifted(column, by) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def plain(values: Any) -> Any:
    """Return values in a form in which equal values compare as equal, regardless of their Python types."""
    if isinstance(values, pa.Array | pa.ChunkedArray | pa.Table):
        return plain(values.to_pylist())
    if isinstance(values, dict):
        return {name: plain(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [plain(value) for value in values]
    # NaN is not equal to itself.
    return str(values) if isinstance(values, uuid.UUID) or values != values else values  # noqa: PLR0124
