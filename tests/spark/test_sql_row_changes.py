"""Tests of DELETE, UPDATE and TRUNCATE in Spark SQL, compared with queries of Spark on Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchSnapshotError, UnsupportedError
from frazil.spark import _sql_row_changes
from support.sql_row_statements import INVALID as INVALID_STATEMENTS
from support.sql_row_statements import VALID
from support.sql_row_tables import (
    CASES,
    CONDITIONS,
    FILES,
    HOSTILE,
    branches,
    contents,
    in_utc,
    judging,
    left,
    make,
    quoted,
    rows,
    updated,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def judge(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with judging(spark, tmp_path_factory.mktemp("judge")) as session:
        yield session


@pytest.fixture(autouse=True)
def settings(spark: SparkSession) -> Iterator[None]:
    with in_utc(spark):
        yield


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("version", "mode"), CASES)
def test_delete_leaves_the_rows_that_do_not_match_in_spark(
    judge: SparkSession, tmp_path: Path, version: int, mode: str
) -> None:
    lake = frazil.spark.connect(judge, {"lake": make(tmp_path, version, mode)})
    branches(lake, len(CONDITIONS))
    total = sum(map(len, FILES))
    for number, condition in enumerate(CONDITIONS):
        result = lake.sql(f"DELETE FROM lake.db.t.branch_c{number} WHERE {condition}")
        assert (result.columns, result.collect()) == ([], [])
        found = lake.table("lake.db.t").scan(ref=f"c{number}").to_arrow()
        assert rows(found) == left(judge, condition), condition
        assert lake.last is not None
        assert lake.last.deleted_rows == total - len(found), condition
    assert lake.table("lake.db.t").scan().count() == total


UPDATES: list[tuple[dict[str, str], str]] = [
    ({"name": "'x'"}, "id = 1"),
    ({"name": "'it\\'s' ' \"two\"'", "b`q": "r'a\\n'"}, "name LIKE 'a%'"),
    ({"name": "NULL", "d": "NULL"}, "id > 3"),
    ({"name": "5"}, "id = 1"),
    ({"NAME": "DATE '2024-02-29'"}, "id = 2"),
    ({"id": "-7", "where": "2.5"}, "v > 1.5"),
    ({"id": "(+7)", "Big": "2147483647L"}, "v <> 1.5"),
    ({"d": "DATE '1582-10-04'", "z": "TIMESTAMP '0001-01-01 00:00:00'"}, "id IS NULL"),
    ({"d": "TIMESTAMP '2024-05-05 23:59:59'"}, "id = 1"),
    ({"z": "TIMESTAMP '2024-02-29 12:00:00.123456'", "t": "TIMESTAMP_NTZ '2024-02-29 12:00:00'"}, "id < 5"),
    ({"z": "DATE '2024-02-29'", "t": "TIMESTAMP '2024-02-29 12:00:00+05:00'"}, "id < 5"),
    ({"z": "CAST('1900-01-01 00:00:00' AS TIMESTAMP)"}, "id = 1"),
    ({"v": "0.1", "f": "0.1"}, "n >= 1.5"),
    ({"v": "CAST('NaN' AS DOUBLE)", "f": "CAST('-Infinity' AS FLOAT)"}, "id = 1"),
    ({"v": "1e-320D", "f": "1e30"}, "id = 1"),
    ({"n": "1.005"}, "id = 1"),
    ({"n": "7", "Big": "CAST('12' AS INT)"}, "id = 1 OR id IS NULL"),
    ({"flag": "true", HOSTILE: "1", "a.b": "TRY_CAST('x' AS INT)"}, "NOT v < 0.0"),
    ({"name": "'all'"}, "true"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("version", "mode"), CASES)
@pytest.mark.parametrize("in_workers", [False, True])
def test_update_sets_the_values_that_spark_computes(
    judge: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: int,
    mode: str,
    in_workers: bool,  # noqa: FBT001 - a parameter
) -> None:
    cases = UPDATES
    if in_workers:
        monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0)
        cases = UPDATES[version :: len(CASES)]
    lake = frazil.spark.connect(judge, {"lake": make(tmp_path, version, mode)})
    branches(lake, len(cases))
    for number, (values, condition) in enumerate(cases):
        assignments = ", ".join(f"{quoted(name)} = {value}" for name, value in values.items())
        lake.sql(f"UPDATE lake.db.t.branch_c{number} SET {assignments} WHERE {condition}")
        found = lake.table("lake.db.t").scan(ref=f"c{number}").to_arrow()
        assert rows(found) == updated(judge, values, condition), (values, condition)
        assert lake.last is not None
        assert lake.last.updated_rows == judge.sql(f"SELECT 1 FROM judge WHERE {condition}").count(), condition


@pytest.fixture
def lake(judge: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    return frazil.spark.connect(judge, {"lake": make(tmp_path / "lake", 2, "copy-on-write")})


def ids(lake: Lake[DataFrame]) -> list[Any]:
    return sorted(lake.table("lake.db.t").scan().to_arrow()["id"].to_pylist(), key=str)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lake.db.t WHERE t.id = 1 OR db.t.id = 2 OR lake.db.T.id IN (3)",
        "DELETE FROM lake.db.t AS x WHERE x.id BETWEEN 1 AND 3",
        "DELETE FROM lake.db.t `x y` WHERE `X Y`.id < 4 AND `x y`.id > 0",
        "USE lake.db; DELETE FROM t WHERE t.id > 0 AND 4 > t.id;",
    ],
)
def test_columns_can_be_qualified(lake: Lake[DataFrame], statement: str) -> None:
    lake.script(statement)
    assert ids(lake) == sorted([-10, 4, 5, 7, 8, 9, None, None], key=str)


def test_values_of_other_types(spark: SparkSession, tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    fields: list[tuple[str, Any]] = [("id", pa.int32()), ("x", pa.binary()), ("f", pa.binary(3))]
    struct = pa.struct([("a", pa.int32())])
    table = catalog.create_table("db.t", pa.schema([*fields, ("s", struct), ("u", pa.uuid())]))
    table.append([{"id": 1, "x": b"a", "f": b"abc", "s": {"a": 1}}, {"id": 2, "s": {"a": 2}}])
    lake = frazil.spark.connect(spark, {"lake": catalog})
    text = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    lake.sql(f"UPDATE lake.db.t SET x = X'0061', f = X'646566', s = NULL, u = '{text}' WHERE id = 2")
    found = lake.sql("SELECT * FROM lake.db.t ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, b"a", b"abc", (1,), None), (2, b"\0a", b"def", None, text)]
    for value, problem in (("u = 'x'", "is not a UUID"), ("f = X'64'", "f"), ("s = 1", "int cannot be assigned")):
        with pytest.raises(InvalidArgumentError, match=problem):
            lake.sql(f"UPDATE lake.db.t SET {value}")


def test_qualified_assignments(lake: Lake[DataFrame]) -> None:
    lake.sql("UPDATE lake.db.t AS x SET x.name = 'n', where = DEFAULT WHERE x.id = 1")
    lake.sql("UPDATE lake.db.t SET lake.db.t.id = 11, t.flag = false WHERE t.id = 1")
    [found] = lake.table("lake.db.t").scan("id = 11").to_arrow().to_pylist()
    assert (found["name"], found["where"], found["flag"]) == ("n", None, False)


def test_all_rows_are_deleted_without_reading_files(lake: Lake[DataFrame]) -> None:
    first = lake.table("lake.db.t").current_snapshot().snapshot_id
    for statement in ("DELETE FROM lake.db.t", "TRUNCATE TABLE lake.db.t"):
        lake.sql(statement)
        assert ids(lake) == []
        assert lake.last is not None
        assert (lake.last.deleted_rows, lake.last.added_files) == (11, 0)
        lake.sql(f"CALL lake.system.rollback_to_snapshot('db.t', {first})")
        assert len(ids(lake)) == 11


def test_files_without_matches_are_not_rewritten(lake: Lake[DataFrame]) -> None:
    lake.sql("DELETE FROM lake.db.t WHERE id = 8")
    assert lake.last is not None
    assert (lake.last.removed_files, lake.last.added_files) == (1, 1)
    lake.sql("UPDATE lake.db.t SET name = 'x' WHERE id IN (1, 2)")
    assert lake.last.deleted_rows == 0
    assert (lake.last.removed_files, lake.last.added_files, lake.last.updated_rows) == (1, 1, 2)


def test_the_last_result_is_kept(lake: Lake[DataFrame]) -> None:
    assert lake.last is None
    lake.sql("INSERT INTO lake.db.t (id) VALUES (100), (101)")
    assert lake.last is not None
    assert lake.last.added_records == 2
    lake.sql("INSERT INTO lake.db.t (id) SELECT id FROM range(3)")
    assert lake.last.added_records == 3
    kept = lake.last
    lake.sql("SELECT * FROM lake.db.t")
    with pytest.raises(InvalidArgumentError):
        lake.sql("UPDATE lake.db.t SET id.x = 1")
    assert lake.last is kept
    lake.sql("CREATE TABLE lake.db.c AS SELECT id FROM lake.db.t LIMIT 4")
    assert lake.last.added_records == 4
    assert lake.last.snapshot_id == lake.table("lake.db.c").current_snapshot().snapshot_id


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_timestamps_are_those_of_the_session(judge: SparkSession, lake: Lake[DataFrame], zone: str) -> None:
    judge.conf.set("spark.sql.session.timeZone", zone)
    conditions = ["z >= '2024-03-10 03:00:00'", "z < DATE '2024-03-11'", "z = TIMESTAMP '2024-03-10 14:30:00'"]
    values = {"z": "TIMESTAMP '2024-03-10 02:30:00'", "d": "TIMESTAMP '2024-03-10 23:30:00'", "t": "current_date()"}
    branches(lake, 2 * len(conditions))
    for number, condition in enumerate(conditions):
        lake.sql(f"DELETE FROM lake.db.t.branch_c{number} WHERE {condition}")
        found = lake.table("lake.db.t").scan(ref=f"c{number}").to_arrow()
        assert rows(found) == left(judge, condition), condition
        number += len(conditions)  # noqa: PLW2901 - the other half of the branches
        assignments = ", ".join(f"{name} = {value}" for name, value in values.items())
        lake.sql(f"UPDATE lake.db.t.branch_c{number} SET {assignments} WHERE {condition}")
        found = lake.table("lake.db.t").scan(ref=f"c{number}").to_arrow()
        assert rows(found) == updated(judge, values, condition), condition


def test_case_sensitive_sessions(judge: SparkSession, lake: Lake[DataFrame]) -> None:
    from pyspark.errors import PySparkException

    judge.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        lake.sql("DELETE FROM lake.db.t WHERE big = 1")
    with pytest.raises(InvalidArgumentError, match="the table has no column `big`"):
        lake.sql("UPDATE lake.db.t SET big = 1")
    lake.sql("DELETE FROM lake.db.t WHERE Big = 1")
    assert 2 not in ids(lake)


def test_sessions_that_are_not_in_ansi_mode(judge: SparkSession, lake: Lake[DataFrame]) -> None:
    judge.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(UnsupportedError, match="without ANSI mode"):
        lake.sql("UPDATE lake.db.t SET Big = 5000000000 WHERE id = 1")
    lake.sql("UPDATE lake.db.t SET id = 5 WHERE id = 1")
    assert ids(lake).count(5) == 2


KEYED = "(id INT, name STRING) USING paimon TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"
REFUSED = [
    "DELETE FROM lake.db.t.tag_v WHERE id = 1",
    "DELETE FROM lake.db.t.snapshot_id_1",
    "DELETE FROM lake.db.t.files",
    "UPDATE lake.db.t.tag_v SET id = 1",
    "UPDATE lake.db.t$snapshots SET id = 1",
    "UPDATE lake.db.t SET z = TIMESTAMP '+12000-01-01 00:00:00'",
    "TRUNCATE TABLE lake.db.t PARTITION (id = 1)",
    "TRUNCATE TABLE lake.db.t.tag_v",
    "MERGE INTO judge USING lake.db.t ON t.id = judge.id WHEN MATCHED THEN DELETE",
    "MERGE WITH SCHEMA EVOLUTION INTO lake.db.t USING judge ON true WHEN MATCHED THEN DELETE",
]
INVALID = {
    "DELETE lake.db.t": "expected DELETE FROM",
    "DELETE FROM lake.db.t.branch_nope": "nope",
    "DELETE FROM lake.db.nope WHERE id = 1": "nope",
    "UPDATE lake.db.t SET nope = 1": "the table has no column `nope`",
    "UPDATE lake.db.t SET nope.id = 1": "the table has no column `nope.id`",
    "UPDATE lake.db.t SET id = 1, ID = 2": "column `ID` is set twice",
    "UPDATE lake.db.t SET id = 1, t.id = 2": "column `id` is set twice",
    "UPDATE lake.db.t SET id = 'x'": "string cannot be assigned to bigint",
    "UPDATE lake.db.t SET required = NULL": "required",
    "UPDATE lake.db.t SET d = 5": "int cannot be assigned to date",
    "DELETE FROM lake.db.t WHERE rand() > 2": "must not call rand",
    "UPDATE lake.db.t SET id = 2 WHERE id IN (SELECT id + round(Random()) FROM judge)": "must not call random",
    "MERGE INTO lake.db.t USING judge AS s ON t.id = s.id AND UUID() > 'a' WHEN MATCHED THEN DELETE": "not call uuid",
    "MERGE INTO lake.db.t USING judge AS s ON t.id = s.id WHEN MATCHED AND randn() > 9 THEN DELETE": "not call randn",
}


def test_refused_statements_change_no_file(judge: SparkSession, lake: Lake[DataFrame], tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    table = lake.table("lake.db.t")
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "v").commit()
    with table.update_schema(allow_incompatible_changes=True) as change:
        change.add_column("required", "int", required=True)
    catalogs = {"lake": lake.catalog("lake"), "p": {"type": "paimon", "warehouse": str(tmp_path / "paimon")}}
    lake = frazil.spark.connect(judge, catalogs)
    lake.script("CREATE TABLE p.default.t (id INT) USING paimon; INSERT INTO p.default.t VALUES (1)")
    lake.script(f"CREATE TABLE p.default.k {KEYED}; INSERT INTO p.default.k VALUES (1, 'a')")
    before = contents(tmp_path)
    for statement in REFUSED:
        with pytest.raises(UnsupportedError) as caught:
            lake.script(f"SELECT 1;\n  {statement}")
        assert "line 2, column " in str(caught.value), statement
    for statement, problem in INVALID.items():
        with pytest.raises((InvalidArgumentError, NoSuchSnapshotError, FrazilError)) as error:
            lake.sql(statement)
        assert problem in str(error.value), statement
        assert not isinstance(error.value, UnsupportedError), statement
    with pytest.raises(PySparkException, match="CAST_OVERFLOW"):
        lake.sql("UPDATE lake.db.t SET Big = 5000000000")
    assert contents(tmp_path) == before


def test_rows_of_paimon_tables_are_changed_by_filters(judge: SparkSession, tmp_path: Path) -> None:
    lake = frazil.spark.connect(judge, {"p": {"type": "paimon", "warehouse": str(tmp_path)}})
    lake.script(f"CREATE TABLE p.default.k {KEYED}; INSERT INTO p.default.k VALUES (1, 'a'), (2, NULL), (3, 'c')")

    def rows(name: str = "p.default.k") -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in lake.sql(f"SELECT * FROM {name}").collect())

    lake.sql("DELETE FROM p.default.k AS x WHERE x.id > 2 OR x.name = 'nope'")
    assert lake.last is not None
    assert (lake.last.deleted_rows, rows()) == (1, [(1, "a"), (2, None)])
    lake.sql("UPDATE p.default.k SET name = 'xy' WHERE name IS NULL")
    assert (lake.last.updated_rows, rows()) == (1, [(1, "a"), (2, "xy")])
    plan = lake.sql("EXPLAIN DELETE FROM p.default.k WHERE id = 1").collect()[0][0]
    assert "Records: -D for each row" in plan
    lake.table("p.default.k").manage_snapshots().create_tag(None, "v").create_branch("v", "b").commit()
    lake.sql("UPDATE p.default.`k$branch_b` SET name = 'branch'")
    assert rows("p.default.`k$branch_b`") == [(1, "branch"), (2, "branch")]
    assert rows() == [(1, "a"), (2, "xy")]
    with pytest.raises(InvalidArgumentError, match="cannot set the primary key column `id`"):
        lake.sql("UPDATE p.default.k SET id = 5 WHERE id = 1")
    lake.sql("DELETE FROM p.default.k")
    assert rows() == []
    lake.script("INSERT INTO p.default.k VALUES (7, 'z'); TRUNCATE TABLE p.default.k")
    assert rows() == []
    lake.script("CREATE TABLE p.default.t (id INT) USING paimon; INSERT INTO p.default.t VALUES (1), (2), (2)")
    lake.sql("DELETE FROM p.default.t WHERE id = 1")
    lake.sql("UPDATE p.default.t SET id = 5 WHERE id = 2")
    assert (lake.last.updated_rows, rows("p.default.t")) == (2, [(5,), (5,)])
    plan = lake.sql("EXPLAIN UPDATE p.default.t SET id = 6").collect()[0][0]
    assert "Rewrites: the data files with matching rows" in plan
    lake.sql("TRUNCATE TABLE p.default.t")
    assert rows("p.default.t") == []


def test_statements_on_other_tables_run_in_spark(lake: Lake[DataFrame]) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    for statement in ("DELETE FROM judge WHERE id = 1", "UPDATE judge SET id = 1", "TRUNCATE TABLE judge"):
        with pytest.raises((PySparkException, Py4JError)):
            lake.sql(statement)


def test_sparks_parser_accepts_the_same_statements(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    parser: Any = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined] - of Classic

    def accepts(text: str) -> bool:
        try:
            parser.parsePlan(text)
        except PySparkException:
            return False
        return True

    assert [text for text in VALID if not accepts(text.rstrip("; "))] == []
    assert [text for text in INVALID_STATEMENTS if accepts(text)] == []
