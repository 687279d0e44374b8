"""The properties in which SHOW CREATE TABLE shows the state of an Iceberg table, applied to a new table."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.errors import FrazilError, InvalidArgumentError
from frazil.sql._parse_parts import sort_keys
from frazil.sql._reader import Reader
from frazil.sql._table_schemas import find_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.iceberg import NestedField, Schema
    from frazil.sql._parts import SortKey

IDENTIFIERS, ORDER = "identifier-fields", "sort-order"

_IGNORED = {
    "current-snapshot-id": re.compile(r"none|\d+"),
    "format": re.compile(r"iceberg/(avro|orc|parquet)"),
}
"""Properties that are ignored for a new table if they have the form of Iceberg's Spark connector."""


@dataclass(frozen=True, slots=True)
class ShownState:
    """The identifier fields and the sort order of a new table."""

    identifiers: tuple[str, ...]
    keys: tuple[SortKey, ...]

    def with_identifiers(self, schema: Schema) -> Schema:
        """Return the schema with the identifier fields.

        Raises:
            InvalidArgumentError: A field does not exist or is nullable.
        """
        found = [_field(name.split("."), schema, IDENTIFIERS) for name in self.identifiers]
        nullable = next((field for field in found if not field.required), None)
        if nullable is not None:
            message = f"property {IDENTIFIERS!r}: column `{nullable.name}` is nullable"
            raise InvalidArgumentError(message, hint="declare it NOT NULL")
        return replace(schema, identifier_field_ids=tuple(field.field_id for field in found))

    def sort_order(self, schema: Schema) -> list[str]:
        """Return the sort keys as terms of the Python API, such as `bucket(8, "id") desc nulls last`.

        Raises:
            InvalidArgumentError: A column does not exist.
        """
        return [_term(key, schema) for key in self.keys]


def take_state(properties: dict[str, str]) -> ShownState:
    """Return the state in the properties, and remove it from them.

    Raises:
        InvalidArgumentError: A property does not have the form of Iceberg's Spark connector.
    """
    for name, form in _IGNORED.items():
        if form.fullmatch(properties.get(name, "")):
            del properties[name]
    listed, order = properties.pop(IDENTIFIERS, "[]"), properties.pop(ORDER, "")
    if not (listed.startswith("[") and listed.endswith("]")):
        message = f"property {IDENTIFIERS!r} is {listed!r}, expected names in brackets"
        raise InvalidArgumentError(message, hint="write [a,b]")
    names = tuple(name.strip() for name in listed[1:-1].split(",") if name.strip())
    return ShownState(names, _parsed(order) if order else ())


def _parsed(order: str) -> tuple[SortKey, ...]:
    reader = Reader(order)
    try:
        keys = tuple(sort_keys(reader))
        reader.end()
    except FrazilError as error:
        message = f"property {ORDER!r} is {order!r}: {error.message}"
        raise InvalidArgumentError(message, hint="write id DESC NULLS LAST, days(ts) ASC NULLS FIRST") from error
    return keys


def _term(key: SortKey, schema: Schema) -> str:
    field = _field(key.field.column.parts, schema, ORDER)
    column = '"' + (schema.find_column_name(field.field_id) or "").replace('"', '""') + '"'
    if key.field.number is not None:
        column = f"{key.field.number}, {column}"
    term = column if key.field.transform == "identity" else f"{key.field.transform}({column})"
    return f"{term} {'desc' if key.descending else 'asc'} nulls {'first' if key.nulls_first else 'last'}"


def _field(parts: Sequence[str], schema: Schema, name: str) -> NestedField:
    found = find_field(schema, parts)
    if found is None:
        message = f"property {name!r}: the table has no column `{'.'.join(parts)}`"
        raise InvalidArgumentError(message, hint=f"the columns are {', '.join(schema.column_names)}")
    return found
