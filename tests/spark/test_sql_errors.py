"""Tests of errors of Spark in statements of a lake, which must speak of the statement that the user wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import frazil.spark
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

UNKNOWN_COLUMNS = {
    "SELECT nam FROM {t}": "line 1 pos 7",
    "SELECT\n  id,\n  x.nam FROM {t} AS x": "line 3 pos 2",
    "INSERT INTO {t} SELECT nam, 1, 2 FROM {t}": "line 1 pos 27",
    "DELETE FROM {t} WHERE nam = 'a'": "line 1 pos 26",
    "UPDATE {t} SET city = 'x' WHERE upper(nam) = 'A'": "line 1 pos 42",
    "UPDATE {t} SET city = nam": "line 1 pos 26",
    "MERGE INTO {t} x USING (SELECT 1 AS id) s ON x.id = s.id AND x.nam = 'a' WHEN MATCHED THEN DELETE": "pos 65",
    "MERGE INTO {t} x USING (SELECT 1 AS id) s ON x.id = s.id WHEN MATCHED AND nam = 1 THEN DELETE": "pos 78",
    "CREATE TEMPORARY VIEW v AS SELECT nam FROM {t}": "line 1 pos 34",
}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    catalogs = {
        "ice": {"type": "hadoop", "warehouse": str(tmp_path / "ice")},
        "pai": {"type": "paimon", "warehouse": str(tmp_path / "pai")},
    }
    lake = frazil.spark.connect(spark, catalogs)
    lake.script("CREATE NAMESPACE ice.d; CREATE NAMESPACE pai.d")
    columns = "(id INT NOT NULL, name STRING, city STRING)"
    lake.sql(f"CREATE TABLE ice.d.t {columns}")
    lake.sql(f"CREATE TABLE pai.d.t {columns} TBLPROPERTIES ('primary-key' = 'id')")
    return lake


@pytest.mark.parametrize("table", ["ice.d.t", "pai.d.t"])
def test_unknown_columns_are_answered_with_those_of_the_table(lake: Lake[DataFrame], table: str) -> None:
    from pyspark.errors import AnalysisException

    for statement, place in UNKNOWN_COLUMNS.items():
        with pytest.raises(AnalysisException) as caught:
            lake.sql(statement.format(t=table))
        shown = str(caught.value)
        assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
        assert "[`name`, " in shown, statement
        assert all(f"`{name}`" in shown for name in ("id", "city")), statement
        assert shown.endswith(place), statement
        assert "__frazil" not in shown, statement
        assert "_pyspark_" not in shown, statement


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("SELECT * FORM ice.d.t", "line 1, column 15: at or near 'ice'; the line is 'SELECT * FORM ice.d.t'"),
        ("SELEC * FROM ice.d.t", "line 1, column 1: at or near 'SELEC'"),
        ("SELECT id,\n count(name, FROM ice.d.t", "line 2, column 19"),
        ("SELECT id FROM ice.d.t$snapshots WHERE id = = 2", "line 1, column 45: at or near '='"),
        ("DELETE FROM ice.d.t WHERE id = = 1 + id", "line 1, column 32"),
        ("UPDATE ice.d.t SET id = id + + * 2", "line 1, column 34"),
    ],
)
def test_syntax_errors_are_at_their_place(lake: Lake[DataFrame], statement: str, place: str) -> None:
    with pytest.raises(InvalidArgumentError, match="syntax error") as caught:
        lake.sql(statement)
    assert place in str(caught.value)


def test_queries_that_only_spark_parses_are_not_syntax_errors(lake: Lake[DataFrame]) -> None:
    with pytest.raises(UnsupportedError, match="TABLESAMPLE is not supported"):
        lake.sql("SELECT * FROM ice.d.t TABLESAMPLE (5 ROWS)")


def test_unknown_catalogs_are_answered_with_near_ones(lake: Lake[DataFrame]) -> None:
    for statement, shown in {
        "SELECT * FROM icee.d.t": "there is no catalog or namespace `icee`; did you mean `ice`?",
        "USE nocat": "there is no catalog or namespace `nocat`; the catalogs are ice, pai, spark_catalog",
    }.items():
        with pytest.raises(Exception, match="there is no catalog") as caught:
            lake.sql(statement)
        assert str(caught.value) == shown


def test_errors_of_statements_without_lake_tables_are_those_of_spark(lake: Lake[DataFrame]) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=r"one of the following\? \[`a`\]"):
        lake.sql("SELECT b FROM (SELECT 1 AS a)")


def test_errors_of_the_data_source_have_no_traceback_of_this_package(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no Iceberg table at") as caught:
        spark.read.format("frazil").load(str(tmp_path / "nope"))
    assert str(caught.value).count("  File ") == 1
