"""Writing data files: rows go to the files of their partitions, and to the next file when one is long enough."""

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
"""A row group has at most so many rows, however short they are."""

BATCH_ROWS = 131_072
"""Rows that are put into their partitions at once."""

_MOST_BUFFERED_BYTES = 256 << 20
_SHARE_OF_MEMORY = 4
_STEPS = 32
"""A file is about so many steps long: its length is looked at after each of them."""


def write_memory() -> int:
    """Give how many bytes of rows a write holds before it sorts, and again before it encodes."""
    return min(_MOST_BUFFERED_BYTES, max(1, config.memory_limit // _SHARE_OF_MEMORY))


class DataFileWriter(Generic[_Rows]):
    """Writes rows into data files and tells `rows` of each.

    Files of the first partitions that rows fall into are written at once. What goes to further ones, and every row of
    a table with a sort order, waits until all rows are there, in temporary files if need be, and is then written one
    partition behind the other. Either way memory is bounded, however many partitions there are.

    `beside` writes other files of rows that are known only while the sorted rows are written, such as a changelog.
    `progress` is called with the rows, bytes and files that are written so far, after every row group and file.
    `stop` is checked before every step of rows.
    """

    def __init__(
        self,
        files: _native.Files,
        rows: _Rows,
        options: WriterOptions,
        *,
        beside: DataFileWriter[Any] | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> None:
        """Begin a write; there is no file before there are rows of it."""
        self._files, self._progress, self._stop = files, progress, stop
        self._beside = beside
        self.rows = rows
        """What is known of the files, for a commit."""
        self._format = _file_format(rows.schema(), options)
        self._target_bytes = options.target_file_bytes
        self._memory_bytes = write_memory()
        self._ratio = _Ratio()
        self._open: dict[int, _File] = {}
        self._counts: dict[int, int] = {}
        self._paths: list[str] = []
        self._written_rows = 0
        self._bytes_per_row = 1.0
        # How many files the rows of the last step went to.
        self._spread = 1

    def write(self, data: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of batches of any schema that fits the table."""
        for batch in data:
            if batch.num_rows:
                self._bytes_per_row = max(1.0, size_bytes(batch) / batch.num_rows)
            start = 0
            while True:
                step = batch.slice(start, self._step_rows(self._spread))
                parts = self.rows.split(step)
                self._spread = max(1, len(parts))
                self._put(parts)
                start += step.num_rows
                if start >= batch.num_rows:
                    break

    def close(self) -> None:
        """Write what waits, and end all files."""
        self._close_others(None)
        self._put_sorted()
        self._close_others(None)
        if self._beside is not None:
            self._beside.close()

    def abort(self) -> None:
        """Delete what was written; what cannot be deleted is an orphan and no second failure."""
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
        """Return the number of rows per step while this many files are open."""
        # All of them may go to one file after all, which then is half too long at most.
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
    """How long rows are once they are encoded, learnt from those that are."""

    def __init__(self) -> None:
        self._encoded = self._plain = 0

    def add(self, encoded: int, plain: int) -> None:
        self._encoded, self._plain = self._encoded + encoded, self._plain + plain

    def of(self, plain: int) -> float | None:
        """Give how long so many bytes of rows will be; None where nothing is known."""
        return plain * self._encoded / self._plain if self._encoded and self._plain else None

    def plain(self, encoded: int) -> float | None:
        """Return the plain size in bytes of rows whose encoded size is given; None before any rows are encoded."""
        return encoded * self._plain / self._encoded if self._encoded and self._plain else None


class _File:
    """A data file, from its first row to its end. It is made when its first rows are encoded."""

    def __init__(self, files: _native.Files, path: str, data_format: FileFormat, ratio: _Ratio) -> None:
        self.path, self.buffered_bytes = path, 0
        self._files, self._format, self._ratio = files, data_format, ratio
        self._buffer: list[pa.RecordBatch] = []
        self._buffered_rows = 0
        # Rows that the writer of the format has and the file has not.
        self._pending_bytes = 0
        self._sink: Sink | None = None
        self._writer: FormatWriter | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        self._buffer.append(rows)
        self._buffered_rows += rows.num_rows
        self.buffered_bytes += rows.nbytes

    def encoded_bytes(self) -> int:
        """Give how many bytes of it are encoded."""
        return 0 if self._sink is None else self._sink.tell()

    def is_long(self, target_bytes: int) -> bool:
        """Tell whether the file would have its length if it ended now."""
        rest = self._ratio.of(self.buffered_bytes + self._pending_bytes)
        return rest is not None and self.encoded_bytes() + rest >= target_bytes

    def is_full(self, target_bytes: int) -> bool:
        """Tell whether a row group waits."""
        group_bytes = min(self._format.group_bytes, target_bytes)
        return self.buffered_bytes >= group_bytes or self._buffered_rows >= GROUP_ROWS

    def flush(self) -> int:
        """Write what waits as a row group; give how many rows it has."""
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
        """End the file; give its length, the bytes of its columns, and where its row groups begin."""
        with named(self.path):
            column_sizes, split_offsets = self._writer.close() if self._writer else ({}, None)
            size = self.encoded_bytes()
        if self._sink is not None:
            self._sink.end()
        return size, column_sizes, split_offsets

    def discard(self) -> None:
        """Give up the file."""
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
        if self._sink is not None:
            self._sink.discard()

    def _opened(self, first: pa.Table) -> FormatWriter:
        """Give the writer; it is made for the first rows."""
        if self._writer is None:
            self._sink = Sink(self._files, self.path)
            self._writer = self._format.open(self._sink.stream, first)
        return self._writer
