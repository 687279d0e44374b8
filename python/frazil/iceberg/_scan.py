"""Scans of Iceberg tables: planning, execution and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil import _scan as scan
from frazil._narrowing import StateNarrowing
from frazil.iceberg._task import FileScanTask

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Self

    import pyarrow as pa


class Plan(scan.Plan[_native.Plan]):
    """The data files of a scan with their deletes, as Arrow columns."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the plan, one batch per manifest."""
        import pyarrow as pa

        batches = (self._native.batch(index) for index in range(self._native.batch_count))
        return pa.RecordBatchReader.from_batches(self._native.schema(), batches)

    def groups(self, target_bytes: int, open_cost_bytes: int, *, without: Collection[int] = ()) -> list[bytes]:
        """Return the files in groups of about `target_bytes`, each as a serialized form that any process can read.

        Args:
            target_bytes: The maximum size of a group in bytes; larger files are split.
            open_cost_bytes: The minimum size that each file counts as.
            without: The positions of files to omit.
        """
        return self._native.groups(target_bytes, open_cost_bytes, set(without))

    def explain(self) -> str:
        """Return a one-line summary of the read and the pruned files."""
        m = self.metrics
        return (
            f"{m['tasks']} of {m['files']} files in {m['manifests'] - m['manifests_skipped']} of {m['manifests']}"
            f" manifests; pruned: {m['manifests_skipped']} manifests by partition summaries,"
            f" {m['files_skipped_by_partition']} files by partition, {m['files_skipped_by_bounds']} files by bounds;"
            f" {m['delete_files']} delete files"
        )


class Scan(scan.Scan[_native.Plan, _native.FileScanTask], StateNarrowing):
    """A read of a table, bound to a snapshot and a schema. Rows are read on request."""

    def __init__(self, table: _native.Table, arguments: dict[str, Any], *, is_staged: bool = False) -> None:
        """Not for direct use; use `Table.scan`."""
        super().__init__(_native.Scan(table, **arguments), arguments["limit"])
        self._table = table
        self._arguments = arguments
        self.is_staged = is_staged
        """Whether the scan reads uncommitted changes of a transaction."""

    def reads_branch_of(self, table: _native.Table, branch: str) -> bool:
        """Return whether the scan reads the state of a branch of this table that was latest when it was created."""
        is_same = self._table.metadata_json("table-uuid") == table.metadata_json("table-uuid")
        return is_same and self._arguments["append"] is None and self._branch() == branch

    def _branch(self) -> str | None:
        """Return the branch that is read; None if the scan was created for a snapshot, a tag or a time."""
        kind, name = self._arguments["snapshot"] or ("ref", "main")
        refs = json.loads(self._table.metadata_json("refs") or "{}")
        is_branch = kind == "ref" and (name == "main" or refs.get(name, {}).get("type") == "branch")
        return str(name) if is_branch else None

    def _chooses_state(self) -> bool:
        return super()._chooses_state() or self._arguments["append"] is not None

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, self._arguments | arguments, is_staged=self.is_staged)

    def plan(self) -> Plan:
        """Plan the scan: the data files to read, and their deletes."""
        return Plan(self._plan())

    def plan_files(self) -> Iterator[FileScanTask]:
        """Yield the data files to read, one task per file."""
        plan = self._plan()
        return (FileScanTask(plan.task(index)) for index in range(len(plan)))

    def _place(self) -> str:
        return str(json.loads(self._table.metadata_json("location")))

    def _without_columns(self) -> _native.Scan:
        return _native.Scan(self._table, **self._arguments | {"selected_fields": []})

    def _part(self, plan: _native.Plan, index: int) -> _native.FileScanTask:
        return plan.task(index)

    def _read(self, part: _native.FileScanTask) -> Iterator[pa.RecordBatch]:
        from frazil.iceberg._read import read_task

        return read_task(part)
