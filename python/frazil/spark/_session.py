"""Writes in Spark workers, and the collection of their commit messages.

A worker receives the metadata file of the table, and writes data files whose names contain its attempt and the id of
the write. It returns one small row with the bytes of a commit message. Only files referenced by these rows are
committed. If a task may have had several attempts, the files of discarded attempts are found by the id of the write.
They are deleted when no attempt is running.
"""

from __future__ import annotations

import pickle
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from frazil import _native
from frazil.iceberg._write import write_rows
from frazil.spark._attempts import KILL_TIMEOUT, Attempts, linger_seconds
from frazil.spark._map_in_arrow import map_in_arrow
from frazil.spark._taking import Taking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil.iceberg._state import TableState
    from frazil.spark._shared import Shared

Messages_co = TypeVar("Messages_co", covariant=True)

_ROW = "message binary, linger double, number long, deleted long, updated long"
_MEMORY_BYTES = 1 << 20
_MORE_SWEEPS = 5
_SWEEP_SECONDS = 2.0


@dataclass(frozen=True)
class WriteSession:
    """One write into a table, as shared by all processes."""

    state: TableState
    write_format: str | None = None
    target_bytes: int | None = None
    ident: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the data that workers need: the state, without the means to open its catalog."""
        return {**self.__dict__, "state": self.state.for_workers()}

    def write(self, data: Iterator[pa.RecordBatch]) -> tuple[bytes, float]:
        """Write the rows of this task; return the commit message and the seconds for which other attempts may run."""
        task, linger = this_task()
        target = _native.RowWriter(self.state.native, memory_bytes=_MEMORY_BYTES).schema()
        rows = self._rows(Taking(target).all(data), task)
        return rows.message(), linger

    def change(self, operation: Any, ready: Any, tasks: bytes) -> tuple[bytes, float, int, int]:
        """Change rows in the files of `tasks`; return the results of `write` and the deleted and updated row counts."""
        task, linger = this_task()
        native = self.state.native
        work = operation.plan(self.state, ready, tasks)
        rows = self._rows(work.rows(), task, lineage_of=native if self.state.lineage() else None)
        return rows.message(work.plan.delta, work.matched()), linger, *work.counts()

    def _rows(
        self, data: Iterator[pa.RecordBatch], task: int, *, lineage_of: _native.Table | None = None
    ) -> _native.RowWriter:
        properties = self.state.properties
        if self.target_bytes is not None:
            properties["write.target-file-size-bytes"] = str(self.target_bytes)
        return write_rows(
            self.state.native,
            properties,
            data,
            lineage_of=lineage_of,
            data_format=self.write_format,
            operation=(task, self.ident),
        ).rows

    def messages(self, found: Sequence[bytes], *, others: bool, linger: float = 0) -> _native.CommitMessages:
        """Accept messages; if other attempts are possible, delete the files that the messages do not reference.

        Another attempt may continue to write files for `linger` seconds.
        """
        try:
            messages = _native.CommitMessages(self.state.native, [bytes(message) for message in found])
        except BaseException:
            self.abort(linger)
            raise
        if others:
            self._sweep(messages, linger)
        return messages

    def abort(self, linger: float = 0) -> None:
        """Delete the files written by workers. A file that cannot be found is left as an orphan file."""
        self._sweep(None, linger)

    def _sweep(self, kept: _native.CommitMessages | None, linger: float) -> None:
        native = self.state.native
        writer = _native.RowWriter(native, memory_bytes=_MEMORY_BYTES, operation=(0, self.ident))
        sweep_until_quiet(lambda: writer.sweep(native.files, kept), linger)


def write_frame(frame: DataFrame, session: WriteSession) -> _native.CommitMessages:
    """Write a DataFrame in the workers; on failure the files are deleted."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        message, linger = session.write(batches)
        yield result_row(message, linger)

    messages, _ = run_in_workers(frame, write, session)
    return messages


def change_groups(
    spark: SparkSession, session: WriteSession, operation: Any, ready: Shared, groups: Sequence[bytes]
) -> tuple[_native.CommitMessages, list[Any]]:
    """Change rows in the workers, one Spark task per group; return the messages and the other results of each task.

    `ready` is a pickle of the operation's prepared input.
    """

    def change(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                prepared = pickle.loads(ready.content())  # noqa: S301 - of this session
                message, linger, deleted, updated = session.change(operation, prepared, groups[number])
                yield result_row(message, linger, number, deleted, updated)

    if not groups:
        return session.messages([], others=False), []
    return run_in_workers(spark.range(0, len(groups), 1, len(groups)), change, session)


class Session(Protocol[Messages_co]):
    """One write, parts of which are carried out by workers."""

    @property
    def ident(self) -> str:
        """The id of the write, which file names contain."""

    def messages(self, found: Sequence[bytes], *, others: bool, linger: float = 0) -> Messages_co:
        """Accept messages; if other attempts are possible, delete the files that the messages do not reference."""

    def abort(self, linger: float = 0) -> None:
        """Delete the files written by workers; attempts may continue to write for `linger` seconds."""


def run_in_workers(frame: DataFrame, function: Any, session: Session[Messages_co]) -> tuple[Messages_co, list[Any]]:
    """Write in the workers; return the commit messages, and the result rows of the tasks."""
    attempts = Attempts(frame.sparkSession, session.ident)
    others, seconds = False, 0.0
    try:
        # The action has one stage, and its results are returned unchanged, so that Spark does not run the stage twice.
        with attempts:
            found = list(map_in_arrow(frame, function, _ROW).collect())
        others = any(row.linger for row in found) or attempts.ran_again()
        if others:
            seconds = attempts.wait()
    except BaseException:
        seconds = attempts.linger
        try:
            seconds = attempts.wait()
        finally:
            session.abort(seconds)
        raise
    return session.messages([row.message for row in found], others=others, linger=seconds), found


def result_row(message: bytes, linger: float, number: int = 0, deleted: int = 0, updated: int = 0) -> pa.RecordBatch:
    columns = [pa.array([message], pa.binary()), pa.array([linger], pa.float64())]
    columns += [pa.array([count], pa.int64()) for count in (number, deleted, updated)]
    return pa.RecordBatch.from_arrays(columns, names=["message", "linger", "number", "deleted", "updated"])


def sweep_until_quiet(sweep: Callable[[], int], linger: float) -> None:
    """Delete files until none remain; attempts may write more files for `linger` seconds or longer."""
    if not (sweep() and linger):
        return
    time.sleep(linger)
    # On a busy machine, a worker may run longer than `linger`, so the sweeps continue until no new files are found.
    for _ in range(_MORE_SWEEPS):
        if not sweep():
            return
        time.sleep(_SWEEP_SECONDS)
    sweep()


def this_task() -> tuple[int, float]:
    """Return this attempt's number in the application, and the seconds for which other attempts may run."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return 0, 0
    # Local properties of tasks contain Spark's settings. With speculation, two attempts of a task may run concurrently.
    speculative = str(context.getLocalProperty("spark.speculation")).lower() == "true"
    others = speculative or context.attemptNumber() > 0
    return context.taskAttemptId(), linger_seconds(context.getLocalProperty(KILL_TIMEOUT)) if others else 0
