"""Tests of reading in executors: separate processes that may die."""

from __future__ import annotations

from pathlib import Path

import pytest

import frazil
from support.spark_cluster import run

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "iceberg"


@pytest.mark.spark
@pytest.mark.parametrize("name", ["fmt_mixed"])
def test_executors_read_each_file_once_though_a_worker_dies(name: str) -> None:
    path = str(GOLDEN / name)
    # A separate session, because the one of the other tests runs in this process.
    found = run(HERE / "cluster_job.py", path)

    rows = frazil.load_table(path).scan(selected_fields=("_file", "_pos")).to_arrow().to_pylist()
    assert sorted(map(tuple, found["rows"])) == sorted((row["_file"], row["_pos"]) for row in rows)
    files = [file for files in found["files_by_partition"].values() for file in files]
    assert len(files) == len(set(files)) == len({row["_file"] for row in rows})
    assert len(found["files_by_partition"]) >= 2
    assert len(found["executors"]) >= 2
    assert found["driver"] not in found["executors"]
    # The first attempt at partition 0 killed its worker.
    assert found["attempts"]["0"] == [1]
