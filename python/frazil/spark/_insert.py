"""INSERT of DataFrame rows into a table, with Spark SQL semantics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil.errors import InvalidArgumentError
from frazil.iceberg import Transaction
from frazil.paimon import FormatTable
from frazil.spark._assignment import assigned, constant
from frazil.spark._char import char_lengths, with_lengths
from frazil.spark._plain_tables import insert_into_format_table
from frazil.spark._to_arrow import to_arrow
from frazil.spark._type_conversion import spark_schema
from frazil.spark._writes import WRITERS, read_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql import types as spark

    from frazil._write_result import WriteResult
    from frazil.sql._insert import Insertion


def insert(frame: DataFrame, target: Any, how: Insertion, snapshot_properties: Mapping[str, str]) -> WriteResult:
    """Write rows into a table: through the workers, or in this process if there are few rows.

    Args:
        frame: The rows.
        target: The table, or a transaction of an Iceberg table.
        how: The target columns, and the rows to replace.
        snapshot_properties: Entries for the summary of an Iceberg snapshot.

    Raises:
        InvalidArgumentError: The rows do not fit the columns.
        UnsupportedError: As in `assigned`.
    """
    table = target.table() if isinstance(target, Transaction) else target
    schema = with_lengths(spark_schema(table.scan().schema(), "error"), char_lengths(table))
    constants = _values(frame, schema, how.constants)
    rows = assigned(frame, schema, how)
    if isinstance(table, FormatTable):
        return insert_into_format_table(rows, table, how, constants)
    # The statement contains only direct references to the table. The plan also contains reads through views of the
    # table, whose snapshot may be older.
    read = read_of(frame, target, how.mode, how.branch)
    how = how if read is None else replace(how, read=read)
    written: WriteResult = WRITERS[table.format].insert(rows, target, how, constants, snapshot_properties)
    return written


def _values(frame: DataFrame, schema: spark.StructType, constants: Mapping[str, str | None]) -> dict[str, Any]:
    """Return constants as Python values of their columns' types.

    Raises:
        InvalidArgumentError: A string is not a valid value of the type.
    """
    if not constants:
        return {}
    spark = frame.sparkSession
    row = to_arrow(spark.range(1).select(*(constant(text, schema[name]) for name, text in constants.items())))
    values = {}
    for name, text in constants.items():
        column = row.column(name)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp("us", "UTC"))
        values[name] = column[0].as_py()
        if values[name] is None and text is not None:
            message = (
                f"PARTITION: {text!r} is not a valid value for column `{name}` of type "
                f"{schema[name].dataType.simpleString()}"
            )
            raise InvalidArgumentError(message, context={"column": name})
    return values
