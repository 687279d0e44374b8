"""Writing rows into data files that are to be committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.config import config
from frazil.iceberg.data_files import DataFileWriter, batches, write_memory
from frazil.progress import reported

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WriteResult"]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    `snapshot_id` is None where there was nothing to do. Records and files are those of the data files that came and
    went; `deleted_rows`, `updated_rows` and `inserted_rows` are the rows of the table that changed.
    """

    snapshot_id: int | None
    added_files: int = 0
    added_records: int = 0
    added_bytes: int = 0
    added_delete_files: int = 0
    removed_files: int = 0
    removed_records: int = 0
    removed_delete_files: int = 0
    deleted_rows: int = 0
    updated_rows: int = 0
    inserted_rows: int = 0
    attempts: int = 0
    seconds: float = 0.0


def write_rows(
    table: _native.Table,
    properties: Mapping[str, str],
    data: Any,
    *,
    lineage: bool = False,
    data_format: str | None = None,
    operation: tuple[int, str] | None = None,
) -> DataFileWriter:
    """Write the rows of `data` into new files, to be committed; when it fails the files are deleted.

    With `lineage` rows bring `_row_id` and `_last_updated_sequence_number` along. `operation` is the number of a task
    and the id of what it is part of, which names of files hold.
    """
    rows = _native.RowWriter(table, memory_bytes=write_memory(), lineage=lineage, operation=operation)
    with reported(config.progress) as progress:
        writer = DataFileWriter(table.files, rows, properties, data_format=data_format, progress=progress)
        try:
            writer.write(data if isinstance(data, Iterator) else batches(data, rows.schema()))
            writer.close()
        except BaseException:
            writer.abort()
            raise
    return writer
