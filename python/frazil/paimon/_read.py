"""Executes splits: opens files, passes their batches through the native reader and streams rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from frazil._read_ahead import read_parts
from frazil.files.read.data_file import BATCH_ROWS
from frazil.files.read.open import open_data_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    import pyarrow as pa

    from frazil import _native

MERGED_ROWS = 4 * BATCH_ROWS
"""The number of rows to buffer for all files of a merge together; each file buffers at least `LEAST_ROWS`."""

LEAST_ROWS = 8192
"""The minimum number of rows in a batch; with smaller batches, decoding costs more per row."""

Batch = tuple[int, "pa.RecordBatch | None", int]
"""The position of the first row in the file, the columns (None if no columns are wanted) and the number of rows."""


def read_split(split: _native.PaimonSplit) -> Iterator[pa.RecordBatch]:
    """Stream the rows of a split. Each file is opened when its rows are needed, and closed at its end.

    Raises:
        MissingFileError: A data file or deletion vector does not exist.
        CorruptDataFileError: A data file cannot be decoded, or is not the recorded file.
        CorruptDeletesError: A deletion vector cannot be decoded.
    """
    reader = split.reader()
    files = split.files
    batch_rows = _batch_rows(split)
    opened: dict[int, Generator[Batch, None, None]] = {}
    try:
        while (step := reader.step()) is not None:
            if not isinstance(step, tuple):
                yield step
                continue
            what, index = step
            if what == "open":
                opened[index] = _file(files, reader, index, batch_rows)
                next(opened[index])
                continue
            batch = next(opened[index], None)
            if batch is None:
                opened.pop(index).close()
                reader.end(index)
            else:
                reader.push(index, *batch)
    finally:
        for file in opened.values():
            file.close()


def read_splits(
    splits: Iterable[_native.PaimonSplit], *, workers: int, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of splits in order; up to `workers` threads read ahead."""
    return read_parts(splits, read_split, workers=workers, limit=limit)


def _batch_rows(split: _native.PaimonSplit) -> int:
    if split.raw_convertible:
        return BATCH_ROWS
    return min(BATCH_ROWS, max(LEAST_ROWS, MERGED_ROWS // max(1, len(split.data_files()))))


def _file(
    files: _native.Files, reader: _native.SplitReader, index: int, batch_rows: int
) -> Generator[Batch, None, None]:
    """Yield the batches of a file, which is opened on the first step of the iteration.

    pyarrow errors are converted by `open_data_file`.
    """
    path, file_format, has_nanoseconds = reader.file(index)
    # Paimon writes TIMESTAMP(7) to TIMESTAMP(9) as INT96. Files imported from Spark store timestamps of any precision
    # as INT96.
    int96_unit: Literal["us", "ns"] = "ns" if has_nanoseconds else "us"
    opened = open_data_file(files, path, file_format, int96_unit=int96_unit, dictionaries=True)
    with opened as data:
        wanted = reader.open(index, data.schema)
        yield -1, None, 0
        yield from data.batches(wanted, None, batch_rows)
