"""Rows of CSV files, in the types of a table.

An empty cell is NULL and a quoted empty cell an empty string. An empty line is skipped, or, in a file with one column,
a row with NULL.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli._typed import Place, check_names, column_of_texts, malformed
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyarrow.csv import InvalidRow

__all__ = ["csv_rows"]

_BLOCK_BYTES = 16 << 20
"""The size of the text that is converted at once, and the limit of a row."""

_LINE_BREAKS = b"\r\n"


def csv_rows(stream: Any, file: str, delimiter: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read a stream of CSV with a header, which names columns of `schema` in any order.

    Raises:
        InvalidArgumentError: The header or a line is malformed, or a value does not fit its column.
    """
    names, count = _header(stream, file, delimiter)
    check_names(names, schema.names, file)
    fields = [schema.field(name) for name in names]
    if not stream.peek(1):
        yield pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in fields], names=names)
        return
    for batch, line_of in _Cells(stream, file, delimiter, count + 1).batches(names):
        places = [Place(file, name, line_of) for name in names]
        columns = map(column_of_texts, map(_decoded, batch.columns, fields, places), fields, places)
        yield pa.RecordBatch.from_arrays(list(columns), names=names)


def _header(stream: Any, file: str, delimiter: str) -> tuple[list[str], int]:
    """Read the names of the columns, and return them with the number of their lines."""
    lines = []

    def read() -> Iterator[str]:
        while line := stream.readline():
            lines.append(line)
            yield line.decode()

    try:
        names = next(csv.reader(read(), delimiter=delimiter, strict=True), None)
    except (csv.Error, UnicodeDecodeError) as error:
        raise malformed(file, len(lines), f"the header cannot be read: {error}") from error
    if not names:
        message = f"{file} has no header: the first line must contain the names of the columns"
        raise InvalidArgumentError(message, context={"file": file})
    return names, len(lines)


def _decoded(cells: pa.Array, field: pa.Field, place: Place) -> pa.Array:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        position = next(at for at, cell in enumerate(cells.to_pylist()) if cell and not _is_utf8(cell))
        raise place.rejected(position, cells[position].as_py(), field.type, "which is not UTF-8") from None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Source:
    """The lines of a file as a stream for pyarrow, which does not report where the rows are."""

    closed = False

    def __init__(self, stream: Any, first_line: int) -> None:
        self._stream, self._rest, self._line = stream, b"", first_line
        self.empty: list[int] = []
        """The numbers of the empty lines."""
        self.last = b""
        """The last line."""

    def read(self, size: int) -> bytes:
        """Read `size` bytes, or what remains."""
        while len(self._rest) < size and (lines := self._stream.readlines(size - len(self._rest))):
            self.empty += [self._line + at for at, line in enumerate(lines) if not line.strip(_LINE_BREAKS)]
            self._line += len(lines)
            self.last = lines[-1]
            self._rest += b"".join(lines)
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


class _Cells:
    """The cells of a CSV file after its header."""

    def __init__(self, stream: Any, file: str, delimiter: str, first_line: int) -> None:
        self._source, self._file, self._delimiter = _Source(stream, first_line), file, delimiter
        self._line = first_line
        self._row = 0
        self._invalid: InvalidRow | None = None

    def batches(self, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, Callable[[int], int]]]:
        """Yield the cells of rows as bytes, with a function that returns the line of a row."""
        last = None
        for batch in self._reader(names):
            self._check_row(batch)
            last, start = batch, self._line
            self._row += batch.num_rows
            self._line += batch.num_rows + sum(map(_breaks, batch.columns))
            yield self._without_empty_lines(batch, start) if len(names) > 1 else (batch, _lines_of(batch, start))
        self._check_row(None)
        self._check_end(last)

    def _reader(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        from pyarrow import csv as arrow_csv

        try:
            yield from arrow_csv.open_csv(
                pa.PythonFile(self._source, mode="r"),
                # With threads, invalid rows have no numbers.
                read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=_BLOCK_BYTES),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=self._skip,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.binary()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
            message = f"a row is longer than {_BLOCK_BYTES >> 20} MiB, or a quote is not closed"
            raise malformed(self._file, self._line, message) from error

    def _skip(self, row: InvalidRow) -> str:
        self._invalid = self._invalid or row
        return "skip"

    def _check_row(self, batch: pa.RecordBatch | None) -> None:
        """Raise an error if a row in a batch, or after the last batch, does not have a cell for each column."""
        row = self._invalid
        if row is None:
            return
        before = row.number - 1 - self._row
        if batch is None or before <= batch.num_rows:
            line = self._line if batch is None else _lines_of(batch, self._line)(before)
            raise malformed(
                self._file, line, f"the row has {row.actual_columns} cells, expected {row.expected_columns}"
            )

    def _check_end(self, last: pa.RecordBatch | None) -> None:
        """Raise an error if the last cell extends over the end of the file."""
        if last is None or not last.num_rows:
            return
        cell = last.columns[-1][-1].as_py() or b""
        if b"\n" in cell and not self._source.last.rstrip(_LINE_BREAKS).endswith(b'"'):
            raise malformed(self._file, self._line - 1 - cell.count(b"\n"), "a quote is not closed")

    def _without_empty_lines(self, batch: pa.RecordBatch, start: int) -> tuple[pa.RecordBatch, Callable[[int], int]]:
        """Remove the rows that pyarrow returns for empty lines; return the others with the function of their lines."""
        line_of = _lines_of(batch, start)
        empty = {line for line in self._source.empty if start <= line < self._line}
        if not empty:
            return batch, line_of
        lines = [line_of(position) for position in range(batch.num_rows)]
        kept = [position for position, line in enumerate(lines) if line not in empty]
        return batch.take(pa.array(kept, pa.int64())), [lines[position] for position in kept].__getitem__


def _breaks(cells: pa.Array) -> int:
    """Return the number of line breaks in cells."""
    return pc.sum(pc.count_substring(cells, "\n")).as_py() or 0


def _lines_of(batch: pa.RecordBatch, start: int) -> Callable[[int], int]:
    return lambda position: start + position + sum(_breaks(column[:position]) for column in batch.columns)
