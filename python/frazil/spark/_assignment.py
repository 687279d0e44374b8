"""Columns of a query assigned to columns of a table, by Spark's rules for INSERT (store assignment, policy ANSI)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as spark

from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

_DATETIMES = (spark.DateType, spark.TimestampType, spark.TimestampNTZType)
_INTEGERS = (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)


def assigned(frame: DataFrame, table: spark.StructType, columns: Sequence[str] | None) -> DataFrame:
    """Return a query with the names and types of the columns of a table, which it is given by position.

    Args:
        frame: The query.
        table: The columns of the table.
        columns: Those that the query is for; all if None. Others are left out.

    Raises:
        InvalidArgumentError: Another number of columns, an unknown column, or a value that Spark does not assign.
        UnsupportedError: A value that would be changed without a check, since the session is not in ANSI mode.
    """
    from pyspark.sql import functions

    targets = list(table) if columns is None else [_column(name, table) for name in columns]
    twice = next((field.name for place, field in enumerate(targets) if field in targets[:place]), None)
    if twice is not None:
        message = f"column `{twice}` is named twice"
        raise InvalidArgumentError(message, context={"column": twice})
    if len(frame.schema) != len(targets):
        message = f"the rows have {len(frame.schema)} columns, the table takes {len(targets)}"
        raise InvalidArgumentError(message, hint=f"the columns are {', '.join(field.name for field in targets)}")
    ansi = str(frame.sparkSession.conf.get("spark.sql.ansi.enabled", "true")).lower() == "true"
    names = [f"_{place}" for place in range(len(targets))]
    values = frame.toDF(*names)
    for target, source in zip(targets, frame.schema, strict=True):
        _check(source.dataType, target, checked=ansi)
    return values.select(
        *(
            functions.col(name).cast(target.dataType).alias(target.name)
            for name, target in zip(names, targets, strict=True)
        )
    )


def can_assign(source: spark.DataType, target: spark.DataType) -> bool:
    """Return whether Spark assigns values of a type to a column.

    >>> can_assign(spark.LongType(), spark.IntegerType()), can_assign(spark.StringType(), spark.IntegerType())
    (True, False)
    """
    if isinstance(source, spark.NullType) or source.simpleString() == target.simpleString():
        return True
    if isinstance(source, spark.ArrayType) and isinstance(target, spark.ArrayType):
        return can_assign(source.elementType, target.elementType)
    if isinstance(source, spark.MapType) and isinstance(target, spark.MapType):
        return can_assign(source.keyType, target.keyType) and can_assign(source.valueType, target.valueType)
    if isinstance(source, spark.StructType) and isinstance(target, spark.StructType):
        return len(source) == len(target) and all(
            can_assign(have.dataType, want.dataType) for have, want in zip(source, target, strict=True)
        )
    if isinstance(target, spark.StringType):
        return isinstance(source, spark.AtomicType)
    return (isinstance(source, spark.NumericType) and isinstance(target, spark.NumericType)) or (
        isinstance(source, _DATETIMES) and isinstance(target, _DATETIMES)
    )


def is_widened(source: spark.DataType, target: spark.DataType) -> bool:
    """Return whether each value of a type is one of another type, so that a cast never changes it."""
    if isinstance(source, spark.NullType) or source.simpleString() == target.simpleString():
        return True
    if isinstance(source, _INTEGERS):
        kinds = [type(kind) for kind in (spark.ByteType(), spark.ShortType(), spark.IntegerType(), spark.LongType())]
        if isinstance(target, _INTEGERS):
            return kinds.index(type(source)) <= kinds.index(type(target))
        return isinstance(target, spark.DoubleType) and not isinstance(source, spark.LongType)
    if isinstance(source, spark.DecimalType) and isinstance(target, spark.DecimalType):
        whole = source.precision - source.scale <= target.precision - target.scale
        return whole and source.scale <= target.scale
    return isinstance(source, spark.FloatType) and isinstance(target, spark.DoubleType)


def _check(source: spark.DataType, target: spark.StructField, *, checked: bool) -> None:
    types = f"column `{target.name}`: {source.simpleString()} cannot be assigned to {target.dataType.simpleString()}"
    if not can_assign(source, target.dataType):
        raise InvalidArgumentError(types, context={"column": target.name}, hint="write a CAST")
    if not checked and not is_widened(source, target.dataType):
        hint = "set spark.sql.ansi.enabled to true, or write a CAST"
        message = f"{types} without ANSI mode"
        raise UnsupportedError(message, context={"column": target.name}, hint=hint)


def _column(name: str, table: spark.StructType) -> spark.StructField:
    found = next((field for field in table if field.name.lower() == name.lower()), None)
    if found is None:
        message = f"no column `{name}`"
        raise InvalidArgumentError(message, context={"column": name}, hint=f"the columns are {', '.join(table.names)}")
    return found
