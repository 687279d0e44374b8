"""Tests of MERGE in Spark SQL: random statements compared with a model, each form, and refusals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, LimitExceededError, UnsupportedError
from frazil.iceberg.operations.addressed import ChangeRows
from frazil.spark import _engine, _merged_rows, _row_level, _sql_row_changes
from frazil.spark._engine import SparkEngine
from support.sizes import size
from support.sql_merge_model import SeveralMatchesError, query_of, random_rows, random_statement
from support.sql_row_tables import CASES, contents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("name", pa.string()), ("v", pa.int32())])
ROWS = [
    {"id": 1, "k": 1, "name": "a", "v": 10},
    {"id": 2, "k": 2, "name": "b", "v": 0},
    {"id": 3, "k": None, "name": None, "v": 30},
    {"id": None, "k": 4, "name": "n", "v": None},
    {"id": 5, "k": 5, "name": "e", "v": 50},
]
NEWS = "(1L, 11, 'x', 1), (2L, 12, 'y', 0), (9L, 19, 'z', 9), (NULL, 20, 'q', 2)"
PER_CASE = size("FRAZIL_SQL_MERGES") // len(CASES)
"""The number of random statements for each format version and mode."""


def make(spark: SparkSession, folder: Path, version: int, mode: str, rows: Sequence[Any] = ROWS) -> Lake[DataFrame]:
    """Return a lake with the tables `db.t` and `db.u`; the rows of `db.t` are in two files."""
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(folder))
    catalog.create_namespace("db")
    modes = {"write.merge.mode": mode, "write.delete.mode": mode}
    table = catalog.create_table("db.t", SCHEMA, format_version=version, properties=modes)
    middle = (len(rows) + 1) // 2
    for part in (rows[:middle], rows[middle:]):
        table.append(pa.Table.from_pylist([*part, {"id": 1000}], SCHEMA))
    table.delete("id = 1000")
    lake = frazil.spark.connect(spark, {"lake": catalog})
    lake.sql("CREATE TABLE lake.db.u (id BIGINT, k INT, name STRING, v INT)")
    lake.sql(f"INSERT INTO lake.db.u VALUES {NEWS}")
    return lake


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake[DataFrame]:
    return make(spark, tmp_path / "lake", 2, "merge-on-read")


def rows(lake: Lake[DataFrame], ref: str = "main", name: str = "lake.db.t") -> Counter[tuple[Any, ...]]:
    found = lake.table(name).scan(ref=ref).to_arrow()
    return Counter(tuple(row.values()) for row in found.to_pylist())


def names(lake: Lake[DataFrame]) -> dict[Any, Any]:
    """Return the names by id."""
    found = lake.table("lake.db.t").scan().to_arrow()
    return dict(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


def counts(lake: Lake[DataFrame]) -> tuple[int, int, int]:
    """Return the numbers of rows that the last statement inserted, updated and deleted."""
    assert lake.last is not None
    return lake.last.inserted_rows, lake.last.updated_rows, lake.last.deleted_rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_random_statements(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    chooser = Random(number)  # noqa: S311 - of a test
    target = random_rows(chooser, 9)
    lake = make(spark, tmp_path, *CASES[number], target)
    table = lake.table("lake.db.t")
    snapshot = table.current_snapshot().snapshot_id
    for place in range(PER_CASE):
        table.manage_snapshots().create_branch(snapshot, f"c{place}").commit()
    refused = 0
    for place in range(PER_CASE):
        statement, source = random_statement(chooser), random_rows(chooser, chooser.randint(0, 5))
        # Some statements change the rows in workers, and keep the rows of the source, which may be small.
        monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0 if place % 2 else 128 << 20)
        monkeypatch.setattr(_sql_row_changes, "JOIN_LIMIT_BYTES", 0 if place % 3 else 128 << 20)
        monkeypatch.setattr(_engine, "BROADCAST_LIMIT_BYTES", 0 if place % 4 == 3 else 32 << 20)
        query = f"({query_of(source)})"
        if place % 3 == 1:
            spark.sql(query).createOrReplaceTempView("merged")
            query = "merged"
        text = f"MERGE INTO lake.db.t.branch_c{place} AS t USING {query} AS s ON {statement.on[0]} "
        text += " ".join(clause.text() for clause in statement.clauses)
        try:
            expected = statement.run(target, source)
        except SeveralMatchesError as error:
            refused += 1
            with pytest.raises(InvalidArgumentError, match=f"{error.args[0]} rows of the source match a row of"):
                lake.sql(text)
            assert rows(lake, f"c{place}") == rows(lake), text
        else:
            assert lake.sql(text).columns == []
            assert (rows(lake, f"c{place}"), counts(lake)) == expected, text
    assert refused < PER_CASE / 2


EACH = {
    "WHEN MATCHED THEN DELETE": (0, 0, 2),
    "WHEN MATCHED AND s.v > 0 THEN DELETE": (0, 0, 1),
    "WHEN MATCHED THEN UPDATE SET name = s.name": (0, 2, 0),
    "WHEN MATCHED AND t.v = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 10 div t.v, t.name = s.name": (0, 1, 1),
    "WHEN MATCHED THEN UPDATE SET *": (0, 2, 0),
    "WHEN NOT MATCHED THEN INSERT *": (2, 0, 0),
    "WHEN NOT MATCHED BY TARGET AND s.id IS NULL THEN INSERT (name, id) VALUES (upper(s.name), -1)": (1, 0, 0),
    "WHEN NOT MATCHED THEN INSERT (id) VALUES (id)": (2, 0, 0),
    "WHEN NOT MATCHED BY SOURCE THEN DELETE": (0, 0, 3),
    "WHEN NOT MATCHED BY SOURCE AND id = 3 THEN UPDATE SET name = 'three', v = v + 1": (0, 1, 0),
    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET k = DEFAULT WHEN MATCHED THEN DELETE": (0, 3, 2),
    "WHEN MATCHED AND CAST(NULL AS BOOLEAN) THEN DELETE": (0, 0, 0),
    "WHEN NOT MATCHED AND CAST(NULL AS BOOLEAN) THEN INSERT * WHEN NOT MATCHED AND s.id = 9 THEN INSERT *": (1, 0, 0),
}


def test_each_clause(lake: Lake[DataFrame]) -> None:
    table = lake.table("lake.db.t")
    snapshot = table.current_snapshot().snapshot_id
    for place, (clauses, expected) in enumerate(EACH.items()):
        table.manage_snapshots().create_branch(snapshot, f"b{place}").commit()
        lake.sql(f"MERGE INTO lake.db.t.branch_b{place} t USING lake.db.u s ON t.id = s.id {clauses}")
        assert counts(lake) == expected, clauses


STATEMENTS = [
    "MERGE INTO lake.db.t USING lake.db.u ON t.id = lake.db.u.id WHEN MATCHED THEN UPDATE SET name = db.u.name",
    "merge into lake.db.t as x using lake.db.u as `y z`on(x.id=`y z`.id)when matched then update set name=`Y z`.name",
    "USE lake.db; MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET t.name = u.name;",
    """
    MERGE INTO lake.db.t t USING (SELECT k AS n FROM lake.db.u WHERE id > 0) ON t.id = n - 10 -- {t0}
    WHEN MATCHED AND (true /* } */) THEN UPDATE SET name = 'x'
    """,
    """
    WITH a AS (SELECT id AS i, name AS n FROM lake.db.u), b AS (SELECT * FROM a)
    MERGE /* {0} */ INTO lake.db.t t USING b -- b
    ON t.id = b.i -- i
    WHEN MATCHED THEN UPDATE SET name = n -- n
    """,
    """
    CREATE TEMPORARY VIEW lent AS SELECT * FROM lake.db.u;
    MERGE INTO lake.db.t t USING lent ON t.id = lent.id WHEN MATCHED THEN UPDATE SET name = lent.name;
    DROP VIEW lent
    """,
    """
    INSERT INTO lake.db.u VALUES (1, 1, 'later', 1);
    MERGE INTO lake.db.t t USING lake.db.u VERSION AS OF {first} s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET name = s.name
    """,
    """
    MERGE INTO lake.db.t t USING (SELECT id, name, 1 AS __frazil_clause, 2 AS `__frazil_file` FROM lake.db.u) s
    ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = CASE WHEN s.id = 9 THEN 'WHEN' ELSE s.name END
    """,
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_sources_and_names(lake: Lake[DataFrame], statement: str) -> None:
    first = lake.table("lake.db.u").current_snapshot().snapshot_id
    lake.script(statement.replace("{first}", str(first)))
    lake.sql("USE spark_catalog")
    assert names(lake) == {1: "x", 2: "x" if "'x'" in statement else "y", 3: None, None: "n", 5: "e"}


def test_the_target_can_be_the_source(lake: Lake[DataFrame]) -> None:
    lake.sql(
        "MERGE INTO lake.db.t t USING lake.db.t s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET name = s.name "
        "WHEN NOT MATCHED AND s.id = 5 THEN INSERT (id, name) VALUES (s.id + 1, s.name)"
    )
    assert names(lake) == {1: "a", 2: "a", 3: "b", None: "n", 5: "e", 6: "e"}


def test_subqueries_and_functions(lake: Lake[DataFrame]) -> None:
    lake.sql(
        "MERGE INTO lake.db.t t USING lake.db.u s ON t.id = s.id "
        "WHEN MATCHED AND EXISTS (SELECT 1 FROM lake.db.t o WHERE o.id = t.id + 1 AND o.v = 0) "
        "THEN UPDATE SET name = (SELECT max(name) FROM lake.db.u), k = aggregate(array(1, 2), 0, (k, id) -> k + id) "
        "WHEN NOT MATCHED AND transform(array(s.id), id -> id + 1)[0] = 10 "
        "THEN INSERT (id, name) VALUES ((SELECT max(id) FROM lake.db.t) + 1, name)"
    )
    assert counts(lake) == (1, 1, 0)
    assert names(lake) == {1: "z", 2: "b", 3: None, None: "n", 5: "e", 6: "z"}
    assert lake.table("lake.db.t").scan("id = 1").to_arrow()["k"].to_pylist() == [3]


def test_parameters_with_names(lake: Lake[DataFrame]) -> None:
    lake.sql(
        "MERGE INTO lake.db.t t USING lake.db.u s ON t.id = s.id AND s.id = :id "
        "WHEN MATCHED THEN UPDATE SET name = :name",
        {"id": 2, "name": "{given}"},
    )
    assert names(lake) == {1: "a", 2: "{given}", 3: None, None: "n", 5: "e"}


def test_unconditional_deletes_accept_several_matches(lake: Lake[DataFrame]) -> None:
    lake.sql("MERGE INTO lake.db.t t USING lake.db.u s ON t.id < 3 WHEN MATCHED THEN DELETE")
    assert counts(lake) == (0, 0, 2)
    assert set(names(lake)) == {3, None, 5}


@pytest.mark.parametrize(("version", "mode"), CASES)
def test_one_snapshot_and_row_lineage(spark: SparkSession, tmp_path: Path, version: int, mode: str) -> None:
    lake = make(spark, tmp_path, version, mode)
    table = lake.table("lake.db.t")
    lineage = ["id", "_row_id"] if version == 3 else ["id"]
    before = {one["id"]: one for one in table.scan(selected_fields=lineage).to_arrow().to_pylist()}
    count = len(table.snapshots())
    lake.sql(
        "MERGE INTO lake.db.t t USING lake.db.u s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 1 THEN UPDATE SET name = s.name WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 9 THEN INSERT *"
    )
    table = lake.table("lake.db.t")
    assert len(table.snapshots()) == count + 1
    after = {one["id"]: one for one in table.scan(selected_fields=lineage).to_arrow().to_pylist()}
    assert set(after) == {1, 3, None, 5, 9}
    assert all(before[key] == after[key] for key in (1, 3, None, 5))
    assert version < 3 or after[9]["_row_id"] not in {one["_row_id"] for one in before.values()}
    assert lake.last is not None
    assert bool(lake.last.added_delete_files) == (mode == "merge-on-read")


def test_required_columns_and_defaults(spark: SparkSession, tmp_path: Path) -> None:
    lake = make(spark, tmp_path, 3, "merge-on-read")
    with lake.table("lake.db.t").update_schema(allow_incompatible_changes=True) as change:
        change.add_column("kind", "string", default_value="old")
        change.add_column("needed", "int", required=True, default_value=7)
    head = "MERGE INTO lake.db.t t USING lake.db.u s ON t.id = s.id "
    lake.sql(head + "WHEN NOT MATCHED THEN INSERT (id, kind) VALUES (s.id, DEFAULT)")
    found = lake.table("lake.db.t").scan("id = 9").to_arrow().to_pylist()
    assert found == [{"id": 9, "k": None, "name": None, "v": None, "kind": "old", "needed": 7}]
    before = contents(tmp_path)
    for clause in (
        "WHEN NOT MATCHED THEN INSERT (id, needed) VALUES (s.id, NULL)",
        "WHEN MATCHED THEN UPDATE SET needed = NULL",
    ):
        with pytest.raises(FrazilError, match="needed"):
            lake.sql(head + clause)
    with pytest.raises(UnsupportedError, match=r"INSERT is not supported if all values are DEFAULT \(line 1"):
        lake.sql(head + "WHEN NOT MATCHED THEN INSERT (kind) VALUES (DEFAULT)")
    assert contents(tmp_path) == before


HEAD = "MERGE INTO lake.db.t t USING lake.db.u s ON t.id = s.id\n"
DELETES = "WHEN MATCHED THEN DELETE"
UNSUPPORTED = {
    HEAD.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION") + DELETES: (
        "MERGE WITH SCHEMA EVOLUTION is not supported (line 1, column 7); add the columns with "
    ),
    HEAD + "WHEN MATCHED AND t.id = ? THEN DELETE": (
        "parameters without names are not supported for MERGE (line 2, column 25); use parameters with names"
    ),
    HEAD.replace("db.t ", "db.t.files ") + DELETES: "(line 1, column 12)",
    HEAD.replace("lake.db.t ", "news ") + DELETES: "the statement changes an object outside this lake",
}
INVALID = {
    HEAD
    + "WHEN MATCHED THEN UPDATE SET id.x = 1": "column `id` is not a struct, and has no fields (line 2, column 30)",
    HEAD + "WHEN MATCHED THEN UPDATE SET nope = 1": "the table has no column `nope` (line 2, column 30)",
    HEAD + "WHEN MATCHED THEN UPDATE SET s.name = 1": "the table has no column `s.name` (line 2, column 30)",
    HEAD + "WHEN MATCHED THEN UPDATE SET id = 1, t.ID = 2": "column `id` is set twice (line 2, column 38)",
    HEAD + "WHEN MATCHED THEN UPDATE SET id = 1, ID = 2": "column `ID` is set twice (line 2, column 38)",
    HEAD
    + "WHEN NOT MATCHED THEN INSERT (id, nope) VALUES (1, 2)": "the table has no column `nope` (line 2, column 35)",
    HEAD + "WHEN NOT MATCHED THEN INSERT (id) VALUES (1, 2)": "INSERT has 1 columns and 2 values (line 2",
    HEAD + "WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)": (
        "WHEN NOT MATCHED can only use columns of the source, not `t.id` (line 2, column 43)"
    ),
    HEAD + "WHEN NOT MATCHED BY SOURCE AND s.id > 1 THEN DELETE": (
        "WHEN NOT MATCHED BY SOURCE can only use columns of the table, not `s.id` (line 2, column 32)"
    ),
    HEAD.replace("lake.db.u", "news") + "WHEN NOT MATCHED BY SOURCE AND other > 1 THEN DELETE": (
        "WHEN NOT MATCHED BY SOURCE can only use columns of the table, not `other` (line 2, column 32)"
    ),
    HEAD.replace("lake.db.u", "news") + "WHEN MATCHED THEN UPDATE SET *": (
        "UPDATE SET *: the source has no column `k` (line 2, column 1); the columns of the source are id, other"
    ),
    HEAD.replace("lake.db.u", "news")
    + "WHEN NOT MATCHED THEN INSERT *": "INSERT *: the source has no column `k` (line 2",
    HEAD + "WHEN MATCHED THEN DELETE WHEN MATCHED THEN DELETE": "this clause never applies",
    HEAD + "WHEN MATCHED THEN UPDATE SET v = 'x'": "column `v`: string cannot be assigned to int",
    HEAD + "WHEN NOT MATCHED THEN INSERT (v) VALUES (true)": "column `v`: boolean cannot be assigned to int",
    HEAD.replace("t.id = s.id", "t.k > 0") + "WHEN MATCHED AND false THEN DELETE": (
        "4 rows of the source match a row of the table (line 1, column 1); remove duplicates from the source"
    ),
    HEAD.replace("lake.db.t ", "lake.db.t.branch_nope ") + "WHEN MATCHED THEN DELETE": "nope",
}
FAILING = {
    HEAD + "WHEN MATCHED THEN UPDATE SET v = 1 div t.v": "DIVIDE_BY_ZERO",
    HEAD + "WHEN MATCHED THEN UPDATE SET v = 5000000000": "CAST_OVERFLOW",
    HEAD + "WHEN MATCHED THEN UPDATE SET name = id": "AMBIGUOUS_REFERENCE",
    HEAD + "WHEN MATCHED AND s.nope = 1 THEN DELETE": "UNRESOLVED_COLUMN",
    HEAD + "WHEN MATCHED AND 5 THEN DELETE": "DATATYPE_MISMATCH",
}


def test_refused_statements_change_no_file(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    catalog = make(spark, tmp_path / "lake", 2, "merge-on-read").catalog("lake")
    lake = frazil.spark.connect(
        spark, {"lake": catalog, "p": {"type": "paimon", "warehouse": str(tmp_path / "paimon")}}
    )
    lake.script("CREATE TABLE p.default.t (id INT) USING paimon; INSERT INTO p.default.t VALUES (1)")
    spark.sql("SELECT 1L AS id, 2 AS other").createOrReplaceTempView("news")
    before = contents(tmp_path)
    cases: list[tuple[dict[str, str], tuple[type[Exception], ...]]] = [
        (UNSUPPORTED, (UnsupportedError,)),
        (INVALID, (FrazilError,)),
        (FAILING, (PySparkException,)),
    ]
    for statements, kinds in cases:
        for statement, problem in statements.items():
            with pytest.raises(kinds) as error:
                lake.sql(statement)
            assert problem in str(error.value), statement
            assert isinstance(error.value, UnsupportedError) == (statements is UNSUPPORTED), statement
    with pytest.raises(UnsupportedError, match="with the name of a common table expression"):
        lake.script("USE lake.db; WITH t AS (SELECT 1 AS id) MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE")
    lake.sql("USE spark_catalog")
    assert contents(tmp_path) == before
    spark.catalog.dropTempView("news")


def test_tables_with_hostile_columns(spark: SparkSession, tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    lake = frazil.spark.connect(spark, {"lake": catalog})
    for number, name in enumerate(("a`{b", "__frazil_clause", "select", "a.b", "_pos")):
        table = catalog.create_table(f"db.t{number}", pa.schema([("id", pa.int64()), (name, pa.int64())]))
        table.append([{"id": 1, name: 1}, {"id": 2, name: 2}])
        quoted = "`" + name.replace("`", "``") + "`"
        statement = (
            f"MERGE INTO lake.db.t{number} t USING (SELECT id + 1 AS id, {quoted} FROM lake.db.t{number}) s "
            f"ON t.id = s.id AND t.{quoted} = s.{quoted} + 1 WHEN MATCHED THEN UPDATE SET {quoted} = {quoted} * 10 "
            "WHEN NOT MATCHED THEN INSERT *"
        ).replace(f"= {quoted} * 10", f"= t.{quoted} * 10")
        if name == "_pos":
            with pytest.raises(UnsupportedError, match="with a column `_pos`, which is also a metadata column"):
                lake.sql(statement)
            continue
        lake.sql(statement)
        assert rows(lake, name=f"lake.db.t{number}") == Counter([(1, 1), (2, 20), (3, 2)])


def test_names_are_case_sensitive_if_the_session_requires_it(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(InvalidArgumentError, match="the table has no column `NAME`"):
            lake.sql(HEAD + "WHEN MATCHED THEN UPDATE SET NAME = 'x'")
        lake.sql(HEAD + "WHEN MATCHED THEN UPDATE SET name = 'x'")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert counts(lake) == (0, 2, 0)


def test_too_many_rows_are_refused(lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_row_level, "BROADCAST_LIMIT_BYTES", 10)
    with pytest.raises(LimitExceededError, match=r"the statement changes 2 rows, whose addresses and values have \d+"):
        lake.sql(HEAD + "WHEN MATCHED THEN DELETE")
    assert lake.table("lake.db.t").scan().count() == len(ROWS)


# ON condition, clause, a row that another writer appends, and whether it is a conflict.
APPENDS = [
    ("t.id = s.id AND t.k < 3", "WHEN MATCHED THEN DELETE", {"id": 2, "k": 7}, False),
    ("t.id = s.id AND t.k + 0 < 3", "WHEN MATCHED THEN DELETE", {"id": 2, "k": 7}, True),
    ("t.id = s.id AND 3 > lake.db.t.k", "WHEN NOT MATCHED THEN INSERT *", {"id": 9, "k": 7}, False),
    ("t.id = s.id AND t.k < 3", "WHEN NOT MATCHED THEN INSERT *", {"id": 9, "k": 1}, True),
    ("t.id = s.id AND (t.k < 3 AND t.name = 'a' OR s.k > 0)", "WHEN MATCHED THEN DELETE", {"k": 7}, True),
    ("t.id = s.id AND t.k < 3", "WHEN NOT MATCHED BY SOURCE THEN DELETE", {"id": 9, "k": 7}, True),
    ("t.id = s.id AND t.k < 3 AND s.k > 0", "WHEN MATCHED THEN UPDATE SET name = 'x'", {"id": 2, "k": 7}, False),
    (
        "t.id = s.id AND t.k < 3",
        "WHEN MATCHED AND EXISTS (SELECT 1 FROM lake.db.t) THEN DELETE",
        {"id": 2, "k": 7},
        True,
    ),
]


@pytest.mark.parametrize(("on", "clause", "row", "conflicts"), APPENDS)
def test_appends_outside_conditions_on_the_target_are_no_conflicts(
    lake: Lake[DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    on: str,
    clause: str,
    row: dict[str, Any],
    conflicts: bool,  # noqa: FBT001 - a parameter
) -> None:
    own_change, filters = SparkEngine.change, []

    def change(self: SparkEngine, table: Any, asked: Any) -> Any:
        """Let another writer commit after the first query was planned."""

        def select(state: Any) -> Any:
            found = asked.select(state)
            if not filters:
                lake.table("lake.db.t").append([row])
            filters.append(found.row_filter)
            return found

        return own_change(self, table, replace(asked, select=select))

    monkeypatch.setattr(SparkEngine, "change", change)
    alias = "" if "lake.db.t." in on else " AS t"
    statement = f"MERGE INTO lake.db.t{alias} USING lake.db.u AS s ON {on} {clause}"
    lake.sql(statement)
    assert len(filters) == (2 if conflicts else 1)
    if not conflicts:
        assert filters == ['("k" < 3)']
        found = lake.table("lake.db.t").scan(f"id = {row['id']} and k = {row['k']}" if "id" in row else "k = 7")
        assert found.count() == 1


def reads_of(spark: SparkSession, folder: Path) -> Any:
    """Register a function that records each call; return a function that counts the calls."""
    log = str(folder / "calls")

    def note(value: int) -> int:
        with open(log, "a") as file:  # noqa: PTH123 - in a worker
            file.write("x")
        return value

    spark.udf.register("noted", note, "bigint")
    return lambda: len(open(log).read())  # noqa: PTH123 - as above


def persisted(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())  # type: ignore[attr-defined] - of Classic


@pytest.mark.parametrize("limit", [0, 32 << 20], ids=["large", "small"])
def test_the_source_is_read_once(
    spark: SparkSession, lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0)
    monkeypatch.setattr(_sql_row_changes, "JOIN_LIMIT_BYTES", 0)
    monkeypatch.setattr(_engine, "BROADCAST_LIMIT_BYTES", limit)
    calls = spark.sparkContext.accumulator(0)

    def noted(number: int) -> int:
        calls.add(1)
        return number

    spark.udf.register("noted", noted, "bigint")
    held = persistent_frames(spark)
    lake.sql(
        "WITH more AS (SELECT noted(id) AS id, cast(rand() * 4 AS int) AS k, 'm' AS name, 7 AS v FROM range(90)) "
        "MERGE INTO lake.db.t USING more s ON t.id = s.id AND t.v >= 0 "
        "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *"
    )
    assert calls.value == 90
    found = names(lake)
    assert {key for key, name in found.items() if name == "m"} == set(range(90))
    assert counts(lake) == (86, 4, 0)
    assert persistent_frames(spark) == held, "no rows are left in the workers"


def persistent_frames(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


@pytest.mark.parametrize("limit", [0, 64 << 20])
def test_inserted_rows_are_written_by_workers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(_merged_rows, "INSERT_LIMIT_BYTES", limit)
    lake = make(spark, tmp_path / "lake", 3, "merge-on-read")
    with lake.table("lake.db.t").update_schema() as change:
        change.add_column("kind", "string", default_value="old")
    calls = reads_of(spark, tmp_path)
    lake.sql(
        "MERGE INTO lake.db.t t USING (SELECT noted(id) AS id, rand() AS r FROM range(1, 101, 1, 2)) s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'x' "
        "WHEN NOT MATCHED AND s.r < 0.5 THEN INSERT (id, name, kind) VALUES (s.id, CAST(s.r AS STRING), 'half') "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, CAST(s.r AS STRING)) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = -1"
    )
    assert counts(lake) == (96, 4, 1)
    assert calls() == 100
    assert persisted(spark) == 0
    table = lake.table("lake.db.t")
    found = {one["id"]: one for one in table.scan().to_arrow().to_pylist()}
    assert set(found) == {None, *range(1, 101)} - {5}
    for key in set(found) - {None, 1, 2, 3}:
        assert found[key]["kind"] == ("half" if float(found[key]["name"]) < 0.5 else "old")
    ids = table.scan(selected_fields=("_row_id",)).to_arrow()["_row_id"].to_pylist()
    assert None not in ids
    assert len(set(ids)) == 100


def test_a_million_inserted_rows(spark: SparkSession, tmp_path: Path) -> None:
    lake = make(spark, tmp_path / "lake", 2, "merge-on-read")
    lake.sql("ALTER TABLE lake.db.t ADD PARTITION FIELD bucket(2, id)")
    lake.sql(
        "MERGE INTO lake.db.t t USING (SELECT id, repeat('0123456789', 7) AS name FROM range(1000000)) s "
        "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )
    assert counts(lake) == (1_000_000 - 4, 0, 4)
    assert persisted(spark) == 0
    found = lake.table("lake.db.t").scan("id >= 0", ["id"]).to_arrow()["id"]
    assert set(found.to_pylist()) == set(range(1_000_000)) - {1, 2, 3, 5}


def test_files_of_inserted_rows_are_deleted_on_failure(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_merged_rows, "INSERT_LIMIT_BYTES", 0)
    lake = make(spark, tmp_path / "lake", 2, "merge-on-read")
    lake.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('commit.retry.min-wait-ms' = '1')")
    before = contents(tmp_path)
    head = "MERGE INTO lake.db.t t USING (SELECT id, 1 div (90 - id) AS v FROM range(100)) s ON t.id = s.id "
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        lake.sql(head + "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)")
    twice = "MERGE INTO lake.db.t t USING (SELECT id % 50 AS id FROM range(100)) s ON t.id = s.id "
    with pytest.raises(InvalidArgumentError, match="2 rows of the source match"):
        lake.sql(twice + "WHEN MATCHED THEN UPDATE SET v = 1 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    assert (persisted(spark), contents(tmp_path)) == (0, before)
    own_plan, others = ChangeRows.plan, [True]

    def plan(changes: ChangeRows, state: Any, ready: Any, tasks: bytes | None = None) -> Any:
        if others and others.pop():
            lake.table("lake.db.t").append([{"id": 7}])
        return own_plan(changes, state, ready, tasks)

    monkeypatch.setattr(ChangeRows, "plan", plan)
    lake.sql(head.replace("90", "900") + "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)")
    assert counts(lake) == (100 - 5, 0, 0)
    assert lake.last is not None
    assert (lake.last.attempts, persisted(spark)) == (2, 0)
    table = lake.table("lake.db.t")
    scans = [table.scan(snapshot_id=one.snapshot_id) for one in table.snapshots()]
    known = {task.file.file_path for scan in scans for task in scan.plan_files()}
    found = {str(path) for path in (tmp_path / "lake/db/t/data").rglob("*.parquet")}
    assert {path for path in found if not path.endswith("-deletes.parquet")} == known
