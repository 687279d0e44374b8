"""Taking rows out of their files: by deletes (merge on read), or by writing files again (copy on write)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from frazil import _native
from frazil.config import config
from frazil.errors import InvalidArgument
from frazil.iceberg.position_deletes import write_position_deletes
from frazil.iceberg.read import rows_of, with_deletes
from frazil.read_ahead import read_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.iceberg.table import Table

POSITION = "_pos"
LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""What rows of v3 keep when they move to another file."""

Operation = Literal["delete", "update", "merge"]

_MODES = ("copy-on-write", "merge-on-read")


class RowLevel:
    """One row-level operation on a branch: which rows it looks at, which of them go."""

    def __init__(
        self, table: Table, operation: Operation, row_filter: str, *, branch: str, case_sensitive: bool = True
    ) -> None:
        """Plan the files whose rows may match."""
        self.table = table
        self.branch = branch
        self._filter, self._case_sensitive = row_filter, case_sensitive
        properties = table.properties
        self.isolation = properties.get(f"write.{operation}.isolation-level", "serializable")
        self.on_read = _on_read(table, operation)
        head = table.refs().get(branch)
        if head is None and branch != "main":
            # Says which branches there are.
            table.scan(ref=branch)
        self._snapshot_id = None if head is None else head.snapshot_id
        self._choice = ("ref", branch) if head is not None else None
        self.found = self._scan(self._filter, [POSITION])
        self.plan = self.found.plan(config.max_workers)
        self.delta = _native.RowDelta(self.plan)
        self._lock = threading.Lock()
        self.matched_rows = 0

    @property
    def validation(self) -> tuple[int | None, str, str, bool, bool]:
        """What the commit is checked against: what was looked at, and how strictly."""
        return (self._snapshot_id, self.isolation, self._filter, self._case_sensitive, False)

    def find(self) -> None:
        """Find the rows that match; files of which all rows match go at once."""
        indices = [index for index in range(len(self.plan)) if not self._goes_whole(index)]
        for _ in read_parts(indices, self._find_in, workers=config.max_workers):
            pass
        self.delta.remove_emptied()

    def _goes_whole(self, index: int) -> bool:
        if not self.plan.is_whole(index):
            return False
        task = self.plan.task(index)
        if task.delete_files:
            return False
        self.delta.remove_file(index)
        self.matched_rows += task.record_count
        return True

    def _find_in(self, index: int) -> Iterator[pa.RecordBatch]:
        reader, rows = self.open(index, self.found)
        for batch in rows:
            self.delete(index, batch[POSITION], reader)
        yield from ()

    def delete(self, index: int, positions: pa.Array, reader: _native.TaskReader) -> None:
        """Delete rows of a data file."""
        self.delta.delete_rows(index, positions, reader)
        with self._lock:
            self.matched_rows += len(positions)

    def open(self, index: int, scan: _native.Scan) -> tuple[_native.TaskReader, Iterator[pa.RecordBatch]]:
        """Read the data file at a place of the plan with the columns and the filter of `scan`."""
        task = self.plan.task_for(index, scan)
        reader = with_deletes(task)
        return reader, rows_of(task, reader)

    def write_deletes(self) -> list[str]:
        """Write the deletes of the files that stay; give where."""
        native = self.table._native  # noqa: SLF001 - of one package
        if self.table.format_version > 2:  # noqa: PLR2004
            written = self.delta.write_vectors(native, native.files)
            return [] if written is None else [written]
        granularity = self.table.properties.get("write.delete.granularity", "file").lower()
        if granularity not in ("file", "partition"):
            message = f"write.delete.granularity is file or partition, not {granularity!r}"
            raise InvalidArgument(message)
        return write_position_deletes(self.table, self.delta, by_file=granularity == "file")

    def rewritten(self) -> pa.RecordBatchReader:
        """Stream the rows that stay of the files that lose some; these files go."""
        staying = self.delta.staying()
        for index in staying:
            self.delta.remove_file(index)
        scan = self._scan("", ["*", POSITION, *self.lineage])
        kept = read_parts(staying, lambda index: self._kept_of(index, scan), workers=config.max_workers)
        schema = scan.schema()
        return pa.RecordBatchReader.from_batches(schema.remove(schema.get_field_index(POSITION)), kept)

    @property
    def lineage(self) -> tuple[str, ...]:
        """The metadata columns that rows keep."""
        return LINEAGE if self.table.format_version > 2 else ()  # noqa: PLR2004

    def _kept_of(self, index: int, scan: _native.Scan) -> Iterator[pa.RecordBatch]:
        _, rows = self.open(index, scan)
        for batch in rows:
            kept = pc.invert(self.delta.is_deleted(index, batch[POSITION]))
            yield batch.drop_columns([POSITION]).filter(kept)

    def _scan(self, row_filter: str, columns: list[str]) -> _native.Scan:
        arguments: dict[str, Any] = {
            "row_filter": row_filter,
            "selected_fields": columns,
            "snapshot": self._choice,
            "append": None,
            "limit": None,
            "case_sensitive": self._case_sensitive,
        }
        return _native.Scan(self.table._native, **arguments)  # noqa: SLF001 - of one package


def _on_read(table: Table, operation: Operation) -> bool:
    """Say whether an operation writes deletes instead of files (`write.<operation>.mode`)."""
    key = f"write.{operation}.mode"
    mode = table.properties.get(key, _MODES[0]).lower()
    if mode not in _MODES:
        message = f"{key} is {' or '.join(_MODES)}, not {mode!r}"
        raise InvalidArgument(message, context={"property": key})
    # v1 has no deletes.
    return mode == _MODES[1] and table.format_version > 1
