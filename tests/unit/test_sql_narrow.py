"""Tests of the columns, conditions and tables that queries need, without Spark."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pyarrow as pa
import pytest

from frazil.errors import FrazilError, NoSuchTableError
from frazil.sql._narrow import Condition, filters, kept
from frazil.sql._references import references, replaced
from support.sizes import size
from support.sql_grammar import Queries
from support.sql_lakes import RecordingEngine, recorded

FUZZED = size("FRAZIL_SQL_STATEMENTS")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("d", pa.date32()),
        ("v", pa.float64()),
        ("f", pa.float32()),
        ("n", pa.decimal128(9, 2)),
        ("ts", pa.timestamp("us", "UTC")),
        ("b", pa.binary()),
        ("x", pa.int32()),
        ("X", pa.int32()),
    ]
)


def needs(text: str) -> list[tuple[Any, list[str]]]:
    """Return the columns and filters of each table of the catalog `c`."""
    found = references(text, lambda parts: parts[0] == "c")
    return [
        (None if one.names is None else kept(SCHEMA.names, one.names), filters(SCHEMA, one.conditions)) for one in found
    ]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT id FROM c.t", ("id",)),
        ("SELECT ID, t.Name FROM c.t", ("id", "name")),
        ("SELECT `id` FROM c.t WHERE f > 1 ORDER BY d", ("id", "d", "f")),
        ('SELECT "id" FROM c.t WHERE b IS NULL', ("id", "b")),
        ("SELECT count(*) FROM c.t", ("id",)),
        ("SELECT count(*) OVER (PARTITION BY d) FROM c.t", ("d",)),
        ("SELECT x FROM c.t", ("x", "X")),
        ("SELECT n FROM (SELECT n FROM c.t) q", ("n",)),
        ("SELECT * FROM (SELECT n FROM c.t) q", ("n",)),
        ("SELECT n FROM c.t WHERE EXISTS (SELECT * FROM s WHERE s.k = t.d)", ("d", "n")),
        ("SELECT n FROM c.t JOIN s USING (d)", ("d", "n")),
        ("SELECT /*+ REPARTITION(d) */ n FROM c.t", ("d", "n")),
        ("SELECT /*+ REPARTITION_BY_RANGE(d, v) */ n FROM c.tttttttttttttttttttttttt", ("d", "v", "n")),
        ("FROM c.ttttttttttttttttttttt SELECT /*+ REPARTITION(d) */ n", ("d", "n")),
        ("SELECT n /* id */ FROM c.t -- name", ("n",)),
        ("SELECT * FROM c.t", None),
        ("SELECT t.* FROM c.t", None),
        ("SELECT count(DISTINCT *) FROM c.t", None),
        ("SELECT count(t.*) FROM c.t", None),
        ("SELECT struct(*) FROM c.t", None),
        ("SELECT id FROM c.t, LATERAL (SELECT t.*)", None),
        ("SELECT id FROM c.t, LATERAL (SELECT *)", None),
        ("SELECT id FROM (SELECT * FROM c.t) q", None),
        ("SELECT id FROM c.t NATURAL JOIN s", None),
        ("SELECT id FROM c.t AS y(p, q)", None),
        ("SELECT p FROM (c.t CROSS JOIN s) AS y(p, q)", None),
        ("SELECT t FROM c.t", None),
        ("SELECT y FROM c.t y", None),
        ("SELECT id FROM c.t WHERE IDENTIFIER('na' || 'me') = 'x'", None),
        ("SELECT `(id)?+.+` FROM c.t", None),
        ("SELECT id FROM c.t PIVOT (max(v) FOR d IN ('a'))", None),
        ("SELECT id FROM c.t, f(TABLE(s))", None),
        ("SELECT TRANSFORM(*) USING 'cat' FROM c.t", None),
        ("SELECT id.* FROM c.t", None),
        ("SELECT table.id, d FROM c.table", ("id", "d")),
        ("FROM c.t", None),
    ],
)
def test_columns_that_a_query_may_mean_are_kept(text: str, columns: Any) -> None:
    assert needs(text)[0][0] == columns


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id = 1", ['("id" = 1)']),
        ("5 > ID AND (t.name = 'a' AND v >= 1.5)", ['("id" < 5)', "(\"name\" = 'a')", '("v" >= 1.5)']),
        ("id BETWEEN -1 AND 2", ['(("id" >= -1) AND ("id" <= 2))']),
        ("id IN (1, 2) AND name LIKE 'a%'", ['("id" IN (1, 2))', "(\"name\" LIKE 'a%')"]),
        ("ts IS NULL AND b IS NOT NULL", ['("ts" IS NULL)', '("b" IS NOT NULL)']),
        (
            "d >= DATE '2024-02-29' AND d < '2025-01-01'",
            ["(\"d\" >= DATE '2024-02-29')", "(\"d\" < DATE '2025-01-01')"],
        ),
        ("n = 1.25 AND n > 3", ['("n" = 1.25)', '("n" > 3)']),
        ("id = 1 OR name = 'a'", []),
        ("NOT id = 1 AND id <> 1 AND id NOT IN (1) AND name NOT LIKE 'a' AND id NOT BETWEEN 1 AND 2", []),
        ("NOT (id IS NOT NULL)", []),
        ("id + 1 = 2 AND abs(id) = 1 AND id = v AND id <=> 1", []),
        ("id = 1.5 AND id = '1' AND name = 1 AND f > 0.1 AND n = 1.255 AND b = 'x'", []),
        ("ts > '2024-01-01' AND d > '2024-1-1' AND d = '2024-02-30' AND v = 1e999", []),
        ("id = 1L AND v = 1D AND v = 1e1", []),
        ("name = 'it''s'", []),
        (r"name = 'a\tb' AND name = 'c'", []),
        ("name = r'a'", []),
        ("name = \"a\" AND name = 'b'", []),
        ("name = 'a' 'b'", []),
        ("name LIKE 'a' ESCAPE 'b' AND name ILIKE 'a' AND name LIKE ANY ('a')", []),
        ("x = 1 AND nope = 1 AND s.id = 1 AND c.t.id = 1", []),
        ("id = 1 IS NULL AND id < 5 IN (true) AND name LIKE 'a' = true AND id BETWEEN 1 AND 2 = true", []),
        ("name = 'a' COLLATE UTF8_LCASE AND name COLLATE UTF8_LCASE = 'a' AND ! id = 1 AND id = 1 = true", []),
        ("id = 1 | 2 AND id = 1 || '' AND id = -(1) AND id = 1 + 1", []),
        ("id = :one AND id = NULL AND id IN (SELECT 1)", []),
        # Spark 4.1 evaluates NULL < 99999999999999999999 as true.
        ("id < 99999999999999999999 AND n > 1", ['("n" > 1)']),
        ("id BETWEEN -99999999999999999999 AND 5", []),
    ],
)
def test_simple_conditions_are_filters(where: str, expected: list[str]) -> None:
    assert needs(f"SELECT id FROM c.t WHERE {where}")[0][1] == expected


@pytest.mark.parametrize(
    ("relations", "has_filters"),
    [
        ("c.t", True),
        ("c.t LEFT JOIN s ON true", True),
        ("c.t LEFT SEMI JOIN s ON true", True),
        ("s JOIN c.t ON true", True),
        ("s, c.t", True),
        ("s LEFT JOIN r ON true CROSS JOIN c.t", True),
        ("c.t RIGHT JOIN s ON true", False),
        ("c.t FULL OUTER JOIN s ON true", False),
        ("s LEFT JOIN c.t ON true", False),
        ("s JOIN c.t ON true FULL JOIN r ON true", False),
        ("s LEFT ANTI JOIN c.t ON true", False),
        ("(c.t JOIN s ON true)", False),
        ("c.t JOIN r.t ON true", False),
    ],
)
def test_conditions_are_pushed_below_row_preserving_joins(relations: str, has_filters: bool) -> None:  # noqa: FBT001
    expected = ['("id" = 1)'] if has_filters else []
    assert needs(f"SELECT 1 AS k FROM {relations} WHERE t.id = 1")[0][1] == expected
    if relations != "c.t":
        assert needs(f"SELECT 1 AS k FROM {relations} WHERE id = 1")[0][1] == []


def test_conditions_of_another_select_are_not_of_the_table() -> None:
    assert needs("SELECT id FROM (SELECT id FROM c.t) q WHERE id = 1")[0][1] == []
    assert needs("SELECT id FROM c.t HAVING id = 1")[0][1] == []
    assert needs("SELECT id FROM c.t LATERAL VIEW explode(a) y AS id WHERE id = 1")[0][1] == []
    inner = "SELECT 1 FROM s WHERE EXISTS (SELECT 1 FROM c.t WHERE id = 1) AND id = 2"
    assert needs(inner)[0][1] == ['("id" = 1)']


def test_uuid_column_conditions_are_not_pushed_down() -> None:
    schema = pa.schema([pa.field("u", pa.string(), metadata={"ARROW:extension:name": "arrow.uuid"})])
    assert filters(schema, [Condition("u", "=", (("string", "x"),))]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT c.d.t.id, d.t.s.x, t.y FROM c.d.t", "SELECT `t`.id, `t`.s.x, t.y FROM {t0} AS `t`"),
        ("SELECT c.d.t.*, C.D.`T`.id FROM c.d.t", "SELECT `t`.*, `t`.id FROM {t0} AS `t`"),
        ("SELECT c.d.t FROM c.d.t", "SELECT c.d.t FROM {t0} AS `t`"),
        ("SELECT c.d.t.id FROM c.d.t AS t", "SELECT c.d.t.id FROM {t0} AS t"),
        ("SELECT d.t.id FROM c.d.t, s AS d", "SELECT d.t.id FROM {t0} AS `t`, s AS d"),
        ("SELECT c.d.`t{`.id FROM c.d.`t{`", "SELECT `t{{`.id FROM {t0} AS `t{{`"),
    ],
)
def test_columns_are_qualified_by_the_last_part(text: str, expected: str) -> None:
    found = references(text, lambda parts: len(parts) == 3 and parts[0] == "c")
    assert replaced(text, found) == expected


class RecordingCatalog:
    """A catalog without tables that records the requested names."""

    type = "hadoop"

    def __init__(self) -> None:
        self.asked: set[tuple[str, ...]] = set()

    def load_table(self, levels: tuple[str, ...]) -> Any:
        self.asked.add(levels)
        raise NoSuchTableError("none")


def test_only_tables_that_a_statement_names_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.sql._names.load_catalog", lambda *_, **__: RecordingCatalog())
    lake = recorded(RecordingEngine(), lake={"type": "hadoop"})
    catalog: Any = lake.catalog("lake")
    series, opened = Queries(3), 0
    ignored = re.compile(r"/\*.*?\*/|--[^\n]*|'[^']*'")
    for number in range(FUZZED):
        text = series.soup() if number % 4 else series.query()
        catalog.asked.clear()
        with contextlib.suppress(FrazilError):
            lake.sql(text)
        named = re.sub(r"[\s`]", "", ignored.sub(" ", text))
        for levels in catalog.asked:
            base = ".".join(("lake", *levels)).partition("$")[0]
            assert base in named, text
        assert ("db", "v") not in catalog.asked, text
        opened += bool(catalog.asked)
    assert opened > FUZZED // 4


def test_a_condition_without_from_selects_no_rows() -> None:
    # sqlglot accepts the text; Spark refuses it.
    [found] = references("SELECT count(*) JOIN lake.db.u WHERE id = 1", lambda name: name[0] == "lake")
    assert found.conditions == ()
