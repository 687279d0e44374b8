"""Reads the parts of a scan in order, while threads read ahead."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    import pyarrow as pa

Part = TypeVar("Part")
"""The unit that one thread reads: a task, a split or a file."""

Item = TypeVar("Item")
"""What is read of a part, such as a record batch."""

QUEUE_BATCHES = 4
"""The maximum number of buffered batches per part."""

WAIT_S = 0.1
"""The time that a worker waits before it checks whether the read was abandoned."""


def read_parts(
    parts: Iterable[Part],
    read: Callable[[Part], Iterator[pa.RecordBatch]],
    *,
    workers: int,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Stream the rows that `read` returns for each part, in order; up to `workers` threads read ahead.

    With a `limit`, reading stops after this many rows.
    """
    if limit == 0:
        return
    yield from limited(read_ahead(parts, read, workers=workers), limit)


def read_ahead(
    parts: Iterable[Part], read: Callable[[Part], Iterator[Item]], *, workers: int
) -> Generator[Item, None, None]:
    """Stream the items that `read` returns for each part, in order; up to `workers` threads read ahead."""
    return _in_turn(parts, read) if workers <= 1 else _ahead(iter(parts), read, workers)


def limited(batches: Generator[pa.RecordBatch, None, None], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Stream at most `limit` rows, then close the generator."""
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


def _in_turn(parts: Iterable[Part], read: Callable[[Part], Iterator[Item]]) -> Generator[Item, None, None]:
    for part in parts:
        yield from read(part)


class _Reading(Generic[Part, Item]):
    """A part that a worker reads: its items, then None or the error that ended the read."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.batches: queue.Queue[Item | BaseException | None] = queue.Queue(QUEUE_BATCHES)


def _ahead(parts: Iterator[Part], read: Callable[[Part], Iterator[Item]], workers: int) -> Generator[Item, None, None]:
    todo: queue.Queue[_Reading[Part, Item] | None] = queue.Queue()
    given_up = threading.Event()
    threads = [threading.Thread(target=_work, args=(todo, read, given_up), daemon=True) for _ in range(workers)]
    started: queue.Queue[_Reading[Part, Item]] = queue.Queue()

    def start() -> None:
        for part in parts:
            reading: _Reading[Part, Item] = _Reading(part)
            started.put(reading)
            todo.put(reading)
            return

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


def _work(
    todo: queue.Queue[_Reading[Part, Item] | None],
    read: Callable[[Part], Iterator[Item]],
    given_up: threading.Event,
) -> None:
    while (reading := todo.get()) is not None:
        last: BaseException | None = None
        try:
            for batch in read(reading.part):
                if not _offer(reading, batch, given_up):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again where the rows are taken
            last = error
        _offer(reading, last, given_up)


def _offer(reading: _Reading[Part, Item], item: Item | BaseException | None, given_up: threading.Event) -> bool:
    while not given_up.is_set():
        try:
            reading.batches.put(item, timeout=WAIT_S)
        except queue.Full:
            continue
        return True
    return False
