"""Changes to the schema of a table."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil._arguments import flag, optional_text, text
from frazil._change import Change
from frazil._literal import plain
from frazil.errors import InvalidArgumentError
from frazil.iceberg._schema_input import schema_json, type_text

if TYPE_CHECKING:
    from typing import Self

Path: TypeAlias = "str | tuple[str, ...]"


class UpdateSchema(Change):
    """Adds, drops, renames, widens and moves columns.

    Columns are specified as `a.b`, or as `("a", "b")` if a name contains a dot; `element` of lists and `value` of maps
    can be omitted. Types are Arrow types, PyIceberg types or strings: `timestamptz`, `decimal(9, 2)`, `list<int>`.
    Operations are applied in order; each operation sees the result of the previous ones.
    """

    _update = "schema"

    def add_column(
        self,
        path: Path,
        field_type: Any,
        doc: str | None = None,
        required: bool = False,  # noqa: FBT001, FBT002 - as PyIceberg has it
        default_value: Any = None,
    ) -> Self:
        """Add a column at the end of its struct.

        Args:
            path: The name of the column, after the names of its enclosing columns.
            field_type: An Arrow type, a PyIceberg type or a string; `bigint` and other Spark names are accepted, too.
            doc: The documentation of the column.
            required: Whether the column is required (never NULL); this needs a default.
            default_value: The value for existing rows, and for new rows without a value (format version 3).
        """
        return self._then(
            "add_column",
            path=_path(path),
            type=type_text(field_type),
            doc=optional_text("doc", doc),
            required=flag("required", required),
            default=_json_default(default_value),
        )

    def delete_column(self, path: Path) -> Self:
        """Drop a column. Its values remain in files, but a later column of the same name does not expose them."""
        return self._then("delete_column", path=_path(path))

    def rename_column(self, path_from: Path, new_name: str) -> Self:
        """Rename a column; `new_name` is the last part of the name, without the enclosing columns."""
        return self._then("rename_column", path=_path(path_from), name=text("new_name", new_name))

    def update_column(
        self,
        path: Path,
        field_type: Any = None,
        required: bool | None = None,  # noqa: FBT001 - as PyIceberg has it
        doc: str | None = None,
    ) -> Self:
        """Widen the type, or change nullability or documentation; an argument of None changes nothing.

        int widens to long, float to double, and a decimal to a higher precision; in format version 3 also date to
        timestamp and timestamp_ns, and unknown to any type.
        """
        widened = None if field_type is None else type_text(field_type)
        required = None if required is None else flag("required", required)
        doc = optional_text("doc", doc)
        return self._then("update_column", path=_path(path), type=widened, required=required, doc=doc)

    def make_column_optional(self, path: Path) -> Self:
        """Make a column optional, so that it can be NULL."""
        return self.update_column(path, required=False)

    def set_default_value(self, path: Path, default_value: Any) -> Self:
        """Set the default value for rows written after the change (format version 3); None means NULL."""
        return self._then("set_write_default", path=_path(path), default=_json_default(default_value))

    def move_first(self, path: Path) -> Self:
        """Move a column to the first position of its struct."""
        return self._then("move_first", path=_path(path))

    def move_before(self, path: Path, before_path: Path) -> Self:
        """Move a column before another column of the same struct."""
        return self._then("move_before", path=_path(path), other=_path(before_path))

    def move_after(self, path: Path, after_name: Path) -> Self:
        """Move a column after another column of the same struct."""
        return self._then("move_after", path=_path(path), other=_path(after_name))

    def set_identifier_fields(self, *fields: Path) -> Self:
        """Set the columns that identify a row: required, not floating-point, and not in lists or maps."""
        return self._then("set_identifier_fields", paths=[_path(field) for field in fields])

    def union_by_name(self, new_schema: Any) -> Self:
        """Add columns and widen types so that the table can store rows of `new_schema` (see `create_table`).

        Missing columns are added, types are widened, and columns become optional. Nothing is dropped or narrowed.
        """
        return self._then("union_by_name", schema=schema_json(new_schema))


def _path(path: Path) -> str | list[str]:
    if isinstance(path, str):
        return path
    if isinstance(path, (tuple, list)) and path and all(isinstance(name, str) for name in path):
        return list(path)
    message = f"a column must be given as a string or a tuple of strings, not {path!r}"
    raise InvalidArgumentError(message)


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
