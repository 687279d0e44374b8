"""Few rows of a DataFrame in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types

from frazil.spark._types import arrow_schema

if TYPE_CHECKING:
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
    schema = arrow_schema(frame.schema)
    try:
        rows = frame.collect()
    except (ValueError, OverflowError):
        # Python has no dates before year 1 and after year 9999.
        return frame.toArrow()
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, names=schema.names)
