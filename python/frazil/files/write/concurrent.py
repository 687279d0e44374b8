"""Runs several writes at once, within the limits of threads and memory, with their combined progress."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Protocol, TypeVar

from frazil._progress import Together, reported
from frazil._threads import run_in_threads
from frazil.config import config
from frazil.files.write.writer import write_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil._threads import Stop
    from frazil.config import Progress

__all__ = ["ConcurrentWrite", "concurrent_writes", "run_writes"]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class ConcurrentWrite(Protocol[T_co]):
    """A write that reports its progress and checks for a stop request."""

    def __call__(self, *, progress: Progress | None, stop: Stop) -> T_co:
        """Write all rows; on failure, delete the written files."""


def concurrent_writes(count: int) -> int:
    """Return how many of `count` writes run at once."""
    # Each write buffers rows twice: before sorting and before encoding.
    fitting = config.memory_limit // (2 * write_memory())
    return max(1, min(config.max_workers, fitting, count))


def run_writes(writes: Sequence[ConcurrentWrite[T]], undo: Callable[[T], None]) -> list[T]:
    """Run writes, several concurrently, and return their results in order.

    If one fails, or the user presses Ctrl-C, the others stop, the finished ones are undone, and the error is raised.
    """
    with reported(config.progress) as progress:
        together = None if progress is None else Together(progress)
        tasks = [functools.partial(_run, write, None if together is None else together.part()) for write in writes]
        return run_in_threads(tasks, concurrent_writes(len(writes)), undo, "frazil-write")


def _run(write: ConcurrentWrite[T], progress: Progress | None, stop: Stop) -> T:
    return write(progress=progress, stop=stop)
