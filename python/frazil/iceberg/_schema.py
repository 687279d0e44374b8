"""Schemas, partition specs and sort orders (spec: "Schemas and Data Types", "Partitioning", "Sorting")."""

from __future__ import annotations

import json as _json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import field_names, flag

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class NestedField:
    """A column, or a field in a struct, list or map.

    `type` is a string in the notation of the spec: `long`, `decimal(9, 2)`, and for nested types
    `struct<1: x: optional long>`.
    """

    field_id: int
    name: str
    type: str
    required: bool
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None
    fields: tuple[NestedField, ...] = ()

    @property
    def field_type(self) -> str:
        """The type as a string, under the name that PyIceberg uses.

        >>> import frazil
        >>> schema = frazil.load_table("tests/golden/iceberg/inc_mor").schema()
        >>> schema.find_field("id").field_type
        'int'
        """
        return self.type

    def __str__(self) -> str:
        """Return the field as one line."""
        doc = f" ({self.doc})" if self.doc else ""
        return f"{self.field_id}: {self.name}: {'required' if self.required else 'optional'} {self.type}{doc}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form defined by the spec."""
        found = {"id": self.field_id, "name": self.name, "type": _type_json(self), "required": self.required}
        extra = {"doc": self.doc, "initial-default": self.initial_default, "write-default": self.write_default}
        return found | {key: value for key, value in extra.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of a table."""

    schema_id: int
    fields: tuple[NestedField, ...]
    identifier_field_ids: tuple[int, ...] = ()

    @property
    def column_names(self) -> list[str]:
        """The names of the top-level columns."""
        return [column.name for column in self.fields]

    def find_field(self, name_or_id: str | int) -> NestedField:
        """Find a field by its id or by its full name, such as `address.city`.

        Raises:
            KeyError: The schema does not have the field.
        """
        for name, found in _walk(self.fields):
            if name_or_id in (found.field_id, name):
                return found
        raise KeyError(name_or_id)

    def find_type(self, name_or_id: str | int) -> str:
        """Return the type of a field, in the notation of the spec.

        Raises:
            KeyError: The schema does not have the field.
        """
        return self.find_field(name_or_id).type

    def find_column_name(self, column_id: int) -> str | None:
        """Return the full name of a field; None if the schema does not have the field."""
        return next((name for name, found in _walk(self.fields) if found.field_id == column_id), None)

    def select(self, *names: str, case_sensitive: bool = True) -> Schema:
        """Return the schema with only these columns, in the order of the table; `s.x` selects one field of a struct.

        Raises:
            InvalidArgumentError: The schema does not have one of the columns.
        """
        wanted, flags = field_names(names, "names"), flag("case_sensitive", case_sensitive)
        return Schema.from_json(_json.loads(_native.selected_schema_json(self._text(), wanted, flags)))

    def as_arrow(self) -> pa.Schema:
        """Return the Arrow schema of the rows; the metadata of the fields contains the field ids."""
        return _native.schema_arrow(self._text())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form defined by the spec."""
        found = {"type": "struct", "schema-id": self.schema_id, "fields": [column.to_json() for column in self.fields]}
        return found | ({"identifier-field-ids": list(self.identifier_field_ids)} if self.identifier_field_ids else {})

    def _text(self) -> str:
        return _json.dumps(self.to_json())

    def identifier_field_names(self) -> list[str]:
        """Return the full names of the identifier fields."""
        return [name for name, found in _walk(self.fields) if found.field_id in self.identifier_field_ids]

    def __str__(self) -> str:
        """Return one line per column."""
        return "table {\n" + "".join(f"  {column}\n" for column in self.fields) + "}"

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> Schema:
        """Create a schema from the JSON form defined by the spec."""
        return cls(
            schema_id=json.get("schema-id", 0),
            fields=tuple(_field(column) for column in json["fields"]),
            identifier_field_ids=tuple(json.get("identifier-field-ids", ())),
        )


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field of a partition spec."""

    source_ids: tuple[int, ...]
    field_id: int
    name: str
    transform: str


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """The assignment of rows to partitions."""

    spec_id: int
    fields: tuple[PartitionField, ...] = ()

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> PartitionSpec:
        """Create a partition spec from the JSON form defined by the spec."""
        fields = tuple(
            PartitionField(_sources(part), part.get("field-id", 1000 + i), part["name"], part["transform"])
            for i, part in enumerate(json["fields"])
        )
        return cls(json["spec-id"], fields)


@dataclass(frozen=True, slots=True)
class SortField:
    """A field of a sort order."""

    source_ids: tuple[int, ...]
    transform: str
    direction: str
    null_order: str


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The sort order of rows within files."""

    order_id: int
    fields: tuple[SortField, ...] = field(default=())

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> SortOrder:
        """Create a sort order from the JSON form defined by the spec."""
        fields = tuple(
            SortField(_sources(part), part["transform"], part["direction"], part["null-order"])
            for part in json["fields"]
        )
        return cls(json["order-id"], fields)


def _sources(part: dict[str, Any]) -> tuple[int, ...]:
    return tuple(part.get("source-ids") or [part["source-id"]])


def _walk(fields: tuple[NestedField, ...], prefix: str = "") -> Iterator[tuple[str, NestedField]]:
    for child in fields:
        yield prefix + child.name, child
        yield from _walk(child.fields, f"{prefix}{child.name}.")


def _field(json: dict[str, Any]) -> NestedField:
    children = _children(json["type"])
    return NestedField(
        field_id=json["id"],
        name=json["name"],
        type=_type_text(json["type"], children),
        required=json["required"],
        doc=json.get("doc"),
        initial_default=json.get("initial-default"),
        write_default=json.get("write-default"),
        fields=children,
    )


def _type_json(of: NestedField) -> str | dict[str, Any]:
    """Return the JSON form of a field's type, as defined by the spec."""
    if of.type.startswith("struct<"):
        return {"type": "struct", "fields": [child.to_json() for child in of.fields]}
    if not of.fields:
        return of.type
    found: dict[str, Any] = {"type": "list" if len(of.fields) == 1 else "map"}
    for child in of.fields:
        found |= {f"{child.name}-id": child.field_id, child.name: _type_json(child)}
        found |= {} if child.name == "key" else {f"{child.name}-required": child.required}
    return found


def _children(json: str | dict[str, Any]) -> tuple[NestedField, ...]:
    if isinstance(json, str):
        return ()
    if json["type"] == "struct":
        return tuple(_field(child) for child in json["fields"])

    def named(name: str, *, required: bool) -> NestedField:
        return _field({"id": json[f"{name}-id"], "name": name, "type": json[name], "required": required})

    if json["type"] == "list":
        return (named("element", required=json["element-required"]),)
    return named("key", required=True), named("value", required=json["value-required"])


def _type_text(json: str | dict[str, Any], children: tuple[NestedField, ...]) -> str:
    """Return the string form of a type, built from its parsed `children`.

    Parsing the children again would take 2^depth steps.
    """
    if isinstance(json, str):
        return json
    if json["type"] == "struct":
        return f"struct<{', '.join(str(child) for child in children)}>"
    return f"{json['type']}<{', '.join(child.type for child in children)}>"
