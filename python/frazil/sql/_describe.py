"""The description of a table, in the form that Spark shows with Iceberg's or Paimon's connector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.catalog._properties import masked
from frazil.sql._ddl import iceberg_columns, paimon_columns, shown
from frazil.sql._reader import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row = tuple[Any, ...]

_EMPTY: Row = ("", "", "")
_IN_SPARK = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


@dataclass(frozen=True, slots=True)
class Description:
    """The facts about a table that SHOW and DESCRIBE return."""

    provider: str
    columns: tuple[str, ...]
    """The columns, in the form of CREATE TABLE."""
    terms: tuple[tuple[str, str], ...]
    """The transform and the column of each partition field."""
    properties: Mapping[str, str]
    """The properties, including those in which the connectors show the state of the table."""
    location: str
    has_own_location: bool = True
    """Whether SHOW CREATE TABLE contains the location."""
    comment: str | None = None
    owner: str | None = None

    def partitioned_by(self) -> list[str]:
        """Return the terms of PARTITIONED BY."""
        return [_described(*term) for term in self.terms]

    def partitioning(self, columns: Sequence[Row]) -> list[Row]:
        """Return the DESCRIBE rows for partitioning: columns, or transforms if any; empty if unpartitioned."""
        if not self.terms:
            return []
        if all(transform == "identity" for transform, _ in self.terms):
            known = {row[0]: row for row in columns}
            rows = [known.get(name, (name, "", "")) for _, name in self.terms]
            return [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), *rows]
        parts = [(f"Part {place}", term, "") for place, term in enumerate(self.partitioned_by())]
        return [_EMPTY, ("# Partitioning", "", ""), *parts]

    def details(self) -> list[tuple[str, str]]:
        """Return the names and values of the details of the table."""
        pairs = ",".join(f"{name}={value}" for name, value in shown(self.properties).items())
        rows = [
            ("Type", "MANAGED"),
            ("Comment", self.comment),
            ("Location", masked(self.location)),
            ("Provider", self.provider),
            ("Owner", self.owner),
            ("Table Properties", f"[{pairs}]"),
        ]
        return [(name, value) for name, value in rows if value is not None]


def description_of(table: Any, table_format: str, *, timestamp_has_zone: bool) -> Description:
    """Return the description of a table; the session determines whether the type TIMESTAMP has a time zone."""
    return _iceberg(table, timestamp_has_zone) if table_format == "iceberg" else _paimon(table)


def _iceberg(table: Any, timestamp_has_zone: bool) -> Description:  # noqa: FBT001 - of the session
    schema, properties = table.schema(), dict(table.properties)
    comment, owner = properties.pop("comment", None), properties.pop("owner", None)
    current = table.current_snapshot()
    properties |= {
        "current-snapshot-id": "none" if current is None else str(current.snapshot_id),
        "format": f"iceberg/{properties.get('write.format.default', 'parquet')}",
        "format-version": str(table.format_version),
    }
    if identifiers := schema.identifier_field_names():
        properties["identifier-fields"] = f"[{','.join(identifiers)}]"
    if keys := table.sort_order().fields:
        properties["sort-order"] = ", ".join(_sort_key(key, schema) for key in keys)
    terms = tuple((str(field.transform), _columns(field, schema)) for field in table.spec().fields)
    columns = tuple(iceberg_columns(schema.fields, timestamp_has_zone=timestamp_has_zone))
    return Description("iceberg", columns, terms, properties, table.location, comment=comment, owner=owner)


def _paimon(table: Any) -> Description:
    properties = {name: value for name, value in table.options.items() if name != "path"}
    if table.primary_keys:
        properties["primary-key"] = ",".join(table.primary_keys)
    terms = tuple(("identity", key) for key in table.partition_keys)
    columns = tuple(paimon_columns(table.schema().fields))
    location, comment = str(table.location), table.comment or None
    return Description("paimon", columns, terms, properties, location, has_own_location=False, comment=comment)


def _sort_key(key: Any, schema: Any) -> str:
    """Return a sort key in the form of Iceberg's Spark connector."""
    name, column = str(key.transform), _columns(key, schema)
    if name.startswith("truncate["):
        term = f"truncate({column}, {name.removeprefix('truncate[').removesuffix(']')})"
    else:
        term = _described(name, column)
    order = "FIRST" if key.null_order == "nulls-first" else "LAST"
    return f"{term} {key.direction.upper()} NULLS {order}"


def _columns(field: Any, schema: Any) -> str:
    return ", ".join(schema.find_column_name(source) or "" for source in field.source_ids)


def _described(transform: str, column: str) -> str:
    name, _, number = transform.removesuffix("]").partition("[")
    column = ".".join(map(quoted, column.split(".")))
    if name == "identity":
        return column
    return f"{name}({number}, {column})" if number else f"{_IN_SPARK.get(name, name)}({column})"
