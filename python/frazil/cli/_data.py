"""Commands that read and write rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from frazil._virtual_table import VirtualTable
from frazil.cli._input import FORMATS, inputs_of, rows_of
from frazil.cli._names import moment, of_table, open_named, open_table, row_filter_of
from frazil.cli._output import limit_option, output_option, write_rows
from frazil.cli._terminal import confirmed, say
from frazil.cli._typed import ROW_KIND
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


def _of_scan(command: Callable[..., Any]) -> Callable[..., Any]:
    for add in (
        click.option(
            "--as-of",
            metavar="TIME",
            help=("Read the snapshot that was current at this time: 2024-02-29T12:00:00Z, or 7d for days ago."),
        ),
        click.option("--ref", metavar="NAME", help="A branch or tag."),
        click.option("--snapshot-id", type=int, metavar="ID", help="A snapshot."),
        click.option("--filter", "-f", "row_filter", metavar="SQL", help="Such as `id > 10 and name like 'a%'`."),
    ):
        command = add(command)
    return command


def _scan(opened: Any, row_filter: str | None, choice: dict[str, Any], **arguments: Any) -> Any:
    """Create a scan of a table or a metadata table; `choice` holds the options that select a snapshot."""
    given = {key: value for key, value in choice.items() if value is not None}
    if isinstance(opened, VirtualTable) and given:
        message = "metadata tables can only be read in their current state"
        raise InvalidArgumentError(message, hint=f"omit --{next(iter(given)).replace('_', '-')}")
    if "as_of" in given:
        given["as_of"] = moment("--as-of", given["as_of"])
    return opened.scan(row_filter_of(row_filter), **arguments, **given)


@click.command()
@of_table
@_of_scan
@click.option("--select", "-c", metavar="COLUMNS", help="Comma-separated column names; all columns by default.")
@limit_option
@output_option
def scan(
    table: str,
    row_filter: str | None,
    select: str | None,
    limit: int | None,
    output: str,
    snapshot_id: int | None,
    ref: str | None,
    as_of: str | None,
    **place: Any,
) -> None:
    """Read rows of TABLE."""
    columns = ("*",) if select is None else tuple(one.strip() for one in select.split(","))
    choice = {"snapshot_id": snapshot_id, "ref": ref, "as_of": as_of}
    found = _scan(open_named(table, **place), row_filter, choice, selected_fields=columns, limit=limit)
    write_rows(found.to_arrow_batch_reader(), output)


@click.command()
@of_table
@_of_scan
def count(
    table: str, row_filter: str | None, snapshot_id: int | None, ref: str | None, as_of: str | None, **place: Any
) -> None:
    """Count rows of TABLE, from metadata alone if possible."""
    choice = {"snapshot_id": snapshot_id, "ref": ref, "as_of": as_of}
    say(str(_scan(open_named(table, **place), row_filter, choice).count()))


@click.command()
@of_table
@_of_scan
def explain(
    table: str, row_filter: str | None, snapshot_id: int | None, ref: str | None, as_of: str | None, **place: Any
) -> None:
    """Show which files of TABLE a filter skips."""
    choice = {"snapshot_id": snapshot_id, "ref": ref, "as_of": as_of}
    for line in _scan(open_named(table, **place), row_filter, choice).explain().split("\n"):
        say(line)


@click.command()
@of_table
@click.option(
    "--from", "first", type=int, metavar="ID", help=("Begin after this snapshot; by default, with the first snapshot.")
)
@click.option("--to", "last", type=int, metavar="ID", help="The last snapshot; the current one by default.")
@click.option("--filter", "-f", "row_filter", metavar="SQL", help="Such as `id > 10`.")
@click.option("--net", is_flag=True, help="Omit changes that later changes revert.")
@limit_option
@output_option
def changes(
    table: str,
    first: int | None,
    last: int | None,
    row_filter: str | None,
    net: bool,
    limit: int | None,
    output: str,
    **place: Any,
) -> None:
    """Read the rows that were inserted and deleted between two snapshots of TABLE."""
    opened = open_table(table, **place)
    choice: dict[str, Any] = {"net_changes": True} if net else {}
    found = opened.changes(first, last, row_filter=row_filter_of(row_filter), limit=limit, **choice)
    write_rows(found.to_arrow_batch_reader(), output)


@click.command()
@of_table
@click.argument("files", nargs=-1, required=True)
@click.option("--branch", default="main", show_default=True, help="The branch to append to.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="The format of all files, instead of their names'.")
@click.option("--delimiter", metavar="CHARACTER", help=r"The delimiter of CSV files, such as ; or \t.")
def append(
    table: str, files: tuple[str, ...], branch: str, kind: str | None, delimiter: str | None, **place: Any
) -> None:
    """Append the rows of FILES to TABLE in one commit; - is standard input.

    The file name determines the format: .csv, .tsv, .json, .jsonl, .ndjson (one object per line), the same with .gz,
    .parquet, .orc, .avro, .arrow or .feather. The values of CSV and JSON are read in the types of the table.
    """
    inputs = inputs_of(files, kind, delimiter)
    opened = open_table(table, **place)
    if branch != "main" and opened.format == "paimon":
        opened = opened.with_branch(branch)
    rows = rows_of(inputs, _columns(opened))
    result = opened.append(rows, branch=branch) if opened.format == "iceberg" else opened.append(rows)
    say(f"{result.added_records} rows in {result.added_files} files, snapshot {result.snapshot_id}")


def _columns(opened: Any) -> pa.Schema:
    """Return the columns that the rows of a file may have."""
    import pyarrow as pa

    if opened.format == "iceberg":
        columns: pa.Schema = opened.schema().as_arrow()
        return columns
    columns = opened.schema().arrow()
    return columns.append(pa.field(ROW_KIND, pa.string())) if opened.primary_keys else columns


@click.command()
@of_table
@click.argument("given", metavar="[FILTER]", required=False)
@click.option("--filter", "-f", "row_filter", metavar="SQL", help="The same as FILTER.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def delete(table: str, given: str | None, row_filter: str | None, yes: bool, **place: Any) -> None:
    """Delete the rows of TABLE for which FILTER, such as `id = 7`, is true."""
    if (given is None) == (row_filter is None):
        message = "the filter of the rows to delete is " + ("missing" if given is None else "given twice")
        raise InvalidArgumentError(message, hint="pass either FILTER or --filter; `true` deletes all rows")
    chosen = row_filter_of(row_filter if given is None else given)
    opened = open_table(table, **place)
    confirmed(f"delete {opened.scan(chosen).count()} rows of {table}", yes=yes)
    result = opened.delete(chosen)
    say(f"{result.deleted_rows} rows deleted, snapshot {result.snapshot_id}")
