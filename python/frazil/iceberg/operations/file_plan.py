"""The data files of a branch, for operations that rewrite their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil import _native
from frazil._read_ahead import read_parts
from frazil.config import config
from frazil.iceberg._read import rows_of, with_deletes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.values import Filter

__all__ = ["FilePlan", "positions"]

_POSITION = "_pos"
_LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""The metadata columns that v3 rows keep when they are moved to another file."""


class FilePlan:
    """The data files of a branch that may contain rows matching a filter."""

    def __init__(self, state: TableState, branch: str, row_filter: Filter, tasks: bytes | None = None) -> None:
        """Plan the files, or use `tasks`, a part of the tasks that another process planned.

        Raises:
            NoSuchSnapshotError: The branch does not exist; the message lists the branches of the table.
        """
        self.state = state
        self._filter = row_filter
        head = state.metadata.refs.get(branch)
        # For a missing branch other than main, the scan raises an error that lists the branches.
        self._branch = None if head is None and branch == "main" else branch
        self.snapshot_id = None if head is None else head.snapshot_id
        """The snapshot of the branch that is read; None if the branch is empty."""
        self.lineage = state.lineage()
        self.found = self.scan(row_filter.text, [])
        # A worker process that receives a group of tasks uses one core.
        self.workers = config.max_workers if tasks is None else 1
        self.tasks: _native.Plan | _native.Tasks = (
            self.found.plan_whole_files(self.workers) if tasks is None else _native.Tasks(tasks, state.files)
        )

    def open(
        self, place: int, scan: _native.Scan, *, find: bool = False
    ) -> tuple[_native.TaskReader, Iterator[pa.RecordBatch]]:
        """Read the data file at a position of the plan, with the columns and the filter of `scan`.

        With `find`, the filter columns are read first to find the row groups with matching rows; see `rows_of`.
        """
        task = self.tasks.task_for(place, scan)
        reader = with_deletes(task)
        finder = with_deletes(self.tasks.task_for(place, self.found)) if find else None
        return reader, rows_of(task, reader, finder)

    def scan(self, row_filter: str, columns: list[str], *, with_lineage: bool = False) -> _native.Scan:
        """Bind a scan of the branch, with positions in the last column, preceded in v3 by the ids if `with_lineage`."""
        kept = _LINEAGE if with_lineage and self.lineage else ()
        return self.state.bind(
            row_filter,
            columns,
            branch=self._branch,
            case_sensitive=self._filter.case_sensitive,
            metadata_columns=(*kept, _POSITION),
        )

    def moving(self, row_filter: str = "") -> _native.Scan:
        """Return a scan of everything that moved rows keep: all columns, and in v3 the row lineage columns."""
        return self.scan(row_filter, ["*"], with_lineage=True)

    def moved(self, places: Sequence[int], workers: int) -> Iterator[pa.RecordBatch]:
        """Stream all rows of data files in plan order, in the form in which they are rewritten."""
        scan = self.moving()

        def read(place: int) -> Iterator[pa.RecordBatch]:
            return (self.staying(batch) for batch in self.open(place, scan)[1])

        return read_parts(places, read, workers=workers)

    def staying(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return unchanged rows of a `moving` scan in the form in which they are rewritten, including their ids."""
        return self.with_lineage(self.columns(batch), batch.columns[-1 - len(self.lineage) : -1])

    def changed(self, batch: pa.RecordBatch, touched: pa.Array, changed: pa.RecordBatch) -> pa.RecordBatch:
        """Return changed rows with their row ids; `changed` corresponds to the last row numbers in `touched`.

        The sequence number column is NULL, because the sequence number of the commit is not yet known.
        """
        if not self.lineage:
            return changed
        numbers = touched.slice(len(touched) - changed.num_rows)
        ids = batch.columns[-1 - len(self.lineage)].take(numbers)
        return self.with_lineage(changed, [ids, pa.nulls(changed.num_rows, pa.int64())])

    def columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Select the table's columns by position, because metadata columns after them may have the same names."""
        return batch.select(range(batch.num_columns - 1 - len(self.lineage)))

    def with_lineage(self, rows: pa.RecordBatch, kept: list[pa.Array]) -> pa.RecordBatch:
        """Append the row lineage columns in `kept` to rows that are moved to another file."""
        if not self.lineage:
            return rows
        schema = rows.schema
        for name in self.lineage:
            schema = schema.append(pa.field(name, pa.int64()))
        return pa.RecordBatch.from_arrays([*rows.columns, *kept], schema=schema)


def positions(batch: pa.RecordBatch) -> pa.Array:
    """Return the positions of rows in their file, which are the last column of each scan of a `FilePlan`."""
    return batch.columns[-1]
