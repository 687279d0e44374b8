"""Conversion of Arrow types to Spark types, and of Arrow arrays to the form that Spark accepts from Python.

| Iceberg | Paimon | Spark |
|---|---|---|
| | TINYINT, SMALLINT | tinyint, smallint |
| uuid | | string, 36 characters |
| fixed, geometry, geography | BINARY, VARBINARY, BLOB | binary |
| | CHAR, VARCHAR | string |
| timestamp, timestamptz | TIMESTAMP(0) to (6), the same WITH LOCAL TIME ZONE | timestamp_ntz, timestamp |
| timestamp_ns, timestamptz_ns | TIMESTAMP(7) to (9), the same WITH LOCAL TIME ZONE | see below |
| time | TIME | time(6) |
| | MULTISET of t | map of t to int |
| variant | VARIANT | variant |
| unknown | | void |

Nanoseconds raise an error. With the option `timestamp-ns-mode` they become microseconds (`micros`, rounded down) or a
long (`long`).

All other types have an equivalent of the same name. An array is converted only if its layout differs; other arrays are
passed on unchanged.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Convert = Callable[[pa.Array], pa.Array]

_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
"""The keyword argument of `to_arrow_schema` for UTC: Spark 4.1 always uses UTC, later releases require the argument."""

_UUID = "arrow.uuid"
_VARIANT = "arrow.parquet.variant"
_VARIANT_PARTS = [pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")]
_TIME_DIGITS = 6
_UUID_BYTES = 16
_UUID_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
_NS_PER_US = 1000


def spark_schema(schema: pa.Schema, timestamp_ns: str) -> spark.StructType:
    """Return the schema in Spark types.

    Raises:
        UnsupportedError: Spark does not support the type of a column; the error contains the column.
    """
    return spark.StructType([_spark_field(field, field.name, timestamp_ns) for field in schema])


def check_schema(wanted: spark.StructType, offered: spark.StructType) -> None:
    """Check that a user-provided schema contains only existing columns with their types.

    Raises:
        InvalidArgumentError: A column does not exist, has another type, or is nullable.
    """
    fields = {field.name: field for field in offered}
    for want in wanted:
        have = fields.get(want.name)
        if have is None:
            message = f"the table has no column `{want.name}`"
            raise InvalidArgumentError(message, hint=f"the columns are {', '.join(fields)}")
        if want.dataType.simpleString() != have.dataType.simpleString():
            message = (
                f"column `{want.name}` is {have.dataType.simpleString()}, not {want.dataType.simpleString()} as in "
                "the given schema"
            )
            raise InvalidArgumentError(message, hint="omit the schema, or cast after the read")
        if have.nullable and not want.nullable:
            message = f"column `{want.name}` may contain NULL, which the given schema excludes"
            raise InvalidArgumentError(message, hint="make it nullable in the schema")


def is_plain(field: pa.Field) -> bool:
    """Return whether values of a column compare the same in Spark and in the table, because the type is the same."""
    data_type = storage_of(field.type)
    nanos = pa.types.is_timestamp(data_type) and data_type.unit == "ns"
    other = _extension(field) or is_variant(field)
    return not (other or nanos or pa.types.is_fixed_size_binary(data_type) or pa.types.is_time(data_type))


class Conversion:
    """A converter from batches of an Arrow schema to batches of a Spark schema, with its columns in its order."""

    def __init__(self, source: pa.Schema, target: spark.StructType) -> None:
        """Prepare the conversion; the columns must have passed `check_schema`."""
        self._indices = [source.names.index(field.name) for field in target]
        pairs = list(zip((source.field(index) for index in self._indices), target, strict=True))
        self.schema = pa.schema([_arrow_field(have, want) for have, want in pairs])
        self._converts = [_convert(have, want.type) for (have, _), want in zip(pairs, self.schema, strict=True)]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch; columns that fit are not copied.

        Raises:
            UnsupportedError: A value does not fit Spark's type, such as a millisecond timestamp far in the future.
        """
        names = self.schema.names
        if not names:
            return batch.select([])  # this keeps the number of rows, unlike `from_arrays`
        columns = [
            batch.column(index) if convert is None else _named(name, batch.column(index), convert)
            for name, index, convert in zip(names, self._indices, self._converts, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _spark_field(field: pa.Field, path: str, timestamp_ns: str) -> spark.StructField:
    return spark.StructField(field.name, _spark_type(field, path, timestamp_ns), field.nullable)


def _spark_type(field: pa.Field, path: str, timestamp_ns: str) -> spark.DataType:
    data_type = storage_of(field.type)
    if is_uuid(field):
        return spark.StringType()
    if is_variant(field):
        return spark.VariantType()
    if pa.types.is_nested(data_type):
        return _nested_type(data_type, path, timestamp_ns)
    return _scalar_type(data_type, path, timestamp_ns)


def _nested_type(data_type: pa.DataType, path: str, timestamp_ns: str) -> spark.DataType:
    if pa.types.is_struct(data_type):
        return spark.StructType([_spark_field(child, f"{path}.{child.name}", timestamp_ns) for child in data_type])
    if pa.types.is_list(data_type):
        element = data_type.value_field
        return spark.ArrayType(_spark_type(element, f"{path}.element", timestamp_ns), element.nullable)
    if not pa.types.is_map(data_type):
        raise _lacking(path, str(data_type))
    value = data_type.item_field
    return spark.MapType(
        _spark_type(data_type.key_field, f"{path}.key", timestamp_ns),
        _spark_type(value, f"{path}.value", timestamp_ns),
        value.nullable,
    )


def _scalar_type(data_type: pa.DataType, path: str, timestamp_ns: str) -> spark.DataType:
    if pa.types.is_decimal128(data_type):
        return spark.DecimalType(data_type.precision, data_type.scale)
    if pa.types.is_time(data_type):
        return _time_type(path)
    if pa.types.is_timestamp(data_type):
        return _timestamp_type(data_type, path, timestamp_ns)
    simple = _SIMPLE.get(data_type.id)
    if simple is None:
        raise _lacking(path, str(data_type))
    return simple()


_SIMPLE: dict[int, type[spark.DataType]] = {
    pa.bool_().id: spark.BooleanType,
    pa.int8().id: spark.ByteType,
    pa.int16().id: spark.ShortType,
    pa.int32().id: spark.IntegerType,
    pa.int64().id: spark.LongType,
    pa.float32().id: spark.FloatType,
    pa.float64().id: spark.DoubleType,
    pa.date32().id: spark.DateType,
    pa.string().id: spark.StringType,
    pa.binary().id: spark.BinaryType,
    pa.binary(1).id: spark.BinaryType,
    pa.null().id: spark.NullType,
}


def _time_type(path: str) -> spark.DataType:
    time_type = getattr(spark, "TimeType", None)
    if time_type is None:
        raise _lacking(path, "time", "use Spark 4.1 or later")
    found: spark.DataType = time_type(_TIME_DIGITS)
    return found


def _timestamp_type(data_type: pa.TimestampType, path: str, timestamp_ns: str) -> spark.DataType:
    if data_type.unit == "ns":
        if timestamp_ns == "error":
            way = "set the option `timestamp-ns-mode`: `micros` to round down to microseconds, `long` for nanoseconds"
            raise _lacking(path, "timestamp_ns" if data_type.tz is None else "timestamptz_ns", way)
        if timestamp_ns == "long":
            return spark.LongType()
    return spark.TimestampNTZType() if data_type.tz is None else spark.TimestampType()


def _lacking(path: str, what: str, way: str | None = None) -> UnsupportedError:
    others = "list only the other columns in the option `columns`"
    message = f"Spark does not support {what}, the type of column `{path}`; {way + ', or ' if way else ''}{others}"
    return UnsupportedError(message, context={"column": path})


def _arrow_field(source: pa.Field, target: spark.StructField) -> pa.Field:
    return pa.field(target.name, _arrow_type(source, target.dataType), target.nullable)


def _arrow_type(source: pa.Field, target: spark.DataType) -> pa.DataType:
    """Return the Arrow type that Spark accepts for values of its type `target`; `source` has its shape."""
    have = storage_of(source.type)
    match target:
        case spark.VariantType():
            # Spark recognizes a variant by the key `variant` in the metadata of this field.
            metadata = pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"})
            result = pa.struct([pa.field("value", pa.binary(), nullable=False), metadata])
        case spark.StructType():
            children = {child.name: child for child in have}
            result = pa.struct([_arrow_field(children[field.name], field) for field in target])
        case spark.ArrayType():
            element = _arrow_type(have.value_field, target.elementType)
            result = pa.list_(pa.field("element", element, target.containsNull))
        case spark.MapType():
            key = pa.field("key", _arrow_type(have.key_field, target.keyType), nullable=False)
            value = _arrow_type(have.item_field, target.valueType)
            result = pa.map_(key, pa.field("value", value, target.valueContainsNull))
        case spark.TimestampType():
            result = pa.timestamp("us", "UTC")
        case _:
            result = _ARROW.get(type(target), have)
    return result


_ARROW: dict[type[spark.DataType], pa.DataType] = {
    spark.StringType: pa.string(),
    spark.BinaryType: pa.binary(),
    spark.LongType: pa.int64(),
    spark.TimestampNTZType: pa.timestamp("us"),
    spark.TimeType: pa.time64("ns"),
}


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """Return the Arrow schema of Spark rows, whose timestamps are in UTC."""
    return to_arrow_schema(schema, **_IN_UTC)


def _convert(source: pa.Field, target: pa.DataType) -> Convert | None:
    """Return a function that converts arrays of the field to the type; None if no conversion is needed."""
    have = storage_of(source.type)
    if is_uuid(source):
        return _uuid_text
    if is_variant(source):
        return lambda array: _struct(_plain(array), target, [None, None])
    if pa.types.is_nested(have):
        return rebuilt(have, target)
    if have == target:
        return None
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(target) and have.unit == "ns":
        return lambda array: _micros(array).view(target)
    return lambda array: array.cast(target)


def _named(name: str, array: pa.Array, convert: Convert) -> pa.Array:
    try:
        return convert(array)
    except pa.ArrowInvalid as error:
        message = f"Spark's type for column `{name}` cannot hold all of its values: {error}"
        raise UnsupportedError(message, context={"column": name}) from error


def rebuilt(have: pa.DataType, target: pa.DataType) -> Convert | None:
    """Return a function that converts nested arrays to a type of the same shape; None if no conversion is needed."""
    if pa.types.is_struct(have):
        parts = [_convert(have.field(child.name), child.type) for child in target]
        rebuild = _struct
    elif pa.types.is_list(have):
        parts = [_convert(have.value_field, target.value_type)]
        rebuild = _list
    else:
        parts = [_convert(have.key_field, target.key_type), _convert(have.item_field, target.item_type)]
        rebuild = _map
    if have == target and not any(parts):
        return None
    return lambda array: rebuild(array, target, parts)


def storage_of(data_type: pa.DataType) -> pa.DataType:
    """Return the storage type of values."""
    return data_type.storage_type if isinstance(data_type, pa.BaseExtensionType) else data_type


def _extension(field: pa.Field) -> str:
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    return str((field.metadata or {}).get(b"ARROW:extension:name", b""), "utf-8")


def is_uuid(field: pa.Field) -> bool:
    """Return whether values are UUIDs."""
    return _extension(field) == _UUID


def is_variant(field: pa.Field) -> bool:
    """Return whether values are variants: marked as such, or with the parts of a variant and without field ids."""
    if _extension(field):
        return _extension(field) == _VARIANT
    data_type = field.type
    return (
        pa.types.is_struct(data_type)
        and list(data_type) == _VARIANT_PARTS
        and not any(child.metadata for child in data_type)
    )


def _plain(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _uuid_text(array: pa.Array) -> pa.Array:
    """Format UUIDs as strings: all bytes become hexadecimal digits in one call, then dashes join the groups."""
    array = _plain(array)
    validity, values = array.buffers()
    if values is None:
        return pa.nulls(len(array), pa.string())
    start, end = array.offset * _UUID_BYTES, (array.offset + len(array)) * _UUID_BYTES
    digits = pa.py_buffer(memoryview(values)[start:end].hex().encode())
    text = pa.Array.from_buffers(pa.binary(2 * _UUID_BYTES), len(array), [None, digits]).cast(pa.string())
    groups = [pc.utf8_slice_codeunits(text, start, end) for start, end in _UUID_GROUPS]
    joined = pc.binary_join_element_wise(*groups, "-")
    return joined if validity is None else pc.if_else(array.is_valid(), joined, pa.scalar(None, pa.string()))


def _micros(array: pa.Array) -> pa.Array:
    """Round nanoseconds down to microseconds, as integers."""
    nanos = array.view(pa.int64())
    micros = pc.divide(nanos, _NS_PER_US)
    below = pc.less(nanos, pc.multiply(micros, _NS_PER_US))
    return pc.subtract(micros, below.cast(pa.int64()))


def _struct(array: pa.StructArray, target: pa.StructType, converts: Sequence[Convert | None]) -> pa.Array:
    children = [_converted(array.field(child.name), convert) for child, convert in zip(target, converts, strict=True)]
    validity = None
    if array.null_count:
        validity = pc.if_else(array.is_valid(), pa.scalar(value=True), pa.scalar(value=False)).buffers()[1]
    return pa.Array.from_buffers(target, len(array), [validity], children=children)


def _list(array: pa.ListArray, target: pa.ListType, converts: Sequence[Convert | None]) -> pa.Array:
    return _rebuilt(array, target, _converted(array.values, converts[0]))


def _map(array: pa.MapArray, target: pa.MapType, converts: Sequence[Convert | None]) -> pa.Array:
    columns = [_converted(part, convert) for part, convert in zip((array.keys, array.items), converts, strict=True)]
    entries = pa.struct([target.key_field, target.item_field])
    return _rebuilt(array, target, pa.Array.from_buffers(entries, len(columns[0]), [None], children=columns))


def _rebuilt(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    """Return the array with another child array.

    The offsets are kept, so `child` must contain all elements of the original child.
    """
    return pa.Array.from_buffers(
        target, len(array), array.buffers()[:2], array.null_count, array.offset, children=[child]
    )


def _converted(array: pa.Array, convert: Convert | None) -> pa.Array:
    return array if convert is None else convert(array)
