"""Progress of long writes, reported to a function or shown as a line in a terminal or notebook."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.config import Progress

PATIENCE_S = 2.0
"""The time before a progress line is shown."""


@contextlib.contextmanager
def reported(wish: Progress | bool | None) -> Iterator[Progress | None]:  # noqa: FBT001 - a setting
    """Yield the function to report the progress of a write to, as set by `frazil.config.progress`."""
    if callable(wish):
        yield wish
    elif wish is False or (wish is None and not _is_watched()):
        yield None
    else:
        with _line() as show:
            yield show


class Together:
    """Reports the combined progress of several concurrent writes."""

    def __init__(self, tell: Progress) -> None:
        """Keep the function that receives the combined numbers of rows, bytes and files."""
        self._tell, self._lock = tell, threading.Lock()
        self._parts: list[tuple[int, int, int]] = []

    def part(self) -> Progress:
        """Return the progress function for one of the writes."""
        with self._lock:
            place = len(self._parts)
            self._parts.append((0, 0, 0))

        def tell(rows: int, size: int, files: int) -> None:
            with self._lock:
                self._parts[place] = (rows, size, files)
                self._tell(*(sum(numbers) for numbers in zip(*self._parts, strict=True)))

        return tell


def _is_watched() -> bool:
    """Return whether the output is visible to a user, in a terminal or a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@contextlib.contextmanager
def _line() -> Iterator[Progress | None]:
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("writing", total=None)
    begun = time.monotonic()

    def show(rows: int, size: int, files: int) -> None:
        if not bar.live.is_started and time.monotonic() - begun >= PATIENCE_S:
            bar.start()
        bar.update(task, description=f"{rows:,} rows, {size / (1 << 20):,.0f} MiB in {files} files")

    try:
        yield show
    finally:
        bar.stop()
