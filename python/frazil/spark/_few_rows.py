"""Collection of small DataFrames in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types

from frazil.spark._to_arrow import to_arrow
from frazil.spark._type_conversion import arrow_schema

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
"""The types whose values Python can represent directly."""


def few_rows(frame: DataFrame) -> pa.Table:
    """Return the rows of a small DataFrame as an Arrow table.

    Plain values are collected as Python rows, because Spark does not start a job for a few constants.
    """
    if not all(isinstance(field.dataType, _PLAIN) for field in frame.schema):
        return to_arrow(frame)
    schema = arrow_schema(frame.schema)
    try:
        rows = frame.collect()
    except (ValueError, OverflowError):
        # The conversion to Python fails for dates outside the years 1 to 9999.
        return to_arrow(frame)
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, names=schema.names)
