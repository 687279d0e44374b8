"""Tests of SHOW and DESCRIBE, with the results of Spark with Iceberg's connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from support import sql_alterations

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

CREATE = """CREATE TABLE local.db.t (
  id BIGINT NOT NULL,
  name STRING COMMENT 'the \\'name\\'',
  ts TIMESTAMP,
  v INT,
  f FLOAT,
  d DECIMAL(9,2),
  s STRUCT<x: INT, y: STRING>,
  l ARRAY<STRUCT<a: INT>>,
  m MAP<STRING, STRUCT<b: INT>>)
USING iceberg
PARTITIONED BY (bucket(8, id), days(ts))
COMMENT 'it\\'s'
LOCATION '{location}'
TBLPROPERTIES (
  'a' = '1',
  'current-snapshot-id' = '{snapshot}',
  'format' = 'iceberg/parquet',
  'format-version' = '2',
  'identifier-fields' = '[id]',
  'password' = '*********(redacted)',
  'secret.key' = '*********(redacted)',
  'sort-order' = 'id DESC NULLS LAST, days(ts) ASC NULLS FIRST',
  'write.distribution-mode' = 'range')
"""

EXTENDED = """Catalog: local
Namespace: db
Table: t
Type: MANAGED
Comment: it's
Location: {location}
Provider: iceberg
Table Properties: [{properties}]
Schema: root
 |-- id: long (nullable = false)
 |-- name: string (nullable = true)
