"""Rows of files with one JSON object per line, in the types of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil.cli._typed import ROW_KIND, Place, check_names, column_of_json, malformed, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["json_rows"]

_BLOCK_BYTES = 4 << 20
"""The size of the text that is converted at once; as Python values, it needs several times as much memory."""


def json_rows(stream: Any, file: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read a stream of JSON objects, one per line, whose names are columns of `schema`. A missing name is NULL.

    Raises:
        InvalidArgumentError: A line is not an object, or a value does not fit its column.
    """
    line = 1
    names: dict[str, None] = {}
    while True:
        block = stream.readlines(_BLOCK_BYTES)
        rows: list[tuple[int, dict[str, Any]]] = []
        for number, text in enumerate(block, line):
            if text.strip():
                row = _row(text, file, number)
                if not row.keys() <= names.keys():
                    check_names(list(row), schema.names, f"{file}, line {number}")
                    names |= dict.fromkeys(row)
                rows.append((number, row))
        yield _batch(rows, file, [field for field in schema if field.name in names or field.name != ROW_KIND])
        if not block:
            return
        line += len(block)


def _row(text: bytes, file: str, line: int) -> dict[str, Any]:
    try:
        row = parse_json(text.decode())
    except (ValueError, RecursionError) as error:
        raise malformed(
            file, line, f"a JSON object is expected on each line: {getattr(error, 'msg', error)}"
        ) from error
    if not isinstance(row, dict):
        raise malformed(file, line, f"a JSON object is expected on each line, not {type(row).__name__}")
    return row


def _batch(rows: list[tuple[int, dict[str, Any]]], file: str, fields: list[pa.Field]) -> pa.RecordBatch:
    """Return rows as a batch of all columns of the table, so that the batches of a file do not differ."""
    columns = [
        column_of_json([row.get(field.name) for _, row in rows], field, Place(file, field.name, lambda at: rows[at][0]))
        for field in fields
    ]
    return pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields])
