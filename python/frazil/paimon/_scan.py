"""Scans of Paimon tables: planning, execution and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil import _scan as scan
from frazil._narrowing import StateNarrowing
from frazil._run import ReadSnapshot
from frazil.paimon._options import chooses_state
from frazil.paimon._split import Split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    import pyarrow as pa


class Plan(scan.Plan[_native.PaimonPlan]):
    """The data files of a scan, as Arrow columns; each file belongs to a split."""

    @property
    def metrics(self) -> dict[str, int]:
        """The number of manifests, files and splits, and the number pruned for each reason.

        Pruned partitions are counted in manifest entries, all other numbers in files. The splits in `splits_raw` are
        read file by file; those in `splits_merged` are merged by key or joined by row id.
        """
        return self._native.metrics()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the plan."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._native.schema(), self._native.batches())

    def explain(self) -> str:
        """Return a one-line summary of the read and the pruned files."""
        m = self.metrics
        kinds = ", ".join(f"{m[f'splits_{kind}']} {kind}" for kind in ("raw", "merged") if m[f"splits_{kind}"])
        levels = dict.fromkeys((m.get("level_min", 0), m.get("level_max", 0)))
        pruned = (
            (m["manifests_skipped"], f"of {m['manifests']} manifests"),
            (m["entries_skipped_by_partition"], "entries by partition"),
            (m["files_skipped_by_bucket"], "files by bucket"),
            (m["files_skipped_by_stats"], "files by keys, bounds and indexes"),
            (m["files_skipped_by_limit"], "files by the limit"),
            (m["files_unchanged"], "unchanged files"),
        )
        return (
            f"{m['files_planned']} of {m['files']} files in {m['splits']} splits"
            + (f" ({kinds})" if kinds else "")
            + (f" on levels {' to '.join(map(str, levels))}" if any(levels) else "")
            + f"; pruned: {', '.join(f'{count} {what}' for count, what in pruned if count) or 'nothing'}"
            + f"; {m['deletion_vectors']} deletion vectors"
        )


class Scan(scan.Scan[_native.PaimonPlan, _native.PaimonSplit], StateNarrowing):
    """A read of a table, bound to a snapshot and a schema. Rows are read on request."""

    def __init__(self, table: _native.PaimonTable, arguments: dict[str, Any]) -> None:
        """Not for direct use; use `Table.scan`."""
        super().__init__(_native.PaimonScan(table, **arguments), arguments["limit"])
        self._table = table
        self._arguments = arguments

    def read_of(self, table: _native.PaimonTable) -> ReadSnapshot | None:
        """Return the snapshot that this scan reads; None unless it is the latest state of the same table and branch.

        If the user selected a state or changes, replacing newer rows is intended, and None is returned.
        """
        options = {**json.loads(self._table.schema_json(None)).get("options", {}), **self._arguments["options"]}
        kind, name = self._arguments["snapshot"] or ("ref", options.get("branch", self._table.branch))
        is_branch = kind == "ref" and (name == "main" or name in self._table.branches())
        is_newest = self._arguments["view"] == "rows" and is_branch and not chooses_state(options)
        is_same = (self._table.location, name) == (table.location, table.branch)
        return ReadSnapshot(self.snapshot_id) if is_newest and is_same else None

    def _chooses_state(self) -> bool:
        return super()._chooses_state() or chooses_state(self._arguments["options"])

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, self._arguments | arguments)

    def plan(self) -> Plan:
        """Plan the scan: the data files to read, and which ones are read together."""
        return Plan(self._plan())

    def plan_files(self) -> Iterator[Split]:
        """Yield the splits to read."""
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


def scan_arguments(row_filter: str, *, columns: Sequence[str] = ("*",), case_sensitive: bool = True) -> dict[str, Any]:
    """Return the arguments of a scan of the latest snapshot."""
    return {
        "view": "rows",
        "row_filter": row_filter,
        "selected_fields": list(columns),
        "snapshot": None,
        "options": {},
        "limit": None,
        "case_sensitive": case_sensitive,
    }


def rows_scan(
    table: _native.PaimonTable, row_filter: str, *, columns: Sequence[str] = (), case_sensitive: bool = True
) -> _native.PaimonScan:
    """Return a scan of the rows of the latest snapshot that match a filter; by default without columns."""
    return _native.PaimonScan(table, **scan_arguments(row_filter, columns=columns, case_sensitive=case_sensitive))


def target_schema(table: _native.PaimonTable) -> pa.Schema:
    """Return the columns of the rows of a table."""
    return _native.PaimonScan(table, **scan_arguments("false")).schema()
