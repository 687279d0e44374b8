"""ORC data files, encoded by pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from frazil.errors import UnsupportedError
from frazil.files.write.leaves import is_variant
from frazil.files.write.stored import as_stored, without_offsets

if TYPE_CHECKING:
    from collections.abc import Collection

    from frazil.files.write.options import WriterOptions, WrittenColumns

__all__ = ["OrcFormat"]

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FARTHEST_NS = (1 << 63) - 1

_DICTIONARY_SHARE = 0.8
"""The maximum share of distinct strings for which a dictionary is used, as in Java."""


class OrcFormat:
    """The ORC format of the files in one write."""

    name = "ORC"
    extension = "orc"

    def __init__(self, schema: pa.Schema, options: WriterOptions) -> None:
        """Check that ORC supports the types of the columns."""
        fields = [_orc_field(field, options) for field in schema if not pa.types.is_null(field.type)]
        self._schema, self._hint = pa.schema(fields), options.parquet_hint
        # A small group size is needed because the length of an ORC file is known only at the end of a stripe.
        self.group_bytes = min(options.row_group_bytes, max(options.target_file_bytes // 16, 1 << 16))
        self._options: dict[str, Any] = {
            "compression": options.codec,
            "compression_strategy": options.compression_strategy,
            "stripe_size": self.group_bytes,
            "dictionary_key_size_threshold": _DICTIONARY_SHARE,
        }
        if options.bloom_filters:
            # ORC supports only one false positive probability for all columns.
            self._options["bloom_filter_fpp"] = min(found.fpp for found in options.bloom_filters.values())
            self._options["bloom_filter_columns"] = _positions(schema, options.bloom_filters)

    def open(self, sink: Any, first: pa.Table) -> _OrcWriter:
        """Start a file."""
        del first
        return _OrcWriter(self._schema, orc.ORCWriter(sink, **self._options), self._hint)


class _OrcWriter:
    def __init__(self, schema: pa.Schema, writer: orc.ORCWriter, hint: str) -> None:
        self._schema, self._writer, self._hint = schema, writer, hint

    def write(self, rows: pa.Table) -> None:
        columns = [
            _without_hidden(as_stored(without_offsets(rows.column(field.name)), field.type)) for field in self._schema
        ]
        # pyarrow cannot flatten lists of extension types, so the stored types are used.
        for column, field in zip(columns, self._schema, strict=True):
            for chunk in column.chunks:
                _check_timestamps(chunk, field.name, self._hint)
        self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> WrittenColumns:
        self._writer.close()
        return {}, None


def _positions(schema: pa.Schema, names: Collection[str]) -> list[int]:
    """Return the type ids of columns in an ORC file, in which the root has id 0."""
    positions, position = [], 1
    for field in schema:
        if field.name in names:
            positions.append(position)
        position += _count(field.type)
    return positions


def _count(data_type: pa.DataType) -> int:
    """Return the number of ORC type ids that a column of an Arrow type occupies."""
    if pa.types.is_null(data_type):
        return 0
    if pa.types.is_map(data_type):
        return 1 + _count(data_type.key_type) + _count(data_type.item_type)
    if pa.types.is_list(data_type):
        return 1 + _count(data_type.value_type)
    if pa.types.is_struct(data_type):
        return 1 + sum(_count(part.type) for part in data_type)
    return 1


def _orc_field(field: pa.Field, options: WriterOptions) -> pa.Field:
    """Return a field with the type that ORC stores and the attributes that describe it."""
    data_type = field.type
    if is_variant(field) or pa.types.is_null(data_type):
        name = "variant" if is_variant(field) else options.type_name(data_type)
        message = f"columns of type {name} cannot be written to ORC files"
        raise UnsupportedError(message, context={"column": field.name}, hint=options.parquet_hint)
    attributes = dict(options.orc_attributes(field)) if options.orc_attributes else {}
    if isinstance(data_type, pa.UuidType) or pa.types.is_fixed_size_binary(data_type):
        data_type = pa.binary()
    elif pa.types.is_time64(data_type):
        data_type = pa.int64()
    elif pa.types.is_time32(data_type):
        data_type = pa.int32()
    elif pa.types.is_struct(data_type):
        data_type = pa.struct([_orc_field(part, options) for part in data_type])
    elif pa.types.is_map(data_type):
        data_type = pa.map_(_orc_field(data_type.key_field, options), _orc_field(data_type.item_field, options))
    elif pa.types.is_list(data_type):
        data_type = pa.list_(_orc_field(data_type.value_field, options))
    return pa.field(field.name, data_type, field.nullable, attributes)


def _check_timestamps(values: Any, name: str, hint: str) -> None:
    """Reject timestamps that pyarrow or Java readers would read incorrectly from an ORC file.

    pyarrow stores fractions of a second before 1970 as negative numbers, which Java's reader turns into another second.
    pyarrow cannot read years outside the range of nanoseconds from its own files.
    """
    data_type = values.type
    if pa.types.is_struct(data_type):
        for part, field in zip(values.flatten(), data_type, strict=True):
            _check_timestamps(part, f"{name}.{field.name}", hint)
    elif pa.types.is_map(data_type):
        _check_timestamps(values.keys, f"{name}.key", hint)
        _check_timestamps(values.items, f"{name}.value", hint)
    elif pa.types.is_list(data_type):
        _check_timestamps(values.flatten(), f"{name}.element", hint)
    elif pa.types.is_timestamp(data_type):
        ticks = values.cast(pa.int64())
        least, greatest = pc.min_max(ticks).values()
        second = _PER_SECOND[data_type.unit]
        farthest = _FARTHEST_NS // (_PER_SECOND["ns"] // second)
        if not least.is_valid or (least.as_py() >= 0 and greatest.as_py() <= farthest):
            return
        before = ticks.filter(pc.less(ticks, 0))
        fraction = pc.any(_fractions(before, second)).as_py()
        if fraction or greatest.as_py() > farthest or least.as_py() < -farthest:
            what = "cannot have fractions of a second before 1970" if fraction else "hold 1677 to 2262 only"
            bad = (
                _fractions(before, second)
                if fraction
                else pc.or_(pc.greater(ticks, farthest), pc.less(ticks, -farthest))
            )
            value = (before if fraction else ticks).filter(bad)[0].cast(data_type).cast(pa.string())
            message = f"column `{name}` contains {value}, but timestamps in ORC files {what}"
            raise UnsupportedError(message, context={"column": name}, hint=hint)


def _fractions(ticks: Any, second: int) -> Any:
    """Return a mask of the ticks that are not whole seconds."""
    return pc.not_equal(pc.multiply(pc.divide(ticks, second), second), ticks)


def _without_hidden(values: Any) -> Any:
    """Return the values with all fields of NULL structs set to NULL.

    pyarrow's ORC writer applies the NULLs of enclosing structs from the outside in, and stops at the first struct
    without NULLs. Values in a NULL struct further inside are therefore written, and the values after them are shifted
    to other rows.
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
