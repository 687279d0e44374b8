"""Changes between the snapshots of a Paimon table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _changes as changes
from frazil import _native
from frazil import _scan as scan
from frazil._read_ahead import read_parts
from frazil.config import config

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Self

    import pyarrow as pa


class ChangesPlan(scan.Plan[_native.PaimonChangePlan]):
    """The splits in which snapshots changed rows."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the data files, one row per file, with the snapshot and the side that the file is read for."""
        import pyarrow as pa

        schema = pa.schema(
            [
                pa.field("_change_ordinal", pa.int32(), nullable=False),
                pa.field("_commit_snapshot_id", pa.int64(), nullable=False),
                pa.field("side", pa.string(), nullable=False),
                pa.field("file_path", pa.string(), nullable=False),
            ]
        )
        batches = (_described(self._native.stage(index), schema) for index in range(len(self)))
        return pa.RecordBatchReader.from_batches(schema, batches)

    def explain(self) -> str:
        """Return the number of files to read, as one line."""
        m = self.metrics
        return (
            f"{m['files']} files in {m['splits']} splits of {m['stages']} commits, {m['paired_stages']} of them paired"
        )


class Changes(changes.Changes[_native.PaimonChangePlan, _native.PaimonChangeStage]):
    """The rows that snapshots inserted, updated and deleted, read on request."""

    def __init__(self, table: _native.PaimonTable, arguments: dict[str, Any], limit: int | None) -> None:
        """Not for direct use; use `Table.changes`."""
        super().__init__(_native.PaimonChangeScan(table, **arguments), limit)
        self._table = table
        self._arguments = arguments

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, self._arguments | arguments, self._limit)

    def plan(self) -> ChangesPlan:
        """Plan the read: the splits in which each snapshot changed rows."""
        return ChangesPlan(self._plan())

    def _place(self) -> str:
        return self._table.location

    def _without_columns(self) -> _native.PaimonChangeScan:
        return _native.PaimonChangeScan(self._table, **self._arguments)

    def _part(self, plan: _native.PaimonChangePlan, index: int) -> _native.PaimonChangeStage:
        return plan.stage(index)

    def _read(self, part: _native.PaimonChangeStage) -> Iterator[pa.RecordBatch]:
        return read_stage(part)


def read_stage(
    stage: _native.PaimonChangeStage, *, workers: int | None = None
) -> Generator[pa.RecordBatch, None, None]:
    """Stream the changes of a stage; up to `workers` threads (default: `config.max_workers`) read splits ahead."""

    def rows_of(index: int) -> Iterator[pa.RecordBatch]:
        from frazil.paimon._read import read_split

        _, split = stage.split(index)
        for batch in read_split(split):
            yield stage.rows(index, batch)

    rows = read_parts(iter(range(len(stage))), rows_of, workers=workers or config.max_workers)
    yield from changes.paired(stage, rows)


def _described(stage: _native.PaimonChangeStage, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    commit = {"_change_ordinal": stage.ordinal, "_commit_snapshot_id": stage.snapshot_id}
    sides = (stage.split(index) for index in range(len(stage)))
    rows = [
        commit | {"side": side, "file_path": file.file_path} for side, split in sides for file in split.data_files()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=schema)
