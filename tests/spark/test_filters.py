from __future__ import annotations

import datetime as dt
import decimal
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import datasource as ds

import frazil
from frazil.spark._filters import sql
from frazil.spark._source import FrazilDataSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
NOON = dt.datetime(2024, 1, 2, 12, microsecond=6, tzinfo=dt.UTC)
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.mark.parametrize(
    ("pushed", "text"),
    [
        (ds.EqualTo(("a",), 1), '"a" = 1'),
        (ds.EqualTo(("s", "x.y"), value=True), '"s"."x.y" = true'),
        (ds.EqualNullSafe(("a",), 1), '("a" is not null and "a" = 1)'),
        (ds.EqualTo(('a"b',), "it's"), "\"a\"\"b\" = 'it''s'"),
        (ds.LessThan(("a",), -1.5), '"a" < -1.5'),
        (ds.GreaterThanOrEqual(("a",), decimal.Decimal("1E+3")), '"a" >= 1000'),
        (ds.LessThanOrEqual(("a",), dt.date(1, 1, 1)), "\"a\" <= DATE '0001-01-01'"),
        (
            ds.GreaterThan(("a",), NOON),
            "\"a\" > TIMESTAMP '2024-01-02T12:00:00.000006+00:00'",
        ),
        (ds.In(("a",), [1, 2]), '"a" in (1, 2)'),
        (ds.In(("a",), (b"\x00\xff",)), "\"a\" in (X'00ff')"),
        (ds.IsNull(("a",)), '"a" is null'),
        (ds.Not(ds.IsNotNull(("a",))), 'not ("a" is not null)'),
        (ds.StringStartsWith(("a",), "5%_\\"), "\"a\" like '5\\%\\_\\\\%'"),
        (ds.StringEndsWith(("a",), "x"), "\"a\" like '%x'"),
        (ds.StringContains(("a",), "x"), "\"a\" like '%x%'"),
        (ds.EqualTo(("a",), float("nan")), None),
        (ds.EqualTo(("a",), None), None),
        (ds.In(("a",), [1, None]), None),
        (ds.In(("a",), []), None),
        (ds.Not(ds.EqualTo(("a",), object())), None),
    ],
)
def test_a_filter_has_a_form_in_sql_or_none(pushed: Any, text: str | None) -> None:
    assert sql(pushed) == text


