"""Output of rows, for people and for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from frazil.cli._terminal import printable, say
from frazil.cli._values import csv_line, json_values, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["human_size", "limit_option", "output_option", "write_rows"]

FORMATS = ("table", "json", "csv", "arrow")
_MOST_ROWS = 100
_MOST_WIDTH = 60


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--output` to a command."""
    return click.option(
        "--output",
        "-o",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="A table for reading, one JSON object per line, CSV, or an Arrow stream.",
    )(command)


def limit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--limit` to a command."""
    return click.option("--limit", "-n", type=click.IntRange(min=0), help="The maximum number of rows.")(command)


def write_rows(reader: pa.RecordBatchReader | pa.Table, output: str) -> None:
    """Write rows to standard output. All formats except the table for people are streamed."""
    if isinstance(reader, pa.Table):
        reader = reader.to_reader()
    match output:
        case "arrow":
            with pa.ipc.new_stream(sys.stdout.buffer, reader.schema) as stream:
                for batch in reader:
                    stream.write_batch(batch)
        case "csv":
            _write_csv(reader)
        case "json":
            names = reader.schema.names
            for batch in reader:
                for row in _rows(batch):
                    click.echo(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False))
        case _:
            _write_table(reader)


def _write_csv(reader: pa.RecordBatchReader) -> None:
    sys.stdout.write(csv_line(tuple(reader.schema.names)))
    for batch in reader:
        sys.stdout.writelines(map(csv_line, _rows(batch)))


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*map(json_values, batch.columns), strict=True)


def _write_table(reader: pa.RecordBatchReader) -> None:
    rows: list[tuple[Any, ...]] = []
    is_cut = False
    for batch in reader:
        rows += _rows(batch.slice(0, _MOST_ROWS + 1))
        is_cut = len(rows) > _MOST_ROWS
        if is_cut:
            break
    names = reader.schema.names
    numbers = [pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in reader.schema.types]
    cells = [list(map(_short, row)) for row in rows[:_MOST_ROWS]]
    _print_cells([printable(name) for name in names], numbers, cells)
    if is_cut:
        say(f"only the first {_MOST_ROWS} rows are shown; use -o json, csv or arrow for all rows", err=True)


def _print_cells(names: list[str], numbers: list[bool], cells: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]

    def line(row: list[str]) -> str:
        padded = (
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(row, widths, numbers, strict=True)
        )
        return "  ".join(padded).rstrip()

    click.echo(line(names))
    click.echo("  ".join("-" * width for width in widths))
    for row in cells:
        click.echo(line(row))


def _short(value: Any) -> str:
    text = printable("NULL" if value is None else text_of(value))
    if len(text) <= _MOST_WIDTH:
        return text
    # A path is truncated at its start, because its end identifies the file.
    is_path = "/" in text and not text.startswith(("{", "["))
    return f"…{text[1 - _MOST_WIDTH :]}" if is_path else f"{text[: _MOST_WIDTH - 1]}…"


def human_size(count: int) -> str:
    """Return a number of bytes in a readable unit.

    >>> human_size(0), human_size(1536), human_size(5 << 30)
    ('0 B', '1.5 KiB', '5.0 GiB')
    """
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:  # noqa: PLR2004 - a unit
            return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
        amount /= 1024
    return f"{amount:.1f} TiB"
