"""Tests of writing in executors on two hosts: no duplicate rows or extra files if attempts die, hang or are late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support.frames import rows
from support.sizes import size
from support.spark_cluster import run
from support.spark_tables import data, files, listed, make

if TYPE_CHECKING:
    from frazil.iceberg import Table

SCRIPT = Path(__file__).with_name("cluster_writes.py")
CASES = ["write-slow", "merge-worker", "save-job"]
if size("FRAZIL_SAMPLES"):
    CASES += ["update-slow", "save-slow", "save-worker", "write-job"]
LAST = "write-executor"
"""The case that runs last, because it takes some seconds until the executor is restarted."""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    top = tmp_path_factory.mktemp("cluster")
    for case in (*CASES, LAST):
        (top / case).mkdir()
    return top, run(SCRIPT, str(top), *CASES, LAST)


def expected(folder: Path, verb: str) -> Table:
    """Return the table as it is if no attempt fails."""
    table = make(folder, "bucketed")
    table.append(data(0, 60 if verb in ("update", "merge") else 200))
    if verb == "update":
        table.update({"c": "concat('u', c)"})
    if verb == "merge":
        table.merge(data(40, 12), ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    return table


def attempts(folder: Path, did: str = "began") -> list[tuple[int, str]]:
    """Return the recorded attempts at task 0: their numbers and executors."""
    notes = sorted((folder / "notes").glob(f"{did}-0-*"))
    return [(int(note.name.split("-")[2]), note.read_text()) for note in notes]


@pytest.mark.spark
@pytest.mark.parametrize("case", [*CASES, LAST])
def test_each_row_is_there_once_and_no_file_too_many(
    done: tuple[Path, dict[str, Any]], tmp_path: Path, case: str
) -> None:
    top, found = done
    folder, (verb, trouble) = top / case, case.split("-")
    table = frazil.load_table(folder / "t")
    assert isinstance(table, frazil.iceberg.Table)
    assert files(folder / "t") == listed(table, folder / "t")
    if trouble == "job":
        assert "never works" in found[case]["error"]
        assert table.snapshots() == []
        # A task was still writing after the job had failed.
        assert list((folder / "notes").glob("wrote-1-*"))
        return
    assert found[case]["error"] == ""
    assert rows(table.scan().to_arrow()) == rows(expected(tmp_path / "t", verb).scan().to_arrow())
    began = attempts(folder)
    if trouble == "slow":
        # A copy ran on the other host, and the first attempt continued to write after the copy had won.
        assert {number for number, _ in began} == {0, 1}
        assert len({executor for _, executor in began}) == 2
        assert {number for number, _ in attempts(folder, "wrote")} == {0, 1}
        # The commit waits as long as the settings let a killed worker live.
        told = [path.name for path in (folder / "notes").glob("lingers-*")]
        assert told == ([] if verb == "update" else ["lingers-9"])
    if trouble == "worker":
        # The failed attempt was the only one at that time: a copy would have won without knowing of other attempts.
        assert [number for number, _ in began] == [0, 1]
        assert [number for number, _ in attempts(folder, "wrote")] == [1]
    if trouble == "executor":
        # The stage was repeated, and its attempts were numbered from 0 again.
        assert [number for number, _ in began].count(0) == 2
