"""Parsing of user-provided schemas and types: Arrow, data frames, strings and PyIceberg objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from frazil import _native
from frazil._arguments import text
from frazil._arrow_schema import arrow_schema
from frazil.errors import InvalidArgumentError
from frazil.iceberg._schema import Schema

_TYPE_HINT = "such as pyarrow.int64(), 'long' or 'decimal(9, 2)'"


def schema_json(schema: Any) -> str:
    """Return the JSON of the Iceberg schema that a user describes.

    Args:
        schema: An Arrow schema, any object with Arrow columns (pyarrow, pandas, Polars, DuckDB), a mapping of names to
            types, a schema of a table, or a `pyiceberg.schema.Schema`. The last two keep their field ids.

    Raises:
        InvalidArgumentError: The object is of an unsupported type, or Iceberg does not support a column type.
    """
    if isinstance(schema, Schema):
        return json.dumps(schema.to_json())
    if is_pyiceberg(schema) and hasattr(schema, "model_dump_json"):
        return str(schema.model_dump_json())
    if isinstance(schema, Mapping):
        columns = [(text("the name of a column", name), type_text(field_type)) for name, field_type in schema.items()]
        return _native.typed_schema_json(columns)
    return _native.schema_json(arrow_schema(schema))


def type_text(field_type: Any) -> str:
    """Return the string or JSON form of a type.

    Raises:
        InvalidArgumentError: The object is not a type.
    """
    if isinstance(field_type, str):
        return field_type
    if is_pyiceberg(field_type) and hasattr(field_type, "model_dump_json"):
        return _plain_or_json(json.loads(field_type.model_dump_json()))
    import pyarrow as pa

    if isinstance(field_type, pa.DataType):
        [column] = json.loads(_native.schema_json(pa.schema([pa.field("column", field_type)])))["fields"]
        return _plain_or_json(column["type"])
    message = f"a type must be an Arrow type, a PyIceberg type or a string, not {field_type!r}"
    raise InvalidArgumentError(message, hint=_TYPE_HINT)


def is_pyiceberg(value: object) -> bool:
    """Return whether an object is from PyIceberg; PyIceberg itself is not imported."""
    return type(value).__module__.split(".")[0] == "pyiceberg"


def _plain_or_json(found: str | dict[str, Any]) -> str:
    return found if isinstance(found, str) else json.dumps(found)
