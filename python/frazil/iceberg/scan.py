"""Scans of Iceberg tables: plan, execute, give rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.config import config
from frazil.iceberg.task import FileScanTask
from frazil.rows import Batches, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class Plan(Batches):
    """The data files of a scan with their deletes, as columns."""

    def __init__(self, native: _native.Plan) -> None:
        """Use `Scan.plan` instead."""
        self._native = native

    def __len__(self) -> int:
        """Give the number of data files."""
        return len(self._native)

    @property
    def metrics(self) -> dict[str, int]:
        """How many manifests and files there are, and how many were left out and why."""
        return self._native.metrics()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the plan, one batch for each manifest."""
        import pyarrow as pa

        batches = (self._native.batch(index) for index in range(self._native.batch_count))
        return pa.RecordBatchReader.from_batches(self._native.schema(), batches)

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Give the tasks in groups of about `target_bytes`, each as a wire form; see `FileScanTask.from_bytes`.

        Args:
            target_bytes: How many bytes of files a group has at most, unless one of the tasks alone has more.
            open_cost_bytes: What each of the tasks counts at least.
        """
        return self._native.groups(target_bytes, open_cost_bytes)

    def __repr__(self) -> str:
        """Give what was kept and what was left out."""
        return f"<frazil.iceberg.Plan {self.explain()}>"

    def explain(self) -> str:
        """Say in one line what was kept and what was left out."""
        m = self.metrics
        return (
            f"{m['tasks']} of {m['files']} files in {m['manifests'] - m['manifests_skipped']} of {m['manifests']}"
            f" manifests; pruned: {m['manifests_skipped']} manifests by partition summaries,"
            f" {m['files_skipped_by_partition']} files by partition, {m['files_skipped_by_bounds']} files by bounds;"
            f" {m['delete_files']} delete files"
        )


class Scan(Rows):
    """A read of a table that is bound to a snapshot and a schema. Rows are read when asked for."""

    def __init__(self, table: _native.Table, arguments: dict[str, Any]) -> None:
        """Use `Table.scan` instead."""
        self._table = table
        self._arguments = arguments
        self._native = _native.Scan(table, **arguments)

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot that is read; None for a table without one."""
        return self._native.snapshot_id

    @property
    def filter(self) -> str:
        """The filter as it was bound to the table's columns, as SQL."""
        return self._native.filter

    def schema(self) -> pa.Schema:
        """Give the Arrow schema of the rows."""
        return self._native.schema()

    def plan(self) -> Plan:
        """Plan the scan: which data files are read, with which deletes."""
        return Plan(self._plan())

    def explain(self) -> str:
        """Say what the plan keeps and what it leaves out."""
        return self.plan().explain()

    def plan_files(self) -> Iterator[FileScanTask]:
        """Give the data files to read, one task each."""
        plan = self._plan()
        return (FileScanTask(plan.task(index)) for index in range(len(plan)))

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as Arrow record batches; files are read ahead by `config.max_workers` threads."""
        import pyarrow as pa

        from frazil.iceberg.read import read_tasks

        plan = self._plan()
        tasks = (plan.task(index) for index in range(len(plan)))
        batches = read_tasks(tasks, workers=config.max_workers, limit=self._arguments["limit"])
        return pa.RecordBatchReader.from_batches(self.schema(), batches)

    def count(self) -> int:
        """Count the rows: from metadata where no delete and no filter forbids it, by reading else."""
        from frazil.iceberg.read import read_task

        limit = self._arguments["limit"]
        plan = _native.Scan(self._table, **self._arguments | {"selected_fields": []}).plan(config.max_workers)
        rows, unread = plan.count()
        for index in unread:
            if limit is not None and rows >= limit:
                break
            rows += sum(batch.num_rows for batch in read_task(plan.task(index)))
        return rows if limit is None else min(rows, limit)

    def _plan(self) -> _native.Plan:
        return self._native.plan(config.max_workers)

    def __repr__(self) -> str:
        """Give filter and snapshot."""
        return f"<frazil.iceberg.Scan snapshot {self.snapshot_id} where {self.filter}>"
