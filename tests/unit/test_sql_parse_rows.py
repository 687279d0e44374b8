"""Tests of the grammar of DELETE, UPDATE, MERGE and TRUNCATE, without Spark."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest

from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.sql._literals import is_literal
from frazil.sql._parse import parse
from frazil.sql._statements import Delete, Merge, Truncate, Update
from support.sql_lakes import RecordingEngine, iceberg_catalog, recorded
from support.sql_row_statements import (
    ASSIGNMENTS,
    CLAUSES,
    COMMON,
    CONDITIONS,
    INVALID,
    REJECTED,
    SOURCES,
    TARGETS,
    TIME_TRAVEL,
    VALID,
)

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.sql._statements import Assignment

KINDS = {"DELETE": Delete, "UPDATE": Update, "MERGE": Merge, "TRUNCATE": Truncate, "WITH": Delete | Update | Merge}
MUTATIONS = 500


@pytest.mark.parametrize("text", VALID)
def test_valid_statements_are_parsed(text: str) -> None:
    assert isinstance(parse(text), KINDS[text.split(maxsplit=1)[0].upper()])


@pytest.mark.parametrize(("text", "name", "alias"), TARGETS)
def test_targets(text: str, name: str, alias: str | None) -> None:
    found: Any
    for statement in (
        f"DELETE FROM {text} WHERE a",
        f"UPDATE {text} SET a = 1 WHERE a",
        f"MERGE INTO {text} USING s ON a WHEN MATCHED THEN DELETE",
    ):
        found = parse(statement)
        assert (str(found.target.name), found.target.alias) == (name, alias)
        assert statement[found.target.name.start : found.target.name.end] in text


def test_columns_are_qualified_by_the_alias_or_the_name() -> None:
    found: Any = parse("DELETE FROM a.b.t")
    assert found.target.qualifier == ("a", "b", "t")
    found = parse("DELETE FROM a.b.t x")
    assert found.target.qualifier == ("x",)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_kept_as_written(condition: str) -> None:
    clauses = f"WHEN MATCHED AND {condition} THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    found: Any = parse(f"MERGE INTO t USING s ON {condition} {clauses}")
    assert [found.on.text, found.clauses[0].condition.text] == [condition, condition]
    found = parse(f"DELETE FROM t WHERE {condition} -- the end")
    assert found.condition.text == condition
    text = f"UPDATE t SET a = 1 WHERE\n{condition};"
    found = parse(text)
    assert text[found.condition.start : found.condition.end] == found.condition.text == condition


def values(assignments: tuple[Assignment, ...]) -> list[tuple[str, str | None]]:
    return [(".".join(one.path), one.value and one.value.text) for one in assignments]


SPECIAL: dict[str, list[tuple[str, str | None]]] = {
    "case": [("a", "CASE WHEN b = 1 THEN f(1, 2) ELSE array(3, 4)[0] END"), ("c", "2")],
    "query": [("a", "(SELECT max(x), 1 FROM s WHERE s.id = 1)"), ("b", "named_struct('x', 1)")],
    "words": [("a", "x.where"), ("b", "x.end"), ("c", "x.case"), ("d", "1")],
}


@pytest.mark.parametrize(("text", "expected"), [pair for pair in ASSIGNMENTS if pair[1]])
def test_assignments(text: str, expected: Any) -> None:
    expected = SPECIAL[expected] if isinstance(expected, str) else expected
    found: Any = parse(f"UPDATE t SET {text} WHERE x = 1")
    assert (values(found.assignments), found.condition.text) == (expected, "x = 1")
    found = parse(f"MERGE INTO t USING s ON true WHEN MATCHED AND x THEN UPDATE SET {text} WHEN MATCHED THEN DELETE")
    assert values(found.clauses[0].assignments) == expected
    assert len(found.clauses) == 2


@pytest.mark.parametrize(("text", "source", "alias"), [*SOURCES, *TIME_TRAVEL])
def test_sources(text: str, source: str, alias: str | None) -> None:
    found: Any = parse(f"MERGE INTO t USING {text} ON a = b WHEN MATCHED THEN DELETE")
    assert (found.source.text, found.source_alias, found.on.text) == (source, alias, "a = b")


@pytest.mark.parametrize(("text", "expected"), CLAUSES)
def test_clauses(text: str, expected: Any) -> None:
    found: Any = parse(f"MERGE INTO t USING s ON true {text}")
    clauses = [
        (one.when, one.action, one.condition and one.condition.text, len(one.assignments)) for one in found.clauses
    ]
    assert clauses == expected


def test_clauses_of_different_kinds_have_any_order() -> None:
    kinds = ["WHEN NOT MATCHED BY SOURCE THEN DELETE", "WHEN NOT MATCHED THEN INSERT *", "WHEN MATCHED THEN DELETE"]
    found: Any = parse(f"MERGE INTO t USING s ON true {' '.join(kinds)}")
    assert [one.when for one in found.clauses] == ["not_matched_by_source", "not_matched", "matched"]


@pytest.mark.parametrize("common", COMMON)
def test_common_tables_are_kept_as_written(common: str) -> None:
    found: Any = parse(f"  {common} DELETE FROM t WHERE a")
    assert found.common.text == common.rpartition(")")[0] + ")"
    assert found.common.start == 2


def test_partitions_of_truncate() -> None:
    found: Any = parse("TRUNCATE TABLE a.t PARTITION (day = DATE'2024-02-29', `b c` = 1)")
    assert [(one.column, one.constant.text) for one in found.partition] == [("day", "DATE'2024-02-29'"), ("b c", "1")]


@pytest.mark.parametrize(("text", "problem"), INVALID.items())
def test_syntax_errors_name_the_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse(text)
    assert "syntax error at line" in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(("text", "problem"), REJECTED.items())
def test_refusals_name_the_place(text: str, problem: str) -> None:
    with pytest.raises((InvalidArgumentError, UnsupportedError)) as caught:
        parse(text)
    assert problem in str(caught.value)
    assert "line" in caught.value.context


def mutated(series: random.Random) -> str:
    """Return a valid statement with some characters or words deleted, repeated, exchanged or inserted."""
    pieces = series.choice(VALID).split(" ") if series.random() < 0.6 else list(series.choice(VALID))
    joint = " " if max(map(len, pieces)) > 1 else ""
    for _ in range(series.randint(1, 3)):
        place = series.randrange(len(pieces))
        change = series.randrange(4)
        if change == 0 and len(pieces) > 1:
            del pieces[place]
        elif change == 1:
            pieces.insert(place, pieces[place])
        elif change == 2:
            other = series.randrange(len(pieces))
            pieces[place], pieces[other] = pieces[other], pieces[place]
        else:
            pieces.insert(
                place, series.choice(["(", ")", "'", "`", ",", ".", "WHEN", "CASE", "END", "[", "/*", ";", "é"])
            )
    return joint.join(pieces)


def test_mutated_statements_raise_only_errors_of_frazil(tmp_path: Path) -> None:
    series = random.Random(5)  # noqa: S311
    lake = recorded(RecordingEngine(), lake=iceberg_catalog(tmp_path / "lake")[0])
    before = lake.table("lake.db.t").metadata_location
    parsed = 0
    for _ in range(MUTATIONS):
        text = mutated(series)
        with contextlib.suppress(FrazilError):
            parse(text)
            parsed += 1
        with contextlib.suppress(FrazilError):
            lake.sql(text.replace("t ", "lake.db.t ", 1))
    assert MUTATIONS // 10 < parsed < MUTATIONS
    assert lake.table("lake.db.t").metadata_location == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", True),
        ("-1.5e3", True),
        ("+ 7L", True),
        ("'a' 'b'", True),
        ("r'a'", True),
        ("NULL", True),
        ("true", True),
        ("((false))", True),
        ("DATE '2024-02-29'", True),
        ("TIMESTAMP_NTZ'2024-02-29'", True),
        ("X'1f'", True),
        ("CAST(NULL AS DECIMAL(9, 2))", True),
        ("try_cast(CAST('1' AS INT) AS STRING)", True),
        ("current_timestamp()", True),
        ("now()", True),
        ("`true`", False),
        ("id", False),
        ("now", False),
        ("current_date", False),
        ("current_date() + 1", False),
        ('"a"', False),
        ("'a' \"b\"", False),
        ("- '1'", False),
        ("--1\n", False),
        ("1 1", False),
        ("1, 2", False),
        ("(1, 2)", False),
        ("(1", False),
        ("1)", False),
        ("DATE 5", False),
        ("DATE", False),
        ("CAST(id AS INT)", False),
        ("CAST('1' AS INT) + id", False),
        ("CAST('1', 2)", False),
        ("1 AS x", False),
        ("(SELECT 1)", False),
        ("'", False),
        ("", False),
        ("(" * 5000 + "1" + ")" * 5000, False),
    ],
)
def test_literals(text: str, expected: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_literal(text) is expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM lake.db.t", (None, None, "main")),
        ("TRUNCATE TABLE lake.db.t$branch_b1", (None, None, "b1")),
        ("DELETE FROM lake.db.t.branch_b1 x WHERE x.ID = 1", (None, '("id" = 1)', "b1")),
        (
            "DELETE FROM lake.db.t WHERE db.t.id <> 1 OR NOT t.name = 'a'",
            (None, '((NOT ("id" = 1)) OR (NOT ("name" = \'a\')))', "main"),
        ),
        ("UPDATE lake.db.t SET T.Name = 'b', id = default WHERE true", ({"name": "'b'", "id": "NULL"}, "TRUE", "main")),
        ("UPDATE lake.db.t AS x SET x.id = - 1", ({"id": "- 1"}, None, "main")),
    ],
)
def test_changes_of_rows(tmp_path: Path, statement: str, expected: Any) -> None:
    engine = RecordingEngine()
    catalog, table = iceberg_catalog(tmp_path / "lake")
    recorded(engine, lake=catalog).sql(statement)
    [(changed, *found)] = engine.changes
    assert changed.location == table.location
    assert tuple(found) == expected
    assert engine.queries == []
