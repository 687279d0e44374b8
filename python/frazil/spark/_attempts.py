"""What Spark tried at the tasks of an action, beside the attempts whose results it gave.

An action ends when each task has a result, or when one has failed too often. Attempts that no longer count are killed
then, but Spark gives a Python worker some seconds before it ends the process, and until that it goes on writing files:
2 s until it looks, and `spark.python.task.killTimeout`, which is 2 s where nobody sets it.
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
    """Tell how many seconds the worker of a killed task may live where the setting `KILL_TIMEOUT` is this text."""
    found = re.fullmatch(r"(\d+)([a-z]*)", (kill_timeout or "").strip().lower())
    # Spark itself refuses what is no time.
    given = int(found[1]) * _UNIT_SECONDS[found[2]] if found and found[2] in _UNIT_SECONDS else _KILL_TIMEOUT_SECONDS
    return _LOOK_SECONDS + given + _SPARE_SECONDS


class Attempts:
    """The attempts at what is run in the `with` block, as the driver knows them.

    Over Spark Connect, and where a platform keeps its `SparkContext` to itself, nothing is known of them.
    """

    def __init__(self, spark: SparkSession, tag: str) -> None:
        """Recognize the jobs of this by a tag, which nothing else has."""
        self._tag = tag
        self._context: Any = None
        self._tracker: Any = None
        self.linger = linger_seconds(None)
        with contextlib.suppress(Exception):
            self.linger = linger_seconds(spark.conf.get(KILL_TIMEOUT, None))
        with contextlib.suppress(Exception):
            context = spark.sparkContext
            # The tracker of Python finds jobs by their group only, and that is the user's.
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
        """Tell whether a stage is known to have run again, as where an executor was lost: attempts count anew then."""
        return any(stage.currentAttemptId > 0 for stage in self._stages() or [])

    def wait(self) -> float:
        """Wait until none runs any more, but not for ever; give how many seconds one may still run."""
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
        """Give what Spark tells of the newest attempt at each stage; None where it tells nothing."""
        # The write has its rows or its error already; a session that was stopped is no other one.
        with contextlib.suppress(Exception):
            tracker = self._context.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in self._tracker.getJobIdsForTag(self._tag)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
            return [stage for stage in stages if stage is not None]
        return None
