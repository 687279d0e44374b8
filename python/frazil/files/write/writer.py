"""Writes data files: each row is written to a file of its partition, and a new file begins at the target length."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from frazil.config import config
from frazil.errors import FrazilError
from frazil.files.rows.batches import size_bytes
from frazil.files.write.sink import Sink, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from frazil import _native
    from frazil._threads import Stop
    from frazil.config import Progress
    from frazil.files.write.options import FileFormat, FormatWriter, Splitter, WriterOptions

__all__ = ["DataFileWriter", "write_memory"]

_Rows = TypeVar("_Rows", bound="Splitter")

GROUP_ROWS = 1 << 20
"""The maximum number of rows in a row group, even if the rows are short."""

BATCH_ROWS = 131_072
"""The number of rows that are partitioned in one call."""

_MOST_BUFFERED_BYTES = 256 << 20
_SHARE_OF_MEMORY = 4
_STEPS = 32
"""The approximate number of steps in a file; the file length is checked after each step."""


def write_memory() -> int:
    """Return the maximum bytes of rows that a write buffers for sorting, and separately for encoding."""
    return min(_MOST_BUFFERED_BYTES, max(1, config.memory_limit // _SHARE_OF_MEMORY))


class DataFileWriter(Generic[_Rows]):
    """Writes rows into data files and reports each file to `rows`.

    Files of the first partitions that occur are written immediately. Rows of further partitions, and all rows of a
    table with a sort order, are collected first, spilling to temporary files if needed. They are then written one
    partition at a time. In both cases memory is bounded, regardless of the number of partitions.

    `beside` writes additional files, such as a changelog, whose rows are known only while the sorted rows are written.
    `progress` is called after every row group and file with the rows, bytes and files written so far. `stop` is checked
    before each step.
    """

    def __init__(  # noqa: PLR0913 - what a write consists of
        self,
        files: _native.Files,
        rows: _Rows,
        options: WriterOptions,
        *,
        file_format: FileFormat | None = None,
        beside: DataFileWriter[Any] | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> None:
        """Start a write; a file is created only when it has rows. `file_format` replaces the format of the options."""
        self._files, self._progress, self._stop = files, progress, stop
        self._beside = beside
        self.rows = rows
        """The statistics of the files, for a commit."""
        self._format = file_format or _file_format(rows.schema(), options)
        self._target_bytes = options.target_file_bytes
        self._memory_bytes = write_memory()
        self._ratio = _Ratio()
        self._open: dict[int, _File] = {}
        self._counts: dict[int, int] = {}
        self._paths: list[str] = []
        self._written_rows = 0
        self._bytes_per_row = 1.0
        # The number of files that the rows of the last step were written to.
        self._spread = 1

    def write(self, data: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of batches whose schema fits the table."""
        for batch in data:
            if batch.num_rows:
                self._bytes_per_row = max(1.0, size_bytes(batch) / batch.num_rows)
            start = 0
            while True:
                step = batch.slice(start, self._step_rows(self._spread))
                parts = self.rows.split(step)
                self._spread = max(1, len(parts))
                self._put(parts)
                if self._beside is not None:
                    self._beside._put_sorted()  # noqa: SLF001 - another writer of the same rows
                start += step.num_rows
                if start >= batch.num_rows:
                    break

    def close(self) -> None:
        """Write the remaining rows and finish all files."""
        self._close_others(None)
        self._put_sorted()
        self._close_others(None)
        if self._beside is not None:
            self._beside.close()

    def abort(self) -> None:
        """Delete the written files; a file that cannot be deleted is left as an orphan file, without an error."""
        if self._beside is not None:
            self._beside.abort()
        for file in self._open.values():
            with contextlib.suppress(Exception):
                file.discard()
        self._open.clear()
        for path in self._paths:
            with contextlib.suppress(FrazilError):
                self._files.delete(path)

    def _step_rows(self, files: int = 1) -> int:
        """Return the number of rows per step while the given number of files are open."""
        # In the worst case all rows belong to one file, which then exceeds its target by at most half.
        target_bytes = (self._ratio.plain(self._target_bytes) or self._target_bytes) * min(files, _STEPS // 2)
        step_bytes = min(target_bytes / _STEPS, self._memory_bytes / _STEPS, self._format.group_bytes / 8)
        return max(1, min(BATCH_ROWS, int(step_bytes / self._bytes_per_row)))

    def _put_sorted(self) -> None:
        while (parts := self.rows.next_sorted(self._step_rows())) is not None:
            for partition, rows in parts:
                self._close_others(partition)
                self._put([(partition, rows)])
            if self._beside is not None:
                self._beside._put_sorted()  # noqa: SLF001 - another writer of the same rows

    def _put(self, parts: list[tuple[int, pa.RecordBatch]]) -> None:
        if self._stop is not None:
            self._stop.check()
        for partition, rows in parts:
            file = self._open.get(partition)
            if file is None:
                file = self._open[partition] = self._new_file(partition)
            file.add(rows)
            if file.is_long(self._target_bytes):
                self._close(partition)
            elif file.is_full(self._target_bytes):
                self._flush(file)
        while sum(file.buffered_bytes for file in self._open.values()) > self._memory_bytes:
            self._flush(max(self._open.values(), key=lambda file: file.buffered_bytes))

    def _new_file(self, partition: int) -> _File:
        count = self._counts[partition] = self._counts.get(partition, 0) + 1
        path = self.rows.new_location(partition, count, self._format.extension)
        self._paths.append(path)
        return _File(self._files, path, self._format, self._ratio)

    def _flush(self, file: _File) -> None:
        self._written_rows += file.flush()
        self._tell()

    def _close_others(self, partition: int | None) -> None:
        for other in [other for other in self._open if other != partition]:
            self._close(other)

    def _close(self, partition: int) -> None:
        file = self._open.pop(partition)
        try:
            self._written_rows += file.flush()
            size, column_sizes, split_offsets = file.close()
        except BaseException:
            with contextlib.suppress(Exception):
                file.discard()
            raise
        self.rows.close(partition, file.path, self._format.name, size, column_sizes, split_offsets)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            count, _, size = self.rows.written()
            self._progress(self._written_rows, size + sum(file.encoded_bytes() for file in self._open.values()), count)


def _file_format(schema: pa.Schema, options: WriterOptions) -> FileFormat:
    if options.format == "parquet":
        from frazil.files.write.parquet import ParquetFormat

        return ParquetFormat(schema, options)
    if options.format == "orc":
        from frazil.files.write.orc import OrcFormat

        return OrcFormat(schema, options)
    from frazil.files.write.avro import AvroFormat

    return AvroFormat(options)


class _Ratio:
    """The ratio of encoded to plain size, measured on the rows encoded so far."""

    def __init__(self) -> None:
        self._encoded = self._plain = 0

    def add(self, encoded: int, plain: int) -> None:
        self._encoded, self._plain = self._encoded + encoded, self._plain + plain

    def of(self, plain: int) -> float | None:
        """Return the estimated encoded size of `plain` bytes of rows; None before any rows are encoded."""
        return plain * self._encoded / self._plain if self._encoded and self._plain else None

    def plain(self, encoded: int) -> float | None:
        """Return the plain size in bytes of rows whose encoded size is given; None before any rows are encoded."""
        return encoded * self._plain / self._encoded if self._encoded and self._plain else None


class _File:
    """A data file that is being written. It is created when its first rows are encoded."""

    def __init__(self, files: _native.Files, path: str, data_format: FileFormat, ratio: _Ratio) -> None:
        self.path, self.buffered_bytes = path, 0
        self._files, self._format, self._ratio = files, data_format, ratio
        self._buffer: list[pa.RecordBatch] = []
        self._buffered_rows = 0
        # The bytes of rows that the format's writer holds and has not yet written to the file.
        self._pending_bytes = 0
        self._sink: Sink | None = None
        self._writer: FormatWriter | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        self._buffer.append(rows)
        self._buffered_rows += rows.num_rows
        self.buffered_bytes += rows.nbytes

    def encoded_bytes(self) -> int:
        """Return the number of encoded bytes."""
        return 0 if self._sink is None else self._sink.tell()

    def is_long(self, target_bytes: int) -> bool:
        """Return whether the file would reach its target length if it ended now."""
        rest = self._ratio.of(self.buffered_bytes + self._pending_bytes)
        return rest is not None and self.encoded_bytes() + rest >= target_bytes

    def is_full(self, target_bytes: int) -> bool:
        """Return whether a full row group is pending."""
        group_bytes = min(self._format.group_bytes, target_bytes)
        return self.buffered_bytes >= group_bytes or self._buffered_rows >= GROUP_ROWS

    def flush(self) -> int:
        """Write the pending rows as a row group and return their number."""
        if not self._buffer:
            return 0
        rows = pa.Table.from_batches(self._buffer)
        plain = self.buffered_bytes + self._pending_bytes
        self._buffer, self._buffered_rows, self.buffered_bytes = [], 0, 0
        with named(self.path):
            writer = self._opened(rows)
            before = self.encoded_bytes()
            writer.write(rows)
            encoded = self.encoded_bytes() - before
        if encoded:
            self._ratio.add(encoded, plain)
        self._pending_bytes = 0 if encoded else plain
        return int(rows.num_rows)

    def close(self) -> tuple[int, dict[int, int], list[int] | None]:
        """Finish the file; return its length, the bytes of its columns and the offsets of its row groups."""
        with named(self.path):
            column_sizes, split_offsets = self._writer.close() if self._writer else ({}, None)
            size = self.encoded_bytes()
        if self._sink is not None:
            self._sink.end()
        return size, column_sizes, split_offsets

    def discard(self) -> None:
        """Discard the file."""
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
        if self._sink is not None:
            self._sink.discard()

    def _opened(self, first: pa.Table) -> FormatWriter:
        """Return the format's writer, and create it if these are the first rows."""
        if self._writer is None:
            self._sink = Sink(self._files, self.path)
            self._writer = self._format.open(self._sink.stream, first)
        return self._writer