def shipped(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - as Spark does


def reader(path: str, **options: str) -> Any:
    sizes = {"split-size": "1", "file-open-cost": "1", "pushdown": "true"}
    source = shipped(FrazilDataSource({"path": path} | sizes | options))
    return source.reader(source.schema())


def rows(made: Any) -> list[dict[str, Any]]:
    there = shipped(made)
    return [row for part in made.partitions() for batch in there.read(part) for row in batch.to_pylist()]


def count(made: Any) -> int:
    return len(rows(made))


def test_pushed_filters_prune_files_and_rows_and_are_given_back(table: Callable[[str], str]) -> None:
    path = table("pevo_v2_three_specs")
    made, whole = reader(path), reader(path)
    filters = [ds.GreaterThan(("id",), 50), ds.EqualTo(("nope",), 1), ds.EqualTo(("id",), "text")]
    assert made.pushFilters(filters) is filters
    assert len(made.partitions()) < len(whole.partitions())
    assert count(made) == frazil.load_table(path).scan("id > 50").count()
    assert count(whole) == frazil.load_table(path).scan().count()


def test_a_plan_without_files_has_no_rows(table: Callable[[str], str]) -> None:
    made = reader(table("empty_table"))
    assert made.partitions() == []
    assert [list(made.read(partition)) for partition in (None, ds.InputPartition(None))] == [[], []]


def test_filters_are_not_pushed_below_a_limit(table: Callable[[str], str]) -> None:
    path = table("pevo_v2_three_specs")
    made = reader(path, limit="5")
    made.pushFilters([ds.GreaterThan(("id",), 50)])
    assert count(made) == 5


def test_columns_and_limits_can_be_pushed(table: Callable[[str], str]) -> None:
    path = table("pevo_v2_three_specs")
    made = reader(path)
    schema = type(FrazilDataSource({"path": path}).schema())([made._schema["id"]])
    assert made.pruneColumns(schema) == schema
    assert made.pushLimit(3) is True
    partitions = made.partitions()
    assert len(partitions) == 1
    batches = list(made.read(partitions[0]))
    assert sum(batch.num_rows for batch in batches) == 3
    assert batches[0].schema.names == ["id"]
    assert made.pruneColumns(type(schema)([])).names == ["id"]
    assert made.pushLimit(1 << 40) is False


def test_partitions_hold_no_secret(table: Callable[[str], str]) -> None:
    made = reader(table("del_pos_overlap"), **{"s3.secret-access-key": "hidden", "adls.sas-token": "hidden"})
    assert all(b"hidden" not in pickle.dumps(partition) for partition in made.partitions())


# The condition in Spark, and the filters that Spark pushes down for it.
CONDITIONS = [
    ("c1 > 0", ds.GreaterThan(("c1",), 0)),
    ("c3 > 1.5", ds.GreaterThan(("c3",), 1.5)),
    ("c4 <> 0.0", ds.Not(ds.EqualTo(("c4",), 0.0))),
    ("c4 <= -0.0", ds.LessThanOrEqual(("c4",), -0.0)),
    ("c4 in (1.5, 0.0)", ds.In(("c4",), [1.5, 0.0])),
    ("c5 >= 0.01", ds.GreaterThanOrEqual(("c5",), decimal.Decimal("0.01"))),
    ("c7 < 0", ds.LessThan(("c7",), decimal.Decimal("0E-10"))),
    ("c8 < date'1970-01-01'", ds.LessThan(("c8",), dt.date(1970, 1, 1))),
    ("c10 >= timestamp_ntz'1970-01-01 00:00:00'", ds.GreaterThanOrEqual(("c10",), EPOCH.replace(tzinfo=None))),
    ("c11 < timestamp'1970-01-01 00:00:00Z'", ds.LessThan(("c11",), EPOCH)),
    ("c14 like 'a%'", ds.StringStartsWith(("c14",), "a")),
    ("c14 like '%b'", ds.StringEndsWith(("c14",), "b")),
    ("c14 like '%b%'", ds.StringContains(("c14",), "b")),
    ("c14 not like 'a%'", ds.Not(ds.StringStartsWith(("c14",), "a"))),
    ("c17 > X'00'", ds.GreaterThan(("c17",), b"\x00")),
    ("c0", ds.EqualTo(("c0",), value=True)),
    ("c2 is null", ds.IsNull(("c2",))),
    ("c1 <=> 10", ds.EqualNullSafe(("c1",), 10)),
    ("not (c1 <=> 10)", ds.Not(ds.EqualNullSafe(("c1",), 10))),
    ("c1 not in (1, 2, 10)", ds.Not(ds.In(("c1",), [1, 2, 10]))),
]


def test_filters_match_spark_semantics(spark: SparkSession, table: Callable[[str], str]) -> None:
    path = table("type_all_v3")
    columns = ",".join(f"c{n}" for n in range(18) if n not in (9, 12, 13)) + ",id,_pos,_file"
    frame = spark.read.format("frazil").option("columns", columns).load(path)
    truths = frame.selectExpr("_pos", "_file", *[text for text, _ in CONDITIONS]).collect()
    for n, (text, pushed) in enumerate(CONDITIONS):
        made = reader(path, columns=columns)
        made.pushFilters([pushed])
        found = {(row["_pos"], row["_file"]) for row in rows(made)}
        assert found == {(row[0], row[1]) for row in truths if row[n + 2]}, text
        assert 0 < len(found) < len(truths), text


def test_nested_columns_and_odd_names_are_pushed(table: Callable[[str], str]) -> None:
    made = reader(table("nested_parquet"))
    made.pushFilters([ds.EqualTo(("ss", "a", "b"), 0)])
    assert [row["id"] for row in rows(made)] == [10]
    for name in ("a.b", "c d", "1x", "seléct", "UPPER"):
        odd = reader(table("meta_odd_names"))
        odd.pushFilters([ds.IsNull((name,))])
        assert len(rows(odd)) < len(rows(reader(table("meta_odd_names"))))


def test_filters_on_columns_with_different_spark_types_are_not_pushed(table: Callable[[str], str]) -> None:
    options = {"columns": "id, c9, c12, c15, c16", "timestamp-ns-mode": "long"}
    made, whole = (reader(table("type_all_v3"), **options) for _ in range(2))
    values = {"c9": dt.time(1), "c12": 1, "c15": "F", "c16": b"x"}
    made.pushFilters([ds.EqualTo((name,), value) for name, value in values.items()])
    assert len(rows(made)) == len(rows(whole))


def test_spark_pushes_into_a_dataframe_that_is_made_for_it(spark: SparkSession, table: Callable[[str], str]) -> None:
    path = table("pevo_v2_three_specs")
    frame = spark.read.format("frazil").option("pushdown", "true").load(path)
    spark.conf.set(PUSHDOWN, "true")
    try:
        found = frame.where("id > 50 and cat like '%a%'").select("id").collect()
    finally:
        spark.conf.unset(PUSHDOWN)
    expected = frazil.load_table(path).scan("id > 50 and cat like '%a%'").to_arrow()
    assert sorted(row.id for row in found) == sorted(expected["id"].to_pylist())


def test_a_dataframe_may_be_filtered_twice(spark: SparkSession, table: Callable[[str], str]) -> None:
    """Spark would lose rows here if the reader accepted filters by default."""
    frame = spark.read.format("frazil").load(table("pevo_v2_three_specs"))
    spark.conf.set(PUSHDOWN, "true")
    try:
        some, whole = frame.where("id > 50").count(), frame.count()
        union = frame.where("id > 50").unionAll(frame.where("id <= 50")).count()
    finally:
        spark.conf.unset(PUSHDOWN)
    opened = frazil.load_table(table("pevo_v2_three_specs"))
    assert (some, whole) == (opened.scan("id > 50").count(), opened.scan().count())
    assert union == opened.scan("id is not null").count()
