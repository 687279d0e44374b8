"""SHOW and DESCRIBE of tables, namespaces and queries, with the results of Spark with Java's connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._virtual_table import VirtualTable
from frazil.catalog._properties import masked
from frazil.errors import InvalidArgumentError
from frazil.paimon import FormatTable
from frazil.sql._ddl import shown
from frazil.sql._describe import description_of
from frazil.sql._keys import partition_column
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._reader import literal
from frazil.sql._run_show import dotted, is_like

if TYPE_CHECKING:
    from frazil.sql import _statements as st
    from frazil.sql._describe import Description
    from frazil.sql._engine import Frame
    from frazil.sql._names import Resolved
    from frazil.sql._reader import Name
    from frazil.sql._run import Run

__all__ = [
    "describe",
    "describe_namespace",
    "describe_query",
    "show_columns",
    "show_create",
    "show_partitions",
    "show_properties",
    "show_table_extended",
    "show_tags",
]

_RESERVED = ("comment", "location", "owner")
"""The namespace properties for which DESCRIBE returns a separate row."""

_ROWS = ("col_name", "data_type", "comment string")


def describe(statement: st.Describe, run: Run[Frame]) -> Frame:
    """Return the columns of a table, its partitioning and, with EXTENDED, its details; or one column.

    Raises:
        InvalidArgumentError: The table does not have the column.
    """
    where = run.where(statement.name)
    if where is None:
        return run.unchanged()
    source = run.tables.source(statement.name.parts)
    if source.metadata_table is not None or isinstance(source.table, VirtualTable):
        if statement.column is not None:
            problem = "DESCRIBE of a column of a metadata table is not supported"
            raise unsupported(run.text, statement.column.start, problem, "use DESCRIBE without the column")
        return run.engine.query("DESCRIBE QUERY SELECT * FROM {t0}", [source], None)
    columns = run.engine.columns(source.table)
    if statement.column is not None:
        return _described_column(statement.column, columns, run)
    description = _description(source.table, where, run)
    rows = [*columns, *description.partitioning(columns)]
    if statement.extended:
        details = [("Name", _full_name(statement.name, run)), *description.details()]
        rows += [("", "", ""), ("# Detailed Table Information", "", ""), *((*pair, "") for pair in details)]
    return run.frame(_ROWS, rows)


def describe_namespace(statement: st.DescribeNamespace, run: Run[Frame]) -> Frame:
    """Return the name and the properties of a namespace."""
    where = run.names.new_namespace(statement.name.parts)
    if where is None:
        return run.unchanged()
    if not where.levels:
        raise invalid(run.text, statement.name.start, "the name of the namespace is missing after the catalog")
    found = shown(where.catalog.catalog.load_namespace_properties(where.levels))
    rows = [("Catalog Name", where.catalog.name), ("Namespace Name", where.levels[-1])]
    rows += [(name.capitalize(), found.pop(name)) for name in _RESERVED if name in found]
    if statement.extended:
        pairs = ", ".join(f"({name},{value})" for name, value in found.items())
        rows.append(("Properties", f"({pairs})" if pairs else ""))
    return run.frame(("info_name", "info_value string"), rows)


def describe_query(statement: st.DescribeQuery, run: Run[Frame]) -> Frame:
    """Return the columns of a query."""
    return run.query(statement.query, statement.head + " ")


def show_create(statement: st.ShowCreate, run: Run[Frame]) -> Frame:
    """Return a CREATE TABLE statement that creates a table with the same definition."""
    found = _found(statement.name, run)
    if found is None:
        return run.unchanged()
    _, description = found
    columns = ",\n  ".join(description.columns)
    text = f"CREATE TABLE {_full_name(statement.name, run)} (\n  {columns})\nUSING {description.provider}\n"
    if terms := description.partitioned_by():
        text += f"PARTITIONED BY ({', '.join(terms)})\n"
    if description.comment is not None:
        text += f"COMMENT {literal(description.comment)}\n"
    if description.has_own_location:
        text += f"LOCATION {literal(masked(description.location))}\n"
    if properties := shown(description.properties):
        pairs = ",\n  ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
        text += f"TBLPROPERTIES (\n  {pairs})\n"
    return run.frame(("createtab_stmt",), [(text,)])


def show_properties(statement: st.ShowProperties, run: Run[Frame]) -> Frame:
    """Return the properties of a table, or one of them."""
    found = _found(statement.name, run)
    if found is None:
        return run.unchanged()
    properties = shown(found[1].properties)
    if statement.key is None:
        return run.frame(("key", "value"), list(properties.items()))
    missing = f"Table {_full_name(statement.name, run)} does not have property: {statement.key}"
    return run.frame(("key", "value"), [(statement.key, properties.get(statement.key, missing))])


def show_columns(statement: st.ShowColumns, run: Run[Frame]) -> Frame:
    """Return the names of the columns of a table."""
    found = _found(statement.name, run)
    if found is None:
        return run.unchanged()
    return run.frame(("col_name",), [(row[0],) for row in run.engine.columns(found[0])])


def show_table_extended(statement: st.ShowTableExtended, run: Run[Frame]) -> Frame:
    """Return the details of the tables of a namespace whose names match a pattern."""
    where = run.names.listed_namespace(None if statement.namespace is None else statement.namespace.parts)
    if where is None:
        return run.unchanged()
    rows = []
    for levels in where.catalog.catalog.list_tables(where.levels):
        if is_like(levels[-1], statement.pattern):
            table = run.tables.load(where.catalog, levels)
            if isinstance(table, VirtualTable):
                continue
            details = [("Catalog", where.catalog.name), ("Namespace", dotted(levels[:-1])), ("Table", levels[-1])]
            details += _description(table, where, run).details()
            text = "".join(f"{name}: {value}\n" for name, value in details)
            rows.append((dotted(levels[:-1]), levels[-1], False, f"{text}Schema: {run.engine.tree(table)}\n"))
    columns = ("namespace", "tableName", "isTemporary boolean NOT NULL", "information")
    return run.frame(columns, rows)


def show_partitions(statement: st.ShowPartitions, run: Run[Frame]) -> Frame:
    """Return the partitions of a Paimon table, optionally only those with given values.

    Raises:
        InvalidArgumentError: The table is not partitioned, or a column is not a partition column.
        UnsupportedError: The table is an Iceberg table.
    """
    found = _found(statement.name, run)
    if found is None:
        return run.unchanged()
    table, description = found
    if description.provider != "paimon":
        problem = "SHOW PARTITIONS is not supported for Iceberg tables"
        hint = f"read the metadata table {statement.name}.partitions"
        raise unsupported(run.text, statement.name.start, problem, hint)
    if not table.partition_keys:
        raise invalid(run.text, statement.name.start, f"table {statement.name} is not partitioned")
    wanted = []
    for one in statement.partition:
        key = partition_column(one, table.partition_keys, run.text)
        if one.constant is not None:
            [value] = run.engine.constants([one.constant.text])
            default = table.options.get("partition.default-name", "__DEFAULT_PARTITION__")
            wanted.append(f"{key}={default if value is None else value}")
    listed = _partitions(table)
    rows = [(name,) for name in listed if all(f"/{part}/" in f"/{name}/" for part in wanted)]
    return run.frame(("partition",), rows)


def show_tags(statement: st.ShowTags, run: Run[Frame]) -> Frame:
    """Return the names of the tags of a Paimon table.

    Raises:
        UnsupportedError: The table is an Iceberg table, or has no tags.
    """
    found = _found(statement.name, run)
    if found is None:
        return run.unchanged()
    table, description = found
    if description.provider != "paimon" or not hasattr(table, "tags"):
        problem = "SHOW TAGS is only supported for Paimon tables with snapshots"
        hint = f"read the metadata table {statement.name}.refs" if description.provider == "iceberg" else None
        raise unsupported(run.text, statement.name.start, problem, hint)
    return run.frame(("tag",), [(name,) for name in sorted(table.tags())])


def _partitions(table: Any) -> list[str]:
    """Return the names of the partitions of a Paimon table."""
    if not isinstance(table, FormatTable):
        return sorted(table.inspect.partitions()["partition"].to_pylist())
    default = table.options.get("partition.default-name", "__DEFAULT_PARTITION__")
    values = {tuple(file.partition.items()) for file in table.files()}
    return sorted("/".join(f"{key}={default if value is None else value}" for key, value in one) for one in values)


def _described_column(wanted: Name, columns: list[tuple[Any, ...]], run: Run[Frame]) -> Frame:
    if len(wanted.parts) > 1:
        raise unsupported(run.text, wanted.start, f"DESCRIBE of the struct field {wanted} is not supported")
    row = next((row for row in columns if row[0].lower() == wanted.parts[0].lower()), None)
    if row is None:
        names = ", ".join(row[0] for row in columns)
        raise invalid(run.text, wanted.start, f"the table has no column {wanted}", f"the columns are {names}")
    name, data_type, comment = row
    rows = [("col_name", name), ("data_type", data_type), ("comment", comment or "NULL")]
    return run.frame(("info_name", "info_value"), rows)


def _found(name: Name, run: Run[Any]) -> tuple[Any, Description] | None:
    """Return a table and its description; None if it is not in a catalog of the lake."""
    where = run.where(name)
    if where is None:
        return None
    source = run.tables.source(name.parts)
    if source.metadata_table is not None or isinstance(source.table, VirtualTable):
        hint = "use DESCRIBE, or read it with SELECT"
        raise unsupported(run.text, name.start, f"SHOW is not supported for metadata table {name}", hint)
    return source.table, _description(source.table, where, run)


def _description(table: Any, where: Resolved, run: Run[Any]) -> Description:
    return description_of(table, where.catalog.format, timestamp_has_zone=run.engine.timestamp_has_zone())


def _full_name(name: Name, run: Run[Any]) -> str:
    where = run.where(name)
    if where is None:
        message = f"table {name} is not in this lake"
        raise InvalidArgumentError(message)
    return dotted((where.catalog.name, *where.levels))
