"""The operations that change rows of a Paimon table with a primary key.

Rows are read from one snapshot and written again as records. A commit does not conflict with concurrent appends, as in
Java: the record with the greatest sequence is the row. If keys can move between partitions, appends do conflict, and
the operation is planned again on the latest snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil import _native
from frazil._merge import Action, MergeClause, MergePlan, When, statement_time_us
from frazil._write_result import RowCounts
from frazil.errors import InvalidArgumentError
from frazil.paimon._compacting import with_compaction
from frazil.paimon._input_rows import write_rows
from frazil.paimon._merge_source import matches_keys, missing_keys
from frazil.paimon._messages import Messages
from frazil.paimon._row_attempts import RowOperation
from frazil.paimon._row_rules import RowRules
from frazil.paimon._scan import Scan, scan_arguments, target_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil._merge import Assignment
    from frazil.paimon._row_attempts import Ready
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["Delete", "Merge", "Update", "Upsert"]


class _Counts:
    """The numbers of changed rows, which are known once all records are written."""

    def __init__(self) -> None:
        self.deleted = self.updated = self.inserted = 0


class _RowChange(RowOperation):
    """The common parts of operations that write records."""

    def _written(
        self, state: TableState, commit: _native.PaimonCommit, records: Iterator[pa.RecordBatch], counts: _Counts
    ) -> Messages:
        """Write records into new files, and compact their buckets if they have many files."""

        def checked() -> Iterator[pa.RecordBatch]:
            yield from records
            state.check_not_altered()

        messages = write_rows(state, checked(), overwrites=False)
        of_rows = RowCounts(counts.deleted, counts.updated, counts.inserted)
        return with_compaction(state, self.options, Messages(commit, messages, counts=of_rows), replaces=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(_RowChange):
    """Deletes the rows that match a filter."""

    options: CommitOptions
    row_filter: str
    case_sensitive: bool = True

    def _write(self, state: TableState, ready: Ready) -> Messages:  # noqa: ARG002 - as of `_RowChange`
        """Write a -D record for each matching row."""
        rules = RowRules(state, "delete")
        rules.check_deletes()
        commit = state.begin_commit(self.options, read=state.read_keys())
        scan = _scan(state.native, self.row_filter, case_sensitive=self.case_sensitive)
        counts = _Counts()

        def records() -> Iterator[pa.RecordBatch]:
            for batch in scan.to_arrow_batch_reader():
                counts.deleted += batch.num_rows
                yield rules.deletes(batch)

        return self._written(state, commit, records(), counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(_RowChange):
    """Sets columns of the rows that match a filter."""

    options: CommitOptions
    row_filter: str
    assignments: Sequence[Assignment]
    case_sensitive: bool = True
    now_us: int = field(default_factory=statement_time_us)

    def _write(self, state: TableState, ready: Ready) -> Messages:  # noqa: ARG002 - as of `_RowChange`
        """Write a +U record for each matching row."""
        rules = RowRules(state, "update")
        rules.check_updates()
        rules.check_columns((name for name, _ in self.assignments), "target")
        commit = state.begin_commit(self.options, read=state.read_keys())
        scan = _scan(state.native, self.row_filter, case_sensitive=self.case_sensitive)
        updater = _native.Updater(self.assignments, scan.schema(), "target", now_us=self.now_us)
        counts = _Counts()

        def records() -> Iterator[pa.RecordBatch]:
            for batch in scan.to_arrow_batch_reader():
                updated = updater.update(batch)
                rules.check_updated(batch, updated)
                counts.updated += batch.num_rows
                yield rules.records(updated, "+U")

        return self._written(state, commit, records(), counts)


class _Merging(_RowChange):
    """The common parts of MERGE and upsert."""

    def _merged(
        self,
        state: TableState,
        rules: RowRules,
        merger: _native.Merger,
        source: Sequence[pa.RecordBatch],
        *,
        matches_keys: bool = True,
    ) -> Messages:
        """Write a record for each row that the merge changes.

        `matches_keys` is whether each row of the table whose key is inserted would have matched.
        """
        for batch in source:
            merger.source(batch)
        merger.seal()
        commit = state.begin_commit(self.options, read=state.read_keys())
        # If unmatched rows change, the filter cannot exclude any rows.
        scan = _scan(state.native, "" if merger.changes_unmatched() else merger.filter() or "")
        counts = _Counts()

        def records() -> Iterator[pa.RecordBatch]:
            for batch in scan.to_arrow_batch_reader():
                _, deleted, updated, changed, _ = merger.probe(batch)
                if len(deleted):
                    removed = batch.take(deleted)
                    counts.deleted += removed.num_rows
                    yield rules.deletes(removed)
                if len(updated):
                    old = batch.take(updated)
                    changed = rules.with_keys(changed, old)
                    rules.check_updated(old, changed)
                    counts.updated += changed.num_rows
                    yield rules.records(changed, "+U")
            inserts = merger.inserts()
            rules.check_unique(inserts)
            if not matches_keys:
                _check_new(state.native, rules, inserts)
            for batch in inserts:
                counts.inserted += batch.num_rows
                yield rules.records(batch, "+I")

        return self._written(state, commit, records(), counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(_Merging):
    """Updates, deletes and inserts rows by clauses, as SQL's MERGE."""

    options: CommitOptions
    merge: MergePlan
    now_us: int = field(default_factory=statement_time_us)

    def _write(self, state: TableState, ready: Ready) -> Messages:
        """Read the source, and write a record for each changed row."""
        rules = RowRules(state, "merge")
        rules.check_updates()
        clauses = self.merge.clauses
        if any(clause.action is Action.DELETE for clause in clauses):
            rules.check_deletes()
        for clause in clauses:
            if clause.when is not When.NOT_MATCHED:
                rules.check_columns((name for name, _ in clause.assignments), self.merge.target_alias)
        target = target_schema(state.native)
        source = ready.source(state.native, exact=self.merge.assigns_all())
        merger = self.merge.merger(target, source[0].schema, now_us=self.now_us)
        missing = missing_keys(merger, rules.keys)
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            message = f"the ON condition of a merge must compare all columns of the primary key; it lacks {names}"
            hint = "add equalities between columns of the table and the source, connected by AND"
            raise InvalidArgumentError(message, context={"table": state.native.location}, hint=hint)
        matches = matches_keys(self.merge, merger, rules.keys)
        return self._merged(state, rules, merger, source, matches_keys=matches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert(_Merging):
    """Updates rows whose key occurs in a source with different values, and inserts rows with new keys."""

    options: CommitOptions
    keys: Sequence[str] | None
    """The key columns; None for the primary key."""
    update: bool = True
    insert: bool = True

    def _write(self, state: TableState, ready: Ready) -> Messages:
        """Read the source, and write a record for each changed row."""
        rules = RowRules(state, "upsert")
        rules.check_updates()
        if self.keys is not None and sorted(self.keys) != sorted(rules.keys):
            names = ", ".join(f"`{name}`" for name in rules.keys)
            message = f"join_cols must be the primary key of the table: {names}"
            raise InvalidArgumentError(message, context={"table": state.native.location}, hint="omit join_cols")
        target = target_schema(state.native)
        source = ready.source(state.native, exact=True)
        merger = _native.Merger.upsert(
            list(rules.keys),
            update=self.update,
            insert=self.insert,
            target_schema=target,
            source_schema=source[0].schema,
        )
        return self._merged(state, rules, merger, source)


def _check_new(table: _native.PaimonTable, rules: RowRules, inserts: Sequence[pa.RecordBatch]) -> None:
    """Check that the table has no rows with the keys of inserted rows, which would be replaced.

    Raises:
        InvalidArgumentError: The table has such a row.
    """
    keys = list(rules.keys)
    parts = [batch.select(keys) for batch in inserts if batch.num_rows and not set(keys) - set(batch.schema.names)]
    if not parts:
        return
    clause = MergeClause(when=When.MATCHED, condition=None, action=Action.DELETE)
    schema = _scan(table, "false", columns=keys).schema()
    merger = MergePlan(keys, "source", "target", (clause,)).merger(schema, parts[0].schema, now_us=0)
    for part in parts:
        merger.source(part)
    merger.seal()
    for batch in _scan(table, merger.filter() or "", columns=keys).to_arrow_batch_reader():
        _, found, _, _, _ = merger.probe(batch)
        rules.check_absent(batch.take(found))


def _scan(
    table: _native.PaimonTable, row_filter: str, *, case_sensitive: bool = True, columns: Sequence[str] = ("*",)
) -> Scan:
    """Return a scan of columns, bound to the latest snapshot.

    It must be created before the writer, which continues the sequence numbers of the latest snapshot. If the writer
    knew only an older snapshot, the new records could lose against the rows that were read.
    """
    return Scan(table, scan_arguments(row_filter, columns=columns, case_sensitive=case_sensitive))
