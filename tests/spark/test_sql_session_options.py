"""Settings of the session that the Java connectors read: `spark.paimon.*` and `spark.sql.iceberg.*`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.errors
import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.spark._session_options import paimon_options
from frazil.spark._settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

NAMES = [f"spark.paimon.{part}" for part in ("", "*.*.t.", "*.d.*.", "pai.d.t.", "pai.*.*.")]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[Any]]:
    catalogs = {
        "ice": {"type": "hadoop", "warehouse": str(tmp_path / "ice")},
        "pai": {"type": "paimon", "warehouse": str(tmp_path / "pai")},
    }
    with frazil.spark.connect(spark, catalogs) as lake:
        lake.sql("CREATE NAMESPACE ice.d")
        lake.sql("CREATE NAMESPACE pai.d")
        for name in ("t", "other"):
            lake.sql(f"CREATE TABLE pai.d.{name} (id INT NOT NULL, v INT) TBLPROPERTIES ('primary-key'='id')")
            lake.sql(f"INSERT INTO pai.d.{name} VALUES (1, 1)")
            lake.sql(f"INSERT INTO pai.d.{name} VALUES (1, 2), (2, 2)")
        yield lake


@contextlib.contextmanager
def settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in values:
            spark.conf.unset(name)


def rows(lake: Lake[Any], query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lake.sql(query).collect())


OLD, NEW = [(1, 1)], [(1, 2), (2, 2)]


@pytest.mark.parametrize("prefix", NAMES)
def test_queries_read_the_snapshot_of_the_session(spark: SparkSession, lake: Lake[Any], prefix: str) -> None:
    with settings(spark, {f"{prefix}scan.snapshot-id": "1"}):
        assert rows(lake, "SELECT * FROM pai.d.t") == OLD
        other = OLD if ("*" in prefix and ".t." not in prefix) or prefix == "spark.paimon." else NEW
        assert rows(lake, "SELECT * FROM pai.d.other") == other
        assert rows(lake, "SELECT a.v, b.v FROM pai.d.t a JOIN pai.d.t VERSION AS OF 2 b ON a.id = b.id") == [(1, 2)]
    assert rows(lake, "SELECT * FROM pai.d.t") == NEW


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("scan.version", "1", OLD),
        ("scan.tag-name", "one", OLD),
        ("scan.timestamp-millis", "{ms}", OLD),
        ("scan.mode", "latest", NEW),
        ("incremental-between", "1,2", NEW),
        ("branch", "b", OLD),
    ],
)
def test_options_of_reads_are_obeyed(
    spark: SparkSession, lake: Lake[Any], option: str, value: str, expected: list[Any]
) -> None:
    lake.sql("CALL pai.sys.create_tag('d.t', 'one', 1)")
    lake.sql("CALL pai.sys.create_branch('d.t', 'b', 'one')")
    first = next(one for one in lake.table("pai.d.t").snapshots() if one.snapshot_id == 1)
    value = value.format(ms=first.timestamp_ms)
    with settings(spark, {f"spark.paimon.{option}": value}):
        assert rows(lake, "SELECT * FROM pai.d.t") == expected
        read = frazil.spark.read(spark, lake.table("pai.d.t"))
        assert sorted(map(tuple, read.collect())) == expected
        assert sorted(map(tuple, frazil.spark.read(spark, lake.table("pai.d.t").location).collect())) == expected


def test_more_specific_settings_and_queries_take_precedence(spark: SparkSession, lake: Lake[Any]) -> None:
    values = {
        "spark.paimon.scan.snapshot-id": "77",
        "spark.paimon.*.*.*.scan.snapshot-id": "78",
        "spark.paimon.*.d.t.scan.snapshot-id": "2",
        "spark.paimon.pai.d.t.scan.snapshot-id": "1",
        "spark.paimon.pai.d.other.scan.snapshot-id": "2",
    }
    with settings(spark, values):
        assert rows(lake, "SELECT * FROM pai.d.t") == OLD
        assert rows(lake, "SELECT * FROM pai.d.t VERSION AS OF 2") == NEW
        assert rows(lake, "SELECT * FROM pai.d.t /*+ OPTIONS('scan.snapshot-id'='2') */") == NEW
        assert rows(lake, "SELECT * FROM pai.d.t /*+ OPTIONS('incremental-between'='1,2') */") == NEW
        with pytest.raises(Exception, match="77"):
            frazil.spark.read(spark, lake.table("pai.d.t")).collect()


def test_settings_of_other_tables_and_of_iceberg_are_ignored(spark: SparkSession, lake: Lake[Any]) -> None:
    lake.sql("CREATE TABLE ice.d.t AS SELECT 1 AS id")
    values = {"spark.paimon.pai.d.x.scan.snapshot-id": "77", "spark.paimon.tmp.d.t.scan.mode": "x"}
    with settings(spark, values):
        assert rows(lake, "SELECT * FROM pai.d.t") == NEW
        lake.sql("INSERT INTO pai.d.t VALUES (3, 3)")
        lake.sql("DELETE FROM pai.d.t WHERE id = 3")
    with settings(spark, {"spark.paimon.scan.snapshot-id": "77"}):
        assert rows(lake, "SELECT * FROM ice.d.t") == [(1,)]
        assert frazil.spark.read(spark, lake.table("ice.d.t").location).count() == 1


@pytest.mark.parametrize("name", ["scan.snapshot-idd", "scan.snapshot_id", "nonsense", "read.changelog"])
def test_unknown_and_unsupported_options_are_refused(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    with settings(spark, {f"spark.paimon.{name}": "true"}), pytest.raises(FrazilError, match=name):
        lake.sql("SELECT * FROM pai.d.t").collect()


STATEMENTS = [
    "DELETE FROM {t} WHERE id = 1",
    "UPDATE {t} SET v = 9",
    "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_changes_of_an_earlier_snapshot_are_refused(spark: SparkSession, lake: Lake[Any], statement: str) -> None:
    with settings(spark, {"spark.paimon.scan.snapshot-id": "1"}):
        with pytest.raises(UnsupportedError, match=r"scan\.snapshot-id"):
            lake.sql(statement.format(t="pai.d.t"))
        lake.sql("INSERT INTO pai.d.t VALUES (3, 3)")
    assert rows(lake, "SELECT * FROM pai.d.t") == [*NEW, (3, 3)]


@pytest.mark.parametrize("name", ["write.merge-schema", "sequence.field", "*.d.t.ignore-delete"])
def test_options_that_change_written_rows_are_refused(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    frame = spark.createDataFrame([(3, 3)], "id INT, v INT")
    with settings(spark, {f"spark.paimon.{name}": "true"}):
        with pytest.raises(UnsupportedError, match=name.rpartition("t.")[2]):
            lake.sql("INSERT INTO pai.d.t VALUES (3, 3)")
        if not name.startswith("*"):
            with pytest.raises(UnsupportedError):
                frazil.spark.write(frame, lake.table("pai.d.t"))
    with settings(spark, {"spark.paimon.write-buffer-size": "1 mb", "spark.paimon.write.merge-schema": "false"}):
        frazil.spark.write(frame, lake.table("pai.d.t"))
    assert rows(lake, "SELECT * FROM pai.d.t") == [*NEW, (3, 3)]


def test_the_branch_of_the_session_is_written(spark: SparkSession, lake: Lake[Any]) -> None:
    lake.sql("CALL pai.sys.create_tag('d.t', 'one', 1)")
    lake.sql("CALL pai.sys.create_branch('d.t', 'b', 'one')")
    with settings(spark, {"spark.paimon.pai.d.t.branch": "b"}):
        lake.sql("INSERT INTO pai.d.t VALUES (3, 3)")
        lake.sql("UPDATE pai.d.t SET v = v + 10 WHERE id = 3")
        assert rows(lake, "SELECT * FROM pai.d.t") == [*OLD, (3, 13)]
        assert rows(lake, "SELECT * FROM pai.d.other") == NEW
    assert rows(lake, "SELECT * FROM pai.d.t") == NEW


def test_a_data_source_that_cannot_know_the_snapshot_is_refused(spark: SparkSession, lake: Lake[Any]) -> None:
    folder = lake.table("pai.d.t").location
    earlier = frazil.spark.read(spark, lake.table("pai.d.t"))
    with settings(spark, {"spark.paimon.scan.snapshot-id": "1"}):
        with pytest.raises(Exception, match=r"scan\.snapshot-id. is set"):
            spark.read.format("frazil").load(folder).collect()
        assert spark.read.format("frazil").option("snapshot-id", "2").load(folder).count() == 2
        assert earlier.count() == 2


@pytest.mark.parametrize("kind", ["ice", "pai"])
def test_options_of_tables_in_the_settings_of_a_catalog(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    of_kind = {
        "ice": ("org.apache.iceberg.spark.SparkCatalog", "write.format.default", "orc", "avro"),
        "pai": ("org.apache.paimon.spark.SparkCatalog", "file.format", "orc", "avro"),
    }
    class_name, option, default, override = of_kind[kind]
    prefix = f"spark.sql.catalog.own_{kind}"
    values = {prefix: class_name, f"{prefix}.warehouse": str(tmp_path), f"{prefix}.table-default.{option}": default}
    values |= {f"{prefix}.type": "hadoop"} if kind == "ice" else {}
    with settings(spark, values), frazil.spark.connect(spark) as lake:
        lake.sql(f"CREATE NAMESPACE own_{kind}.d")
        lake.sql(f"CREATE TABLE own_{kind}.d.t (id INT)")
        table = lake.table(f"own_{kind}.d.t")
        assert (table.options if kind == "pai" else table.properties)[option] == default
    if kind == "ice":
        overridden = {f"{prefix}.table-override.{option}": override}
        with settings(spark, values | overridden), frazil.spark.connect(spark) as lake:
            lake.sql(f"CREATE TABLE own_ice.d.o (id INT) TBLPROPERTIES ('{option}'='orc')")
            assert lake.table("own_ice.d.o").properties[option] == override


def test_system_tables_show_the_snapshot_of_the_session(spark: SparkSession, lake: Lake[Any]) -> None:
    everything = lake.sql("SELECT * FROM pai.d.`t$files`").count()
    with settings(spark, {"spark.paimon.scan.snapshot-id": "1"}):
        assert lake.sql("SELECT * FROM pai.d.`t$files`").count() < everything


def test_settings_of_iceberg(spark: SparkSession, lake: Lake[Any]) -> None:
    lake.sql("CREATE TABLE ice.d.t (id INT)")
    ignored = {one.name: "false" for one in SETTINGS if one.effect == "ignored" and not one.name.endswith("*")}
    values = {
        "spark.sql.iceberg.snapshot-property.job": "nightly",
        "spark.sql.iceberg.distribution-mode": "none",
        "spark.sql.iceberg.read.split-size": "1048576",
    }
    with settings(spark, ignored | values):
        lake.sql("INSERT INTO ice.d.t VALUES (1)")
        lake.sql("UPDATE ice.d.t SET id = 2")
        frazil.spark.write(spark.createDataFrame([(3,)], "id INT"), lake.table("ice.d.t"))
        assert rows(lake, "SELECT * FROM ice.d.t") == [(2,), (3,)]
        assert rows(lake, "SELECT * FROM pai.d.t") == NEW
    assert [one.summary.get("job") for one in lake.table("ice.d.t").snapshots()] == ["nightly"] * 3
    with settings(spark, {"spark.sql.iceberg.merge-schema": "true"}):
        with pytest.raises(UnsupportedError, match="merge-schema"):
            lake.sql("INSERT INTO ice.d.t VALUES (1)")
        with pytest.raises(UnsupportedError, match="merge-schema"):
            frazil.spark.write(spark.createDataFrame([(3,)], "id INT"), lake.table("ice.d.t"))
        assert rows(lake, "SELECT * FROM ice.d.t") == [(2,), (3,)]
    with settings(spark, {"spark.sql.iceberg.read.split-size": "x"}), pytest.raises(InvalidArgumentError):
        lake.sql("SELECT * FROM ice.d.t").collect()


def test_names_with_dots_and_wildcards() -> None:
    values = {"spark.paimon.c.d.a.b.scan.mode": "latest", "spark.paimon.*.d.*.scan.mode": "latest-full"}
    assert paimon_options(values, ("c", "d", "a.b")) == {"scan.mode": "latest"}
    assert paimon_options(values, ("c", "d", "ab")) == {"scan.mode": "latest-full"}
    assert paimon_options(values, ("c", "e", "t")) == {}
    assert paimon_options({"spark.paimon.bucket": "3"}) == {"bucket": "3"}


def test_all_settings_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
    for one in SETTINGS:
        assert f"| `{one.name}` | {one.effect} | {one.note}".rstrip() in page, one.name
