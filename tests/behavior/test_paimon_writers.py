"""Tests of concurrent and killed writers of Paimon tables: no row is lost or duplicated.

`FRAZIL_WRITERS` sets the number of writing processes, `FRAZIL_KILLS` the number of killed ones; `make faults` runs all.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import random
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support.paimon_files import HINTS, branch_root, files_in, files_known, make_branch
from support.sizes import size

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

WRITERS = size("FRAZIL_WRITERS")
COMMITS = 25 if WRITERS > 4 else 10
KILLS = size("FRAZIL_KILLS")

APPEND_TABLE: dict[str, Any] = {}
BUCKETS: dict[str, Any] = {"options": {"bucket": 2, "bucket-key": "id", "compaction.min.file-num": 3}}
KEYED: dict[str, Any] = {"options": {"bucket": 2}, "primary_keys": ["id"]}
DYNAMIC: dict[str, Any] = {"options": {"dynamic-bucket.target-row-num": 1000}, "primary_keys": ["id"]}
KINDS = {
    "append table": APPEND_TABLE,
    "buckets that are compacted": BUCKETS,
    "keys": KEYED,
    "dynamic buckets": DYNAMIC,
}


def create(folder: Path, kind: str, branch: str = "main", **options: Any) -> Table:
    made_of = {**KINDS[kind], "options": {**KINDS[kind].get("options", {}), **options}}
    table: Any = frazil.create_table(folder / "t", {"id": "BIGINT NOT NULL", "n": "INT"}, format="paimon", **made_of)
    return table if branch == "main" else make_branch(table, branch)


def rows(table: Table) -> list[tuple[int, int]]:
    return sorted((row["id"], row["n"]) for row in table.scan().to_arrow().to_pylist())


def key(writer: int, commit: int) -> int:
    return writer * 1_000 + commit


def write(folder: str, branch: str, writer: int, problems: multiprocessing.Queue[str | None]) -> None:
    try:
        opened: Any = frazil.load_table(folder, format="paimon")
        table = opened.with_branch(branch)
        for i in range(COMMITS):
            # If the table has keys, the last row updates a row of the same writer.
            table.append([{"id": key(writer, i), "n": i}, {"id": key(writer, 999), "n": i}])
        problems.put(None)
    except BaseException as error:  # noqa: BLE001 - told to the test
        problems.put(repr(error))


@pytest.mark.parametrize(
    ("kind", "branch"), [*((kind, "main") for kind in KINDS), ("append table", "b"), ("keys", "b")]
)
def test_processes_at_the_same_time_lose_and_double_nothing(tmp_path: Path, kind: str, branch: str) -> None:
    table = create(tmp_path, kind, branch)
    context = multiprocessing.get_context("spawn")
    problems: multiprocessing.Queue[str | None] = context.Queue()
    processes = [
        context.Process(target=write, args=(table.location, branch, writer, problems)) for writer in range(WRITERS)
    ]
    for process in processes:
        process.start()
    assert [problems.get() for _ in processes] == [None] * WRITERS
    for process in processes:
        process.join()
    has_keys = "primary_keys" in KINDS[kind]
    kept = [COMMITS - 1] if has_keys else range(COMMITS)
    expected = [(key(writer, i), i) for writer in range(WRITERS) for i in range(COMMITS)]
    expected += [(key(writer, 999), i) for writer in range(WRITERS) for i in kept]
    assert rows(table) == sorted(expected)
    snapshots = table.snapshots()
    assert [snapshot.snapshot_id for snapshot in snapshots] == list(range(1, len(snapshots) + 1))
    kinds = [snapshot.operation for snapshot in snapshots]
    assert kinds.count("append") == WRITERS * COMMITS
    assert ("compact" in kinds) == (kind != "append table")
    if not has_keys:
        counts = [snapshot.total_record_count for snapshot in snapshots]
        assert counts == [2 * kinds[:number].count("append") for number in range(1, len(kinds) + 1)]
    # Failed compactions have deleted their files.
    hints = {branch_root(branch) + name for name in HINTS}
    assert files_in(table) - hints == files_known(table) | {"schema/schema-0"}


ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence field": {"sequence.field": "at"},
    "sequence field, descending": {"sequence.field": "at", "sequence.field.sort-order": "descending"},
    "partial-update": {"merge-engine": "partial-update"},
    "sequence group": {"merge-engine": "partial-update", "fields.at.sequence-group": "n"},
    "aggregation": {"merge-engine": "aggregation", "fields.n.aggregate-function": "last_value"},
    "first_value": {"merge-engine": "aggregation", "fields.n.aggregate-function": "first_value"},
    "listagg": {"merge-engine": "aggregation", "fields.s.aggregate-function": "listagg"},
}


def write_at_once(table: Table, batches: list[list[dict[str, Any]]]) -> None:
    """Append as several writers whose plans are based on the same snapshot."""
    gate = threading.Barrier(len(batches))

    def append(rows: list[dict[str, Any]]) -> None:
        opened: Any = frazil.load_table(table.location, format="paimon")
        gate.wait()
        opened.append(rows)

    with concurrent.futures.ThreadPoolExecutor(len(batches)) as pool:
        list(pool.map(append, batches))


@pytest.mark.parametrize("key", ["INT NOT NULL", "DOUBLE NOT NULL", "STRING NOT NULL"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_compaction_keeps_the_rows_of_writers_with_equal_sequence_numbers(
    tmp_path: Path, engine: str, key: str
) -> None:
    columns = [("k", key), ("at", "INT"), ("n", "INT"), ("s", "STRING")]
    options = {"bucket": 1, "write-only": "true"} | ENGINES[engine]
    table: Any = frazil.create_table(tmp_path / "t", columns, format="paimon", primary_keys=["k"], options=options)
    value = str if key.startswith("STRING") else int
    for round_ in range(4):
        # The writers also write different keys, so that their files begin and end at different keys.
        batches = [
            [{"k": value(k), "at": round_, "n": 100 * round_ + i, "s": f"{round_}{i}"} for k in (i, 5, 6 + i, 9)]
            for i in range(4)
        ]
        write_at_once(table, batches)
        table = table.refresh()
        before = sorted(map(str, table.scan().to_arrow().to_pylist()))
        quoted = [str(value(k)) if key != "STRING NOT NULL" else f"'{k}'" for k in range(10)]
        found = [table.scan(f"k = {k}").to_arrow().to_pylist() for k in quoted]
        assert sorted(str(row) for rows_ in found for row in rows_) == before
        table.compact(full=True)
        assert sorted(map(str, table.refresh().scan().to_arrow().to_pylist())) == before


LOAD = """
import sys, frazil
table = frazil.load_table(sys.argv[1], format="paimon").with_branch(sys.argv[3])
for number in range(int(sys.argv[2]), 1 << 30):
"""
APPENDS = """
    table.append([{"id": number * 10 + i, "n": number} for i in range(10)])
    print(number, flush=True)
