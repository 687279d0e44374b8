"""The methods that change rows of a Paimon table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil._arguments import field_names, filter_text, flag
from frazil._boundary import operation, operation_of
from frazil._merge import MergeBuilder, set_clause
from frazil.paimon._writing import Writing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from frazil._arguments import RowFilter
    from frazil._literal import Value
    from frazil._merge import MergePlan
    from frazil._write_result import WriteResult

__all__ = ["RowVerbs"]


class RowVerbs(Writing):
    """Methods that delete, update and merge rows, with one commit per call.

    In tables with a primary key, the changed rows are written again as records, as in Java. In other tables, the data
    files with changed rows are written again. The modules that compare rows are imported on first use.
    """

    def _changes(self) -> Any:
        """Return the module with the operations for this table."""
        from frazil.paimon import _append_changes, _row_changes

        return _row_changes if json.loads(self._native.schema_json(None))["primaryKeys"] else _append_changes

    def _columns(self) -> pa.Schema:
        """Return the columns of the rows."""
        from frazil.paimon._scan import target_schema

        return target_schema(self._native)

    @operation_of
    def delete(
        self,
        delete_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete exactly the rows that a scan with the same filter returns.

        The rows are read from the latest snapshot. With a primary key, a `-D` record is written for each. A concurrent
        append to the same keys is not a conflict: the record with the greatest sequence determines the row. If the
        table has a `sequence.field`, the deleted row keeps its value, so an appended row with a greater value is
        retained. Without a primary key, data files with matching rows are written again. If a concurrent writer
        removes one of them, the deletion is planned again on the latest snapshot. `truncate` and `drop_partitions`
        delete rows without reading them.

        Args:
            delete_filter: An SQL expression such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether column names in the filter are case-sensitive.
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same number deletes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: The filter does not fit the columns.
            UnsupportedError: As in `append`; also if the merge engine does not delete rows by `-D` records.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        delete = self._changes().Delete(
            options=self._commit_options(commit_user, identifier, watermark, snapshot_properties),
            row_filter=filter_text(delete_filter, "delete_filter", self._columns, of_changes=True),
            case_sensitive=flag("case_sensitive", case_sensitive),
        )
        return self._run(delete)

    @operation_of
    def update(  # noqa: PLR0913 - keyword arguments of one commit, as `append` has them
        self,
        set: Mapping[str, Value],  # noqa: A002 - as SQL has it
        where: RowFilter = True,  # noqa: FBT002 - a filter
        *,
        case_sensitive: bool = True,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Set columns of the rows that a scan with the same filter returns.

        With a primary key, a `+U` record with all columns is written for each row. Otherwise data files are written
        again, as in `delete`. Concurrent commits are handled as in `delete`.
        `current_timestamp` is the same for all rows.

        Args:
            set: SQL expressions by column, such as `{"price": "price * 2"}`. Other Python values, and the results of
                `frazil.lit`, are literals. Columns of a primary key cannot be set.
            where: An SQL expression such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether column names in the filter are case-sensitive.
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same number updates nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: A column or an expression is invalid, or a row would keep its old values: a lower
                value for the `sequence.field`, or NULL with `merge-engine` = `partial-update`.
            UnsupportedError: As in `append`; also if the merge engine is neither `deduplicate` nor `partial-update`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        update = self._changes().Update(
            options=self._commit_options(commit_user, identifier, watermark, snapshot_properties),
            row_filter=filter_text(where, "where", self._columns, of_changes=True),
            assignments=set_clause(set),
            case_sensitive=flag("case_sensitive", case_sensitive),
        )
        return self._run(update)

    @operation_of
    def upsert(  # noqa: PLR0913 - keyword arguments of one commit, as `append` has them
        self,
        data: Any,
        join_cols: str | Sequence[str] | None = None,
        *,
        when_matched_update_all: bool = True,
        when_not_matched_insert_all: bool = True,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Update rows whose key occurs in `data` with different values, and insert rows with new keys.

        In tables with a primary key, `append` does the same without reading the table, and also writes unchanged rows.

        Args:
            data: As in `append`; the rows are held in memory. Keys must be unique.
            join_cols: The key columns. Tables with a primary key accept only its columns, which are also the default.
            when_matched_update_all: Whether matched rows are updated.
            when_not_matched_insert_all: Whether unmatched rows are inserted.
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same number changes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: Keys repeat, columns do not fit, or a row would keep its old values as in `update`.
            UnsupportedError: As in `update`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.paimon._merge_source import MergeSource

        keys = None
        if join_cols is not None:
            keys = [join_cols] if isinstance(join_cols, str) else field_names(join_cols, "join_cols")
        upsert = self._changes().Upsert(
            options=self._commit_options(commit_user, identifier, watermark, snapshot_properties),
            keys=keys,
            update=flag("when_matched_update_all", when_matched_update_all),
            insert=flag("when_not_matched_insert_all", when_not_matched_insert_all),
        )
        return self._run(upsert, MergeSource(data))

    @operation_of
    def merge(  # noqa: PLR0913 - keyword arguments of one commit, as `append` has them
        self,
        source: Any,
        on: str | Sequence[str],
        *,
        source_alias: str = "source",
        target_alias: str = "target",
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> MergeBuilder[WriteResult]:
        """Begin a MERGE: add clauses to the result, then call `execute`.

        With a primary key, a `-D`, `+U` or `+I` record is written for each changed row. Otherwise data files are
        written again, as in `delete`. Concurrent commits are handled as in `delete`.

        Args:
            source: Rows as in `append`. The rows are read into memory immediately.
            on: The names of columns that both sides have, or a condition such as `target.id = source.id`. It must
                compare all columns of the primary key, if there is one.
            source_alias: The name of the source in conditions and values.
            target_alias: The name of the table in conditions and values.
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same number changes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: On execution: a column or an expression is invalid, or `on` lacks a column of the
                primary key. Also if several source rows match one row of the table or would insert one key. Also if the
                key of an inserted row exists, or a row would keep its old values as in `update`.
            UnsupportedError: On execution: as in `update`, and with a clause that deletes, as in `delete`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        from frazil.paimon._merge_source import MergeSource

        options = self._commit_options(commit_user, identifier, watermark, snapshot_properties)
        rows = MergeSource(source)
        # Another writer may have altered the table since it was opened.
        rows.hold(self._native.refresh(), exact=False)

        def execute(plan: MergePlan) -> WriteResult:
            with operation("merge", self._place):
                return self._run(self._changes().Merge(options=options, merge=plan), rows)

        return MergeBuilder(execute, on, source_alias=source_alias, target_alias=target_alias)
