"""Converts rows of tables and DataFrames to a common form."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as spark_types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def load(spark: SparkSession, path: str, **options: str) -> DataFrame:
    """Read with the data source; underscores in the names of options represent dashes."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return spark.read.format("frazil").options(**named).load(path)


def plain(value: Any) -> Any:
    """Return a value in the common form."""
    match value:
        case uuid.UUID():
            return str(value)
        case dict():
            return {name: plain(part) for name, part in value.items()}
        case list() | tuple():
            return [plain(part) for part in value]
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat()
    return value


def rows(table: pa.Table) -> list[str]:
    return sorted(repr(plain(row)) for row in table.to_pylist())


def variant_free(value: Any) -> Any:
    """Return a value in which variants are replaced by (value, metadata)."""
    match value:
        case spark_types.VariantVal():
            return bytes(value.value), bytes(value.metadata)
        case {"metadata": metadata, "value": encoded}:
            return encoded, metadata
        case dict():
            return {name: variant_free(part) for name, part in value.items()}
        case list():
            return [variant_free(part) for part in value]
    return value
