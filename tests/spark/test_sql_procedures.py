"""Procedures of CALL whose result Spark reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import InvalidArgumentError
from support.cases import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

JAVA = json.loads((GOLDEN / "procedures.json").read_text(encoding="utf-8"))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    catalogs = {
        "local": {"type": "local", "path": str(tmp_path / "local")},
        "paimon": {"type": "paimon", "warehouse": str(tmp_path / "paimon")},
    }
    lake = frazil.spark.connect(spark, catalogs)
    for name in ("local", "paimon"):
        lake.sql(f"CREATE NAMESPACE {name}.db")
    return lake


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def columns(frame: DataFrame) -> list[list[Any]]:
    return [[field.name, field.dataType.simpleString(), field.nullable] for field in frame.schema]


@pytest.fixture(autouse=True)
def without_views(spark: SparkSession) -> Iterator[None]:
    """Drop the temporary views of a test, because all tests share the session."""
    yield
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)


def test_a_view_of_changes_is_read(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE local.db.t (id BIGINT, name STRING) USING iceberg")
    table = lake.table("local.db.t")
    table.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    table.delete("id = 1")
    table.append([{"id": 1, "name": "c"}])
    first, second, _ = [one.snapshot_id for one in table.snapshots()]
    made = lake.sql("CALL local.system.create_changelog_view('db.t')")
    assert columns(made) == JAVA["iceberg"]["create_changelog_view"]["columns"]
    assert rows(made) == [("`t_changes`",)]
    found = spark.sql("SELECT id, name, _change_type, _change_ordinal FROM t_changes")
    assert rows(found) == [(1, "a", "DELETE", 1), (1, "a", "INSERT", 0), (1, "c", "INSERT", 2), (2, "b", "INSERT", 0)]
    lake.sql("CALL local.system.create_changelog_view(table => 'db.t', net_changes => true)")
    assert rows(spark.sql("SELECT id, name, _change_type FROM t_changes")) == [(1, "c", "INSERT"), (2, "b", "INSERT")]
    options = f"map('start-snapshot-id', '{first}', 'end-snapshot-id', '{second}')"
    lake.sql(f"CALL local.system.create_changelog_view('db.t', '`some changes`', {options})")
    assert rows(spark.sql("SELECT id, name, _change_type FROM `some changes`")) == [(1, "a", "DELETE")]
    with pytest.raises(InvalidArgumentError, match="mutually exclusive"):
        lake.sql(
            "CALL local.system.create_changelog_view(table => 'db.t', net_changes => true, "
            "identifier_columns => array('id'))"
        )


def test_updates_are_computed_by_identifier_columns(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE local.db.u (id BIGINT, `a,b` STRING) USING iceberg")
    table = lake.table("local.db.u")
    table.append([{"id": 1, "a,b": "x"}])
    table.overwrite([{"id": 7, "a,b": "x"}], "id = 1")
    lake.sql(
        "CALL local.system.create_changelog_view(table => 'db.u', changelog_view => 'v', "
        "identifier_columns => array('a,b'))"
    )
    found = rows(spark.sql("SELECT id, _change_type FROM v"))
    assert found == [(1, "INSERT"), (1, "UPDATE_BEFORE"), (7, "UPDATE_AFTER")]


def test_tables_of_paimon_are_compacted(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE paimon.db.t (id INT, day STRING) USING paimon PARTITIONED BY (day)")
    for number in range(3):
        lake.sql(f"INSERT INTO paimon.db.t VALUES ({number}, 'a'), ({number}, 'b')")
    made = lake.sql("CALL paimon.sys.compact(table => 'db.t', partitions => concat('day=', 'a'))")
    assert columns(made) == JAVA["paimon"]["compact"]["columns"]
    assert rows(made) == [(True,)]
    made = lake.sql("CALL paimon.sys.compact_database(including_databases => 'd.')")
    assert columns(made) == JAVA["paimon"]["compact_database"]["columns"]
    assert rows(made) == [("Compact database finished. Success: 1, Failed: 0",)]
    lake.sql("USE paimon.db")
    assert rows(lake.sql("CALL sys.compact('t')")) == [(True,)]
    assert lake.table("paimon.db.t").inspect.files().num_rows == 2
    assert rows(lake.sql("SELECT count(*) FROM t")) == [(6,)]


def test_results_have_the_columns_of_java(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE local.db.t (id BIGINT) USING iceberg")
    table = lake.table("local.db.t")
    table.append([{"id": 1}])
    snapshot = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(snapshot, "b").commit()
    calls = {
        "rollback_to_snapshot": f"'db.t', {snapshot}",
        "set_current_snapshot": f"'db.t', {snapshot}",
        "fast_forward": "'db.t', 'b', 'main'",
        "ancestors_of": "'db.t'",
        "expire_snapshots": "'db.t'",
        "remove_orphan_files": "'db.t'",
        "rewrite_data_files": "'db.t'",
    }
    for name, arguments in calls.items():
        assert columns(lake.sql(f"CALL local.system.{name}({arguments})")) == JAVA["iceberg"][name]["columns"], name
