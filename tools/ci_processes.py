"""Processes of steps, with the processor time of everything that they started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


class Processes:
    """Processes that run at the same time, each in a session.

    On Linux this process adopts what a step leaves, such as the Java virtual machine of a Spark session, whose time
    would be lost with it.
    """

    def __init__(self) -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._cpu_seconds: dict[int, float] = {}

    def start(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> int:
        """Start a command, whose output is written to a file; return its number."""
        with log.open("wb") as output:
            started = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running[started.pid] = started
        return started.pid

    def finished(self, seconds: float) -> Iterator[tuple[int, int, float]]:
        """Wait for some time; yield each command that ended: its number, exit status and processor time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(ChildProcessError):
                while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                    session = os.getsid(ended.si_pid)
                    _, status, usage = os.wait4(ended.si_pid, 0)
                    cpu_seconds = usage.ru_utime + usage.ru_stime
                    self._cpu_seconds[session] = self._cpu_seconds.get(session, 0) + cpu_seconds
                    if command := self._running.pop(ended.si_pid, None):
                        command.returncode = os.waitstatus_to_exitcode(status)
                        yield ended.si_pid, command.returncode, self._cpu_seconds[ended.si_pid]
            time.sleep(0.05)

    def kill(self, *pids: int) -> None:
        """Kill commands, or all that run, with what they started."""
        for pid in pids or list(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            self._running.pop(pid).wait()
