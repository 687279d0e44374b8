"""Conversion of user-provided rows to Arrow batches, from any supported library."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil._extras import has_pyarrow
from frazil.errors import FrazilError, InvalidArgumentError
from frazil.files.rows.python_values import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.files.rows.places import TypeNames

__all__ = ["batches", "no_rows", "size_bytes", "source_parts", "unnamed_levels"]

_BAD_DATA = (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError)
_UNNAMED_LEVEL = re.compile(r"__index_level_\d+__")
_PANDAS_COLUMN = re.compile(r"Conversion failed for column (.*) with type ", re.DOTALL)

_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_VIEWS_VERSION = 24


def batches(data: Any, schema: pa.Schema, type_names: TypeNames, *, source: bool = False) -> Iterator[pa.RecordBatch]:
    """Read any Arrow-compatible data, a list of dictionaries, or an iterator of these, batch by batch.

    Args:
        data: The rows.
        schema: The columns of the table, which determine the types of Python values.
        type_names: The names of types in messages.
        source: Whether the rows are the source of a merge, whose dictionaries may have columns that the table lacks.

    Raises:
        InvalidArgumentError: The data is of an unsupported type, or a value does not fit its column.
    """
    for batch in _batches(data, schema, 0, type_names, source=source):
        yield _without_pandas_index(batch, schema)


def source_parts(data: Any, schema: pa.Schema, type_names: TypeNames) -> list[pa.RecordBatch]:
    """Read the source of a merge into memory; the result has at least one batch.

    Args:
        data: The rows, as for `batches`.
        schema: The columns of the table, which determine the types of Python values.
        type_names: The names of types in messages.

    Raises:
        InvalidArgumentError: As for `batches`.
    """
    parts = list(batches(data, schema, type_names, source=True))
    filled = [part for part in parts if part.num_rows]
    # Parts without rows are omitted, because they may lack columns that other parts have: an empty list has no columns.
    return filled or [part for part in parts if part.num_columns][:1] or [no_rows(schema)]


def _batches(
    data: Any, schema: pa.Schema, first_row: int, type_names: TypeNames, *, source: bool
) -> Iterator[pa.RecordBatch]:
    if isinstance(data, pa.RecordBatch):
        yield _exportable(data)
    elif isinstance(data, list) and all(isinstance(row, dict) for row in data):
        yield batch_of(data, schema, first_row, type_names, infer=source)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from _stream(data)
    elif hasattr(data, "__arrow_c_array__"):
        yield _read(data, lambda: pa.record_batch(data))
    elif isinstance(data, Iterator):
        for part in data:
            for batch in _batches(part, schema, first_row, type_names, source=source):
                first_row += batch.num_rows
                yield batch
    else:
        raise _not_rows(data, first_row)


def _not_rows(data: Any, first_row: int) -> InvalidArgumentError:
    """Return the error for data of an unsupported type, or for the first row in it that is not a dictionary."""
    if isinstance(data, list):
        position, row = next((i, row) for i, row in enumerate(data) if not isinstance(row, dict))
        message = f"row {first_row + position} is a {type(row).__name__}, expected a dictionary"
        hint = "add column names: [dict(zip(names, row)) for row in rows]" if isinstance(row, (tuple, list)) else None
        return InvalidArgumentError(message, hint=hint)
    message = f"rows must be Arrow, pandas, Polars, DuckDB or a list of dictionaries, not {type(data).__name__}"
    hint = None
    if isinstance(data, dict):
        hint = "pass a single row as a list, [row], and columns as a table, pyarrow.table(columns)"
    elif type(data).__name__ == "LazyFrame":
        hint = "call .collect() to get a DataFrame"
    return InvalidArgumentError(message, hint=hint)


def _without_pandas_index(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Drop unnamed index levels, which pandas exports as columns after filtering or concatenating."""
    levels = [name for name in unnamed_levels(batch.schema) if name in batch.schema.names and name not in schema.names]
    return batch.drop_columns(levels) if levels else batch


def unnamed_levels(schema: pa.Schema) -> list[str]:
    """Return the columns of the unnamed index levels that pandas exports."""
    if b"pandas" not in (schema.metadata or {}):
        return []
    try:
        index = schema.pandas_metadata["index_columns"]
    except (ValueError, KeyError, TypeError):
        # The metadata may come from a source other than pandas.
        return []
    return [name for name in index if isinstance(name, str) and _UNNAMED_LEVEL.fullmatch(name)]


def _stream(data: Any) -> Iterator[pa.RecordBatch]:
    _check_objects(data)
    reader = data
    if isinstance(data, pa.Table):
        reader = map(_exportable, data.to_reader())
    elif not isinstance(data, pa.RecordBatchReader):
        # A pyarrow reader is used directly, so that the exceptions of its source are not converted.
        reader = _read(data, lambda: pa.RecordBatchReader.from_stream(data))
    count = 0
    while (batch := _read(data, lambda: next(reader, None))) is not None:
        count += 1
        yield batch
    if not count:
        # The schema is also checked if the input has no rows.
        yield no_rows(reader.schema if isinstance(reader, pa.RecordBatchReader) else data.schema)


def _exportable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert view types to strings for pyarrow before 24, which crashes when it exports some of them."""
    if has_pyarrow(_VIEWS_VERSION):
        return batch
    for i, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        if column.type in _VIEWS:
            batch = batch.set_column(i, name, column.cast(_VIEWS[column.type]))
    return batch


def size_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """Return the approximate memory size of rows."""
    try:
        return int(rows.nbytes)
    except pa.ArrowTypeError:
        # In pyarrow before 24, `nbytes` raises this error for view types.
        return int(rows.get_total_buffer_size())


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows for a schema of any types."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _read(data: Any, read: Callable[[], Any]) -> Any:
    """Convert a library's conversion errors to errors that identify the column."""
    try:
        return read()
    except (FrazilError, MemoryError):
        raise
    except Exception as error:
        if not isinstance(error, _BAD_DATA) and not type(error).__module__.startswith("polars."):
            raise
        found = _PANDAS_COLUMN.search(" ".join(map(str, error.args)))
        column = found[1] if found else None
        where = "" if column is None else f"the column `{column}` of "
        message = f"{where}the {type(data).__name__} cannot be read as Arrow data: {error.args[0] if column else error}"
        hint = "convert the column to one type" if column else None
        raise InvalidArgumentError(message, context={"column": column} if column else None, hint=hint) from error


def _check_objects(data: Any) -> None:
    """Reject Python objects in Polars, which exports memory addresses for them."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(data, polars.DataFrame):
        return
    for name, data_type in data.schema.items():
        if data_type == polars.Object:
            message = f"column `{name}` of the DataFrame has the type Object, which has no Arrow equivalent"
            raise InvalidArgumentError(message, context={"column": name}, hint="cast the column to another Polars type")
