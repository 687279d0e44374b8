"""Writing data files and committing them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from frazil import _native
from frazil.errors import FrazilError, InvalidArgument, Storage, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["WriteResult"]

ROW_GROUP_ROWS = 1 << 20
"""A row group has at most so many rows, however short they are."""

BUFFERED_BYTES = 256 << 20
"""Rows that wait for their row groups to fill, over all partitions."""

_CODECS = {"uncompressed": "none", "lz4_raw": "lz4"}


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    `snapshot_id` is None where there was nothing to do. Records and files are those of the data files that came and
    went; `deleted_rows`, `updated_rows` and `inserted_rows` are the rows of the table that changed.
    """

    snapshot_id: int | None
    added_files: int = 0
    added_records: int = 0
    added_bytes: int = 0
    added_delete_files: int = 0
    removed_files: int = 0
    removed_records: int = 0
    removed_delete_files: int = 0
    deleted_rows: int = 0
    updated_rows: int = 0
    inserted_rows: int = 0
    attempts: int = 0
    seconds: float = 0.0


def write_rows(table: _native.Table, properties: Mapping[str, str], data: Any) -> _DataFileWriter:
    """Write the rows of `data` into new files, to be committed; when it fails the files are deleted."""
    rows = _native.RowWriter(table)
    writer = _DataFileWriter(table.files, rows, _Options(properties))
    try:
        for batch in _batches(data, rows.schema()):
            writer.write(batch)
        writer.close()
    except BaseException:
        writer.abort()
        raise
    return writer


