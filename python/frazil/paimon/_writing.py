"""What Paimon tables do with rows."""

from __future__ import annotations

import dataclasses
import logging
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from frazil import _native
from frazil._arguments import filter_text, property_texts, text, whole_number
from frazil._border import operation_of
from frazil._write_result import WriteResult
from frazil.errors import CommitConflictError, FrazilError, InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._native import Files, PaimonCommit, PaimonTable
    from frazil.files.write.writer import DataFileWriter
    from frazil.paimon._compacting import Wanted


class Lock(Protocol):
    """A lock that all writers of a table take while they publish a snapshot."""

    def acquire(self) -> float | None:
        """Try to acquire the lock; return None if it is held now, or the seconds after which to try again."""

    def release(self) -> None:
        """Release the lock; a lock that cannot be released is not an error."""


_LOGGER = logging.getLogger(__name__)
_LONG_LIMIT = 1 << 63
_USER_PREFIX = "commit.user-prefix"


@dataclasses.dataclass(frozen=True, slots=True)
class _About:
    """What a snapshot says of its commit."""

    commit_user: str | None = None
    identifier: int | None = None
    watermark: int | None = None
    snapshot_properties: Mapping[str, str] | None = None


class Writing:
    """Rows are added and replaced, one commit for each call.

    What encodes rows is imported when it is needed: who looks at a table does not wait for it.
    """

    _native: PaimonTable
    _files: Files
    _view: str

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
        """Add rows; if the table has a primary key, they update rows with the same key.

        Unless the option `write-only` is true, buckets that have many files afterwards are compacted in a snapshot of
        their own: those with `num-sorted-run.compaction-trigger` sorted runs of tables with a primary key, and those
        with `compaction.min.file-num` small files of other tables with a fixed number of buckets. A compaction that
        fails is logged; the rows are written. Afterwards this handle is at the new state.

        Args:
            data: Anything that gives Arrow (pyarrow, Polars, DuckDB, pandas), an iterator of record batches, or a list
                of dictionaries. Columns are found by name; types widen as they do in the table. It is read batch by
                batch. If the table has a primary key, the column `_ROW_KIND` may say what a row does: `+I`, `-U`, `+U`
                or `-D`; NULL is `+I`.
            commit_user: Who commits; a new name unless given.
            identifier: The number of a commit of `commit_user`, which grows. Each number is committed once: a second
                call with the same one adds nothing.
            watermark: The watermark of the input; the snapshot has the greatest one so far.
            snapshot_properties: Properties of the snapshot.

        Returns:
            What was added, without what was compacted. `snapshot_id` is None if there were no rows.

        Raises:
            InvalidArgumentError: A column that the table does not have, or a value that does not fit its column; the
                message names column and row. Nothing is written then.
            UnsupportedError: The table is of a kind that is not written yet; the message names it.
            CommitConflictError: Other writers were first, more often than `commit.max-retries` allows.
            CommitStateUnknownError: It is not known whether the rows are in the table; nothing was deleted.
        """
        about = _About(commit_user, identifier, watermark, snapshot_properties)
        return self._write("append", data, about)

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
            data: As in `append`. All rows must be in partitions that are replaced.
            partitions: Which partitions are replaced: values of partition columns, such as `[{"day": "2024-02-29"}]`.
                Columns that are not named may have any value. None replaces all rows.
            commit_user: As in `append`.
            identifier: As in `append`.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: As in `append`; a row or a column that is not of `partitions`.
            UnsupportedError: As in `append`; the table has deletion vectors or other index files.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        about = _About(commit_user, identifier, watermark, snapshot_properties)
        return self._write("overwrite", data, about, "table" if partitions is None else "partitions", partitions or ())

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
        """Replace all rows of the partitions that `data` has rows of, in one snapshot.

        A table that is not partitioned is replaced as a whole. Arguments and errors are those of `overwrite`.
        """
        about = _About(commit_user, identifier, watermark, snapshot_properties)
        return self._write("dynamic_partition_overwrite", data, about, "dynamic")

    @operation_of
    def truncate(
        self,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete all rows, in one snapshot. Earlier snapshots still have them.

        Args:
            commit_user: As in `append`.
            identifier: As in `append`; a second call with the same one deletes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: `identifier` without `commit_user`, or a number that does not fit BIGINT.
            UnsupportedError: As in `overwrite`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        about = _About(commit_user, identifier, watermark, snapshot_properties)
        return self._write("truncate", [], about, "table")

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
            identifier: As in `append`; a second call with the same one deletes nothing.
            watermark: As in `append`.
            snapshot_properties: As in `append`.

        Raises:
            InvalidArgumentError: The list is empty, or a column is not a partition key; as in `truncate`.
            UnsupportedError: As in `overwrite`.
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.
        """
        if not partitions:
            message = "drop_partitions needs at least one partition"
            raise InvalidArgumentError(message, hint="call truncate() to delete all rows")
        about = _About(commit_user, identifier, watermark, snapshot_properties)
        return self._write("drop_partitions", [], about, "partitions", partitions)

    @operation_of
    def compact(
        self,
        *,
        full: bool = True,
        partitions: Sequence[Mapping[str, Any]] | None = None,
        where: str | bool = True,
    ) -> WriteResult:
        """Rewrite the files of buckets into fewer ones, in one snapshot; rows stay the same.

        The files of a bucket of a table with a primary key become one sorted run without deleted rows. Of other tables,
        small files become larger ones.

        Args:
            full: Whether each bucket is compacted that would have fewer files. If False, only buckets with
                `num-sorted-run.compaction-trigger` sorted runs, or with `compaction.min.file-num` small files.
            partitions: Which partitions are compacted, as in `overwrite`; None for all.
            where: SQL about partition columns, such as `day < '2024-03-01'`; True for all partitions.

        Returns:
            The files that were added and removed. `snapshot_id` is None if there was nothing to compact.

        Raises:
            InvalidArgumentError: No partition has the values of `partitions`, or `where` is about other columns.
            UnsupportedError: The table is of a kind that is not written yet; the message names it.
            CommitConflictError: Another writer compacted or overwrote the files; the table is as it was before.
            CommitStateUnknownError: It is not known whether the commit took effect; nothing was deleted.
        """
        from frazil.paimon._compacting import Wanted

        began = time.perf_counter()
        self._check_view("compact")
        table = self._native.refresh()
        commit = _native.PaimonCommit(table, user=self._user(None, None), lock=self._lock())
        wanted = Wanted(
            full=full, partitions=[_partition(one) for one in partitions or ()], row_filter=filter_text(where)
        )
        result = self._compacted(table, commit, wanted, began)
        self._native = table
        return result

    def _compacted(self, table: PaimonTable, commit: PaimonCommit, wanted: Wanted, began: float) -> WriteResult:
        from frazil.paimon._compacting import compacted

        result = self._committed(commit, compacted(table, self._files, wanted), began)
        return dataclasses.replace(result, inserted_rows=0, deleted_rows=0)

    def _compact_written(self, table: PaimonTable, commit: PaimonCommit, messages: list[bytes], began: float) -> None:
        """Compact the buckets that were written, as far as it is time. What was written is committed, so it stays."""
        from frazil.paimon._compacting import Wanted

        try:
            self._compacted(table, commit, Wanted(written=messages), began)
        except CommitConflictError as error:
            _LOGGER.info("compaction after a write: another writer was first: %s", error)
        except FrazilError as error:
            _LOGGER.warning("the rows are written to %s, but the compaction after it failed: %s", self._place(), error)

    def _check_view(self, method: str) -> None:
        if self._view != "rows":
            message = f"{method}: the view {self._view!r} of a table is not written"
            raise UnsupportedError(message, context={"table": self._place()}, hint=f"call {method} of the table itself")

    def _write(
        self,
        method: str,
        data: Any,
        about: _About,
        overwrite: Literal["table", "partitions", "dynamic"] | None = None,
        partitions: Sequence[Mapping[str, Any]] = (),
    ) -> WriteResult:
        began = time.perf_counter()
        self._check_view(method)
        table = self._native.refresh()
        commit = _native.PaimonCommit(
            table,
            user=self._user(about.commit_user, about.identifier),
            identifier=_number("identifier", about.identifier),
            watermark=_number("watermark", about.watermark),
            properties=property_texts(about.snapshot_properties, "snapshot_properties"),
            overwrite=overwrite,
            partitions=[_partition(partition) for partition in partitions],
            lock=self._lock(),
        )
        messages = _written(table, self._files, data, overwrites=overwrite is not None).rows.messages()
        result = self._committed(commit, messages, began)
        if overwrite is None and result.attempts:
            self._compact_written(table, commit, messages, began)
        self._native = table
        return result

    def _committed(self, commit: PaimonCommit, messages: list[bytes], began: float) -> WriteResult:
        """Commit messages, and delete their files if they are certainly not committed."""
        try:
            snapshots, attempts, (files, records, size), (removed_files, removed_records) = commit.commit(messages)
        except BaseException:
            if not commit.may_be_committed:
                commit.abort(messages)
            raise
        if not attempts:
            # There was nothing to commit, or an earlier call committed the rows of this identifier.
            commit.abort(messages)
        return WriteResult(
            snapshots[-1] if snapshots else None,
            added_files=files,
            added_records=records,
            added_bytes=size,
            removed_files=removed_files,
            removed_records=removed_records,
            inserted_rows=records,
            deleted_rows=removed_records,
            attempts=attempts,
            seconds=time.perf_counter() - began,
        )

    def _lock(self) -> Lock | None:
        """Return the lock to take while a snapshot is published; None if no lock is needed."""
        return None

    def _user(self, commit_user: str | None, identifier: int | None) -> str:
        """Return who commits: as in Java, a new name after the prefix that the table has for users."""
        if commit_user is not None:
            return text("commit_user", commit_user)
        if identifier is not None:
            message = "an identifier is a number among the commits of a user, so it needs commit_user"
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
        message = f"{name} is {number}, which does not fit BIGINT"
        raise InvalidArgumentError(message)
    return number


def _partition(values: Any) -> dict[str, str | None]:
    """Return values of partition columns as text."""
    if not isinstance(values, Mapping):
        message = f"a partition is a mapping of columns to values, not {type(values).__name__}"
        raise InvalidArgumentError(message, hint='for example {"day": "2024-02-29"}')
    as_text = {True: "true", False: "false"}
    return {
        text("partition", name): None if value is None else as_text[value] if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


def _written(
    table: _native.PaimonTable, files: _native.Files, data: Any, *, overwrites: bool
) -> DataFileWriter[_native.PaimonRows]:
    """Write rows into new files, to be committed; when it fails the files are deleted."""
    from frazil._progress import reported
    from frazil.config import config
    from frazil.files.rows.batches import batches
    from frazil.files.write.writer import DataFileWriter, write_memory
    from frazil.paimon._writer_options import type_name, utc_offset_ms, writer_options

    rows = _native.PaimonRows(table, memory_bytes=write_memory(), utc_offset_ms=utc_offset_ms(), overwrites=overwrites)
    changelog = rows.changelog()
    with reported(config.progress) as progress:
        beside = None if changelog is None else DataFileWriter(files, changelog, writer_options(changelog))
        writer = DataFileWriter(files, rows, writer_options(rows), beside=beside, progress=progress)
        try:
            writer.write(batches(data, rows.input_schema(), type_name))
            writer.close()
        except BaseException:
            writer.abort()
            rows.abort()
            raise
    return writer
