"""Conversion of Spark columns to table columns; `frazil.spark.types` converts in the other direction.

| Spark | Iceberg |
|---|---|
| string | uuid |
| binary | fixed |
| variant | variant, whose parts are in a different order |

All other types are accepted unchanged, or rejected if they cannot be converted to the type of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import InvalidArgumentError
from frazil.spark._type_conversion import is_uuid, is_variant, storage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Convert = Callable[[pa.Array], pa.Array]

_UUID_BYTES = 16


class Taking:
    """A converter from Spark batches to batches that fit a table."""

    def __init__(self, target: pa.Schema) -> None:
        """Create a converter for rows of a table."""
        self._target = target
        self._rows = 0

    def all(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert all batches of a task."""
        for batch in batches:
            yield self.apply(batch)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch; columns that fit are not copied.

        Raises:
            InvalidArgumentError: A value does not fit its column; the message contains column and row.
        """
        columns = [self._column(field, column) for field, column in zip(batch.schema, batch.columns, strict=True)]
        for name, column in zip(batch.schema.names, columns, strict=True):
            self._check_fields(name, column)
        self._rows += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names) if columns else batch

    def _check_fields(self, name: str, column: pa.Array) -> None:
        """Check that required fields of structs have values."""
        place = self._target.get_field_index(name)
        missing = None if place < 0 else _missing_field(column, self._target.field(place).type, f"`{name}`")
        if missing is not None:
            path, row = missing
            message = f"the required field {path} is NULL in row {self._rows + row}"
            raise InvalidArgumentError(message, context={"column": name})

    def _column(self, field: pa.Field, values: pa.Array) -> pa.Array:
        place = self._target.get_field_index(field.name)
        convert = None if place < 0 else conversion(field.type, self._target.field(place))
        if convert is None:
            return values
        try:
            return convert(values)
        except (pa.ArrowInvalid, ValueError) as error:
            row = self._rows + _first_unfit(values, convert)
            message = f"the value of `{field.name}` in row {row} does not fit: {error}"
            raise InvalidArgumentError(message, context={"column": field.name}) from error


def _missing_field(column: pa.Array, wanted: pa.DataType, path: str) -> tuple[str, int] | None:
    """Return the first required field that is NULL in a struct, and the row; None if there is none."""
    if not (pa.types.is_struct(wanted) and pa.types.is_struct(column.type)):
        return None
    for name, values in zip(column.type.names, column.flatten(), strict=True):
        place = wanted.get_field_index(name)
        if place < 0 or not len(values):
            continue
        field, shown = wanted.field(place), f"{path}.`{name}`"
        if not field.nullable and values.null_count:
            row = pc.index(pc.and_(column.is_valid(), values.is_null()), value=True).as_py()
            if row >= 0:
                return shown, row
        if (found := _missing_field(values, field.type, shown)) is not None:
            return found
    return None


def _first_unfit(values: pa.Array, convert: Convert) -> int:
    """Return the first row that cannot be converted, by binary search."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(values.slice(low, middle - low))
        except (pa.ArrowInvalid, ValueError):
            high = middle
        else:
            low = middle
    return low


def conversion(source: pa.DataType, target: pa.Field) -> Convert | None:
    """Return a function that converts arrays of a Spark type to that of the field; None if no conversion is needed."""
    wanted = storage_of(target.type)
    if is_variant(target):
        is_other = pa.types.is_struct(source) and {part.name for part in source} == {"metadata", "value"}
        return _variant if is_other else None
    if not pa.types.is_fixed_size_binary(wanted):
        return _convert_nested(source, wanted)
    if is_uuid(target):
        return _uuid if _is_text(source) else None
    return (lambda array: _fixed(array, wanted.byte_width)) if _is_binary(source) else None


def _convert_nested(source: pa.DataType, wanted: pa.DataType) -> Convert | None:
    if pa.types.is_struct(source) and pa.types.is_struct(wanted):
        return _convert_struct(source, wanted)
    if pa.types.is_list(source) and pa.types.is_list(wanted):
        element = conversion(source.value_type, wanted.value_field)
        return None if element is None else lambda array: _list(array, element)
    if pa.types.is_map(source) and pa.types.is_map(wanted):
        key, item = conversion(source.key_type, wanted.key_field), conversion(source.item_type, wanted.item_field)
        return None if key is item is None else lambda array: _map(array, key, item)
    return None


def _convert_struct(source: pa.StructType, wanted: pa.StructType) -> Convert | None:
    known = {part.name: part for part in wanted}
    converts = [conversion(part.type, known[part.name]) if part.name in known else None for part in source]
    return (lambda array: _struct(array, converts)) if any(converts) else None


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))


def _is_binary(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type))


def _uuid(array: pa.Array) -> pa.Array:
    """Parse UUID strings, converting all digits to bytes in one call."""
    digits = pc.replace_substring(array.fill_null("0" * 2 * _UUID_BYTES), "-", "").cast(pa.string())
    if not pc.all(pc.match_substring_regex(digits, "^[0-9a-fA-F]{32}$"), min_count=0).as_py():
        message = "a UUID must have 32 hexadecimal digits"
        raise ValueError(message)
    text = "".join(digits.to_pylist())
    validity = pc.is_valid(array)
    made = pa.Array.from_buffers(pa.binary(_UUID_BYTES), len(array), [None, pa.py_buffer(bytes.fromhex(text))])
    return pc.if_else(validity, made, pa.scalar(None, pa.binary(_UUID_BYTES))) if array.null_count else made


def _fixed(array: pa.Array, width: int) -> pa.Array:
    lengths = pc.binary_length(array)
    if not pc.all(pc.equal(lengths, width), min_count=0).as_py():
        message = f"a value must have {width} bytes"
        raise ValueError(message)
    return array.cast(pa.binary(width))


def _variant(array: pa.StructArray) -> pa.Array:
    names = ["metadata", "value"]
    fields = [pa.field(name, pa.binary(), nullable=False) for name in names]
    # The parts of a NULL variant are NULL in Spark, but table variants require non-NULL parts.
    parts = [pc.struct_field(array, [name]).fill_null(b"") for name in names]
    return pa.StructArray.from_arrays([part.cast(pa.binary()) for part in parts], fields=fields, mask=_mask(array))


def _struct(array: pa.StructArray, converts: list[Convert | None]) -> pa.Array:
    parts = [array.field(place) for place in range(array.type.num_fields)]
    parts = [part if convert is None else convert(part) for part, convert in zip(parts, converts, strict=True)]
    names = [part.name for part in array.type]
    return pa.StructArray.from_arrays(parts, names=names, mask=_mask(array))


def _list(array: pa.ListArray, convert: Convert) -> pa.Array:
    # The first offset may be greater than 0. It is kept, because all elements in the child array are converted.
    return pa.ListArray.from_arrays(_offsets(array), convert(array.values), mask=_mask(array))


def _map(array: pa.MapArray, key: Convert | None, item: Convert | None) -> pa.Array:
    keys = array.keys if key is None else key(array.keys)
    items = array.items if item is None else item(array.items)
    return pa.MapArray.from_arrays(_offsets(array), keys, items, mask=_mask(array))


def _offsets(array: pa.Array) -> pa.Array:
    _, offsets, *_ = array.buffers()
    return pa.Array.from_buffers(pa.int32(), len(array) + 1, [None, offsets], offset=array.offset)


def _mask(array: pa.Array) -> pa.Array | None:
    return pc.is_null(array) if array.null_count else None
