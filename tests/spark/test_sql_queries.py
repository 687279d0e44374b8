"""Tests of Spark SQL queries on states of tables, metadata tables and system tables, in Spark."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil.spark
from frazil.errors import InvalidArgumentError, NoSuchSnapshotError, UnsupportedError
from support.sql_lakes import iceberg_catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

ORDERS = """
USE p;
CREATE TABLE orders (id INT NOT NULL, name STRING) USING paimon TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');
INSERT INTO orders VALUES (1, 'a');
INSERT INTO orders VALUES (1, 'b'), (2, 'c')
"""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake[DataFrame]:
    """Return a lake with `lake.db.t` of `iceberg_catalog` and the table `orders` of two snapshots."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "paimon").mkdir()
    catalogs = {
        "lake": iceberg_catalog(folder / "iceberg")[0],
        "p": {"type": "paimon", "warehouse": str(folder / "paimon")},
    }
    made = frazil.spark.connect(spark, catalogs)
    made.script(ORDERS)
    return made


def values(lake: Lake[DataFrame], query: str, args: Any = None) -> list[tuple[object, ...]]:
    return sorted(map(tuple, lake.sql(query, args).collect()))


def test_states_of_an_iceberg_table_in_one_query(lake: Lake[DataFrame]) -> None:
    first, second = (snapshot.snapshot_id for snapshot in lake.table("lake.db.t").snapshots())
    states = {
        f"t VERSION AS OF {first}": 1,
        f"t VERSION AS OF '{second}'": 3,
        "t FOR VERSION AS OF 'v1'": 1,
        f"t.snapshot_id_{first}": 1,
        "t.branch_b1": 1,
        "`t$tag_v1`": 1,
        "t TIMESTAMP AS OF '2999-01-01'": 3,
        "t": 3,
        "t.snapshots": 2,
        f"t.files VERSION AS OF {first}": 1,
        "t$files": 2,
    }
    counts = (f"(SELECT count(*) FROM lake.db.{name} AS x) AS c{place}" for place, name in enumerate(states))
    assert values(lake, f"SELECT {', '.join(counts)}") == [tuple(states.values())]
    old = "SELECT t.id, files.record_count FROM lake.db.t VERSION AS OF 'v1', lake.db.t.files WHERE t.id < 2"
    assert values(lake, old) == [(1, 1), (1, 2)]


