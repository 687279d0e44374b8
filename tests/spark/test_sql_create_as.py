"""CREATE TABLE … AS and REPLACE TABLE in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.spark
from frazil.errors import AlreadyExistsError, InvalidArgumentError, MissingFileError, NoSuchTableError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

ROWS = "SELECT id, concat('n', id) AS name, DATE'2024-01-01' + CAST(id % 2 AS INT) AS day FROM range(0, 6, 1, 2)"
FAILS = "SELECT IF(id = 5, raise_error('no'), id) AS id FROM range(0, 6, 1, 2)"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    catalogs = {
        "hadoop": {"type": "hadoop", "warehouse": str(tmp_path / "hadoop")},
        "local": {"type": "local", "path": str(tmp_path / "local")},
        "sql": {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": str(tmp_path / "sql")},
        "paimon": {"type": "paimon", "warehouse": str(tmp_path / "paimon")},
    }
    lake = frazil.spark.connect(spark, catalogs)
    for name in ("local", "sql", "paimon"):
        lake.sql(f"CREATE NAMESPACE {name}.db")
    return lake


def values(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


def contents(folder: Path) -> set[str]:
    """Return files and folders, except those of SQLite."""
    return {str(path) for path in folder.rglob("*") if not path.name.startswith("catalog.db")}


@pytest.mark.parametrize("catalog", ["hadoop", "local", "sql", "paimon"])
def test_a_table_is_created_with_the_columns_and_rows_of_a_query(lake: Lake[DataFrame], catalog: str) -> None:
    name = f"{catalog}.db.t"
    lake.sql(f"CREATE TABLE {name} PARTITIONED BY (day) TBLPROPERTIES ('a' = 'b') AS {ROWS}")
    assert values(lake.sql(f"SELECT * FROM {name}")) == values(lake.sql(ROWS))
    table = lake.table(name)
    assert len(table.snapshots()) == 1
    assert [field.name for field in table.schema().fields] == ["id", "name", "day"]
    assert (table.properties if catalog != "paimon" else table.options)["a"] == "b"
    lake.sql(f"CREATE TABLE IF NOT EXISTS {name} AS {FAILS}")
    with pytest.raises(AlreadyExistsError):
        lake.sql(f"CREATE TABLE {name} AS SELECT 1 AS id")
    assert len(lake.table(name).snapshots()) == 1


@pytest.mark.parametrize("catalog", ["hadoop", "local", "sql", "paimon"])
def test_a_failed_query_leaves_nothing(lake: Lake[DataFrame], tmp_path: Path, catalog: str) -> None:
    before = contents(tmp_path)
    with pytest.raises(Exception, match="no"):
        lake.sql(f"CREATE TABLE {catalog}.db.t AS {FAILS}")
    with pytest.raises((NoSuchTableError, MissingFileError)):
        lake.table(f"{catalog}.db.t")
    # A hadoop catalog creates the namespace of a new table.
    assert contents(tmp_path) - before <= {str(tmp_path / "hadoop"), str(tmp_path / "hadoop" / "db")}


@pytest.mark.parametrize("catalog", ["hadoop", "local", "sql"])
def test_a_table_is_replaced_in_one_commit(lake: Lake[DataFrame], tmp_path: Path, catalog: str) -> None:
    name = f"{catalog}.db.t"
    lake.sql(f"CREATE TABLE {catalog}.db.other (id INT) USING iceberg")
    with pytest.raises(NoSuchTableError):
        lake.sql(f"REPLACE TABLE {name} AS SELECT 1 AS id")
    lake.sql(f"CREATE OR REPLACE TABLE {name} TBLPROPERTIES ('a' = 'b') AS {ROWS}")
    uuid = lake.table(name).uuid
    lake.sql(f"CREATE OR REPLACE TABLE {name} PARTITIONED BY (bucket(2, id)) AS SELECT name, id + 10 AS id FROM {name}")
    assert values(lake.sql(f"SELECT * FROM {name}")) == [(f"n{number}", number + 10) for number in range(6)]
    table = lake.table(name)
    assert (table.uuid, table.properties["a"], len(table.snapshots())) == (uuid, "b", 2)
    first = table.snapshots()[0].snapshot_id
    assert lake.sql(f"SELECT * FROM {name} VERSION AS OF {first}").columns == ["id", "name", "day"]
    before = contents(tmp_path)
    with pytest.raises(Exception, match="no"):
        lake.sql(f"REPLACE TABLE {name} AS {FAILS}")
    assert contents(tmp_path) == before
    assert lake.sql(f"SELECT * FROM {name}").count() == 6
    lake.sql(f"REPLACE TABLE {name} (id STRING NOT NULL COMMENT 'key') USING iceberg")
    assert lake.sql(f"SELECT * FROM {name}").count() == 0
    assert [(field.name, field.doc) for field in lake.table(name).schema().fields] == [("id", "key")]
    assert len(lake.table(name).snapshots()) == 2


def test_types_of_a_query_become_types_of_a_table(lake: Lake[DataFrame]) -> None:
    lake.sql(
        """
        CREATE TABLE local.db.t AS SELECT
            1Y AS a, 2S AS b, 3 AS c, 4L AS d, 1.5F AS e, 1.5D AS f, 1.25BD AS g, true AS h, 'x' AS i, X'00' AS j,
            DATE'2024-02-29' AS k, TIMESTAMP'2024-02-29 12:00:00' AS l, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS m,
            array(named_struct('x y', 1, 'z', map('k', 2L))) AS n, CAST('x' AS VARCHAR(3)) AS o
        """
    )
    table = lake.table("local.db.t")
    assert [str(field).partition(": ")[2] for field in table.schema().fields] == [
        "a: optional int",
        "b: optional int",
        "c: optional int",
        "d: optional long",
        "e: optional float",
        "f: optional double",
        "g: optional decimal(3, 2)",
        "h: optional boolean",
        "i: optional string",
        "j: optional binary",
        "k: optional date",
        "l: optional timestamptz",
        "m: optional timestamp",
        "n: optional list<struct<17: x y: optional int, 18: z: optional map<string, long>>>",
        "o: optional string",
    ]
    with pytest.raises(UnsupportedError, match=r"column `a\.b` of the query: tables do not support the type void"):
        lake.sql("CREATE TABLE local.db.u AS SELECT named_struct('b', NULL) AS a")
    with pytest.raises(InvalidArgumentError, match="two columns"):
        lake.sql("CREATE TABLE local.db.u AS SELECT 1 AS a, 2 AS A")
    with pytest.raises(UnsupportedError, match="a column list with AS"):
        lake.sql("CREATE TABLE local.db.u (id INT) AS SELECT 1")
    with pytest.raises(UnsupportedError, match="REPLACE TABLE is not supported for Paimon tables"):
        lake.sql("CREATE OR REPLACE TABLE paimon.db.u AS SELECT 1 AS a")


def test_parameters_of_a_query_that_fills_a_table(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE local.db.t AS SELECT :a AS a, id FROM range(:n)", {"a": "x", "n": 2})
    lake.sql("INSERT INTO local.db.t SELECT ?, ?", ["y", 7])
    assert values(lake.sql("SELECT * FROM local.db.t")) == [("x", 0), ("x", 1), ("y", 7)]


def test_rows_of_a_frame_are_one_change_of_a_transaction(lake: Lake[DataFrame], spark: SparkSession) -> None:
    lake.sql("CREATE TABLE local.db.t (id BIGINT) USING iceberg")
    table = lake.table("local.db.t")
    with table.transaction() as changes:
        changes.update_schema().add_column("name", "string").commit()
        written = frazil.spark.write(lake.sql("SELECT id, 'x' AS name FROM range(4)"), changes)
        frazil.spark.write(spark.range(1), changes, "overwrite", overwrite_filter="id < 2")
        assert table.refresh().scan().count() == 0
    assert written.added_records == 4
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == [
        "{'id': 0, 'name': None}",
        "{'id': 2, 'name': 'x'}",
        "{'id': 3, 'name': 'x'}",
    ]
