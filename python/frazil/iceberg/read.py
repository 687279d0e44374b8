"""Executing tasks: open files, push their batches through the native reader, stream rows."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from frazil.errors import CorruptData, CorruptDeletes
from frazil.iceberg.data_file import open_data_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    import pyarrow as pa

    from frazil import _native

QUEUE_BATCHES = 4
"""How many batches of one file may wait to be taken."""

WAIT_S = 0.1
"""How long a worker waits before it looks whether the read was given up."""


def read_task(task: _native.FileScanTask) -> Iterator[pa.RecordBatch]:
    """Stream the rows of one task.

    Raises:
        MissingFile: The data file or one of its delete files is not there.
        CorruptDataFile: The data file cannot be decoded or is not the recorded one.
        CorruptDeletes: A delete file cannot be decoded.
    """
    reader = task.reader()
    if reader.is_empty:
        return
    files = task.files
    for deletes in reader.pending_deletes():
        _read_deletes(reader, files, deletes)
    with open_data_file(files, task.file_path, task.file_format) as data:
        wanted = reader.open(data.schema)
        selected = None
        if data.row_groups:
            selected = reader.select_row_groups(data.statistics(reader.statistics_leaves()))
        rows = 0
        for position, batch, count in data.batches(wanted, selected):
            rows += count
            result = reader.apply(batch, position, count)
            if result is not None:
                yield result
        if selected is None:
            reader.check_rows(rows)


def read_tasks(
    tasks: Iterable[_native.FileScanTask], *, workers: int, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Stream the rows of tasks in their order; up to `workers` threads read ahead."""
    if limit == 0:
        return
    batches = _in_turn(tasks) if workers <= 1 else _ahead(iter(tasks), workers)
    try:
        for batch in batches:
            if limit is not None and batch.num_rows >= limit:
                yield batch.slice(0, limit)
                return
            if limit is not None:
                limit -= batch.num_rows
            yield batch
    finally:
        batches.close()


def _read_deletes(reader: _native.TaskReader, files: _native.Files, deletes: _native.DeleteFile) -> None:
    try:
        with open_data_file(files, deletes.file_path, deletes.file_format) as data:
            pushed = reader.open_deletes(deletes, data.schema)
            for _, batch, _ in data.batches(pushed.wanted, None):
                reader.push_deletes(pushed, batch)
            reader.finish_deletes(pushed)
    except CorruptDeletes:
        raise
    except CorruptData as error:
        raise CorruptDeletes(str(error), context=error.context, hint=error.hint) from error


def _in_turn(tasks: Iterable[_native.FileScanTask]) -> Generator[pa.RecordBatch, None, None]:
    for task in tasks:
        yield from read_task(task)


class _Reading:
    """One task that a worker reads: its batches, then None, or the error that ended it."""

    def __init__(self, task: _native.FileScanTask) -> None:
        self.task = task
        self.batches: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(QUEUE_BATCHES)


def _ahead(tasks: Iterator[_native.FileScanTask], workers: int) -> Generator[pa.RecordBatch, None, None]:
    todo: queue.Queue[_Reading | None] = queue.Queue()
    given_up = threading.Event()
    threads = [threading.Thread(target=_work, args=(todo, given_up), daemon=True) for _ in range(workers)]
    started: queue.Queue[_Reading] = queue.Queue()

    def start() -> None:
        task = next(tasks, None)
        if task is not None:
            reading = _Reading(task)
            started.put(reading)
            todo.put(reading)

    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            start()
        while not started.empty():
            reading = started.get()
            while (item := reading.batches.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
            start()
    finally:
        given_up.set()
        for _ in threads:
            todo.put(None)
        for thread in threads:
            thread.join(timeout=WAIT_S)


def _work(todo: queue.Queue[_Reading | None], given_up: threading.Event) -> None:
    while (reading := todo.get()) is not None:
        last: BaseException | None = None
        try:
            for batch in read_task(reading.task):
                if not _offer(reading, batch, given_up):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again where the rows are taken
            last = error
        _offer(reading, last, given_up)


def _offer(reading: _Reading, item: pa.RecordBatch | BaseException | None, given_up: threading.Event) -> bool:
    while not given_up.is_set():
        try:
            reading.batches.put(item, timeout=WAIT_S)
        except queue.Full:
            continue
        return True
    return False
