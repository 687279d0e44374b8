"""The operations that change rows of a Paimon table without a primary key.

Data files with changed rows are written again, in one snapshot. If a concurrent commit removed one of these files, the
operation is planned again on the latest snapshot. Concurrent appends do not conflict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil import _native
from frazil._merge import MergePlan, statement_time_us
from frazil.errors import InvalidArgumentError
from frazil.paimon._file_rewriter import Changed, FileRewriter, RowChange
from frazil.paimon._row_attempts import RowOperation
from frazil.paimon._row_rules import TableRules
from frazil.paimon._scan import rows_scan, target_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil._merge import Assignment
    from frazil.paimon._messages import Messages
    from frazil.paimon._row_attempts import Ready
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["Delete", "Merge", "Rewrite", "Update", "Upsert"]


class Rewrite(RowOperation):
    """The common parts of operations that rewrite files."""

    def _write(self, state: TableState, ready: Ready) -> Messages:
        """Rewrite the files with changed rows."""
        return self._rewriter(state, ready).execute()

    def _rewriter(self, state: TableState, ready: Ready) -> FileRewriter:
        """Plan the files whose rows may change."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Rewrite):
    """Deletes the rows that match a filter."""

    options: CommitOptions
    row_filter: str
    case_sensitive: bool = True

    def _rewriter(self, state: TableState, ready: Ready) -> FileRewriter:  # noqa: ARG002 - as of `Rewrite`
        rules = TableRules(state, "delete")
        scan = rows_scan(state.native, self.row_filter, case_sensitive=self.case_sensitive)
        return FileRewriter(state, self.options, scan, Deletion(), rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Rewrite):
    """Sets columns of the rows that match a filter."""

    options: CommitOptions
    row_filter: str
    assignments: Sequence[Assignment]
    case_sensitive: bool = True
    now_us: int = field(default_factory=statement_time_us)

    def _rewriter(self, state: TableState, ready: Ready) -> FileRewriter:  # noqa: ARG002 - as of `Rewrite`
        rules = TableRules(state, "update")
        scan = rows_scan(state.native, self.row_filter, case_sensitive=self.case_sensitive)
        updater = _native.Updater(self.assignments, target_schema(state.native), "target", now_us=self.now_us)
        return FileRewriter(state, self.options, scan, Updating(updater), rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Rewrite):
    """Updates, deletes and inserts rows by clauses, as SQL's MERGE."""

    options: CommitOptions
    merge: MergePlan
    now_us: int = field(default_factory=statement_time_us)

    def _rewriter(self, state: TableState, ready: Ready) -> FileRewriter:
        rules = TableRules(state, "merge")
        target = target_schema(state.native)
        source = ready.source(state.native, exact=self.merge.assigns_all())
        merger = self.merge.merger(target, source[0].schema, now_us=self.now_us)
        return _merging(state, self.options, merger, source, rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert(Rewrite):
    """Updates rows whose key occurs in a source with different values, and inserts rows with new keys."""

    options: CommitOptions
    keys: Sequence[str] | None
    """The key columns."""
    update: bool = True
    insert: bool = True

    def _rewriter(self, state: TableState, ready: Ready) -> FileRewriter:
        if not self.keys:
            message = "the table has no primary key, so join_cols must specify the key columns"
            hint = 'pass the columns that identify a row, for example join_cols=["id"]'
            raise InvalidArgumentError(message, context={"table": state.native.location}, hint=hint)
        rules = TableRules(state, "upsert")
        target = target_schema(state.native)
        source = ready.source(state.native, exact=True)
        merger = _native.Merger.upsert(
            list(self.keys),
            update=self.update,
            insert=self.insert,
            target_schema=target,
            source_schema=source[0].schema,
        )
        return _merging(state, self.options, merger, source, rules)


class Deletion(RowChange):
    """Deletes the found rows."""

    only_deletes = True

    def changed(self, rows: pa.RecordBatch, file: str, positions: pa.Array) -> Changed:  # noqa: ARG002
        """Return all rows as deleted rows."""
        return Changed([], rows.slice(0, 0))


class Updating(RowChange):
    """Updates the found rows."""

    def __init__(self, updater: _native.Updater) -> None:
        """Keep the updater, which computes the new values."""
        self._updater = updater

    def changed(self, rows: pa.RecordBatch, file: str, positions: pa.Array) -> Changed:  # noqa: ARG002
        """Return the new values of all rows."""
        return Changed(range(rows.num_rows), self._updater.update(rows))


class Merging(RowChange):
    """Changes rows of the table by the rows of a source."""

    changes_all = False

    def __init__(self, merger: _native.Merger) -> None:
        """Keep the merger with its source."""
        self._merger = merger

    def found(self, rows: pa.RecordBatch) -> list[int]:
        """Return the numbers of the rows that a clause changes."""
        _, deleted, updated, _, _ = self._merger.probe(rows, partial=True)
        return [*deleted.to_pylist(), *updated.to_pylist()]

    def changed(self, rows: pa.RecordBatch, file: str, positions: pa.Array) -> Changed:  # noqa: ARG002
        """Return the numbers and the new values of the updated rows; the other rows are deleted."""
        _, _, updated, values, _ = self._merger.probe(rows)
        return Changed(updated.to_pylist(), values)

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream the inserted rows."""
        yield from self._merger.inserts()


def _merging(
    state: TableState,
    options: CommitOptions,
    merger: _native.Merger,
    source: Sequence[pa.RecordBatch],
    rules: TableRules,
) -> FileRewriter:
    for batch in source:
        merger.source(batch)
    merger.seal()
    # If unmatched rows change, the filter cannot exclude any rows.
    row_filter = "" if merger.changes_unmatched() else merger.filter() or ""
    scan = rows_scan(state.native, row_filter, columns=merger.target_columns())
    return FileRewriter(state, options, scan, Merging(merger), rules)
