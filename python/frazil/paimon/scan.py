"""Scans of Paimon tables: plan, execute, give rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.config import config
from frazil.paimon.split import Split
from frazil.rows import Batches, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class Plan(Batches):
    """The data files of a scan, as columns; each belongs to a split."""

    def __init__(self, native: _native.PaimonPlan) -> None:
        """Use `Scan.plan` instead."""
        self._native = native

    def __len__(self) -> int:
        """Give the number of splits."""
        return len(self._native)

    @property
    def metrics(self) -> dict[str, int]:
        """How many manifests, files and splits there are, and how many were left out and why.

        Entries of manifests are counted where whole partitions are left out, else files. `splits_raw` are read file
        after file, `splits_merged` are merged by key or joined by row id.
        """
        return self._native.metrics()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the plan."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._native.schema(), self._native.batches())

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Give the splits in groups of about `target_bytes`, each as a wire form; see `Split.from_bytes`.

        Args:
            target_bytes: How many bytes of files a group has at most, unless one of the splits alone has more.
            open_cost_bytes: What each of the splits counts at least.
        """
        return self._native.groups(target_bytes, open_cost_bytes)

    def explain(self) -> str:
        """Say in one line what was kept and what was left out."""
        m = self.metrics
        kinds = ", ".join(f"{m[f'splits_{kind}']} {kind}" for kind in ("raw", "merged") if m[f"splits_{kind}"])
        levels = dict.fromkeys((m.get("level_min", 0), m.get("level_max", 0)))
        pruned = (
            (m["manifests_skipped"], f"of {m['manifests']} manifests"),
            (m["entries_skipped_by_partition"], "entries by partition"),
            (m["files_skipped_by_bucket"], "files by bucket"),
            (m["files_skipped_by_stats"], "files by keys, bounds and indexes"),
            (m["files_skipped_by_limit"], "files by the limit"),
            (m["files_unchanged"], "files that did not change"),
        )
        return (
            f"{m['files_planned']} of {m['files']} files in {m['splits']} splits"
            + (f" ({kinds})" if kinds else "")
            + (f" on levels {' to '.join(map(str, levels))}" if any(levels) else "")
            + f"; pruned: {', '.join(f'{count} {what}' for count, what in pruned if count) or 'nothing'}"
            + f"; {m['deletion_vectors']} deletion vectors"
        )

    def __repr__(self) -> str:
        """Give what was kept and what was left out."""
        return f"<frazil.paimon.Plan {self.explain()}>"


class Scan(Rows):
    """A read of a table that is bound to a snapshot and a schema. Rows are read when asked for."""

    def __init__(self, table: _native.PaimonTable, arguments: dict[str, Any]) -> None:
        """Use `Table.scan` instead."""
        self._table = table
        self._arguments = arguments
        self._native = _native.PaimonScan(table, **arguments)

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
        """Plan the scan: which data files are read, and which of them together."""
        return Plan(self._plan())

    def explain(self) -> str:
        """Say what the plan keeps and what it leaves out."""
        return self.plan().explain()

    def plan_files(self) -> Iterator[Split]:
        """Give the splits to read."""
        plan = self._plan()
        return (Split(plan.split(index)) for index in range(len(plan)))

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as Arrow record batches; splits are read ahead by `config.max_workers` threads."""
        import pyarrow as pa

        from frazil.paimon.read import read_splits

        plan = self._plan()
        splits = (plan.split(index) for index in range(len(plan)))
        batches = read_splits(splits, workers=config.max_workers, limit=self._arguments["limit"])
        return pa.RecordBatchReader.from_batches(self.schema(), batches)

    def count(self) -> int:
        """Count the rows: from metadata where no merge, delete or filter forbids it, by reading else."""
        from frazil.paimon.read import read_split

        limit = self._arguments["limit"]
        plan = _native.PaimonScan(self._table, **self._arguments | {"selected_fields": []}).plan(config.max_workers)
        rows, unread = plan.count()
        for index in unread:
            if limit is not None and rows >= limit:
                break
            rows += sum(batch.num_rows for batch in read_split(plan.split(index)))
        return rows if limit is None else min(rows, limit)

    def _plan(self) -> _native.PaimonPlan:
        return self._native.plan(config.max_workers)

    def __repr__(self) -> str:
        """Give filter and snapshot."""
        return f"<frazil.paimon.Scan snapshot {self.snapshot_id} where {self.filter}>"
