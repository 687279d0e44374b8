"""CHAR(n) of Paimon tables, whose values Spark pads with spaces when it writes, reads and compares them.

Spark's analyser does so for columns with the type in their metadata. Columns that frazil passes on otherwise are padded
here. Other writers do not pad: a value in a file may be shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

__all__ = ["char_lengths", "padded", "padded_frame", "padded_to", "with_lengths"]

_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of the type of a column in its metadata, as in Spark's `CharVarcharUtils`."""


def char_lengths(table: Any) -> dict[str, int]:
    """Return the lengths of the CHAR columns of a table, by name; empty for other tables than those of Paimon."""
    if getattr(table, "format", None) != "paimon" or not hasattr(table, "schema"):
        return {}
    fields = ((field.name, field.data_type) for field in table.schema().fields)
    return {name: data_type.numbers[0] for name, data_type in fields if data_type.name == "CHAR"}


def with_lengths(schema: StructType, lengths: Mapping[str, int]) -> StructType:
    """Return a schema whose CHAR columns have their type in the metadata."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(one.name, one.dataType, one.nullable, {**one.metadata, _TYPE: f"char({lengths[one.name]})"})
            if one.name in lengths
            else one
            for one in schema
        ]
    )


def padded(column: Column, length: int) -> Column:
    """Return strings with spaces up to a length; only spaces are removed from longer ones."""
    from pyspark.sql import functions

    short = functions.rtrim(column)
    return functions.when(functions.length(short) <= length, functions.rpad(short, length, " ")).otherwise(column)


def padded_to(column: Column, target: StructField) -> Column:
    """Return a column padded for a column of a table, if that is a CHAR column."""
    found = target.metadata.get(_TYPE)
    return column if found is None else padded(column, int(found[len("char(") : -1]))


def padded_frame(frame: DataFrame, lengths: Mapping[str, int]) -> DataFrame:
    """Return a DataFrame whose CHAR columns are padded and compared as such."""
    from pyspark.sql import functions

    if not any(name in lengths for name in frame.columns):
        return frame
    columns = []
    for name in frame.columns:
        column = functions.col("`" + name.replace("`", "``") + "`")
        if name in lengths:
            column = padded(column, lengths[name]).alias(name, metadata={_TYPE: f"char({lengths[name]})"})
        columns.append(column)
    return frame.select(*columns)
