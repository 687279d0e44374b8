"""Reads a table on two executors, of which one dies in its first attempt at partition 0; prints what , expected."""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from frazil.spark._source import FrazilDataSource, FrazilReader

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEN = "file string, pos long, partition int, attempt int, executor int"


class DyingReader(FrazilReader):
    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        for batch in super().read(partition):
            yield batch
            if context is not None and context.partitionId() == 0 and context.attemptNumber() == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class DyingDataSource(FrazilDataSource):
    @classmethod
    def name(cls) -> str:
        return "dying"

    def reader(self, schema: Any) -> FrazilReader:
        made = super().reader(schema)
        made.__class__ = DyingReader
        return made


def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    for batch in batches:
        # The parent process is the daemon that an executor uses for its workers.
        own = [context.partitionId(), context.attemptNumber(), os.getppid()]
        constants = [pa.array([value] * batch.num_rows, pa.int32()) for value in own]
        columns = [batch.column("_file"), batch.column("_pos"), *constants]
        yield pa.RecordBatch.from_arrays(columns, names=["file", "pos", "partition", "attempt", "executor"])


def main(path: str) -> None:
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(DyingDataSource)
    sizes = {"split-size": "16384", "file-open-cost": "2048", "metadata-columns": "_file,_pos"}
    frame = session.read.format("dying").options(**sizes).load(path)
    rows = frame.select("_file", "_pos").mapInArrow(seen, SEEN).collect()
    files = collections.defaultdict(set)
    attempts = collections.defaultdict(set)
    for row in rows:
        files[row.partition].add(row.file)
        attempts[row.partition].add(row.attempt)
    found = {
        "rows": [(row.file, row.pos) for row in rows],
        "files_by_partition": {partition: sorted(names) for partition, names in files.items()},
        "attempts": {partition: sorted(numbers) for partition, numbers in attempts.items()},
        "executors": sorted({row.executor for row in rows}),
        "driver": os.getpid(),
    }
    print(json.dumps(found))  # noqa: T201 - the test reads it
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
