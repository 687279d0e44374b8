"""Partition transforms as Spark column functions: Arrow UDFs over the kernels that write and prune partitions.

>>> from frazil.spark import functions as f
>>> frame.select(f.bucket(16, "id"), f.days("ts"))  # doctest: +SKIP

A transform operates on Spark's values. A uuid column is a string in Spark, so its bucket is the bucket of the string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.errors import InvalidArgumentError
from frazil.spark._version import check_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import DataType

__all__ = ["bucket", "days", "hours", "months", "truncate", "years"]


def bucket(count: int, column: Column | str) -> Column:
    """Return the bucket of a value, an int from 0 to `count` - 1; for any type except float, double and boolean."""
    return _apply("bucket", f"bucket[{_positive(count, 'count')}]", column, "int")


def truncate(width: int, column: Column | str, return_type: DataType | str = "string") -> Column:
    """Truncate a string or binary to `width` characters or bytes, or a number to a multiple of `width`.

    Args:
        width: The number of characters, bytes or, for a decimal, units of its last digit. Numbers are rounded down.
        column: A column of strings, binaries, ints, longs or decimals.
        return_type: The type of the column and of the result, because a column does not expose its type.
    """
    return _apply("truncate", f"truncate[{_positive(width, 'width')}]", column, return_type)


def years(column: Column | str) -> Column:
    """Return the years since 1970 of a date or timestamp, as an int."""
    return _apply("years", "year", column, "int")


def months(column: Column | str) -> Column:
    """Return the months since 1970-01 of a date or timestamp, as an int."""
    return _apply("months", "month", column, "int")


def days(column: Column | str) -> Column:
    """Return the date of a date or timestamp, in UTC."""
    return _apply("days", "day", column, "date")


def hours(column: Column | str) -> Column:
    """Return the hours since 1970-01-01T00 UTC of a timestamp, as an int."""
    return _apply("hours", "hour", column, "int")


def _apply(name: str, transform: str, column: Column | str, return_type: DataType | str) -> Column:
    check_spark()
    from pyspark.sql import functions, types

    result_type = types.DataType.fromDDL(return_type) if isinstance(return_type, str) else return_type

    def kernel(values: pa.Array) -> pa.Array:
        return transformed(transform, values, result_type)

    # Annotations are removed, because Spark would derive the argument types from them, which depend on the caller.
    kernel.__annotations__ = {}
    kernel.__name__ = name
    result: Column = functions.arrow_udf(kernel, returnType=result_type)(column)  # type: ignore[attr-defined]
    return result


def register_transform(spark: SparkSession, name: str) -> str:
    """Register a transform as a temporary function of a session, and return the name of the function.

    The first argument of `bucket` is the number of buckets.
    """
    from pyspark.sql import functions, types

    result_type: DataType = types.DateType() if name == "days" else types.IntegerType()

    def bucket(counts: pa.Array, values: pa.Array) -> pa.Array:
        number = counts[0].as_py() if len(counts) else 1
        return transformed(f"bucket[{_positive(number, 'the number of buckets')}]", values, result_type)

    def other(values: pa.Array) -> pa.Array:
        return transformed(name.removesuffix("s"), values, result_type)

    kernel = bucket if name == "bucket" else other
    kernel.__annotations__ = {}
    own = f"__frazil_{name}"
    spark.udf.register(own, functions.arrow_udf(kernel, returnType=result_type))  # type: ignore[attr-defined]
    return own


def transformed(transform: str, values: pa.Array, result_type: DataType) -> pa.Array:
    """Apply a transform to an array from Spark, whose timestamps are in the session's time zone.

    Raises:
        InvalidArgumentError: The transform does not apply to the type, or its result is not `result_type`.
    """
    import pyarrow as pa

    from frazil import _native
    from frazil.spark._type_conversion import spark_schema

    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    if pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type):
        values = values.cast(pa.string() if pa.types.is_large_string(values.type) else pa.binary())
    result = _native.apply_transform(transform, values)
    given = spark_schema(pa.schema([("result", result.type)]), "error")["result"].dataType.simpleString()
    if given != result_type.simpleString():
        # A wrong result type is an error, because Spark would cast silently.
        message = f"{transform} of this column returns {given}, not {result_type.simpleString()}"
        raise InvalidArgumentError(message, hint=f"pass return_type={given!r}")
    return result


def _positive(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        message = f"{name} is {number!r}, expected an integer of at least 1"
        raise InvalidArgumentError(message)
    return number
