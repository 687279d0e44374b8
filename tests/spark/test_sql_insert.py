"""Tests of INSERT in Spark SQL, compared with Spark's own Parquet tables.

`FRAZIL_SQL_INSERTS=all` runs each statement on tables of both formats, as `make nightly` does; by default, on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import frazil.spark
from frazil.errors import InvalidArgumentError, UnsupportedError
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

ON_BOTH = bool(size("FRAZIL_SQL_INSERTS"))
MODE = "spark.sql.sources.partitionOverwriteMode"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[DataFrame]]:
    """Return a lake with a catalog of either format."""
    catalogs = {
        "i": {"type": "hadoop", "warehouse": str(tmp_path / "iceberg")},
        "p": {"type": "paimon", "warehouse": str(tmp_path / "paimon")},
    }
    yield frazil.spark.connect(spark, catalogs)
    spark.conf.unset(MODE)


def rows(lake: Lake[DataFrame], table: str) -> list[str]:
    return sorted(map(str, lake.sql(f"SELECT * FROM {table}").collect()))


COLUMNS = "(id BIGINT, name STRING, day DATE, part STRING) USING {format} PARTITIONED BY (day, part)"
FIRST = "SELECT id, concat('n', id), DATE'2024-01-01' + CAST(id % 3 AS INT), IF(id % 2 = 0, 'a', NULL) FROM range(12)"
STATEMENTS = [
    "INSERT INTO {t} SELECT 100, 'x', DATE'2024-05-01', 'b'",
    "INSERT INTO TABLE {t} VALUES (100, 'x', DATE'2024-05-01', 'b'), (101, NULL, NULL, NULL)",
    "INSERT INTO {t} VALUES (DEFAULT, 'x', DATE'2024-05-01', DEFAULT), (101, default, NULL, 'default')",
    "INSERT INTO {t} PARTITION (day = '2024-01-02', part) VALUES (7, DEFAULT, 'b')",
    "INSERT INTO {t} VALUES (1, 'x', NULL, NULL, DEFAULT)",
    "INSERT INTO {t} VALUES (1 + DEFAULT, 'x', NULL, NULL)",
    "INSERT INTO {t} (part, id) SELECT 'q', 7",
    "INSERT INTO {t} BY NAME SELECT 'q' AS PART, 7 AS id, DATE'2024-01-01' AS day, 'x' AS name",
    "INSERT INTO {t} PARTITION (day = '2024-01-02', part = 'a') SELECT 7, 'x'",
    "INSERT INTO {t} PARTITION (day = '2024-01-02', part) SELECT 7, 'x', 'b'",
    "INSERT INTO {t} PARTITION (day = DATE'2024-01-02', PART = NULL) VALUES (7, 'x')",
    "INSERT INTO {t} PARTITION (day = '2024-01-02', part = 'a') (name) VALUES ('x')",
    "WITH c AS (SELECT 5 AS id), d(x) AS (SELECT 6) INSERT INTO {t} (id) SELECT id FROM c UNION ALL SELECT x FROM d",
    "INSERT INTO {t} WITH c AS (SELECT 5 AS id) SELECT id, 'x', NULL, 'y' FROM c",
    "INSERT INTO {t} FROM range(2) SELECT id, 'x', NULL, 'y'",
    "INSERT INTO {t} (SELECT 1, 'x', NULL, 'y')",
    "INSERT INTO {t} SELECT * FROM {t}",
    "INSERT OVERWRITE {t} SELECT 1, 'x', DATE'2024-01-02', 'a'",
    "INSERT OVERWRITE TABLE {t} VALUES (1, 'x', DATE'2024-01-02', 'a'), (2, 'y', NULL, NULL)",
    "INSERT OVERWRITE {t} PARTITION (day = '2024-01-02', part) SELECT 1, 'x', 'a'",
    "INSERT OVERWRITE {t} PARTITION (day = '2024-01-02', part = 'a') VALUES (1, 'x')",
    "INSERT OVERWRITE {t} PARTITION (part = NULL, day = '2024-01-03') SELECT 1, 'x'",
    "INSERT OVERWRITE {t} PARTITION (day, part) SELECT 1, 'x', DATE'2024-01-02', 'a'",
    "INSERT OVERWRITE {t} (id, day, part) SELECT 1, DATE'2024-01-02', NULL",
    "INSERT OVERWRITE {t} BY NAME SELECT 1 AS id, DATE'2024-01-02' AS day, 'a' AS part",
    "INSERT OVERWRITE {t} SELECT 1, 'x', DATE'2024-01-02', 'a' WHERE false",
    "INSERT INTO {t} SELECT 1, 'x', DATE'2024-01-02'",
    "INSERT INTO {t} SELECT 1, 'x', DATE'2024-01-02', 'a', 5",
    "INSERT INTO {t} SELECT 'z', 'x', DATE'2024-01-02', 'a'",
    "INSERT INTO {t} (id, id) SELECT 1, 2",
    "INSERT INTO {t} (nope) SELECT 1",
    "INSERT INTO {t} BY NAME SELECT 1 AS id, 2 AS nope",
    "INSERT INTO {t} PARTITION (name = 'x') SELECT 1, DATE'2024-01-02', 'a'",
    "INSERT INTO {t} PARTITION (day = 'nope') SELECT 1, 'x', 'a'",
    "INSERT INTO {t} PARTITION (day = '2024-01-02', day = '2024-01-03') SELECT 1, 'x', 'a'",
    "INSERT INTO {t} PARTITION (day = '2024-01-02') (id, day) VALUES (1, DATE'2024-01-02')",
    "INSERT INTO {t} PARTITION (day = '2024-01-02') SELECT 1, 'x', 'a', 'b'",
]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["i.db.t", "p.default.t"])
@pytest.mark.parametrize("what", ["INTO", "static", "dynamic"])
def test_statements_match_native_spark_tables(
    lake: Lake[DataFrame], spark: SparkSession, tmp_path: Path, name: str, what: str
) -> None:
    lake.sql(f"CREATE TABLE {name} " + COLUMNS.format(format="iceberg" if name[0] == "i" else "paimon"))
    spark.sql(f"CREATE TABLE of_spark {COLUMNS.format(format='parquet')} LOCATION '{tmp_path / 'of_spark'}'")
    try:
        for statement in STATEMENTS if ON_BOTH else STATEMENTS[name[0] == "p" :: 2]:
            if statement.startswith("INSERT OVERWRITE") is (what == "INTO"):
                continue
            if what != "INTO":
                spark.conf.set(MODE, "static")
                for table in (name, "of_spark"):
                    lake.sql(f"INSERT OVERWRITE {table} {FIRST}")
                spark.conf.set(MODE, what)
            outcomes = []
            for table in (name, "of_spark"):
                try:
                    lake.sql(statement.format(t=table))
                except Exception:  # noqa: BLE001 - Spark raises errors of several classes
                    outcomes.append("failed")
                else:
                    outcomes.append("done")
            assert outcomes[0] == outcomes[1], statement
            assert rows(lake, name) == rows(lake, "of_spark"), statement
    finally:
        spark.sql("DROP TABLE of_spark")


DEFAULTS = {
    "(id INT, n INT DEFAULT 7, s STRING DEFAULT 'x', d DATE DEFAULT DATE'2024-02-29', p DECIMAL(5, 2) DEFAULT 1.50)": [
        "INSERT INTO {t} VALUES (1, DEFAULT, DEFAULT, DEFAULT, DEFAULT)",
        "INSERT INTO {t} VALUES (2, 8, 'DEFAULT', NULL, 2.5), (3, default, NULL, DEFAULT, 0)",
        "INSERT INTO {t} (S, p, n, id, d) VALUES (DEFAULT, 1, DEFAULT, DEFAULT, DATE'2024-03-01')",
        "INSERT OVERWRITE {t} VALUES /* n is 7 */ (4, DEFAULT /* 7 */, concat('a', ',', 'b'), DEFAULT, 1)",
    ],
}


@pytest.mark.parametrize("name", ["i.db.t", "p.default.t"])
def test_default_is_that_of_the_column(lake: Lake[DataFrame], spark: SparkSession, name: str) -> None:
    is_iceberg = name[0] == "i"
    [(columns, statements)] = DEFAULTS.items()
    own = "USING iceberg TBLPROPERTIES ('format-version' = '3')" if is_iceberg else "USING paimon"
    lake.sql(f"CREATE TABLE {name} {columns} {own}")
    spark.sql(f"CREATE TABLE of_spark {columns} USING parquet")
    try:
        for statement in statements:
            if not is_iceberg:
                # The writer of a Paimon table replaces NULL by the default, as in Java.
                statement = statement.replace("NULL", "DEFAULT")  # noqa: PLW2901 - the statement of this table
            for table in (name, "of_spark"):
                lake.sql(statement.format(t=table))
            assert rows(lake, name) == rows(lake, "of_spark"), statement
    finally:
        spark.sql("DROP TABLE of_spark")


TYPES = {
    "BOOLEAN": "true",
    "TINYINT": "7Y",
    "SMALLINT": "7S",
    "INT": "7",
    "BIGINT": "7L",
    "FLOAT": "7.5F",
    "DOUBLE": "7.5D",
    "DECIMAL(5, 2)": "7.55BD",
    "DECIMAL(20, 0)": "7BD",
    "STRING": "'7'",
    "BINARY": "X'37'",
    "DATE": "DATE'2024-02-29'",
    "TIMESTAMP": "TIMESTAMP'2024-02-29 12:34:56.789'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2024-02-29 12:34:56.789'",
    "ARRAY<INT>": "array(7, NULL)",
    "ARRAY<STRING>": "array('7')",
    "MAP<STRING, INT>": "map('k', 7)",
    "STRUCT<a: INT, b: STRING>": "named_struct('a', 7, 'b', '7')",
    "STRUCT<b: BIGINT, a: STRING>": "named_struct('b', 7L, 'a', '7')",
    "STRUCT<a: INT>": "named_struct('a', 7)",
    "VOID": "NULL",
}
NOT_IN_ICEBERG = ("TINYINT", "SMALLINT", "VOID")


def accepted(spark: SparkSession, lake: Lake[DataFrame], table: str, value: str) -> bool:
    """Return whether a value can be inserted."""
    try:
        if table == "of_spark":
            spark.sql(f"INSERT INTO of_spark SELECT {value}")
        else:
            lake.sql(f"INSERT INTO {table} VALUES ({value})")
    except UnsupportedError:
        raise
    except Exception:  # noqa: BLE001 - Spark raises errors of several classes
        return False
    return True


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in TYPES if name not in NOT_IN_ICEBERG])
def test_each_pair_of_types_is_assigned_as_by_spark(
    lake: Lake[DataFrame], spark: SparkSession, tmp_path: Path, target: str
) -> None:
    lake.sql(f"CREATE TABLE i.db.t (v {target}) USING iceberg")
    spark.sql(f"CREATE TABLE of_spark (v {target}) USING parquet LOCATION '{tmp_path / 'of_spark'}'")
    try:
        for value in TYPES.values():
            expected = accepted(spark, lake, "of_spark", value)
            assert accepted(spark, lake, "i.db.t", value) is expected, value
        assert rows(lake, "i.db.t") == rows(lake, "of_spark")
    finally:
        spark.sql("DROP TABLE of_spark")


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("INT", "3000000000L"),
        ("INT", "1e10D"),
        ("INT", "99999999999BD"),
        ("BIGINT", "1e30D"),
        ("DECIMAL(5, 2)", "123456"),
    ],
)
def test_a_value_that_does_not_fit_its_column_is_an_error(lake: Lake[DataFrame], target: str, value: str) -> None:
    lake.sql(f"CREATE TABLE i.db.t (v {target}) USING iceberg")
    for statement in (f"INSERT INTO i.db.t VALUES ({value})", f"INSERT INTO i.db.t SELECT {value} FROM range(1)"):
        with pytest.raises(Exception, match=r"OVERFLOW|OUT_OF_RANGE"):
            lake.sql(statement)
    assert lake.table("i.db.t").snapshots() == []


def test_replace_where_deletes_the_rows_that_meet_the_condition(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE i.db.t (id BIGINT, name STRING, day DATE) USING iceberg PARTITIONED BY (day)")
    lake.sql("INSERT INTO i.db.t SELECT id, concat('n', id), DATE'2024-01-01' + CAST(id AS INT) FROM range(6)")
    condition = "DAY >= DATE'2024-01-05' OR NOT (id > 1 OR name LIKE 'x%') OR name IS DISTINCT FROM name"
    with pytest.raises(UnsupportedError, match="this condition of REPLACE WHERE"):
        lake.sql(f"INSERT INTO i.db.t REPLACE WHERE {condition} SELECT 1, 'x', NULL")
    condition = condition.removesuffix(" OR name IS DISTINCT FROM name")
    lake.sql(f"INSERT INTO i.db.t REPLACE WHERE {condition} SELECT 100, 'new', NULL")
    assert [row.id for row in lake.sql("SELECT id FROM i.db.t ORDER BY id").collect()] == [2, 3, 100]
    with pytest.raises(UnsupportedError, match="not supported for Paimon tables"):
        lake.script(
            "CREATE TABLE p.default.t (id INT) USING paimon; INSERT INTO p.default.t REPLACE WHERE id = 1 SELECT 1"
        )


def test_insert_into_branch(lake: Lake[DataFrame]) -> None:
    lake.script("CREATE TABLE i.db.t (id BIGINT) USING iceberg; INSERT INTO i.db.t VALUES (1)")
    table = lake.table("i.db.t")
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_branch(first, "b").create_tag(first, "v").commit()
    lake.sql("INSERT INTO i.db.t.branch_b SELECT 2")
    lake.sql("INSERT OVERWRITE i.db.t.branch_b SELECT id + 10 FROM i.db.t.branch_b")
    assert rows(lake, "i.db.t.branch_b") == ["Row(id=11)", "Row(id=12)"]
    assert rows(lake, "i.db.t") == ["Row(id=1)"]
    for name in ("i.db.t.tag_v", "i.db.t.files", f"i.db.t.snapshot_id_{first}"):
        with pytest.raises(UnsupportedError):
            lake.sql(f"INSERT INTO {name} SELECT 2")


def test_values_of_partitions_of_every_type_are_replaced(lake: Lake[DataFrame]) -> None:
    types = {
        "BOOLEAN": "true",
        "INT": "-5",
        "BIGINT": "9223372036854775807",
        "DECIMAL(9, 2)": "-7.50",
        "DOUBLE": "double('NaN')",
        "FLOAT": "float('-Infinity')",
        "STRING": "'it''s \"x\"'",
        "DATE": "DATE'1969-12-31'",
        "TIMESTAMP": "TIMESTAMP'1890-01-01 00:00:00.000001'",
        "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2024-02-29 12:34:56'",
        "BINARY": "X'00FF'",
    }
    for place, (data_type, constant) in enumerate(types.items()):
        table = f"i.db.t{place}"
        lake.sql(f"CREATE TABLE {table} (id INT, v {data_type}) USING iceberg PARTITIONED BY (v)")
        lake.sql(f"INSERT INTO {table} VALUES (1, {constant}), (2, NULL)")
        if data_type == "BINARY":
            # Spark converts the value to a string and back, which keeps only valid UTF-8.
            continue
        written = {"DOUBLE": "'NaN'", "FLOAT": "'-Infinity'"}.get(data_type, constant)
        lake.sql(f"INSERT OVERWRITE {table} PARTITION (v = {written}) SELECT 3")
        [row] = lake.sql(f"SELECT id FROM {table} WHERE v = {constant}").collect()
        assert row.id == 3, data_type
        lake.sql(f"INSERT OVERWRITE {table} PARTITION (v = NULL) SELECT 4")
        assert [row.id for row in lake.sql(f"SELECT id FROM {table} ORDER BY id").collect()] == [3, 4], data_type


def test_a_failed_insert_leaves_no_files(lake: Lake[DataFrame], tmp_path: Path) -> None:
    lake.sql("CREATE TABLE i.db.t (id INT NOT NULL) USING iceberg")
    lake.sql("CREATE TABLE p.default.t (id INT NOT NULL) USING paimon")
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for table in ("i.db.t", "p.default.t"):
        for statement in (
            f"INSERT INTO {table} SELECT IF(id = 7, raise_error('no'), 1) FROM range(0, 8, 1, 2)",
            f"INSERT INTO {table} SELECT IF(id = 7, NULL, 1) FROM range(0, 8, 1, 2)",
            f"INSERT OVERWRITE {table} SELECT IF(id = 7, NULL, 1) FROM range(0, 8, 1, 2)",
        ):
            with pytest.raises(Exception, match=r"no|NULL|null"):
                lake.sql(statement)
            assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before, statement


def test_session_without_ansi_mode_allows_only_widening_assignments(lake: Lake[DataFrame], spark: SparkSession) -> None:
    lake.sql("CREATE TABLE i.db.t (id INT) USING iceberg")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        lake.sql("INSERT INTO i.db.t SELECT CAST(1 AS TINYINT)")
        with pytest.raises(UnsupportedError, match="without ANSI mode"):
            lake.sql("INSERT INTO i.db.t SELECT 1L")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_by_name_does_not_reorder_structs_silently(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE i.db.t (s STRUCT<a: INT, b: INT>) USING iceberg")
    lake.sql("INSERT INTO i.db.t BY NAME SELECT named_struct('A', 1, 'b', 2) AS s")
    with pytest.raises(UnsupportedError, match="does not reorder"):
        lake.sql("INSERT INTO i.db.t BY NAME SELECT named_struct('b', 1, 'a', 2) AS s")
    with pytest.raises(InvalidArgumentError, match="expected WHERE"):
        lake.sql("INSERT INTO i.db.t REPLACE SELECT 1")
