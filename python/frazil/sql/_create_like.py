"""CREATE TABLE … LIKE, executed by a catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil.errors import AlreadyExistsError
from frazil.sql._lexer import unsupported

if TYPE_CHECKING:
    from frazil.sql._names import Resolved
    from frazil.sql._statements import CreateTableLike

_LOCATIONS = {
    "data-file.external-paths",
    "path",
    "write.data.path",
    "write.folder-storage.path",
    "write.metadata.path",
    "write.object-storage.path",
}
"""Properties that contain a location of the source table, which the new table must not share."""


def create_table_like(
    statement: CreateTableLike, source: Any, table_format: str, where: Resolved, text: str, owner: str
) -> None:
    """Create a table with the schema, partitioning and properties of another table, and without its rows.

    Args:
        statement: The statement.
        source: The other table.
        table_format: The format of the other table.
        where: The resolved name of the new table.
        text: The text of the statement.
        owner: The owner of a new Iceberg table.

    Raises:
        AlreadyExistsError: A table of this name exists.
        UnsupportedError: The catalog contains tables of another format, or the format does not support a clause.
    """
    entry = where.catalog
    other = next((one for one in (statement.provider, table_format) if one not in (None, entry.format)), None)
    if other is not None:
        problem = f"catalog {entry.name!r} contains {entry.format} tables, not {other} tables"
        raise unsupported(text, statement.source.start, problem, f"use a source of the format {entry.format}")
    try:
        if entry.format == "iceberg":
            _iceberg(statement, source, where, owner)
        else:
            _paimon(statement, source, where, text)
    except AlreadyExistsError:
        if not statement.if_not_exists:
            raise


def _iceberg(statement: CreateTableLike, source: Any, where: Resolved, owner: str) -> None:
    entry = where.catalog
    given = dict(statement.properties) | ({} if statement.comment is None else {"comment": statement.comment})
    made = _without_locations(source.properties) | {"owner": owner} | given | entry.overrides
    version = made.pop("format-version", None)
    spec = source.spec()
    entry.catalog.create_table(
        where.levels,
        source.schema(),
        location=statement.location,
        partition_by=replace(spec, fields=tuple(one for one in spec.fields if str(one.transform) != "void")),
        sort_order=source.sort_order(),
        properties=made,
        format_version=int(version) if version and version.isdecimal() else source.format_version,
    )


def _paimon(statement: CreateTableLike, source: Any, where: Resolved, text: str) -> None:
    entry = where.catalog
    if statement.location is not None:
        raise unsupported(text, statement.name.start, "LOCATION is not supported for Paimon tables")
    schema = source.schema()
    made = _without_locations(schema.options) | dict(statement.properties) | entry.overrides
    if where.levels[:-1] == entry.default_namespace:
        entry.catalog.create_namespace_if_not_exists(where.levels[:-1])
    definition = replace(schema, schema_id=0, options={})
    entry.catalog.create_table(where.levels, definition, options=made, comment=statement.comment)  # type: ignore[call-arg]


def _without_locations(properties: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if name not in _LOCATIONS}
