"""Conversion of user-provided Arrow schemas, from pyarrow or data frames."""

from __future__ import annotations

from typing import Any

from frazil.errors import InvalidArgumentError

__all__ = ["arrow_schema"]

_SCHEMA_HINT = 'such as pyarrow.schema([("id", pyarrow.int64()), ("name", pyarrow.string())])'


def arrow_schema(schema: Any) -> Any:
    """Return an exporter of an object's Arrow schema, for a schema or for rows of any Arrow-compatible library.

    Raises:
        InvalidArgumentError: The object is of an unsupported type.
    """
    import pyarrow as pa

    for candidate in (schema, getattr(schema, "schema", None)):
        if hasattr(candidate, "__arrow_c_schema__") and not hasattr(candidate, "__arrow_c_stream__"):
            return candidate
    if not hasattr(schema, "__arrow_c_stream__"):
        message = (
            "a schema must be an Arrow schema, a data frame or a mapping of names to types, not "
            f"{type(schema).__name__}"
        )
        is_lazy = type(schema).__name__ == "LazyFrame"
        raise InvalidArgumentError(message, hint="call .collect() to get a DataFrame" if is_lazy else _SCHEMA_HINT)
    from frazil.files.rows.batches import unnamed_levels

    found = pa.RecordBatchReader.from_stream(schema).schema
    levels = unnamed_levels(found)
    return pa.schema([field for field in found if field.name not in levels])
