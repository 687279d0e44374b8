"""Tests of DELETE, UPDATE and TRUNCATE in Spark SQL, compared with queries of Spark on Parquet files."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchSnapshotError, UnsupportedError
from frazil.spark import _sql_row_changes
from support.sql_row_statements import INVALID as INVALID_STATEMENTS
from support.sql_row_statements import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

CASES = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]
HOSTILE = 'it\'s; "x"'
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("d", pa.date32()),
        ("v", pa.float64()),
        ("f", pa.float32()),
        ("n", pa.decimal128(9, 2)),
        ("z", pa.timestamp("us", "UTC")),
        ("t", pa.timestamp("us")),
        ("flag", pa.bool_()),
        ("Big", pa.int32()),
        ("where", pa.int32()),
        ("a.b", pa.int32()),
        (HOSTILE, pa.int32()),
        ("b`q", pa.string()),
    ]
)
DAY = dt.datetime(2024, 3, 10, 6, 30)  # noqa: DTZ001 - a wall clock


def row(id: int | None, name: str | None, v: float | None, n: str | None, hours: int | None) -> dict[str, Any]:  # noqa: A002
    moment = None if hours is None else DAY + dt.timedelta(hours=hours)
    values = (
        id,
        name,
        moment and moment.date(),
        v,
        v,
        n and Decimal(n),
        moment and moment.replace(tzinfo=dt.UTC),
        moment,
        None if id is None else id % 2 == 0,
        hours,
        id,
        hours,
        id,
        name,
    )
    return dict(zip(SCHEMA.names, values, strict=True))


FILES = [
    [row(1, "a", 1.5, "1.50", 0), row(2, "b", float("nan"), "2.55", 1), row(3, None, -0.0, None, None)],
    [row(4, "abc", float("inf"), "0.00", 24), row(5, "a\nc", 0.0, "-7.25", 25), row(None, "A", None, "3", 48)],
    [row(7, "it's", float("-inf"), "1.50", 0), row(8, "%", 2.5, "99.99", None), row(9, "日本", 1e300, "7", -3000)],
    [row(-10, "", 1.5, "-0.01", 8000), row(None, None, None, None, None)],
]
CONDITIONS = [
    "id = 1",
    "ID <> 1",
    "5 > id AND name = 'a'",
    "id != 1 AND NOT name IN ('a', 'b')",
    "NOT (id = 1 OR name LIKE 'a%')",
    "name LIKE 'a_c' OR name LIKE '%本'",
    "name NOT LIKE '%'",
    "name = ''",
    "name > 'a' AND name < 'b'",
    "name BETWEEN 'A' AND 'a'",
    "id NOT BETWEEN 2 AND 7",
    "id IN (1, 4, 9) OR id IS NULL",
    "id IS NOT NULL",
    "NOT id IS NULL AND id >= -10",
    "v = 1.5",
    "v > 1.5",
    "v <> 1.5",
    "NOT v < 0.0",
    "v = 0.0",
    "v BETWEEN -1.0 AND 2.5",
    "v IN (0.0, 2.5)",
    "n >= 1.5",
    "n IN (1.50, -7.25)",
    "NOT n = 1.5",
    "d = DATE '2024-03-10'",
    "d < '2024-03-11' OR d IS NULL",
    "d IN (DATE '2024-03-11', '2024-03-12')",
    "z >= TIMESTAMP '2024-03-11 00:00:00'",
    "z <> '2024-03-10 06:30:00'",
    "t < '2024-03-11 00:00:00' AND t >= '2024-03-10'",
    "NOT t = TIMESTAMP_NTZ '2024-03-10 06:30:00'",
    "big = 1 OR `where` = 4",
    "`a.b` = 24",
    f"`{HOSTILE}` = 7",
    "`b``q` = 'abc'",
    "id = 1 -- AND id = 2\n OR /* no */ id = 3",
    "true",
    "false OR id = 1",
    "id = 100",
    "big < 5000000000 AND NOT big = 5000000000",
    "id < 9223372036854775807 OR id IN (7, -9223372036854775807)",
    "n <= 99999999999 AND n > -99999999999.5",
    "NOT n = 99999999999",
    "v = -0.0 OR v < 0.1",
    "name <> 'a' AND NOT (name < 'b' OR name IS NULL)",
]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(found: pa.Table) -> list[str]:
    """Return rows in a form that can be compared: NaN equals NaN, and the order does not matter."""
    found = pa.table({name: found[name] for name in found.column_names})
    return sorted(map(repr, found.cast(pa.schema([SCHEMA.field(name) for name in found.column_names])).to_pylist()))


@pytest.fixture(scope="module")
def judge(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the session with the view `judge` of the same rows."""
    folder = tmp_path_factory.mktemp("judge")
    for place, part in enumerate(FILES):
        pq.write_table(pa.Table.from_pylist(part, SCHEMA), folder / f"{place}.parquet")
    spark.read.parquet(str(folder)).createOrReplaceTempView("judge")
    yield spark
    spark.catalog.dropTempView("judge")