class _Options:
    """What the properties of a table say of its Parquet files."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        data_format = properties.get("write.format.default", "parquet").lower()
        if data_format != "parquet":
            message = f"this release does not write data files of format {data_format!r} yet"
            raise Unsupported(message, hint="set write.format.default to parquet")
        self._properties = properties
        codec = properties.get("write.parquet.compression-codec", "zstd").lower()
        self.codec = _CODECS.get(codec, codec)
        level = properties.get("write.parquet.compression-level")
        self.level = None if level is None else self._number("write.parquet.compression-level", 0)
        self.target_bytes = self._number("write.target-file-size-bytes", 512 << 20)
        self.row_group_bytes = self._number("write.parquet.row-group-size-bytes", 128 << 20)
        self.page_bytes = self._number("write.parquet.page-size-bytes", 1 << 20)
        self.dictionary_bytes = self._number("write.parquet.dict-size-bytes", 2 << 20)

    def _number(self, key: str, default: int) -> int:
        text = self._properties.get(key)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            message = f"{key} is a number, not {text!r}"
            raise InvalidArgument(message, context={"property": key}) from None


class _DataFileWriter:
    """Writes the rows of each partition to a file of its own, and to the next one when it is long enough."""

    def __init__(self, files: _native.Files, rows: _native.RowWriter, options: _Options) -> None:
        self.rows = rows
        self._files, self._options = files, options
        self._schema = rows.schema()
        self._open: dict[int, _ParquetFile] = {}
        self._counts: dict[int, int] = {}
        self._paths: list[str] = []

    def write(self, batch: pa.RecordBatch) -> None:
        for partition, part in self.rows.split(batch):
            file = self._open.get(partition)
            if file is None:
                file = self._open[partition] = self._new_file(partition)
            file.write(part)
            if file.size() >= self._options.target_bytes:
                self._close(partition)
        while sum(file.buffered_bytes for file in self._open.values()) > BUFFERED_BYTES:
            max(self._open.values(), key=lambda file: file.buffered_bytes).flush()

    def close(self) -> None:
        for partition in list(self._open):
            self._close(partition)

    def abort(self) -> None:
        """Delete what was written; what cannot be deleted is an orphan and no second failure."""
        for file in self._open.values():
            with contextlib.suppress(Exception):
                file.discard()
        for path in self._paths:
            with contextlib.suppress(FrazilError):
                self._files.delete(path)

    def _new_file(self, partition: int) -> _ParquetFile:
        count = self._counts[partition] = self._counts.get(partition, 0) + 1
        path = self.rows.new_location(partition, count, "parquet")
        self._paths.append(path)
        return _ParquetFile(self._files, path, self._schema, self._options)

    def _close(self, partition: int) -> None:
        file = self._open.pop(partition)
        size, column_sizes, split_offsets = file.close()
        self.rows.close(partition, file.path, "PARQUET", size, column_sizes, split_offsets)


class _ParquetFile:
    def __init__(self, files: _native.Files, path: str, schema: pa.Schema, options: _Options) -> None:
        self.path, self.buffered_bytes = path, 0
        self._files, self._options = files, options
        self._buffer: list[pa.RecordBatch] = []
        self._buffered_rows = 0
        self._metadata: list[pq.FileMetaData] = []
        location = files.writable(path)
        self._is_local = location.startswith("/")
        with _named(path):
            if self._is_local:
                Path(location).parent.mkdir(parents=True, exist_ok=True)
                self._sink: Any = pa.OSFile(location, mode="wb")
            else:
                self._sink = pa.BufferOutputStream()
            self._writer = pq.ParquetWriter(
                self._sink,
                schema,
                compression=options.codec,
                compression_level=options.level,
                data_page_size=options.page_bytes,
                dictionary_pagesize_limit=options.dictionary_bytes,
                store_schema=False,
                write_page_checksum=True,
                metadata_collector=self._metadata,
            )

    def size(self) -> int:
        """The bytes that are encoded so far."""
        return int(self._sink.tell())

    def write(self, batch: pa.RecordBatch) -> None:
        self._buffer.append(batch)
        self._buffered_rows += batch.num_rows
        self.buffered_bytes += batch.nbytes
        if self.buffered_bytes >= self._options.row_group_bytes or self._buffered_rows >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits as a row group."""
        rows = pa.Table.from_batches(self._buffer)
        self._buffer, self._buffered_rows, self.buffered_bytes = [], 0, 0
        with _named(self.path):
            self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))

    def close(self) -> tuple[int, list[int], list[int]]:
        """End the file; give its length, the bytes of each leaf column, and where its row groups begin."""
        if self._buffer:
            self.flush()
        with _named(self.path):
            self._writer.close()
            size = self.size()
            if self._is_local:
                self._sink.close()
        if not self._is_local:
            self._files.put(self.path, self._sink.getvalue().to_pybytes())
        [metadata] = self._metadata
        sizes = [0] * metadata.num_columns
        offsets = []
        for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
            columns = [group.column(i) for i in range(group.num_columns)]
            for i, column in enumerate(columns):
                sizes[i] += column.total_compressed_size
            first = columns[0]
            offsets.append(first.dictionary_page_offset or first.data_page_offset)
        return size, sizes, offsets

    def discard(self) -> None:
        """Give up the file."""
        self._writer.close()
        if self._is_local:
            self._sink.close()


def _batches(data: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Give the rows of anything that speaks Arrow, and of a list of dictionaries, batch by batch."""
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, list) and all(isinstance(row, dict) for row in data):
        yield _of_dictionaries(data, schema)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(data)
    elif hasattr(data, "__arrow_c_array__"):
        yield pa.record_batch(data)
    else:
        message = f"rows come as Arrow, pandas, Polars, DuckDB or a list of dictionaries, not as {type(data).__name__}"
        raise InvalidArgument(message)


def _of_dictionaries(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Python's values have no width, so they take that of the table."""
    names = list({name: None for row in rows for name in row})
    fields = [schema.field(name) if name in schema.names else pa.field(name, pa.null()) for name in names]
    if not set(names) <= set(schema.names):
        # Columns that the table does not have are refused as those of an Arrow table are, whatever they hold.
        rows = []
    try:
        return pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"a value does not fit its column: {error}"
        raise InvalidArgument(message) from error


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Turn what pyarrow raises into errors that name the file."""
    try:
        yield
    except FrazilError:
        raise
    except (pa.ArrowException, OSError) as error:
        message = f"a data file cannot be written: {error} (file: {path})"
        raise Storage(message, context={"file": path}) from error
