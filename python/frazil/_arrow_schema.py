"""Arrow schemas as users give them: of pyarrow, or of data frames."""

from __future__ import annotations

from typing import Any

from frazil.errors import InvalidArgumentError

__all__ = ["arrow_schema"]

_SCHEMA_HINT = 'such as pyarrow.schema([("id", pyarrow.int64()), ("name", pyarrow.string())])'


def arrow_schema(schema: Any) -> Any:
    """Return what exports the Arrow schema of an object: a schema, or rows of any library that speaks Arrow.

    Raises:
        InvalidArgumentError: An object of another kind.
    """
    import pyarrow as pa

    for candidate in (schema, getattr(schema, "schema", None)):
        if hasattr(candidate, "__arrow_c_schema__") and not hasattr(candidate, "__arrow_c_stream__"):
            return candidate
    if not hasattr(schema, "__arrow_c_stream__"):
        message = f"a schema must be an Arrow schema, a data frame or types by name, not {type(schema).__name__}"
        is_lazy = type(schema).__name__ == "LazyFrame"
        raise InvalidArgumentError(message, hint="call .collect() to get a DataFrame" if is_lazy else _SCHEMA_HINT)
    from frazil.files.rows.batches import unnamed_levels

    found = pa.RecordBatchReader.from_stream(schema).schema
    levels = unnamed_levels(found)
    return pa.schema([field for field in found if field.name not in levels])
