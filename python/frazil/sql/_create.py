"""CREATE TABLE, executed by a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from frazil.errors import AlreadyExistsError, InvalidArgumentError
from frazil.sql._column_types import structs
from frazil.sql._keys import column_of, partition_keys_of, primary_keys_of
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._shown_state import take_state
from frazil.sql._table_schemas import find_field, iceberg_schema, paimon_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil.iceberg import Schema, Transaction
    from frazil.sql._column_types import Column
    from frazil.sql._names import Resolved
    from frazil.sql._parts import PartitionField
    from frazil.sql._statements import CreateTable

_FORMAT_VERSION = "format-version"
_VERSION_OF_DEFAULTS = 3


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
        raise unsupported(text, start, problem, f"write USING {entry.format}")
    if statement.replaces and entry.format != "iceberg":
        hint = "drop the table first, or use INSERT OVERWRITE"
        raise unsupported(text, start, "REPLACE TABLE is not supported for Paimon tables", hint)
    if not statement.columns and (entry.format != "paimon" or statement.properties.get("type") != "object-table"):
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
    _check_iceberg(statement, text)
    options = {f"option.{name}": value for name, value in statement.options.items()} | dict(statement.options)
    comment = {} if statement.comment is None else {"comment": statement.comment}
    properties = dict(statement.properties)
    state = take_state(properties)
    given = options | properties | comment | {"owner": session.user()}
    made = {**entry.defaults, **given, **entry.overrides}
    version = made.pop(_FORMAT_VERSION, None)
    made.pop(f"option.{_FORMAT_VERSION}", None)
    if version is not None and not version.isdecimal():
        message = f"the property `{_FORMAT_VERSION}` is {version!r}, expected 1, 2 or 3"
        raise InvalidArgumentError(message)
    _check_defaults(statement, version, text)
    schema = iceberg_schema(statement.columns, timestamp_has_zone=session.timestamp_has_zone())
    schema = state.with_identifiers(schema)
    definition: dict[str, Any] = {
        "location": statement.location,
        "partition_by": [_term(one, statement, schema, text) for one in statement.partitioned_by],
        "sort_order": state.sort_order(schema),
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
        raise unsupported(text, statement.name.start, "LOCATION is not supported for Paimon tables")
    other = next((one for one in statement.partitioned_by if one.transform != "identity"), None)
    if other is not None:
        hint = "partition by columns, and set the property `bucket` for buckets"
        raise unsupported(
            text, other.column.start, (f"Paimon tables do not support the transform {other.transform}"), hint
        )
    made = {**entry.defaults, **statement.options, **statement.properties, **entry.overrides}
    partition_keys = partition_keys_of(statement, made, text)
    primary_keys = primary_keys_of(statement, made, text)
    if where.levels[:-1] == entry.default_namespace:
        entry.catalog.create_namespace_if_not_exists(where.levels[:-1])
    table = entry.catalog.create_table(  # type: ignore[call-arg]
        where.levels,
        paimon_schema(statement.columns, timestamp_has_zone=session.timestamp_has_zone()),
        partition_keys=partition_keys,
        primary_keys=primary_keys,
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


def _check_iceberg(statement: CreateTable, text: str) -> None:
    """Reject clauses that only Paimon tables support."""
    if statement.with_start is not None:
        raise unsupported(text, statement.with_start, "WITH is not supported for Iceberg tables", "use TBLPROPERTIES")
    if statement.primary_key:
        start = statement.primary_key[0].start
        raise unsupported(text, start, "PRIMARY KEY is not supported for Iceberg tables", "omit the constraint")


def _check_defaults(statement: CreateTable, version: str | None, text: str) -> None:
    """Reject column defaults below format version 3; a replaced table may already have that version."""
    column = next((column for column in statement.columns if column.default is not None), None)
    is_early = not statement.replaces if version is None else int(version) < _VERSION_OF_DEFAULTS
    if column is not None and is_early:
        problem = f"DEFAULT of column `{column.name}` requires format version {_VERSION_OF_DEFAULTS}"
        raise unsupported(text, column.start, problem, f"set the property `{_FORMAT_VERSION}` to 3")


def _check_names(statement: CreateTable, text: str) -> None:
    """Reject columns, and fields of a struct, whose names differ only in case, as Spark does."""
    if (column := _repeated(statement.columns)) is not None:
        hint = "column names must differ in more than case"
        problem = f"table {statement.name} has two columns `{column.name}`"
        raise invalid(text, column.start or statement.name.start, problem, hint)
    for column in statement.columns:
        for struct in structs(column.type):
            if (field := _repeated(struct.fields)) is not None:
                hint = "field names must differ in more than case"
                problem = f"a struct in column `{column.name}` has two fields `{field.name}`"
                raise invalid(text, column.start or statement.name.start, problem, hint)


def _repeated(columns: Sequence[Column]) -> Column | None:
    """Return the first column whose name an earlier one has, in any case."""
    names = [column.name.lower() for column in columns]
    return next((column for place, column in enumerate(columns) if names[place] in names[:place]), None)


def _term(one: PartitionField, statement: CreateTable, schema: Schema, text: str) -> str:
    """Return a partition field of a statement as a Python API term, such as `bucket(8, "id")`."""
    field = find_field(schema, one.column.parts) if len(one.column.parts) > 1 else None
    if field is None:
        name = column_of(one.column, statement, text, "PARTITIONED BY")
    else:
        name = schema.find_column_name(field.field_id) or ""
    column = '"' + name.replace('"', '""') + '"'
    if one.transform == "identity":
        return column
    return f"{one.transform}({column})" if one.number is None else f"{one.transform}({one.number}, {column})"
