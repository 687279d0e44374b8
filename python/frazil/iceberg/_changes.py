"""Changes between the snapshots of an Iceberg table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _changes as changes
from frazil import _native
from frazil import _scan as scan
from frazil._read_ahead import read_parts
from frazil.config import config
from frazil.files.read.open import open_data_file
from frazil.iceberg._read import INT96_UNIT, rows_of, with_deletes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Self

    import pyarrow as pa


class ChangesPlan(scan.Plan[_native.ChangePlan]):
    """The data files in which snapshots changed rows."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream one row per file, with its changes and the deletes before and after the snapshot."""
        import pyarrow as pa

        schema = pa.schema(
            [
                pa.field("_change_ordinal", pa.int32(), nullable=False),
                pa.field("_commit_snapshot_id", pa.int64(), nullable=False),
                pa.field("file_path", pa.string(), nullable=False),
                pa.field("deletes_before", pa.list_(pa.string())),
                pa.field("deletes_after", pa.list_(pa.string())),
            ]
        )
        batches = (_described(self._native.stage(index), schema) for index in range(len(self)))
        return pa.RecordBatchReader.from_batches(schema, batches)

    def explain(self) -> str:
        """Return a one-line summary with the number of files to read."""
        metrics = self.metrics
        return f"{metrics['tasks']} files in {metrics['stages']} stages, {metrics['paired_stages']} of them paired"


class Changes(changes.Changes[_native.ChangePlan, _native.ChangeStage]):
    """The rows that snapshots inserted and deleted, read on request."""

    def __init__(self, table: _native.Table, arguments: dict[str, Any], limit: int | None) -> None:
        """Not for direct use; use `Table.changes`."""
        super().__init__(_native.ChangeScan(table, **arguments), limit)
        self._table = table
        self._arguments = arguments

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, self._arguments | arguments, self._limit)

    def plan(self) -> ChangesPlan:
        """Plan the read: the data files in which each snapshot changed rows."""
        return ChangesPlan(self._plan())

    def _place(self) -> str:
        return str(json.loads(self._table.metadata_json("location")))

    def _without_columns(self) -> _native.ChangeScan:
        return _native.ChangeScan(self._table, **self._arguments)

    def _part(self, plan: _native.ChangePlan, index: int) -> _native.ChangeStage:
        return plan.stage(index)

    def _read(self, part: _native.ChangeStage) -> Iterator[pa.RecordBatch]:
        return read_stage(part)


def read_stage(stage: _native.ChangeStage, *, workers: int | None = None) -> Generator[pa.RecordBatch, None, None]:
    """Stream the changes of a stage; up to `workers` threads (default: `config.max_workers`) read its files ahead."""
    tasks = (stage.task(index) for index in range(len(stage)))
    yield from changes.paired(stage, read_parts(tasks, _changed_rows, workers=workers or config.max_workers))


def _changed_rows(change: _native.ChangeTask) -> Iterator[pa.RecordBatch]:
    before, after = change.before, change.after
    if before is not None and after is not None:
        yield from _rows_of_both(change, before, after)
    elif task := before or after:
        for batch in rows_of(task, with_deletes(task)):
            rows = change.rows(batch, None) if after is None else change.rows(None, batch)
            if rows is not None:
                yield rows


def _rows_of_both(
    change: _native.ChangeTask, before: _native.FileScanTask, after: _native.FileScanTask
) -> Iterator[pa.RecordBatch]:
    """Read a file once, with the deletes before and after the snapshot."""
    old, new = with_deletes(before, beside=after), with_deletes(after, beside=before)
    if old.is_empty or new.is_empty:
        return
    with open_data_file(after.files, after.file_path, after.file_format, int96_unit=INT96_UNIT) as data:
        wanted = old.open(data.schema)
        new.open(data.schema)
        selected = None
        if data.row_groups:
            selected = old.select_row_groups(data.statistics(old.statistics_leaves()))
        count = 0
        for position, batch, rows in data.batches(wanted, selected):
            count += rows
            changed = change.rows(old.apply(batch, position, rows), new.apply(batch, position, rows))
            if changed is not None:
                yield changed
        if selected is None:
            old.check_rows(count)


def _described(stage: _native.ChangeStage, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    rows = []
    for index in range(len(stage)):
        change = stage.task(index)
        sides = {"deletes_before": change.before, "deletes_after": change.after}
        file = change.after or change.before
        rows.append(
            {
                "_change_ordinal": change.ordinal,
                "_commit_snapshot_id": change.snapshot_id,
                "file_path": None if file is None else file.file_path,
            }
            | {name: task and [file.file_path for file in task.delete_files] for name, task in sides.items()}
        )
    return pa.RecordBatch.from_pylist(rows, schema=schema)
