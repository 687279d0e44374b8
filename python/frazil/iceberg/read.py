"""Executing tasks: open files, push their batches through the native reader, stream rows."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from frazil.data_file import open_data_file
from frazil.errors import CorruptData, CorruptDeletes
from frazil.read_ahead import read_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from frazil import _native

INT96_UNIT: Literal["us"] = "us"
"""Iceberg knows INT96 only from imported files, whose years may be too far for nanoseconds."""


POSITION_DELETES = 1
"""The content of a delete file that holds paths and positions; equality deletes have 2."""


def read_task(task: _native.FileScanTask) -> Iterator[pa.RecordBatch]:
    """Stream the rows of one task.

    Raises:
        MissingFile: The data file or one of its delete files is not there.
        CorruptDataFile: The data file cannot be decoded or is not the recorded one.
        CorruptDeletes: A delete file cannot be decoded.
    """
    yield from rows_of(task, with_deletes(task))


def rows_of(
    task: _native.FileScanTask, reader: _native.TaskReader, within: Sequence[tuple[int, int]] | None = None
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of a task whose deletes are loaded.

    With `within`, ascending first and last positions, row groups without any of them are left out.
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
            if within is not None:
                selected = _with_positions(selected, [rows for rows, *_ in groups], within)
        rows = 0
        for position, batch, count in data.batches(wanted, selected):
            rows += count
            result = reader.apply(batch, position, count)
            if result is not None:
                yield result
        if selected is None:
            reader.check_rows(rows)


def _with_positions(selected: list[bool], counts: list[int], within: Sequence[tuple[int, int]]) -> list[bool]:
    """Select the row groups that may hold positions; `counts` has the number of rows of each."""
    ranges = deque(within)
    start = 0
    for group, count in enumerate(counts):
        end = start + count
        while ranges and ranges[0][1] < start:
            ranges.popleft()
        selected[group] = selected[group] and bool(ranges) and ranges[0][0] < end
        start = end
    return selected


def read_tasks(
    tasks: Iterable[_native.FileScanTask], *, workers: int, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of tasks in their order; up to `workers` threads read ahead."""
    return read_parts(tasks, read_task, workers=workers, limit=limit)


class _Turn:
    """Whose turn it is to read some delete files; others find them in the cache of their table afterwards."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
"""By the first of the delete files."""
# A thread of the parent that has its turn does not come along.
os.register_at_fork(after_in_child=_turns.clear)


def with_deletes(task: _native.FileScanTask) -> _native.TaskReader:
    """Start to read a task: load its deletes."""
    reader = task.reader()
    pending = [] if reader.is_empty else reader.pending_deletes()
    if not pending:
        return reader
    turn = _turns.setdefault(pending[0].file_path, _Turn())
    with turn.lock:
        reader = task.reader()
        for deletes in reader.pending_deletes():
            _read_deletes(reader, task.files, deletes)
    return reader


def _read_deletes(reader: _native.TaskReader, files: _native.Files, deletes: _native.DeleteFile) -> None:
    path, file_format = deletes.file_path, deletes.file_format
    # The paths of position deletes are few.
    dictionaries = deletes.content == POSITION_DELETES
    try:
        with open_data_file(files, path, file_format, int96_unit=INT96_UNIT, dictionaries=dictionaries) as data:
            pushed = reader.open_deletes(deletes, data.schema)
            for _, batch, _ in data.batches(pushed.wanted, None):
                reader.push_deletes(pushed, batch)
            reader.finish_deletes(pushed)
    except CorruptDeletes:
        raise
    except CorruptData as error:
        raise CorruptDeletes(str(error), context=error.context, hint=error.hint) from error
