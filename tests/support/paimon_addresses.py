"""Changes of rows of Paimon tables by addresses, which a filter of frazil selects instead of a query of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil._run import ReadSnapshot
from frazil.paimon._addressed_rows import AddressedClause, AddressedRows, ChangeRows
from frazil.paimon._read import read_split
from frazil.paimon._scan import rows_scan
from frazil.paimon._writing import carry_out, commit_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._write_result import WriteResult
    from frazil.paimon import Table
    from frazil.paimon._state import TableState


class Selected:
    """The rows that filters select, and rows to insert."""

    def __init__(
        self,
        deleted: str | None = None,
        updated: Mapping[str, Mapping[str, Any]] | None = None,
        inserted: Sequence[pa.Table] = (),
        *,
        reads_others: bool = False,
    ) -> None:
        """Keep the filters; `updated` are new values by filter and column."""
        self._deleted, self._updated, self._inserted = deleted, dict(updated or {}), list(inserted)
        self._reads_others = reads_others
        self.after_read: Any = lambda: None

    def read(self, state: TableState) -> AddressedRows:
        """Return the addresses of the rows."""
        snapshot = rows_scan(state.native, "false").snapshot_id
        clauses = [] if self._deleted is None else [AddressedClause(addresses(state, self._deleted), None)]
        for row_filter, values in self._updated.items():
            found = addresses(state, row_filter)
            schema = rows_scan(state.native, "false", columns=list(values)).schema()
            for name, value in values.items():
                kind = schema.field(name).type
                found = found.append_column(name, pa.array([value] * found.num_rows, kind))
            clauses.append(AddressedClause(found, tuple(values)))
        self.after_read()
        return AddressedRows(clauses, self._inserted, ReadSnapshot(snapshot) if self._reads_others else None)


def addresses(state: TableState, row_filter: str) -> pa.Table:
    """Return the files and positions of the rows that match a filter."""
    plan = rows_scan(state.native, row_filter).rewrites(utc_offset_ms=0)
    files: list[str] = []
    positions: list[int] = []
    for place in range(len(plan)):
        split = plan.file(place)[0]
        for rows in read_split(split):
            found = rows.column(rows.num_columns - 1).to_pylist()
            positions += found
            files += [split.data_files()[0].file_path] * len(found)
    return pa.table({"file": pa.array(files, pa.string()), "position": pa.array(positions, pa.int64())})


def change(table: Table, selected: Selected, **about: Any) -> WriteResult:
    """Change the selected rows of a table."""
    options = commit_options(table, about.get("snapshot_properties"))
    return carry_out(table, ChangeRows(options=options, kind="merge"), selected)
