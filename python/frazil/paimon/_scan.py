"""Scans of Paimon tables: plan, execute, give rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil import _scan as scan
from frazil._run import ReadSnapshot
from frazil.paimon._options import chooses_state
from frazil.paimon._split import Split

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class Plan(scan.Plan[_native.PaimonPlan]):
    """The data files of a scan, as columns; each belongs to a split."""

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


class Scan(scan.Scan[_native.PaimonPlan, _native.PaimonSplit]):
    """A read of a table that is bound to a snapshot and a schema. Rows are read when asked for."""

    def __init__(self, table: _native.PaimonTable, arguments: dict[str, Any]) -> None:
        """Use `Table.scan` instead."""
        super().__init__(_native.PaimonScan(table, **arguments), arguments["limit"])
        self._table = table
        self._arguments = arguments

    def read_of(self, table: _native.PaimonTable) -> ReadSnapshot | None:
        """Return the snapshot of this scan if it reads what was the newest state of this table and branch, or None.

        If the user chose a state or changes, newer rows are meant to be replaced.
        """
        options = {**json.loads(self._table.schema_json(None)).get("options", {}), **self._arguments["options"]}
        kind, name = self._arguments["snapshot"] or ("ref", options.get("branch", self._table.branch))
        is_branch = kind == "ref" and (name == "main" or name in self._table.branches())
        is_newest = self._arguments["view"] == "rows" and is_branch and not chooses_state(options)
        is_same = (self._table.location, name) == (table.location, table.branch)
        return ReadSnapshot(self.snapshot_id) if is_newest and is_same else None

    def plan(self) -> Plan:
        """Plan the scan: which data files are read, and which of them together."""
        return Plan(self._plan())

    def plan_files(self) -> Iterator[Split]:
        """Give the splits to read."""
        plan = self._plan()
        return (Split(plan.split(index)) for index in range(len(plan)))

    def _place(self) -> str:
        return self._table.location

    def _without_columns(self) -> _native.PaimonScan:
        return _native.PaimonScan(self._table, **self._arguments | {"selected_fields": []})

    def _part(self, plan: _native.PaimonPlan, index: int) -> _native.PaimonSplit:
        return plan.split(index)

    def _read(self, part: _native.PaimonSplit) -> Iterator[pa.RecordBatch]:
        from frazil.paimon._read import read_split

        return read_split(part)
