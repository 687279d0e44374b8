"""Tests that Ctrl-C interrupts every operation within a second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import frazil
from support.cases import GOLDEN
from support.copies import Copy, live

if TYPE_CHECKING:
    from pathlib import Path

TABLE = str(GOLDEN / "iceberg" / "pevo_v2_three_specs")

SLOW_FILES = """
import sys, time
import frazil
from frazil.files.read.parquet import ParquetFile
original = ParquetFile.batches
def slow(self, wanted, selected):
    time.sleep(0.3)
    yield from original(self, wanted, selected)
ParquetFile.batches = slow
frazil.config.max_workers = WORKERS
table = frazil.load_table(sys.argv[1])
print("ready", flush=True)
table.scan().to_arrow()
print("finished", flush=True)
"""

PLANNING = """
import sys
import frazil
table = frazil.load_table(sys.argv[1])
print("ready", flush=True)
while True:
    table.scan("id > 3").plan()
"""


def interrupt(script: str, table: str) -> str:
    """Send SIGINT to a script half a second after it is ready, and return its output."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script, table],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONFAULTHANDLER": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=20)
            return output
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT between processes")
@pytest.mark.parametrize("workers", [1, 4])
def test_a_long_read_is_interrupted(workers: int) -> None:
    output = interrupt(SLOW_FILES.replace("WORKERS", str(workers)), TABLE)
    assert "KeyboardInterrupt" in output
    assert "finished" not in output


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT between processes")
def test_a_long_planning_is_interrupted(tmp_path: Path) -> None:
    copy = Copy("del_pos_overlap", tmp_path)

    def multiply(entries: list[dict[str, object]]) -> None:
        template = live(entries)
        file = template["data_file"]
        entries.clear()
        entries.extend(
            template | {"data_file": file | {"file_path": f"{copy.location}/data/{number}.parquet"}}
            for number in range(20_000)
        )

    copy.edit_manifest(multiply)
    output = interrupt(PLANNING, str(copy.root))
    assert "KeyboardInterrupt" in output


COMPACTION = """
import sys
import time
import frazil
from frazil.files.read.parquet import ParquetFile
original = ParquetFile.batches
def slow(*arguments):
    time.sleep(0.2)
    yield from original(*arguments)
ParquetFile.batches = slow
frazil.config.max_workers = WORKERS
table = frazil.load_table(sys.argv[1])
print("ready", flush=True)
CALL
print("finished", flush=True)
"""
CALLS = {"none": "table.compact()", "lookup": "table.append([{'id': id_, 'name': 'y'} for id_ in range(32)])"}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT between processes")
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("producer", CALLS)
def test_a_compaction_is_interrupted_and_leaves_nothing(tmp_path: Path, workers: int, producer: str) -> None:
    options = {"bucket": "8", "num-sorted-run.compaction-trigger": "100", "changelog-producer": producer}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    table = frazil.create_table(tmp_path / "t", schema, format="paimon", primary_keys=["id"], options=options)
    for start in range(0, 64, 16):
        table.append([{"id": start + id_, "name": "x"} for id_ in range(32)])
    rows, files = table.scan().to_arrow().sort_by("id"), {path for path in tmp_path.rglob("*") if path.is_file()}
    script = COMPACTION.replace("WORKERS", str(workers)).replace("CALL", CALLS[producer])
    output = interrupt(script, str(tmp_path / "t"))
    assert "KeyboardInterrupt" in output
    assert "finished" not in output
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == files
    table.compact()
    assert table.scan().to_arrow().sort_by("id") == rows
