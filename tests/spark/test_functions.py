"""Tests of the vectors in the Iceberg specification, appendix B, through Spark."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as spark_functions

import frazil.spark
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark import functions as f
from frazil.spark._source import FrazilDataSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

HASHES = {
    "i": 2017239379,
    "l": 2017239379,
    "c": -500754589,
    "d": -653330422,
    "z": -2047944441,
    "n": -2047944441,
    "t": 1210000089,
    "b": -188683207,
}


@pytest.fixture
def values(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "select 34 i, 34L l, 14.20BD c, date'2017-11-16' d, timestamp'2017-11-16 22:31:08Z' z,"
        " timestamp_ntz'2017-11-16 22:31:08' n, 'iceberg' t, X'00010203' b"
        " union all select null, null, null, null, null, null, null, null order by i"
    )


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_buckets_are_those_of_the_specification(spark: SparkSession, values: DataFrame, zone: str) -> None:
    count = (1 << 31) - 1
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        nulls, row = values.select(*[f.bucket(count, name).alias(name) for name in HASHES]).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row.asDict() == {name: (value & 0x7FFF_FFFF) % count for name, value in HASHES.items()}
    assert set(nulls) == {None}


def test_dates_and_times_are_truncated(values: DataFrame) -> None:
    columns = [f.years("d"), f.months("z"), f.days("n"), f.days("d"), f.hours("z"), f.hours("n")]
    frame = values.where("i is not null").select(*columns)
    assert frame.columns == ["years(d)", "months(z)", "days(n)", "days(d)", "hours(z)", "hours(n)"]
    day = dt.date(2017, 11, 16)
    assert tuple(frame.first()) == (47, 574, day, day, 419686, 419686)


def test_numbers_texts_and_binaries_are_truncated(values: DataFrame) -> None:
    frame = values.where("i is not null").select(
        f.truncate(10, "i", "int"),
        f.truncate(10, spark_functions.col("l") * -1, "bigint"),
        f.truncate(50, "c", "decimal(4, 2)"),
        f.truncate(3, "t"),
        f.truncate(2, "b", "binary"),
    )
    assert tuple(frame.first()) == (30, -40, decimal.Decimal("14.00"), "ice", b"\x00\x01")


def test_a_result_of_another_type_is_an_error(values: DataFrame) -> None:
    with pytest.raises(PythonException, match=r"truncate\[3\] of this column returns int, not string"):
        values.select(f.truncate(3, "i")).collect()
    with pytest.raises(PythonException, match="InvalidArgumentError"):
        values.select(f.hours("d")).collect()


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "4"])
def test_a_count_is_a_whole_number_from_one(count: object) -> None:
    with pytest.raises(InvalidArgumentError, match="an integer of at least 1"):
        f.bucket(count, "i")  # type: ignore[arg-type]


def test_spark_before_4_1_is_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = spark.range(1)
    monkeypatch.delattr(spark_functions, "arrow_udf")
    uses: list[Callable[[], object]] = [
        lambda: f.days("d"),
        lambda: frazil.spark.read(spark, tmp_path),
        lambda: frazil.spark.write(frame, tmp_path),
        lambda: frazil.spark.connect(spark),
        lambda: FrazilDataSource({"path": str(tmp_path)}),
    ]
    for use in uses:
        with pytest.raises(UnsupportedError, match=r"frazil requires Spark 4\.1 or later, but this is PySpark 4\."):
            use()
