"""Tests of names in queries: tables, states of tables and metadata tables, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchTableError, UnsupportedError
from frazil.sql._column_types import Column, Primitive
from frazil.sql._describe import Description
from frazil.sql._engine import Engine
from frazil.sql._lexer import Lexed
from frazil.sql._references import references, replaced
from frazil.sql._time_travel import time_travel
from support.sql_lakes import RecordingEngine, iceberg_catalog, recorded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def iceberg(folder: Path) -> Any:
    return iceberg_catalog(folder / "iceberg")[0]


@pytest.fixture(scope="module")
def paimon(folder: Path) -> Any:
    (folder / "paimon").mkdir()
    catalog = frazil.load_catalog("p", type="paimon", warehouse=str(folder / "paimon"))
    catalog.create_namespace("default")
    catalog.create_table("default.t", [("id", "INT")], primary_keys=["id"], options={"bucket": "1"})
    return catalog


def read(lake: Any, engine: RecordingEngine, text: str, args: Any = None) -> list[Any]:
    """Return the sources that a query reads."""
    lake.sql(text, args)
    return list(engine.queries[-1][1])


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("INSERT INTO p.default.{} VALUES (1)", "cannot be changed"),
        ("ALTER TABLE p.default.{} DROP PARTITION (a = 1)", "cannot be changed"),
        ("CREATE TABLE p.default.copied LIKE p.default.{}", "LIKE of {}"),
    ],
)
@pytest.mark.parametrize(("name", "kind"), [("o", "object table"), ("t$files", "metadata table")])
def test_messages_name_the_kind_of_a_table(
    paimon: Any, tmp_path: Path, statement: str, problem: str, name: str, kind: str
) -> None:
    if name == "o" and not paimon.table_exists("default.o"):
        options = {"type": "object-table", "object-location": str(tmp_path)}
        paimon.create_table("default.o", [], options=options)
    with pytest.raises(UnsupportedError) as caught:
        recorded(RecordingEngine(), p=paimon).sql(statement.format(name))
    assert problem.format(kind) in str(caught.value)
    assert kind in str(caught.value)


def test_locations_of_namespaces_are_masked() -> None:
    catalog = frazil.load_catalog("m", type="memory")
    properties = {"location": "s3://me:abc@bucket/x?sig=abc", "comment": "c", "a.token": "abc", "b": "x"}
    catalog.create_namespace("db", properties)
    engine = RecordingEngine()
    recorded(engine, m=catalog).sql("DESCRIBE NAMESPACE EXTENDED m.db")
    assert engine.frames[-1][1] == [
        ("Catalog Name", "m"),
        ("Namespace Name", "db"),
        ("Comment", "c"),
        ("Location", "s3://***@bucket/x?***"),
        ("Properties", "((a.token,*********(redacted)), (b,x))"),
    ]


def test_the_recording_engine_has_all_methods_of_engines() -> None:
    methods = {name for name in vars(Engine) if not name.startswith("_")}
    assert methods <= {name for name in dir(RecordingEngine) if not name.startswith("_")}


def test_statements_use_the_columns_of_tables_and_queries(tmp_path: Path) -> None:
    catalog, _ = iceberg_catalog(tmp_path / "lake")
    engine = RecordingEngine(columns=[Column("a", Primitive("INT"))], overwrites_partitions=True)
    lake = recorded(engine, lake=catalog)
    lake.sql("SHOW COLUMNS IN lake.db.t")
    assert engine.frames[-1][1] == [("id",), ("name",)]
    lake.sql("SHOW TABLE EXTENDED IN lake.db LIKE 't'")
    assert "Schema: id: int64\nname: string\n" in engine.frames[-1][1][0][-1]
    lake.sql("CREATE OR REPLACE TEMPORARY VIEW v (x) AS SELECT id FROM lake.db.t")
    assert engine.views == [("v", ("x",), True, False)]
    lake.script("CREATE TABLE lake.db.made AS SELECT 1 AS a; INSERT OVERWRITE lake.db.made VALUES (2)")
    assert lake.table("lake.db.made").schema().column_names == ["a"]
    assert [one.mode for one in engine.insertions] == ["append", "dynamic"]


def test_locations_of_tables_are_masked() -> None:
    found = Description("iceberg", (), (), {}, "s3://me:abc@bucket/x", comment="c")
    assert ("Location", "s3://***@bucket/x") in found.details()


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ("'s3.secret-key' = abc", "found a name"),
        ("'s3.secret-key' 'ab'abc'ef'", "found a name"),
        ("password = x'abc", "the string that begins here is not terminated"),
        ("'password' 'x' 'abc'", "found a string"),
        ("'password' = `abc`", "found a quoted name"),
        ("'password' = 1 'abc'", "found a string"),
        ("'a' = 'x' b", "found 'b'"),
        ("'a' = 'x' 's3://me:abc@host'", "s3://***@host"),
    ],
)
@pytest.mark.parametrize("statement", ["CREATE CATALOG c WITH ({})", "ALTER TABLE lake.db.t SET TBLPROPERTIES ({})"])
def test_syntax_errors_do_not_contain_secrets(iceberg: Any, statement: str, properties: str, found: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        recorded(RecordingEngine(), lake=iceberg).sql(statement.format(properties))
    assert found in str(caught.value)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "metadata_table", "state"),
    [
        ("lake.db.t", None, None),
        ("lake.db.t.files", "files", None),
        ("lake.db.t.ALL_DATA_FILES", "all_data_files", None),
        ("lake.db.t$snapshots", "snapshots", None),
        ("lake.db.`t$Snapshots`", "snapshots", None),
        ("lake.db.t.branch_b1", None, ("branch", "b1")),
        ("lake.db.`t$branch_a b`", None, ("branch", "a b")),
        ("lake.db.t.`tag_v-1`", None, ("tag", "v-1")),
        ("lake.db.t.snapshot_id_12", None, ("id", 12)),
        ("lake.db.t.at_timestamp_12", None, ("as_of", 12)),
        ("lake.db.t VERSION AS OF 12", None, ("version", "12")),
        ("lake.db.t FOR SYSTEM_VERSION AS OF 'v1'", None, ("version", "v1")),
        ("lake.db.t.files VERSION AS OF 12", "files", ("version", "12")),
        ("lake.db.t TIMESTAMP AS OF '2024-02-29'", None, ("as_of", 77)),
    ],
)
def test_a_name_reads_a_table_or_a_state_or_a_metadata_table(
    iceberg: Any, name: str, metadata_table: str | None, state: Any
) -> None:
    engine = RecordingEngine([77])
    [source] = read(recorded(engine, lake=iceberg), engine, f"SELECT 1 FROM {name} AS x")
    assert source.table.location.endswith("/db/t")
    assert (source.metadata_table, source.state) == (metadata_table, state)


def test_table_takes_precedence_over_a_selector(folder: Path) -> None:
    catalog, _ = iceberg_catalog(folder / "both", "memory")
    catalog.create_namespace("db.t")
    for name in ("files", "branch_b1"):
        catalog.create_table(f"db.t.{name}", pa.schema([("id", pa.int64())]))
    engine = RecordingEngine()
    found = read(recorded(engine, lake=catalog), engine, "SELECT 1 FROM lake.db.t.files, lake.db.t.branch_b1")
    assert [one.table.schema().column_names for one in found] == [["id"]] * 2
    assert [(one.metadata_table, one.state) for one in found] == [(None, None)] * 2


def test_the_current_namespace_may_be_left_out_before_a_selector(iceberg: Any) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=iceberg)
    lake.sql("USE lake.db")
    found = read(lake, engine, "SELECT 1 FROM t, t.files, t$files, t.tag_v1, db.t")
    assert [one.metadata_table for one in found] == [None, "files", "files", None, None]
    assert len({id(one.table) for one in found}) == 1
    for name in ("t.nope", "u.files", "nope.t"):
        with pytest.raises(NoSuchTableError, match=r"line 2, column 3"):
            lake.sql(f"SELECT 1 FROM t,\n  {name}")


def test_names_of_a_paimon_catalog(paimon: Any) -> None:
    engine = RecordingEngine([5])
    lake = recorded(engine, p=paimon)
    lake.sql("USE p")
    query = "SELECT 1 FROM t, t$snapshots, t$files VERSION AS OF 1, t$ro, t TIMESTAMP AS OF :at, sys.all_tables"
    found = read(lake, engine, query, {"at": "x"})
    assert [one.metadata_table for one in found] == [None, "snapshots", "files", None, None, None]
    assert [one.state for one in found] == [None, None, ("version", "1"), None, ("as_of", 5), None]
    assert found[3].table.system_table == "ro"
    assert found[5].table.name == "all_tables"
    with pytest.raises(InvalidArgumentError, match="nope"):
        lake.sql("SELECT 1 FROM t$nope")
    with pytest.raises(InvalidArgumentError, match=r"without snapshots \(line 1, column 15\)"):
        lake.sql("SELECT 1 FROM sys.all_tables VERSION AS OF 1")


def test_a_statement_loads_each_table_once(iceberg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, load = [], iceberg.load_table
    monkeypatch.setattr(iceberg, "load_table", lambda levels: (loads.append(levels), load(levels))[1])
    engine = RecordingEngine()
    read(recorded(engine, lake=iceberg), engine, "SELECT 1 FROM lake.db.t a, lake.db.t b, lake.db.t VERSION AS OF 1")
    assert loads == [("db", "t")]


def test_times_are_computed_by_the_engine_with_named_parameters(iceberg: Any) -> None:
    engine = RecordingEngine([9, None])
    lake = recorded(engine, lake=iceberg)
    lake.sql("SELECT 1 FROM lake.db.t TIMESTAMP AS OF :at - INTERVAL 1 DAY x", {"at": "2024-02-29"})
    asked, asked_sources, args = engine.queries[0]
    assert (asked, args) == ("SELECT unix_millis(CAST(:at - INTERVAL 1 DAY AS TIMESTAMP))", {"at": "2024-02-29"})
    assert asked_sources == ()
    assert engine.queries[1][0] == "SELECT 1 FROM {t0} x"
    with pytest.raises(InvalidArgumentError, match="NULL"):
        lake.sql("SELECT 1 FROM lake.db.t TIMESTAMP AS OF NULLIF('a', 'a')")


def test_braces_are_kept_in_queries_without_tables_of_the_lake(iceberg: Any) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=iceberg)
    for query in ("SELECT '{x}'", "SELECT '{' FROM elsewhere"):
        lake.sql(query)
        assert engine.queries[-1][0] == query
    lake.sql("SELECT '{' FROM lake.db.t")
    assert engine.queries[-1][0] == "SELECT '{{' FROM {t0} AS `t`"


@pytest.mark.parametrize(
    ("query", "run"),
    [
        ("TABLE lake.db.t", "SELECT * FROM {t0} AS `t`"),
        ("TABLE lake.db.t ORDER BY t.id", "SELECT * FROM {t0} AS `t` ORDER BY t.id"),
        ("(TABLE lake.db.t) UNION TABLE lake.db.t", "(SELECT * FROM {t0} AS `t`) UNION SELECT * FROM {t1} AS `t`"),
        ("WITH c AS (TABLE lake.db.t) SELECT 1 FROM c", "WITH c AS (SELECT * FROM {t0} AS `t`) SELECT 1 FROM c"),
        ("SELECT * FROM lake.db.t WHERE id IN (TABLE lake.db.t)", None),
    ],
)
def test_table_as_a_query_reads_all_columns(iceberg: Any, query: str, run: str | None) -> None:
    engine = RecordingEngine()
    sources = read(recorded(engine, lake=iceberg), engine, query)
    assert run is None or engine.queries[-1][0] == run
    assert all(one.names is None for one in sources)


def test_args_are_passed_on_and_refused_for_other_statements(iceberg: Any) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=iceberg)
    for statement in ("SELECT ? FROM lake.db.t", "SELECT ?", "SET x = 1", "MERGE nothing"):
        lake.sql(statement, [1])
        assert engine.queries[-1][2] == [1]
    with pytest.raises(InvalidArgumentError, match="args"):
        lake.sql("DROP TABLE lake.db.t", [1])
    with pytest.raises(InvalidArgumentError, match="DataFrames are not supported for DROP on objects of this lake"):
        lake.sql("DROP TABLE IF EXISTS lake.db.{name}", name=1)
    assert iceberg.table_exists("db.t")
    with pytest.raises(InvalidArgumentError, match="args are not supported for CREATE on objects of this lake"):
        lake.sql("CREATE CATALOG c WITH ('type' = 'paimon')", [1])
    lake.sql("DROP TABLE elsewhere.db.t", [1])
    assert engine.queries[-1] == ("DROP TABLE elsewhere.db.t", (), [1])


def test_placeholders_are_replaced_before_the_statement_is_parsed(iceberg: Any) -> None:
    engine = RecordingEngine()
    with recorded(engine, lake=iceberg) as lake:
        lake.sql("SELECT {text}, frame_1.id FROM lake.db.{self} JOIN {frame}", text="'a'", self="t", frame=1)
        assert engine.queries[-1][0] == "SELECT 'a', frame_1.id FROM {t0} AS `t` JOIN frame_1"
        assert not engine.is_disconnected
    assert engine.is_disconnected


@pytest.mark.parametrize(
    ("clause", "value"),
    [
        ("VERSION AS OF 1", "1"),
        ("for version as of 'it''s'", "it's"),
        ("TIMESTAMP AS OF now()", "now()"),
        ("TIMESTAMP AS OF current_timestamp()", "current_timestamp()"),
        ("TIMESTAMP AS OF '2024-' '02-29'", "'2024-' '02-29'"),
        (
            "FOR SYSTEM_TIME AS OF TIMESTAMP '2024-02-29' + INTERVAL '1' DAY",
            "TIMESTAMP '2024-02-29' + INTERVAL '1' DAY",
        ),
        (
            "TIMESTAMP AS OF current_date - INTERVAL '1:2' HOUR TO MINUTE",
            "current_date - INTERVAL '1:2' HOUR TO MINUTE",
        ),
        ("TIMESTAMP AS OF date_sub((now()), 1)", "date_sub((now()), 1)"),
        ("TIMESTAMP AS OF 1709164800", "1709164800"),
        ("TIMESTAMP AS OF -- why\n CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
    ],
)
@pytest.mark.parametrize("rest", ["", " x", " AS x", ", s", " JOIN s ON true", ") y"])
def test_time_travel_is_read_and_taken_out_of_the_text(clause: str, value: str, rest: str) -> None:
    text = f"SELECT id FROM c.t {clause}{rest}"
    [found] = time_travel(text)
    assert (found.value, text[found.start : found.end]) == (value, clause)
    if rest != ") y":
        [reference] = references(text, lambda parts: parts[0] == "c")
        assert reference.as_of == found
        alias = "" if reference.has_alias else " AS `t`"
        assert replaced(text, [reference]) == f"SELECT id FROM {{t0}}{alias}{rest}"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT version AS of FROM c.t",
        "SELECT timestamp AS of, 1 FROM c.t",
        "SELECT timestamp AS of FROM (SELECT * FROM c.t)",
        "SELECT 'VERSION AS OF 1' FROM c.t -- VERSION AS OF 1",
    ],
)
def test_columns_and_aliases_are_not_time_travel(text: str) -> None:
    assert time_travel(text) == []


@pytest.mark.parametrize(
    "clause", ["TIMESTAMP AS OF id", "TIMESTAMP AS OF now() * 2", "VERSION AS OF -1", "VERSION AS OF"]
)
def test_other_time_travel_is_an_error(iceberg: Any, clause: str) -> None:
    engine = RecordingEngine()
    with pytest.raises(UnsupportedError, match=r"line 1, column"):
        recorded(engine, lake=iceberg).sql(f"SELECT 1 FROM lake.db.t {clause}")
    assert engine.queries == []


def test_time_travel_of_a_state_is_an_error(iceberg: Any) -> None:
    lake = recorded(RecordingEngine(), lake=iceberg)
    with pytest.raises(FrazilError, match=r"already selects a snapshot \(line 1, column 15\)"):
        lake.sql("SELECT 1 FROM lake.db.t.tag_v1 VERSION AS OF 1")


def test_queries_within_statements_are_read_at_their_place(iceberg: Any) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=iceberg)
    lake.sql("EXPLAIN /* a */ EXTENDED SELECT x.id FROM lake.db.t AS x -- b")
    text, [source], _ = engine.queries[-1]
    assert text.split() == ["EXPLAIN", "/*", "a", "*/", "EXTENDED", "SELECT", "x.id", "FROM", "{t0}", "AS", "x"]
    assert source.names is not None
    found = Lexed("WITH c AS (SELECT 1) INSERT INTO t SELECT * FROM c").only("SELECT * FROM c", 35)
    assert "".join(token.text for token in found.tokens) == found.text
    assert [token.start for token in found.significant] == [35, 42, 44, 49]


def test_hints_apply_to_queries_within_statements(iceberg: Any) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=iceberg)
    hint = "/*+ OPTIONS('snapshot-id' = '1') */"
    lake.sql(f"EXPLAIN SELECT * FROM lake.db.t {hint}")
    assert engine.queries[-1][1][0].options == {"snapshot-id": "1"}
    lake.sql(f"SELECT * FROM lake.db.t {hint};")
    assert engine.queries[-1][1][0].options == {"snapshot-id": "1"}
    for statement, message in [
        (f"INSERT INTO lake.db.t {hint} SELECT 1, 'a'", "only after the table names of a query"),
        (f"DESCRIBE lake.db.t {hint}", "only after the table names of a query"),
        (f"SELECT * FROM lake.db.t {hint} {hint}", "specified twice"),
        (f"SELECT * FROM lake.db.t AS x {hint}", "must directly follow"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            lake.sql(statement)


@pytest.mark.parametrize(
    ("query", "skips"),
    [
        ("SELECT id FROM lake.db.t AS x(a, id) WHERE id = 1", False),
        ("SELECT id FROM lake.db.t AS x(a, id) JOIN lake.db.t y ON true WHERE x.id = 1", False),
        ("SELECT x.id FROM lake.db.t AS x WHERE id = 1", True),
    ],
)
def test_renamed_columns_do_not_skip_rows(iceberg: Any, query: str, *, skips: bool) -> None:
    engine = RecordingEngine()
    source = read(recorded(engine, lake=iceberg), engine, query)[0]
    assert bool(source.conditions) == skips


def test_long_conditions_are_read(iceberg: Any) -> None:
    engine = RecordingEngine()
    query = "SELECT id FROM lake.db.t WHERE " + " AND ".join(["id = 1"] * 400)
    [source] = read(recorded(engine, lake=iceberg), engine, query)
    assert len(source.conditions) == 400


@pytest.mark.parametrize(
    "statement",
    [
        r"COMMENT ON TABLE lake.db.t IS '\UFFFFFFFF'",
        r"COMMENT ON TABLE lake.db.t IS '\uD800'",
        f"ALTER TABLE lake.db.t CREATE TAG x AS OF VERSION {'9' * 5000}",
        f"ALTER TABLE lake.db.t SET TBLPROPERTIES ('current-snapshot-id' = '{'9' * 5000}')",
        f"CREATE TABLE lake.db.u (id DECIMAL({'9' * 5000}))",
        "ALTER TABLE lake.db.t ADD COLUMN c INT FIRST AFTER id",
        "ALTER TABLE lake.db.t ADD COLUMN c INT COMMENT 'a' COMMENT 'b'",
        "DESCRIBE NAMESPACE lake",
        "DROP TABLE lake.db.t.files",
        "DROP TABLE IF EXISTS lake.db.`t$files`",
    ],
)
def test_invalid_statements_raise_errors_of_frazil(iceberg: Any, statement: str) -> None:
    with pytest.raises(FrazilError):
        recorded(RecordingEngine(), lake=iceberg).sql(statement)
