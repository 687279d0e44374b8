"""Tests of concurrent and killed writers: no acknowledged row is lost or duplicated.

`FRAZIL_WRITERS` sets the number of writing processes, `FRAZIL_KILLS` the number of killed ones; `make faults` runs all.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitConflictError, CommitValidationError
from frazil.iceberg._staged import StagedTable
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.iceberg import Table

WRITERS = size("FRAZIL_WRITERS")
COMMITS = 25 if WRITERS > 4 else 10
KILLS = size("FRAZIL_KILLS")

SCHEMA = pa.schema([("id", pa.int64()), ("writer", pa.int64())])
EVERY = 5
"""The interval of commits that delete the row of the previous commit."""


def make(catalog: str, folder: Path, properties: dict[str, str], version: int) -> Callable[[], Table]:
    """Create a table, and return a function that opens it."""
    if catalog == "hadoop":
        path = str(folder / "t")
        frazil.create_table(path, SCHEMA, format_version=version, properties=properties)
        return functools.partial(frazil.load_table, path)
    lake = str(folder / "lake")
    opened = frazil.load_catalog("local", path=lake)
    opened.create_namespace("ns")
    opened.create_table("ns.t", SCHEMA, format_version=version, properties=properties)
    return functools.partial(load, lake)


def load(lake: str) -> Table:
    return frazil.load_catalog("local", path=lake).load_table("ns.t")


def write(load: Callable[[], Table], writer: int, problems: multiprocessing.Queue[str | None]) -> None:
    try:
        table = load()
        for i in range(COMMITS):
            if i % EVERY == EVERY - 1:
                assert table.delete(f"writer = {writer} and id = {i - 1}").deleted_rows == 1
            else:
                table.append([{"id": i, "writer": writer}])
        problems.put(None)
    except BaseException as error:  # noqa: BLE001 - told to the test
        problems.put(repr(error))


@pytest.mark.parametrize(
    ("catalog", "version", "mode"),
    [
        ("hadoop", 2, "copy-on-write"),
        ("hadoop", 3, "merge-on-read"),
        ("sqlite", 2, "merge-on-read"),
        ("sqlite", 3, "copy-on-write"),
    ],
)
def test_writers_at_the_same_time_lose_and_double_nothing(
    tmp_path: Path, catalog: str, version: int, mode: str
) -> None:
    load = make(catalog, tmp_path, {"write.delete.mode": mode}, version)
    context = multiprocessing.get_context("spawn")
    problems: multiprocessing.Queue[str | None] = context.Queue()
    processes = [context.Process(target=write, args=(load, writer, problems)) for writer in range(WRITERS)]
    for process in processes:
        process.start()
    assert [problems.get() for _ in processes] == [None] * WRITERS
    for process in processes:
        process.join()
    table = load()
    found = sorted((row["writer"], row["id"]) for row in table.scan().to_arrow().to_pylist())
    kept = [i for i in range(COMMITS) if i % EVERY < EVERY - 2]
    assert found == [(writer, i) for writer in range(WRITERS) for i in kept]
    snapshots = table.snapshots()
    assert len(snapshots) == WRITERS * COMMITS
    assert [s.parent_snapshot_id for s in snapshots] == [None, *(s.snapshot_id for s in snapshots[:-1])]
    assert [s.sequence_number for s in snapshots] == list(range(1, len(snapshots) + 1))


def upsert(load: Callable[[], Table], writer: int, problems: multiprocessing.Queue[str | None]) -> None:
    try:
        table = load()
        for i in range(10):
            table.upsert([{"id": 1, "writer": 1 + writer * 10 + i}], ["id"])
        problems.put(None)
    except BaseException as error:  # noqa: BLE001 - told to the test
        problems.put(repr(error))


@pytest.mark.parametrize(("version", "mode"), [(2, "copy-on-write"), (3, "merge-on-read")])
def test_writers_of_the_same_row_do_not_starve(tmp_path: Path, version: int, mode: str) -> None:
    load = make("hadoop", tmp_path, {"write.merge.mode": mode}, version)
    load().append([{"id": 1, "writer": 0}])
    context = multiprocessing.get_context("spawn")
    problems: multiprocessing.Queue[str | None] = context.Queue()
    processes = [context.Process(target=upsert, args=(load, writer, problems)) for writer in range(4)]
    for process in processes:
        process.start()
    assert [problems.get() for _ in processes] == [None] * 4
    for process in processes:
        process.join()
    table = load()
    assert table.scan().count() == 1
    assert len(table.snapshots()) == 41


def step(table: Table, number: int) -> None:
    """Apply the change with a number: an append, an overwrite or an upsert."""
    match number % 3:
        case 0:
            table.append([{"id": number * 10 + i, "writer": number} for i in range(10)])
        case 1:
            begin = (number - 1) * 10
            table.overwrite([{"id": number * 10, "writer": number}], f"id >= {begin} and id < {begin + 5}")
        case _:
            keys = [(number - 1) * 10, number * 10]
            table.upsert([{"id": key, "writer": number} for key in keys], ["id"])


def expected(steps: int) -> dict[int, int]:
    """Return the rows of the table after `steps` steps."""
    rows: dict[int, int] = {}
    for number in range(steps):
        match number % 3:
            case 0:
                rows |= {number * 10 + i: number for i in range(10)}
            case 1:
                begin = (number - 1) * 10
                rows = {key: writer for key, writer in rows.items() if not begin <= key < begin + 5}
                rows[number * 10] = number
            case _:
                rows |= {(number - 1) * 10: number, number * 10: number}
    return rows


def run(path: str, first: int) -> None:
    """Apply steps and report each one, until killed."""
    table = frazil.load_table(path)
    print("begin", flush=True)  # noqa: T201 - read by the test
    for number in range(first, sys.maxsize):
        step(table, number)
        print(number, flush=True)  # noqa: T201 - read by the test


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_killed_writer_leaves_the_table_before_or_after_its_change(tmp_path: Path, mode: str) -> None:
    path = str(tmp_path / "t")
    modes = {f"write.{operation}.mode": mode for operation in ("delete", "merge")}
    frazil.create_table(path, SCHEMA, format_version=3, properties=modes)
    chance = random.Random(4711)  # noqa: S311 - moments to kill at
    done = 0
    for kill in range(KILLS):
        command = [sys.executable, __file__, path, str(done)]
        # The script imports modules next to its folder.
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
            assert process.stdout is not None
            assert process.stdout.readline() == "begin\n"
            # The last process has made a change before it is killed, even on a slow machine.
            first = process.stdout.readline() if kill == KILLS - 1 else ""
            time.sleep(chance.uniform(0.0, 0.7))
            process.send_signal(signal.SIGKILL)
            acknowledged = (first + process.stdout.read()).split()
        done = int(acknowledged[-1]) + 1 if acknowledged else done
        rows = {row["id"]: row["writer"] for row in frazil.load_table(path).scan().to_arrow().to_pylist()}
        assert rows in (expected(done), expected(done + 1))
        done += rows == expected(done + 1)
    assert done


class Interrupted:
    """A transaction whose commit is interrupted by Ctrl-C after it has taken effect."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def commit(self, attempts: Any) -> None:
        self._native.commit(attempts)
        raise KeyboardInterrupt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)