"""


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    catalog = frazil.load_catalog("local", type="hadoop", warehouse=str(tmp_path / "local"))
    catalog.create_namespace("db")
    sql_alterations.make(catalog, "t", 2)
    paimon = frazil.load_catalog("paimon", type="paimon", warehouse=str(tmp_path / "paimon"))
    paimon.create_namespace("db")
    lake = frazil.spark.connect(spark, {"local": catalog, "paimon": paimon})
    lake.script("""
        ALTER TABLE local.db.t SET TBLPROPERTIES ('comment' = 'it''s', 'password' = 'hush', 'secret.key' = 'x');
        ALTER TABLE local.db.t WRITE ORDERED BY id DESC, days(ts);
        ALTER TABLE local.db.t ALTER COLUMN name COMMENT 'the ''name''';
        CREATE TABLE paimon.db.p (id INT NOT NULL COMMENT 'key', dt STRING, v ROW<a INT NOT NULL>)
        PARTITIONED BY (dt) COMMENT 'about p' TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'id');
        INSERT INTO paimon.db.p (id, dt) VALUES (1, 'a'), (2, 'b'), (3, NULL);
    """)
    return lake


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_show_create_table_is_the_text_of_spark(lake: Lake[DataFrame]) -> None:
    table = lake.table("local.db.t")
    expected = CREATE.format(location=table.location, snapshot=table.current_snapshot().snapshot_id)
    shown = lake.sql("SHOW CREATE TABLE local.db.t")
    assert (shown.columns, rows(shown)) == (["createtab_stmt"], [(expected,)])
    [(text,)] = rows(lake.sql("SHOW CREATE TABLE paimon.db.p"))
    assert text == (
        "CREATE TABLE paimon.db.p (\n  id INT NOT NULL COMMENT 'key',\n  dt STRING,\n  v ROW<`a` INT NOT NULL>)\n"
        "USING paimon\nPARTITIONED BY (dt)\nCOMMENT 'about p'\n"
        "TBLPROPERTIES (\n  'bucket' = '2',\n  'bucket-key' = 'id')\n"
    )


def test_properties_are_shown_without_secrets(lake: Lake[DataFrame]) -> None:
    shown = lake.sql("SHOW TBLPROPERTIES local.db.t")
    assert shown.columns == ["key", "value"]
    found = dict(rows(shown))
    assert (found["a"], found["password"], found["identifier-fields"]) == ("1", "*********(redacted)", "[id]")
    assert list(found) == sorted(found)
    assert "comment" not in found
    assert rows(lake.sql("SHOW TBLPROPERTIES local.db.t ('a')")) == [("a", "1")]
    missing = "Table local.db.t does not have property: b.c"
    assert rows(lake.sql("SHOW TBLPROPERTIES local.db.t (b.c)")) == [("b.c", missing)]
    details = {row[0]: row[1] for row in rows(lake.sql("DESCRIBE EXTENDED local.db.t"))}
    assert "hush" not in details["Table Properties"]
    assert details["Comment"] == "it's"


def test_columns_tables_and_catalogs_are_listed(lake: Lake[DataFrame]) -> None:
    names = [(name,) for name in sql_alterations.COLUMNS.names]
    assert rows(lake.sql("SHOW COLUMNS IN local.db.t")) == names
    assert rows(lake.sql("SHOW COLUMNS FROM t FROM local.db")) == names
    with pytest.raises(InvalidArgumentError, match=r"the namespaces of db2\.t and local\.db differ"):
        lake.sql("SHOW COLUMNS FROM db2.t IN local.db")
    [(namespace, name, is_temporary, text)] = rows(lake.sql("SHOW TABLE EXTENDED IN local.db LIKE 't*'"))
    assert (namespace, name, is_temporary) == ("db", "t", False)
    pairs = rows(lake.sql("SHOW TBLPROPERTIES local.db.t"))
    properties = ",".join(f"{key}={value}" for key, value in pairs)
    assert text.startswith(EXTENDED.format(location=lake.table("local.db.t").location, properties=properties))
    assert rows(lake.sql("SHOW TABLE EXTENDED IN local.db LIKE 'x'")) == []
    assert rows(lake.sql("SHOW CATALOGS LIKE 'p*'")) == [("paimon",)]


def test_a_column_a_query_and_a_namespace_are_described(lake: Lake[DataFrame]) -> None:
    described = lake.sql("DESC local.db.t NAME")
    assert described.columns == ["info_name", "info_value"]
    assert rows(described) == [("col_name", "name"), ("data_type", "string"), ("comment", "the 'name'")]
    assert rows(lake.sql("DESC EXTENDED local.db.t id"))[2] == ("comment", "NULL")
    for query in ("DESCRIBE QUERY SELECT id, s FROM local.db.t", "DESC SELECT id, s FROM local.db.t"):
        assert [row[:2] for row in rows(lake.sql(query))] == [("id", "bigint"), ("s", "struct<x:int,y:string>")]
    found = rows(lake.sql("DESCRIBE NAMESPACE local.db"))
    assert found[:2] == [("Catalog Name", "local"), ("Namespace Name", "db")]
    assert rows(lake.sql("DESCRIBE DATABASE EXTENDED local.db"))[-1] == ("Properties", "")
    files = rows(lake.sql("DESCRIBE local.db.t.files"))
    assert files[1][:2] == ("file_path", "string")
    for statement, message in [
        ("DESCRIBE local.db.t nope", r"no column nope \(line 1, column 21\)"),
        ("DESCRIBE local.db.t s.x", "struct field s.x is not supported"),
        ("DESCRIBE NAMESPACE local.nope", "nope"),
        ("SHOW CREATE TABLE local.db.t.files", "SHOW is not supported for metadata table"),
    ]:
        with pytest.raises(FrazilError, match=message):
            lake.sql(statement)


def test_partitions_of_paimon_tables_are_shown(lake: Lake[DataFrame]) -> None:
    default = ("dt=__DEFAULT_PARTITION__",)
    shown = lake.sql("SHOW PARTITIONS paimon.db.p")
    assert (shown.columns, rows(shown)) == (["partition"], [default, ("dt=a",), ("dt=b",)])
    assert rows(lake.sql("SHOW PARTITIONS paimon.db.p PARTITION (DT = 'a')")) == [("dt=a",)]
    assert rows(lake.sql("SHOW PARTITIONS paimon.db.p PARTITION (dt = NULL)")) == [default]
    with pytest.raises(InvalidArgumentError, match="`id` is not a partition column"):
        lake.sql("SHOW PARTITIONS paimon.db.p PARTITION (id = 1)")
    with pytest.raises(UnsupportedError, match="SHOW PARTITIONS is not supported for Iceberg tables"):
        lake.sql("SHOW PARTITIONS local.db.t")
    details = {row[0]: row[1] for row in rows(lake.sql("DESCRIBE EXTENDED paimon.db.p"))}
    assert (details["Provider"], details["Comment"]) == ("paimon", "about p")
    assert details["Table Properties"] == "[bucket=2,bucket-key=id]"
