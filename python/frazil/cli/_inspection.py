"""Commands that show the structure and the files of a table."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa

from frazil._arguments import place_of_new
from frazil._virtual_table import VirtualTable
from frazil.cli._names import of_table, open_named, open_table, row_filter_of
from frazil.cli._output import human_size, limit_option, output_option, write_rows
from frazil.cli._terminal import lines, printable, say

_FILE_COLUMNS = ("content", "file_path", "file_format", "partition", "record_count", "file_size_in_bytes")
_SHOWN_PROPERTIES = 20


@click.command()
@of_table
def describe(table: str, **place: Any) -> None:
    """Show the schema, partitions, snapshots and properties of TABLE."""
    opened = open_named(table, **place)
    if isinstance(opened, VirtualTable):
        lines([("metadata table", opened.name)])
        _columns(opened.schema())
        return
    lines([("format", opened.format), ("location", place_of_new(opened.location)), *_of_format(opened)])
    click.echo("\ncolumns")
    _columns(opened.scan().schema())
    properties = sorted(opened.properties.items())
    if properties:
        click.echo("\nproperties")
        lines([(f"  {key}", value) for key, value in properties[:_SHOWN_PROPERTIES]])
        if len(properties) > _SHOWN_PROPERTIES:
            say(f"  and {len(properties) - _SHOWN_PROPERTIES} more")


def _of_format(table: Any) -> list[tuple[str, object]]:
    snapshot = table.current_snapshot()
    if table.format == "paimon":
        return [
            ("primary keys", ", ".join(table.primary_keys) or None),
            ("partition keys", ", ".join(table.partition_keys) or None),
            ("branch", table.branch),
            ("snapshots", len(table.snapshots())),
            ("snapshot", None if snapshot is None else snapshot.snapshot_id),
            ("tags", ", ".join(sorted(table.tags())) or None),
        ]
    summary = {} if snapshot is None else snapshot.summary
    size = summary.get("total-files-size")
    return [
        ("metadata file", table.metadata_location),
        ("version", table.format_version),
        ("uuid", table.uuid),
        ("partitions", ", ".join(f"{field.name}: {field.transform}" for field in table.spec().fields) or None),
        ("sort order", ", ".join(map(str, table.sort_order().fields)) or None),
        ("snapshots", len(table.snapshots())),
        ("snapshot", None if snapshot is None else f"{snapshot.snapshot_id} ({snapshot.operation})"),
        ("rows", summary.get("total-records")),
        ("data files", summary.get("total-data-files")),
        ("size", None if size is None else human_size(int(size))),
        ("delete files", summary.get("total-delete-files")),
        ("branches", ", ".join(sorted(name for name, ref in table.refs().items() if ref.type == "branch")) or None),
        ("tags", ", ".join(sorted(name for name, ref in table.refs().items() if ref.type == "tag")) or None),
    ]


@click.command()
@of_table
@output_option
def schema(table: str, output: str, **place: Any) -> None:
    """Show the columns of TABLE."""
    opened = open_named(table, **place)
    columns = opened.schema() if isinstance(opened, VirtualTable) else opened.scan().schema()
    if output == "table":
        _columns(columns, indent="")
        return
    rows = [{"name": field.name, "type": str(field.type), "nullable": field.nullable} for field in columns]
    fields = pa.schema([("name", pa.string()), ("type", pa.string()), ("nullable", pa.bool_())])
    write_rows(pa.Table.from_pylist(rows, schema=fields), output)


def _columns(columns: pa.Schema, indent: str = "  ") -> None:
    names = [printable(field.name) for field in columns]
    width = max(map(len, names), default=0)
    for name, field in zip(names, columns, strict=True):
        required = "" if field.nullable else " NOT NULL"
        say(f"{indent}{name.ljust(width)}  {field.type}{required}")


@click.command()
@of_table
@limit_option
@output_option
def snapshots(table: str, limit: int | None, output: str, **place: Any) -> None:
    """List the snapshots of TABLE."""
    found = open_table(table, **place).inspect["snapshots"]
    write_rows(found.scan(limit=limit).to_arrow_batch_reader(), output)


@click.command()
@of_table
@click.option("--filter", "-f", "row_filter", metavar="SQL", help="Such as `record_count > 1000`.")
@limit_option
@output_option
def files(table: str, row_filter: str | None, limit: int | None, output: str, **place: Any) -> None:
    """List the data and delete files of TABLE."""
    found = open_table(table, **place).inspect["files"]
    names = found.schema().names
    columns = [name for name in _FILE_COLUMNS if name in names] if output == "table" else ["*"]
    write_rows(found.scan(row_filter_of(row_filter), columns, limit=limit).to_arrow_batch_reader(), output)


@click.command()
@of_table
@click.argument("name", required=False)
@click.option("--filter", "-f", "row_filter", metavar="SQL", help="Such as `status = 1`.")
@click.option("--select", "-c", metavar="COLUMNS", help="Comma-separated column names; all columns by default.")
@limit_option
@output_option
def inspect(
    table: str,
    name: str | None,
    row_filter: str | None,
    select: str | None,
    limit: int | None,
    output: str,
    **place: Any,
) -> None:
    """Read the metadata table or system table NAME of TABLE; without NAME, list the available tables."""
    tables = open_table(table, **place).inspect
    if name is None:
        for known in tables.names():
            say(known)
        return
    columns = ["*"] if select is None else [one.strip() for one in select.split(",")]
    found = tables[name].scan(row_filter_of(row_filter), columns, limit=limit)
    write_rows(found.to_arrow_batch_reader(), output)
