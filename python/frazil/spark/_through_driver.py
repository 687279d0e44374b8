"""Rows of a DataFrame in this process, a partition at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame


_PLAIN = (
    types.BinaryType,
    types.BooleanType,
    types.DateType,
    types.DecimalType,
    types.DoubleType,
    types.FloatType,
    types.IntegerType,
    types.LongType,
    types.StringType,
)
"""Types whose values Python has as they are."""


def few_rows(frame: DataFrame) -> pa.Table:
    """Return the rows as Arrow. Plain values are collected one by one, which starts no job for a few constants."""
    if not all(isinstance(field.dataType, _PLAIN) for field in frame.schema):
        return frame.toArrow()
    schema = to_arrow_schema(frame.schema)
    try:
        rows = frame.collect()
    except (ValueError, OverflowError):
        # Python has no dates before year 1 and after year 9999.
        return frame.toArrow()
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, names=schema.names)


def arrow_batches(frame: DataFrame) -> pa.RecordBatchReader:
    """Return the rows as Arrow. No more than two partitions of them are in memory at a time."""
    batches = _unpacked(frame.mapInArrow(_pack, "batch binary"))
    first = next(batches, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(to_arrow_schema(frame.schema), [])
    return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], batches))


def _pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["batch"])


def _unpacked(packed: DataFrame) -> Iterator[pa.RecordBatch]:
    for row in packed.toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])
