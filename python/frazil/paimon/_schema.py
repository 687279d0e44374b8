"""Schemas of tables (spec: "Schema")."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil._arguments import text
from frazil._arrow_schema import arrow_schema
from frazil.errors import CorruptMetadataError, InvalidArgumentError
from frazil.paimon._data_types import DataType, parse_type, type_of_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DataField:
    """A column."""

    field_id: int
    name: str
    data_type: DataType
    description: str | None = None
    default_value: str | None = None

    @property
    def type(self) -> str:
        """The type in SQL notation: `INT NOT NULL`, `ROW<``x`` INT>`."""
        return str(self.data_type)

    @property
    def nullable(self) -> bool:
        """Whether the column can be NULL."""
        return self.data_type.nullable

    def __str__(self) -> str:
        """Return the column as one line."""
        comment = f" ({self.description})" if self.description else ""
        return f"{self.field_id}: {self.name}: {self.type}{comment}"


@dataclass(frozen=True, slots=True)
class Schema:
    """A version of a table's definition."""

    schema_id: int
    fields: tuple[DataField, ...]
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    timestamp_ms: int = 0

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.fields]

    def find_field(self, name_or_id: str | int) -> DataField:
        """Return a column by id or by name.

        Raises:
            KeyError: The schema does not have the column.
        """
        for column in self.fields:
            if name_or_id in (column.field_id, column.name):
                return column
        raise KeyError(name_or_id)

    def arrow(self, names: Iterable[str] | None = None) -> pa.Schema:
        """Return the Arrow schema of the columns, or of some of them."""
        import pyarrow as pa

        columns = self.fields if names is None else [self.find_field(name) for name in names]
        return pa.schema([pa.field(column.name, column.data_type.arrow(), column.nullable) for column in columns])

    def __str__(self) -> str:
        """Return one line per column."""
        return "table {\n" + "".join(f"  {column}\n" for column in self.fields) + "}"

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> Schema:
        """Create a schema from the JSON form of schema files."""
        try:
            comment = json.get("comment")
            return cls(
                schema_id=int(json.get("id", 0)),
                fields=tuple(_field(column) for column in json["fields"]),
                partition_keys=tuple(json.get("partitionKeys", ())),
                primary_keys=tuple(json.get("primaryKeys", ())),
                options=dict(json.get("options") or {}),
                comment=None if comment is None else str(comment),
                timestamp_ms=int(json.get("timeMillis") or 0),
            )
        except (KeyError, TypeError, ValueError) as error:
            message = f"the schema does not follow the specification: {error}"
            raise CorruptMetadataError(message) from error

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of schema files."""
        return {
            "version": 3,
            "id": self.schema_id,
            "fields": [_field_json(column) for column in self.fields],
            "highestFieldId": max((column.field_id for column in self.fields), default=-1),
            "partitionKeys": list(self.partition_keys),
            "primaryKeys": list(self.primary_keys),
            "options": dict(self.options),
            "timeMillis": self.timestamp_ms,
        } | ({"comment": self.comment} if self.comment else {})

    @classmethod
    def of(
        cls,
        columns: Any,
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> Schema:
        """Create a schema from a user-provided definition.

        The definition can be another schema, an Arrow schema, a data frame (pyarrow, pandas, Polars, DuckDB), the JSON
        form of a schema, or names with types: a list of pairs or a mapping, with types as strings or Arrow types.

        Raises:
            InvalidArgumentError: The columns do not form a valid schema.

        >>> Schema.of([("id", "INT NOT NULL"), ("day", "DATE")], ["day"]).column_names
        ['id', 'day']
        """
        made = _schema_of(columns)
        names = made.column_names
        doubled = next((name for name in names if names.count(name) > 1), None)
        keys = tuple(partition_keys) or made.partition_keys
        missing = next((key for key in keys if key not in names), None)
        if isinstance(partition_keys, str) or doubled is not None or missing is not None:
            what = f"two columns {doubled!r}" if doubled is not None else f"no partition column {missing!r}"
            message = f"the schema has {what}"
            raise InvalidArgumentError(message)
        options = {**made.options, **(options or {})}
        return cls(made.schema_id, made.fields, keys, made.primary_keys, options, made.comment, made.timestamp_ms)


def _schema_of(columns: Any) -> Schema:
    if isinstance(columns, Schema):
        return columns
    if isinstance(columns, Mapping) and not isinstance(columns.get("fields"), list):
        columns = list(columns.items())
    elif isinstance(columns, Mapping):
        return Schema.from_json(dict(columns))
    elif not isinstance(columns, list | tuple):
        arrow = _imported(arrow_schema(columns))
        # Nested fields are numbered after the columns, because all field ids in a schema must be unique.
        ids = itertools.count(len(arrow))
        fields = (
            DataField(number, column.name, type_of_arrow(column.type, lambda: next(ids), nullable=column.nullable))
            for number, column in enumerate(arrow)
        )
        return Schema(0, tuple(fields))
    ids = itertools.count()
    try:
        pairs = [(next(ids), text("the name of a column", name), _type(kind, ids)) for name, kind in columns]
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        message = "a schema must be a list of names with types, a pyarrow.Schema, or the JSON form of a Paimon schema"
        raise InvalidArgumentError(message) from error
    return Schema(0, tuple(DataField(number, name, data_type) for number, name, data_type in pairs))


def _imported(schema: Any) -> pa.Schema:
    import pyarrow as pa

    try:
        return pa.schema(schema)
    except (TypeError, ValueError, pa.ArrowException) as error:
        message = f"the schema is not valid Arrow data: {error}"
        raise InvalidArgumentError(message) from error


def _type(kind: Any, ids: Iterator[int]) -> DataType:
    return (
        parse_type(kind, lambda: next(ids)) if isinstance(kind, str | dict) else type_of_arrow(kind, lambda: next(ids))
    )


def _field(json: dict[str, Any]) -> DataField:
    return DataField(
        field_id=int(json["id"]),
        name=str(json["name"]),
        data_type=parse_type(json["type"]),
        description=json.get("description"),
        default_value=json.get("defaultValue"),
    )


def _field_json(column: DataField) -> dict[str, Any]:
    form: dict[str, Any] = {"id": column.field_id, "name": column.name, "type": column.data_type.to_json()}
    if column.description:
        form["description"] = column.description
    return form | ({} if column.default_value is None else {"defaultValue": column.default_value})
