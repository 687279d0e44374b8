"""Tests of columns, functions, statements and types that the connectors for Java add to Spark SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchTableError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[DataFrame]]:
    catalogs = {
        "ice": {"type": "hadoop", "warehouse": str(tmp_path / "ice")},
        "pai": {"type": "paimon", "warehouse": str(tmp_path / "pai")},
    }
    lake = frazil.spark.connect(spark, catalogs)
    lake.script("CREATE NAMESPACE ice.d; CREATE NAMESPACE pai.d")
    yield lake
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)


def rows(lake: Lake[DataFrame], query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in lake.sql(query).collect()), key=repr)


# Metadata columns


def test_metadata_columns_of_iceberg(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE ice.d.t (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '3')")
    lake.sql("INSERT INTO ice.d.t VALUES (7, 1), (8, 1), (9, 2)")
    found = rows(lake, "SELECT id, _pos, _spec_id, _row_id, _last_updated_sequence_number, _partition.p FROM ice.d.t")
    assert sorted((one[0], *one[2:3], *one[4:]) for one in found) == [(7, 0, 1, 1), (8, 0, 1, 1), (9, 0, 1, 2)]
    assert {one[3] for one in found} == {0, 1, 2}
    files = {row[0] for row in rows(lake, "SELECT file_path FROM ice.d.t.files")}
    assert {row[0] for row in rows(lake, "SELECT DISTINCT x._FILE FROM ice.d.t AS x")} == files
    assert rows(lake, "SELECT *, _pos FROM ice.d.t WHERE _pos = 1") == [(8, 1, 1)]
    assert rows(lake, "SELECT t.*, t._spec_id FROM ice.d.t JOIN VALUES (7) AS v(x) ON t.id = v.x") == [(7, 1, 0)]
    assert rows(lake, "SELECT count(*), max(_pos) FROM ice.d.t") == [(3, 1)]
    assert lake.sql("SELECT * FROM ice.d.t").columns == ["id", "p"]
    with pytest.raises(UnsupportedError, match="name the columns"):
        lake.sql("SELECT * EXCEPT (p), _pos FROM ice.d.t")


def test_own_columns_hide_metadata_columns(lake: Lake[DataFrame]) -> None:
    lake.script("CREATE TABLE ice.d.t (id INT, _spec_id STRING); INSERT INTO ice.d.t VALUES (1, 'own')")
    assert rows(lake, "SELECT *, _spec_id FROM ice.d.t") == [(1, "own", "own")]
    lake.sql("CREATE TABLE ice.d.u (id INT)").collect()
    lake.sql("INSERT INTO ice.d.u VALUES (1)")
    # An unqualified name in a join is the column of the other table, as before.
    assert rows(lake, "SELECT _spec_id FROM ice.d.u JOIN ice.d.t ON u.id = t.id") == [("own",)]


def test_metadata_columns_of_paimon(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE pai.d.t (id INT, p STRING) PARTITIONED BY (p)")
    lake.sql("INSERT INTO pai.d.t VALUES (7, 'a'), (8, 'a'), (9, 'b')")
    query = """SELECT id, __paimon_row_index, __paimon_bucket, __paimon_partition.p, __paimon_file_path
        FROM pai.d.t WHERE id > 7"""
    found = rows(lake, query)
    assert [one[:4] for one in found] == [(8, 1, 0, "a"), (9, 0, 0, "b")]
    assert "/p=a/bucket-0/data-" in found[0][4]
    assert rows(lake, "SELECT *, __paimon_row_index FROM pai.d.t WHERE p = 'b'") == [(9, "b", 0)]
    lake.sql("CREATE TABLE pai.d.k (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id')")
    with pytest.raises(UnsupportedError, match="primary key"):
        lake.sql("SELECT __paimon_file_path FROM pai.d.k")
    with pytest.raises(UnsupportedError, match="latest rows"):
        lake.sql("SELECT __paimon_row_index FROM pai.d.t VERSION AS OF 1")


# Functions


def test_partition_values_of_iceberg(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE ice.d.t (id INT, s STRING, p DECIMAL(9, 2), b BINARY, at TIMESTAMP)")
    lake.sql("INSERT INTO ice.d.t VALUES (34, 'iceberg', 10.65, X'010203', TIMESTAMP '2017-11-16 22:31:08+00:00')")
    # The values are those of the specification (Appendix B).
    assert rows(lake, "SELECT ice.system.bucket(2147483647, id), ice.System.Bucket(16, s) FROM ice.d.t") == [
        (2017239379, 1210000089 % 16)
    ]
    lake.sql("USE ice")
    assert rows(lake, "SELECT system.truncate(10, ID), system.truncate(3, s), system.truncate(50, t.p) FROM d.t t") == [
        (30, "ice", Decimal("10.50"))
    ]
    found = rows(lake, "SELECT hex(system.truncate(2, b)), system.truncate(10, -1), system.truncate(2, 'é€x') FROM d.t")
    assert found == [("0102", -10, "é€")]
    found = rows(lake, "SELECT system.years(at), system.months(at), system.days(at), system.hours(at) FROM d.t")
    assert found == [(47, 574, dt.date(2017, 11, 16), 17486 * 24 + 22)]
    assert rows(lake, "SELECT id FROM d.t WHERE system.bucket(4, system.truncate(10, id)) >= 0") == [(34,)]
    with pytest.raises(InvalidArgumentError, match="bucket takes 2 arguments, not 1"):
        lake.sql("SELECT system.bucket(id) FROM d.t")
    with pytest.raises(UnsupportedError, match="the type of the argument of truncate is not known"):
        lake.sql("SELECT system.truncate(2, id + 1) FROM d.t")


def test_functions_of_paimon(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE pai.d.t (id INT, day INT, h STRING) PARTITIONED BY (day, h)")
    assert rows(lake, "SELECT pai.sys.max_pt('d.t')") == [(None,)]
    lake.sql("INSERT INTO pai.d.t VALUES (1, 9, 'a/b'), (2, 10, NULL), (3, NULL, 'x')")
    lake.sql("INSERT INTO pai.d.t VALUES (4, 9, 'a/b')")
    assert rows(lake, "SELECT id FROM pai.d.t WHERE day = pai.sys.max_pt('pai.d.t')") == [(2,)]
    assert rows(lake, "SELECT count(*) FROM paimon_incremental_query('pai.d.t', '1', '2') AS c") == [(1,)]
    lake.sql("USE pai.d")
    assert rows(lake, "SELECT id FROM paimon_incremental_query('t', 0, 1)") == [(1,), (2,), (3,)]
    lake.sql("CREATE TABLE plain (id INT)")
    with pytest.raises(InvalidArgumentError, match="needs a partitioned table"):
        lake.sql("SELECT sys.max_pt('d.plain')")


def test_functions_of_the_session(lake: Lake[DataFrame]) -> None:
    assert rows(lake, "SELECT current_catalog()") == [("spark_catalog",)]
    lake.sql("USE ice.d")
    frame = lake.sql("SELECT current_catalog(), CURRENT_SCHEMA ( ), upper(current_database()), 'current_catalog()'")
    assert (frame.columns[:2], [tuple(row) for row in frame.collect()]) == (
        ["current_catalog()", "current_schema()"],
        [("ice", "d", "D", "current_catalog()")],
    )
    lake.script("CREATE TABLE t (s STRING); INSERT INTO t VALUES ('d'), ('x')")
    lake.sql("DELETE FROM t WHERE s = current_schema()")
    assert rows(lake, "SELECT s AS current_catalog FROM t") == [("x",)]


# Statements


def test_statements_of_scripts(lake: Lake[DataFrame], spark: SparkSession, tmp_path: Path) -> None:
    lake.script("CREATE TABLE ice.d.t (id INT); INSERT INTO ice.d.t VALUES (1); INSERT INTO ice.d.t VALUES (2)")
    for statement in ("REFRESH TABLE", "CACHE TABLE", "CACHE LAZY TABLE", "UNCACHE TABLE", "UNCACHE TABLE IF EXISTS"):
        assert lake.sql(f"{statement} ice.d.t").collect() == []
    for statement in ("REFRESH TABLE ice.d.nope", "CACHE TABLE ice.d.nope", "UNCACHE TABLE ice.d.nope"):
        with pytest.raises(NoSuchTableError):
            lake.sql(statement)
    lake.sql("UNCACHE TABLE IF EXISTS ice.d.nope")
    lake.sql("CACHE TABLE kept OPTIONS ('storageLevel' = 'MEMORY_ONLY') AS SELECT * FROM ice.d.t WHERE id > 1")
    assert spark.catalog.isCached("kept")
    assert rows(lake, "SELECT * FROM kept") == [(2,)]
    lake.sql("UNCACHE TABLE kept")
    assert not spark.catalog.isCached("kept")
    found = rows(lake, "SELECT id, _change_type, _change_ordinal FROM ice.d.t.changes")
    assert found == [(1, "INSERT", 0), (2, "INSERT", 1)]
    lake.sql("USE ice.d")
    spark.range(3).write.parquet(str(tmp_path / "files"))
    assert rows(lake, f"SELECT count(*) FROM parquet.`{tmp_path / 'files'}` JOIN t USING (id)") == [(2,)]


def test_temporary_views_read_the_latest_rows(lake: Lake[DataFrame], spark: SparkSession) -> None:
    lake.script("CREATE TABLE ice.d.t (id INT); INSERT INTO ice.d.t VALUES (1); USE ice.d")
    lake.sql("SELECT * FROM t WHERE id < :most", {"most": 9}).createOrReplaceTempView("Later")
    lake.sql("CREATE TEMPORARY VIEW doubled (x, y) AS SELECT id, 2 * id FROM later")
    frame = lake.sql("SELECT * FROM t")
    lake.script("INSERT INTO t VALUES (2), (10); USE ice")
    assert rows(lake, "SELECT * FROM later") == [(1,), (2,)]
    assert rows(lake, "SELECT y FROM doubled") == [(2,), (4,)]
    assert [tuple(row) for row in frame.collect()] == [(1,)]
    lake.sql("DELETE FROM d.t WHERE id IN (SELECT id FROM later WHERE id = 2)")
    assert rows(lake, "SELECT x FROM doubled") == [(1,)]
    # A view that another one replaced, or that reads the one that it replaces, is not created again.
    spark.range(1).createOrReplaceTempView("later")
    assert rows(lake, "SELECT * FROM later") == [(0,)]
    lake.sql("SELECT id FROM ice.d.t").createOrReplaceTempView("own")
    lake.sql("SELECT * FROM own").createOrReplaceTempView("own")
    lake.sql("INSERT INTO ice.d.t VALUES (5)")
    assert (1,) in rows(lake, "SELECT * FROM own")
    lake.script("CREATE OR REPLACE TEMPORARY VIEW own AS SELECT * FROM ice.d.t; DROP TABLE ice.d.t")
    with pytest.raises(NoSuchTableError):
        lake.sql("SELECT * FROM own")
    lake.sql("DROP VIEW own")
    with pytest.raises(Exception, match="own"):
        lake.sql("SELECT * FROM own")


# CHAR


CHAR_QUERIES = [
    "c, v, w FROM {t}",
    "concat('[', c, ']', w) FROM {t}",
    "v FROM {t} WHERE c = 'ab'",
    "v FROM {t} WHERE c IN ('cd', 'é ')",
    "v FROM {t} WHERE w = 'x' AND c < 'b'",
    "v FROM {t} WHERE c LIKE 'ab'",
]


@pytest.mark.parametrize(
    "options",
    [
        "'bucket' = '-1'",
        "'primary-key' = 'c'",
        "'primary-key' = 'c', 'bucket' = '2'",
        "'bucket' = '2', 'bucket-key' = 'c'",
    ],
)
def test_char_is_padded_as_by_spark(lake: Lake[DataFrame], spark: SparkSession, options: str) -> None:
    lake.sql(f"CREATE TABLE pai.d.t (c CHAR(4) NOT NULL, v INT, w CHAR(3)) TBLPROPERTIES ({options})")
    spark.sql("CREATE TABLE of_spark (c CHAR(4) NOT NULL, v INT, w CHAR(3)) USING parquet")
    try:
        for table in ("pai.d.t", "of_spark"):
            lake.sql(f"INSERT INTO {table} VALUES ('ab', 1, 'x'), ('cd  ', 2, NULL), ('é', 3, 'xyz  ')")
        queries = ["c, v, w FROM {t}", "v FROM {t} WHERE c = 'ab'", "v FROM {t} WHERE c IN ('cd', 'é ')"]
        queries += [
            "v FROM {t} WHERE w = 'x' AND c < 'b'",
            "concat('[', c, ']', w) FROM {t}",
            "v FROM {t} WHERE c LIKE 'ab'",
        ]
        for query in queries:
            ours, theirs = (rows(lake, f"SELECT {query.format(t=table)}") for table in ("pai.d.t", "of_spark"))
            assert ours == theirs, query
        # Other writers do not pad.
        lake.table("pai.d.t").append([{"c": "ef", "v": 4, "w": "q"}])
        assert rows(lake, "SELECT c, w FROM pai.d.t WHERE c = 'ef' AND w = 'q'") == [("ef  ", "q  ")]
        lake.sql("UPDATE pai.d.t SET v = v + 10, w = 'zz' WHERE c IN ('ef', 'ab')")
        assert rows(lake, "SELECT v, w FROM pai.d.t WHERE w = 'zz'") == [(11, "zz "), (14, "zz ")]
        source = "(SELECT 'ef  ' AS c, 5 AS v UNION ALL SELECT 'new', 6) AS s"
        on = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (c, v) VALUES (s.c, s.v)"
        lake.sql(f"MERGE INTO pai.d.t AS t USING {source} ON t.c = s.c {on}")
        lake.sql("DELETE FROM pai.d.t WHERE c = 'cd'")
        assert rows(lake, "SELECT c, v FROM pai.d.t") == [("ab  ", 11), ("ef  ", 5), ("new ", 6), ("é   ", 3)]
        if "primary-key" in options:
            lake.sql("INSERT INTO pai.d.t VALUES ('ab  ', 7, NULL)")
            frazil.spark.write(
                spark.createDataFrame([("é", 8, "a")], "c STRING, v INT, w STRING"), lake.table("pai.d.t")
            )
            assert rows(lake, "SELECT c, v FROM pai.d.t WHERE c IN ('ab', 'é')") == [("ab  ", 7), ("é   ", 8)]
        with pytest.raises(FrazilError, match=r"CHAR\(4\)"):
            lake.sql("INSERT INTO pai.d.t VALUES ('abcde', 1, NULL)")
    finally:
        spark.sql("DROP TABLE of_spark")


# NULL with required parts


@pytest.mark.parametrize("kind", ["ice", "pai", "pai key", "pai vectors"])
def test_null_of_a_struct_and_of_a_variant(lake: Lake[DataFrame], kind: str) -> None:
    options = {
        "ice": "'format-version' = '3'",
        "pai": "'file.format' = 'parquet'",
        "pai key": "'primary-key' = 'id', 'bucket' = '1'",
        "pai vectors": "'primary-key' = 'id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    }[kind]
    table = f"{kind[:3]}.d.t"
    lake.sql(
        f"CREATE TABLE {table} (id INT NOT NULL, a STRUCT<s: STRING NOT NULL>, v VARIANT) TBLPROPERTIES ({options})"
    )
    lake.sql(f"INSERT INTO {table} VALUES (0, NULL, NULL)")
    lake.sql(
        f"INSERT INTO {table} SELECT id, IF(id = 1, NULL, named_struct('s', 'x')), parse_json('[1]') FROM range(1, 4)"
    )
    lake.sql(f"UPDATE {table} SET a = NULL, v = parse_json('{{}}') WHERE id = 2")
    lake.sql(f"UPDATE {table} SET v = NULL WHERE id + 0 = 3")
    lake.sql(
        f"MERGE INTO {table} t USING (SELECT 3 AS id UNION ALL SELECT 9) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET a = named_struct('s', 'y') "
        "WHEN NOT MATCHED THEN INSERT (id, a, v) VALUES (s.id, NULL, parse_json('2'))"
    )
    assert rows(lake, f"SELECT id, a.s, to_json(v) FROM {table}") == [
        (0, None, None),
        (1, None, "[1]"),
        (2, None, "{}"),
        (3, "y", None),
        (9, None, "2"),
    ]


# Names


@pytest.mark.parametrize("kind", ["ice", "pai", "pai key"])
def test_names_with_any_characters(lake: Lake[DataFrame], spark: SparkSession, kind: str) -> None:
    table, own = f"{kind[:3]}.d.t", "TBLPROPERTIES ('primary-key' = 'a.b', 'bucket' = '2')" if "key" in kind else ""
    own = "PARTITIONED BY (`a.b`)" if kind == "ice" else own
    lake.sql(f"CREATE TABLE {table} (`i d` INT, `a.b` STRING NOT NULL, `c``d` INT, `*` STRUCT<`x.y`: INT>) {own}")
    lake.sql(f"INSERT INTO {table} SELECT id, CAST(id AS STRING), 1, named_struct('x.y', 1) FROM range(3)")
    lake.sql(f"UPDATE {table} SET `c``d` = `i d` + `c``d` WHERE `a.b` = '1' AND `i d` = 1")
    lake.sql(f"UPDATE {table} SET `*`.`x.y` = 7 WHERE `i d` + 1 = 1")
    lake.sql(f"DELETE FROM {table} WHERE concat(`a.b`, 'x') = '2x'")
    source = "(SELECT '1' AS `a.b`, 5 AS `c``d` UNION ALL SELECT '9', 6) s"
    lake.sql(
        f"MERGE INTO {table} t USING {source} ON t.`a.b` = s.`a.b` WHEN MATCHED THEN UPDATE SET `c``d` = s.`c``d` "
        "WHEN NOT MATCHED THEN INSERT (`a.b`, `c``d`) VALUES (s.`a.b`, s.`c``d`)"
    )
    expected = [("0", 1, 7), ("1", 5, 1), ("9", 6, None)]
    assert rows(lake, f"SELECT `a.b`, `c``d`, `*`.`x.y` FROM {table}") == expected
    assert rows(lake, f"SELECT `a.b` FROM {table} WHERE `c``d` > 4 AND `a.b` < '5'") == [("1",)]
    frame = frazil.spark.read(spark, lake.table(table))
    frazil.spark.write(frame, lake.table(table), "overwrite")
    assert rows(lake, f"SELECT `a.b`, `c``d`, `*`.`x.y` FROM {table}") == expected
