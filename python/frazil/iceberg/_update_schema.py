"""Changes to the schema of a table."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import uuid
from typing import TYPE_CHECKING, Any

from frazil._literal import plain
from frazil._update_columns import Path, UpdateColumns, column_path
from frazil.errors import InvalidArgumentError
from frazil.iceberg._schema_input import schema_json, type_text

if TYPE_CHECKING:
    from typing import Self


class UpdateSchema(UpdateColumns):
    """Adds, drops, renames, widens and moves columns.

    Columns are specified as `a.b`, or as `("a", "b")` if a name contains a dot; `element` of lists and `value` of maps
    can be omitted. Types are Arrow types, PyIceberg types or strings: `timestamptz`, `decimal(9, 2)`, `list<int>`.
    Operations are applied in order; each operation sees the result of the previous ones.
    """

    _set_default = "set_write_default"

    def set_identifier_fields(self, *fields: Path) -> Self:
        """Set the columns that identify a row: required, not floating-point, and not in lists or maps."""
        return self._then("set_identifier_fields", paths=[column_path(field) for field in fields])

    def union_by_name(self, new_schema: Any) -> Self:
        """Add columns and widen types so that the table can store rows of `new_schema` (see `create_table`).

        Missing columns are added, types are widened, and columns become optional. Nothing is dropped or narrowed.
        """
        return self._then("union_by_name", schema=schema_json(new_schema))

    def _type(self, field_type: Any) -> str:
        return type_text(field_type)

    def _default(self, value: Any) -> str | None:
        return _json_default(value)


def _json_default(value: Any) -> str | None:
    """Return the JSON of a default (spec: appendix D); None for NULL."""
    value = plain(value)
    return None if value is None else json.dumps(_plain(value))


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each type
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        names = {math.inf: "Infinity", -math.inf: "-Infinity"}
        return "NaN" if math.isnan(value) else names.get(value, value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo is None else value.astimezone(dt.UTC)).isoformat()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, dict):
        # The value {} is the default of a struct; a non-empty dictionary is the default of a map.
        keys, values = list(value), list(value.values())
        return {"keys": [_plain(key) for key in keys], "values": [_plain(part) for part in values]} if value else {}
    message = f"a default must be a plain value, not {type(value).__name__}"
    raise InvalidArgumentError(message)
