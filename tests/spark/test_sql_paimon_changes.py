"""Tests of DELETE, UPDATE and MERGE of Paimon tables in SQL, with expressions of Spark, compared with its queries."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import FrazilError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

COLUMNS = "id BIGINT NOT NULL, `dä y` STRING NOT NULL, n INT, name STRING, at TIMESTAMP, price DECIMAL(9, 2)"
TABLES = {
    "key": "'primary-key' = 'dä y,id', 'bucket' = '2'",
    "key without partition": "'primary-key' = 'id', 'bucket' = '-1'",
    "vectors": "'primary-key' = 'dä y,id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "append": "'target-file-size' = '1 kb'",
    "append buckets": "'bucket' = '2', 'bucket-key' = 'id'",
}
NAMES = ["NULL", "'a'", "'b'"]
CONDITIONS = [
    "upper(name) = 'A'",
    "id % 3 = 1 AND name IS NOT NULL",
    "abs(n) > 1 OR n IS NULL",
    "id IN (SELECT max(id) FROM {t} GROUP BY n)",
    "EXISTS (SELECT 1 FROM others o WHERE o.id = id AND o.name <> k.name)",
    "twice(n) = 4",
    "date_trunc('day', at) = TIMESTAMP '2024-02-29 00:00:00'",
    "price * 2 > 3.5",
    "false AND id + 0 = 1",
    "`dä y` LIKE '%é%'",
]
VALUES: list[dict[str, str]] = [
    {"name": "concat(name, '!')", "n": "n + 1"},
    {"n": "(SELECT count(*) FROM {t})"},
    {"at": "at + INTERVAL 1 HOUR", "price": "price / 3"},
    {"name": "CASE WHEN id % 2 = 0 THEN NULL ELSE upper(name) END"},
]


def cases(count: int) -> Any:
    """Return the decorator that runs a test with two of five tables for each number below `count`."""
    chosen = [
        (table, number)
        for place, table in enumerate(TABLES)
        for number in range(count)
        if (place + number) % len(TABLES) in {0, 2}
    ]
    return pytest.mark.parametrize(("lake", "number"), chosen, indirect=["lake"])


@pytest.fixture(params=TABLES)
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Lake[DataFrame]]:
    lake = frazil.spark.connect(spark, {"p": {"type": "paimon", "warehouse": str(tmp_path)}})
    options = TABLES[request.param]
    lake.sql(f"CREATE TABLE p.default.k ({COLUMNS}) USING paimon PARTITIONED BY (`dä y`) TBLPROPERTIES ({options})")
    spark.udf.register("twice", lambda number: None if number is None else 2 * number, "int")
    spark.sql("SELECT id * 2 AS id, concat('n', id) AS name FROM range(8)").createOrReplaceTempView("others")
    yield lake
    spark.catalog.dropTempView("others")


def fill(lake: Lake[DataFrame], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not a secret
    for _ in range(2):
        rows = []
        for number in chance.sample(range(20), 12):
            day, n, name = chance.choice(["x", "é", "a=b/c"]), chance.choice(["NULL", "1", "-2"]), chance.choice(NAMES)
            price, at = chance.choice(["NULL", "1.50", "2.25"]), f"2024-02-29 0{chance.randint(0, 9)}:00:00"
            rows.append(f"({number}, '{day}', {n}, {name}, TIMESTAMP '{at}', {price})")
        lake.sql(f"INSERT INTO p.default.k VALUES {', '.join(rows)}")


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def view(spark: SparkSession, lake: Lake[DataFrame]) -> DataFrame:
    """Return the rows of the table, as the view `before`."""
    found = lake.sql("SELECT * FROM p.default.k")
    before = spark.createDataFrame(found.collect(), found.schema)
    before.createOrReplaceTempView("before")
    return before


@pytest.mark.sampled(6)
@cases(len(CONDITIONS))
def test_deletes_and_updates_of_any_condition(spark: SparkSession, lake: Lake[DataFrame], number: int) -> None:
    fill(lake, number)
    condition, values = CONDITIONS[number], VALUES[number % len(VALUES)]
    ours, judged = condition.format(t="p.default.k"), condition.format(t="before")
    before = view(spark, lake)
    new = {name: f"CAST({value.format(t='before')} AS {dict(before.dtypes)[name]})" for name, value in values.items()}
    cases = {name: f"CASE WHEN {judged} THEN {value} ELSE {name} END AS {name}" for name, value in new.items()}
    columns = ", ".join(cases.get(name, f"`{name}`") for name in before.columns)
    updated = rows(spark.sql(f"SELECT {columns} FROM before AS k"))
    assignments = ", ".join(f"{name} = {value.format(t='p.default.k')}" for name, value in values.items())
    lake.sql(f"UPDATE p.default.k AS k SET {assignments} WHERE {ours}")
    assert rows(lake.sql("SELECT * FROM p.default.k")) == updated
    before = view(spark, lake)
    left = rows(spark.sql(f"SELECT * FROM before AS k WHERE NOT coalesce({judged}, false)"))
    lake.sql(f"DELETE FROM p.default.k AS k WHERE {ours}")
    assert rows(lake.sql("SELECT * FROM p.default.k")) == left
    assert lake.last is not None
    assert lake.last.deleted_rows == before.count() - len(left)


LIKE_K = """SELECT id + 10 * (id % 2) AS id, 'é' AS `dä y`, CAST(id % 3 AS INT) AS n, name,
    TIMESTAMP '2024-03-01 00:00:00' AS at, CAST(1.25 AS DECIMAL(9, 2)) AS price FROM others"""

MERGES = [
    """USING others AS s ON k.id = s.id
    WHEN MATCHED THEN UPDATE SET name = s.name, n = coalesce(k.n, 0) + s.id""",
    """USING others AS s ON k.id = s.id AND k.n > 0
    WHEN MATCHED AND s.name > 'n3' THEN DELETE
    WHEN MATCHED THEN UPDATE SET name = upper(s.name)""",
    """USING (SELECT id + 100 AS id, name FROM others) AS s ON k.id = s.id
    WHEN NOT MATCHED THEN INSERT (id, `dä y`, name) VALUES (s.id, 'new', s.name)
    WHEN NOT MATCHED BY SOURCE AND k.id % 2 = 0 THEN UPDATE SET name = 'unmatched'""",
    """USING others AS s ON k.id = s.id
    WHEN MATCHED THEN DELETE
    WHEN NOT MATCHED AND s.id > 10 THEN INSERT (id, `dä y`) VALUES (s.id + 100, 'x')""",
    """USING others AS s ON k.id = s.id + 1000
    WHEN NOT MATCHED BY SOURCE AND name IS NULL THEN DELETE""",
    """USING (SELECT id, max(name) AS name FROM p.default.k GROUP BY id) AS s ON k.id = s.id
    WHEN MATCHED AND k.id < 9 THEN UPDATE SET n = length(s.name)""",
    f"""USING ({LIKE_K}) AS s ON k.id = s.id AND s.`dä y` = k.`dä y`
    WHEN MATCHED AND s.n = 1 THEN DELETE
    WHEN MATCHED THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *""",
    f"""USING ({LIKE_K}) AS s ON (k.id = s.id AND k.`dä y` = s.`dä y`) AND k.n IS NOT NULL
    WHEN MATCHED THEN UPDATE SET k.ID = S.Id, `dä y` = s.`dä y` /* the key */, name = upper(s.name)""",
]


def test_statistics_are_recorded(spark: SparkSession, tmp_path: Path) -> None:
    lake = frazil.spark.connect(spark, {"p": {"type": "paimon", "warehouse": str(tmp_path)}})
    with lake:
        lake.sql("CREATE TABLE p.default.k (id INT, `dä y` STRING) USING paimon")
        lake.sql("INSERT INTO p.default.k VALUES (1, 'a'), (2, 'b'), (2, NULL)")
        for clause, columns in [
            ("", set()),
            ("FOR COLUMNS ID, `dä y`", {"id", "dä y"}),
            ("FOR COLUMNS id", {"id"}),
            ("FOR ALL COLUMNS", {"id", "dä y"}),
        ]:
            lake.sql(f"ANALYZE TABLE p.default.k COMPUTE STATISTICS {clause}")
            assert lake.last is not None
            (row,) = lake.table("p.default.k").inspect.statistics(snapshot_id=lake.last.snapshot_id).to_pylist()
            assert (row["mergedRecordCount"], json.loads(row["colstat"]).keys()) == (3, columns)
        for statement, problem in [
            ("ANALYZE TABLE p.default.k COMPUTE STATISTICS NOSCAN", "NOSCAN is not supported"),
            ("ANALYZE TABLE p.default.k PARTITION (id = 1) COMPUTE STATISTICS", "PARTITION is not supported"),
            ("ANALYZE TABLE p.default.k COMPUTE STATISTICS FOR COLUMNS x", "the table has no column `x`"),
            ("ANALYZE TABLE p.default.k COMPUTE", "expected COMPUTE STATISTICS"),
            ("ANALYZE TABLE p.default.`k$files` COMPUTE STATISTICS", "cannot be changed"),
            ("ANALYZE TABLES IN p.default COMPUTE STATISTICS", "ANALYZE is not supported"),
        ]:
            with pytest.raises(FrazilError, match=problem):
                lake.sql(statement)
        assert len(lake.table("p.default.k").snapshots()) == 5
        lake.sql("CREATE TABLE spark_catalog.default.analyzed (id INT, day INT) USING parquet PARTITIONED BY (day)")
        try:
            lake.sql("INSERT INTO spark_catalog.default.analyzed VALUES (1, 2)")
            for clause in ("NOSCAN", "FOR COLUMNS id"):
                lake.sql(f"ANALYZE TABLE spark_catalog.default.analyzed COMPUTE STATISTICS {clause}")
            lake.sql("ANALYZE TABLE spark_catalog.default.analyzed PARTITION (day = 2) COMPUTE STATISTICS NOSCAN")
        finally:
            lake.sql("DROP TABLE spark_catalog.default.analyzed")


@pytest.mark.sampled(5)
@cases(len(MERGES))
def test_merge(spark: SparkSession, lake: Lake[DataFrame], number: int) -> None:
    """The same statement is run on an Iceberg table, whose MERGE is compared with a model elsewhere."""
    fill(lake, 50 + number)
    before = lake.sql("SELECT * FROM p.default.k")
    warehouse = lake.table("p.default.k").location.rpartition("/default.db")[0]
    iceberg = frazil.spark.connect(spark, {"i": {"type": "hadoop", "warehouse": f"{warehouse}/iceberg"}})
    iceberg.sql(f"CREATE TABLE i.db.k ({COLUMNS}) USING iceberg")
    iceberg.sql("INSERT INTO i.db.k SELECT * FROM {before}", before=before)
    merge = MERGES[number]
    lake.sql(f"MERGE INTO p.default.k AS k {merge}")
    iceberg.sql(f"MERGE INTO i.db.k AS k {merge}".replace("p.default", "i.db"))
    assert rows(lake.sql("SELECT * FROM p.default.k")) == rows(iceberg.sql("SELECT * FROM i.db.k"))
    assert lake.last is not None
    assert iceberg.last is not None
    counts = [(one.inserted_rows, one.updated_rows, one.deleted_rows) for one in (lake.last, iceberg.last)]
    assert counts[0] == counts[1]


def test_what_is_refused_changes_nothing(lake: Lake[DataFrame]) -> None:
    fill(lake, 1)
    before = rows(lake.sql("SELECT * FROM p.default.k"))
    several = "USING (SELECT 1 AS one FROM range(2)) AS s ON k.id >= s.one"
    problems = {
        f"MERGE INTO p.default.k AS k {several} WHEN MATCHED THEN UPDATE SET n = 1": "2 rows of the source match",
        "UPDATE p.default.k SET n = upper(name)": "string cannot be assigned to int",
        "UPDATE p.default.k SET nope = n + 1": "no column `nope`",
        "DELETE FROM p.default.k WHERE upper(nope) = 'A'": "nope",
    }
    if lake.table("p.default.k").primary_keys:
        problems["UPDATE p.default.k SET id = id + 1"] = "cannot set the primary key column `id`"
        others = "MERGE INTO p.default.k AS k USING others AS s ON"
        for on, value in [("k.n = s.id", "s.id"), ("k.id = s.id + 1", "s.id"), ("k.id = s.id", "s.id + 1")]:
            merge = f"{others} {on} WHEN MATCHED THEN UPDATE SET id = {value}"
            problems[merge] = "cannot set the primary key column `id`|must compare all columns"
    else:
        problems["UPDATE p.default.k SET id = nullif(id, id)"] = "column `id` is required"
    for statement, problem in problems.items():
        with pytest.raises(Exception, match=problem):
            lake.sql(statement)
    assert rows(lake.sql("SELECT * FROM p.default.k")) == before


def test_keys_that_spark_does_not_compare_exactly_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    lake = frazil.spark.connect(spark, {"p": {"type": "paimon", "warehouse": str(tmp_path)}})
    lake.sql("CREATE TABLE p.default.f (id DOUBLE, n INT) USING paimon TBLPROPERTIES ('primary-key' = 'id')")
    with pytest.raises(UnsupportedError, match="`id` is a floating-point number"):
        lake.sql("DELETE FROM p.default.f WHERE id + 1 = 2")


def test_explain(lake: Lake[DataFrame]) -> None:
    fill(lake, 1)
    has_key = bool(lake.table("p.default.k").primary_keys)
    plan = lake.sql("EXPLAIN DELETE FROM p.default.k WHERE upper(name) = 'A'").collect()[0][0]
    assert ("Records: -D for each row" in plan) == has_key
    assert ("Rewrites: the data files with matching rows" in plan) == (not has_key)
    merge = "USING others AS s ON k.id = s.id WHEN MATCHED THEN DELETE"
    assert "MERGE of the rows" in lake.sql(f"EXPLAIN MERGE INTO p.default.k AS k {merge}").collect()[0][0]


def test_rows_of_a_branch_are_changed(lake: Lake[DataFrame]) -> None:
    fill(lake, 3)
    before = rows(lake.sql("SELECT * FROM p.default.k"))
    lake.table("p.default.k").manage_snapshots().create_tag(None, "v").create_branch("v", "b").commit()
    lake.sql(
        "UPDATE p.default.`k$branch_b` AS b SET name = concat('b', (SELECT count(*) FROM p.default.k)) WHERE n + 1 > 0"
    )
    lake.sql("DELETE FROM p.default.`k$branch_b` WHERE n + 1 <= 0")
    assert rows(lake.sql("SELECT * FROM p.default.k")) == before
    expected = [(*row[:3], f"b{len(before)}", *row[4:]) if row[2] == 1 else row for row in before if row[2] != -2]
    assert rows(lake.sql("SELECT * FROM p.default.`k$branch_b`")) == sorted(expected, key=repr)
