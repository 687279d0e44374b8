"""Tests of names of lake tables in methods of Spark, after `frazil.spark.connect(…, plain=True)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import NoSuchTableError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[DataFrame]]:
    before, frames = type(spark), type(spark.range(1)).writeTo
    catalogs = {
        "ice": {"type": "hadoop", "warehouse": str(tmp_path / "ice")},
        "pai": {"type": "paimon", "warehouse": str(tmp_path / "pai")},
    }
    with frazil.spark.connect(spark, catalogs, plain=True) as lake:
        for name in ("ice", "pai"):
            spark.sql(f"CREATE NAMESPACE {name}.d")
            spark.range(3).selectExpr("CAST(id AS INT) AS id", "'a' AS p").writeTo(f"{name}.d.t").create()
        yield lake
    assert (type(spark), type(spark.range(1)).writeTo) == (before, frames)
    assert spark.catalog.currentCatalog() == "spark_catalog"
    assert not spark.catalog.tableExists("d.t")
    assert "tableExists" not in vars(spark.catalog)


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("table", ["ice.d.t", "pai.d.t"])
def test_tables_are_read_by_name(spark: SparkSession, lake: Lake[DataFrame], table: str) -> None:
    expected = [(0, "a"), (1, "a"), (2, "a")]
    assert rows(spark.table(table)) == rows(spark.read.table(table)) == expected
    assert rows(spark.read.option("x", "1").table(tableName=table).where("id > 1")) == [(2, "a")]
    assert rows(frazil.spark.read(spark, table, "id = 0")) == [(0, "a")]
    spark.range(2).createOrReplaceTempView("view_of_names")
    assert rows(spark.table("view_of_names")) == [(0,), (1,)]
    spark.catalog.setCurrentCatalog(table.partition(".")[0])
    assert rows(spark.table("view_of_names")) == [(0,), (1,)]
    assert rows(spark.table("d.t")) == expected
    with pytest.raises(NoSuchTableError):
        spark.table("d.nope")
    spark.catalog.setCurrentCatalog("spark_catalog")
    spark.catalog.dropTempView("view_of_names")
    assert lake.last is not None


@pytest.mark.parametrize("table", ["ice.d.t", "pai.d.t"])
def test_data_frames_write_to_tables(spark: SparkSession, lake: Lake[DataFrame], table: str) -> None:
    more = spark.sql("SELECT 'b' AS p, CAST(7 AS INT) AS id")
    more.writeTo(table).append()
    assert rows(spark.table(table))[-1] == (7, "b")
    new = table.replace(".t", ".new")
    more.writeTo(new).partitionedBy("p").tableProperty("a", "it's {b}").create()
    assert (rows(spark.table(new)), lake.table(new).properties.get("a") if table[0] == "i" else "it's {b}") == (
        [("b", 7)],
        "it's {b}",
    )
    spark.sql("SELECT 'c' AS p, 8 AS id UNION ALL SELECT 'b', 9").writeTo(new).overwritePartitions()
    assert rows(spark.table(new)) == [("b", 9), ("c", 8)]
    spark.sql("SELECT 'c' AS p, 1 AS id").writeTo(new).overwritePartitions()
    assert rows(spark.table(new)) == [("b", 9), ("c", 1)]
    if table[0] == "i":
        spark.range(1).writeTo(new).createOrReplace()
        assert rows(spark.table(new)) == [(0,)]
        spark.range(2).writeTo(new).replace()
        assert rows(spark.table(new)) == [(0,), (1,)]
    frazil.spark.write(more, table)
    assert rows(spark.table(table))[-2:] == [(7, "b"), (7, "b")]
    with pytest.raises(UnsupportedError, match="overwrite with a condition"):
        more.writeTo(new).overwrite(more.id > 1)
    with pytest.raises(UnsupportedError, match="the option 'x'"):
        more.writeTo(new).option("x", "1")


def test_the_catalog_of_the_session(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    catalog = spark.catalog
    assert (catalog.currentCatalog(), catalog.currentDatabase()) == ("spark_catalog", "default")
    assert [catalog.tableExists(name) for name in ("ice.d.t", "pai.d.nope", "ice.x.t", "nope.t")] == [
        True,
        False,
        False,
        False,
    ]
    assert catalog.tableExists("t", "ice.d")
    assert [catalog.databaseExists(name) for name in ("ice.d", "ice.x", "default")] == [True, False, True]
    assert [(one.name, one.catalog, one.namespace) for one in catalog.listTables("ice.d")] == [("t", "ice", ["d"])]
    catalog.setCurrentCatalog("ice")
    catalog.setCurrentDatabase("d")
    assert (catalog.currentCatalog(), catalog.currentDatabase()) == ("ice", "d")
    assert [one.name for one in catalog.listTables()] == ["t"]
    assert catalog.listTables(pattern="x*") == []
    assert [one.name for one in catalog.listDatabases()] == ["d"]
    assert [(one.name, one.dataType) for one in catalog.listColumns("t")] == [("id", "int"), ("p", "string")]
    catalog.refreshTable("t")
    catalog.setCurrentCatalog("spark_catalog")
    assert catalog.currentDatabase() == "default"
    lake.sql("USE ice.d")