"""
COMPACTS = """
    table.compact()
"""
TRIGGER = {"bucket": 1, "num-sorted-run.compaction-trigger": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "branch", "script", "options"),
    [
        ("append table", "main", APPENDS, {}),
        ("append table", "main", APPENDS + COMPACTS, {}),
        ("append table", "b", APPENDS + COMPACTS, {}),
        ("keys", "main", APPENDS, TRIGGER),
        ("keys", "b", APPENDS, TRIGGER),
        ("keys", "main", APPENDS + COMPACTS, {"write-only": "true"}),
        ("dynamic buckets", "main", APPENDS, {"dynamic-bucket.target-row-num": 15}),
    ],
    ids=[
        "append",
        "compact",
        "compact of a branch",
        "upsert that compacts",
        "upsert to a branch that compacts",
        "compact with keys",
        "upsert to dynamic buckets",
    ],
)
def test_a_writer_that_is_killed_leaves_the_table_before_or_after(
    tmp_path: Path, kind: str, branch: str, script: str, options: dict[str, Any]
) -> None:
    table = create(tmp_path, kind, branch, **options)
    seeded = random.Random(7)  # noqa: S311 - not a secret
    done = 0
    for _ in range(KILLS):
        process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", LOAD + script, table.location, str(done), branch],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        told = [int(process.stdout.readline())]
        time.sleep(seeded.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout.read().splitlines() if line]
        process.wait()
        found = rows(table)
        assert found == [(number, number // 10) for number in range(len(found))]
        assert len(found) % 10 == 0
        # Acknowledged rows exist; the append after them may exist too.
        assert len(found) // 10 - told[-1] - 1 in (0, 1)
        done = len(found) // 10
    newest = table.current_snapshot()
    assert newest is not None
    assert newest.total_record_count == done * 10
    assert files_known(table) <= files_in(table)
    # A later writer compacts the files of all writers.
    table.compact()
    assert rows(table) == found
