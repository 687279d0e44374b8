"""Parquet data files, decoded by pyarrow."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from frazil import _native
from frazil.errors import FrazilError
from frazil.files.read.data_file import BATCH_ROWS
from frazil.files.read.far_times import with_far_times
from frazil.files.read.parquet_schema import metadata_without_group_types
from frazil.files.read.remote import source

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator, Sequence

    from frazil.files.read.data_file import Statistics, Wanted

__all__ = ["ParquetFile", "leaf_count"]

_FEW_ROWS = 4_096
BUFFER_BYTES = 131_072
"""The number of bytes read in one call from a column of a local Parquet file.

Without this buffer, a whole column of a row group is held, and its memory costs more than the additional system calls.
For remote files, whole columns are requested, because each request adds latency.
"""

AHEAD_BYTES = 64 << 20
"""The maximum stored bytes of a remote Parquet file requested in one call: columns of as many row groups as fit.

All requested columns are held until the last row group has been read.
"""


class ParquetFile:
    """A Parquet file."""

    row_groups = True

    def __init__(
        self, files: _native.Files, path: str, stack: contextlib.ExitStack, int96_unit: str, *, dictionaries: bool
    ) -> None:
        self._files, self._path, self._stack, self._int96_unit = files, path, stack, int96_unit
        self._dictionaries = dictionaries
        self._source = stack.enter_context(source(files, path))
        self._is_local = isinstance(self._source, pa.OSFile)
        self._file = self._open_any(int96_unit)
        self.schema = self._file.schema_arrow

    def _open_any(self, int96_unit: str) -> pq.ParquetFile:
        """Open the file even if its groups have logical types that pyarrow rejects."""
        try:
            return self._open(int96_unit)
        except OSError as error:
            # pyarrow has no specific exception for these types, so the footer is checked for them.
            metadata = None if isinstance(error, FrazilError) else metadata_without_group_types(self._source)
            if metadata is None:
                raise
        return self._open(int96_unit, metadata)

    def _open(
        self, int96_unit: str, metadata: pq.FileMetaData | None = None, dictionaries: Sequence[int] = ()
    ) -> pq.ParquetFile:
        opened = pq.ParquetFile(
            self._source,
            metadata=metadata,
            buffer_size=BUFFER_BYTES if self._is_local else 0,
            # Prefetched data is held until the last requested row group has been read.
            pre_buffer=not self._is_local,
            coerce_int96_timestamp_unit=int96_unit,
            read_dictionary=dictionaries,
            page_checksum_verification=True,
        )
        return self._stack.enter_context(opened)

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Read the wanted columns in batches; see `DataFile.batches`."""
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
        """Yield batches with correct timestamps: pyarrow lets nanoseconds that do not fit into 64 bits overflow."""
        batches = _read(self._encoded(groups, leaves, batch_rows), groups, leaves, batch_rows)
        types = self._file.schema
        int96 = [leaf for leaf in leaves if types.column(leaf).physical_type == "INT96"]
        if self._int96_unit == "us" or not int96:
            return batches
        columns = [top for top, field in enumerate(self.schema) for _ in range(leaf_count(field.type))]
        tops = {columns[leaf] for leaf in int96}
        read = list(dict.fromkeys(columns[leaf] for leaf in leaves))
        places = {read.index(top): columns.index(top) for top in sorted(tops)}
        wide = _read(self._open("us", self._file.metadata), groups, int96, batch_rows)

        def read_exactly(name: str, leaf: int) -> pa.Array:
            return _native.int96_timestamps(self._files, self._path, name, leaf, groups)

        return with_far_times(batches, wide, places, read_exactly, self._path)

    def _encoded(self, groups: list[int], leaves: list[int], batch_rows: int) -> pq.ParquetFile:
        """Open the file so that dictionary-encoded columns stay dictionaries, because decoding strings costs most."""
        if not self._dictionaries:
            return self._file
        metadata, types = self._file.metadata, self._file.schema
        chunks = [metadata.row_group(group) for group in groups]
        texts = [leaf for leaf in leaves if _is_text(types.column(leaf))]
        texts = [leaf for leaf in texts if all(_has_dictionary(chunk.column(leaf), batch_rows) for chunk in chunks)]
        return self._open(self._int96_unit, metadata, texts) if texts else self._file

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        """Return the statistics of the given leaf columns in each row group."""
        metadata = self._file.metadata
        return [_row_group(metadata.row_group(group), leaves) for group in range(metadata.num_row_groups)]


def leaf_count(arrow: pa.DataType) -> int:
    """Return the number of Parquet leaf columns for a column of an Arrow type."""
    if isinstance(arrow, pa.BaseExtensionType):
        arrow = arrow.storage_type
    return sum(leaf_count(arrow.field(index).type) for index in range(arrow.num_fields)) or 1


def _read(file: pq.ParquetFile, groups: list[int], leaves: list[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Read columns by index, because names may contain dots and may not be unique."""
    batches: Iterator[pa.RecordBatch] = file.reader.iter_batches(
        batch_rows, row_groups=groups, column_indices=leaves, use_threads=False
    )
    return batches


def _is_text(column: pq.ColumnSchema) -> bool:
    """Return whether a leaf column contains strings or bytes, one per row."""
    return bool(column.max_repetition_level == 0 and column.physical_type == "BYTE_ARRAY")


def _has_dictionary(chunk: pq.ColumnChunkMetaData, batch_rows: int) -> bool:
    """Return whether all or nearly all values of a column chunk are dictionary indices.

    Without a dictionary, each value needs at least four bytes, for its length. Each batch includes the whole
    dictionary, which must be small in comparison. For fewer than some thousand rows, opening the file again costs more
    than it saves.
    """
    plain_bytes = 4 * chunk.num_values
    if not chunk.has_dictionary_page or chunk.num_values < _FEW_ROWS or chunk.total_uncompressed_size > plain_bytes:
        return False
    batches = -(-chunk.num_values // batch_rows)
    return bool(batches * (chunk.data_page_offset - chunk.dictionary_page_offset) <= plain_bytes)


def _together(metadata: pq.FileMetaData, groups: list[int], leaves: list[int]) -> Iterator[list[int]]:
    """Yield the row groups in parts of about `AHEAD_BYTES` of the given columns."""
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


def _runs(counts: list[int], selected: Sequence[bool] | None) -> Iterator[tuple[int, list[int]]]:
    """Yield the runs of selected row groups, each with the position of its first row."""
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
    """Return the bytes that Parquet stores for a statistic."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    form = _RAW.get(physical_type)
    return struct.pack(form, value) if form else None
