"""Rows of a table that equal a row of a query in some columns, found where the data files are read.

If Spark joined the table with a small query, it would receive all rows from Python first. Here workers receive the rows
of the query, and pass on only the rows that match.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from frazil._merge import Action, MergeClause, MergePlan, When
from frazil.files.rows.batches import no_rows
from frazil.spark._taking import Taking
from frazil.spark._type_conversion import Conversion, is_plain, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

    from frazil import _native
    from frazil.spark._state import ReadState

__all__ = ["comparable_columns", "matching_rows"]


def comparable_columns(schema: pa.Schema, keys: StructType) -> list[str]:
    """Return the columns of a table that Spark and frazil find equal to the keys of their names for the same rows."""
    own = spark_schema(schema, "micros")
    return [key.name for key in keys if _is_comparable(schema.field(key.name), own[key.name], key)]


def matching_rows(spark: SparkSession, state: ReadState, keys: DataFrame) -> DataFrame:
    """Read the rows that equal a row of `keys` in its columns, and perhaps other rows.

    Args:
        spark: The session.
        state: The state to read, with its columns and filter.
        keys: Rows with `comparable_columns` only. They are collected.
    """
    asked = state.asked
    schema = state.scan(asked.columns, asked.row_filter).schema()
    own = spark_schema(schema, asked.timestamp_ns)
    rows = _collected(keys, own)
    matches = _Matches(schema, [Taking(schema).apply(part) for part in rows.to_batches() or [no_rows(rows.schema)]])
    row_filter = " and ".join(f"({text})" for text in (asked.row_filter, matches.merger.filter()) if text)
    groups = [group for [group] in state.groups(asked.columns, row_filter, None)]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from matches.read(state, [groups[place] for place in batch.column(0).to_pylist()], own)

    return spark.range(0, len(groups), 1, max(1, len(groups))).mapInArrow(read, own)


def _collected(keys: DataFrame, own: StructType) -> pa.Table:
    """Return the distinct keys without NULL, which equals nothing, in the types of the columns."""
    quoted = {name: f"`{name.replace('`', '``')}`" for name in keys.columns}
    # A value that the type of the column does not have becomes NULL.
    casts = (f"TRY_CAST({one} AS {own[name].dataType.simpleString()}) AS {one}" for name, one in quoted.items())
    rows = keys.selectExpr(*casts).toArrow().drop_null()
    return rows.group_by(rows.column_names).aggregate([]).combine_chunks()


def _is_comparable(field: pa.Field, own: StructField, key: StructField) -> bool:
    from pyspark.sql import types as spark

    if not is_plain(field):
        return False
    if isinstance(own.dataType, spark.IntegralType) and isinstance(key.dataType, spark.IntegralType):
        return True
    # Not floating-point numbers: NaN and -0.0 need care. A type of strings contains their collation.
    exact = spark.StringType | spark.DateType | spark.DecimalType | spark.TimestampType | spark.TimestampNTZType
    return isinstance(own.dataType, exact) and own.dataType == key.dataType


class _Matches:
    """The rows that rows of a table have to equal."""

    def __init__(self, schema: pa.Schema, keys: Sequence[pa.RecordBatch]) -> None:
        """Keep the keys and the columns of the table."""
        self._schema, self._keys = schema, keys

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "merger"}

    @cached_property
    def merger(self) -> _native.Merger:
        """The merger that finds the rows: those that it would delete."""
        names = self._keys[0].schema.names
        clause = MergeClause(when=When.MATCHED, condition=None, action=Action.DELETE)
        plan = MergePlan(names, "source", "target", (clause,))
        merger = plan.merger(self._schema, self._keys[0].schema, now_us=0)
        for batch in self._keys:
            merger.source(batch)
        merger.seal()
        return merger

    def read(self, state: ReadState, groups: Sequence[bytes], target: StructType) -> Iterator[pa.RecordBatch]:
        """Read groups of files, and return the rows that match in the types of Spark."""
        schema, batches = state.read(groups, None)
        conversion = Conversion(schema, target)
        for batch in batches:
            _, deleted, *_ = self.merger.probe(batch, partial=True)
            if len(deleted):
                yield conversion.apply(batch.take(deleted))
