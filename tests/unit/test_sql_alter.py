"""Tests of ALTER without Spark, compared with a golden file of the changes that Iceberg (Java) makes."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import frazil
from frazil.errors import AlreadyExistsError, FrazilError, NoSuchTableError
from support import sql_alterations
from support.sql_lakes import RecordingEngine, recorded

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/sql/alterations.json").read_text(encoding="utf-8"))


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    found = frazil.load_catalog(type="hadoop", warehouse=str(tmp_path))
    found.create_namespace("db")
    return found


def lake_of(catalog: Any, values: Any = ()) -> Any:
    return recorded(RecordingEngine(values), lake=catalog)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("text", sql_alterations.STATEMENTS)
def test_a_statement_changes_what_java_changes(catalog: Any, tmp_path: Path, text: str, version: int) -> None:
    table = sql_alterations.make(catalog, "t", version)
    before = sql_alterations.facts(sql_alterations.metadata(table.location))
    files = content(tmp_path)
    expected = GOLDEN[str(version)][text]
    statement = sql_alterations.statement(text, "lake.db.t", table)
    if expected is None:
        with pytest.raises(FrazilError):
            lake_of(catalog).sql(statement)
        assert content(tmp_path) == files
        return
    lake_of(catalog).sql(statement)
    after = sql_alterations.facts(sql_alterations.metadata(table.location))
    assert sql_alterations.changed(before, after) == expected


REFUSED = [
    ("ALTER TABLE lake.db.t REPLACE COLUMNS (id int)", "REPLACE COLUMNS is not supported"),
    ("ALTER TABLE lake.db.t ADD PARTITION (id = 1)", "ADD PARTITION is not supported"),
    ("ALTER TABLE lake.db.t DROP PARTITION (id = 1)", "DROP PARTITION is not supported for Iceberg tables"),
    ("ALTER TABLE lake.db.t RECOVER PARTITIONS", "RECOVER PARTITIONS is not supported"),
    ("ALTER TABLE lake.db.t CHANGE v w int", r"use RENAME COLUMN v TO w"),
    ("ALTER TABLE lake.db.t DANCE", "expected a change"),
    ("ALTER TABLE lake.db.t", "expected a change"),
    ("ALTER TABLE lake.db.t ADD COLUMN", "expected the name of a column"),
    ("ALTER TABLE lake.db.t ADD COLUMN c", "expected a type"),
    ("ALTER TABLE lake.db.t ADD COLUMN c intt", "column type INTT is not supported"),
    ("ALTER TABLE lake.db.t ADD COLUMN c int FIRST x", "expected the end"),
    ("ALTER TABLE lake.db.t ADD COLUMN c int DEFAULT 5", "format version 3"),
    ("ALTER TABLE lake.db.t ADD COLUMN c int NOT NULL", "required column without a default"),
    ("ALTER TABLE lake.db.t ALTER COLUMN v TYPE struct<a: int>", r"primitive type \(line 1, column 36\)"),
    ("ALTER TABLE lake.db.t ALTER COLUMN v TYPE smallint, nothing COMMENT 'x'", "nothing"),
    ("ALTER TABLE lake.db.t ALTER COLUMN v SET", "expected NOT NULL or DEFAULT"),
    ("ALTER TABLE lake.db.t ALTER COLUMN v SET DEFAULT", "expected a default"),
    ("ALTER TABLE lake.db.t ADD PARTITION FIELD days(v)", "day"),
    ("ALTER TABLE lake.db.t ADD PARTITION FIELD soundex(name)", "not a partition transform"),
    ("ALTER TABLE lake.db.t DROP PARTITION FIELD bucket(9, id)", r"not partitioned by bucket\[9\] of `id`"),
    ("ALTER TABLE lake.db.t DROP PARTITION FIELD nothing", "neither a column nor a partition field"),
    ("ALTER TABLE lake.db.t WRITE", "expected .*ORDERED BY"),
    ("ALTER TABLE lake.db.t WRITE ORDERED BY id UNORDERED", "expected .*ORDERED BY"),
    ("ALTER TABLE lake.db.t WRITE ORDERED BY id NULLS", "expected FIRST or LAST"),
    ("ALTER TABLE lake.db.t DROP IDENTIFIER FIELDS name", r"name is not an identifier field \(line 1"),
    ("ALTER TABLE lake.db.t CREATE TAG x RETAIN 0 DAYS", "greater than 0"),
    ("ALTER TABLE lake.db.t CREATE TAG x RETAIN 1 WEEKS", "expected DAYS, HOURS or MINUTES"),
    ("ALTER TABLE lake.db.t CREATE TAG x AS OF VERSION 'a'", "expected a snapshot id"),
    ("ALTER TABLE lake.db.t SET TBLPROPERTIES ('sort-order' = 'id')", "use ALTER TABLE … WRITE ORDERED BY"),
    ("ALTER TABLE lake.db.t SET TBLPROPERTIES ('format-version' = 'two')", "expected a number"),
    ("ALTER TABLE lake.db.t SET TBLPROPERTIES ('a' = '1', 'a' = '2')", "specified twice"),
    ("ALTER TABLE lake.db.t UNSET TBLPROPERTIES", r"expected \("),
    ("ALTER TABLE lake.db.nothing ADD COLUMN c int", "nothing"),
    ("ALTER TABLE lake.db.t RENAME TO db.t", "already has a table"),
    ("ALTER TABLE lake.db.t RENAME TO other.db.t", "cannot be renamed into catalog other"),
    ("ALTER TABLE lake.db.t.files ADD COLUMN c int", "files"),
    ("ALTER TABLE lake.db.t SET LOCATION '/elsewhere'", "location"),
    ("ALTER NAMESPACE lake.db SET", "expected PROPERTIES or DBPROPERTIES"),
    ("COMMENT ON TABLE lake.db.t IS 5", "expected the comment as a string"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_rejected_statement_changes_no_file(catalog: Any, tmp_path: Path, text: str, message: str) -> None:
    sql_alterations.make(catalog, "t", 2)
    before = content(tmp_path)
    other = frazil.load_catalog(type="memory", warehouse=str(tmp_path / "other"))
    lake = recorded(RecordingEngine([5]), lake=catalog, other=other)
    with pytest.raises(FrazilError, match=message):
        lake.sql(text)
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("definition", "value", "expected"),
    [
        ("int DEFAULT 5", 5, 5),
        ("int NOT NULL DEFAULT 2 + 3 COMMENT 'c'", 5, 5),
        ("string DEFAULT 'a, b' FIRST", "a, b", "a, b"),
        ("date DEFAULT DATE '2024-02-29'", dt.date(2024, 2, 29), "2024-02-29"),
        ("timestamp DEFAULT TIMESTAMP '1970-01-02'", 86_400_000_000, "1970-01-02T00:00:00+00:00"),
        (
            "timestamp_ntz DEFAULT x",
            dt.datetime(1970, 1, 2),  # noqa: DTZ001 - a type without a zone
            "1970-01-02T00:00:00",
        ),
        ("decimal(5, 2) DEFAULT 1.5", Decimal("1.50"), "1.50"),
        ("int DEFAULT NULL", None, None),
    ],
)
def test_defaults_are_evaluated_by_the_engine(catalog: Any, definition: str, value: Any, expected: Any) -> None:
    sql_alterations.make(catalog, "t", 3)
    engine = RecordingEngine([value])
    recorded(engine, lake=catalog).sql(f"ALTER TABLE lake.db.t ADD COLUMN c {definition}")
    found = catalog.load_table("db.t").schema().find_field("c")
    assert (found.initial_default, found.write_default) == (expected, expected)
    asked = engine.queries[0][0]
    assert asked.startswith("unix_micros(CAST(" if definition.startswith("timestamp DEFAULT") else "CAST(")


def test_the_default_of_a_column_is_set_and_dropped(catalog: Any) -> None:
    sql_alterations.make(catalog, "t", 3)
    engine = RecordingEngine([7])
    recorded(engine, lake=catalog).sql("ALTER TABLE lake.db.t ALTER COLUMN v SET DEFAULT 3 + 4")
    assert engine.queries == [("CAST((3 + 4) AS INT)", (), None)]
    assert catalog.load_table("db.t").schema().find_field("v").write_default == 7
    lake_of(catalog).sql("ALTER TABLE lake.db.t ALTER v DROP DEFAULT")
    assert catalog.load_table("db.t").schema().find_field("v").write_default is None


def test_several_columns_are_altered_by_one_commit(catalog: Any) -> None:
    sql_alterations.make(catalog, "t", 2)
    before = sql_alterations.metadata(catalog.load_table("db.t").location)
    lake_of(catalog).sql("ALTER TABLE lake.db.t ALTER COLUMN v TYPE bigint, name COMMENT 'n', f AFTER id")
    table = catalog.load_table("db.t")
    assert table.schema().column_names[:4] == ["id", "f", "name", "ts"]
    assert (table.schema().find_field("v").type, table.schema().find_field("name").doc) == ("long", "n")
    after = sql_alterations.metadata(table.location)
    assert len(after["metadata-log"]) == len(before["metadata-log"]) + 1


def test_tables_are_renamed_within_their_catalog(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    for name in ("db", "other"):
        catalog.create_namespace(name)
    catalog.create_table("db.t", {"id": "long"})
    lake = lake_of(catalog)
    lake.sql("ALTER TABLE lake.db.t RENAME TO u")
    lake.sql("ALTER TABLE lake.db.u RENAME TO other.`a b`")
    lake.sql("ALTER TABLE lake.other.`a b` RENAME TO lake.db.v")
    assert [*catalog.list_tables("db"), *catalog.list_tables("other")] == [("db", "v")]
    lake.sql(f"ALTER TABLE lake.db.v SET LOCATION '{tmp_path}/moved'")
    assert str(catalog.load_table("db.v").location) == f"{tmp_path}/moved"
    for statement in ("lake.db.nothing RENAME TO lake.db.x", "lake.db.v RENAME TO lake.db.v"):
        with pytest.raises((NoSuchTableError, AlreadyExistsError)):
            lake.sql(f"ALTER TABLE {statement}")


def test_namespaces_and_comments(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db", {"a": "1"})
    catalog.create_table("db.t", {"id": "long"})
    lake = lake_of(catalog)
    lake.sql("ALTER DATABASE lake.db SET DBPROPERTIES ('b' = '2', c.d = 3)")
    lake.sql("ALTER NAMESPACE lake.db UNSET PROPERTIES ('a')")
    lake.sql("ALTER SCHEMA lake.db SET LOCATION '/x'")
    lake.sql("COMMENT ON NAMESPACE lake.db IS 'it''s'")
    found = catalog.load_namespace_properties("db")
    expected = {"b": "2", "c.d": "3", "location": "/x", "comment": "it's"}
    assert {key: found.get(key) for key in ("a", *expected)} == {"a": None} | expected
    lake.sql("COMMENT ON TABLE lake.db.t IS 'about t'")
    assert catalog.load_table("db.t").properties["comment"] == "about t"
    lake.sql("COMMENT ON TABLE lake.db.t IS NULL")
    assert "comment" not in catalog.load_table("db.t").properties


def test_hostile_names_are_altered(catalog: Any) -> None:
    catalog.create_table("db.`t t`".replace("`", ""), {"a.b": "int", "weird `x`": "int", "é": "int"}, format_version=2)
    lake = lake_of(catalog)
    for change in (
        "ADD COLUMN `c.d` int AFTER `a.b`",
        "RENAME COLUMN `a.b` TO `e.f`",
        "ALTER COLUMN `weird ``x``` TYPE bigint",
        "DROP COLUMN `é`",
    ):
        lake.sql(f"ALTER TABLE lake.db.`t t` {change}")
    found = catalog.load_table(("db", "t t")).schema()
    assert [(one.name, one.type) for one in found.fields] == [("e.f", "int"), ("c.d", "int"), ("weird `x`", "long")]


def test_partitions_of_paimon_tables_are_dropped(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="paimon", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", [("id", "INT"), ("dt", "STRING")], partition_keys=["dt"])
    table.append([{"id": 1, "dt": "a"}, {"id": 2, "dt": "b"}, {"id": 3, "dt": "c"}])
    lake_of(catalog, ["a", "c"]).sql("ALTER TABLE lake.db.t DROP PARTITION (DT = 'a'), PARTITION (dt = 'c')")
    assert catalog.load_table("db.t").scan().to_arrow().to_pylist() == [{"id": 2, "dt": "b"}]
    for statement, message in [
        ("DROP PARTITION (id = 1)", "`id` is not a partition column"),
        ("DROP PARTITION (dt)", "`dt` has no value"),
        ("DROP PARTITION (dt = 'b'), PARTITION (dt = 'nope')", "the table has no partition with dt = nope"),
    ]:
        with pytest.raises(FrazilError, match=message):
            lake_of(catalog, ["b", "nope"]).sql(f"ALTER TABLE lake.db.t {statement}")
    assert catalog.load_table("db.t").scan().count() == 1
    before = catalog.load_table("db.t").current_snapshot().snapshot_id
    lake_of(catalog, ["nope"]).sql("ALTER TABLE lake.db.t DROP IF EXISTS PARTITION (dt = 'nope')")
    assert catalog.load_table("db.t").current_snapshot().snapshot_id == before
    lake_of(catalog, ["b", "nope"]).sql(
        "ALTER TABLE lake.db.t DROP IF EXISTS PARTITION (dt = 'b'), PARTITION (dt = 'x')"
    )
    assert catalog.load_table("db.t").scan().count() == 0


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_partitions_of_any_type_are_dropped(tmp_path: Path, legacy: str) -> None:
    catalog = frazil.load_catalog("c", type="paimon", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    columns = [("id", "INT"), ("d", "DATE"), ("n", "BIGINT"), ("s", "STRING")]
    options = {"partition.legacy-name": legacy}
    table = catalog.create_table("db.t", columns, partition_keys=["d", "n", "s"], options=options)
    row = {"id": 1, "d": dt.date(2024, 2, 29), "n": 5, "s": "a/b=c"}
    table.append([row, {**row, "n": None}, {**row, "s": None, "d": None}])
    for partition, constants, count in [
        ("d = DATE'2024-02-29', n = 5", ["2024-02-29", "5"], 2),
        ("s = 'a/b=c', n = NULL", ["a/b=c", None], 1),
        ("d = NULL, n = 5, s = NULL", [None, "5", None], 0),
    ]:
        with pytest.raises(FrazilError, match="has no partition"):
            lake_of(catalog, ["2023-01-01"]).sql("ALTER TABLE lake.db.t DROP PARTITION (d = '2023-01-01')")
        lake_of(catalog, constants).sql(f"ALTER TABLE lake.db.t DROP PARTITION ({partition})")
        assert catalog.load_table("db.t").scan().count() == count


def test_statements_of_flink(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="paimon", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", [("id", "INT"), ("a", "INT")])
    table.append([{"id": 1, "a": 2}])
    lake = lake_of(catalog)
    for change in (
        "ADD (b STRING COMMENT 'new', c INT FIRST)",
        "ADD (d INT)",
        "MODIFY a BIGINT COMMENT 'wider' AFTER b",
        "MODIFY (c BIGINT, d BIGINT FIRST)",
        "SET ('snapshot.num-retained.max' = '70', 'x.y' = 'z')",
        "RESET ('x.y')",
        "CREATE TAG v",
        "RENAME TAG v TO w",
    ):
        lake.sql(f"ALTER TABLE lake.db.t {change}")
    table = catalog.load_table("db.t")
    found = [(one.name, str(one.data_type), one.description) for one in table.schema().fields]
    assert found == [
        ("d", "BIGINT", None),
        ("c", "BIGINT", None),
        ("id", "INT", None),
        ("b", "STRING", "new"),
        ("a", "BIGINT", "wider"),
    ]
    assert table.options["snapshot.num-retained.max"] == "70"
    assert "x.y" not in table.options
    assert list(table.tags()) == ["w"]
    assert lake_of(catalog).sql("SHOW TAGS FROM lake.db.t") is not None
    with pytest.raises(FrazilError, match="no tag `v`"):
        lake.sql("ALTER TABLE lake.db.t RENAME TAG v TO x")


def test_truncate_of_a_partition(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="paimon", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", [("id", "INT"), ("p", "STRING")], partition_keys=["p"])
    table.append([{"id": 1, "p": "a"}, {"id": 2, "p": "b"}])
    lake_of(catalog, ["a"]).sql("TRUNCATE TABLE lake.db.t PARTITION (p = 'a')")
    assert catalog.load_table("db.t").scan().to_arrow().to_pylist() == [{"id": 2, "p": "b"}]
    assert catalog.load_table("db.t$FILES").scan().count() == 1
    with pytest.raises(FrazilError, match="not empty"):
        lake_of(catalog).sql("DROP DATABASE lake.db")
    lake_of(catalog).sql("DROP DATABASE lake.db CASCADE")
    assert ("db",) not in catalog.list_namespaces()


@pytest.fixture
def paimon(tmp_path: Path) -> Any:
    catalog = frazil.load_catalog("c", type="paimon", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    columns = [
        ("Id", "INT NOT NULL"),
        ("amount", "INT"),
        ("place", "ROW<lat FLOAT, Lon FLOAT>"),
        ("list", "ARRAY<ROW<x INT>>"),
        ("map", "MAP<STRING, ROW<y INT>>"),
    ]
    catalog.create_table("db.t", columns, primary_keys=["Id"], options={"bucket": "1"})
    return catalog


PAIMON_COLUMNS = {
    "ADD COLUMN note STRING COMMENT 'x' AFTER id": ("note", "STRING (x)", 1),
    "ADD COLUMNS (a INT FIRST, b ARRAY<INT> AFTER a)": ("b", "ARRAY<INT>", 1),
    "ADD COLUMN d INT DEFAULT 5": ("d", "INT default 5", 5),
    "ADD COLUMN t TIMESTAMP": ("t", "TIMESTAMP(6) WITH LOCAL TIME ZONE", 5),
    "ADD COLUMN PLACE.name STRING FIRST": ("place", "ROW<`name` STRING, `lat` FLOAT, `Lon` FLOAT>", 2),
    "ADD COLUMN list.element.z INT": ("list", "ARRAY<ROW<`x` INT, `z` INT>>", 3),
    "ADD COLUMN List.z INT FIRST": ("list", "ARRAY<ROW<`z` INT, `x` INT>>", 3),
    "ADD COLUMN map.value.q INT": ("map", "MAP<STRING, ROW<`y` INT, `q` INT>>", 4),
    "ALTER COLUMN AMOUNT TYPE BIGINT": ("amount", "BIGINT", 1),
    "ALTER COLUMN amount COMMENT 'c'": ("amount", "INT (c)", 1),
    "ALTER COLUMN amount SET DEFAULT 5": ("amount", "INT default 5", 1),
    "ALTER COLUMN amount FIRST": ("amount", "INT", 0),
    "ALTER COLUMN amount AFTER LIST": ("amount", "INT", 3),
    "CHANGE COLUMN amount amount DECIMAL(12,2) COMMENT 'd' AFTER place": ("amount", "DECIMAL(12, 2) (d)", 2),
    "RENAME COLUMN place.LON TO longitude": ("place", "ROW<`lat` FLOAT, `longitude` FLOAT>", 2),
    "DROP COLUMN IF EXISTS nothing": ("amount", "INT", 1),
    "DROP COLUMNS (place.lon, amount)": ("place", "ROW<`lat` FLOAT>", 1),
}


@pytest.mark.parametrize("change", PAIMON_COLUMNS)
def test_columns_of_paimon_tables_are_changed(paimon: Any, change: str) -> None:
    before = paimon.load_table("db.t").schema().schema_id
    lake_of(paimon, ["5"]).sql(f"ALTER TABLE lake.db.t {change}")
    schema = paimon.load_table("db.t").schema()
    name, expected, place = PAIMON_COLUMNS[change]
    field = schema.fields[place]
    default = "" if field.default_value is None else f" default {field.default_value}"
    comment = "" if field.description is None else f" ({field.description})"
    assert (field.name, f"{field.type}{default}{comment}") == (name, expected)
    assert schema.schema_id == before + (0 if "nothing" in change else 1)


def test_options_comments_and_tags_of_paimon_tables_are_changed(paimon: Any) -> None:
    lake = lake_of(paimon)
    lake.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('snapshot.num-retained.max' = '20', 'comment' = 'one')")
    lake.sql("ALTER TABLE lake.db.t UNSET TBLPROPERTIES ('comment', 'nothing')")
    schema = paimon.load_table("db.t").schema()
    assert (schema.options, schema.comment) == ({"bucket": "1", "snapshot.num-retained.max": "20"}, None)
    lake.sql("COMMENT ON TABLE lake.db.t IS 'two'")
    table = paimon.load_table("db.t")
    assert table.schema().comment == "two"
    table.append([{"Id": 1}])
    table.append([{"Id": 2}])
    tags = []
    for change in ("CREATE TAG v", "CREATE TAG IF NOT EXISTS v AS OF VERSION 1", "REPLACE TAG v AS OF VERSION 1"):
        lake.sql(f"ALTER TABLE lake.db.t {change}")
        tags.append(table.tags()["v"].snapshot_id)
    assert tags == [2, 2, 1]
    lake.sql("ALTER TABLE lake.db.t CREATE OR REPLACE TAG w RETAIN 3 DAYS")
    lake.sql("ALTER TABLE lake.db.t DROP TAG v")
    lake.sql("ALTER TABLE lake.db.t DROP TAG IF EXISTS v")
    assert list(table.tags()) == ["w"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ADD COLUMN c INT NOT NULL", "a new column cannot be NOT NULL"),
        ("ADD COLUMN AMOUNT INT", "already exists"),
        ("ADD PARTITION FIELD id", "not supported for Paimon tables"),
        ("ALTER COLUMN amount TYPE ARRAY<INT>", "INT cannot be changed to ARRAY<INT>"),
        ("ALTER COLUMN id DROP NOT NULL", "a column of the primary key cannot be made nullable"),
        ("CREATE BRANCH b", "use CALL sys.create_branch"),
        ("CREATE TAG v", "the table has no snapshot"),
        ("DROP COLUMN a, amount", "no column `a`"),
        ("RENAME COLUMN id TO amount", "a column of this name already exists"),
        ("SET LOCATION '/x'", "not supported for Paimon tables"),
        ("SET TBLPROPERTIES ('snapshot.num-retained.max' = '20', 'path' = '/x')", "the location of a table cannot"),
        ("WRITE ORDERED BY id", "not supported for Paimon tables"),
    ],
)
def test_refused_changes_of_paimon_tables(paimon: Any, tmp_path: Path, change: str, message: str) -> None:
    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = files()
    with pytest.raises(FrazilError, match=message) as caught:
        lake_of(paimon).sql(f"ALTER TABLE lake.db.t {change}")
    assert files() == before
    assert str(caught.value).count("(line 1, column 1)") == 1
    assert caught.value.hint is None or str(caught.value).count(caught.value.hint) == 1


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE spark_catalog.x.t ADD COLUMN a int",
        "ALTER TABLE spark_catalog.x.t RENAME TO u",
        "ALTER DATABASE spark_catalog.x SET DBPROPERTIES ('a' = '1')",
        "COMMENT ON TABLE spark_catalog.x.t IS 'about t'",
        "CREATE TABLE spark_catalog.x.t (a int) USING parquet",
        "CREATE DATABASE spark_catalog.x",
        "DESCRIBE EXTENDED spark_catalog.x.t",
        "DROP DATABASE spark_catalog.x CASCADE",
        "DROP TABLE spark_catalog.x.t",
        "SHOW COLUMNS IN spark_catalog.x.t",
        "SHOW CREATE TABLE spark_catalog.x.t",
    ],
)
def test_statements_about_other_tables_are_passed_on(catalog: Any, text: str) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=catalog)
    for use in ("SELECT 1", "USE lake.db"):
        lake.script(f"{use}; {text}")
        assert engine.queries[-1][0].strip() == text


def test_unknown_statements_about_other_tables_are_passed_on(catalog: Any) -> None:
    engine = RecordingEngine()
    lake = recorded(engine, lake=catalog)
    for text in ("ALTER TABLE elsewhere.t REPLACE COLUMNS (a int)", "ALTER TABLE t ADD PARTITION (a = 1)"):
        lake.sql(text)
        assert engine.queries[-1][0] == text
