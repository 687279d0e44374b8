"""Assignment of query columns to table columns, by Spark's rules for INSERT (store assignment, policy ANSI)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as spark

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark._char import padded_to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from frazil.sql._insert import Insertion

_DATETIMES = (spark.DateType, spark.TimestampType, spark.TimestampNTZType)
_INTEGERS = (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)


def assigned(frame: DataFrame, table: spark.StructType, how: Insertion) -> DataFrame:
    """Return a query with the names and types of the table's columns. Columns without a value are omitted.

    Raises:
        InvalidArgumentError: The number of columns differs, a column is unknown, or Spark does not assign a value.
        UnsupportedError: A value would be changed without a check, because the session is not in ANSI mode.
    """
    from pyspark.sql import functions

    constants = {_column(name, table).name: text for name, text in how.constants.items()}
    targets = _targets(frame, table, how, constants)
    ansi = _is_ansi(frame)
    for target, source in zip(targets, frame.schema, strict=True):
        _check(source.dataType, target, checked=ansi)
        if how.by_name:
            _check_names(source.dataType, target)
    names = frame.columns
    if len({name.lower() for name in names if name and name.isascii()}) < len(names):
        # Columns get unique names, because Spark cannot distinguish columns of the same name.
        names = [f"_{place}" for place in range(len(targets))]
        frame = frame.toDF(*names)
    return frame.select(
        *(
            padded_to(functions.col(f"`{name.replace('`', '``')}`").cast(target.dataType), target).alias(target.name)
            for name, target in zip(names, targets, strict=True)
        ),
        *(constant(text, _column(name, table)) for name, text in constants.items()),
    )


def assigned_values(frame: DataFrame, targets: Sequence[spark.StructField | None]) -> DataFrame:
    """Return a query whose columns have the types of table columns; None keeps a column.

    The columns keep their names, which must be distinct.

    Raises:
        InvalidArgumentError: Spark does not assign a value.
        UnsupportedError: As in `assigned`, or the fields of a struct have another order than those of its column.
    """
    from pyspark.sql import functions

    checked = _is_ansi(frame)
    columns = []
    for source, target in zip(frame.schema, targets, strict=True):
        column = functions.col(f"`{source.name.replace('`', '``')}`")
        if target is not None:
            _check(source.dataType, target, checked=checked)
            _check_names(source.dataType, target)
            column = padded_to(column.cast(_nullable(target.dataType)), target).alias(source.name)
        columns.append(column)
    return frame.select(*columns)


def _nullable(found: spark.DataType) -> spark.DataType:
    """Return a type with nullable fields at all depths; the writer checks required fields.

    Spark does not cast a struct with nullable fields to one with required fields.
    """
    if isinstance(found, spark.StructType):
        return spark.StructType([spark.StructField(one.name, _nullable(one.dataType)) for one in found])
    if isinstance(found, spark.ArrayType):
        return spark.ArrayType(_nullable(found.elementType))
    if isinstance(found, spark.MapType):
        return spark.MapType(_nullable(found.keyType), _nullable(found.valueType))
    return found


def _is_ansi(frame: DataFrame) -> bool:
    return str(frame.sparkSession.conf.get("spark.sql.ansi.enabled", "true")).lower() == "true"


def constant(text: str | None, target: spark.StructField) -> Column:
    """Return a column with one value, cast from a string; NULL if the string is not valid for the type."""
    from pyspark.sql import functions

    return padded_to(functions.lit(text).try_cast(target.dataType), target).alias(target.name)


def _targets(
    frame: DataFrame, table: spark.StructType, how: Insertion, constants: Mapping[str, str | None]
) -> list[spark.StructField]:
    """Return the table column for each query column."""
    if how.by_name:
        targets = [_column(name, table) for name in frame.columns]
    elif how.columns is not None:
        targets = [_column(name, table) for name in how.columns]
    else:
        targets = [target for target in table if target.name not in constants]
    twice = next((field.name for place, field in enumerate(targets) if field in targets[:place]), None)
    if twice is not None:
        message = f"column `{twice}` is specified twice"
        raise InvalidArgumentError(message, context={"column": twice})
    both = next((field.name for field in targets if field.name in constants), None)
    if both is not None:
        message = f"column `{both}` has a value both in PARTITION and in the rows"
        raise InvalidArgumentError(message, context={"column": both})
    if len(frame.schema) != len(targets):
        message = f"the rows have {len(frame.schema)} columns, but the table expects {len(targets)}"
        raise InvalidArgumentError(message, hint=f"the columns are {', '.join(field.name for field in targets)}")
    return targets


def can_assign(source: spark.DataType, target: spark.DataType) -> bool:
    """Return whether Spark's store assignment allows values of a type in a column.

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
    """Return whether all values of the type `source` fit into `target`, so that a cast never changes them."""
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
        raise InvalidArgumentError(types, context={"column": target.name}, hint="use a CAST")
    if not checked and not is_widened(source, target.dataType):
        hint = "set spark.sql.ansi.enabled to true, or use a CAST"
        message = f"{types} without ANSI mode"
        raise UnsupportedError(message, context={"column": target.name}, hint=hint)


def _check_names(source: spark.DataType, target: spark.StructField) -> None:
    """Check that struct fields are in the order of the table, because a cast matches fields by position."""
    if not _has_same_names(source, target.dataType):
        message = f"column `{target.name}`: frazil does not reorder the fields of a struct by name"
        hint = f"build it with named_struct and the fields of {target.dataType.simpleString()}"
        raise UnsupportedError(message, context={"column": target.name}, hint=hint)


def _has_same_names(source: spark.DataType, target: spark.DataType) -> bool:
    """Return whether struct fields at all depths have the same names, regardless of case; NULL fits any type."""
    if isinstance(source, spark.ArrayType) and isinstance(target, spark.ArrayType):
        return _has_same_names(source.elementType, target.elementType)
    if isinstance(source, spark.MapType) and isinstance(target, spark.MapType):
        pairs = [(source.keyType, target.keyType), (source.valueType, target.valueType)]
        return all(_has_same_names(*pair) for pair in pairs)
    if isinstance(source, spark.StructType) and isinstance(target, spark.StructType):
        return len(source) == len(target) and all(
            have.name.lower() == want.name.lower() and _has_same_names(have.dataType, want.dataType)
            for have, want in zip(source, target, strict=True)
        )
    return True


def _column(name: str, table: spark.StructType) -> spark.StructField:
    found = next((field for field in table if field.name.lower() == name.lower()), None)
    if found is None:
        message = f"the table has no column `{name}`"
        raise InvalidArgumentError(message, context={"column": name}, hint=f"the columns are {', '.join(table.names)}")
    return found