@pytest.mark.parametrize("change", ["append", "overwrite"])
def test_interrupt_after_the_commit_deletes_nothing(tmp_path: Path, change: str) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA)
    begin = StagedTable.__init__

    def interrupted(self: StagedTable, changes: Any, *arguments: Any) -> None:
        begin(self, Interrupted(changes), *arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StagedTable, "__init__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            getattr(table, change)([{"id": 1, "writer": 1}])
    assert frazil.load_table(tmp_path / "t").scan().to_arrow()["id"].to_pylist() == [1]


class Beaten:
    """A transaction whose commit loses to concurrent writers."""

    def __init__(self, native: Any, meanwhile: Callable[[], Any]) -> None:
        self._native, self._meanwhile = native, meanwhile

    def commit(self, _: Any) -> Any:
        self._native.abort()
        self._meanwhile()
        raise CommitConflictError("others were first")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)


class Overtaken(Beaten):
    """A transaction that loses to writers that commit when its own commit begins."""

    def commit(self, attempts: Any) -> Any:
        # Other writers on this machine would wait for the turn that an attempt holds after a conflict.
        attempts.end_turn()
        self._meanwhile()
        return self._native.commit(attempts)


@contextlib.contextmanager
def beaten(meanwhile: Callable[[], Any], times: int = 1, how: type[Beaten] = Beaten) -> Iterator[None]:
    """Let other writers commit before each of the first commits of a change."""
    begin, left = StagedTable.__init__, times

    def others() -> None:
        nonlocal left
        # Commits of these other writers are not delayed.
        kept, left = left, 0
        meanwhile()
        left = kept

    def init(self: StagedTable, changes: Any, *arguments: Any) -> None:
        nonlocal left
        begin(self, how(changes, others) if left else changes, *arguments)  # type: ignore[arg-type]
        left = max(0, left - 1)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StagedTable, "__init__", init)
        yield


@pytest.mark.parametrize("change", ["append", "overwrite", "dynamic_partition_overwrite", "upsert"])
def test_streamed_rows_are_committed_after_a_conflict(tmp_path: Path, change: str) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, partition_by=["writer"])
    rows = pa.table({"id": pa.array([1, 2]), "writer": pa.array([1, 1])}).to_reader()
    with beaten(lambda: None):
        done = getattr(table, change)(rows, *([["id"]] if change == "upsert" else []))
    assert (done.added_records, done.attempts) == (2, 2)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    # Files are rewritten only if rows are merged again.
    assert len(list((tmp_path / "t" / "data").rglob("*.parquet"))) == 1


