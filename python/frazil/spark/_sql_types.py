"""Spark types in the notation of CREATE TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as spark

from frazil.errors import UnsupportedError
from frazil.sql._column_types import Array, Column, Map, Primitive, Struct

if TYPE_CHECKING:
    from frazil.sql._column_types import ColumnType

_PRIMITIVES: dict[type[spark.DataType], str] = {
    spark.BinaryType: "BINARY",
    spark.BooleanType: "BOOLEAN",
    spark.ByteType: "TINYINT",
    spark.DateType: "DATE",
    spark.DoubleType: "DOUBLE",
    spark.FloatType: "FLOAT",
    spark.IntegerType: "INT",
    spark.LongType: "BIGINT",
    spark.ShortType: "SMALLINT",
    spark.StringType: "STRING",
    spark.TimestampNTZType: "TIMESTAMP_NTZ",
    spark.TimestampType: "TIMESTAMP_LTZ",
    spark.VariantType: "VARIANT",
}


def sql_columns(schema: spark.StructType) -> list[Column]:
    """Return columns that are nullable at all depths, as Spark creates them in CREATE TABLE … AS.

    Raises:
        UnsupportedError: Tables do not support a type.

    >>> [column.type for column in sql_columns(spark.StructType().add("a", spark.ArrayType(spark.DecimalType(9, 2))))]
    [Array(element=Primitive(name='DECIMAL', numbers=(9, 2)), element_required=False)]
    """
    return [_column(field, field.name) for field in schema]


def _column(field: spark.StructField, path: str) -> Column:
    comment = (field.metadata or {}).get("comment")
    return Column(field.name, _type(field.dataType, path), comment=None if comment is None else str(comment))


def _type(found: spark.DataType, path: str) -> ColumnType:
    if isinstance(found, spark.StructType):
        return Struct(tuple(_column(field, f"{path}.{field.name}") for field in found))
    if isinstance(found, spark.ArrayType):
        return Array(_type(found.elementType, f"{path}.element"))
    if isinstance(found, spark.MapType):
        return Map(_type(found.keyType, f"{path}.key"), _type(found.valueType, f"{path}.value"))
    if isinstance(found, spark.DecimalType):
        return Primitive("DECIMAL", (found.precision, found.scale))
    name = _PRIMITIVES.get(type(found))
    if name is None:
        message = f"column `{path}` of the query: tables do not support the type {found.simpleString()}"
        raise UnsupportedError(message, context={"column": path}, hint="use a CAST")
    return Primitive(name)
