"""What workers of Spark write, and how the messages of it come back.

A worker gets the metadata file of the table and writes data files whose names hold its attempt and the id of the
operation. It gives one small row: the bytes of a commit message. Only what the rows name that an action of Spark gave
is committed. Files of other attempts are deleted, as far as they can be found by the id of the operation.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil.iceberg.row_level import lineage
from frazil.iceberg.write import write_rows
from frazil.spark.taking import Taking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil.iceberg import Table
    from frazil.spark.row_level import Asked

_ROW = "message binary, attempt int, number long, deleted long, updated long"
_MEMORY_BYTES = 1 << 20


@dataclass(frozen=True)
class Operation:
    """One write into a table, as all processes know it."""

    table: Table
    write_format: str | None = None
    target_bytes: int | None = None
    ident: str = field(default_factory=lambda: str(uuid.uuid4()))

    def write(self, data: Iterator[pa.RecordBatch]) -> tuple[bytes, int]:
        """Write rows of Spark in this task; give the commit message, and which attempt this is."""
        task, attempt = _task()
        target = _native.RowWriter(self.table._native, memory_bytes=_MEMORY_BYTES).schema()  # noqa: SLF001
        rows = self._rows(Taking(target).all(data), task)
        return rows.message(), attempt

    def change(self, asked: Asked, branch: str, tasks: bytes) -> tuple[bytes, int, int, int]:
        """Change rows of the files of `tasks`; give the commit message, the attempt, rows deleted and rows updated."""
        task, attempt = _task()
        native = self.table._native  # noqa: SLF001
        change = asked.change(self.table, branch, _native.Tasks(tasks, native.files))
        rows = self._rows(change.rows(), task, lineage=bool(lineage(self.table)))
        return rows.message(change.operation.delta, change.matched()), attempt, *change.counts()

    def _rows(self, data: Iterator[pa.RecordBatch], task: int, *, lineage: bool = False) -> _native.RowWriter:
        properties = self.table.properties
        if self.target_bytes is not None:
            properties["write.target-file-size-bytes"] = str(self.target_bytes)
        return write_rows(
            self.table._native,  # noqa: SLF001
            properties,
            data,
            lineage=lineage,
            data_format=self.write_format,
            operation=(task, self.ident),
        ).rows

    def messages(self, found: Sequence[tuple[bytes, int]], *, speculative: bool = False) -> _native.CommitMessages:
        """Take messages and numbers of attempts; where some failed, delete files that the messages do not name."""
        native = self.table._native  # noqa: SLF001
        try:
            messages = _native.CommitMessages(native, [bytes(message) for message, _ in found])
        except BaseException:
            self.abort()
            raise
        if speculative or any(attempt for _, attempt in found):
            self._writer().sweep(native.files, messages)
        return messages

    def abort(self) -> None:
        """Delete what the operation wrote; what cannot be found is an orphan and no second failure."""
        self._writer().sweep(self.table._native.files)  # noqa: SLF001

    def _writer(self) -> _native.RowWriter:
        native = self.table._native  # noqa: SLF001
        return _native.RowWriter(native, memory_bytes=_MEMORY_BYTES, operation=(0, self.ident))


def write_frame(frame: DataFrame, operation: Operation) -> _native.CommitMessages:
    """Write a DataFrame in the workers; when it fails the files are deleted."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        message, attempt = operation.write(batches)
        yield _row(message, attempt)

    return operation.messages(
        [(row.message, row.attempt) for row in _collected(frame, write, operation)],
        speculative=_speculative(frame.sparkSession),
    )


def change_groups(
    spark: SparkSession, operation: Operation, asked: Asked, branch: str, groups: Sequence[bytes]
) -> tuple[_native.CommitMessages, list[Any]]:
    """Change rows in the workers, a task of Spark for each group; give the messages, and what each says beside."""

    def change(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                message, attempt, deleted, updated = operation.change(asked, branch, groups[number])
                yield _row(message, attempt, number, deleted, updated)

    found = []
    if groups:
        found = _collected(spark.range(0, len(groups), 1, len(groups)), change, operation)
    messages = operation.messages(
        [(row.message, row.attempt) for row in found], speculative=bool(groups) and _speculative(spark)
    )
    return messages, found


def _collected(frame: DataFrame, function: Any, operation: Operation) -> list[Any]:
    # The action takes what the stage gives as it is: nothing may make Spark run it twice.
    try:
        return list(frame.mapInArrow(function, _ROW).collect())
    except BaseException:
        operation.abort()
        raise


def _row(message: bytes, attempt: int, number: int = 0, deleted: int = 0, updated: int = 0) -> pa.RecordBatch:
    columns = [pa.array([message], pa.binary()), pa.array([attempt], pa.int32())]
    columns += [pa.array([count], pa.int64()) for count in (number, deleted, updated)]
    return pa.RecordBatch.from_arrays(columns, names=["message", "attempt", "number", "deleted", "updated"])


def _task() -> tuple[int, int]:
    """Give the number of this attempt among all of the application, and among those at its task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return (0, 0) if context is None else (context.taskAttemptId(), context.attemptNumber())


def _speculative(spark: SparkSession) -> bool:
    """Whether a second attempt may run beside the one that counts."""
    return str(spark.conf.get("spark.speculation", "false")).lower() == "true"
