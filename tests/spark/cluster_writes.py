"""Write on two hosts, where attempts at task 0 fail; print the hosts and the events."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

import frazil.spark._executor
import frazil.spark._input
from frazil.spark import merge, update, write
from frazil.spark._session import WriteSession
from frazil.spark._source import FrazilDataSource
from support.spark_cluster import two_hosts
from support.spark_tables import data, frame, make

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

PATIENCE_SECONDS = 30
MOST_FAILURES = 2


@dataclasses.dataclass(frozen=True)
class Faulty(WriteSession):
    """A write session whose attempts leave notes, and whose first attempt at task 0 fails after it wrote files."""

    trouble: str = ""
    notes: str = ""

    def write(self, data: Iterator[pa.RecordBatch]) -> tuple[bytes, float]:
        message, linger = super().write(data)
        Notes(self.notes).add(f"lingers-{linger:g}")
        return message, linger

    def _rows(self, data: Iterator[pa.RecordBatch], task: int, *, lineage_of: Any = None) -> Any:
        return super()._rows(self._troubled(data), task, lineage_of=lineage_of)

    def _troubled(self, data: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        name = f"{context.partitionId()}-{context.attemptNumber()}-{context.taskAttemptId()}"
        notes = Notes(self.notes)
        notes.add(f"began-{name}", str(os.getppid()))
        steps = iter(data)
        yield next(steps)
        if self.trouble == "job":
            self._fail(context.partitionId(), name, notes)
        elif context.partitionId() == 0:
            if context.attemptNumber() == 0 and notes.add("first"):
                self._come_to_grief(notes)
            # On a busy machine, a speculative copy may start before the attempt that should lose.
            notes.wait_for("first")
        yield from steps
        notes.add(f"wrote-{name}")

    def _come_to_grief(self, notes: Notes) -> None:
        match self.trouble:
            case "worker":
                os.kill(os.getpid(), signal.SIGKILL)
            case "executor":
                # The parent process is the daemon that an executor uses for its workers.
                shown = subprocess.run(["ps", "-o", "ppid=", "-p", str(os.getppid())], stdout=-1, check=True)  # noqa: S603, S607
                os.kill(int(shown.stdout), signal.SIGKILL)
                time.sleep(PATIENCE_SECONDS)
            case "slow":
                notes.wait_for("wrote-0-1-*")
                # Give the driver time to receive the results.
                time.sleep(1)

    def _fail(self, task: int, name: str, notes: Notes) -> None:
        if task == 0:
            notes.add(f"failed-{name}")
            raise OSError("never works")
        notes.wait_for("failed-*", MOST_FAILURES)
        time.sleep(1)


class Notes:
    """Files that record the progress of attempts."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def add(self, name: str, content: str = "") -> bool:
        """Add a note, and return whether it is the first of this name."""
        try:
            with (self._folder / name).open("x") as file:
                file.write(content)
        except FileExistsError:
            return False
        return True

    def wait_for(self, pattern: str, count: int = 1) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while len(list(self._folder.glob(pattern))) < count and time.monotonic() < end:
            time.sleep(0.02)


class FaultyDataSource(FrazilDataSource):
    @classmethod
    def name(cls) -> str:
        return "faulty"

    def __init__(self, options: dict[str, str]) -> None:
        own = {name: options[name] for name in ("trouble", "notes")}
        super().__init__({name: value for name, value in options.items() if name not in own})
        self.own = own

    def writer(self, schema: Any, overwrite: bool) -> Any:  # noqa: FBT001
        made: Any = super().writer(schema, overwrite)
        session = made._session
        made._session = Faulty(session.state, ident=session.ident, **self.own)
        return made


def carry_out(spark: SparkSession, verb: str, trouble: str, folder: Path) -> None:
    """Perform one write in which some attempts fail."""
    table = make(folder / "t", "bucketed", write__target_file_size_bytes="1", read__split__target_size="120000000")
    notes = folder / "notes"
    notes.mkdir(parents=True)
    if verb in ("update", "merge"):
        table.append(data(0, 60))
    faulty = functools.partial(Faulty, trouble=trouble, notes=str(notes))
    frazil.spark._executor.WriteSession = frazil.spark._input.WriteSession = faulty  # type: ignore[assignment, misc]
    match verb:
        case "write":
            # If an executor dies, its rows for other tasks are lost, and a stage is repeated.
            write(frame(spark, data(0, 200), 2), table, distribution_mode="hash" if trouble == "executor" else "none")
        case "update":
            update(spark, table, {"c": "concat('u', c)"})
        case "merge":
            source = frame(spark, data(40, 12))
            merge(source, table, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
        case "save":
            saved = frame(spark, data(0, 200), 2).write.format("faulty").mode("append")
            saved.options(trouble=trouble, notes=str(notes)).save(str(folder / "t"))


def set_speculation(spark: SparkSession, *, on: bool) -> None:
    """Enable or disable speculative copies in the scheduler, and pass the setting to tasks."""
    spark.conf.set("spark.speculation", str(on).lower())
    # The scheduler reads this setting for each stage: copies start after this fraction of its tasks is done.
    context: Any = spark.sparkContext._jsc
    context.sc().conf().set("spark.speculation.quantile", "0.1" if on else "1.0")


def main(top: str, *cases: str) -> None:
    began = time.monotonic()
    spark = two_hosts(
        top,
        # Gives failed attempts time to write, even on a busy machine.
        spark__python__task__killTimeout="6s",
        spark__task__maxFailures=str(MOST_FAILURES),
        spark__speculation="true",
        spark__speculation__interval="50ms",
        spark__speculation__multiplier="1.1",
        spark__speculation__minTaskRuntime="300ms",
        spark__speculation__efficiency__enabled="false",
        spark__sql__execution__arrow__maxRecordsPerBatch="10",
        spark__sql__legacy__setCommandRejectsSparkCoreConfs="false",
        spark__sql__shuffle__partitions="2",
    )
    spark.dataSource.register(FaultyDataSource)
    found: dict[str, Any] = {"session": time.monotonic() - began}
    for case in cases:
        began = time.monotonic()
        error = ""
        set_speculation(spark, on=case.endswith("slow"))
        try:
            carry_out(spark, *case.split("-"), Path(top) / case)
            # On a busy machine, Spark sometimes starts no speculative copy.
            while case.endswith("slow") and not list((Path(top) / case / "notes").glob("began-0-1-*")):
                shutil.rmtree(Path(top) / case)
                carry_out(spark, *case.split("-"), Path(top) / case)
        except Exception as raised:  # noqa: BLE001 - the test looks at it
            error = f"{type(raised).__name__}: {raised}"
        found[case] = {"error": error, "seconds": time.monotonic() - began}
    print(json.dumps(found))  # noqa: T201 - the test reads it
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
