"""The methods that change a table, for tables and transactions: each creates one operation and runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from frazil._arguments import field_names, filter_text, flag, path_text, property_texts, text, whole_number
from frazil._boundary import operation, operation_of
from frazil._merge import MergeBuilder, set_clause
from frazil._run import HERE
from frazil.errors import InvalidArgumentError
from frazil.iceberg._manage_snapshots import ManageSnapshots
from frazil.iceberg._property_names import warn_of_unknown
from frazil.iceberg._update_schema import UpdateSchema
from frazil.iceberg._update_sort_order import UpdateSortOrder
from frazil.iceberg._update_spec import UpdateSpec
from frazil.iceberg._update_statistics import UpdateStatistics
from frazil.iceberg.operations.evolve import Evolve
from frazil.iceberg.operations.values import Filter, SnapshotOptions
from frazil.iceberg.operations.writes import Append, Overwrite, OverwritePartitions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from frazil._arguments import RowFilter
    from frazil._literal import Value
    from frazil._merge import MergePlan
    from frazil._run import Executor
    from frazil._run import Operation as AnyOperation
    from frazil._write_result import WriteResult
    from frazil.iceberg._state import TableState

    Operation: TypeAlias = AnyOperation[TableState]

__all__ = ["Verbs", "carry_out", "row_filter_of", "snapshot_options"]


class Verbs:
    """Changes to rows and metadata: a table commits each call separately, a transaction commits all as one.

    The modules that encode and compare rows are imported on first use, so that reading does not load them.
    """

    __slots__ = ()

    format: ClassVar[Literal["iceberg"]] = "iceberg"
    """The format of the table."""

    @operation_of
    def append(
        self,
        data: Any,
        *,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
        fast: bool = False,
    ) -> WriteResult:
        """Append rows, and update the table or transaction to the new state.

        Args:
            data: Any Arrow-compatible object (pyarrow, Polars, DuckDB, pandas), an iterator of record batches, or a
                list of dictionaries. Columns are matched by name; types are widened as in the table. The data is read
                batch by batch.
            branch: The branch to append to.
            snapshot_properties: Entries for the summary of the snapshot.
            fast: Do not merge small manifests, even if `commit.manifest-merge.enabled` is true.

        Raises:
            InvalidArgumentError: The table does not have a column, or a value does not fit its column; the message
                contains column and row. Nothing is written.
            CommitConflictError: Concurrent commits won more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is unknown whether the rows were appended; nothing was deleted.
        """
        options = snapshot_options(branch, snapshot_properties)
        return self._run_with(data, Append(options=options, fast=flag("fast", fast)))

    @operation_of
    def overwrite(
        self,
        data: Any,
        overwrite_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Replace the rows that match a filter, in one snapshot.

        Args:
            data: As in `append`.
            overwrite_filter: An SQL expression such as `day = date '2024-02-29'`; True for all rows.
            case_sensitive: Whether column names in the filter are case-sensitive.
            branch: The branch to change.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: As in `append`, or the filter does not fit the columns.
            CommitConflictError: Concurrent commits changed matching rows more often than `commit.retry.num-retries`
                allows; or `data` is a scan of this table, and rows were added or deleted since the state that it reads.
            CommitStateUnknownError: As in `append`.
        """
        row_filter = row_filter_of(overwrite_filter, "overwrite_filter", self._columns, case_sensitive=case_sensitive)
        options = snapshot_options(branch, snapshot_properties)
        replaced = None if overwrite_filter is True else row_filter
        return self._run_with(data, Overwrite(options=options, filter=replaced))

    @operation_of
    def dynamic_partition_overwrite(
        self, data: Any, *, branch: str = "main", snapshot_properties: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Replace all rows of the partitions that occur in `data`, in one snapshot.

        The partitions are determined by the current spec, with any transforms. A file of an earlier spec is replaced if
        all its rows are in a replaced partition. An unpartitioned table is replaced completely.

        Raises:
            CommitValidationError: A file of an earlier spec may contain both rows of a replaced partition and rows of a
                retained partition.
            InvalidArgumentError: As in `append`.
            CommitConflictError: As in `append`, or a concurrent writer changed the partition spec.
            CommitStateUnknownError: As in `append`.
        """
        return self._run_with(data, OverwritePartitions(options=snapshot_options(branch, snapshot_properties)))

    @operation_of
    def delete(
        self,
        delete_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete exactly the rows that a scan with the same filter returns.

        A data file is removed without being read if its partition shows that all its rows match. Otherwise, if
        `write.delete.mode` is `merge-on-read`, rows are deleted by a deletion vector (v3) or position deletes (v2).
        With `copy-on-write`, which is the default, or for a v1 table, the file is rewritten.

        Args:
            delete_filter: An SQL expression such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether column names in the filter are case-sensitive.
            branch: The branch to change.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: The filter does not fit the columns.
            CommitConflictError: Concurrent commits changed matching rows more often than `commit.retry.num-retries`
                allows.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.iceberg.operations.row_change import Delete

        row_filter = row_filter_of(delete_filter, "delete_filter", self._columns, case_sensitive=case_sensitive)
        options = snapshot_options(branch, snapshot_properties)
        return self._run(Delete(options=options, filter=None if delete_filter is True else row_filter))

    @operation_of
    def update(
        self,
        set: Mapping[str, Value],  # noqa: A002 - as SQL has it
        where: RowFilter = True,  # noqa: FBT002 - a filter
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Set columns of the rows that a scan with the same filter returns.

        With `write.update.mode` set to `copy-on-write` (the default), files are rewritten; with `merge-on-read`,
        deletes are written. In v3, rows keep their ids. `current_timestamp` is the same for all rows.

        Args:
            set: SQL expressions by column, such as `{"price": "price * 2"}`. Other Python values, and the results of
                `frazil.lit`, are literals.
            where: An SQL expression such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether column names in the filter are case-sensitive.
            branch: The branch to change.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: A column or an expression is invalid.
            CommitConflictError: Concurrent commits changed matching rows more often than `commit.retry.num-retries`
                allows.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.iceberg.operations.row_change import Update

        row_filter = row_filter_of(where, "where", self._columns, case_sensitive=case_sensitive)
        options = snapshot_options(branch, snapshot_properties)
        return self._run(Update(options=options, filter=row_filter, assignments=set_clause(set)))

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
        """Update rows whose key occurs in `data` with different values, and insert rows with new keys.

        Args:
            data: As in `append`; the rows are held in memory. Keys must be unique.
            join_cols: The key columns; the identifier fields of the table by default.
            when_matched_update_all: Whether matched rows are updated.
            when_not_matched_insert_all: Whether unmatched rows are inserted.
            branch: The branch to change.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: Keys repeat, or columns do not fit.
            CommitConflictError: As in `update`.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.iceberg.operations.merge import Upsert

        keys = None
        if join_cols is not None:
            keys = [join_cols] if isinstance(join_cols, str) else field_names(join_cols, "join_cols")
        upsert = Upsert(
            options=snapshot_options(branch, snapshot_properties),
            keys=keys,
            update=flag("when_matched_update_all", when_matched_update_all),
            insert=flag("when_not_matched_insert_all", when_not_matched_insert_all),
        )
        return self._run_with(data, upsert)

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
        """Begin a MERGE: add clauses to the result, then call `execute`.

        With `write.merge.mode` set to `copy-on-write` (the default), files are rewritten; with `merge-on-read`, deletes
        are written. In v3, rows keep their ids. `current_timestamp` is the same for all rows.

        Args:
            source: Rows as in `append`. The rows are read into memory immediately.
            on: The names of columns that both sides have, or a condition such as `target.id = source.id`.
            source_alias: The name of the source in conditions and values.
            target_alias: The name of the table in conditions and values.
            branch: The branch to change.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgumentError: On execution: a column or an expression is invalid, or several source rows match one
                row of the table.
            CommitConflictError: As in `update`.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.iceberg.operations.rows import ArrowInput

        options = snapshot_options(branch, snapshot_properties)
        rows = ArrowInput(source)
        rows.read(self._newest())

        def execute(plan: MergePlan) -> WriteResult:
            from frazil.iceberg.operations.merge import Merge

            with operation("merge", self._place):
                return self._run(Merge(options=options, merge=plan), rows)

        return MergeBuilder(execute, on, source_alias=source_alias, target_alias=target_alias)

    def update_schema(
        self,
        allow_incompatible_changes: bool = False,  # noqa: FBT001, FBT002 - as PyIceberg has it
        case_sensitive: bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
    ) -> UpdateSchema:
        """Change the columns: `with table.update_schema() as update: update.add_column("a", "long")`.

        Args:
            allow_incompatible_changes: Whether columns may become required although existing rows may contain NULL.
            case_sensitive: Whether column names are case-sensitive.
        """
        return UpdateSchema(
            self._evolve,
            case_sensitive=flag("case_sensitive", case_sensitive),
            allow_incompatible=flag("allow_incompatible_changes", allow_incompatible_changes),
        )

    def update_spec(self, case_sensitive: bool = True) -> UpdateSpec:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Change the partition spec for new files: `table.update_spec().add_field("day(ts)").commit()`."""
        return UpdateSpec(self._evolve, case_sensitive=flag("case_sensitive", case_sensitive))

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:  # noqa: FBT001, FBT002
        """Change the sort order for new files: `table.update_sort_order().asc("id").commit()`."""
        return UpdateSortOrder(self._evolve, case_sensitive=flag("case_sensitive", case_sensitive))

    def manage_snapshots(self) -> ManageSnapshots:
        """Change branches and tags: `table.manage_snapshots().create_tag(None, "v1").commit()`."""
        return ManageSnapshots(self._evolve)

    def update_statistics(self) -> UpdateStatistics:
        """Register statistics files, such as those of a query engine, or remove them."""
        return UpdateStatistics(self._evolve)

    def set_properties(self, properties: Mapping[str, str] | None = None, **more: str) -> None:
        """Set properties and keep all others. A name that is probably misspelt emits a `UserWarning`.

        Raises:
            InvalidArgumentError: A known property does not accept the value, or a name is reserved.
        """
        changed = property_texts(properties) | property_texts(more)
        warn_of_unknown(changed)
        self._evolve({"update": "properties", "set": changed})

    def remove_properties(self, *names: str) -> None:
        """Remove properties. Removing a property that is not set is not an error.

        Raises:
            InvalidArgumentError: A name is not a string.
        """
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            message = f"the name of a property must be a string, not {type(wrong).__name__}"
            raise InvalidArgumentError(
                message, hint=("pass the names as separate arguments, as in remove_properties('a', 'b')")
            )
        self._evolve({"update": "properties", "remove": list(names)})

    def update_location(self, location: str | os.PathLike[str]) -> None:
        """Set the location for new files. A table without a catalog is identified by its folder and cannot move."""
        self._evolve({"update": "properties", "location": path_text("location", location)})

    def upgrade(self, format_version: int) -> None:
        """Upgrade the table to format version 2 or 3. An upgrade cannot be undone."""
        self._evolve({"update": "properties", "format_version": whole_number("format_version", format_version)})

    def _columns(self) -> pa.Schema:
        """Return the columns of the latest state."""
        return self._newest().arrow_schema()

    def _evolve(self, change: dict[str, Any]) -> None:
        """Commit or stage a metadata change, which is given in its wire form."""
        with operation("commit", self._place):
            self._run(Evolve(change=json.dumps(change)))

    def _run_with(self, data: Any, operation: Operation) -> WriteResult:
        """Carry out an operation with the rows of `data`."""
        from frazil.iceberg.operations.rows import ArrowInput

        return self._run(operation, ArrowInput(data))

    def _run(self, operation: Operation, rows: Any = None, executor: Executor = HERE) -> WriteResult:
        """Carry out an operation."""
        raise NotImplementedError

    def _newest(self) -> TableState:
        """Return the latest state, on which a new operation would be planned."""
        raise NotImplementedError

    def _place(self) -> str:
        """Return the location of the table, for errors."""
        raise NotImplementedError


def carry_out(table: Verbs, operation: Operation, rows: Any = None, executor: Executor = HERE) -> WriteResult:
    """Carry out an operation on a table or in a transaction."""
    return table._run(operation, rows, executor)  # noqa: SLF001 - of this class


def snapshot_options(
    branch: str, snapshot_properties: Mapping[str, str] | None, *, creates_branch: bool = False
) -> SnapshotOptions:
    """Validate the snapshot options given by a user."""
    return SnapshotOptions(
        branch=text("branch", branch),
        creates_branch=creates_branch,
        properties=property_texts(snapshot_properties, "snapshot_properties"),
    )


def row_filter_of(given: RowFilter, name: str, schema: Callable[[], pa.Schema], *, case_sensitive: bool) -> Filter:
    """Validate the filter of rows to change, passed as the argument `name`; True for all rows."""
    return Filter(
        text=filter_text(given, name, schema, of_changes=True), case_sensitive=flag("case_sensitive", case_sensitive)
    )
