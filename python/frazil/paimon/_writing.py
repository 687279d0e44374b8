"""What Paimon tables do with rows."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import property_texts, text, whole_number
from frazil._operation import operation_of
from frazil._write_result import WriteResult
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil._native import Files, PaimonTable
    from frazil.files.write.writer import DataFileWriter

_LONG_LIMIT = 1 << 63
_USER_PREFIX = "commit.user-prefix"


class Writing:
    """Rows are added, one commit for each call.

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

        Afterwards this handle is at the new state.

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
            What was added. `snapshot_id` is None if there were no rows.

        Raises:
            InvalidArgumentError: A column that the table does not have, or a value that does not fit its column; the
                message names column and row. Nothing is written then.
            UnsupportedError: The table is of a kind that is not written yet; the message names it.
            CommitConflictError: Other writers were first, more often than `commit.max-retries` allows.
            CommitStateUnknownError: It is not known whether the rows are in the table; nothing was deleted.
        """
        began = time.perf_counter()
        if self._view != "rows":
            message = f"append: the view {self._view!r} of a table is not written"
            raise UnsupportedError(message, context={"table": self._place()}, hint="append to the table itself")
        table = self._native.refresh()
        commit = _native.PaimonCommit(
            table,
            user=self._user(commit_user, identifier),
            identifier=_number("identifier", identifier),
            watermark=_number("watermark", watermark),
            properties=property_texts(snapshot_properties, "snapshot_properties"),
        )
        messages = _written(table, self._files, data).rows.messages()
        try:
            snapshots, attempts, files, records, size = commit.commit(messages)
        except BaseException:
            if not commit.may_be_committed:
                commit.abort(messages)
            raise
        if not attempts:
            # There were no rows, or an earlier call committed those of this identifier.
            commit.abort(messages)
        self._native = table
        return WriteResult(
            snapshots[-1] if snapshots else None,
            added_files=files,
            added_records=records,
            added_bytes=size,
            inserted_rows=records,
            attempts=attempts,
            seconds=time.perf_counter() - began,
        )

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


def _written(table: _native.PaimonTable, files: _native.Files, data: Any) -> DataFileWriter[_native.PaimonRows]:
    """Write rows into new files, to be committed; when it fails the files are deleted."""
    from frazil._progress import reported
    from frazil.config import config
    from frazil.files.rows.batches import batches
    from frazil.files.write.writer import DataFileWriter, write_memory
    from frazil.paimon._writer_options import type_name, writer_options

    offset_ms = (time.localtime().tm_gmtoff or 0) * 1_000
    rows = _native.PaimonRows(table, memory_bytes=write_memory(), utc_offset_ms=offset_ms)
    with reported(config.progress) as progress:
        writer = DataFileWriter(files, rows, writer_options(rows), progress=progress)
        try:
            writer.write(batches(data, rows.input_schema(), type_name))
            writer.close()
        except BaseException:
            writer.abort()
            raise
    return writer
