"""Tests that conditions on timestamps skip files, but never rows that Spark selects."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.spark
from frazil.sql import _sources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"]

MOMENTS = [
    *(dt.datetime(2024, 3, 10, hour, minute, tzinfo=dt.UTC) for hour in range(5, 9) for minute in (0, 30)),
    *(dt.datetime(2024, 4, 6, hour, minute, tzinfo=dt.UTC) for hour in range(13, 17) for minute in (0, 30)),
    *(dt.datetime(2024, 11, 3, hour, minute, tzinfo=dt.UTC) for hour in range(4, 8) for minute in (0, 30)),
    dt.datetime(1, 1, 2, tzinfo=dt.UTC),
    dt.datetime(1582, 10, 4, 12, tzinfo=dt.UTC),
    dt.datetime(1900, 1, 1, tzinfo=dt.UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
    dt.datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=dt.UTC),
]

CONDITIONS = [
    "{c} < TIMESTAMP '2024-03-10 02:30:00'",
    "{c} >= TIMESTAMP '2024-03-10 03:00:00'",
    "{c} = TIMESTAMP '2024-11-03 01:30:00'",
    "{c} > '2024-11-03 01:00'",
    "{c} <= '2024-04-07'",
    "{c} >= DATE '2024-04-07'",
    "{c} BETWEEN TIMESTAMP '2024-04-07 01:30:00' AND '2024-11-03 02:00:00.000001'",
    "{c} IN (TIMESTAMP '2024-03-10 06:00:00', TIMESTAMP '2024-11-03 05:00:00')",
    "{c} IN ('2024-03-10 06:00:00', '2024-11-03 05:00:00')",
    "{c} < CAST('1900-01-01' AS TIMESTAMP)",
    "{c} < TIMESTAMP_NTZ '2024-03-10 06:00:00'",
    "{c} < TIMESTAMP_LTZ '2024-03-10 06:00:00'",
    "{c} > '9999-12-30'",
    "{c} < '0001-01-03'",
    "{c} < '1582-10-05'",
    "{c} > TIMESTAMP 'now'",
    "{c} = '2024-03-10T06:00:00.000000'",
    "NOT {c} > '2024-03-10 06:00:00'",
]

SKIPPING = {"z": 14, "n": 8}
"""The minimum number of conditions that become filters, by column."""


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[DataFrame]]:
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table(
        "db.t", pa.schema([("id", pa.int64()), ("z", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us"))])
    )
    table.update_spec().add_field("hour(z)").add_field("day(n)").commit()
    rows = {
        "id": list(range(len(MOMENTS))),
        "z": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
        "n": pa.array([one.replace(tzinfo=None) for one in MOMENTS], pa.timestamp("us")),
    }
    table.append(pa.table(rows))
    before = spark.conf.get("spark.sql.session.timeZone")
    yield frazil.spark.connect(spark, {"lake": catalog})
    spark.conf.set("spark.sql.session.timeZone", before)
    spark.catalog.dropTempView("plain")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("column", ["z", "n"])
def test_conditions_select_the_rows_that_spark_selects(
    lake: Lake[DataFrame], spark: SparkSession, monkeypatch: pytest.MonkeyPatch, column: str, zone: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    kept: list[Any] = []
    filters = _sources.filters
    monkeypatch.setattr(_sources, "filters", lambda *arguments: (kept.append(found := filters(*arguments)), found)[1])
    lake.sql("CREATE TEMPORARY VIEW plain AS SELECT * FROM lake.db.t")
    skipping = 0
    for condition in CONDITIONS:
        where = condition.format(c=column)
        expected = sorted(row.id for row in spark.sql(f"SELECT id FROM plain WHERE {where}").collect())
        found = lake.sql(f"SELECT id FROM lake.db.t WHERE {where}")
        skipping += bool(kept[-1])
        assert sorted(row.id for row in found.collect()) == expected, where
    assert skipping >= SKIPPING[column]


def test_replace_where_compares_timestamps(lake: Lake[DataFrame], spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Shanghai")
    moment = "TIMESTAMP '2024-04-07 00:00:00'"
    expected = lake.sql(f"SELECT id FROM lake.db.t WHERE NOT z >= {moment}").count()
    lake.sql(f"INSERT INTO lake.db.t REPLACE WHERE z >= {moment} SELECT 77, {moment}, TIMESTAMP_NTZ '2024-04-07'")
    assert lake.sql("SELECT id FROM lake.db.t").count() == expected + 1
