"""Tests of `spark.sql` after `frazil.spark.connect(…, plain=True)`."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import CommitConflictError, InvalidArgumentError, UnsupportedError
from support import plain_sql
from support.spark_cluster import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

AnalysisException = pytest.importorskip("pyspark.errors").AnalysisException

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def restored(spark: SparkSession) -> Iterator[None]:
    """Check that a test restores the method, and restore it for other tests."""
    yield
    assert vars(spark).pop("sql", None) is None


def connect(spark: SparkSession, folder: Path, name: str = "local", *, plain: bool = True) -> Lake[DataFrame]:
    """Return a lake whose table `db.t` contains the name of its catalog."""
    lake = frazil.spark.connect(spark, {name: {"type": "hadoop", "warehouse": str(folder / name)}}, plain=plain)
    if not (folder / name).exists():
        lake.sql(f"CREATE TABLE {name}.db.t AS SELECT '{name}' AS name")
    return lake


def error(function: Callable[[str], Any], argument: str) -> Exception:
    """Return the error of a call."""
    try:
        function(argument)
    except Exception as found:  # noqa: BLE001 - any error is compared
        return found
    pytest.fail(f"{argument} does not fail")


def first(frame: DataFrame) -> Any:
    return frame.collect()[0][0]


def test_a_session_of_classic(spark: SparkSession, tmp_path: Path) -> None:
    plain_sql.check(plain_sql.run(spark, tmp_path))


@pytest.mark.skipif(find_spec("grpc") is None, reason="needs the packages of pyspark[connect]")
def test_a_session_of_connect(tmp_path: Path) -> None:
    found = run(Path(__file__).parent / "connect_plain_sql_job.py", str(tmp_path))
    assert "connect" in found["connected"]
    plain_sql.check(found)


def test_the_last_lake_runs_the_statements_until_it_is_disconnected(spark: SparkSession, tmp_path: Path) -> None:
    outer = connect(spark, tmp_path, "one")
    inner = connect(spark, tmp_path, "two")
    assert first(spark.sql("SELECT name FROM two.db.t")) == "two"
    with pytest.raises(AnalysisException):
        spark.sql("SELECT name FROM one.db.t")
    assert first(outer.sql("SELECT name FROM one.db.t")) == "one"
    with pytest.raises(InvalidArgumentError, match="replaced again after this lake was connected; disconnect the lake"):
        outer.disconnect()
    inner.disconnect()
    inner.disconnect()
    assert first(spark.sql("SELECT name FROM one.db.t")) == "one"
    outer.disconnect()
    assert first(inner.sql("SELECT name FROM two.db.t")) == "two"


def test_a_lake_can_be_connected_twice(spark: SparkSession, tmp_path: Path) -> None:
    own = spark.sql
    with connect(spark, tmp_path) as lake:
        lake.sql("USE local.db")
        with connect(spark, tmp_path):
            # The state of the first lake does not apply, because the second lake passes statements on to Spark.
            with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
                spark.sql("SELECT * FROM t")
            with connect(spark, tmp_path, plain=False) as without:
                assert first(without.sql("SELECT name FROM local.db.t")) == "local"
            assert first(spark.sql("SELECT name FROM local.db.t")) == "local"
        assert first(spark.sql("SELECT name FROM t")) == "local"
    assert spark.sql == own


def test_the_method_of_another_library_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[str] = []
    own = spark.sql

    def logged(query: str, *args: Any, **kwargs: Any) -> DataFrame:
        seen.append(query)
        return own(query, *args, **kwargs)

    vars(spark)["sql"] = logged
    with connect(spark, tmp_path):
        spark.sql("SELECT 1")
        assert seen[-1] == "SELECT 1"
    assert vars(spark).pop("sql") is logged


def test_errors_are_those_of_the_lake_and_restore_the_method(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="TABLESAMPLE is not supported"), connect(spark, tmp_path):
        spark.sql("SELECT * FROM local.db.t TABLESAMPLE (1 ROWS)")
    with connect(spark, tmp_path) as lake:
        for statement in ("SELECT", "DROP TABLE local.db.missing", "ALTER TABLE local.db.t NO", "SELECT 'a"):
            by_lake, by_session = error(lake.sql, statement), error(spark.sql, statement)
            assert (type(by_session), str(by_session)) == (type(by_lake), str(by_lake))
        with pytest.raises(KeyError, match="missing"):
            spark.sql("SELECT {missing}", text="a")


def test_statements_of_spark_run_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    with connect(spark, tmp_path):
        assert spark.sql("BEGIN DECLARE x INT DEFAULT 1; SELECT x; END").collect()[0][0] == 1
        assert first(spark.sql("SELECT '{}' || :self", args={"self": "{"})) == "{}{"
        assert first(spark.sql("SELECT {text} || {number:.2f}", text="it's", number=0.5)) == "it's0.50"
        assert first(spark.sql(sqlQuery="SELECT 1")) == 1
        assert spark.sql("SHOW FUNCTIONS LIKE 'abs'", args={}).count() == 1
        assert list(inspect.signature(spark.sql).parameters) == ["sqlQuery", "args", "kwargs"]


def test_other_sessions_do_not_know_the_catalogs(spark: SparkSession, tmp_path: Path) -> None:
    with connect(spark, tmp_path):
        other = spark.newSession()
        assert isinstance(error(other.sql, "SELECT * FROM local.db.t"), AnalysisException)
        assert isinstance(error(other.table, "local.db.t"), AnalysisException)
        assert isinstance(error(other.read.table, "local.db.t"), AnalysisException)


def test_threads_run_statements(spark: SparkSession, tmp_path: Path) -> None:
    with connect(spark, tmp_path), ThreadPoolExecutor(4) as pool:
        frames = pool.map(lambda number: spark.sql("SELECT name, {n} FROM local.db.t", n=number).collect(), range(8))
        assert [list(row) for [row] in frames] == [["local", number] for number in range(8)]


def test_workers_write_the_rows_of_a_statement(spark: SparkSession, tmp_path: Path) -> None:
    with connect(spark, tmp_path) as lake:
        spark.sql(
            "INSERT INTO local.db.t SELECT upper(name) || id FROM {rows}, local.db.t", rows=spark.range(0, 9, 1, 3)
        )
        assert lake.table("local.db.t").scan().count() == 10
        spark.sql("UPDATE local.db.t SET name = CAST(1 AS STRING) WHERE name = 'local'")
        assert spark.sql("SELECT * FROM local.db.t WHERE name = '1'").count() == 1


def test_a_dataframe_conflicts_with_changes_after_its_creation(spark: SparkSession, tmp_path: Path) -> None:
    with connect(spark, tmp_path) as lake:
        old = spark.sql("SELECT name FROM local.db.t")
        lake.table("local.db.t").append([{"name": "concurrent"}])
        with pytest.raises(CommitConflictError):
            spark.sql("INSERT OVERWRITE local.db.t SELECT upper(name) FROM {old}", old=old)
        new = spark.sql("SELECT name FROM local.db.t")
        spark.sql("INSERT OVERWRITE local.db.t SELECT upper(name) FROM {new}", new=new)
        assert spark.sql("SELECT * FROM local.db.t WHERE name = upper(name)").count() == 2


def test_a_placeholder_must_be_a_plain_column(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import PySparkValueError
    from pyspark.sql import functions

    with connect(spark, tmp_path), pytest.raises(PySparkValueError, match="in `column` should be a plain column"):
        spark.sql("SELECT {column} FROM local.db.t", column=functions.col("name") + 1)
