"""`DataFrame.toArrow` for rows with NULL in variants, and in structs with required fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types

from frazil.spark._type_conversion import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["to_arrow"]


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return the rows of a DataFrame as an Arrow table.

    Spark's method casts its batches to a schema in which parts of a NULL value must not be NULL.
    """
    collect: Any = getattr(frame, "_collect_as_arrow", None)
    if collect is None or not any(_has_required_parts(field.dataType) for field in frame.schema):
        return frame.toArrow()
    wanted = arrow_schema(frame.schema)
    found = pa.Table.from_batches(collect(empty_list_if_zero_records=False))
    columns = [
        column if _has_required_parts(field.dataType) else column.cast(target.type)
        for column, field, target in zip(found.columns, frame.schema, wanted, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=wanted.names)


def _has_required_parts(found: types.DataType) -> bool:
    """Return whether a NULL value has parts that must not be NULL, at any depth."""
    if isinstance(found, types.StructType):
        return any(not part.nullable or _has_required_parts(part.dataType) for part in found)
    if isinstance(found, types.ArrayType):
        return _has_required_parts(found.elementType)
    if isinstance(found, types.MapType):
        return _has_required_parts(found.valueType)
    return isinstance(found, types.VariantType)
