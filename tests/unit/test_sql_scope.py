"""Tests of the columns in clauses of MERGE for rows of one side, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from frazil.errors import InvalidArgumentError
from frazil.sql._reader import Text
from frazil.sql._scope import qualified

SOURCE = ["id", "info", "name", "items"]
TABLE = ["id", "info", "name", "only"]
RUN: Any = SimpleNamespace(text=" " * 100, engine=SimpleNamespace(is_case_sensitive=lambda: False))


def after(text: str) -> str:
    """Return an expression of INSERT with the inserted qualifiers."""
    edits = list(qualified(Text(text, 7), ("s",), ("lake", "db", "t"), (SOURCE, TABLE), "not_matched", RUN))
    for start, end, qualifier in sorted(edits, reverse=True):
        assert start == end
        text = text[: start - 7] + qualifier + text[start - 7 :]
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id + s.id", "`s`.id + s.id"),
        ("info.x", "`s`.info.x"),
        ("s.info.x", "s.info.x"),
        ("items", "items"),
        ("upper(`NAME`)", "upper(`s`.`NAME`)"),
        ("(SELECT id FROM u) + id", "(SELECT id FROM u) + `s`.id"),
        ("transform(items, id -> id + name)", "transform(items, id -> id + `s`.name)"),
        ("CASE WHEN id IS NULL THEN id END", "CASE WHEN `s`.id IS NULL THEN `s`.id END"),
        ("'id' -- id", "'id' -- id"),
        ("id +", "id +"),
    ],
)
def test_columns_of_both_sides_are_qualified(text: str, expected: str) -> None:
    assert after(text) == expected


@pytest.mark.parametrize("name", ["only", "t.id", "db.t.id", "lake.db.T.id", "only.x"])
def test_columns_of_the_other_side_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        after(f"1 + {name}")
    assert str(error.value) == (
        f"WHEN NOT MATCHED can only use columns of the source, not `{name}` (line 1, column 12)"
    )
