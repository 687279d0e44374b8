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
from frazil._parquet_schema import is_group_refused, metadata_without_group_types
from frazil.errors import CorruptDataFileError, LimitExceededError, MissingFileError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BATCH_ROWS = 131_072
"""Rows of a batch; decoding costs little more per row above this, and memory grows."""

WHOLE_FILE_BYTES = 2 << 20
"""A remote file up to this length is one request: its parts would cost one each."""

_FEW_ROWS = 4_096
_NS_PER_MS = 1_000_000
_FARTHEST_ZONE_NS = 24 * 3_600 * 1_000_000_000

BUFFER_BYTES = 131_072
"""What is read at once of a column of a local Parquet file. Without it a column of a row group would be held whole:
memory costs more than calls of the system. A remote file is asked for whole columns: each request has its delay."""

AHEAD_BYTES = 64 << 20
"""How much of a remote Parquet file is asked for at once, as it is stored: columns of as many row groups. All of it is
held until the last of them was read."""

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
    dictionaries: bool = False,
) -> Iterator[DataFile]:
    """Open a file at a recorded location; every failure of a reader becomes an error that names the file.

    Top-level columns of Parquet that are named in `dictionaries` come as such: for text that is repeated.

    INT96 timestamps of Parquet become `int96_unit`: microseconds hold the far years, nanoseconds every digit; what does
    not fit nanoseconds is refused. Inside other columns what pyarrow gives does not tell 2262 to 2554 from the times
    before 1970 that Java writes: it is taken for the latter.
    With `dictionaries` texts and bytes that a Parquet file has as dictionaries may come as such.
    """
    with _named(path), contextlib.ExitStack() as stack:
        if file_format == "PARQUET":
            yield _ParquetFile(files, path, stack, int96_unit, dictionaries=dictionaries)
        elif file_format == "ORC":
            yield _OrcFile(files, path, stack)
        elif file_format == "AVRO":
            yield _AvroFile(files, path)
        else:
            message = f"data files of format {file_format} are not supported"
            raise UnsupportedError(message, context={"file": path})


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

    def __init__(
        self, files: _native.Files, path: str, stack: contextlib.ExitStack, int96_unit: str, *, dictionaries: bool
    ) -> None:
        self._files, self._path, self._stack, self._int96_unit = files, path, stack, int96_unit
        self._dictionaries = dictionaries
        self._source = stack.enter_context(_source(files, path))
        self._is_local = isinstance(self._source, pa.OSFile)
        self._file = self._open_any(int96_unit)
        self.schema = self._file.schema_arrow

    def _open_any(self, int96_unit: str) -> pq.ParquetFile:
        """Open the file even if its groups have logical types that pyarrow refuses."""
        try:
            return self._open(int96_unit)
        except (pa.ArrowException, OSError) as error:
            if not is_group_refused(error):
                raise
            return self._open(int96_unit, metadata_without_group_types(self._source))

    def _open(
        self, int96_unit: str, metadata: pq.FileMetaData | None = None, dictionaries: Sequence[int] = ()
    ) -> pq.ParquetFile:
        opened = pq.ParquetFile(
            self._source,
            metadata=metadata,
            buffer_size=BUFFER_BYTES if self._is_local else 0,
            # What is fetched ahead is held until the last row group that was asked for was read.
            pre_buffer=not self._is_local,
            coerce_int96_timestamp_unit=int96_unit,
            read_dictionary=dictionaries,
            page_checksum_verification=True,
        )
        return self._stack.enter_context(opened)

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
            for part in [run] if self._is_local else _together(metadata, run, wanted[0]):
                for batch in self._right_batches(part, wanted[0], batch_rows):
                    yield position, batch, batch.num_rows
                    position += batch.num_rows

    def _right_batches(self, groups: list[int], leaves: list[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Give batches whose timestamps are right: pyarrow lets nanoseconds that do not fit 64 bits wrap around."""
        batches = _read(self._encoded(groups, leaves, batch_rows), groups, leaves, batch_rows)
        types = self._file.schema
        int96 = [leaf for leaf in leaves if types.column(leaf).physical_type == "INT96"]
        if self._int96_unit == "us" or not int96:
            return batches
        columns = [top for top, field in enumerate(self.schema) for _ in range(leaf_count(field.type))]
        tops = {columns[leaf] for leaf in int96}
        read = list(dict.fromkeys(columns[leaf] for leaf in leaves))
        far = [leaf for leaf in leaves if columns[leaf] in tops]
        places = {read.index(top): columns.index(top) for top in sorted(tops)}
        wide = _read(self._open("us", self._file.metadata), groups, far, batch_rows)
        return self._with_far_times(batches, wide, places, groups)

    def _encoded(self, groups: list[int], leaves: list[int], batch_rows: int) -> pq.ParquetFile:
        """Give the file so that it gives dictionaries where it has them: decoding texts costs most."""
        if not self._dictionaries:
            return self._file
        metadata, types = self._file.metadata, self._file.schema
        chunks = [metadata.row_group(group) for group in groups]
        texts = [leaf for leaf in leaves if _is_text(types.column(leaf))]
        texts = [leaf for leaf in texts if all(_has_dictionary(chunk.column(leaf), batch_rows) for chunk in chunks)]
        return self._open(self._int96_unit, metadata, texts) if texts else self._file

    def _with_far_times(
        self,
        batches: Iterator[pa.RecordBatch],
        wide: Iterator[pa.RecordBatch],
        places: dict[int, int],
        groups: list[int],
    ) -> Iterator[pa.RecordBatch]:
        """Read columns exactly where the microseconds of `wide` lie beyond nanoseconds; `places` gives their leaves."""
        exact: dict[int, pa.Array] = {}
        position = 0
        for batch, checked in _aligned(batches, wide):
            arrays = list(batch.columns)
            for (place, leaf), array in zip(places.items(), checked.columns, strict=True):
                name = batch.schema.field(place).name
                if not pa.types.is_timestamp(array.type):
                    if any(_is_far(times) for times in _timestamps(array)):
                        message = f"the column {name!r} has INT96 timestamps inside that nanoseconds cannot hold"
                        hint = "they reach from 1677 to 2262: leave the column out of the scan"
                        raise UnsupportedError(message, context={"file": self._path, "column": name}, hint=hint)
                elif place not in exact and not _is_near(array, batch.schema.field(place).type):
                    exact[place] = _native.int96_timestamps(self._files, self._path, name, leaf, groups)
                if place in exact:
                    arrays[place] = exact[place].slice(position, batch.num_rows)
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
            position += batch.num_rows

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        metadata = self._file.metadata
        return [_row_group(metadata.row_group(group), leaves) for group in range(metadata.num_row_groups)]


def leaf_count(arrow: pa.DataType) -> int:
    """Give how many leaf columns a Parquet file has for a column of a type."""
    if isinstance(arrow, pa.BaseExtensionType):
        arrow = arrow.storage_type
    return sum(leaf_count(arrow.field(index).type) for index in range(arrow.num_fields)) or 1


def _read(file: pq.ParquetFile, groups: list[int], leaves: list[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Read columns by index: names may hold dots, and may not be unique."""
    batches: Iterator[pa.RecordBatch] = file.reader.iter_batches(
        batch_rows, row_groups=groups, column_indices=leaves, use_threads=False
    )
    return batches


def _is_text(column: pq.ColumnSchema) -> bool:
    """Whether a leaf holds texts or bytes, one a row."""
    return bool(column.max_repetition_level == 0 and column.physical_type == "BYTE_ARRAY")


def _has_dictionary(chunk: pq.ColumnChunkMetaData, batch_rows: int) -> bool:
    """Whether the values of a column chunk, or nearly all of them, are numbers of dictionary entries.

    A plain value takes four bytes for its length alone. Each batch comes with the whole dictionary, which is to be
    small beside it, and below some thousand rows opening the file again costs more than it saves.
    """
    plain_bytes = 4 * chunk.num_values
    if not chunk.has_dictionary_page or chunk.num_values < _FEW_ROWS or chunk.total_uncompressed_size > plain_bytes:
        return False
    batches = -(-chunk.num_values // batch_rows)
    return bool(batches * (chunk.data_page_offset - chunk.dictionary_page_offset) <= plain_bytes)


def _together(metadata: pq.FileMetaData, groups: list[int], leaves: list[int]) -> Iterator[list[int]]:
    """Give the row groups in parts of about `AHEAD_BYTES` of these columns."""
    together: list[int] = []
    held = 0
    for group in groups:
        columns = metadata.row_group(group)
        size = sum(columns.column(leaf).total_compressed_size for leaf in leaves)
        if together and held + size > AHEAD_BYTES:
            yield together
            together, held = [], 0
        together.append(group)
        held += size
    if together:
        yield together


def _is_near(array: pa.Array, nanoseconds: pa.DataType) -> bool:
    try:
        array.cast(nanoseconds)
    except pa.ArrowInvalid:
        return False
    return True


INT96_NANOSECONDS_US = range(-(2**63) // 1000, 2**64 // 1000 + 1)
"""Microseconds, as pyarrow reads them, of the INT96 that it reads right as nanoseconds.

Paimon's Java writer stores a time before 1970 as a day and a negative time of day, which pyarrow takes for one without
sign: as microseconds it is 2^64 nanoseconds late, as nanoseconds it wraps around to what was meant.
"""


def _is_far(times: pa.Array) -> bool:
    import pyarrow.compute as pc

    bounds = pc.min_max(times.cast(pa.int64())).as_py()
    return any(bound is not None and bound not in INT96_NANOSECONDS_US for bound in bounds.values())


def _timestamps(array: pa.Array) -> Iterator[pa.Array]:
    """Give the timestamps in an array, at any depth."""
    if pa.types.is_timestamp(array.type):
        yield array
    elif isinstance(array, pa.StructArray):
        for part in array.flatten():
            yield from _timestamps(part)
    elif isinstance(array, pa.MapArray):
        # A ListArray too, which cannot be flattened.
        yield from _timestamps(array.keys)
        yield from _timestamps(array.items)
    elif isinstance(array, pa.ListArray):
        yield from _timestamps(array.flatten())


def _aligned(
    lefts: Iterator[pa.RecordBatch], rights: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Give the same rows of both, which may be cut into batches differently."""
    left = right = None
    while True:
        left = left or next(lefts, None)
        right = right or next(rights, None)
        if left is None and right is None:
            return
        if left is None or right is None:
            message = "columns of different lengths"
            raise ValueError(message)
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left, right = left.slice(rows), right.slice(rows)


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

    def __init__(self, files: _native.Files, path: str, stack: contextlib.ExitStack) -> None:
        from pyarrow import orc

        self._files, self._path = files, path
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
                if not _out_of_range(error):
                    raise
                yield from self._native(wanted, position, batch_rows)
                return
            if self._file.writer == "ORC_JAVA" and any(map(_zone_may_matter, batch.columns)):
                yield from self._native(wanted, position, batch_rows)
                return
            for start in range(0, batch.num_rows, batch_rows):
                part = batch.slice(start, batch_rows)
                yield position, part, part.num_rows
                position += part.num_rows

    def _native(self, wanted: Wanted, first: int, batch_rows: int) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Read the rows from a position on without pyarrow."""
        reader = _native.BatchReader(self._files, self._path, "ORC")
        for position, batch, rows in _native_batches(reader, wanted, batch_rows):
            skipped = max(0, first - position)
            if batch is not None and skipped < rows:
                yield position + skipped, batch.slice(skipped), rows - skipped

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        raise NotImplementedError


def _out_of_range(error: BaseException) -> bool:
    """Whether pyarrow refuses a timestamp that does not fit in 64 bits of nanoseconds."""
    return "timestamp" in str(error).lower() or "overflow" in str(error).lower()


def _zone_may_matter(column: pa.Array) -> bool:
    """Whether pyarrow may have read a timestamp a second off, as it does where a writer's zone moves it over the epoch.

    Java writes seconds rounded towards zero in UTC, and readers correct those before the epoch that have milliseconds;
    pyarrow looks at the wall clock to tell which they are.
    """
    import pyarrow.compute as pc

    if pa.types.is_map(column.type):
        return _zone_may_matter(column.keys) or _zone_may_matter(column.items)
    if pa.types.is_list(column.type):
        return _zone_may_matter(column.values)
    if pa.types.is_struct(column.type):
        return any(_zone_may_matter(column.field(index)) for index in range(column.type.num_fields))
    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return False
    near = column.filter(pc.less_equal(pc.abs(column.view(pa.int64())), _FARTHEST_ZONE_NS))
    below_second = pc.subtract(near, pc.floor_temporal(near, unit="second")).cast(pa.int64())
    return bool(pc.any(pc.greater_equal(below_second, _NS_PER_MS)).as_py())


class _AvroFile:
    row_groups = False

    def __init__(self, files: _native.Files, path: str) -> None:
        self._reader = _native.BatchReader(files, path, "AVRO")
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
    """A file of the native storage as a Python file object. A small one is fetched whole when it is first read."""

    def __init__(self, files: _native.Files, path: str) -> None:
        self._files, self._path = files, path
        self._size = files.size(path)
        self._whole: bytes | None = None
        self._at = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        if self._whole is None and self._size <= WHOLE_FILE_BYTES:
            self._whole = self._files.read_range(self._path, 0, self._size)
        if self._whole is None:
            content = self._files.read_range(self._path, self._at, end)
        else:
            content = self._whole[self._at : end]
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
        if isinstance(error, MissingFileError):
            raise
        message = f"a file that the table needs is missing (file: {path})"
        raise MissingFileError(message, context=context) from error
    except pa.ArrowMemoryError as error:
        message = f"a data file asks for more memory than there is: {error} (file: {path})"
        raise LimitExceededError(message, context=context) from error
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        if hasattr(error, "kind"):
            raise
        message = f"a data file cannot be decoded: {error} (file: {path})"
        raise CorruptDataFileError(message, context=context) from error
