"""What tables and transactions do with rows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import field_names, filter_text, flag, property_texts
from frazil._operation import operation, operation_of
from frazil._write_result import RowCounts
from frazil.errors import CommitConflictError, InvalidArgumentError
from frazil.iceberg._evolving import Evolving
from frazil.iceberg._merge import MergeBuilder, set_clause

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from frazil._literal import Value
    from frazil._write_result import WriteResult
    from frazil.iceberg._merge import MergePlan
    from frazil.iceberg._merging import Source
    from frazil.iceberg._table import Table
    from frazil.iceberg._transaction import Rows, Transaction


class Writing(Evolving):
    """Rows that come, go and change: a table commits each call by itself, a transaction all of them as one.

    What encodes and compares rows is imported when it is needed: who looks at a table does not wait for it.
    """

    __slots__ = ()

    @operation_of
    def append(
        self,
        data: Any,
        *,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
        fast: bool = False,
    ) -> WriteResult:
        """Add rows; afterwards this handle is at the new state.

        Args:
            data: Anything that gives Arrow (pyarrow, Polars, DuckDB, pandas), an iterator of record batches, or a list
                of dictionaries. Columns are found by name; types widen as they do in the table. It is read batch by
                batch.
            branch: The branch that gets the rows.
            snapshot_properties: Entries for the summary of the snapshot.
            fast: Leave small manifests as they are, whatever `commit.manifest-merge.enabled` says.

        Raises:
            InvalidArgumentError: A column that the table does not have, or a value that does not fit its column; the
                message names column and row. Nothing is written then.
            CommitConflictError: Others were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is not known whether the rows are in the table; nothing was deleted.
        """

        def change(tx: Transaction, rows: Rows) -> WriteResult:
            counts = RowCounts(0, inserted=rows.count)
            return tx.snapshot(branch, snapshot_properties, [rows.files], counts, fast=fast)

        if branch != "main":
            # It may have been created after this handle was loaded.
            self._now()
        return self._change_with(data, change)

    @operation_of
    def overwrite(
        self,
        data: Any,
        overwrite_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Replace the rows that match a filter by others, in one snapshot.

        Args:
            data: As in `append`.
            overwrite_filter: SQL such as `day = date '2024-02-29'`; True for all rows.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: As in `append`, or a filter that does not fit the columns.
            CommitConflictError: Others changed rows that match, more often than `commit.retry.num-retries` allows; or
                `data` is a scan of this table, and others added rows since the state that it reads.
            CommitStateUnknownError: As in `append`.
        """
        row_filter = filter_text(overwrite_filter, "overwrite_filter")
        scanned = _scanned(data, self._now(), branch)

        def change(tx: Transaction, rows: Rows) -> WriteResult:
            from frazil.iceberg._row_level import Deleting, RowLevel

            if overwrite_filter is True:
                counts = RowCounts(inserted=rows.count)
                return tx.snapshot(branch, snapshot_properties, [rows.files], counts, replace="all", validation=scanned)
            operation = RowLevel(tx.table(), "delete", row_filter, branch=branch, case_sensitive=case_sensitive)
            if scanned is not None:
                operation.read_at(scanned[0])
            return tx.change_rows(Deleting(operation), snapshot_properties, rows)

        return self._change_with(data, change)

    @operation_of
    def dynamic_partition_overwrite(
        self, data: Any, *, branch: str = "main", snapshot_properties: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Replace all rows of the partitions that `data` has rows of, in one snapshot.

        Partitions are those of the current spec, whatever its transforms; files of older specs stay, as in Spark. A
        table that is not partitioned is replaced as a whole.

        Raises:
            InvalidArgumentError: As in `append`.
            CommitConflictError: As in `append`, or another writer changed the partition spec.
            CommitStateUnknownError: As in `append`.
        """
        properties = {**property_texts(snapshot_properties, "snapshot_properties"), "replace-partitions": "true"}
        scanned = _scanned(data, self._now(), branch)

        def change(tx: Transaction, rows: Rows) -> WriteResult:
            if rows.spec_id != tx.table().spec().spec_id:
                message = "the partition spec changed after the rows were written"
                raise CommitConflictError(message, hint="load the table anew and write them again")
            counts = RowCounts(inserted=rows.count)
            replaced = "partitions" if rows.count else None
            return tx.snapshot(branch, properties, [rows.files], counts, replace=replaced, validation=scanned)

        return self._change_with(data, change)

    @operation_of
    def delete(
        self,
        delete_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete exactly the rows that a scan with the same filter gives.

        Data files of which all rows go are removed without being read where their partition says so. Others lose rows
        by deletion vectors (v3) or position deletes (v2) where `write.delete.mode` is `merge-on-read`, and are written
        again without them where it is `copy-on-write`, the default, or in v1.

        Args:
            delete_filter: SQL such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: A filter that does not fit the columns.
            CommitConflictError: Others changed rows that match, more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: As in `append`.
        """
        row_filter = filter_text(delete_filter, "delete_filter")

        def change(tx: Transaction) -> WriteResult:
            from frazil.iceberg._row_level import Deleting, RowLevel

            if delete_filter is True:
                return tx.snapshot(branch, snapshot_properties, [], RowCounts(), replace="all")
            operation = RowLevel(tx.table(), "delete", row_filter, branch=branch, case_sensitive=case_sensitive)
            return tx.change_rows(Deleting(operation), snapshot_properties)

        return self._change(change)

    @operation_of
    def update(
        self,
        set: Mapping[str, Value],  # noqa: A002 - as SQL has it
        where: str | bool = True,  # noqa: FBT001, FBT002 - a filter
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Set columns of the rows that a scan with the same filter gives.

        `write.update.mode` says whether files are written again (`copy-on-write`, the default) or get deletes
        (`merge-on-read`). In v3 rows keep their ids.

        Args:
            set: SQL by column, such as `{"price": "price * 2"}`; Python values that are no text stand for themselves,
                as does what `frazil.lit` gives.
            where: SQL such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: A column or an expression that does not fit.
            CommitConflictError: Others changed rows that match, more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: As in `append`.
        """
        values, row_filter = set_clause(set), filter_text(where, "where")

        def change(tx: Transaction) -> WriteResult:
            from frazil.iceberg._row_level import RowLevel, Updating

            operation = RowLevel(tx.table(), "update", row_filter, branch=branch, case_sensitive=case_sensitive)
            return tx.change_rows(Updating(operation, values), snapshot_properties)

        return self._change(change)

    @operation_of
    def upsert(
        self,
        data: Any,
        join_cols: str | Sequence[str] | None = None,
        *,
        when_matched_update_all: bool = True,
        when_not_matched_insert_all: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Update the rows that have the keys of `data` and differ from it, and insert the rows with other keys.

        Args:
            data: As in `append`; it is held in memory. Keys may not repeat.
            join_cols: The column or columns that rows are found by; the identifier fields of the table unless given.
            when_matched_update_all: Whether rows are updated.
            when_not_matched_insert_all: Whether rows are inserted.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: Keys that repeat, or columns that do not fit.
            CommitConflictError: As in `update`.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.iceberg._merging import Source

        table = self._now()
        if join_cols is None:
            given = table.schema().identifier_field_names()
        else:
            given = [join_cols] if isinstance(join_cols, str) else field_names(join_cols, "join_cols")
        if not given:
            message = "the table has no identifier fields, so join_cols must name the columns that rows are found by"
            raise InvalidArgumentError(message)
        source = Source(table, data, exact=True)

        def merger(target: pa.Schema) -> _native.Merger:
            return _native.Merger.upsert(
                given,
                update=flag("when_matched_update_all", when_matched_update_all),
                insert=flag("when_not_matched_insert_all", when_not_matched_insert_all),
                target_schema=target,
                source_schema=source.schema,
            )

        return self._merge(source, merger, branch, snapshot_properties)

    @operation_of
    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *,
        source_alias: str = "source",
        target_alias: str = "target",
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> MergeBuilder[WriteResult]:
        """Begin a MERGE: say by clauses what becomes of rows, and `execute` it.

        `write.merge.mode` says whether files are written again (`copy-on-write`, the default) or get deletes
        (`merge-on-read`). In v3 rows keep their ids.

        Args:
            source: Rows as in `append`; they are held in memory.
            on: The columns that both sides have, or a condition such as `target.id = source.id`.
            source_alias: What conditions and values call the source.
            target_alias: What conditions and values call the table.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: When it is executed: a column or an expression does not fit, or several rows of the
                source match one row of the table.
            CommitConflictError: As in `update`.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.iceberg._merging import Source

        rows = Source(self._now(), source)

        def execute(plan: MergePlan) -> WriteResult:
            with operation("merge", self._place):
                return self._merge(rows, lambda target: plan.merger(target, rows.schema), branch, snapshot_properties)

        return MergeBuilder(
            execute,
            on,
            source_alias=source_alias,
            target_alias=target_alias,
        )

    def _merge(
        self,
        source: Source,
        merger: Callable[[pa.Schema], _native.Merger],
        branch: str,
        snapshot_properties: Mapping[str, str] | None,
    ) -> WriteResult:
        def change(tx: Transaction) -> WriteResult:
            from frazil.iceberg._merging import Merging
            from frazil.iceberg._row_level import target_schema

            table = tx.table()
            merging = Merging(table, merger(target_schema(table)), source, branch)
            files = tx.write_changed(table, itertools.chain(merging.rows(), merging.inserts()))
            counts = RowCounts(*merging.counts(), merging.inserted)
            return tx.commit_rows(merging.operation, snapshot_properties, [files], counts)

        return self._change(change)

    def _place(self) -> str:
        """Return the location of the table, for errors."""
        raise NotImplementedError

    def _now(self) -> Table:
        """Return the table that a change of rows is planned on: the newest state, or that of the transaction so far."""
        raise NotImplementedError

    def _change(self, change: Callable[[Transaction], WriteResult]) -> WriteResult:
        """Make a change."""
        raise NotImplementedError

    def _change_with(self, data: Any, change: Callable[[Transaction, Rows], WriteResult]) -> WriteResult:
        """Make a change with the rows of `data`, which are written into files once."""
        raise NotImplementedError


def _scanned(data: Any, table: Table, branch: str) -> tuple[int | None, str, str, bool, bool] | None:
    """Return what a commit is checked against if its rows are those of a scan of the same branch; None for others.

    If the caller chose an earlier state, newer rows are meant to go, and nothing is checked.
    """
    from frazil.iceberg._scan import Scan

    if branch != "main" or not isinstance(data, Scan) or not data.reads_current_state_of(table._native):  # noqa: SLF001 - of one package
        return None
    return data.snapshot_id, "serializable", "", True, True
