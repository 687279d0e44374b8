"""Changes of rows of a table without a primary key, given by their addresses: a data file and a position in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import CommitConflictError, InvalidArgumentError
from frazil.paimon._append_changes import Rewrite
from frazil.paimon._file_rewriter import Changed, FileRewriter, RowChange
from frazil.paimon._row_attempts import Ready
from frazil.paimon._row_rules import TableRules
from frazil.paimon._scan import rows_scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil._run import ReadSnapshot, States
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["AddressedClause", "AddressedRows", "ChangeRows"]

_FILE, _POSITION = "file", "position"


class AddressedClause(NamedTuple):
    """Rows that are deleted or updated in the same way."""

    rows: pa.Table
    """The columns `file` and `position`, followed by the new values."""
    columns: Sequence[str] | None
    """The columns to set; None to delete the rows."""


class AddressedRows(NamedTuple):
    """Rows to change, and rows to insert."""

    clauses: Sequence[AddressedClause]
    inserts: Sequence[pa.Table] = ()
    read: ReadSnapshot | None = None
    """The snapshot on which the result depends, if rows that others add are conflicts."""


class Selecting(Protocol):
    """Selects the rows to change."""

    def read(self, state: TableState) -> AddressedRows:
        """Return the rows for the latest state of the table."""


class _Selected(Ready):
    """The rows to change, which each attempt selects again."""

    def __init__(self, rows: Selecting) -> None:
        super().__init__()
        self.read = rows.read


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRows(Rewrite):
    """Deletes, updates and inserts rows that a query selects."""

    options: CommitOptions
    kind: str
    """The statement, for messages."""

    def prepare(self, table: States[TableState], rows: Any) -> Ready:
        """Load the latest state."""
        table.newest()
        return _Selected(rows)

    def _rewriter(self, state: TableState, ready: Any) -> FileRewriter:
        rules = TableRules(state, self.kind)
        rows: AddressedRows = ready.read(state)
        change = _Addressed(rows, state.native.location)
        return FileRewriter(state, self.options, rows_scan(state.native, ""), change, rules, read=rows.read)


class _Addressed(RowChange):
    """Changes the rows with given addresses."""

    def __init__(self, rows: AddressedRows, location: str) -> None:
        self._inserts, self._location = rows.inserts, location
        self._by_file: dict[str, list[tuple[Sequence[str] | None, pa.Table]]] = {}
        for clause in rows.clauses:
            order = clause.rows.sort_by(_FILE)
            runs = pc.run_end_encode(order.column(_FILE).combine_chunks()) if order.num_rows else None
            begin = 0
            for end, file in (
                () if runs is None else zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True)
            ):
                self._by_file.setdefault(file, []).append((clause.columns, order.slice(begin, end - begin)))
                begin = end
        self._missing = set(self._by_file)
        self.only_deletes = all(clause.columns is None for clause in rows.clauses)

    def positions(self, file: str) -> pa.Array:
        """Return the positions of the rows that change in a data file."""
        self._missing.discard(file)
        found = [table.column(_POSITION) for _, table in self._by_file.get(file, ())]
        return (
            pa.concat_arrays([chunk for column in found for chunk in column.chunks])
            if found
            else pa.array([], pa.int64())
        )

    def changed(self, rows: pa.RecordBatch, file: str, positions: pa.Array) -> Changed:
        """Return the new values of the updated rows; the other rows are deleted.

        Raises:
            InvalidArgumentError: The new value of a required column is NULL.
        """
        columns = list(rows.columns)
        is_updated = pa.array([False] * rows.num_rows, pa.bool_())
        for names, table in self._by_file[file]:
            if names is None:
                continue
            places = pc.index_in(positions, table.column(_POSITION).combine_chunks())
            is_updated = pc.or_(is_updated, places.is_valid())
            for name, values in zip(names, table.columns[2:], strict=True):
                at = rows.schema.get_field_index(name)
                new = values.combine_chunks().take(places)
                columns[at] = pc.if_else(places.is_valid(), new, columns[at])
                if columns[at].null_count and not rows.schema.field(at).nullable:
                    message = f"column `{name}` is required, but its new value is NULL"
                    raise InvalidArgumentError(message, context={"table": self._location, "column": name})
        updated = pc.indices_nonzero(is_updated)
        return Changed(updated.to_pylist(), pa.RecordBatch.from_arrays(columns, schema=rows.schema).take(updated))

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream the inserted rows.

        Raises:
            CommitConflictError: A concurrent writer removed a file with rows that change.
        """
        if self._missing:
            message = f"another writer removed data files of table {self._location} after their rows were selected"
            raise CommitConflictError(message, context={"table": self._location})
        for table in self._inserts:
            yield from table.to_batches()
