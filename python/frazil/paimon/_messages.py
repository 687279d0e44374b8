"""The files of an operation on a Paimon table, and their commit."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from frazil._write_result import RowCounts, WriteResult, settle
from frazil.errors import CommitConflictError, FrazilError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil import _native
    from frazil.paimon._state import TableState

__all__ = ["Messages", "commit"]

_LOGGER = logging.getLogger(__name__)


class Messages:
    """The new and removed files to commit."""

    def __init__(
        self,
        commit: _native.PaimonCommit,
        messages: Sequence[bytes],
        *,
        counts: RowCounts | None = None,
        compacts: bool = False,
        again: Callable[[Sequence[bytes]], Messages] | None = None,
    ) -> None:
        """Keep the commit and its messages, each with changes of one bucket.

        Args:
            commit: The commit.
            messages: The messages.
            counts: The changed rows of the table; None if these are the added and removed records.
            compacts: Whether the commit only compacts. If so, it does not create a snapshot without messages.
            again: Compacts the buckets of messages on the latest state of the table, because another writer changed
                them, or because new rows are not visible otherwise. None if compaction is optional.
        """
        self.commit, self.messages, self.counts = commit, messages, counts
        self.compacts, self.again = compacts, again

    def fit(self, state: TableState) -> Self:  # noqa: ARG002 - as of `Ready`
        """Return self, because the commit checks the schema."""
        return self

    def abort(self) -> None:
        """Delete the new files."""
        self.commit.abort(self.messages)


def commit(ready: Messages, result: WriteResult, location: str) -> int:
    """Commit, store the outcome in `result`, and return the number of attempts.

    Raises:
        CommitConflictError: Concurrent commits won more often than `commit.max-retries` allows.
        CommitStateUnknownError: It is unknown whether the files were committed; nothing was deleted.
    """
    if ready.compacts and not ready.messages:
        return 0
    committed = ready.commit.commit(ready.messages)
    if not committed.attempts and not committed.lost:
        # Nothing needed to be committed, or an earlier call with this identifier already committed rows.
        ready.abort()
    _add(result, committed, ready.counts)
    lost = [ready.messages[at] for at in committed.lost]
    if ready.compacts:
        return committed.attempts + _compact_again(ready, lost, result, location)
    if ready.again is not None:
        if committed.failure is not None or not committed.attempts:
            # An earlier call with this identifier may have committed rows that are still not visible.
            lost = list(ready.messages)
        if committed.attempts:
            # The snapshot in which the rows are visible.
            settle(result, snapshot_id=committed.snapshot_ids[-1])
        _show(ready, lost, result, location)
        return committed.attempts
    if committed.failure is not None:
        message = "the rows were written to %s, but the following compaction failed: %s"
        _LOGGER.warning(message, location, committed.failure)
    if lost:
        _LOGGER.info("a concurrent writer changed buckets of %s before they were compacted", location)
    return committed.attempts


def _show(written: Messages, lost: Sequence[bytes], result: WriteResult, location: str) -> None:
    """Compact buckets whose new rows are committed, but not visible yet.

    Raises:
        FrazilError: The compaction failed; the message states that the rows are committed.
    """
    compacted = WriteResult(None)
    try:
        _compact_again(written, lost, compacted, location)
    except FrazilError as error:
        message = f"the rows were written to {location}, but are not visible until compact() is called: {error.message}"
        raise type(error)(message, context=error.context, hint=error.hint) from error
    if compacted.snapshot_id is not None and result.snapshot_id is not None:
        settle(result, snapshot_id=compacted.snapshot_id)


def _compact_again(ready: Messages, lost: Sequence[bytes], result: WriteResult, location: str) -> int:
    """Compact the buckets of messages on the latest state until it is committed; return the number of attempts."""
    attempts, retries = 0, ready.commit.max_retries
    for _ in range(retries + 1):
        if not lost or ready.again is None:
            return attempts
        ready = ready.again(lost)
        if not ready.messages:
            return attempts
        try:
            committed = ready.commit.commit(ready.messages)
        except BaseException:
            if not ready.commit.may_be_committed:
                ready.abort()
            raise
        if not committed.attempts and not committed.lost:
            ready.abort()
        _add(result, committed, None)
        attempts += committed.attempts
        lost = [ready.messages[at] for at in committed.lost]
    if lost:
        message = "concurrent writers changed the same buckets each time before their compaction was committed"
        hint = "call compact() when fewer writers compact the table, or raise the table option commit.max-retries"
        raise CommitConflictError(message, context={"table": location}, hint=hint)
    return attempts


def _add(result: WriteResult, committed: _native.PaimonCommitResult, counts: RowCounts | None) -> None:
    """Add the outcome of a commit to a result."""
    if not committed.attempts:
        if committed.snapshot_ids:
            settle(result, snapshot_id=committed.snapshot_ids[0])
        return
    counts = counts or RowCounts(deleted=committed.removed_rows, inserted=committed.added_rows)
    settle(
        result,
        snapshot_id=committed.snapshot_ids[0],
        added_files=result.added_files + committed.added_files,
        added_records=result.added_records + committed.added_rows,
        added_bytes=result.added_bytes + committed.added_bytes,
        removed_files=result.removed_files + committed.removed_files,
        removed_records=result.removed_records + committed.removed_rows,
        inserted_rows=result.inserted_rows + counts.inserted,
        updated_rows=result.updated_rows + counts.updated,
        deleted_rows=result.deleted_rows + (counts.deleted or 0),
        attempts=result.attempts + committed.attempts,
    )
