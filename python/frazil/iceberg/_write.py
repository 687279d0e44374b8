"""Writes rows into data files for a later commit."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._progress import reported
from frazil.config import config
from frazil.files.rows.batches import batches
from frazil.files.rows.places import TypeNames
from frazil.files.write.writer import DataFileWriter, write_memory
from frazil.iceberg._type_name import type_name
from frazil.iceberg._writer_options import writer_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil._threads import Stop
    from frazil.config import Progress

__all__ = ["write_rows"]


def write_rows(  # noqa: PLR0913 - keyword-only
    table: _native.Table,
    properties: Mapping[str, str],
    data: Any,
    *,
    lineage_of: _native.Table | None = None,
    data_format: str | None = None,
    operation: tuple[int, str] | None = None,
    file_bytes: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> DataFileWriter[_native.RowWriter]:
    """Write the rows of `data` into new files for a later commit; on failure the files are deleted.

    With `lineage_of`, the rows have `_row_id` and `_last_updated_sequence_number`, and the files store the values
    assigned by this committed state of the table. `operation` holds a task number and the id of the operation, which
    become part of the file names. A new file begins at `file_bytes` instead of `write.target-file-size-bytes`. Progress
    is reported to `progress`; if omitted, as set by `frazil.config.progress`. The write fails if `stop` is requested.
    """
    rows = _native.RowWriter(table, memory_bytes=write_memory(), lineage_of=lineage_of, operation=operation)
    with reported(config.progress) if progress is None else contextlib.nullcontext(progress) as told:
        options = writer_options(rows, properties, data_format)
        if file_bytes is not None:
            options = replace(options, target_file_bytes=file_bytes)
        writer = DataFileWriter(table.files, rows, options, progress=told, stop=stop)
        try:
            writer.write(batches(data, rows.schema(), TypeNames(type_name)))
            writer.close()
        except BaseException:
            writer.abort()
            raise
    return writer
