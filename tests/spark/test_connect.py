"""Tests that Spark Connect, whose session has no local JVM, returns the same rows by the same functions."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import frazil
from support import walk_through
from support.frames import rows
from support.spark_cluster import run
from support.spark_tables import data, files, listed, make

HERE = Path(__file__).parent
PAIMON = HERE.parent / "golden" / "paimon" / "g.db" / "cl_lookup_avro"


@pytest.mark.spark
@pytest.mark.skipif(find_spec("grpc") is None, reason="needs the packages of pyspark[connect]")
def test_a_client_reads_and_writes_as_a_session_does(tmp_path: Path) -> None:
    folder, twin = tmp_path / "spark", make(tmp_path / "local", "bucketed")
    table = make(folder, "bucketed")
    found = run(HERE / "connect_job.py", str(folder), str(PAIMON))
    assert "connect" in found["connected"]

    twin.append(data(0, 60))
    twin.dynamic_partition_overwrite(data(40, 25))
    twin.overwrite(data(70, 9), "id > 50 or id is null")
    twin.delete("id in (41, 42)")
    twin.update({"c": "concat('u', c)", "x": 1.5}, "id between 10 and 44")
    twin.merge(data(43, 3), ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    twin.append(data(90, 5))
    expected = rows(twin.scan().to_arrow())
    assert rows(table.refresh().scan().to_arrow()) == expected
    assert found["by_the_source"] == found["by_the_function"] == expected
    assert found["some"] == rows(twin.scan("id > 50", ["id"]).to_arrow())
    paimon = frazil.load_table(PAIMON)
    assert found["paimon"] == paimon.scan().count()
    # Including the bucket of NULL.
    assert found["buckets"] == 5
    assert "never works" in found["failed"]
    assert found["misfit"].startswith("InvalidArgumentError: no column `colour`")
    assert files(folder) == listed(table.refresh(), folder)


@pytest.mark.spark
@pytest.mark.skipif(find_spec("grpc") is None, reason="needs the packages of pyspark[connect]")
def test_a_client_runs_statements_of_spark_sql(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    found = run(HERE / "connect_sql_job.py", str(warehouse))
    assert "connect" in found["connected"]
    walk_through.check(found, warehouse)
    assert found["described"] == [["id", "bigint", ""], ["data", "string", ""]]
    # A temporary view takes precedence over a table in the current namespace.
    assert found["view"] == 3
    assert found["joined"] == ["a", "b"]
    assert found["rejected"] == (
        "PARTITION is not supported for TRUNCATE TABLE (line 1, column 33); "
        "write DELETE FROM with a condition on the partition columns"
    )
    assert found["merged"] == [["a", 1], ["b", 6], ["merged", 2]]
    assert found["deleted"] == 1
    assert found["copied"] == [["a", 1], ["b", 5], ["b", 6]]
    assert found["plan"]
    assert found["paimon"] == [1000, 499500]
