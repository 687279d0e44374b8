"""Tests of CREATE TABLE in the syntax of Spark and Flink, without Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.sql._parse import parse
from frazil.sql._statements import CreateTable
from support.sql_lakes import RecordingEngine, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.sql import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake[int]:
    """Return a lake with the Iceberg catalog `i` and the current Paimon catalog `p`."""
    iceberg = frazil.load_catalog("i", type="hadoop", warehouse=str(tmp_path / "iceberg"))
    paimon = frazil.load_catalog("p", type="paimon", warehouse=str(tmp_path / "paimon"))
    found = recorded(RecordingEngine(), i=iceberg, p=paimon)
    found.sql("USE p")
    return found


def created(lake: Lake[int], definition: str, name: str = "t") -> Any:
    lake.sql(f"CREATE TABLE {name} {definition}")
    return lake.table(name)


@pytest.mark.parametrize(
    ("definition", "keys", "partition"),
    [
        ("(a INT PRIMARY KEY NOT ENFORCED, b STRING) WITH ('bucket' = '8')", ["a"], []),
        ("(a INT CONSTRAINT pk PRIMARY KEY NOT ENFORCED COMMENT 'x') WITH ('bucket' = '8')", ["a"], []),
        (
            "(A INT, b INT, PRIMARY KEY (a, B) NOT ENFORCED) PARTITIONED BY (b) WITH ('bucket'='1')",
            ["A", "b"],
            ["b"],
        ),
        (
            "(a INT, CONSTRAINT `the key` PRIMARY KEY (a) NOT ENFORCED) COMMENT 'c' TBLPROPERTIES (bucket = 1)",
            ["a"],
            [],
        ),
        ("(a INT, dt STRING) PARTITIONED BY (dt)", [], ["dt"]),
        ("(a INT) PARTITIONED BY (dt STRING COMMENT 'day', h INT)", [], ["dt", "h"]),
        ("(a INT, b INT) WITH ('partition' = 'b', 'primary-key' = 'a,b', 'bucket' = '1')", ["a", "b"], ["b"]),
        ("(constraint INT, `primary` INT, unique INT)", [], []),
    ],
)
def test_keys_of_a_paimon_table(lake: Lake[int], definition: str, keys: list[str], partition: list[str]) -> None:
    table = created(lake, definition)
    assert table.primary_keys == keys
    assert table.partition_keys == partition
    assert not {"primary-key", "partition"} & table.options.keys()


def test_partition_columns_with_types_follow_the_other_columns(lake: Lake[int]) -> None:
    for name in ("t", "i.db.t"):
        assert created(lake, "(a INT) PARTITIONED BY (dt STRING, h INT)", name).schema().column_names == [
            "a",
            "dt",
            "h",
        ]
    assert [field.name for field in lake.table("i.db.t").spec().fields] == ["dt", "h"]


def test_comments_and_defaults_of_paimon_columns(lake: Lake[int]) -> None:
    table = created(
        lake,
        """(
            a INT NOT NULL COMMENT 'the key', b STRING DEFAULT 'it''s' COMMENT 'text', c BIGINT DEFAULT -5L,
            d DATE DEFAULT DATE '2024-02-29', e BOOLEAN DEFAULT TRUE, f INT DEFAULT NULL,
            r ROW<x INT NOT NULL COMMENT 'inner', y STRING 'flink'>
        ) COMMENT 'all' WITH ('bucket' = '-1')""",
    )
    fields = table.schema().fields
    assert table.schema().comment == "all"
    assert [field.description for field in fields[:3]] == ["the key", "text", None]
    assert [field.default_value for field in fields] == [None, "it's", "-5", "2024-02-29", "true", None, None]
    assert fields[-1].type == "ROW<`x` INT NOT NULL COMMENT 'inner', `y` STRING COMMENT 'flink'>"
    assert [field.field_id for field in fields[-1].data_type.fields] == [7, 8]
    table.append([{"a": 1}])
    row = table.scan().to_arrow().to_pylist()[0]
    assert (row["b"], row["c"], row["e"], row["f"]) == ("it's", -5, True, None)


TYPES = [
    ("BYTES", "BYTES", "binary"),
    ("BINARY", "BYTES", "binary"),
    ("BINARY(5)", "BINARY(5)", "fixed[5]"),
    ("VARBINARY(5)", "VARBINARY(5)", "binary"),
    ("CHAR(3)", "CHAR(3)", "string"),
    ("VARCHAR(3)", "VARCHAR(3)", "string"),
    ("DECIMAL", "DECIMAL(10, 0)", "decimal(10, 0)"),
    ("NUMERIC(9)", "DECIMAL(9, 0)", "decimal(9, 0)"),
    ("DEC(9, 2)", "DECIMAL(9, 2)", "decimal(9, 2)"),
    ("DOUBLE PRECISION", "DOUBLE", "double"),
    ("TIME", "TIME(0)", "time"),
    ("TIME(3) WITHOUT TIME ZONE", "TIME(3)", "time"),
    ("TIMESTAMP", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "timestamptz"),
    ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)", "timestamp"),
    ("TIMESTAMP(3)", "TIMESTAMP(3)", "timestamp"),
    ("TIMESTAMP(9)", "TIMESTAMP(9)", "timestamp_ns"),
    ("TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "timestamptz"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamptz"),
    ("TIMESTAMP_LTZ(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE", "timestamptz_ns"),
    ("TIMESTAMP_NTZ(0)", "TIMESTAMP(0)", "timestamp"),
    ("ROW<a INT, `b c` STRING NOT NULL>", "ROW<`a` INT, `b c` STRING NOT NULL>", None),
    ("ROW(a INT)", "ROW<`a` INT>", None),
    ("ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>", "list<int>"),
    ("MAP<STRING NOT NULL, INT NULL>", "MAP<STRING NOT NULL, INT>", "map<string, int>"),
]


@pytest.mark.parametrize(("written", "paimon", "iceberg"), TYPES)
def test_types_of_a_column(lake: Lake[int], written: str, paimon: str, iceberg: str | None) -> None:
    assert created(lake, f"(c {written})").schema().fields[0].type == paimon
    table = created(lake, f"(c {written}) TBLPROPERTIES ('format-version' = '3')", "i.db.t")
    if iceberg is not None:
        assert str(table.schema().find_field("c").type) == iceberg


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("GEOMETRY", "geometry"),
        ("geometry(srid:3857)", "geometry(srid:3857)"),
        ("GEOMETRY('srid:3857')", "geometry(srid:3857)"),
        ("GEOGRAPHY(srid:4269, karney)", "geography(srid:4269, karney)"),
    ],
)
def test_geospatial_columns_of_iceberg_tables(lake: Lake[int], written: str, found: str) -> None:
    table = created(lake, f"(c {written}) TBLPROPERTIES ('format-version' = '3')", "i.db.t")
    assert str(table.schema().find_field("c").type) == found
    with pytest.raises(FrazilError, match="geo"):
        created(lake, f"(c {written})", "i.db.version_2")
    with pytest.raises(UnsupportedError, match="Paimon does not have the type GEO"):
        created(lake, f"(c {written})")


def test_nested_types_keep_not_null_in_iceberg(lake: Lake[int]) -> None:
    table = created(lake, "(a ARRAY<INT NOT NULL>, m MAP<STRING, INT NOT NULL>)", "i.db.t")
    fields = {field["name"]: field["type"] for field in table.schema().to_json()["fields"]}
    assert (fields["a"]["element-required"], fields["m"]["value-required"]) == (True, True)


UNSUPPORTED = [
    ("(a INT PRIMARY KEY)", "an enforced PRIMARY KEY"),
    ("(a INT PRIMARY KEY ENFORCED)", "an enforced PRIMARY KEY"),
    ("(a INT, PRIMARY KEY (a) ENFORCED)", "an enforced PRIMARY KEY"),
    ("(a INT, UNIQUE (a))", "UNIQUE in the column list"),
    ("(a INT, CONSTRAINT c CHECK (a > 1))", "CHECK in the column list"),
    ("(a INT, b AS a + 1)", "computed columns are not supported"),
    ("(a TIMESTAMP(3), WATERMARK FOR a AS a)", "WATERMARK FOR in the column list"),
    ("(a INT METADATA)", "METADATA of a column"),
    ("(a INT DEFAULT 1 + 1)", None),
    ("(a INT DEFAULT now())", "a DEFAULT that is not a literal"),
    ("(a INT DEFAULT CAST('1' AS INT))", "a DEFAULT that is not a literal"),
    ("(a BYTES DEFAULT X'00')", None),
    ("(a ROW<x INT DEFAULT 1>)", "DEFAULT of a column"),
    ("(a INT) DISTRIBUTED BY HASH (a) INTO 4 BUCKETS", "DISTRIBUTED in CREATE TABLE"),
    ("(a INT) PARTITIONED BY (a, b INT)", "PARTITIONED BY cannot mix columns"),
    ("(a TIMESTAMP(3) WITH TIME ZONE)", "TIMESTAMP WITH TIME ZONE"),
    ("(a GEOMETRY(4326))", "a coordinate reference system as a number"),
    ("(a RAW)", "column type RAW"),
    ("WITH ('bucket' = '1')", "CREATE TABLE without columns"),
]


@pytest.mark.parametrize(("definition", "problem"), UNSUPPORTED)
def test_unsupported_definitions(lake: Lake[int], definition: str, problem: str | None) -> None:
    with pytest.raises(FrazilError if problem is None else UnsupportedError, match=problem) as caught:
        created(lake, definition)
    assert "line" in caught.value.context


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        ("(a INT) WITH ('bucket' = '1')", "WITH is not supported for Iceberg tables"),
        ("(a INT PRIMARY KEY NOT ENFORCED)", "PRIMARY KEY is not supported for Iceberg tables"),
        ("(a INT DEFAULT 5)", "DEFAULT of column `a` requires format version 3"),
        ("(a MULTISET<INT>)", "Iceberg does not have the type MULTISET"),
        ("(a BLOB)", "Iceberg does not have the type BLOB"),
    ],
)
def test_paimon_clauses_of_an_iceberg_table_are_rejected(lake: Lake[int], definition: str, problem: str) -> None:
    with pytest.raises(UnsupportedError, match=problem):
        created(lake, definition, "i.db.t")


@pytest.mark.parametrize(
    ("definition", "problem", "hint", "column"),
    [
        ("(a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('primary-key' = 'a')", "the option `primary-key`", "one", 37),
        ("(a INT, b INT) PARTITIONED BY (b) WITH ('partition' = 'b')", "the option `partition`", "one", 47),
        ("(a INT, a2 INT, PRIMARY KEY (a) NOT ENFORCED, PRIMARY KEY (a2) NOT ENFORCED)", "twice", None, None),
        ("(a INT PRIMARY KEY NOT ENFORCED, b INT PRIMARY KEY NOT ENFORCED)", "twice", None, None),
        ("(a INT NULL PRIMARY KEY NOT ENFORCED)", "column `a` of the primary key is declared NULL", "omit NULL", 17),
        ("(a INT NULL) WITH ('primary-key' = 'a')", "is declared NULL", "omit NULL", 17),
        ("(amount INT, PRIMARY KEY (amuont) NOT ENFORCED)", "no column `amuont`", "did you mean `amount`?", 42),
        ("(a INT, PRIMARY KEY (A, a) NOT ENFORCED)", "PRIMARY KEY contains column `A` twice", None, 37),
        ("(a INT, b INT, A INT)", "two columns `A`", "differ in more than case", 31),
        ("(a INT) PARTITIONED BY (a INT)", "two columns `a`", "differ", 40),
        ("(a INT NULL NOT NULL)", "contradicts", None, None),
        ("(a INT) WITH ('x' = 'y') TBLPROPERTIES ('x' = 'y')", "WITH and TBLPROPERTIES are the same", None, 41),
        ("(a TIMESTAMP(10))", "from 0 to 9, not 10", None, 19),
        ("(a DECIMAL(1, 2, 3))", "at most 2 parameters", None, 19),
    ],
)
def test_contradictions_report_their_position(
    lake: Lake[int], definition: str, problem: str, hint: str | None, column: int | None
) -> None:
    with pytest.raises(InvalidArgumentError, match=problem) as caught:
        created(lake, definition)
    assert hint is None or hint in (caught.value.hint or "")
    assert column is None or caught.value.context["column"] == str(column), caught.value
    assert "line" in caught.value.context


def test_an_object_table_has_no_columns() -> None:
    found = parse("CREATE TABLE t WITH ('type' = 'object-table', 'object-location' = 's3://b/f')")
    assert isinstance(found, CreateTable)
    assert found.columns == ()
    assert found.properties == {"type": "object-table", "object-location": "s3://b/f"}


def test_the_shown_state_of_an_iceberg_table_is_created(lake: Lake[int]) -> None:
    table = created(
        lake,
        """(Id BIGINT NOT NULL, name STRING, ts TIMESTAMP, s STRUCT<x: INT NOT NULL, `y z`: INT> NOT NULL)
        PARTITIONED BY (s.x, bucket(4, S.`Y Z`))
        TBLPROPERTIES ('current-snapshot-id' = '17', 'format' = 'iceberg/orc', 'identifier-fields' = '[id,s.x]',
            'sort-order' = 'id DESC NULLS LAST, truncate(name, 4) ASC NULLS FIRST, bucket(8, s.`y z`) ASC NULLS LAST')
        """,
        "i.db.t",
    )
    schema = table.schema()
    assert schema.identifier_field_names() == ["Id", "s.x"]
    order = [
        (schema.find_column_name(key.source_ids[0]), key.transform, key.direction, key.null_order)
        for key in table.sort_order().fields
    ]
    assert order == [
        ("Id", "identity", "desc", "nulls-last"),
        ("name", "truncate[4]", "asc", "nulls-first"),
        ("s.y z", "bucket[8]", "asc", "nulls-last"),
    ]
    spec = [(schema.find_column_name(field.source_ids[0]), field.transform) for field in table.spec().fields]
    assert spec == [("s.x", "identity"), ("s.y z", "bucket[4]")]
    assert set(table.properties) & {"current-snapshot-id", "format", "identifier-fields", "sort-order"} == set()


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ("'identifier-fields' = 'id'", "expected names in brackets"),
        ("'identifier-fields' = '[name]'", "column `name` is nullable"),
        ("'identifier-fields' = '[nope]'", "the table has no column `nope`"),
        ("'sort-order' = 'nope ASC NULLS FIRST'", "the table has no column `nope`"),
        ("'sort-order' = 'id UP'", "property 'sort-order' is 'id UP'"),
        ("'x' = '*********(redacted)'", "the value of property 'x' is a redacted secret"),
    ],
)
def test_an_invalid_state_is_rejected(lake: Lake[int], properties: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        created(lake, f"(id INT NOT NULL, name STRING) TBLPROPERTIES ({properties})", "i.db.t")


DEFAULTS = [
    ("BOOLEAN", "TRUE", True),
    ("INT", "-5", -5),
    ("BIGINT", "5L", 5),
    ("FLOAT", "1.5F", 1.5),
    ("DOUBLE", "CAST('-Infinity' AS DOUBLE)", "-Infinity"),
    ("DECIMAL(9, 2)", "1.5BD", "1.50"),
    ("DATE", "DATE '2024-02-29'", "2024-02-29"),
    ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2024-02-29 12:00:00.5'", "2024-02-29T12:00:00.500"),
    ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:00:00+01:00'", "2024-02-29T11:00:00+00:00"),
    ("STRING", "'it''s'", "it's"),
    ("BINARY", "X'00ff'", "00FF"),
    ("STRING", "NULL", None),
]


@pytest.mark.parametrize(("written", "default", "found"), DEFAULTS)
def test_defaults_of_iceberg_columns(lake: Lake[int], written: str, default: str, found: Any) -> None:
    definition = f"(a {written} DEFAULT {default} COMMENT 'c') TBLPROPERTIES ('format-version' = '3')"
    [field] = created(lake, definition, "i.db.t").schema().fields
    assert (field.initial_default, field.write_default, field.doc) == (found, found, "c")


@pytest.mark.parametrize(
    ("written", "default"),
    [
        ("INT", "1.5"),
        ("INT", "3000000000"),
        ("INT", "'1_0'"),
        ("BIGINT", "'x'"),
        ("BIGINT", "9223372036854775808"),
        ("FLOAT", "1e300"),
        ("DECIMAL(4, 2)", "999"),
        ("TIME", "'x'"),
        ("BINARY(2)", "X'00'"),
        ("DECIMAL(9, 2)", "1.005"),
        ("DOUBLE", "1e400"),
        ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:00:00'"),
        ("TIMESTAMP_NTZ", "TIMESTAMP '2024-02-29 12:00:00Z'"),
        ("STRING", "X'00'"),
        ("BINARY", "'a'"),
        ("ARRAY<INT>", "1"),
    ],
)
def test_defaults_of_another_type_are_rejected(lake: Lake[int], written: str, default: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"column `a`: the default .* is not a valid .* value"):
        created(lake, f"(a {written} DEFAULT {default}) TBLPROPERTIES ('format-version' = '3')", "i.db.t")


@pytest.mark.parametrize(
    ("written", "default", "problem"),
    [
        ("INT", "'x'", '"x" is not a valid INT'),
        ("INT", "3000000000", '"3000000000" is not a valid INT'),
        ("BOOLEAN", "'x'", '"x" is not a valid BOOLEAN'),
        ("DATE", "'2024-02-30'", '"2024-02-30" is not a valid DATE'),
        ("DECIMAL(4, 2)", "999", r"the default '999' does not fit DECIMAL\(4, 2\)"),
        ("ARRAY<INT>", "'x'", '"x" is not a valid string'),
        ("ROW<x INT>", "'x'", '"x" is not a valid string'),
    ],
)
@pytest.mark.parametrize("options", ["", " TBLPROPERTIES ('type' = 'format-table')"])
def test_defaults_that_a_paimon_column_cannot_have(
    lake: Lake[int], written: str, default: str, problem: str, options: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=problem) as caught:
        created(lake, f"(a {written} DEFAULT {default}, b INT) USING paimon{options}")
    assert re.search("column: a|column 'a'", str(caught.value))


def test_paimon_defaults_of_every_kind(lake: Lake[int]) -> None:
    columns = (
        "a INT NOT NULL DEFAULT 5, b ARRAY<INT> DEFAULT '[1, 2]', c DATE DEFAULT '2024-02-29', d DECIMAL(4, 2) "
        "DEFAULT 1.234, e BOOLEAN DEFAULT 'yes', f VARCHAR(2) DEFAULT 'x', g INT DEFAULT NULL"
    )
    fields = created(lake, f"({columns}) USING paimon").schema().fields
    assert [field.default_value for field in fields] == ["5", "[1, 2]", "2024-02-29", "1.234", "yes", "x", None]


@pytest.mark.parametrize("name", ["p.db.t", "i.db.t"])
@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("s STRUCT<a INT, A INT>", "A"),
        ("s STRUCT<a: INT, b: ARRAY<STRUCT<c: INT, C: INT>>>", "C"),
        ("s MAP<INT, STRUCT<x INT, x INT>>", "x"),
    ],
)
def test_fields_that_differ_only_in_case_are_rejected(lake: Lake[int], name: str, column: str, field: str) -> None:
    problem = f"a struct in column `s` has two fields `{field}`"
    with pytest.raises(InvalidArgumentError, match=problem) as caught:
        created(lake, f"(id INT, {column})", name)
    assert caught.value.hint == "field names must differ in more than case"


def test_a_column_may_have_the_name_of_a_keyword(lake: Lake[int]) -> None:
    assert created(lake, "(select INT, a INT) USING paimon").schema().column_names == ["select", "a"]


def test_an_iceberg_table_like_another_one(lake: Lake[int]) -> None:
    lake.script(
        """
        CREATE TABLE i.db.a (id INT NOT NULL COMMENT 'c', at TIMESTAMP) PARTITIONED BY (bucket(4, id), days(at))
        COMMENT 'source' TBLPROPERTIES ('format-version' = '3', 'x' = 'a', 'y' = 'a', 'write.data.path' = '/elsewhere');
        CREATE TABLE i.db.b LIKE i.db.a USING iceberg TBLPROPERTIES ('y' = 'b');
        CREATE TABLE IF NOT EXISTS i.db.b LIKE i.db.a
        """
    )
    source, table = lake.table("i.db.a"), lake.table("i.db.b")
    assert str(table.schema()) == str(source.schema())
    assert [(one.name, str(one.transform)) for one in table.spec().fields] == [
        ("id_bucket", "bucket[4]"),
        ("at_day", "day"),
    ]
    assert (table.format_version, table.properties["comment"]) == (3, "source")
    assert (table.properties["x"], table.properties["y"]) == ("a", "b")
    assert "write.data.path" not in table.properties
    assert table.properties["owner"] == "me"
    assert table.location != source.location


def test_a_paimon_table_like_another_one(lake: Lake[int]) -> None:
    lake.script(
        """
        CREATE TABLE a (id INT PRIMARY KEY NOT ENFORCED COMMENT 'c', name STRING DEFAULT 'n') COMMENT 'source'
        WITH ('bucket' = '2', 'x' = 'a');
        CREATE TABLE b WITH ('x' = 'b') LIKE a
        """
    )
    table = lake.table("b")
    assert (table.primary_keys, table.schema().comment) == (["id"], "source")
    assert table.schema().options == {"bucket": "2", "x": "b"}
    assert table.schema().fields == lake.table("a").schema().fields


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("CREATE TABLE b LIKE a (EXCLUDING OPTIONS)", "LIKE with options"),
        ("CREATE TABLE b (id INT) LIKE a", "LIKE with columns"),
        ("CREATE OR REPLACE TABLE b LIKE a", "REPLACE"),
        ("CREATE TABLE i.db.b LIKE a", "not paimon tables"),
        ("CREATE TABLE b LIKE spark_catalog.default.a", "outside this lake"),
        ("CREATE TABLE b LIKE a LOCATION '/x'", "LOCATION is not supported for Paimon tables"),
    ],
)
def test_unsupported_forms_of_like(lake: Lake[int], statement: str, problem: str) -> None:
    lake.sql("CREATE TABLE a (id INT)")
    with pytest.raises(UnsupportedError, match=problem):
        lake.sql(statement)


@pytest.mark.parametrize("words", ["CREATE MATERIALIZED TABLE", "CREATE OR ALTER MATERIALIZED TABLE"])
def test_a_materialized_table_is_rejected_with_the_statements_to_use(lake: Lake[int], words: str) -> None:
    with pytest.raises(UnsupportedError, match="materialized tables exist in Flink only") as caught:
        lake.sql(f"{words} t PARTITIONED BY (ds) FRESHNESS = INTERVAL '30' SECOND AS SELECT id, ds FROM s")
    assert caught.value.hint == "create a table with CREATE TABLE, and refresh its rows with INSERT OVERWRITE"
    assert caught.value.context["column"] == "1"
