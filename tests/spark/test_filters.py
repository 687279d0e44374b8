from __future__ import annotations

import datetime as dt
import decimal
import functools
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import datasource as ds

import frazil
from frazil.spark.filters import sql
from frazil.spark.options import quote_name
from frazil.spark.source import FrazilDataSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

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
    source = shipped(FrazilDataSource({"path": path, "split-size": "1", "file-open-cost": "1"} | options))
    return source.reader(source.schema())


def count(made: Any) -> int:
    there = shipped(made)
    return sum(batch.num_rows for partition in made.partitions() for batch in there.read(partition))


def test_pushed_filters_prune_files_and_rows_and_are_given_back(table: Callable[[str], str]) -> None:
    path = table("pevo_v2_three_specs")
    made, whole = reader(path), reader(path)
    filters = [ds.GreaterThan(("id",), 50), ds.EqualTo(("nope",), 1), ds.EqualTo(("id",), "text")]
    assert made.pushFilters(filters) is filters
    assert len(made.partitions()) < len(whole.partitions())
    assert count(made) == frazil.load_table(path).scan("id > 50").count()
    assert count(whole) == frazil.load_table(path).scan().count()


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


CONDITIONS = {
    "type_all_v3": [
        "c1 > 0",
        "c3 = 'NaN'",
        "c3 > 1.5",
        "c4 <> 0.0",
        "c4 <= -0.0",
        "c4 in (1.5, 0.0)",
        "c5 >= 0.01",
        "c7 < 0",
        "c8 < date'1970-01-01'",
        "c10 >= timestamp_ntz'1970-01-01 00:00:00'",
        "c11 < timestamp'1970-01-01 00:00:00Z'",
        "c14 like 'a%'",
        "c14 like '%b'",
        "c14 like '%b%'",
        "not (c14 like 'a%')",
        "c15 = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
        "c16 = X'00010203'",
        "c17 > X'00'",
        "c0",
        "c2 is null",
        "c2 <=> null or id = 3",
        "c1 not in (1, 2, 3)",
    ],
    "nested_parquet": ["ss.a.b = 0", "ss.a.c is null", "size(ll) > 1", "ss.d > 0 and id < 15"],
    "p_v1_day_timestamptz": ["p < timestamp'1970-01-01 00:00:00Z'", "p is null", "p = timestamp'1969-12-31 23:59:59Z'"],
    "meta_odd_names": [],
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_pushing_filters_does_not_change_the_rows(spark: SparkSession, table: Callable[[str], str], name: str) -> None:
    # Spark has no nanoseconds.
    names = [n for n in frazil.load_table(table(name)).scan().schema().names if n not in ("c12", "c13")]
    frame = spark.read.format("frazil").option("columns", ",".join(map(quote_name, names))).load(table(name))
    conditions = CONDITIONS[name] or [f"`{column}` is not null" for column in names]
    found = []
    for enabled in ("false", "true"):
        spark.conf.set(PUSHDOWN, enabled)
        try:
            parts = [frame.where(text).selectExpr(f"{n} n", "id") for n, text in enumerate(conditions)]
            found.append(sorted((row.n, row.id) for row in functools.reduce(DataFrame.unionAll, parts).collect()))
        finally:
            spark.conf.unset(PUSHDOWN)
    assert found[0] == found[1]
    assert len({n for n, _ in found[0]}) > len(conditions) // 2
