"""Opening files that hold rows: Parquet and ORC by pyarrow, Avro by the native decoder.

All of them give a schema, and batches of the wanted columns with the position of their first row in the file.
"""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from frazil import _native
from frazil.errors import CorruptDataFile, LimitExceeded, MissingFile, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BATCH_ROWS = 131_072
"""Rows of a batch; decoding costs little more per row above this, and memory grows."""

BUFFER_BYTES = 131_072
"""What is read at once of a column of a local Parquet file. Without it a column of a row group would be held whole: memory
costs more than calls of the system. A remote file is asked for whole columns, because each request has its delay."""

Wanted = tuple[list[int], list[int]]
"""Leaf columns in depth-first order, and the top-level columns that hold them."""

Statistics = tuple[int, int, list[tuple[int, str, bytes | None, bytes | None, int | None]]]
"""A row group: rows, offset of its first page, statistics of leaves."""


class DataFile(Protocol):
    """A file that holds rows."""

    schema: pa.Schema
    row_groups: bool

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Give the position of the first row, the wanted columns (None when there is none), and the number of rows."""

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        """Describe the row groups; only where `row_groups` is true."""


@contextlib.contextmanager
def open_data_file(
    files: _native.Files,
    path: str,
    file_format: str,
    *,
    int96_unit: Literal["us", "ns"],
    nanosecond_ids: Sequence[int] = (),
) -> Iterator[DataFile]:
    """Open a file at a recorded location; every failure of a reader becomes an error that names the file.

    INT96 timestamps of Parquet become `int96_unit`: microseconds hold the far years, nanoseconds every digit. So do
    those of ORC files with far years, but for nanoseconds in the fields of `nanosecond_ids`.
    """
    with _named(path), contextlib.ExitStack() as stack:
        if file_format == "PARQUET":
            yield _ParquetFile(files, path, stack, int96_unit)
        elif file_format == "ORC":
            yield _OrcFile(files, path, stack, nanosecond_ids)
        elif file_format == "AVRO":
            yield _AvroFile(files, path)
        else:
            message = f"data files of format {file_format} are not supported"
            raise Unsupported(message, context={"file": path})


@contextlib.contextmanager
def open_stream(files: _native.Files, path: str, compression: str | None) -> Iterator[pa.NativeFile]:
    """Open a file at a recorded location as a stream of bytes, decompressed; errors as of `open_data_file`."""
    with _named(path), contextlib.ExitStack() as stack:
        stream = stack.enter_context(_source(files, path))
        if compression is not None:
            stream = stack.enter_context(pa.CompressedInputStream(stream, compression))
        yield stream


class _ParquetFile:
    row_groups = True

    def __init__(self, files: _native.Files, path: str, stack: contextlib.ExitStack, int96_unit: str) -> None:
        source = stack.enter_context(_source(files, path))
        buffer_bytes = BUFFER_BYTES if isinstance(source, pa.OSFile) else 0
        self._file = stack.enter_context(
            pq.ParquetFile(
                source,
                buffer_size=buffer_bytes,
                coerce_int96_timestamp_unit=int96_unit,
                page_checksum_verification=True,
            )
        )
        self.schema = self._file.schema_arrow

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        metadata = self._file.metadata
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        for first, run in _runs(counts, selected):
            position = first
            if not wanted[0]:
                yield position, None, sum(counts[group] for group in run)
                continue
            # By index: names may hold dots, and may not be unique.
            for batch in self._file.reader.iter_batches(
                batch_rows, row_groups=run, column_indices=wanted[0], use_threads=False
            ):
                yield position, batch, batch.num_rows
                position += batch.num_rows

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        metadata = self._file.metadata
        return [_row_group(metadata.row_group(group), leaves) for group in range(metadata.num_row_groups)]


def _runs(counts: list[int], selected: Sequence[bool] | None) -> Iterator[tuple[int, list[int]]]:
    """Give the runs of selected row groups, each with the position of its first row."""
    position, start = 0, 0
    run: list[int] = []
    for group, count in enumerate(counts):
        if selected is None or selected[group]:
            if not run:
                start = position
            run.append(group)
        elif run:
            yield start, run
            run = []
        position += count
    if run:
        yield start, run


def _row_group(group: Any, leaves: list[int]) -> Statistics:
    columns = []
    for leaf in leaves:
        chunk = group.column(leaf)
        found = chunk.statistics
        if found is None:
            continue
        low = high = None
        if found.has_min_max:
            low, high = (_raw(value, chunk.physical_type) for value in (found.min_raw, found.max_raw))
        nulls = found.null_count if found.has_null_count else None
        columns.append((leaf, chunk.physical_type, low, high, nulls))
    offset = group.column(0).data_page_offset if group.num_columns else 0
    if group.num_columns and group.column(0).has_dictionary_page:
        offset = min(offset, group.column(0).dictionary_page_offset)
    return group.num_rows, offset, columns


_RAW = {"BOOLEAN": "<?", "INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}


def _raw(value: object, physical_type: str) -> bytes | None:
    """Give the bytes that Parquet stores for a statistic."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    form = _RAW.get(physical_type)
    return struct.pack(form, value) if form else None


