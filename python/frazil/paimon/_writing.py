"""Writes to Paimon tables."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frazil._arguments import filter_text, property_texts, text, whole_number
from frazil._boundary import operation_of
from frazil._run import run
from frazil._write_result import both
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._operations import (
    Append,
    Compact,
    NoRows,
    Overwrite,
    OverwritePartitions,
    Target,
)
from frazil.paimon._retention import expire_after_commit, warn_of_retention
from frazil.paimon._state import CommitOptions, Lock, TableState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._arguments import RowFilter
    from frazil._native import Files, PaimonTable
    from frazil._write_result import WriteResult
    from frazil.paimon._operations import TableOperation
    from frazil.paimon._views import View


_LONG_LIMIT = 1 << 63
_USER_PREFIX = "commit.user-prefix"


class Writing:
    """Methods that add and replace rows, with one commit per call.

    The encoding modules are imported on first use, so that opening a table does not load them.
    """

    _native: PaimonTable
    _files: Files
    _options: dict[str, Any]
    _view: View
    _warned_of_retention = False

    @operation_of
    def append(
        self,
        data: Any,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Append rows; if the table has a primary key, they update rows with the same key.

        Unless the option `write-only` is true, buckets that have many files after the append are compacted, and the
        compacted files are committed in a second snapshot. For tables with a primary key, these are buckets with
        `num-sorted-run.compaction-trigger` sorted runs. For other tables with a fixed number of buckets, these are
        buckets with `compaction.min.file-num` small files. If the compaction fails, the error is logged and the rows
        are appended without it. The table handle is updated to the new state.

        Args:
            data: Any Arrow-compatible object (pyarrow, Polars, DuckDB, pandas), an iterator of record batches, or a
                list of dictionaries. Columns are matched by name; types are widened as in the table. The data is read
                batch by batch. If the table has a primary key, the column `_ROW_KIND` can hold the row kind: `+I`,
                `-U`, `+U` or `-D`; NULL is `+I`.
            commit_user: The user of the commit; a newly generated name by default.
            identifier: An increasing number for the commits of `commit_user`. Each number is committed once: a second
                call with the same number adds nothing.
            watermark: The watermark of the input; the snapshot records the highest one so far.
            snapshot_properties: Properties of the snapshot.

        Returns:
            The result of the append, excluding compaction. `snapshot_id` is None if there were no rows.

        Raises:
            InvalidArgumentError: The table does not have a column, or a value does not fit its column; the message
                contains column and row. Nothing is written.
            UnsupportedError: frazil cannot write this type of table yet; the message identifies the unsupported
                feature.
            CommitConflictError: Concurrent commits won more often than `commit.max-retries` allows.
            CommitStateUnknownError: It is unknown whether the rows were appended; nothing was deleted.
        """
        options = self._commit_options(commit_user, identifier, watermark, snapshot_properties)
        return self._run_with(data, Append(options=options))

    @operation_of
    def overwrite(
        self,
        data: Any,
        *,
        partitions: Sequence[Mapping[str, Any]] | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Replace all rows, or those of some partitions, in one snapshot.

        Args:
            data: As in `append`. All rows must belong to replaced partitions.
            partitions: The partitions to replace, as values of partition columns, such as `[{"day": "2024-02-29"}]`.
                Omitted columns match any value. None replaces all rows.
            commit_user: As in `append`.
            identifier: As in `append`.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: As in `append`; also if a row or a column does not belong to `partitions`.
            UnsupportedError: As in `append`; also if the table has deletion vectors or other index files.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        options = self._commit_options(commit_user, identifier, watermark, snapshot_properties)
        return self._run_with(data, Overwrite(options=options, partitions=replaced_partitions(partitions)))

    @operation_of
    def dynamic_partition_overwrite(
        self,
        data: Any,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Replace all rows of the partitions that occur in `data`, in one snapshot.

        An unpartitioned table is replaced completely. Arguments and errors are those of `overwrite`.
        """
        options = self._commit_options(commit_user, identifier, watermark, snapshot_properties)
        return self._run_with(data, OverwritePartitions(options=options))

    @operation_of
    def truncate(
        self,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete all rows, in one snapshot. Earlier snapshots keep their rows.

        Args:
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same number deletes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: `identifier` is set without `commit_user`, or a number does not fit BIGINT.
            UnsupportedError: As in `overwrite`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        options = self._commit_options(commit_user, identifier, watermark, snapshot_properties)
        return self._run(Overwrite(options=options), NoRows())

    @operation_of
    def drop_partitions(
        self,
        partitions: Sequence[Mapping[str, Any]],
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete all rows of partitions, in one snapshot.

        Args:
            partitions: As in `overwrite`.
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same number deletes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: The list is empty, a column is not a partition key, or as in `truncate`.
            UnsupportedError: As in `overwrite`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        if not partitions:
            message = "drop_partitions needs at least one partition"
            raise InvalidArgumentError(message, hint="call truncate() to delete all rows")
        options = self._commit_options(commit_user, identifier, watermark, snapshot_properties)
        return self._run(Overwrite(options=options, partitions=replaced_partitions(partitions)), NoRows())

    @operation_of
    def compact(
        self,
        *,
        full: bool = True,
        partitions: Sequence[Mapping[str, Any]] | None = None,
        where: RowFilter = True,
    ) -> WriteResult:
        """Rewrite the files of buckets into fewer files, in one snapshot; the rows do not change.

        Buckets that another writer compacts or overwrites at the same time are compacted again, in another snapshot.

        In a table with a primary key, the files of a bucket become one sorted run without deleted rows. In other
        tables, small files are merged into larger ones. In a table with postponed buckets, the rows that wait for a
        bucket are first assigned to buckets, in a snapshot of their own.

        Args:
            full: Whether to compact every bucket whose file count decreases. If False, only buckets with
                `num-sorted-run.compaction-trigger` sorted runs or `compaction.min.file-num` small files are compacted.
            partitions: The partitions to compact, as in `overwrite`; None for all.
            where: An SQL expression on partition columns, such as `day < '2024-03-01'`; True for all partitions.

        Returns:
            The added and removed files. `snapshot_id` is None if there was nothing to compact.

        Raises:
            InvalidArgumentError: No partition matches the values in `partitions`, or `where` uses other columns.
            UnsupportedError: frazil cannot write this type of table yet; the message identifies the unsupported
                feature.
            CommitConflictError: Concurrent writers compacted or overwrote the same buckets in every attempt; other
                buckets are compacted.
            CommitStateUnknownError: It is unknown whether the commit took effect; nothing was deleted.
        """
        compact = Compact(
            options=self._commit_options(None, None, None, None),
            full=full,
            partitions=replaced_partitions(partitions) or (),
            row_filter=filter_text(where),
        )
        if self._native.has_waiting_rows():
            assigned = self._run(dataclasses.replace(compact, assigns_buckets=True))
            result = both(assigned, self._run(compact))
        else:
            result = self._run(compact)
        return dataclasses.replace(result, inserted_rows=0, deleted_rows=0)

    def _run_with(self, data: Any, operation: Append | Overwrite | OverwritePartitions) -> WriteResult:
        """Carry out an operation with the rows of `data`."""
        from frazil.paimon._input_rows import ArrowRows

        rows = ArrowRows(data)
        if not isinstance(operation, Append):
            operation = dataclasses.replace(operation, read=rows.read_of(self._native))
        return self._run(operation, rows)

    def _run(self, operation: TableOperation, rows: Any = None) -> WriteResult:
        """Carry out an operation, and update the handle to the latest schema."""
        self._check_not_view()
        if not self._warned_of_retention:
            self._warned_of_retention = True
            warn_of_retention(self.options)
        target = Target(state_of(self, self._lock()))
        result = run(target, operation, rows)
        self._native = target.state().native
        if result.snapshot_id is not None:
            expire_after_commit(self, self._native, self._files, self.options, result.snapshot_id)
        return result

    def _check_not_view(self) -> None:
        if self._view != "rows":
            message = f"the view {self._view!r} of a table is read-only"
            raise UnsupportedError(message, context={"table": self._place()}, hint="change the table itself")

    def _commit_options(
        self,
        commit_user: str | None,
        identifier: int | None,
        watermark: int | None,
        snapshot_properties: Mapping[str, str] | None,
    ) -> CommitOptions:
        """Validate the commit options given by a user."""
        return CommitOptions(
            user=self._user(commit_user, identifier),
            identifier=_number("identifier", identifier),
            watermark=_number("watermark", watermark),
            properties=property_texts(snapshot_properties, "snapshot_properties"),
        )

    def _lock(self) -> Lock | None:
        """Return the lock for publishing a snapshot; None if no lock is needed."""
        return None

    def _user(self, commit_user: str | None, identifier: int | None) -> str:
        """Return the commit user; by default, as in Java, a new name with the table's user prefix."""
        if commit_user is not None:
            return text("commit_user", commit_user)
        if identifier is not None:
            message = "an identifier is a number among the commits of a user and requires commit_user"
            raise InvalidArgumentError(message)
        prefix = self.options.get(_USER_PREFIX)
        return f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4())

    @property
    def options(self) -> dict[str, str]:
        """The options of the table."""
        raise NotImplementedError

    def _place(self) -> str:
        """Return the location of the table, for errors."""
        return self._native.location


def _number(name: str, value: int | None) -> int | None:
    if value is None:
        return None
    number = whole_number(name, value)
    if number >= _LONG_LIMIT:
        message = f"{name} must fit BIGINT, not {number}"
        raise InvalidArgumentError(message)
    return number


def _partition(values: Any) -> dict[str, str | None]:
    """Return the partition column values as strings."""
    if not isinstance(values, Mapping):
        message = f"a partition must be a mapping of columns to values, not {type(values).__name__}"
        raise InvalidArgumentError(message, hint='for example {"day": "2024-02-29"}')
    as_text = {True: "true", False: "false"}
    return {
        text("partition", name): None if value is None else as_text[value] if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


def carry_out(table: Writing, operation: TableOperation, rows: Any) -> WriteResult:
    """Carry out an operation on a table, with the rows that it needs."""
    return table._run(operation, rows)  # noqa: SLF001 - of this class


def state_of(table: Writing, lock: Lock | None = None) -> TableState:
    """Return the state of a table."""
    return TableState(table._native, table._files, table._options, lock)  # noqa: SLF001 - of this class


def commit_options(table: Writing, snapshot_properties: Mapping[str, str] | None) -> CommitOptions:
    """Return the commit options for a call in which the user sets only snapshot properties."""
    return table._commit_options(None, None, None, snapshot_properties)  # noqa: SLF001 - of this class


def replaced_partitions(partitions: Sequence[Mapping[str, Any]] | None) -> list[dict[str, str | None]] | None:
    """Validate the partitions to replace; None for all rows."""
    return None if partitions is None else [_partition(partition) for partition in partitions]
