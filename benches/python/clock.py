"""Measures work: wall-clock seconds, CPU seconds, and the rise of memory above the initial level.

CPU seconds are the user and system time of all threads of this process, its finished children and its running
descendants (Spark's JVM and Python workers). Memory is that of this process alone.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")


class Clock:
    """A context manager that measures the time and memory of its body."""

    def __enter__(self) -> Self:
        gc.collect()
        with suppress(OSError):
            # Resets the high-water mark of memory to the current resident size.
            Path("/proc/self/clear_refs").write_text("5")
        self._resident = _status_mib("VmRSS")
        self._others = _seconds_of_others()
        self._wall, self._own = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        # Reading other processes takes longer than some measured work, so it is outside of the interval on both sides.
        own, wall = time.process_time(), time.perf_counter()
        self.wall_s = wall - self._wall
        self.cpu_s = own - self._own + _seconds_of_others() - self._others
        self.rise_mib = max(0.0, _status_mib("VmHWM") - self._resident)

    def figures(self) -> dict[str, float]:
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "rise_mib": self.rise_mib}


def _seconds_of_others() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = sum(_ticks(pid) for pid in _descendants(os.getpid())) / TICKS
    return ended.ru_utime + ended.ru_stime + running


def _descendants(pid: int) -> list[int]:
    children: list[int] = []
    # Processes and threads may end while they are read.
    with suppress(OSError):
        for task in list(Path(f"/proc/{pid}/task").iterdir()):
            with suppress(OSError):
                children += map(int, (task / "children").read_text().split())
    return children + [below for child in children for below in _descendants(child)]


def _ticks(pid: int) -> int:
    """Return the user and system time of a process and of its finished children."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(ticks) for ticks in after_name[11:15])


def _status_mib(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))
