"""Compaction of the files in buckets."""

from __future__ import annotations

import dataclasses
import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from frazil import _native
from frazil.errors import FrazilError
from frazil.files.write.concurrent import run_writes
from frazil.files.write.writer import DataFileWriter
from frazil.paimon._input_rows import write_rows
from frazil.paimon._messages import Messages
from frazil.paimon._read import read_split
from frazil.paimon._writer_options import utc_offset_ms, writer_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._threads import Stop
    from frazil.config import Progress
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["Wanted", "assignment", "compaction", "with_compaction"]

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The selection of files to compact."""

    full: bool = False
    """Whether to compact every bucket whose file count decreases; if False, only buckets with many files."""
    partitions: Sequence[dict[str, str | None]] = ()
    """The values of partition columns; empty for all partitions."""
    row_filter: str = ""
    """An SQL expression on partition columns; empty for all partitions."""
    buckets: Sequence[bytes] | None = None
    """Commit messages whose buckets are compacted; None for all buckets."""
    appended: Literal["added", "replacing"] | None = None
    """Whether files that the messages append, and that are not yet part of the table, are added to the files of their
    buckets or replace them."""
    of_writer: bool = False
    """Whether the writer of the messages compacts; it does not if the table has the option `write-only`."""
    identifier: int | None = None
    """The number of the commit of the writer, by which `full-compaction.delta-commits` counts; None for a batch."""


def compaction(state: TableState, options: CommitOptions, wanted: Wanted) -> Messages:
    """Rewrite files, and return the messages with their commit."""

    def again(lost: Sequence[bytes]) -> Messages:
        return compaction(state.refreshed(), options, dataclasses.replace(wanted, buckets=lost))

    return Messages(state.begin_commit(options), compacted(state, wanted), compacts=True, again=again)


def with_compaction(state: TableState, options: CommitOptions, written: Messages, *, replaces: bool) -> Messages:
    """Compact the buckets of written messages that have reached their trigger, and return all messages.

    A failure is logged if the rows are visible without the compaction. Otherwise, and if the compaction is interrupted,
    the written files are deleted. `replaces` is whether the rows replace all others of their buckets.
    """
    hides = state.native.hides_new_rows()
    try:
        wanted = Wanted(
            buckets=written.messages,
            appended="replacing" if replaces else "added",
            of_writer=True,
            identifier=options.identifier,
        )
        messages = compacted(state, wanted)
    except FrazilError as error:
        if hides:
            written.abort()
            raise
        message = "rows are written to %s without the compaction that is due, which failed: %s"
        _LOGGER.warning(message, state.native.location, error)
        messages = []
    except BaseException:
        written.abort()
        raise

    if hides and written.messages and not messages and not replaces:
        message = (
            "rows are written to %s, but are not visible until compact() is called: the table leaves this to a job"
        )
        _LOGGER.warning(message, state.native.location)

    def again(lost: Sequence[bytes]) -> Messages:
        # The number of the commit is that of the rows, which are already committed.
        batch = dataclasses.replace(options, identifier=None)
        return compaction(state.refreshed(), batch, Wanted(buckets=lost, of_writer=True))

    both = [*written.messages, *messages]
    return Messages(written.commit, both, counts=written.counts, again=again if hides else None)


def assignment(state: TableState, options: CommitOptions, wanted: Wanted) -> Messages:
    """Assign rows that wait for buckets to them: write them again, in the order in which they were written."""
    reads, removed = _native.PaimonCompaction.waiting_rows(
        state.native, partitions=wanted.partitions, row_filter=wanted.row_filter
    )
    rows = (batch for split in reads for batch in read_split(split))
    written = write_rows(state, rows, overwrites=False, assigns_buckets=True) if reads else []

    def again(lost: Sequence[bytes]) -> Messages:  # noqa: ARG001 - the rows of other partitions no longer wait
        return assignment(state.refreshed(), options, wanted)

    return Messages(state.begin_commit(options), [*removed, *written], compacts=True, again=again)


def compacted(state: TableState, wanted: Wanted) -> list[bytes]:
    """Rewrite files, several buckets at a time, and return the commit messages.

    On failure the new files are deleted.
    """
    tasks, upgrades = _native.PaimonCompaction.plan(
        state.native,
        full=wanted.full,
        partitions=wanted.partitions,
        row_filter=wanted.row_filter,
        utc_offset_ms=utc_offset_ms(),
        buckets=wanted.buckets,
        appended=wanted.appended,
        of_writer=wanted.of_writer,
        identifier=wanted.identifier,
    )
    if not tasks:
        return upgrades
    rewritten = run_writes([functools.partial(_rewrite, state, task) for task in tasks], _delete)
    return [*upgrades, *(one.message for one in rewritten)]


class _Rewritten(NamedTuple):
    """The new files of a task."""

    writer: DataFileWriter[_native.PaimonCompaction]
    message: bytes


def _rewrite(state: TableState, task: _native.PaimonCompaction, *, progress: Progress | None, stop: Stop) -> _Rewritten:
    """Write the merged rows of a task into new files."""
    changelog = task.changelog()
    beside = None if changelog is None else DataFileWriter(state.files, changelog, writer_options(changelog))
    options = writer_options(task)
    writer = DataFileWriter(state.files, task, options, beside=beside, progress=progress, stop=stop)
    try:
        for number, split in enumerate(task.reads()):
            task.begin(number)
            writer.write(read_split(split))
        writer.close()
        return _Rewritten(writer, task.message())
    except BaseException:
        _delete_files(writer)
        raise


def _delete(rewritten: _Rewritten) -> None:
    _delete_files(rewritten.writer)


def _delete_files(writer: DataFileWriter[_native.PaimonCompaction]) -> None:
    """Delete the data files, and the other files of the task."""
    writer.abort()
    writer.rows.abort()
