"""Rows that are kept in the workers, and their size."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

__all__ = ["checkpointed", "persisted", "row_size", "size_bytes"]

_NAME = "__frazil_statement"
_VALUE_BYTES = 8


def persisted(frame: DataFrame) -> tuple[DataFrame, Callable[[], None]]:
    """Keep the rows of a query in the workers; return them, and a function that drops them."""
    from pyspark import StorageLevel
    from pyspark.sql import functions

    # Spark shares the rows of equal queries, but another statement must not remove them.
    held = frame.withColumn(_NAME, functions.lit(str(uuid.uuid4()))).persist(StorageLevel.MEMORY_AND_DISK)

    def release() -> None:
        with contextlib.suppress(Exception):  # the session may have been stopped
            held.unpersist()

    return held.drop(_NAME), release


def checkpointed(frame: DataFrame) -> tuple[DataFrame, Callable[[], None]]:
    """Run a query and keep its rows in the workers; return them, and a function that drops them.

    Unlike `persisted`, the result does not depend on the query any more. Spark finds persisted rows by comparing
    queries, which fails if several of them have common table expressions.
    """
    held = frame.localCheckpoint()

    def release() -> None:
        with contextlib.suppress(Exception):  # the session may have been stopped; Connect drops the rows by itself
            held._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: FBT003, SLF001 - not public

    return held, release


def size_bytes(frame: DataFrame, size: Column | None = None) -> int:
    """Return about how many bytes the rows have in memory; `size` is that of a row, by default of all columns."""
    from pyspark.sql import functions

    row = frame.agg(functions.sum((row_size(frame.schema) if size is None else size).cast("bigint"))).first()
    return 0 if row is None or row[0] is None else int(row[0])


def row_size(fields: Iterable[StructField]) -> Column:
    """Return the size of a row in bytes; values of types other than strings and binaries are estimated."""
    from pyspark.sql import functions

    return sum(map(_size, fields), start=functions.lit(0))


def _size(field: StructField) -> Column:
    from pyspark.sql import functions
    from pyspark.sql import types as spark

    column = functions.col(f"`{field.name.replace('`', '``')}`")
    if isinstance(field.dataType, spark.ArrayType | spark.MapType | spark.StructType):
        column = column.cast("string")
    elif not isinstance(field.dataType, spark.StringType | spark.BinaryType):
        return functions.lit(_VALUE_BYTES)
    return functions.coalesce(functions.octet_length(column), functions.lit(0)) + _VALUE_BYTES
