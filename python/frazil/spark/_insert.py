"""INSERT of the rows of a DataFrame into a table, as Spark SQL has it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil._literal import lit
from frazil.errors import InvalidArgumentError
from frazil.iceberg import Table as IcebergTable
from frazil.iceberg import Transaction
from frazil.iceberg._table import state_of
from frazil.spark._assignment import assigned, constant
from frazil.spark._few_rows import few_rows
from frazil.spark._paimon_write import write_paimon
from frazil.spark._taking import Taking
from frazil.spark._types import spark_schema
from frazil.spark._writes import write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql import types as spark

    from frazil.sql._insert import Insertion


def insert(frame: DataFrame, target: Any, how: Insertion, snapshot_properties: Mapping[str, str]) -> None:
    """Write rows into a table: by the workers, or by this process if they are few.

    Args:
        frame: The rows.
        target: The table, or a transaction of an Iceberg table.
        how: Which columns they are for, and what they replace.
        snapshot_properties: Entries for the summary of a snapshot of Iceberg.

    Raises:
        InvalidArgumentError: Rows that do not fit the columns.
        UnsupportedError: As `assigned` raises it.
    """
    table = target.table() if isinstance(target, Transaction) else target
    schema = spark_schema(table.scan().schema(), "error")
    constants = _values(frame, schema, how.constants)
    rows = assigned(frame, schema, how)
    if not isinstance(table, IcebergTable):
        # Paimon's connector for Spark records nothing of the engine.
        _insert_paimon(rows, table, how, constants)
        return
    row_filter = how.row_filter or _filter(constants) or True
    options: dict[str, Any] = {"branch": how.branch, "snapshot_properties": snapshot_properties}
    if not how.is_small:
        replaced = row_filter if how.mode == "overwrite" else True
        write(rows, target, how.mode, overwrite_filter=replaced, **options)
        return
    taken = _taken(few_rows(rows), table)
    if how.mode == "overwrite":
        target.overwrite(taken, row_filter, **options)
    elif how.mode == "dynamic":
        target.dynamic_partition_overwrite(taken, **options)
    else:
        target.append(taken, **options)


def _insert_paimon(rows: DataFrame, table: Any, how: Insertion, constants: Mapping[str, Any]) -> None:
    partitions = [constants] if constants else None
    if not how.is_small:
        write_paimon(rows, table, how.mode, partitions=partitions if how.mode == "overwrite" else None)
    elif how.mode == "overwrite":
        table.overwrite(few_rows(rows), partitions=partitions)
    elif how.mode == "dynamic":
        table.dynamic_partition_overwrite(few_rows(rows))
    else:
        table.append(few_rows(rows))


def _values(frame: DataFrame, schema: spark.StructType, constants: Mapping[str, str | None]) -> dict[str, Any]:
    """Return constants as Python values of the types of their columns.

    Raises:
        InvalidArgumentError: A text that is not a value of the type.
    """
    if not constants:
        return {}
    spark = frame.sparkSession
    row = spark.range(1).select(*(constant(text, schema[name]) for name, text in constants.items())).toArrow()
    values = {}
    for name, text in constants.items():
        column = row.column(name)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp("us", "UTC"))
        values[name] = column[0].as_py()
        if values[name] is None and text is not None:
            message = f"PARTITION: {text!r} is not a value of column `{name}`, a {schema[name].dataType.simpleString()}"
            raise InvalidArgumentError(message, context={"column": name})
    return values


def _filter(constants: Mapping[str, Any]) -> str | None:
    """Return the filter for the rows that have these values."""
    conditions = []
    for name, value in constants.items():
        quoted = '"' + name.replace('"', '""') + '"'
        # Filters have no other literals for NaN and infinities than text.
        is_special = isinstance(value, float) and not math.isfinite(value)
        literal = f"'{value}'" if is_special else lit(value)
        conditions.append(f"{quoted} IS NULL" if value is None else f"{quoted} = {literal}")
    return " AND ".join(conditions) or None


def _taken(rows: pa.Table, table: IcebergTable) -> pa.Table:
    if not rows:
        return rows
    taking = Taking(_native.RowWriter(state_of(table).native, memory_bytes=1 << 20).schema())
    return pa.Table.from_batches([taking.apply(batch) for batch in rows.combine_chunks().to_batches()])
