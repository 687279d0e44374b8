"""The statements of a guide to Paimon in Flink SQL, in order and unchanged, with the results that the guide shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import frazil.spark
from frazil.errors import FrazilError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

CATALOGS = """
CREATE CATALOG my_catalog WITH (
    'type' = 'paimon',
    'warehouse' = '{warehouse}'
);
CREATE CATALOG my_hive WITH (
    'type' = 'paimon',
    'metastore' = 'hive'
    -- 'warehouse' = 'hdfs:///path/to/warehouse', default use 'hive.metastore.warehouse.dir' in HiveConf
);
CREATE CATALOG my_jdbc WITH (
    'type' = 'paimon',
    'metastore' = 'jdbc',
    'uri' = 'jdbc:sqlite:{warehouse}/catalog.db',
    'jdbc.user' = '...',
    'jdbc.password' = '...',
    'catalog-key'='jdbc',
    'warehouse' = '{warehouse}'
);
USE CATALOG my_catalog;
CREATE DATABASE my_db;
CREATE DATABASE mydb;
USE my_db;
"""

TABLES = """
CREATE TABLE my_table (
    a INT PRIMARY KEY NOT ENFORCED,
    b STRING
) WITH (
    'bucket'='8'
);
USE mydb;
CREATE TABLE my_table (
    a INT,
    b STRING
);
CREATE TABLE my_csv_table (
    a INT,
    b STRING
) WITH (
    'type'='format-table',
    'file.format'='csv',
    'field-delimiter'=','
);
CREATE TABLE `my_object_table` WITH (
  'type' = 'object-table',
  'object-location' = '{warehouse}/objects'
);
CALL sys.refresh_object_table('mydb.my_object_table');
SELECT * FROM `my_object_table`;
"""

MATERIALIZED = """
CREATE MATERIALIZED TABLE continuous_users_shops
PARTITIONED BY (ds)
FRESHNESS = INTERVAL '30' SECOND
AS SELECT
  user_id,
  ds,
  SUM (payment_amount_cents) AS payed_buy_fee_sum,
  SUM (1) AS PV
FROM (
  SELECT user_id, order_created_at AS ds, payment_amount_cents
    FROM json_source
  ) AS tmp
