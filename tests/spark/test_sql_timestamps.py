"""Tests that all kinds of writes accept Spark's timestamps, in releases that require a time zone and in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.spark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

ZONE = "spark.sql.session.timeZone"
ROWS = "SELECT 1 AS id, TIMESTAMP'2024-02-29 12:00:00Z' AS at, array(TIMESTAMP'2024-02-29 13:00:00Z') AS times"
EXPECTED = [{"id": 1, "at": "2024-02-29 12:00:00+00:00", "times": ["2024-02-29 13:00:00+00:00"]}]
COLUMNS: dict[str, dict[str, str]] = {
    "iceberg": {"id": "int", "at": "timestamptz", "times": "list<timestamptz>"},
    "paimon": {
        "id": "INT",
        "at": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "times": "ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>",
    },
}


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, request.param)
    yield
    spark.conf.set(ZONE, before)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    catalogs = {
        "iceberg": {"type": "hadoop", "warehouse": str(tmp_path / "iceberg")},
        "paimon": {"type": "paimon", "warehouse": str(tmp_path / "paimon")},
    }
    return frazil.spark.connect(spark, catalogs)


def found(table: Any) -> list[dict[str, Any]]:
    return [
        {"id": row["id"], "at": str(row["at"]), "times": [str(one) for one in row["times"]]}
        for row in table.scan().to_arrow().to_pylist()
    ]


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("table_format", COLUMNS)
def test_a_frame_with_timestamps_is_written(spark: SparkSession, tmp_path: Path, table_format: Any) -> None:
    table = frazil.create_table(tmp_path / "t", COLUMNS[table_format], format=table_format)
    frazil.spark.write(spark.sql(ROWS), table)
    assert found(table.refresh()) == EXPECTED


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("table_format", COLUMNS)
def test_statements_write_timestamps(lake: Lake[DataFrame], table_format: str) -> None:
    name = f"{table_format}.default.t"
    lake.sql(f"CREATE TABLE {name} AS {ROWS}")
    assert found(lake.table(name)) == EXPECTED
    lake.sql(f"INSERT OVERWRITE {name} {ROWS}")
    assert found(lake.table(name)) == EXPECTED
    lake.sql(f"INSERT INTO {name} VALUES (1, TIMESTAMP'2024-02-29 12:00:00Z', array(TIMESTAMP'2024-02-29 13:00:00Z'))")
    assert found(lake.table(name)) == EXPECTED * 2


def test_the_data_source_writes_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    frazil.create_table(tmp_path / "t", COLUMNS["iceberg"])
    spark.sql(ROWS).write.format("frazil").mode("append").save(str(tmp_path / "t"))
    assert found(frazil.load_table(tmp_path / "t")) == EXPECTED
