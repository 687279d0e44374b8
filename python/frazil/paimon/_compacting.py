"""Compaction of the files in buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil import _native
from frazil._progress import reported
from frazil.config import config
from frazil.files.write.writer import DataFileWriter
from frazil.paimon._read import read_split
from frazil.paimon._writer_options import utc_offset_ms, writer_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.paimon._state import TableState

__all__ = ["Wanted", "compacted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The selection of files to compact."""

    full: bool = False
    """Whether to compact every bucket whose file count decreases; if False, only buckets with many files."""
    partitions: Sequence[dict[str, str | None]] = ()
    """The values of partition columns; empty for all partitions."""
    row_filter: str = ""
    """An SQL expression on partition columns; empty for all partitions."""
    written: Sequence[bytes] | None = None
    """Commit messages whose buckets are compacted; None for all buckets."""


def compacted(state: TableState, wanted: Wanted) -> list[bytes]:
    """Rewrite files, one bucket at a time, and return the commit messages.

    On failure the new files are deleted.
    """
    tasks, upgrades = _native.PaimonCompaction.plan(
        state.native,
        full=wanted.full,
        partitions=wanted.partitions,
        row_filter=wanted.row_filter,
        utc_offset_ms=utc_offset_ms(),
        written=wanted.written,
    )
    if not tasks:
        return upgrades
    writers = []
    with reported(config.progress) as progress:
        try:
            for task in tasks:
                writer = DataFileWriter(state.files, task, writer_options(task), progress=progress)
                writers.append(writer)
                writer.write(read_split(task.read()))
                writer.close()
        except BaseException:
            for writer in writers:
                writer.abort()
                writer.rows.abort()
            raise
    return [*upgrades, *(task.message() for task in tasks)]