def test_a_time_is_in_the_time_zone_of_the_session(lake: Lake[DataFrame], spark: SparkSession) -> None:
    table = lake.table("lake.db.t")
    moment = table.snapshots()[0].timestamp_ms
    [first] = lake.sql("SELECT id FROM lake.db.t TIMESTAMP AS OF timestamp_millis(:ms)", {"ms": moment}).collect()
    assert first.id == 1
    utc = dt.datetime.fromtimestamp(moment / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
    query = f"SELECT id FROM lake.db.t TIMESTAMP AS OF '{utc}'"
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Etc/GMT+12")  # behind UTC
        assert lake.sql(query).count() == 3
        spark.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
        with pytest.raises(NoSuchSnapshotError):
            lake.sql(query)
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def test_states_and_system_tables_of_a_paimon_table(lake: Lake[DataFrame]) -> None:
    assert values(lake, "SELECT * FROM orders VERSION AS OF 1") == [(1, "a")]
    assert values(lake, "SELECT name FROM p.default.orders TIMESTAMP AS OF now() WHERE id = 1") == [("b",)]
    assert values(lake, "SELECT snapshot_id FROM orders$snapshots") == [(1,), (2,)]
    assert values(lake, "SELECT rowkind, id FROM orders$audit_log") == [("+I", 1), ("+I", 2)]
    assert values(lake, "SELECT count(*) FROM `orders$files` VERSION AS OF 1") == [(1,)]
    assert values(lake, "SELECT table_name FROM sys.all_tables") == [("orders",)]


def test_conditions_on_rows_that_frazil_makes(lake: Lake[DataFrame]) -> None:
    assert values(lake, "SELECT id FROM orders WHERE name = 'a'") == []
    assert values(lake, "SELECT id FROM orders WHERE name = 'b' AND id IN (1, 2)") == [(1,)]
    assert values(lake, "SELECT id FROM orders$audit_log WHERE rowkind = '+I' AND id < 2") == [(1,)]
    assert values(lake, "SELECT rowkind FROM orders$audit_log WHERE rowkind = '-D'") == []
    assert values(lake, "SELECT schema_id FROM orders$files WHERE record_count = 1 AND file_format = 'parquet'") == [
        (0,)
    ]
    files = "SELECT record_count FROM lake.db.t.files WHERE {} AND file_format = 'PARQUET'"
    assert values(lake, files.format("record_count > 1")) == [(2,)]
    assert values(lake, files.format("content = 0 AND sort_order_id IS NOT NULL")) == [(1,), (2,)]
    assert values(lake, files.format("content = 1")) == []
    assert values(lake, "SELECT count(*) FROM lake.db.t.snapshots WHERE operation LIKE 'app%'") == [(2,)]
    assert values(lake, "SELECT table_name FROM sys.all_tables WHERE table_name = 'nope'") == []


def test_a_query_keeps_its_state_after_a_commit(lake: Lake[DataFrame]) -> None:
    lake.sql("CREATE TABLE kept (id INT NOT NULL) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    lake.script("INSERT INTO kept VALUES (1); CREATE TABLE lake.db.kept (id INT); INSERT INTO lake.db.kept VALUES (1)")
    frames = [lake.sql(f"SELECT a.id FROM {name} a JOIN {name} b USING (id)") for name in ("kept", "lake.db.kept")]
    lake.script("INSERT INTO kept VALUES (2); INSERT INTO lake.db.kept VALUES (2)")
    assert [sorted(row.id for row in frame.collect()) for frame in frames] == [[1], [1]]


def test_all_names_of_a_table_read_one_state(lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    from frazil.spark import _engine

    lake.sql("CREATE TABLE twice (id INT NOT NULL) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    lake.script(
        "INSERT INTO twice VALUES (1); CREATE TABLE lake.db.twice (id INT); INSERT INTO lake.db.twice VALUES (1)"
    )
    relation, tables = _engine.relation, [lake.table("twice"), lake.table("lake.db.twice")]

    def with_a_commit(*arguments: Any, **options: Any) -> DataFrame:
        frame = relation(*arguments, **options)
        for table in tables:
            table.append(pa.table({"id": pa.array([len(table.snapshots()) + 1], pa.int32())}))
        return frame

    monkeypatch.setattr(_engine, "relation", with_a_commit)
    for name in ("twice", "lake.db.twice"):
        count = f"(SELECT count(*) FROM {name})"
        [found] = values(lake, f"SELECT {count} AS a, {count} AS b, {count} AS c")
        assert len(set(found)) == 1, found
    assert values(lake, "SELECT count(*) FROM twice") == [(7,)]


def test_parameters_by_name_and_by_position(lake: Lake[DataFrame]) -> None:
    assert values(lake, "SELECT name FROM lake.db.t WHERE id = :id", {"id": 2}) == [("b",)]
    assert values(lake, "SELECT name, ? FROM lake.db.t WHERE id = ?", ["{x}", 3]) == [("c", "{x}")]
    lake.sql("CREATE TABLE lake.db.given (id INT, name STRING)")
    lake.sql("INSERT INTO lake.db.given VALUES (?, ?)", [5, "five"])
    assert values(lake, "SELECT * FROM lake.db.given") == [(5, "five")]


def test_missing_state_error_gives_its_position(lake: Lake[DataFrame]) -> None:
    for name in ("t VERSION AS OF 'nope'", "t VERSION AS OF 1", "t.branch_nope", "t TIMESTAMP AS OF '1999-01-01'"):
        with pytest.raises(NoSuchSnapshotError, match=r"line \d, column \d"):
            lake.sql(f"SELECT 1 FROM lake.db.{name}")


def test_a_plan_is_explained(lake: Lake[DataFrame]) -> None:
    for mode in ("", "EXTENDED", "FORMATTED", "COST", "CODEGEN"):
        [[plan]] = lake.sql(f"EXPLAIN {mode} SELECT name FROM lake.db.t WHERE id = 1").collect()
        assert "name" in plan, mode
    [[plan]] = lake.sql("EXPLAIN SELECT id FROM lake.db.t WHERE id = :id", {"id": 1}).collect()
    assert "Physical Plan" in plan
    with pytest.raises(UnsupportedError, match="EXPLAIN with a query"):
        lake.sql("EXPLAIN INSERT INTO lake.db.t SELECT 1, 'x'")


def test_temporary_views_of_tables(lake: Lake[DataFrame], spark: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    lake.sql("CREATE TEMPORARY VIEW v (a, `b c`) AS SELECT * FROM lake.db.t WHERE id > :least", {"least": 1})
    try:
        assert values(lake, "SELECT v.`b c`, t.id FROM v JOIN lake.db.t t ON v.a = t.id") == [("b", 2), ("c", 3)]
        with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
            lake.sql("CREATE TEMP VIEW v AS SELECT * FROM lake.db.t")
        lake.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT id FROM lake.db.t VERSION AS OF 'v1'")
        lake.sql("USE lake.db")
        assert values(lake, "SELECT * FROM v") == [(1,)]
        lake.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT 5 AS five")
        assert values(lake, "SELECT * FROM v") == [(5,)]
    finally:
        lake.sql("USE spark_catalog")
        spark.catalog.dropTempView("v")
    lake.sql("CREATE GLOBAL TEMPORARY VIEW g AS SELECT id FROM p.default.orders")
    try:
        assert values(lake, "SELECT * FROM global_temp.g") == [(1,), (2,)]
    finally:
        spark.catalog.dropGlobalTempView("g")
    with pytest.raises(InvalidArgumentError, match="view `w` has 1 columns, but its query has 2"):
        lake.sql("CREATE TEMP VIEW w (a) AS SELECT * FROM lake.db.t")
    with pytest.raises(InvalidArgumentError, match="one part"):
        lake.sql("CREATE TEMP VIEW lake.db.w AS SELECT * FROM lake.db.t")
