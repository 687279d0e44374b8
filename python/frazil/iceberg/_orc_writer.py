"""ORC data files (`write.orc.*`), encoded by pyarrow; Iceberg's types as ORC has them (spec: appendix A, "ORC")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.iceberg._leaves import FIELD_ID, is_variant

if TYPE_CHECKING:
    from frazil import _native
    from frazil.iceberg._file_format import Properties, WrittenColumns

__all__ = ["OrcFormat"]

_CODECS = {"none": "uncompressed", "zlib": "zlib", "snappy": "snappy", "lz4": "lz4", "zstd": "zstd"}

_MICROSECONDS, _NANOSECONDS = 1_000_000, 1_000_000_000
_FARTHEST_NS = (1 << 63) - 1

_DICTIONARY_SHARE = 0.8
"""Text is a dictionary where so many of the values are distinct at most, as in Java."""


class OrcFormat:
    """How ORC files are written."""

    name = "ORC"
    extension = "orc"

    def __init__(self, rows: _native.RowWriter, properties: Properties) -> None:
        """As the properties of a table say."""
        schema = rows.schema()
        self._schema = pa.schema([_orc_field(field) for field in schema if not pa.types.is_null(field.type)])
        stripe_bytes = properties.number("write.orc.stripe-size-bytes")
        target_bytes = properties.number("write.target-file-size-bytes")
        # How long a file is shows when a stripe ends.
        self.group_bytes = min(stripe_bytes, max(target_bytes // 16, 1 << 16))
        self._options = {
            "compression": properties.codec("write.orc.compression-codec", _CODECS),
            "compression_strategy": (properties.value("write.orc.compression-strategy") or "").lower(),
            "stripe_size": self.group_bytes,
            "dictionary_key_size_threshold": _DICTIONARY_SHARE,
            "bloom_filter_fpp": properties.fraction("write.orc.bloom.filter.fpp"),
        }
        names = [name.strip() for name in (properties.value("write.orc.bloom.filter.columns") or "").split(",")]
        if any(names):
            self._options["bloom_filter_columns"] = _positions(schema, {name for name in names if name})

    def open(self, sink: Any, first: pa.Table) -> _OrcWriter:
        """Begin a file."""
        del first
        return _OrcWriter(self._schema, orc.ORCWriter(sink, **self._options))


class _OrcWriter:
    def __init__(self, schema: pa.Schema, writer: orc.ORCWriter) -> None:
        self._schema, self._writer = schema, writer

    def write(self, rows: pa.Table) -> None:
        columns = [
            _without_hidden(_stored(_without_offsets(rows.column(field.name)), field.type)) for field in self._schema
        ]
        # pyarrow cannot flatten lists of extension types, which stored values do not have.
        for column, field in zip(columns, self._schema, strict=True):
            for chunk in column.chunks:
                _check_timestamps(chunk, field.name)
        self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> WrittenColumns:
        self._writer.close()
        return {}, None


def _positions(schema: pa.Schema, names: set[str]) -> list[int]:
    """Find the numbers of columns among the types of a file; the root is 0."""
    found = {field.name.lower(): field for field in schema}
    wrong = next((name for name in names if name not in found or pa.types.is_nested(found[name].type)), None)
    if wrong is not None:
        message = f"write.orc.bloom.filter.columns names {wrong!r}, which is no column of values"
        raise InvalidArgumentError(message, context={"property": "write.orc.bloom.filter.columns"})
    positions, position = [], 1
    for field in schema:
        if field.name.lower() in names:
            positions.append(position)
        position += _count(field.type)
    return positions


def _count(data_type: pa.DataType) -> int:
    """How many types of a file a type takes."""
    if pa.types.is_null(data_type):
        return 0
    if pa.types.is_map(data_type):
        return 1 + _count(data_type.key_type) + _count(data_type.item_type)
    if pa.types.is_list(data_type):
        return 1 + _count(data_type.value_type)
    if pa.types.is_struct(data_type):
        return 1 + sum(_count(part.type) for part in data_type)
    return 1


def _orc_field(field: pa.Field) -> pa.Field:
    """Give a field of the type that ORC stores, with the attributes that say what it is."""
    data_type = field.type
    attributes = {"iceberg.id": field.metadata[FIELD_ID].decode(), "iceberg.required": str(not field.nullable).lower()}
    if is_variant(field) or pa.types.is_null(data_type):
        message = f"columns of type {'variant' if is_variant(field) else 'unknown'} are not written into ORC files"
        raise UnsupportedError(message, context={"column": field.name}, hint="set write.format.default to parquet")
    if isinstance(data_type, pa.UuidType):
        attributes["iceberg.binary-type"] = "UUID"
        data_type = pa.binary()
    elif pa.types.is_fixed_size_binary(data_type):
        attributes |= {"iceberg.binary-type": "FIXED", "iceberg.length": str(data_type.byte_width)}
        data_type = pa.binary()
    elif pa.types.is_time64(data_type):
        attributes["iceberg.long-type"] = "TIME"
        data_type = pa.int64()
    elif pa.types.is_timestamp(data_type):
        attributes["iceberg.timestamp-unit"] = "NANOS" if data_type.unit == "ns" else "MICROS"
    elif pa.types.is_struct(data_type):
        data_type = pa.struct([_orc_field(part) for part in data_type])
    elif pa.types.is_map(data_type):
        data_type = pa.map_(_orc_field(data_type.key_field), _orc_field(data_type.item_field))
    elif pa.types.is_list(data_type):
        data_type = pa.list_(_orc_field(data_type.value_field))
    return pa.field(field.name, data_type, field.nullable, attributes)


def _check_timestamps(values: Any, name: str) -> None:
    """Refuse moments that other readers would take for others.

    pyarrow stores fractions of a second before 1970 as negative numbers, of which Java's reader makes another second;
    years that nanoseconds do not reach cannot be read from its files by pyarrow.
    """
    data_type = values.type
    if pa.types.is_struct(data_type):
        for part, field in zip(values.flatten(), data_type, strict=True):
            _check_timestamps(part, f"{name}.{field.name}")
    elif pa.types.is_map(data_type):
        _check_timestamps(values.keys, f"{name}.key")
        _check_timestamps(values.items, f"{name}.value")
    elif pa.types.is_list(data_type):
        _check_timestamps(values.flatten(), f"{name}.element")
    elif pa.types.is_timestamp(data_type):
        ticks = values.cast(pa.int64())
        least, greatest = pc.min_max(ticks).values()
        second = _NANOSECONDS if data_type.unit == "ns" else _MICROSECONDS
        farthest = _FARTHEST_NS // (_NANOSECONDS // second)
        if not least.is_valid or (least.as_py() >= 0 and greatest.as_py() <= farthest):
            return
        before = ticks.filter(pc.less(ticks, 0))
        fraction = pc.any(pc.not_equal(pc.multiply(pc.divide(before, second), second), before)).as_py()
        if fraction or greatest.as_py() > farthest or least.as_py() < -farthest:
            what = "with a fraction of a second before 1970" if fraction else "outside 1677-2262"
            message = f"the column `{name}` holds moments {what}, which ORC files of pyarrow do not hold right"
            raise UnsupportedError(message, context={"column": name}, hint="set write.format.default to parquet")


def _without_offsets(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of which no array, at whatever depth, begins after the start of its buffers.

    pyarrow's ORC writer takes values of other rows for those in a struct that has an offset, or whose fields have one.
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


def _without_hidden(values: Any) -> Any:
    """Return the values with NULL in the fields of every struct that is NULL.

    pyarrow's ORC writer looks at the NULLs around a value only down to the first struct that is never NULL.
    Below it, the values that a NULL struct hides are written, and those after them move to other rows.
    """
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_without_hidden(chunk) for chunk in values.chunks], values.type)
    data_type = values.type
    if pa.types.is_struct(data_type):
        parts = [_without_hidden(part) for part in values.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(data_type), mask=values.is_null()) if parts else values
    if pa.types.is_map(data_type):
        keys, items = _without_hidden(values.keys), _without_hidden(values.items)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=data_type, mask=values.is_null())
    if pa.types.is_list(data_type):
        elements = _without_hidden(values.values)
        return pa.ListArray.from_arrays(values.offsets, elements, type=data_type, mask=values.is_null())
    return values


def _stored(values: Any, data_type: pa.DataType) -> Any:
    """Return the values as ORC stores them; nested ones have no offsets."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_stored(chunk, data_type) for chunk in values.chunks], data_type)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if values.type == data_type:
        return values
    if pa.types.is_struct(data_type):
        parts = [_stored(part, field.type) for part, field in zip(values.flatten(), data_type, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(data_type), mask=values.is_null())
    if pa.types.is_map(data_type):
        keys, items = _stored(values.keys, data_type.key_type), _stored(values.items, data_type.item_type)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=data_type, mask=values.is_null())
    if pa.types.is_list(data_type):
        elements = _stored(values.values, data_type.value_type)
        return pa.ListArray.from_arrays(values.offsets, elements, type=data_type, mask=values.is_null())
    return values.cast(data_type)
