"""Merging of source rows into a table."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from frazil import _native
from frazil._merge import statement_time_us
from frazil.errors import InvalidArgumentError
from frazil.iceberg.operations.row_change import RowChange
from frazil.iceberg.operations.row_change_plan import Choice, RowChangePlan
from frazil.iceberg.operations.values import Filter, SnapshotOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil._merge import MergePlan
    from frazil._run import States
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.rows import Source, SourceInput

__all__ = ["Merge", "Merging", "Upsert"]


class Merging(RowChange):
    """The execution of a MERGE."""

    def __init__(self, plan: RowChangePlan, options: SnapshotOptions, merger: _native.Merger) -> None:
        """Keep the plan and the source rows in a hash table."""
        super().__init__(plan, options)
        self._merger = merger
        self._deleted = self._updated = self._inserted = 0
        self._lock = threading.Lock()

    @classmethod
    def planned(
        cls, state: TableState, options: SnapshotOptions, merger: _native.Merger, source: Source, tasks: bytes | None
    ) -> Merging:
        """Plan the files whose rows may match."""
        for batch in source.batches:
            merger.source(batch)
        merger.seal()
        # If unmatched rows change, the filter cannot exclude any rows.
        row_filter = None if merger.changes_unmatched() else merger.filter()
        plan = RowChangePlan(state, "merge", options, Filter(text=row_filter or ""), tasks)
        return cls(plan, options, merger)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete rows, and stream the rows of new files: changed rows, and unchanged rows of the same files."""
        columns = self._merger.target_columns()
        if self.plan.merge_on_read:
            yield from self._rewriter.changed(self._count, columns)
        else:
            self._rewriter.choose(self._count, columns)
            yield from self._rewriter.rewritten(self._probe)

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream the unmatched source rows."""
        for batch in self._merger.inserts():
            self._inserted += batch.num_rows
            yield batch

    def counts(self) -> tuple[int, int]:
        """Return the number of rows that `rows` deleted and updated."""
        return self._deleted, self._updated

    def inserted(self) -> int:
        """Return the number of inserted rows."""
        return self._inserted

    def matched(self) -> bytes:
        """Return which source rows were matched so far, as one bit per row."""
        return bytes(self._merger.matched())

    def take_matched(self, bits: bytes) -> None:
        """Add the matched source rows of a worker, as returned by its `matched`."""
        self._merger.merge_matched(bits)

    def _probe(self, place: int, found: pa.Array, rows: pa.RecordBatch) -> Choice:  # noqa: ARG002 - as of `Choose`
        _, deleted, updated, changed, has_matches = self._merger.probe(rows, partial=True)
        return Choice(pa.concat_arrays([deleted, updated]), changed, is_read=has_matches)

    def _count(self, place: int, found: pa.Array, rows: pa.RecordBatch) -> Choice:
        choice = self._probe(place, found, rows)
        with self._lock:
            self._deleted += len(choice.touched) - choice.changed.num_rows
            self._updated += choice.changed.num_rows
        return choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Updates, deletes and inserts rows by clauses, as SQL's MERGE."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    merge: MergePlan
    now_us: int = field(default_factory=statement_time_us)

    def prepare(self, table: States[TableState], rows: SourceInput) -> Source:
        """Read the source."""
        return rows.hold(table.newest(), exact=self.merge.assigns_all())

    def plan(self, state: TableState, ready: Source, tasks: bytes | None = None) -> Merging:
        """Plan the files whose rows may match."""
        merger = self.merge.merger(state.arrow_schema(), ready.schema, now_us=self.now_us)
        return Merging.planned(state, self.options, merger, ready, tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """Updates rows whose key occurs in a source with different values, and inserts rows with new keys."""

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    keys: Sequence[str] | None
    """The key columns; None for the identifier fields of the table."""
    update: bool = True
    insert: bool = True

    def prepare(self, table: States[TableState], rows: SourceInput) -> Source:
        """Read the source."""
        state = table.newest()
        self._keys(state)
        return rows.hold(state, exact=True)

    def plan(self, state: TableState, ready: Source, tasks: bytes | None = None) -> Merging:
        """Plan the files whose rows may match."""
        merger = _native.Merger.upsert(
            self._keys(state),
            update=self.update,
            insert=self.insert,
            target_schema=state.arrow_schema(),
            source_schema=ready.schema,
        )
        return Merging.planned(state, self.options, merger, ready, tasks)

    def _keys(self, state: TableState) -> Sequence[str]:
        keys = state.metadata.schema().identifier_field_names() if self.keys is None else self.keys
        if not keys:
            message = "the table has no identifier fields, so join_cols must specify the key columns"
            raise InvalidArgumentError(message)
        return keys
