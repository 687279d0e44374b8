"""Reads a file of a format table: the columns in the file and those of its partition."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from frazil.errors import CorruptDataFileError, CorruptMetadataError, UnsupportedError
from frazil.files.read.open import open_data_file, open_stream
from frazil.files.read.parquet import leaf_count
from frazil.paimon._format_file import compression_of
from frazil.paimon._nested_nulls import cast_nested
from frazil.paimon._text_files import Columns, CsvDialect, read_csv, read_json, read_text
from frazil.paimon._text_values import value_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from frazil import _native
    from frazil.paimon._format_file import FormatFile
    from frazil.paimon._schema import Schema


def read_format_file(
    files: _native.Files, file: FormatFile, schema: Schema, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Stream columns of a file, converted to the types of the schema.

    Raises:
        MissingFileError: The file no longer exists.
        CorruptDataFileError: The file cannot be decoded.
        CorruptMetadataError: A folder name is not a valid value of the partition column.
    """
    stored = [column for column in schema.fields if column.name not in schema.partition_keys]
    # At least one stored column is read, because its length is the number of rows.
    wanted = [name for name in names if name not in schema.partition_keys] or [stored[0].name]
    columns = Columns(stored, wanted, {"file": file.file_path})
    of_partition = [name for name in names if name in schema.partition_keys]
    target = schema.arrow(names)
    with contextlib.closing(_stored(files, file, schema, columns)) as batches:
        for batch in batches:
            partition = partition_columns(file, schema, of_partition, batch.num_rows)
            arrays = [(partition if name in of_partition else batch).column(name) for name in names]
            yield pa.RecordBatch.from_arrays(arrays, schema=target)


def partition_columns(file: FormatFile, schema: Schema, keys: Sequence[str], rows: int) -> pa.RecordBatch:
    """Return the partition columns with the types of the schema."""
    arrays = []
    for key in keys:
        column = schema.find_field(key)
        try:
            arrays.append(pa.repeat(value_of(file.partition[key], column.data_type), rows))
        except ValueError as error:
            message = f"the folder of partition column {key!r} does not have a valid {column.type} value: {error}"
            raise CorruptMetadataError(message, context={"file": file.file_path, "column": key}) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow(keys))


def _stored(
    files: _native.Files, file: FormatFile, schema: Schema, columns: Columns
) -> Generator[pa.RecordBatch, None, None]:
    if file.file_format in {"AVRO", "PARQUET", "ORC"}:
        yield from _columnar(files, file, columns)
        return
    options = schema.options
    with open_stream(files, file.file_path, compression_of(file.file_path)) as stream:
        if file.file_format == "CSV":
            yield from read_csv(stream, columns, CsvDialect.of(options))
        elif file.file_format == "JSON":
            yield from read_json(stream, columns, options)
        else:
            yield from read_text(stream, columns, options)


def _columnar(files: _native.Files, file: FormatFile, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Stream columns by name; a column that is missing from the file is NULL."""
    types = {name: data_type.arrow() for name, data_type in columns.types().items()}
    # Other engines write INT96 for timestamps of any year. Only nanosecond columns need the full precision of INT96.
    int96_unit: Literal["us", "ns"] = "ns" if any("timestamp[ns" in str(target) for target in types.values()) else "us"
    with open_data_file(files, file.file_path, file.file_format, int96_unit=int96_unit) as data:
        leaves: list[int] = []
        tops: list[int] = []
        leaf = 0
        for top, column in enumerate(data.schema):
            count = leaf_count(column.type)
            if column.name in types:
                tops.append(top)
                leaves += range(leaf, leaf + count)
            leaf += count
        for _, batch, rows in data.batches((leaves, tops), None):
            arrays = []
            for name, target in types.items():
                at = -1 if batch is None else batch.schema.get_field_index(name)
                if batch is None or at < 0:
                    arrays.append(pa.nulls(rows, target))
                else:
                    arrays.append(_cast(batch.column(at), target, name, file.file_path))
            yield pa.RecordBatch.from_arrays(arrays, list(types))


def _cast(array: pa.Array, target: pa.DataType, name: str, path: str) -> pa.Array:
    if array.type == target:
        return array
    # ORC files declare all timestamps as nanoseconds. Timestamps outside the range of nanoseconds are read as
    # microseconds.
    timestamps = pa.types.is_timestamp(target)
    finer = timestamps and target.unit == "ns"
    try:
        return cast_nested(array, target, safe=finer or not timestamps)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        context = {"file": path, "column": name}
        if finer and pa.types.is_timestamp(array.type):
            message = f"a timestamp of the column {name!r} does not fit 64 bits of nanoseconds: {error}"
            hint = "nanoseconds range from 1677 to 2262: omit the column from the scan"
            raise UnsupportedError(message, context=context, hint=hint) from error
        message = f"a column of type {array.type} cannot be read as {target}: {error}"
        raise CorruptDataFileError(message, context=context) from error