@pytest.fixture(autouse=True)
def settings(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # The statistics of Parquet files do not cover NaN, so that Spark would skip rows with NaN.
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    yield
    spark.conf.unset("spark.sql.parquet.filterPushdown")
    spark.conf.set("spark.sql.session.timeZone", before)
    spark.conf.unset("spark.sql.caseSensitive")
    spark.conf.unset("spark.sql.ansi.enabled")


def make(folder: Path, version: int, mode: str) -> Any:
    """Return a catalog with the table `db.t`, which has several files, and rows that are already deleted."""
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(folder))
    catalog.create_namespace("db")
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update")}
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": str(version), **modes})
    for part in FILES:
        table.append(pa.Table.from_pylist([*part, row(1000, "deleted", 1.5, "1", 0)], SCHEMA))
    table.delete("id = 1000")
    return catalog


def branches(lake: Lake[DataFrame], count: int) -> int:
    """Create the branches `c0`, `c1` and so on, and return the snapshot."""
    table = lake.table("lake.db.t")
    snapshot: int = table.current_snapshot().snapshot_id
    for number in range(count):
        table.manage_snapshots().create_branch(snapshot, f"c{number}").commit()
    return snapshot


def left(judge: SparkSession, condition: str) -> list[str]:
    """Return the rows that a SELECT with the condition does not return."""
    selected = Counter(rows(judge.sql(f"SELECT * FROM judge WHERE {condition}").toArrow()))
    return sorted((Counter(rows(judge.table("judge").toArrow())) - selected).elements())


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


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def updated(judge: SparkSession, values: dict[str, str], condition: str) -> list[str]:
    set_values = {name.lower(): value for name, value in values.items()}
    columns = [
        f"CASE WHEN ({condition}) THEN CAST({set_values[name.lower()]} AS {kind}) ELSE {quoted(name)} END "
        f"AS {quoted(name)}"
        if name.lower() in set_values
        else quoted(name)
        for name, kind in judge.table("judge").dtypes
    ]
    return rows(judge.sql(f"SELECT {', '.join(columns)} FROM judge").toArrow())


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
    with pytest.raises(UnsupportedError):
        lake.sql("DELETE FROM lake.db.t WHERE id + 1 = 2")
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
    judge.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(UnsupportedError, match="this condition of DELETE"):
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


REFUSED = [
    "DELETE FROM lake.db.t WHERE id < 99999999999999999999",
    "DELETE FROM lake.db.t WHERE id + 1 = 2",
    "DELETE FROM lake.db.t WHERE id IN (SELECT id FROM lake.db.t)",
    "DELETE FROM lake.db.t WHERE EXISTS (SELECT 1)",
    "DELETE FROM lake.db.t WHERE rand() < 0.5",
    "DELETE FROM lake.db.t WHERE NULL",
    'DELETE FROM lake.db.t WHERE name = "a"',
    "DELETE FROM lake.db.t WHERE other.id = 1",
    "DELETE FROM lake.db.t AS x WHERE t.id = 1",
    "DELETE FROM lake.db.t WHERE nope = 1",
    "DELETE FROM lake.db.t.tag_v WHERE id = 1",
    "DELETE FROM lake.db.t.snapshot_id_1",
    "DELETE FROM lake.db.t.files",
    "WITH c AS (SELECT 1) DELETE FROM lake.db.t WHERE id = 1",
    "DELETE FROM p.default.t WHERE id = 1",
    "UPDATE lake.db.t SET id = id + 1",
    "UPDATE lake.db.t SET name = upper(name) WHERE id = 1",
    "UPDATE lake.db.t SET name = rand()",
    "UPDATE lake.db.t SET name = (SELECT 'x')",
    'UPDATE lake.db.t SET name = "x"',
    "UPDATE lake.db.t SET name = 'x' WHERE abs(id) = 1",
    "UPDATE lake.db.t SET id.x = 1",
    "UPDATE lake.db.t.tag_v SET id = 1",
    "UPDATE lake.db.t$snapshots SET id = 1",
    "UPDATE p.default.t SET id = 1",
    "UPDATE lake.db.t SET z = TIMESTAMP '+12000-01-01 00:00:00'",
    "TRUNCATE TABLE lake.db.t PARTITION (id = 1)",
    "TRUNCATE TABLE lake.db.t.tag_v",
    "TRUNCATE TABLE p.default.t",
    "MERGE INTO lake.db.t USING judge ON t.id = judge.id WHEN MATCHED THEN DELETE",
    "MERGE INTO p.default.t USING judge ON t.id = judge.id WHEN MATCHED THEN DELETE",
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


def test_refusals_name_the_python_call(lake: Lake[DataFrame]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        lake.sql("DELETE FROM lake.db.t\nWHERE id % 2 = 1")
    assert str(caught.value) == (
        'this condition of DELETE is not supported (line 2, column 7); use lake.table("lake.db.t").delete("id = 1")'
    )
    with pytest.raises(UnsupportedError) as caught:
        lake.sql("MERGE INTO lake.db.t USING judge ON t.id = judge.id WHEN MATCHED THEN DELETE")
    assert str(caught.value) == (
        'MERGE is not supported (line 1, column 1); use frazil.spark.merge(frame, lake.table("lake.db.t"), ["id"])'
    )


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
