"""Tests of CREATE, DROP, DESCRIBE, USE and SHOW CURRENT CATALOG, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import frazil
from frazil.errors import AlreadyExistsError, FrazilError, InvalidArgumentError, UnsupportedError
from support.sql_lakes import RecordingEngine, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.sql import Lake


@pytest.fixture
def engine() -> RecordingEngine:
    return RecordingEngine()


@pytest.fixture
def lake(engine: RecordingEngine) -> Lake[int]:
    return recorded(engine)


def test_a_paimon_catalog_is_created_used_and_dropped(lake: Lake[int], engine: RecordingEngine, tmp_path: Path) -> None:
    lake.script(
        f"""
        CREATE CATALOG my_catalog COMMENT 'the lake' WITH (
            'type' = 'paimon', -- the format
            'warehouse' = '{tmp_path}/paimon'
        );
        USE CATALOG my_catalog;
        CREATE TABLE my_table (k INT PRIMARY KEY NOT ENFORCED, f0 INT) WITH ('bucket' = '1');
        SHOW CATALOGS;
        SHOW CURRENT CATALOG
        """
    )
    assert (tmp_path / "paimon/default.db/my_table/schema/schema-0").is_file()
    assert engine.frames[-2:] == [
        (("catalog",), [("my_catalog",), ("spark_catalog",)]),
        (("current catalog name",), [("my_catalog",)]),
    ]
    with pytest.raises(InvalidArgumentError, match="is the current catalog") as caught:
        lake.sql("DROP CATALOG my_catalog")
    assert caught.value.hint == "USE another catalog first"
    lake.script("USE CATALOG spark_catalog; DROP CATALOG my_catalog; DROP CATALOG IF EXISTS my_catalog")
    assert [text for text, _, _ in engine.queries] == ["SET CATALOG spark_catalog"]
    assert (tmp_path / "paimon/default.db/my_table/schema/schema-0").is_file()
    lake.sql("SHOW CURRENT CATALOG")
    assert engine.queries[-1][0] == "SELECT current_catalog() AS `current catalog name`"


def test_an_iceberg_catalog_in_the_notation_of_flink(lake: Lake[int], tmp_path: Path) -> None:
    implementation = "'catalog-impl'='org.apache.iceberg.hadoop.HadoopCatalog'"
    for name, kind in [("a", "'catalog-type'='hadoop'"), ("b", implementation)]:
        lake.script(
            f"CREATE CATALOG {name} WITH ('type'='iceberg', {kind}, 'warehouse'='{tmp_path}/{name}', "
            f"'property-version'='1'); CREATE TABLE {name}.db.t (id INT)"
        )
        assert lake.table(f"{name}.db.t").format_version == 2
        assert lake.catalog(name).type == "hadoop"
    lake.sql(f"CREATE CATALOG c WITH ('type'='hadoop', 'warehouse'='{tmp_path}/a', 'default-database'='db')")
    lake.sql("USE CATALOG c")
    assert lake.table("t").schema().column_names == ["id"]


def test_a_jdbc_catalog_in_the_notation_of_flink(lake: Lake[int], tmp_path: Path) -> None:
    lake.script(
        f"""
        CREATE CATALOG my_jdbc WITH ('type' = 'paimon', 'metastore' = 'jdbc', 'uri' = 'jdbc:sqlite:{tmp_path}/names.db',
            'jdbc.user' = '...', 'jdbc.password' = '...', 'catalog-key'='jdbc', 'warehouse' = '{tmp_path}/paimon');
        USE CATALOG my_jdbc;
        CREATE TABLE my_table (a INT)
        """
    )
    assert lake.catalog("my_jdbc").list_tables("default") == [("default", "my_table")]


@pytest.mark.parametrize(
    ("properties", "error", "problem"),
    [
        ("'type'='paimon', 'metastore'='hive'", UnsupportedError, "metastore 'hive'.*catalog 'my_hive'"),
        ("'type'='iceberg', 'catalog-type'='hive'", UnsupportedError, "type 'hive'.*catalog 'my_hive'"),
        ("'type'='iceberg', 'uri'='thrift://h:9083'", UnsupportedError, "type 'hive'.*catalog 'my_hive'"),
        ("'type'='generic_in_memory'", InvalidArgumentError, "'my_hive' has the unknown type 'generic_in_memory'"),
    ],
)
def test_an_unknown_kind_fails_on_first_use(
    lake: Lake[int], properties: str, error: type[FrazilError], problem: str
) -> None:
    lake.sql(f"CREATE CATALOG my_hive WITH ({properties})")
    lake.sql("SHOW CATALOGS")
    with pytest.raises(error, match=problem):
        lake.sql("SHOW TABLES IN my_hive.db")
    lake.sql("DROP CATALOG my_hive")


@pytest.mark.parametrize(
    ("statement", "error", "problem"),
    [
        (
            "CREATE CATALOG c WITH ('type'='paimon')",
            AlreadyExistsError,
            "'c' already exists (line 1, column 1)",
        ),
        ("CREATE CATALOG spark_catalog WITH ('type'='paimon')", AlreadyExistsError, "catalog 'spark_catalog' already"),
        ("DROP CATALOG d", InvalidArgumentError, "the lake has no catalog 'd'"),
        ("CREATE CATALOG", InvalidArgumentError, "expected the name of a catalog, the statement ends"),
        ("CREATE CATALOG x", InvalidArgumentError, "expected WITH and the properties of the catalog"),
        ("CREATE CATALOG x COMMENT 'c'", InvalidArgumentError, "expected WITH and the properties of the catalog"),
        ("DROP CATALOG spark_catalog", InvalidArgumentError, "because it is a catalog of Spark"),
        ("DROP CATALOG IF EXISTS spark_catalog", InvalidArgumentError, "because it is a catalog of Spark"),
        ("DESCRIBE CATALOG d", InvalidArgumentError, "the lake has no catalog 'd'"),
        ("CREATE CATALOG a.b WITH ('type'='paimon')", InvalidArgumentError, "the name of a catalog must have one part"),
        (
            "CREATE CATALOG x WITH ('type' 'paimon', 'type' 'hadoop')",
            InvalidArgumentError,
            "the key 'type' is",
        ),
        ("CREATE CATALOG x WITH 'type'", InvalidArgumentError, "expected ("),
        ("DROP CATALOG c CASCADE", InvalidArgumentError, "expected the end of the statement"),
    ],
)
def test_invalid_statements_about_catalogs(
    lake: Lake[int], engine: RecordingEngine, statement: str, error: type[FrazilError], problem: str
) -> None:
    lake.script("CREATE CATALOG c WITH ('type'='paimon'); CREATE CATALOG IF NOT EXISTS c WITH ('type'='hadoop')")
    with pytest.raises(error) as caught:
        lake.sql(statement)
    assert problem in str(caught.value)
    assert "line" in caught.value.context
    assert engine.queries == []


def test_a_catalog_is_described(engine: RecordingEngine, tmp_path: Path) -> None:
    opened = frazil.load_catalog("o", type="hadoop", warehouse=str(tmp_path))
    lake = recorded(engine, o=opened)
    lake.sql(
        "CREATE CATALOG c COMMENT 'the lake' WITH ('type'='paimon', 'warehouse'='s3://me:abc@wh', "
        "'s3.secret-key'='abc', 'default-database'='db', 'table-default.bucket'='2')"
    )
    lake.script("DESCRIBE CATALOG c; DESC CATALOG EXTENDED c; DESCRIBE CATALOG EXTENDED o")
    columns = ("info name", "info value string")
    basic = [("name", "c"), ("type", "paimon"), ("comment", "the lake")]
    options = [
        ("option:default-namespace", "db"),
        ("option:metastore", "filesystem"),
        ("option:s3.secret-key", "*********(redacted)"),
        ("option:table-default.bucket", "2"),
        ("option:warehouse", "s3://***@wh"),
    ]
    other = [("name", "o"), ("type", "hadoop"), ("comment", None)]
    assert engine.frames[1:] == [(columns, basic), (columns, basic + options), (columns, other)]


def test_a_table_may_be_named_catalog(lake: Lake[int], engine: RecordingEngine) -> None:
    lake.script("DESCRIBE catalog; DESCRIBE TABLE catalog")
    assert [text.strip() for text, _, _ in engine.queries] == ["DESCRIBE catalog", "DESCRIBE TABLE catalog"]
