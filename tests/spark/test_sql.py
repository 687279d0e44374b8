"""Tests of Spark SQL over frazil catalogs, using only the wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil
import frazil.spark
from frazil.errors import AlreadyExistsError, FrazilError, InvalidArgumentError, NoSuchTableError, UnsupportedError
from support import walk_through
from support.plain_sql import BySparkSql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """Apply the settings that the documentation passes on the command line, and return the warehouse."""
    warehouse = tmp_path / "warehouse"
    given = walk_through.settings(warehouse)
    for name, value in given.items():
        spark.conf.set(name, value)
    yield warehouse
    for name in given:
        spark.conf.unset(name)


@pytest.fixture(params=["lake.sql", "spark.sql"])
def lake(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a lake; with `spark.sql`, its statements are run by this method of the session."""
    catalogs = {"local": {"type": "hadoop", "warehouse": str(tmp_path / "warehouse")}}
    plain = request.param == "spark.sql"
    with frazil.spark.connect(spark, catalogs, plain=plain) as connected:
        yield BySparkSql(spark, connected) if plain else connected


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in listed(folder)}


def values(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_the_walk_through_from_the_settings_of_the_session(spark: SparkSession, settings: Path) -> None:
    lake = frazil.spark.connect(spark)
    found = walk_through.run(lake)
    walk_through.check(found, settings)


def test_new_tables_have_the_newest_common_version_without_a_setting(lake: Lake[DataFrame]) -> None:
    lake.script(walk_through.STATEMENTS)
    assert lake.table("local.db.table").format_version == 2


def test_the_setting_that_breaks_queries_is_removed_with_a_warning(
    spark: SparkSession, settings: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not settings.exists()
    frazil.spark.connect(spark)
    assert spark.conf.get("spark.sql.catalog.spark_catalog", "builtin") == "builtin"
    assert "SparkSessionCatalog" in caplog.text


def test_names_resolve_by_the_current_catalog_and_namespace(lake: Lake[DataFrame]) -> None:
    lake.script(walk_through.STATEMENTS + "USE local; SHOW TABLES IN db")
    assert values(lake.sql("SHOW NAMESPACES")) == [("db",)]
    assert values(lake.sql("SELECT id FROM db.table WHERE data = 'b'")) == [(2,)]
    lake.sql("USE local.db")
    assert values(lake.sql("SHOW CURRENT NAMESPACE")) == [("local", "db")]
    assert values(lake.sql("SHOW TABLES LIKE '*v2'")) == [("db", "tableV2", False)]
    assert values(lake.sql("SELECT table.id, t.data FROM `table` JOIN local.db.table t ON table.id = t.id")) == [
        (1, "a"),
        (2, "b"),
    ]
    assert values(lake.sql("SELECT t.id FROM tableV2 v RIGHT JOIN table t ON true, table")) == [
        (1,),
        (1,),
        (2,),
        (2,),
    ]
    lake.sql("INSERT INTO table (data) VALUES ('c')")
    assert lake.sql("SELECT id FROM table WHERE data = 'c'").collect()[0].id is None
    lake.sql("USE spark_catalog")
    assert values(lake.sql("SHOW CURRENT NAMESPACE")) == [("spark_catalog", "default")]
    assert values(lake.sql("SHOW CATALOGS")) == [("local",), ("spark_catalog",)]


def test_ctes_and_temporary_views_take_precedence_over_tables(lake: Lake[DataFrame], spark: SparkSession) -> None:
    lake.script(walk_through.STATEMENTS + "USE local.db")
    query = "WITH table AS (SELECT 7 AS id), u AS (SELECT * FROM table) SELECT u.id FROM u, table"
    assert values(lake.sql(query)) == [(7,)]
    assert values(lake.sql("WITH table AS (SELECT * FROM table WHERE id = 1) SELECT id FROM table")) == [(1,)]
    spark.range(3).createOrReplaceTempView("tableV2")
    try:
        assert lake.sql("SELECT * FROM tableV2").count() == 3
    finally:
        spark.catalog.dropTempView("tableV2")
    assert lake.sql("SELECT * FROM tableV2").count() == 0


def test_a_query_reads_a_table_that_it_names_twice_in_one_state(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.script(walk_through.STATEMENTS)
    catalog, loads = lake.catalog("local"), []
    load = catalog.load_table
    monkeypatch.setattr(catalog, "load_table", lambda levels: (loads.append(levels), load(levels))[1])
    lake.sql("SELECT * FROM local.db.table a JOIN local.db.table b ON a.id = b.id, local.db.tableV2")
    assert loads == [("db", "table"), ("db", "tableV2")]


def test_the_rest_of_a_query_is_not_touched(lake: Lake[DataFrame]) -> None:
    lake.script(walk_through.STATEMENTS)
    frame = lake.sql("SELECT '{t0} local.db.table' AS `{x}`, count(*) /* {local.db.table} */ FROM local.db.table")
    assert frame.columns == ["{x}", "count(1)"]
    assert values(frame) == [("{t0} local.db.table", 2)]
    assert values(lake.sql("SELECT (SELECT max(id) FROM local.db.table) AS m")) == [(2,)]


def test_create_table_takes_all_clauses(lake: Lake[DataFrame]) -> None:
    lake.sql(
        """
        CREATE TABLE IF NOT EXISTS local.a.b.t (
            id BIGINT NOT NULL COMMENT 'the key', `a b` STRUCT<x: INT, y: ARRAY<DECIMAL(9, 2)>>,
            ts TIMESTAMP, local TIMESTAMP_NTZ, m MAP<STRING, DATE>)
        USING iceberg
        PARTITIONED BY (bucket(8, ID), days(ts))
        COMMENT 'all of it' OPTIONS (x = 'y') TBLPROPERTIES ('write.format.default' = 'orc', 'gc.enabled' = false)
        """
    )
    table = lake.table("local.a.b.t")
    assert [str(field.transform) for field in table.spec().fields] == ["bucket[8]", "day"]
    assert [field.name for field in table.spec().fields] == ["id_bucket", "ts_day"]
    assert str(table.schema().find_field("ts")) == "3: ts: optional timestamptz"
    assert table.schema().find_field("id").doc == "the key"
    assert table.properties["comment"] == "all of it"
    assert (table.properties["x"], table.properties["option.x"]) == ("y", "y")
    assert (table.properties["write.format.default"], table.properties["gc.enabled"]) == ("orc", "false")
    rows = [tuple(row) for row in lake.sql("DESCRIBE local.a.b.t").collect()]
    assert rows == [
        ("id", "bigint", "the key"),
        ("a b", "struct<x:int,y:array<decimal(9,2)>>", ""),
        ("ts", "timestamp", ""),
        ("local", "timestamp_ntz", ""),
        ("m", "map<string,date>", ""),
        ("", "", ""),
        ("# Partitioning", "", ""),
        ("Part 0", "bucket(8, id)", ""),
        ("Part 1", "days(ts)", ""),
    ]
    lake.sql("CREATE TABLE IF NOT EXISTS local.a.b.t (other INT)")
    with pytest.raises(AlreadyExistsError, match="line 1, column 1"):
        lake.sql("CREATE TABLE local.a.b.t (other INT)")
    lake.sql(
        "INSERT INTO local.a.b.t VALUES (1, named_struct('x', 2, 'y', array(1.5)), "
        "timestamp'2024-02-29 12:00:00', DATE'2024-02-29', map('k', DATE'2024-02-29'))"
    )
    [row] = lake.sql("SELECT `a b`.y[0] AS y, m['k'] AS k, local FROM local.a.b.t").collect()
    assert (str(row.y), str(row.k), str(row.local)) == ("1.50", "2024-02-29", "2024-02-29 00:00:00")
    details = {row.col_name: row.data_type for row in lake.sql("DESCRIBE EXTENDED local.a.b.t").collect()}
    assert details["Provider"] == "iceberg"
    assert details["Comment"] == "all of it"


def test_tables_and_namespaces_are_dropped(lake: Lake[DataFrame], tmp_path: Path) -> None:
    lake.script("CREATE NAMESPACE local.n; CREATE DATABASE IF NOT EXISTS local.n")
    lake.sql("CREATE TABLE local.n.t (id INT) USING iceberg")
    with pytest.raises(FrazilError, match="not empty"):
        lake.sql("DROP NAMESPACE local.n")
    lake.script("DROP TABLE local.n.t; DROP TABLE IF EXISTS local.n.t; DROP SCHEMA local.n")
    assert listed(tmp_path / "warehouse") == []
    lake.sql("DROP NAMESPACE IF EXISTS local.n")
    with pytest.raises(NoSuchTableError):
        lake.sql("DROP TABLE local.n.t")


def test_a_paimon_catalog(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "paimon").mkdir()
    lake = frazil.spark.connect(spark, {"p": {"type": "paimon", "warehouse": str(tmp_path / "paimon")}})
    lake.script(
        """
        USE p;
        CREATE TABLE orders (id INT NOT NULL, name VARCHAR(9), at TIMESTAMP_NTZ) USING paimon
        TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2');
        INSERT INTO orders VALUES (1, 'a', NULL), (2, 'b', timestamp_ntz'2024-02-29 12:00:00');
        INSERT INTO orders (id, name) VALUES (1, 'c')
        """
    )
    assert values(lake.sql("SELECT id, name FROM p.default.orders")) == [(1, "c"), (2, "b")]
    assert lake.table("p.default.orders").primary_keys == ["id"]
    assert (tmp_path / "paimon" / "default.db" / "orders" / "schema" / "schema-0").is_file()
    lake.script(
        """
        CREATE TABLE events (id INT PRIMARY KEY NOT ENFORCED COMMENT 'the key', name STRING DEFAULT 'new', raw BYTES)
        WITH ('bucket' = '1');
        INSERT INTO events (id) VALUES (1), (2);
        """
    )
    assert values(lake.sql("SELECT id, name, raw FROM events")) == [(1, "new", None), (2, "new", None)]


def test_spark_statements_are_delegated_to_spark(lake: Lake[DataFrame], spark: SparkSession, tmp_path: Path) -> None:
    lake.script(walk_through.STATEMENTS)
    lake.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 5 AS id")
    try:
        assert values(lake.sql("SELECT v.id, count(t.id) FROM v, local.db.table t GROUP BY v.id")) == [(5, 2)]
    finally:
        spark.catalog.dropTempView("v")
    lake.sql(f"CREATE TABLE of_spark (id INT DEFAULT 5, name STRING) USING parquet LOCATION '{tmp_path / 'of_spark'}'")
    try:
        lake.script(
            "INSERT INTO of_spark (name) VALUES ('x'); INSERT INTO of_spark SELECT 6, 'y'; DESCRIBE of_spark id"
        )
        assert values(lake.sql("SELECT * FROM of_spark")) == [(5, "x"), (6, "y")]
    finally:
        lake.sql("DROP TABLE of_spark")
    lake.script("USE local; SET spark.sql.shuffle.partitions = 2; USE spark_catalog")
    assert values(lake.sql("SELECT 1 AS one")) == [(1,)]


def test_procedure_arguments_are_evaluated_by_spark(lake: Lake[DataFrame]) -> None:
    lake.script(walk_through.STATEMENTS)
    table = lake.table("local.db.table")
    for number in range(100, 105):
        table.append([{"id": number, "data": "x"}])
    head = table.current_snapshot().snapshot_id
    first = table.snapshots()[0].snapshot_id
    result = lake.sql(f"CALL local.system.rollback_to_snapshot('db.table', {first})")
    assert result.columns == ["previous_snapshot_id", "current_snapshot_id"]
    assert values(result) == [(head, first)]
    lake.sql(f"CALL local.system.set_current_snapshot('db.table', CAST('{head}' AS BIGINT))")
    rewritten = lake.sql(
        "CALL local.system.rewrite_data_files(table => 'db.table', options => map('min-input-files', '1' || ''), "
        "where => concat('id', ' >= 100'))"
    )
    assert values(rewritten.select("rewritten_data_files_count")) == [(5,)]
    expired = lake.sql(
        "CALL local.system.expire_snapshots(table => 'db.table', older_than => current_timestamp() + INTERVAL 1 DAY, "
        f"snapshot_ids => array({first}), retain_last => 1)"
    )
    [(deleted,)] = values(expired.select("deleted_data_files_count"))
    assert deleted >= 5
    assert len(lake.table("local.db.table").snapshots()) == 1
    orphans = (
        "CALL local.system.remove_orphan_files(table => 'db.table', older_than => TIMESTAMP '2020-01-01 00:00:00')"
    )
    assert values(lake.sql(orphans)) == []
    assert values(lake.sql("SELECT count(*) FROM local.db.table WHERE id >= 100")) == [(5,)]


REJECTED = [
    "MERGE WITH SCHEMA EVOLUTION INTO local.db.table t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE local.db.table PARTITION (id = 1)",
    "ALTER TABLE local.db.table REPLACE COLUMNS (id INT)",
    "ALTER TABLE local.db.table DROP PARTITION (id = 1)",
    "ALTER TABLE local.db.table SET TBLPROPERTIES ('sort-order' = 'id')",
    "CALL local.system.rewrite_manifests('db.table')",
    "CALL local.system.rewrite_data_files(table => 'db.table', strategy => 'sort')",
    "CREATE VIEW local.db.v AS SELECT 1",
    "CREATE OR REPLACE VIEW local.db.v AS SELECT 1",
    "DROP VIEW local.db.v",
    "CREATE TEMPORARY VIEW v COMMENT 'x' AS SELECT * FROM local.db.table",
    "INSERT INTO local.db.table REPLACE WHERE abs(id) = 1 SELECT 1, 'x'",
    "INSERT INTO local.db.table WITH ('branch' = 'b') SELECT 1, 'x'",
    "INSERT WITH SCHEMA EVOLUTION INTO local.db.table SELECT 1, 'x'",
    "INSERT OVERWRITE local.db.table PARTITION (id = 1) IF NOT EXISTS SELECT 'x'",
    "INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT * FROM local.db.table",
    "WITH c AS (SELECT 1, 'x') INSERT INTO local.db.table WITH d AS (SELECT 1) SELECT * FROM c",
    "INSERT INTO spark_catalog.default.t SELECT * FROM local.db.table",
    "COMMENT ON COLUMN local.db.table.id IS 'x'",
    "SHOW PARTITIONS local.db.table",
    "SHOW TBLPROPERTIES local.db.table.files",
    "SHOW CREATE TABLE local.db.table AS SERDE",
    "CREATE TABLE local.db.c LIKE local.db.table (EXCLUDING ALL)",
    "CREATE TABLE local.db.c (id INT) AS SELECT 1 AS id",
    "CREATE TABLE local.db.c WITH ('a' = 'b') AS SELECT 1 AS id",
    "CREATE TABLE local.db.c AS SELECT NULL AS id",
    "CREATE OR REPLACE TABLE local.db.table (id INT) USING paimon",
    "CREATE TABLE spark_table AS SELECT * FROM local.db.table",
    "CREATE TABLE local.db.c (id INT) USING paimon",
    "CREATE TABLE local.db.c (id INT DEFAULT 5) USING iceberg",
    "CREATE TABLE local.db.c (id INTERVAL) USING iceberg",
    "CREATE TABLE local.db.c (id INT, PRIMARY KEY (id) NOT ENFORCED) USING iceberg",
    "CREATE TABLE local.db.c (id INT) USING iceberg PARTITIONED BY (id, day STRING)",
    "CREATE TABLE local.db.c (id INT) CLUSTERED BY (id) INTO 4 BUCKETS",
    "DROP NAMESPACE local.db CASCADE",
    "DESCRIBE local.db.table PARTITION (id = 1)",
    "EXPLAIN INSERT INTO local.db.table SELECT 1",
    "ANALYZE TABLE local.db.table COMPUTE STATISTICS",
    "SELECT * FROM local.db.table TIMESTAMP AS OF id",
    "SELECT * FROM local.db.table TABLESAMPLE (10 PERCENT)",
    "INSERT INTO local.db.table.files VALUES (1)",
    "FROM local.db.table INSERT INTO local.db.tableV2 SELECT *",
]


def test_unsupported_statements_are_rejected_and_change_no_files(lake: Lake[DataFrame], tmp_path: Path) -> None:
    lake.script(walk_through.STATEMENTS)
    before = contents(tmp_path)
    for statement in REJECTED:
        with pytest.raises(UnsupportedError) as caught:
            lake.script(f"SELECT 1;\n  {statement}")
        assert caught.value.context["line"] == "2", statement
        assert "(line 2, column " in str(caught.value), statement
    assert contents(tmp_path) == before


def test_a_rejection_names_the_call_to_use(lake: Lake[DataFrame]) -> None:
    lake.script(walk_through.STATEMENTS)
    with pytest.raises(UnsupportedError) as caught:
        lake.sql("LOAD DATA INPATH 'x' INTO TABLE local.db.table")
    assert str(caught.value) == (
        'LOAD DATA is not supported (line 1, column 1); use frazil.spark.write(spark.read.parquet("…"), lake.table(…))'
    )


def test_statements_that_paimon_tables_do_not_have_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "paimon").mkdir()
    lake = frazil.spark.connect(spark, {"p": {"type": "paimon", "warehouse": str(tmp_path / "paimon")}})
    lake.script("USE p; CREATE TABLE orders (id INT); INSERT INTO orders VALUES (1)")
    before = contents(tmp_path)
    for statement in ("ALTER TABLE p.default.orders WRITE ORDERED BY id", "DELETE FROM p.default.`orders$files`"):
        with pytest.raises(UnsupportedError, match=r"is not supported|cannot be changed"):
            lake.sql(statement)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("CREATE TABLE local.db.t (id INT", "line 1, column 32"),
        ("CREATE TABLE local.db.t (id INT) USING", "line 1, column 39"),
        ("CREATE TABLE local.db.t (id INT, ID INT)", "line 1, column 34"),
        ("CREATE TABLE local.db.t (id INT)\nPARTITIONED BY (x)", "line 2, column 17"),
        ("DROP TABLE local.db.", "line 1, column 21"),
        ("DROP TABLE local.db.table CASCADE", "line 1, column 27"),
        ("INSERT INTO local.db.table VALUES ('x', 'a')", "column `id`: string cannot be assigned to bigint"),
        ("INSERT INTO local.db.table VALUES (1)", "the rows have 1 columns, but the table expects 2"),
        ("INSERT INTO local.db.table (id, Id) VALUES (1, 2)", "column `id` is specified twice"),
        ("INSERT INTO local.db.table (nope) VALUES (1)", "no column `nope`"),
        ("INSERT INTO local.db.table PARTITION (id = 1) VALUES ('x')", "`id` is not a partition column"),
        ("INSERT INTO local.db.table", "line 1, column 27: expected VALUES or a query"),
        ("INSERT INTO local.db.table BY SELECT 1", "line 1, column 28: expected VALUES or a query"),
        ("INSERT INTO local.db.table REPLACE WHERE id = 1", "line 1, column 48: expected VALUES or a query"),
        ("INSERT INTO local.db.table PARTITION (id = ) SELECT 1", "line 1, column 44: expected a constant"),
        ("SELECT 'a", "line 1, column 8"),
    ],
)
def test_invalid_statements_report_their_position(lake: Lake[DataFrame], statement: str, place: str) -> None:
    lake.sql("CREATE TABLE IF NOT EXISTS local.db.table (id BIGINT, data STRING)")
    with pytest.raises(InvalidArgumentError) as caught:
        lake.sql(statement)
    assert place in str(caught.value)
    assert lake.table("local.db.table").snapshots() == []
