"""Carrying out a MERGE: the rows of a source against those of a table, and what becomes of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil.files.rows.batches import batches, no_rows
from frazil.iceberg._row_level import RowChange, RowLevel, bind
from frazil.iceberg._type_name import type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.iceberg._table import Table


class Source:
    """The rows that a merge takes, held for however many attempts."""

    def __init__(self, table: Table, data: Any, *, exact: bool = False) -> None:
        """Read all rows, in the types of the columns that have their names, as `append` does.

        A column that `append` would reject keeps its type, because expressions may read it.
        With `exact` it is an error.
        """
        schema = bind(table, "", ["*"]).schema()
        parts = list(batches(data, schema, type_name, source=True))
        filled = [part for part in parts if part.num_rows]
        # Parts without rows need not have the columns of the others: an empty list has none.
        parts = filled or [part for part in parts if part.num_columns][:1] or [no_rows(schema)]
        self.batches = _native.source_batches(table._native, parts, exact=exact)  # noqa: SLF001 - of one package
        self.schema: pa.Schema = self.batches[0].schema


class Merging(RowChange):
    """One merge into a branch of a table."""

    def __init__(
        self,
        table: Table,
        merger: _native.Merger,
        source: Source,
        branch: str,
        *,
        tasks: _native.Tasks | None = None,
    ) -> None:
        """Take the source and plan the files whose rows may match; see `RowLevel` for `tasks`."""
        for batch in source.batches:
            merger.source(batch)
        merger.seal()
        # Where rows change that match nothing, all rows are looked at.
        row_filter = None if merger.changes_unmatched() else merger.filter()
        self.operation = RowLevel(table, "merge", row_filter or "", branch=branch, tasks=tasks)
        self._deleted = self._updated = self.inserted = 0
        self._merger = merger
        self._lock = threading.Lock()

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete rows, and stream those of new files: those that change and those that share a file with them."""
        operation = self.operation
        columns = self._merger.target_columns()
        if operation.on_read:
            yield from operation.changed(self._count, columns)
        else:
            operation.choose(self._count, columns)
            yield from operation.rewritten(self._probe)

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream new rows, once all others were looked at."""
        for batch in self._merger.inserts():
            self.inserted += batch.num_rows
            yield batch

    def counts(self) -> tuple[int, int]:
        """Give how many rows are deleted and updated."""
        return self._deleted, self._updated

    def matched(self) -> bytes:
        """Give which rows of the source matched so far, a bit for each."""
        return bytes(self._merger.matched())

    def take_matched(self, bits: bytes) -> None:
        """Add what another process gave as `matched`."""
        self._merger.merge_matched(bits)

    def _probe(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.RecordBatch]:
        _, deleted, updated, changed = self._merger.probe(rows, partial=True)
        return pa.concat_arrays([deleted, updated]), changed

    def _count(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.RecordBatch]:
        touched, changed = self._probe(rows)
        with self._lock:
            self._deleted += len(touched) - changed.num_rows
            self._updated += changed.num_rows
        return touched, changed
