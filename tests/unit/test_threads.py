"""Tests of tasks in threads: the first error, or an interrupt of the waiting thread, stops the other tasks."""

from __future__ import annotations

import _thread
import functools
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from frazil._threads import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil._threads import Stop


def test_results_are_in_the_order_of_the_tasks() -> None:
    def task(number: int, _: Stop) -> int:
        time.sleep(0.01 * (3 - number % 4))
        return number

    tasks = [functools.partial(task, number) for number in range(8)]
    assert run_in_threads(tasks, 4, lambda _: None, "t") == list(range(8))
    assert run_in_threads([], 1, lambda _: None, "t") == []


def forever(stop: Stop) -> str:
    while True:
        stop.check()
        time.sleep(0.001)


def test_first_error_stops_other_tasks_and_undoes_completed_ones() -> None:
    undone: list[str] = []
    done = threading.Event()

    def complete(_: Stop) -> str:
        done.set()
        return "written"

    def fail(_: Stop) -> str:
        done.wait()
        message = "broken"
        raise ValueError(message)

    never = ["not begun"]
    with pytest.raises(ValueError, match="broken"):
        run_in_threads([complete, forever, fail, lambda _: never.pop()], 3, undone.append, "t")
    assert undone == ["written"] or sorted(undone) == ["not begun", "written"]


@pytest.fixture
def _default_interrupts() -> Iterator[None]:
    """Restore the default handler, because a Spark session in the same process may have replaced it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_default_interrupts")
def test_an_interrupt_stops_all() -> None:
    begun = threading.Event()

    def interrupted(stop: Stop) -> str:
        if not begun.is_set():
            begun.set()
            # By then the main thread is waiting.
            time.sleep(0.1)
            _thread.interrupt_main()
        return forever(stop)

    with pytest.raises(KeyboardInterrupt):
        run_in_threads([interrupted, forever], 2, lambda _: None, "t")
    assert not [one for one in threading.enumerate() if one.name.startswith("t_")]
