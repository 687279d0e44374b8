"""Rows that a user writes to a Paimon table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._progress import reported
from frazil._read_ahead import read_ahead
from frazil.config import config
from frazil.files.rows.batches import batches
from frazil.files.rows.places import TypeNames
from frazil.files.write.writer import DataFileWriter, write_memory
from frazil.paimon._read import read_split
from frazil.paimon._scan import scan_arguments
from frazil.paimon._schema import Schema
from frazil.paimon._writer_options import type_name, utc_offset_ms, writer_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from frazil._run import ReadSnapshot
    from frazil.paimon._state import TableState

__all__ = ["ArrowRows", "write_rows"]


class ArrowRows:
    """Rows from any Arrow-compatible object, record batches or dictionaries."""

    def __init__(self, data: Any) -> None:
        """Keep the user's data without reading it."""
        self._data = data

    def read_of(self, table: _native.PaimonTable) -> ReadSnapshot | None:
        """Return the snapshot that the rows are read from, if they come from a scan of the branch's latest state."""
        from frazil.paimon._scan import Scan

        return self._data.read_of(table) if isinstance(self._data, Scan) else None

    def write(self, state: TableState, *, overwrites: bool) -> list[bytes]:
        """Write the rows into new files and return the commit messages."""
        return write_rows(state, self._data, overwrites=overwrites)


def write_rows(
    state: TableState, data: Any, *, overwrites: bool, assigns_buckets: bool = False, name: str | None = None
) -> list[bytes]:
    """Write rows into new files and return the commit messages; on failure the files are deleted.

    Args:
        state: The table state.
        data: The rows.
        overwrites: Whether the rows replace existing rows, so that sequence numbers start again in each bucket.
        assigns_buckets: Whether the rows waited for buckets and are now assigned to them.
        name: A string that the file names contain; a new UUID by default.
    """
    rows = _native.PaimonRows(
        state.native,
        memory_bytes=write_memory(),
        utc_offset_ms=utc_offset_ms(),
        overwrites=overwrites,
        assigns_buckets=assigns_buckets,
        name=name,
    )
    changelog = rows.changelog()
    with reported(config.progress) as progress:
        beside = None if changelog is None else DataFileWriter(state.files, changelog, writer_options(changelog))
        writer = DataFileWriter(state.files, rows, writer_options(rows), beside=beside, progress=progress)
        try:
            _restore_keys(state, rows)
            writer.write(batches(data, rows.input_schema(), TypeNames(type_name, type_texts(state))))
            writer.close()
            return rows.messages()
        except BaseException:
            writer.abort()
            rows.abort()
            raise


def _restore_keys(state: TableState, rows: _native.PaimonRows) -> None:
    """Read the keys of the table, if a row can move its key to another partition."""
    needed = rows.restored_keys()
    if needed is None:
        return
    columns, snapshot = needed
    arguments = {**scan_arguments("", columns=columns), "snapshot": ("id", snapshot)}
    workers = config.max_workers
    plan = _native.PaimonScan(state.native, **arguments).plan(workers)

    def read(split: _native.PaimonSplit) -> Iterator[tuple[_native.PaimonSplit, pa.RecordBatch]]:
        return ((split, batch) for batch in read_split(split))

    for split, keys in read_ahead(map(plan.split, range(len(plan))), read, workers=workers):
        rows.restore_keys(split, keys)


def type_texts(state: TableState) -> dict[str, str]:
    """Return the types of columns and nested values by path, without NOT NULL."""
    schema = Schema.from_json(json.loads(state.native.schema_json(None)))
    return {path: text for column in schema.fields for path, text in column.data_type.texts(column.name)}