class _OrcFile:
    row_groups = False

    def __init__(
        self, files: _native.Files, path: str, stack: contextlib.ExitStack, nanosecond_ids: Sequence[int]
    ) -> None:
        from pyarrow import orc

        self._files, self._path, self._nanosecond_ids = files, path, nanosecond_ids
        source = stack.enter_context(_source(files, path))
        self._file = orc.ORCFile(source)
        self.schema = self._file.schema

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        del selected
        if not wanted[1]:
            yield 0, None, self._file.nrows
            return
        position = 0
        for stripe in range(self._file.nstripes):
            try:
                batch = self._file.read_stripe(stripe, wanted[1])
            except (pa.ArrowException, OSError) as error:
                if position == 0 and _out_of_range(error):
                    reader = _native.BatchReader(self._files, self._path, "ORC", self._nanosecond_ids)
                    yield from _native_batches(reader, wanted, batch_rows)
                    return
                raise
            for start in range(0, batch.num_rows, batch_rows):
                part = batch.slice(start, batch_rows)
                yield position, part, part.num_rows
                position += part.num_rows

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        raise NotImplementedError


def _out_of_range(error: BaseException) -> bool:
    """Whether pyarrow refuses a timestamp that does not fit in 64 bits of nanoseconds."""
    return "timestamp" in str(error).lower() or "overflow" in str(error).lower()


class _AvroFile:
    row_groups = False

    def __init__(self, files: _native.Files, path: str) -> None:
        self._reader = _native.BatchReader(files, path, "AVRO", ())
        self.schema = self._reader.schema()

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        del selected
        return _native_batches(self._reader, wanted, batch_rows)

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        raise NotImplementedError


def _native_batches(
    reader: _native.BatchReader, wanted: Wanted, batch_rows: int
) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
    reader.begin(wanted[1], batch_rows)
    position = 0
    while (batch := reader.next_batch()) is not None:
        yield position, batch, batch.num_rows
        position += batch.num_rows


class _Remote:
    """A file of the native storage as a Python file object."""

    def __init__(self, files: _native.Files, path: str) -> None:
        self._files, self._path = files, path
        self._size = files.size(path)
        self._at = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        content = self._files.read_range(self._path, self._at, end)
        self._at = end
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def _source(files: _native.Files, path: str) -> pa.NativeFile:
    location = files.openable(path)
    if location.startswith("/"):
        return pa.OSFile(location)
    return pa.PythonFile(_Remote(files, path), mode="r")


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Turn what pyarrow raises into errors that name the file."""
    context = {"file": path}
    try:
        yield
    except FileNotFoundError as error:
        if isinstance(error, MissingFile):
            raise
        message = f"a file that the table needs is missing (file: {path})"
        raise MissingFile(message, context=context) from error
    except pa.ArrowMemoryError as error:
        message = f"a data file asks for more memory than there is: {error} (file: {path})"
        raise LimitExceeded(message, context=context) from error
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        if hasattr(error, "kind"):
            raise
        message = f"a data file cannot be decoded: {error} (file: {path})"
        raise CorruptDataFile(message, context=context) from error
