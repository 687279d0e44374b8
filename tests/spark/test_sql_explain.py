"""Tests of EXPLAIN of statements that change rows in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError
from frazil.spark import _sql_row_changes
from support.sql_row_tables import contents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# The statement, and what the plan contains.
FILTERS = {
    "DELETE FROM lake.db.t WHERE id = 1": ["DELETE of the rows that match a filter", '"id" = 1', "1 of 2 files"],
    "DELETE FROM lake.db.t": ["DELETE of all files, without reading them", "Runs in: this process"],
    "TRUNCATE TABLE lake.db.t": ["DELETE of all files, without reading them"],
    "UPDATE lake.db.t SET name = 'x' WHERE id > 1": ["Value of column `name`: 'x'", "Mode: copy-on-write"],
    "UPDATE lake.db.t.branch_b SET name = 'x'": ["Filter: true", "2 of 2 files"],
}
QUERIES = {
    "DELETE FROM lake.db.t WHERE id + 0 = 1 AND id < 5": ['Conflict filter: ("id" < 5)', "merge-on-read"],
    "WITH c AS (SELECT 1 AS i) DELETE FROM lake.db.t WHERE id IN (SELECT i FROM c)": ["Conflict filter: none"],
    "UPDATE lake.db.t SET name = upper(name)": ["UPDATE of the rows that a query of Spark selects", "upper(name)"],
    "MERGE INTO lake.db.t t USING lake.db.u s ON t.id = s.id WHEN MATCHED THEN DELETE": ["MERGE", "INNER JOIN"],
    "UPDATE lake.db.t SET name = :name || '{}' WHERE id = 1": ["|| '{}'"],
}


def test_plans_of_changes(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = frazil.spark.connect(spark, {"lake": {"type": "hadoop", "warehouse": str(tmp_path)}})
    lake.script(
        """
        CREATE TABLE lake.db.t (id BIGINT, name STRING) TBLPROPERTIES ('write.delete.mode' = 'merge-on-read');
        INSERT INTO lake.db.t VALUES (1, 'a');
        INSERT INTO lake.db.t VALUES (2, 'b');
        CREATE TABLE lake.db.u (id BIGINT);
        ALTER TABLE lake.db.t CREATE BRANCH b
        """
    )
    before, last = contents(tmp_path), lake.last
    for mode in ("", "EXTENDED"):
        for statement, expected in {**FILTERS, **QUERIES}.items():
            result = lake.sql(f"EXPLAIN {mode} {statement}", {"name": "x"})
            assert result.dtypes == [("plan", "string")]
            [[plan]] = result.collect()
            assert all(part in plan for part in expected), (statement, plan)
            is_query = statement in QUERIES
            assert ("Query: " in plan, "Physical Plan" in plan) == (is_query, is_query), plan
            assert "Runs in: this process" in plan
    monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0)
    for statement in ("UPDATE lake.db.t SET id = 1", "UPDATE lake.db.t SET id = id + 1"):
        [[plan]] = lake.sql(f"EXPLAIN {statement}").collect()
        assert "Runs in: the workers of Spark" in plan
    for statement in (
        "DELETE FROM lake.db.t WHRE id = 1",
        "UPDATE lake.db.t SET nope = 1",
        "UPDATE lake.db.t SET id = TIMESTAMP'2024-01-01 00:00:00'",
        "TRUNCATE TABLE lake.db.no",
    ):
        with pytest.raises(FrazilError, match="line 1, column"):
            lake.sql(f"EXPLAIN {statement}")
    assert (contents(tmp_path), lake.last) == (before, last)
    spark.sql("SELECT 1 AS id").createOrReplaceTempView("explained")
    # Spark explains the statement.
    assert lake.sql("EXPLAIN DELETE FROM explained").columns == ["plan"]
    assert spark.table("explained").count() == 1
    spark.catalog.dropTempView("explained")


SUBQUERIES = {
    "WHEN NOT MATCHED AND EXISTS (SELECT 1 FROM lake.db.u WHERE only_t = i) THEN INSERT (id) VALUES (i)": "only_t",
    "WHEN NOT MATCHED THEN INSERT (id) VALUES ((SELECT max(x) + only_t FROM lake.db.u))": "only_t",
    "WHEN NOT MATCHED BY SOURCE AND EXISTS (SELECT 1 FROM lake.db.u WHERE x = only_s) THEN DELETE": "only_s",
    "WHEN NOT MATCHED BY SOURCE AND (SELECT max(x) FROM lake.db.u WHERE s.f = x) = 1 THEN DELETE": "s.f",
}


def test_names_in_subqueries_of_clauses_for_unmatched_rows(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    lake = frazil.spark.connect(spark, {"lake": {"type": "hadoop", "warehouse": str(tmp_path)}})
    lake.script(
        """
        CREATE TABLE lake.db.t (id BIGINT, only_t BIGINT, s STRUCT<f: BIGINT>);
        INSERT INTO lake.db.t VALUES (1, 1, named_struct('f', 5));
        CREATE TABLE lake.db.u (x BIGINT);
        INSERT INTO lake.db.u VALUES (1), (7)
        """
    )
    head = "MERGE INTO lake.db.t AS t USING (SELECT 9L AS i, 7L AS only_s, 1L AS f) AS s ON t.id = i "
    before = contents(tmp_path)
    for clause, name in SUBQUERIES.items():
        with pytest.raises((PySparkException, InvalidArgumentError)) as error:
            lake.sql(head + clause)
        assert name.rpartition(".")[2] in str(error.value), clause
    assert contents(tmp_path) == before
    lake.sql(
        head + "WHEN NOT MATCHED AND EXISTS (SELECT 1 FROM lake.db.u WHERE x = only_s) "
        "THEN INSERT (id, only_t) VALUES ((SELECT max(only_t) FROM lake.db.t) + i, (SELECT max(x) FROM lake.db.u)) "
        "WHEN NOT MATCHED BY SOURCE AND id IN (SELECT x FROM lake.db.u WHERE x = only_t) THEN UPDATE SET s.f = 6"
    )
    found = lake.table("lake.db.t").scan().to_arrow().to_pylist()
    assert sorted((one["id"], one["only_t"], one["s"] and one["s"]["f"]) for one in found) == [(1, 1, 6), (10, 7, None)]
