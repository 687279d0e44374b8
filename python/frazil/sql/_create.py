"""CREATE TABLE, executed by a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from frazil.errors import AlreadyExistsError, InvalidArgumentError
from frazil.sql._column_types import iceberg_schema, paimon_columns
from frazil.sql._lexer import invalid, unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.iceberg import Transaction
    from frazil.sql._names import Resolved
    from frazil.sql._parts import PartitionField
    from frazil.sql._statements import CreateTable

_FORMAT_VERSION = "format-version"


class _Session(Protocol):
    def timestamp_has_zone(self) -> bool: ...

    def user(self) -> str: ...


def is_there(statement: CreateTable, where: Resolved) -> bool:
    """Return whether the table exists and the statement has `IF NOT EXISTS`, so that nothing needs to be done."""
    return statement.if_not_exists and bool(where.catalog.catalog.table_exists(where.levels))


def create_table(
    statement: CreateTable, where: Resolved, text: str, session: _Session, insert: Callable[[Any], None] | None
) -> None:
    """Create a table, or replace its definition.

    Args:
        statement: The definition of the table, including the columns of its query.
        where: The resolved name in its catalog.
        text: The statement.
        session: The session of the engine.
        insert: A function that writes the rows of the AS query into a table.

    Raises:
        AlreadyExistsError: A table of this name exists.
        InvalidArgumentError: A column or property is invalid.
        NoSuchTableError: The table to replace does not exist.
        UnsupportedError: The provider does not match the format of the catalog, or the format does not support a
            clause.
    """
    entry = where.catalog
    start = statement.name.start
    if statement.provider not in (None, entry.format):
        problem = f"catalog {entry.name!r} contains {entry.format} tables, not {statement.provider} tables"
        raise unsupported(text, start, problem, f"use USING {entry.format}")
    if statement.replaces and entry.format != "iceberg":
        hint = "drop the table first, or use INSERT OVERWRITE"
        raise unsupported(text, start, "REPLACE TABLE of a Paimon table is not supported", hint)
    if not statement.columns:
        raise unsupported(text, start, "CREATE TABLE without columns is not supported")
    _check_names(statement, text)
    create = _iceberg if entry.format == "iceberg" else _paimon
    try:
        create(statement, where, text, session, insert)
    except AlreadyExistsError:
        # Without `IF NOT EXISTS`, it is an error if a concurrent writer created the table first.
        if not is_there(statement, where):
            raise


def _iceberg(
    statement: CreateTable, where: Resolved, text: str, session: _Session, insert: Callable[[Any], None] | None
) -> None:
    entry = where.catalog
    options = {f"option.{name}": value for name, value in statement.options.items()} | dict(statement.options)
    comment = {} if statement.comment is None else {"comment": statement.comment}
    given = options | dict(statement.properties) | comment | {"owner": session.user()}
    made = {**entry.defaults, **given, **entry.overrides}
    version = made.pop(_FORMAT_VERSION, None)
    made.pop(f"option.{_FORMAT_VERSION}", None)
    if version is not None and not version.isdecimal():
        message = f"the property `{_FORMAT_VERSION}` is {version!r}, expected 1, 2 or 3"
        raise InvalidArgumentError(message)
    schema = iceberg_schema(statement.columns, timestamp_has_zone=session.timestamp_has_zone())
    definition: dict[str, Any] = {
        "location": statement.location,
        "partition_by": [_term(one, statement, text) for one in statement.partitioned_by],
        "properties": made,
    }
    if version is not None:
        definition["format_version"] = int(version)
    begin: Callable[..., Transaction]
    if statement.replaces and (not statement.creates or entry.catalog.table_exists(where.levels)):
        begin = entry.catalog.replace_table_transaction
    elif insert is None:
        entry.catalog.create_table(where.levels, schema, **definition)
        return
    else:
        begin = entry.catalog.create_table_transaction
    with begin(where.levels, schema, **definition) as changes:
        if insert is not None:
            insert(changes)


def _paimon(
    statement: CreateTable, where: Resolved, text: str, session: _Session, insert: Callable[[Any], None] | None
) -> None:
    entry = where.catalog
    if statement.location is not None:
        raise unsupported(text, statement.name.start, "LOCATION of a Paimon table is not supported")
    other = next((one for one in statement.partitioned_by if one.transform != "identity"), None)
    if other is not None:
        hint = "partition by columns, and set the property `bucket` for buckets"
        raise unsupported(
            text, other.column.start, (f"Paimon tables do not support the transform {other.transform}"), hint
        )
    commented = next((one for one in statement.columns if one.comment is not None), None)
    if commented is not None:
        raise unsupported(
            text, statement.name.start, f"COMMENT of column `{commented.name}` of a Paimon table is not supported"
        )
    made = {**entry.defaults, **statement.options, **statement.properties, **entry.overrides}
    keys = [key.strip() for key in made.pop("primary-key", "").split(",") if key.strip()]
    if where.levels[:-1] == entry.default_namespace:
        entry.catalog.create_namespace_if_not_exists(where.levels[:-1])
    table = entry.catalog.create_table(  # type: ignore[call-arg]
        where.levels,
        paimon_columns(statement.columns, timestamp_has_zone=session.timestamp_has_zone()),
        partition_keys=[_column(one, statement, text) for one in statement.partitioned_by],
        primary_keys=keys,
        options=made,
        comment=statement.comment,
    )
    if insert is None:
        return
    try:
        insert(table)
    except BaseException:
        # The table is dropped after a failure, because it is created before its rows are written, as in Paimon's Spark
        # connector.
        entry.catalog.drop_table(where.levels, purge=True)
        raise


def _check_names(statement: CreateTable, text: str) -> None:
    seen: set[str] = set()
    for column in statement.columns:
        if column.name.lower() in seen:
            hint = "column names must differ in more than case"
            problem = f"table {statement.name} has two columns `{column.name}`"
            raise invalid(text, statement.name.start, problem, hint)
        seen.add(column.name.lower())


def _term(one: PartitionField, statement: CreateTable, text: str) -> str:
    """Return a partition field of a statement as a Python API term, such as `bucket(8, "id")`."""
    column = '"' + _column(one, statement, text).replace('"', '""') + '"'
    if one.transform == "identity":
        return column
    return f"{one.transform}({column})" if one.number is None else f"{one.transform}({one.number}, {column})"


def _column(one: PartitionField, statement: CreateTable, text: str) -> str:
    """Return the column of a partition field, in the case used in the column list."""
    if len(one.column.parts) > 1:
        raise unsupported(text, one.column.start, f"partitioning by a struct field is not supported: {one.column}")
    wanted = one.column.parts[0]
    found: Any = next((column.name for column in statement.columns if column.name.lower() == wanted.lower()), None)
    if found is None:
        names = ", ".join(column.name for column in statement.columns)
        problem = f"PARTITIONED BY: no column `{wanted}`"
        raise invalid(text, one.column.start, problem, f"the columns are {names}")
    return str(found)
