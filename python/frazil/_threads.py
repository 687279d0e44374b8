"""Runs tasks in threads of this process; the first error, or Ctrl-C, stops the other tasks."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

__all__ = ["Stop", "StoppedError", "run_in_threads"]

T = TypeVar("T")


_PATIENCE_S = 0.1


class StoppedError(Exception):
    """Raised in a task that stops because another task failed or the user interrupted the run."""


class Stop:
    """A stop request that is shared by tasks and checked by each task between batches."""

    def __init__(self) -> None:
        """Create an unset stop request."""
        self._event = threading.Event()

    def request(self) -> None:
        """Request that all tasks stop at their next check."""
        self._event.set()

    def check(self) -> None:
        """Raise `StoppedError` if a stop was requested."""
        if self._event.is_set():
            raise StoppedError


def run_in_threads(tasks: Sequence[Callable[[Stop], T]], count: int, undo: Callable[[T], None], name: str) -> list[T]:
    """Run tasks in up to `count` threads and return their results in order.

    If a task raises or this thread is interrupted, the other tasks stop at their next check. Finished results are then
    undone, and the error is raised.
    """
    stop = Stop()
    with ThreadPoolExecutor(count, name) as pool:
        futures: list[Future[T]] = []
        try:
            futures += [pool.submit(task, stop) for task in tasks]
            while not _is_over(futures):
                # A signal does not always wake a thread that waits without a timeout.
                wait(futures, timeout=_PATIENCE_S, return_when=FIRST_EXCEPTION)
            failed = next((future for future in futures if future.done() and future.exception() is not None), None)
            return [future.result() for future in ([failed] if failed is not None else futures)]
        except BaseException:
            stop.request()
            pool.shutdown(cancel_futures=True)
            for future in futures:
                if not future.cancelled() and future.exception() is None:
                    undo(future.result())
            raise


def _is_over(futures: Sequence[Future[T]]) -> bool:
    """Return whether all tasks are done, or one has failed."""
    done = [future for future in futures if future.done()]
    return len(done) == len(futures) or any(future.exception() is not None for future in done)
