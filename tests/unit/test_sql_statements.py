"""Tests of tokens and statements of Spark SQL, without Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from frazil import iceberg
from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.sql._lexer import statements, tokens
from frazil.sql._other import _BY_NAME, instead
from frazil.sql._parse import parse
from frazil.sql._references import PIPES_SINCE, references, replaced
from frazil.sql._statements import (
    CreateTable,
    Describe,
    DescribeCatalog,
    DescribeNamespace,
    DescribeQuery,
    Insert,
    Other,
    Query,
    Use,
)
from support.sql_lakes import RecordingEngine, iceberg_catalog, recorded

if TYPE_CHECKING:
    from pathlib import Path

PIECES = [
    "'a''b'",
    '"x"',
    "`q``d`",
    "--c\n",
    "/* a /* b */ c */",
    ";",
    ".",
    "1.5e3",
    "a$b",
    "SELECT",
    " ",
    "\n",
    "{",
    "é",
]


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_tokens_cover_the_text(text: str) -> None:
    try:
        found = list(tokens(text))
    except InvalidArgumentError:
        return
    assert "".join(token.text for token in found) == text
    assert [token.start for token in found] == [sum(len(t.text) for t in found[:i]) for i in range(len(found))]
    assert all(token.text for token in found)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_statements_keep_their_place_in_the_script(text: str) -> None:
    lines = text.split("\n")
    for statement in statements(text):
        padding = len(statement) - len(statement.lstrip(" \n"))
        line, column = statement[:padding].count("\n"), padding - (statement[:padding].rfind("\n") + 1)
        assert lines[line][column:].startswith(statement[padding:].split("\n")[0])


@given(st.lists(st.sampled_from([*PIECES, "CREATE TABLE ", "INSERT INTO ", "DROP ", "USE ", "t", "(", ")", ","])))
def test_any_text_is_a_statement_or_an_error_of_frazil(pieces: list[str]) -> None:
    found: FrazilError | None = None
    try:
        parse("".join(pieces))
    except FrazilError as error:
        found = error
    if found is not None:
        assert isinstance(found, InvalidArgumentError | UnsupportedError)
        assert "line" in found.context


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("DESCRIBE table", ("table",)),
        ("DESC TABLE EXTENDED a.b", ("a", "b")),
        ("DESCRIBE extended", ("extended",)),
        ("DESCRIBE FORMATTED `x y`", ("x y",)),
        ("describe database.t", ("database", "t")),
    ],
)
def test_describe_finds_the_table(text: str, parts: tuple[str, ...]) -> None:
    found = parse(text)
    assert isinstance(found, Describe)
    assert found.name.parts == parts


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO TABLE a.b VALUES (1)", Insert),
        ("INSERT INTO table VALUES (1)", Insert),
        ("insert into table (id) values (1)", Insert),
        ("INSERT INTO t (SELECT 1)", Insert),
        ("INSERT INTO partition PARTITION (a = 1) SELECT 1", Insert),
        ("WITH with AS (SELECT 1), a (x) AS (SELECT 2) INSERT OVERWRITE t SELECT * FROM with", Insert),
        ("WITH RECURSIVE c AS (SELECT 1) INSERT INTO t SELECT * FROM c", Insert),
        ("WITH recursive AS (SELECT 1) SELECT insert INTO FROM recursive", Query),
        ("WITH insert AS (SELECT 1) SELECT 1", Query),
        ("USE database", Use),
        ("USE DATABASE d", Use),
        ("(SELECT 1)", Query),
        ("-- a comment\nFROM t SELECT a", Query),
        ("DESCRIBE FUNCTION abs", Other),
        ("DESCRIBE CATALOG c", DescribeCatalog),
        ("DESCRIBE DATABASE d", DescribeNamespace),
        ("DESCRIBE database", Describe),
        ("DESC QUERY SELECT 1", DescribeQuery),
        ("DESCRIBE WITH c AS (SELECT 1) SELECT * FROM c", DescribeQuery),
        ("DESCRIBE query", Describe),
        ("SHOW VIEWS", Other),
        ("CREATE EXTERNAL TABLE t (id INT)", Other),
        ("CREATE TABLE t (SELECT 1)", CreateTable),
        ("CREATE OR REPLACE TABLE t USING iceberg WITH c AS (SELECT 1) SELECT * FROM c", CreateTable),
        ("REPLACE TABLE t AS VALUES (1)", CreateTable),
        ("CREATE OR REPLACE VIEW t AS VALUES (1)", Other),
    ],
)
def test_the_kind_of_a_statement(text: str, kind: type) -> None:
    assert isinstance(parse(text), kind)


@pytest.mark.parametrize("what", sorted(_BY_NAME))
def test_the_method_to_use_instead_exists(what: str) -> None:
    for name in re.findall(r"lake\.table\(…\)\.(\w+)", instead(what) or ""):
        assert hasattr(iceberg.Table, name), what
        assert "Raise `UnsupportedError`" not in (getattr(iceberg.Table, name).__doc__ or ""), what


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO a.b VALUES (1)", "a.b|VALUES (1)|None|||"),
        ("INSERT INTO TABLE t TABLE x", "t|TABLE x|None|||"),
        ("INSERT INTO t (a, `b c`) SELECT 1, 2", "t|SELECT 1, 2|a,b c|||"),
        ("INSERT INTO t ((SELECT 1))", "t|((SELECT 1))|None|||"),
        ("INSERT OVERWRITE t BY NAME FROM x SELECT a", "t|FROM x SELECT a|None|by name||"),
        ("INSERT INTO t PARTITION (a=1, B == date '2', c) SELECT 1", "t|SELECT 1|None||a=1,B=date '2',c=None|"),
        ("INSERT INTO t REPLACE WHERE a IS DISTINCT FROM (1) WITH c AS (SELECT 1) SELECT 2",
         "t|WITH c AS (SELECT 1) SELECT 2|None|||a IS DISTINCT FROM (1)"),
        ("WITH c AS (\n(SELECT 1)) INSERT INTO t\n SELECT 1",
         "t|WITH c AS (\n(SELECT 1))              \n SELECT 1|None|||"),
    ],
)  # fmt: skip
def test_the_parts_of_an_insert(text: str, expected: str) -> None:
    found = parse(text)
    assert isinstance(found, Insert)
    partition = ",".join(f"{one.column}={one.constant and one.constant.text}" for one in found.partition)
    columns = None if found.columns is None else ",".join(found.columns)
    by_name, condition = "by name" if found.by_name else "", found.condition.text if found.condition else ""
    assert f"{found.name}|{found.query.text}|{columns}|{by_name}|{partition}|{condition}" == expected


@pytest.mark.parametrize(
    ("query", "writer"),
    [
        ("VALUES (1), (2)", "driver"),
        ("values (1), ((SELECT max(id) FROM x ORDER BY id LIMIT 1)) AS `order` (id)", "driver"),
        ("VALUES (1) UNION ALL SELECT id FROM x", "workers"),
        ("VALUES (1) EXCEPT SELECT id FROM x", "workers"),
        ("VALUES (1) MINUS SELECT id FROM x", "workers"),
        ("VALUES (1) INTERSECT SELECT id FROM x", "workers"),
        ("VALUES (1), (2) ORDER BY 1", "workers"),
        ("VALUES (1), (2) SORT BY 1", "workers"),
        ("VALUES (1), (2) CLUSTER BY 1", "workers"),
        ("VALUES (1), (2) DISTRIBUTE BY 1", "workers"),
        ("VALUES (1), (2) LIMIT 1", "workers"),
        ("VALUES (1), (2) OFFSET 1", "workers"),
        ("VALUES (1) |> UNION ALL (SELECT id FROM x)", "workers"),
        ("(VALUES (1))", "workers"),
        ("SELECT 1", "workers"),
    ],
)
def test_the_driver_writes_values_and_the_workers_other_queries(tmp_path: Path, query: str, writer: str) -> None:
    catalog, _ = iceberg_catalog(tmp_path)
    engine = RecordingEngine()
    recorded(engine, lake=catalog).sql(f"INSERT INTO lake.db.t (id) {query}")
    [insertion] = engine.insertions
    assert insertion.is_small == (writer == "driver")


def test_several_statements_and_deep_types_are_errors() -> None:
    with pytest.raises(InvalidArgumentError, match="line 1, column 9: expected one statement"):
        parse("SELECT 1; DROP TABLE t")
    with pytest.raises(UnsupportedError, match="types with such deep nesting are not supported"):
        parse(f"CREATE TABLE t (a {'ARRAY<' * 5000}INT{'>' * 5000})")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM c.t", "SELECT * FROM {t0} AS `t`"),
        ("SELECT * FROM c.`a b` AS `x`", "SELECT * FROM {t0} AS `x`"),
        ("SELECT '{' FROM c . t$x , s", "SELECT '{{' FROM {t0} AS `t$x` , s"),
        ("SELECT c.t FROM s", "SELECT c.t FROM s"),
        (
            "SELECT 1 FROM c.t UNION ALL SELECT 2 FROM c.u",
            "SELECT 1 FROM {t0} AS `t` UNION ALL SELECT 2 FROM {t1} AS `u`",
        ),
        ("SELECT * FROM a WHERE x IN (SELECT y FROM c.t)", "SELECT * FROM a WHERE x IN (SELECT y FROM {t0} AS `t`)"),
        ("WITH t AS (SELECT 1) SELECT * FROM t, c.t", "WITH t AS (SELECT 1) SELECT * FROM t, {t0} AS `t`"),
    ],
)
def test_names_of_tables_are_replaced_and_nothing_else(text: str, expected: str) -> None:
    found = references(text, lambda parts: parts[0] == "c" and len(parts) > 1)
    assert (replaced(text, found) if found else text) == expected


HAS_PIPES = int(sqlglot.__version__.partition(".")[0]) >= PIPES_SINCE
PIPES = [
    "FROM c.t |> WHERE id = 1 |> SELECT id, name",
    "FROM c.t |> EXTEND id + 1 AS x |> ORDER BY id |> LIMIT 1",
    "FROM c.t |> AGGREGATE count(*) AS n GROUP BY name |> WHERE n > (SELECT max(id) FROM c.v)",
    "FROM c.t |> LEFT JOIN c.u ON t.id = u.id |> WHERE id IN (SELECT id FROM c.v) |> SELECT id",
    "FROM c.t |> SELECT 1 |> CROSS JOIN c.u AS q",
    "FROM c.t |> UNION ALL (FROM c.u |> WHERE id = 2) |> AGGREGATE count(*)",
    "SELECT * FROM c.t |> UNION ALL (TABLE c.u)",
    "FROM c.t |> PIVOT (sum(a) FOR b IN (1))",
    "WITH t AS (SELECT 1) FROM t |> JOIN c.u |> SELECT 1",
    "SELECT * FROM (FROM c.t |> SELECT id) x |> WHERE id = (FROM c.u |> AGGREGATE max(id))",
    "FROM c.t AS x |> SELECT id |> AGGREGATE max(id)",
]


@pytest.mark.parametrize("text", PIPES)
def test_names_in_pipes_are_replaced_once(text: str) -> None:
    if not HAS_PIPES:
        with pytest.raises(UnsupportedError, match="require sqlglot"):
            references(text, lambda parts: parts[0] == "c")
        return
    found = references(text, lambda parts: parts[0] == "c")
    assert [str(one.name) for one in found] == re.findall(r"c\.\w", text)
    assert all(text[one.name.start : one.name.end] == str(one.name) for one in found)
    assert all(one.names is None and not one.conditions for one in found)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("FROM c.t |> SET id = 1", "Unsupported pipe syntax operator: 'SET'"),
        ("SELECT id FROM c.t |> LIMIT 2", "sqlglot does not support this use of pipes"),
        ("FROM c.t |> DROP id", "Unsupported pipe syntax operator: 'DROP'"),
        ("FROM c.t |> UNION ALL TABLE c.u", "EXCEPT or INTERSECT must be in parentheses"),
        ("FROM c.t |> EXCEPT ALL SELECT id FROM c.u", "EXCEPT or INTERSECT must be in parentheses"),
    ],
)
def test_pipes_that_cannot_be_parsed_raise_an_error(text: str, problem: str) -> None:
    problem = f"the query cannot be parsed: .*{problem}" if HAS_PIPES else "require sqlglot"
    with pytest.raises(UnsupportedError, match=problem):
        references(text, lambda parts: parts[0] == "c")


def test_a_name_of_a_with_clause_is_known_where_spark_knows_it() -> None:
    text = "WITH t AS (SELECT * FROM t), u AS (SELECT * FROM t) SELECT * FROM u, v"
    assert [str(one.name) for one in references(text, lambda _: True)] == ["t", "v"]