@pytest.mark.parametrize(
    ("key", "value", "attempts"), [("commit.retry.num-retries", "1", 2), ("commit.retry.total-timeout-ms", "0", 1)]
)
def test_a_change_is_made_again_as_often_as_the_table_says(tmp_path: Path, key: str, value: str, attempts: int) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties={key: value})
    made = []
    with beaten(lambda: made.append(1), times=3), pytest.raises(CommitConflictError, match="others were first"):
        table.append([{"id": 1, "writer": 1}])
    assert len(made) == attempts


@pytest.mark.parametrize(("retries", "attempts"), [("1", 2), ("2", 3), ("3", 4), ("4", 5)])
def test_attempts_are_counted_over_all_commits_of_a_change(tmp_path: Path, retries: str, attempts: int) -> None:
    """Each commit conflicts with the rows of another writer and is planned again, as the next attempt."""
    properties = {"commit.retry.num-retries": retries, "commit.retry.min-wait-ms": "1"}
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties=properties)
    table.append([{"id": 1, "writer": 1}, {"id": 2, "writer": 1}])

    def meanwhile() -> None:
        with frazil.load_table(tmp_path / "t").transaction() as others:
            others.append([{"id": 1, "writer": 2}])

    with beaten(meanwhile, times=9, how=Overtaken), pytest.raises(CommitConflictError) as refused:
        table.delete("id = 1")
    assert refused.value.context["attempts"] == str(attempts)
    assert table.refresh().scan().count() == 2 + attempts
    if attempts == 5:
        with beaten(meanwhile, times=4, how=Overtaken):
            assert table.delete("id = 1").attempts == attempts
        assert table.scan().to_arrow()["id"].to_pylist() == [2]


@pytest.mark.parametrize("change", ["append", "delete"])
def test_waits_are_those_that_the_table_asks_for(tmp_path: Path, change: str) -> None:
    properties = {"commit.retry.min-wait-ms": "700", "commit.retry.max-wait-ms": "700"}
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties=properties)
    table.append([{"id": 1, "writer": 1}])
    with beaten(lambda: None):
        done = table.append([{"id": 2, "writer": 1}]) if change == "append" else table.delete("id = 1")
    assert done.attempts == 2
    assert done.seconds >= 0.35, "a wait is at least half of its limit"
    table.set_properties({"commit.retry.min-wait-ms": "20000", "commit.retry.max-wait-ms": "20000"})
    table.set_properties({"commit.retry.min-wait-ms": "0"})
    with beaten(lambda: None, times=4):
        assert table.append([{"id": 3, "writer": 1}]).seconds < 40, "four waits of at least ten seconds"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT")
def test_a_wait_for_the_next_attempt_is_interrupted(tmp_path: Path) -> None:
    properties = {"commit.retry.min-wait-ms": "60000", "commit.retry.max-wait-ms": "60000"}
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties=properties)
    began = time.perf_counter()

    def meanwhile() -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    with beaten(meanwhile), pytest.raises(KeyboardInterrupt):
        table.append([{"id": 1, "writer": 1}])
    assert time.perf_counter() - began < 30, "the wait is at least half of a minute"
    assert not list((tmp_path / "t" / "data").rglob("*.parquet"))
    assert table.refresh().scan().count() == 0


def test_partitions_of_a_spec_that_others_changed_are_not_replaced_in_silence(tmp_path: Path) -> None:
    properties = {"commit.retry.num-retries": "1"}
    table = frazil.create_table(tmp_path / "t", SCHEMA, partition_by=["writer"], properties=properties)
    table.append([{"id": 1, "writer": 1}])
    with (
        beaten(lambda: frazil.load_table(tmp_path / "t").update_spec().add_field("bucket(4, id)").commit()),
        pytest.raises(CommitConflictError, match="the partition spec changed"),
    ):
        table.dynamic_partition_overwrite([{"id": 2, "writer": 1}])
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [1]
    assert len(list((tmp_path / "t" / "data").rglob("*.parquet"))) == 1
    with pytest.raises(CommitValidationError, match="of partition spec 0 may have rows of the replaced partitions"):
        table.dynamic_partition_overwrite([{"id": 2, "writer": 1}])
    assert table.refresh().scan().count() == 1


def test_seconds_are_those_of_writing_too(tmp_path: Path) -> None:
    def slow() -> Iterator[list[dict[str, int]]]:
        time.sleep(0.2)
        yield [{"id": 1, "writer": 1}]

    table = frazil.create_table(tmp_path / "t", SCHEMA)
    for change in (table.append, table.overwrite, table.dynamic_partition_overwrite):
        assert change(slow()).seconds >= 0.2  # type: ignore[operator]


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