GROUP BY user_id, ds
"""

SYSTEM_TABLES = {
    "SELECT * FROM my_catalog.my_db.`my_table$snapshots`": "snapshot_id schema_id commit_user commit_identifier "
    "commit_kind commit_time base_manifest_list delta_manifest_list changelog_manifest_list total_record_count "
    "delta_record_count changelog_record_count watermark",
    "SELECT * FROM my_table$snapshots": "snapshot_id schema_id commit_user commit_identifier commit_kind commit_time "
    "base_manifest_list delta_manifest_list changelog_manifest_list total_record_count delta_record_count "
    "changelog_record_count watermark",
    "SELECT * FROM my_table$schemas": "schema_id fields partition_keys primary_keys options comment update_time",
    """SELECT s.snapshot_id, t.schema_id, t.fields
    FROM my_table$snapshots s JOIN my_table$schemas t
    ON s.schema_id=t.schema_id where s.snapshot_id=100""": "snapshot_id schema_id fields",
    "SELECT * FROM my_table$options": "key value",
    "SELECT * FROM my_table$audit_log": "rowkind a b",
    "SELECT * FROM my_table$binlog": "rowkind a b",
    "SELECT * FROM my_table$ro": "a b",
    "SELECT * FROM my_table$files": "partition bucket file_path file_format schema_id level record_count "
    "file_size_in_bytes min_key max_key null_value_counts min_value_stats max_value_stats min_sequence_number "
    "max_sequence_number creation_time",
    "SELECT * FROM my_table$files /*+ OPTIONS('scan.snapshot-id'='1') */": "partition bucket file_path file_format "
    "schema_id level record_count file_size_in_bytes min_key max_key null_value_counts min_value_stats "
    "max_value_stats min_sequence_number max_sequence_number creation_time",
    "SELECT * FROM my_table$tags": "tag_name snapshot_id schema_id commit_time record_count",
    "SELECT * FROM my_table$branches": "branch_name create_time",
    "SELECT * FROM my_table$consumers": "consumer_id next_snapshot_id",
    "SELECT * FROM my_table$manifests": "file_name file_size num_added_files num_deleted_files schema_id",
    "SELECT * FROM my_table$manifests /*+ OPTIONS('scan.snapshot-id'='1') */": "file_name file_size num_added_files "
    "num_deleted_files schema_id",
    "SELECT * FROM my_table$manifests /*+ OPTIONS('scan.timestamp-millis'='{now}') */": "file_name file_size "
    "num_added_files num_deleted_files schema_id",
    "SELECT * FROM my_table$aggregation_fields": "field_name field_type function function_options comment",
    "SELECT * FROM my_table$partitions": "partition record_count file_size_in_bytes file_count last_update_time",
    "SELECT * FROM my_table$buckets": "partition bucket record_count file_size_in_bytes file_count last_update_time",
    "SELECT * FROM my_table$statistics": "snapshot_id schema_id mergedRecordCount mergedRecordSize colstat",
    "SELECT * FROM my_table$table_indexes": "partition bucket index_type file_name file_size row_count dv_ranges",
}
"""The queries of system tables, with the columns that the guide shows; later releases have more at the end."""

FILES = """
USE CATALOG my_catalog;
CREATE TABLE my_table (
    k INT PRIMARY KEY NOT ENFORCED,
    f0 INT,
    f1 STRING
);
INSERT INTO my_table VALUES (1, 11, '111');
CREATE TABLE part_t (
    f0 INT,
    f1 STRING,
    dt STRING
) PARTITIONED BY (dt);
INSERT INTO part_t VALUES (1, '11', '20240514');
CREATE DATABASE without_key;
CREATE TABLE without_key.T (
    a INT,
    b INT,
    c INT
);
INSERT INTO without_key.T VALUES (1, 2, 3);
CREATE TABLE T (
    a INT PRIMARY KEY NOT ENFORCED,
    b INT,
    c INT
);
INSERT INTO T VALUES (1, 2, 3);
"""


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    warehouse = tmp_path / "warehouse"
    (warehouse / "objects").mkdir(parents=True)
    (warehouse / "objects/a.txt").write_text("content")
    lake = frazil.spark.connect(spark, {})
    lake.script(CATALOGS.format(warehouse=warehouse))
    return lake


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_catalogs_and_kinds_of_tables(lake: Lake[DataFrame], tmp_path: Path) -> None:
    assert {("my_catalog",), ("my_hive",), ("my_jdbc",)} <= set(rows(lake.sql("SHOW CATALOGS")))
    with pytest.raises(FrazilError, match="hive"):
        lake.sql("SHOW TABLES IN my_hive.db")
    found = lake.script(TABLES.format(warehouse=tmp_path / "warehouse"))[-1]
    assert [(row.path, row.name, row.length) for row in found.collect()] == [("a.txt", "a.txt", 7)]
    assert rows(lake.sql("SHOW TABLES")) == [
        ("mydb", "my_csv_table", False),
        ("mydb", "my_object_table", False),
        ("mydb", "my_table", False),
    ]
    lake.sql("INSERT INTO my_csv_table VALUES (1, 'a,b'), (2, NULL)")
    lake.sql("INSERT INTO my_csv_table SELECT a + 2, 'x' FROM my_csv_table")
    assert rows(lake.sql("SELECT a FROM my_csv_table WHERE a > 1")) == [(2,), (3,), (4,)]
    lake.sql("INSERT OVERWRITE my_csv_table VALUES (7, 'z')")
    assert rows(lake.sql("SELECT * FROM my_csv_table")) == [(7, "z")]
    lake.sql("INSERT INTO my_table SELECT a, b FROM my_csv_table")
    assert rows(lake.sql("SELECT * FROM my_table")) == [(7, "z")]
    assert rows(lake.sql("DESCRIBE my_csv_table")) == [("a", "int", ""), ("b", "string", "")]
    with pytest.warns(UserWarning, match="has no snapshots"):
        found = lake.sql("SELECT * FROM `my_object_table` /*+ OPTIONS('scan.snapshot-id' = '1') */")
    assert [row.path for row in found.collect()] == ["a.txt"]
    for statement, message in [
        ("SELECT * FROM my_object_table VERSION AS OF 1", "does not support snapshots"),
        ("INSERT INTO my_object_table VALUES ('a')", "my_object_table"),
        (MATERIALIZED, "Flink"),
    ]:
        with pytest.raises(UnsupportedError, match=message):
            lake.sql(statement)


def test_system_tables_of_a_table_and_of_a_catalog(lake: Lake[DataFrame], tmp_path: Path) -> None:
    lake.script(TABLES.format(warehouse=tmp_path / "warehouse") + "; USE my_db; INSERT INTO my_table VALUES (1, 'a')")
    for query, columns in SYSTEM_TABLES.items():
        expected = columns.split()
        found = lake.sql(query.format(now=4_000_000_000_000))
        assert found.columns[: len(expected)] == expected, query
        found.collect()
    assert rows(lake.sql("SELECT rowkind, a FROM my_table$audit_log")) == [("+I", 1)]
    tables = lake.script("USE sys; SHOW TABLES")[1]
    assert [row.tableName for row in tables.collect()] == sorted(lake.catalog("my_catalog").inspect.names())
    options = lake.sql("SELECT * FROM sys.all_table_options")
    assert options.columns == ["database_name", "table_name", "key", "value"]
    assert ("my_db", "my_table", "bucket", "8") in rows(options)
    assert lake.sql("SELECT * FROM sys.catalog_options").columns == ["key", "value"]


def test_the_files_of_tables(lake: Lake[DataFrame], tmp_path: Path) -> None:
    lake.script(FILES)
    database = tmp_path / "warehouse/default.db"
    uuid = "[0-9a-f-]{36}"
    patterns = [
        rf"bucket-0/data-{uuid}-0\.parquet",
        rf"index/index-{uuid}-0",
        rf"manifest/index-manifest-{uuid}-0",
        rf"manifest/manifest-{uuid}-0",
        rf"manifest/manifest-list-{uuid}-0",
        rf"manifest/manifest-list-{uuid}-1",
        "schema/schema-0",
        "snapshot/EARLIEST",
        "snapshot/LATEST",
        "snapshot/snapshot-1",
    ]
    found = listed(database / "my_table")
    assert len(found) == len(patterns)
    assert all(any(re.fullmatch(pattern, path) for path in found) for pattern in patterns), found
    folders = {path.split("/")[0] for path in listed(database / "part_t")}
    assert folders == {"dt=20240514", "manifest", "schema", "snapshot"}
    assert {"schema/schema-0", "snapshot/EARLIEST", "snapshot/LATEST", "snapshot/snapshot-1"} <= set(
        listed(database / "part_t")
    )
    [keyed] = (database / "T/bucket-0").glob("data-*.parquet")
    assert pq.read_schema(keyed).names == ["_KEY_a", "_SEQUENCE_NUMBER", "_VALUE_KIND", "a", "b", "c"]
    [plain] = (tmp_path / "warehouse/without_key.db/T/bucket-0").glob("data-*.parquet")
    assert pq.read_schema(plain).names == ["a", "b", "c"]


def test_workers_write_dynamic_buckets(lake: Lake[DataFrame], spark: SparkSession) -> None:
    lake.sql("CREATE TABLE dynamic (p INT, k INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)")
    spark.range(0, 4000, 1, 8).createOrReplaceTempView("numbers")
    for _ in range(2):
        lake.sql("INSERT INTO dynamic SELECT CAST(id % 3 AS INT), CAST(id AS INT) FROM numbers")
    assert rows(lake.sql("SELECT count(*), count(DISTINCT k) FROM dynamic")) == [(4000, 4000)]
    indexed = rows(lake.sql("SELECT partition, row_count FROM dynamic$table_indexes"))
    assert [count for _, count in indexed] == [1334, 1333, 1333]
