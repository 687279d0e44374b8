"""The task attempts of a Spark action, including those whose results were discarded.

An action ends when every task has a result, or when one task has failed too often. Other running attempts are then
killed, but their Python workers continue to write files for some seconds: 2 s until Spark checks for killed tasks, plus
`spark.python.task.killTimeout`, which defaults to 2 s.
"""

from __future__ import annotations

import contextlib
import re
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import SparkSession

KILL_TIMEOUT = "spark.python.task.killTimeout"

_KILL_TIMEOUT_SECONDS = 2.0
_LOOK_SECONDS = 2.0
_SPARE_SECONDS = 1.0
_UNIT_SECONDS = {"us": 1e-6, "": 1e-3, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_PATIENCE = 4
_POLL_SECONDS = 0.05


def linger_seconds(kill_timeout: str | None) -> float:
    """Return the seconds that the worker of a killed task may keep running; `kill_timeout` is the setting."""
    found = re.fullmatch(r"(\d+)([a-z]*)", (kill_timeout or "").strip().lower())
    # An invalid duration gets the default, because Spark itself rejects the setting.
    given = int(found[1]) * _UNIT_SECONDS[found[2]] if found and found[2] in _UNIT_SECONDS else _KILL_TIMEOUT_SECONDS
    return _LOOK_SECONDS + given + _SPARE_SECONDS


class Attempts:
    """The task attempts of the code in the `with` block, as known to the driver.

    The attempts are unknown over Spark Connect, and on platforms that restrict access to the `SparkContext`.
    """

    def __init__(self, spark: SparkSession, tag: str) -> None:
        """Identify the jobs of the block by a unique tag."""
        self._tag = tag
        self._context: Any = None
        self._tracker: Any = None
        self.linger = linger_seconds(None)
        with contextlib.suppress(Exception):
            self.linger = linger_seconds(spark.conf.get(KILL_TIMEOUT, None))
        with contextlib.suppress(Exception):
            context = spark.sparkContext
            # PySpark's StatusTracker finds jobs only by job group, which the user may have set; the JVM tracker is used
            # instead.
            self._tracker = context._jsc.sc().statusTracker()  # noqa: SLF001
            self._context = context

    def __enter__(self) -> Self:
        if self._context is not None:
            self._context.addJobTag(self._tag)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._context is not None:
            with contextlib.suppress(Exception):  # the session may have been stopped
                self._context.removeJobTag(self._tag)

    def ran_again(self) -> bool:
        """Return whether a stage was rerun, for example after an executor was lost; attempt numbers restart then."""
        return any(stage.currentAttemptId > 0 for stage in self._stages() or [])

    def wait(self) -> float:
        """Wait with a time limit until no attempt runs; return the seconds that attempts may still run."""
        end = time.monotonic() + _PATIENCE * self.linger
        while time.monotonic() < end:
            stages = self._stages()
            if stages is None:
                break
            if not any(stage.numActiveTasks for stage in stages):
                return 0
            time.sleep(_POLL_SECONDS)
        return self.linger

    def _stages(self) -> list[Any] | None:
        """Return Spark's information on the latest attempt at each stage; None if it is unavailable."""
        # Errors are ignored, because the write already has its result or error.
        with contextlib.suppress(Exception):
            tracker = self._context.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in self._tracker.getJobIdsForTag(self._tag)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
            return [stage for stage in stages if stage is not None]
        return None
