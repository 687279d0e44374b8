"""Write-audit-publish: `spark.wap.branch` and `spark.wap.id` of a session, as in Iceberg's Spark connector."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.errors
import frazil.spark
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

ENABLED = "TBLPROPERTIES ('write.wap.enabled'='true')"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[Any]]:
    with frazil.spark.connect(spark, {"ice": {"type": "hadoop", "warehouse": str(tmp_path)}}) as lake:
        lake.sql("CREATE NAMESPACE ice.d")
        yield lake


@pytest.fixture
def name(lake: Lake[Any]) -> str:
    """Return the name of a table with write-audit-publish and the rows 1 and 2."""
    lake.sql(f"CREATE TABLE ice.d.t (id INT, v STRING) {ENABLED}")
    lake.sql("INSERT INTO ice.d.t VALUES (1, 'a'), (2, 'b')")
    return "ice.d.t"


@contextlib.contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    names = {f"spark.wap.{name}": value for name, value in values.items()}
    for setting, value in names.items():
        spark.conf.set(setting, value)
    try:
        yield
    finally:
        for setting in names:
            spark.conf.unset(setting)


def ids(lake: Lake[Any], query: str) -> list[int]:
    return sorted(row[0] for row in lake.sql(query).collect())


def frame(spark: SparkSession, *rows: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(rows), "id INT, v STRING")


STATEMENTS = {
    "INSERT INTO {t} VALUES (3, 'c')": [1, 2, 3],
    "INSERT INTO {t} SELECT id + 2, v FROM {t}": [1, 2, 3, 4],
    "INSERT OVERWRITE {t} VALUES (9, 'x')": [9],
    "INSERT OVERWRITE {t} SELECT id + 1, v FROM {t}": [2, 3],
    "INSERT INTO {t} REPLACE WHERE id = 1 VALUES (1, 'z')": [1, 2],
    "DELETE FROM {t} WHERE id = 1": [2],
    "DELETE FROM {t} WHERE upper(v) = 'A'": [2],
    "DELETE FROM {t}": [],
    "TRUNCATE TABLE {t}": [],
    "UPDATE {t} SET id = 7 WHERE id = 1": [2, 7],
    "UPDATE {t} SET id = id + 10": [11, 12],
    "MERGE INTO {t} t USING (SELECT 1 AS id, 'A' AS v UNION ALL SELECT 5, 'e') s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *": [2, 5],
}


PYTHON_WRITES = [
    "write",
    "overwrite",
    "overwrite_filter",
    "dynamic",
    "delete",
    "update",
    "merge",
    "source",
    "source_overwrite",
]


def python_writes(spark: SparkSession) -> dict[str, tuple[Callable[[Any], object], list[int]]]:
    new = frame(spark, (3, "c"))
    merge = frazil.spark.merge
    return {
        "write": (lambda table: frazil.spark.write(new, table), [1, 2, 3]),
        "overwrite": (lambda table: frazil.spark.write(new, table, "overwrite"), [3]),
        "overwrite_filter": (
            lambda table: frazil.spark.write(frame(spark, (1, "z")), table, "overwrite", overwrite_filter="id = 1"),
            [1, 2],
        ),
        "dynamic": (lambda table: frazil.spark.write(new, table, "dynamic"), [3]),
        "delete": (lambda table: frazil.spark.delete(spark, table, "id = 1"), [2]),
        "update": (lambda table: frazil.spark.update(spark, table, {"id": 7}, "id = 1"), [2, 7]),
        "merge": (lambda table: merge(new, table, ["id"]).when_not_matched_insert_all().execute(), [1, 2, 3]),
        "source": (lambda table: saved(new, table, "append"), [1, 2, 3]),
        "source_overwrite": (lambda table: saved(new, table, "overwrite"), [3]),
    }


def saved(rows: DataFrame, table: Any, mode: str) -> None:
    rows.write.format("frazil").mode(mode).save(table.location)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_change_and_read_the_branch(spark: SparkSession, lake: Lake[Any], name: str, statement: str) -> None:
    with settings(spark, branch="audit"):
        assert ids(lake, f"SELECT id FROM {name}") == [1, 2], "without the branch, main is read"
        lake.sql(statement.format(t=name))
        assert ids(lake, f"SELECT id FROM {name}") == STATEMENTS[statement]
        assert ids(lake, f"SELECT id FROM {name}.branch_main") == [1, 2]
        lake.sql(f"INSERT INTO {name} VALUES (100, 'later')")
        assert ids(lake, f"SELECT id FROM {name}") == [*STATEMENTS[statement], 100]
    assert ids(lake, f"SELECT id FROM {name}") == [1, 2]
    assert ids(lake, f"SELECT id FROM {name}.branch_audit") == [*STATEMENTS[statement], 100]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_are_staged(spark: SparkSession, lake: Lake[Any], name: str, statement: str) -> None:
    with settings(spark, id="load1"):
        lake.sql(statement.format(t=name))
        assert ids(lake, f"SELECT id FROM {name}") == [1, 2]
    table = lake.table(name)
    assert [one.summary.get("wap.id") for one in table.snapshots()] == [None, "load1"]
    lake.sql("CALL ice.system.publish_changes('d.t', 'load1')")
    assert ids(lake, f"SELECT id FROM {name}") == STATEMENTS[statement]
    with pytest.raises(frazil.errors.FrazilError, match="already"):
        lake.sql("CALL ice.system.publish_changes('d.t', 'load1')")


@pytest.mark.parametrize("write", PYTHON_WRITES)
def test_python_writes_change_the_branch_and_are_staged(
    spark: SparkSession, lake: Lake[Any], name: str, write: str
) -> None:
    change, expected = python_writes(spark)[write]
    with settings(spark, branch="audit"):
        change(lake.table(name))
        read = frazil.spark.read(spark, lake.table(name))
        assert sorted(row.id for row in read.collect()) == expected
    assert ids(lake, f"SELECT id FROM {name}") == [1, 2]
    assert ids(lake, f"SELECT id FROM {name}.branch_audit") == expected
    with settings(spark, id="load1"):
        change(lake.table(name))
    assert ids(lake, f"SELECT id FROM {name}") == [1, 2]
    assert lake.table(name).snapshots()[-1].summary["wap.id"] == "load1"


def test_plain_statements_change_the_branch(spark: SparkSession, tmp_path: Path) -> None:
    catalogs = {"ice": {"type": "hadoop", "warehouse": str(tmp_path)}}
    with frazil.spark.connect(spark, catalogs, plain=True):
        spark.sql("CREATE NAMESPACE ice.d")
        spark.sql(f"CREATE TABLE ice.d.t (id INT) {ENABLED}")
        spark.sql("SET spark.wap.branch = audit")
        try:
            spark.sql("INSERT INTO ice.d.t VALUES (1)")
            assert spark.sql("SELECT * FROM ice.d.t").collect() == [(1,)]
        finally:
            spark.conf.unset("spark.wap.branch")
        assert spark.sql("SELECT * FROM ice.d.t").collect() == []


def test_the_branch_of_an_empty_table_is_created(spark: SparkSession, lake: Lake[Any]) -> None:
    lake.sql(f"CREATE TABLE ice.d.e (id INT) {ENABLED}")
    with settings(spark, branch="audit"):
        assert ids(lake, "SELECT id FROM ice.d.e") == []
        lake.sql("DELETE FROM ice.d.e WHERE id = 1")
        lake.sql("INSERT INTO ice.d.e VALUES (1)")
        assert ids(lake, "SELECT id FROM ice.d.e") == [1]
    assert lake.table("ice.d.e").current_snapshot() is None


def test_a_delete_that_changes_nothing_creates_no_snapshot(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    with settings(spark, branch="audit"):
        lake.sql(f"DELETE FROM {name} WHERE id = 77")
        assert ids(lake, f"SELECT id FROM {name}") == [1, 2]
    with settings(spark, id="load1"):
        lake.sql(f"DELETE FROM {name} WHERE id = 77")
    table = lake.table(name)
    assert list(table.refs()) == ["main"]
    assert len(table.snapshots()) == 1


def test_a_failed_statement_creates_no_branch(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    with settings(spark, branch="audit"), pytest.raises(Exception, match="no column"):
        lake.sql(f"UPDATE {name} SET missing = 1")
    assert list(lake.table(name).refs()) == ["main"]


def test_tables_without_the_property_ignore_the_settings(spark: SparkSession, lake: Lake[Any]) -> None:
    lake.sql("CREATE TABLE ice.d.o (id INT, v STRING) TBLPROPERTIES ('write.wap.enabled'='false')")
    with settings(spark, branch="audit", id="load1"):
        lake.sql("INSERT INTO ice.d.o VALUES (1, 'a')")
        frazil.spark.write(frame(spark, (2, "b")), lake.table("ice.d.o"))
        saved(frame(spark, (3, "c")), lake.table("ice.d.o"), "append")
        assert ids(lake, "SELECT id FROM ice.d.o") == [1, 2, 3]
    assert ids(lake, "SELECT id FROM ice.d.o") == [1, 2, 3]


@pytest.mark.parametrize("statement", ["SELECT id FROM {t}", *STATEMENTS])
def test_both_settings_are_refused(spark: SparkSession, lake: Lake[Any], name: str, statement: str) -> None:
    with settings(spark, branch="audit", id="load1"), pytest.raises(InvalidArgumentError, match="mutually exclusive"):
        lake.sql(statement.format(t=name))
    assert len(lake.table(name).snapshots()) == 1


def test_both_settings_are_refused_for_dataframes(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    table = lake.table(name)
    with settings(spark, branch="audit", id="load1"):
        with pytest.raises(InvalidArgumentError, match="mutually exclusive"):
            frazil.spark.write(frame(spark, (3, "c")), table)
        with pytest.raises(Exception, match="mutually exclusive"):
            frazil.spark.read(spark, table).collect()
        with pytest.raises(Exception, match="mutually exclusive"):
            saved(frame(spark, (3, "c")), table, "append")
    assert len(lake.table(name).snapshots()) == 1


def test_a_selected_branch_takes_precedence(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    lake.sql(f"ALTER TABLE {name} CREATE BRANCH other")
    with settings(spark, branch="audit"):
        lake.sql(f"INSERT INTO {name}.branch_other VALUES (3, 'c')")
        lake.sql(f"DELETE FROM {name}.branch_main WHERE id = 1")
        frazil.spark.write(frame(spark, (4, "d")), lake.table(name), branch="other")
        frame(spark, (5, "e")).write.format("frazil").mode("append").option("branch", "main").save(
            lake.table(name).location
        )
    table = lake.table(name)
    assert sorted(table.refs()) == ["main", "other"]
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 5]
    assert sorted(table.scan(ref="other").to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


def test_time_travel_and_metadata_tables_ignore_the_branch(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    first = lake.table(name).current_snapshot().snapshot_id
    with settings(spark, branch="audit"):
        lake.sql(f"INSERT INTO {name} VALUES (3, 'c')")
        for query in (
            f"SELECT id FROM {name} VERSION AS OF {first}",
            f"SELECT id FROM {name} VERSION AS OF 'main'",
            f"SELECT id FROM {name}.snapshot_id_{first}",
            f"SELECT id FROM {name} /*+ OPTIONS('snapshot-id'='{first}') */",
            f"SELECT id FROM {name} /*+ OPTIONS('branch'='main') */",
        ):
            assert ids(lake, query) == [1, 2], query
        assert lake.sql(f"SELECT count(*) FROM {name}.files").collect() == [(1,)]
        read = frazil.spark.read(spark, lake.table(name), snapshot_id=first)
        assert sorted(row.id for row in read.collect()) == [1, 2]


def test_the_branch_may_not_be_a_tag(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    lake.sql(f"ALTER TABLE {name} CREATE TAG audit")
    with settings(spark, branch="audit"), pytest.raises(InvalidArgumentError, match="is a tag"):
        lake.sql(f"INSERT INTO {name} VALUES (3, 'c')")


def test_new_tables_have_their_rows_on_the_branch(spark: SparkSession, lake: Lake[Any]) -> None:
    with settings(spark, branch="audit"):
        lake.sql(f"CREATE TABLE ice.d.c {ENABLED} AS SELECT 1 AS id")
        assert ids(lake, "SELECT id FROM ice.d.c") == [1]
    assert ids(lake, "SELECT id FROM ice.d.c") == []
    with settings(spark, id="load1"):
        lake.sql(f"CREATE TABLE ice.d.s {ENABLED} AS SELECT 1 AS id")
        assert ids(lake, "SELECT id FROM ice.d.s") == []
    lake.sql("CALL ice.system.publish_changes('d.s', 'load1')")
    assert ids(lake, "SELECT id FROM ice.d.s") == [1]


def test_a_wap_id_of_several_snapshots_is_not_published(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    with settings(spark, id="load1"):
        for number in (3, 4):
            lake.sql(f"INSERT INTO {name} VALUES ({number}, 'c')")
    with pytest.raises(InvalidArgumentError, match="several snapshots"):
        lake.sql("CALL ice.system.publish_changes('d.t', 'load1')")


def test_a_data_source_that_cannot_know_the_branch_is_refused(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    folder = lake.table(name).location
    source = spark.read.format("frazil")
    with settings(spark, branch="audit"):
        assert source.load(folder).count() == 2
        lake.sql(f"INSERT INTO {name} VALUES (3, 'c')")
        with pytest.raises(Exception, match=r"wap.branch. is set"):
            source.load(folder).collect()
        assert spark.read.format("frazil").option("branch", "audit").load(folder).count() == 3


def test_an_overwrite_of_rows_that_are_read_detects_conflicts(spark: SparkSession, lake: Lake[Any], name: str) -> None:
    lake.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
    with settings(spark, branch="audit"):
        rows = lake.sql(f"SELECT id + 1 AS id, v FROM {name}")
        lake.sql(f"INSERT INTO {name} VALUES (3, 'c')")
        with pytest.raises(frazil.errors.CommitConflictError):
            frazil.spark.write(rows, lake.table(name), "overwrite")
        assert ids(lake, f"SELECT id FROM {name}") == [1, 2, 3]
