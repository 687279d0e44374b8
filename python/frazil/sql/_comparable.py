"""The columns of tables that frazil compares as Spark does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["comparable_schema"]


def comparable_schema(schema: pa.Schema, table: Any) -> pa.Schema:
    """Return a schema without CHAR columns of Paimon tables, whose values Spark pads with spaces before comparisons."""
    if getattr(table, "format", None) != "paimon" or not hasattr(table, "schema"):
        return schema
    padded = {field.name for field in table.schema().fields if field.data_type.name == "CHAR"}
    if not padded:
        return schema
    import pyarrow as pa

    return pa.schema([field for field in schema if field.name not in padded])
