"""Executes scan tasks: opens files, passes their batches through the native reader and streams rows."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from frazil._read_ahead import read_parts
from frazil.errors import CorruptDataError, CorruptDeletesError
from frazil.files.read.data_file import BATCH_ROWS
from frazil.files.read.open import open_data_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from frazil import _native
    from frazil.files.read.data_file import DataFile, Statistics, Wanted

INT96_UNIT: Literal["us"] = "us"
"""Iceberg permits INT96 only in imported files, whose years may exceed the range of nanoseconds."""


POSITION_DELETES = 1
"""The content code of position delete files; equality deletes have 2."""


def read_task(task: _native.FileScanTask) -> Iterator[pa.RecordBatch]:
    """Stream the rows of one task.

    Raises:
        MissingFileError: The data file or one of its delete files does not exist.
        CorruptDataFileError: The data file cannot be decoded, or is not the recorded file.
        CorruptDeletesError: A delete file cannot be decoded.
    """
    yield from rows_of(task, with_deletes(task))


def rows_of(
    task: _native.FileScanTask, reader: _native.TaskReader, finder: _native.TaskReader | None = None
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of a task whose deletes have been loaded.

    If given, `finder` evaluates the filter on fewer columns; row groups without matches are read only in these columns.
    """
    if reader.is_empty:
        return
    files = task.files
    with open_data_file(files, task.file_path, task.file_format, int96_unit=INT96_UNIT) as data:
        wanted = reader.open(data.schema)
        selected = None
        if data.row_groups:
            groups = data.statistics(reader.statistics_leaves())
            selected = reader.select_row_groups(groups)
            if finder is not None:
                yield from _found_rows(
                    data, (finder, finder.open(data.schema)), (reader, wanted), _parts(groups, selected)
                )
                return
        rows = 0
        for position, batch, count in data.batches(wanted, selected):
            rows += count
            result = reader.apply(batch, position, count)
            if result is not None:
                yield result
        if selected is None:
            reader.check_rows(rows)


_LIKELY = 2
"""The number of consecutive parts with matching rows after which the next part is assumed to match, too."""


def _found_rows(
    data: DataFile,
    finder: tuple[_native.TaskReader, Wanted],
    reader: tuple[_native.TaskReader, Wanted],
    parts: Iterable[list[bool]],
) -> Iterator[pa.RecordBatch]:
    """Stream the matching rows of parts of a file; a part is first probed for matching rows.

    A probe ends at the first matching row. After two consecutive parts with matches, the next part is read without a
    probe. If every row group matches, the filter columns are therefore read twice only at the start.
    """
    in_succession = 0
    for part in parts:
        if in_succession < _LIKELY and next(_applied(data, *finder, part), None) is None:
            in_succession = 0
            continue
        found = False
        for batch in _applied(data, *reader, part):
            found = True
            yield batch
        in_succession = in_succession + 1 if found else 0


def _applied(
    data: DataFile, reader: _native.TaskReader, wanted: Wanted, selected: Sequence[bool]
) -> Iterator[pa.RecordBatch]:
    for position, batch, count in data.batches(wanted, selected):
        result = reader.apply(batch, position, count)
        if result is not None:
            yield result


def _parts(groups: Sequence[Statistics], selected: list[bool]) -> Iterator[list[bool]]:
    """Split the selected row groups into parts of at least one batch of rows, to limit the calls of the reader."""
    part, held = [False] * len(groups), 0
    for group, (rows, *_) in enumerate(groups):
        if selected[group]:
            part[group], held = True, held + rows
        if held >= BATCH_ROWS:
            yield part
            part, held = [False] * len(groups), 0
    if held:
        yield part


def read_tasks(
    tasks: Iterable[_native.FileScanTask], *, workers: int, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of tasks in order; up to `workers` threads read ahead."""
    return read_parts(tasks, read_task, workers=workers, limit=limit)


class _Turn:
    """A lock for reading some delete files; afterwards, other threads find them in the table's cache."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
"""The locks, by the path of the first delete file in the set."""
# Locks held by other threads of the parent process would never be released in the forked process.
os.register_at_fork(after_in_child=_turns.clear)


def with_deletes(task: _native.FileScanTask, *, beside: _native.FileScanTask | None = None) -> _native.TaskReader:
    """Start reading a task and load its deletes.

    `beside` is a task for the same file with other deletes. The readers of both tasks then accept the same batches.
    """
    reader = task.reader(beside)
    pending = [] if reader.is_empty else reader.pending_deletes()
    if not pending:
        return reader
    turn = _turns.setdefault(pending[0].file_path, _Turn())
    with turn.lock:
        reader = task.reader(beside)
        for deletes in reader.pending_deletes():
            _read_deletes(reader, task.files, deletes)
    return reader


def _read_deletes(reader: _native.TaskReader, files: _native.Files, deletes: _native.DeleteFile) -> None:
    path, file_format = deletes.file_path, deletes.file_format
    # Position deletes contain few distinct paths, which dictionaries represent compactly.
    dictionaries = deletes.content == POSITION_DELETES
    try:
        with open_data_file(files, path, file_format, int96_unit=INT96_UNIT, dictionaries=dictionaries) as data:
            pushed = reader.open_deletes(deletes, data.schema)
            for _, batch, _ in data.batches(pushed.wanted, None):
                reader.push_deletes(pushed, batch)
            reader.finish_deletes(pushed)
    except CorruptDeletesError:
        raise
    except CorruptDataError as error:
        raise CorruptDeletesError(str(error), context=error.context, hint=error.hint) from error
