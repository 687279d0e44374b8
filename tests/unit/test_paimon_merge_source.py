"""Tests of which key columns the ON condition of a merge compares with the source."""

from __future__ import annotations

import pyarrow as pa
import pytest

from frazil._merge import Action, MergeClause, MergePlan, When
from frazil.paimon._merge_source import missing_keys

TARGET = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("v", pa.int64()), ("r", pa.struct([("a", pa.int64())]))])
SOURCE = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("only", pa.int64())])


@pytest.mark.parametrize(
    ("on", "missing"),
    [
        (["a", "b"], []),
        (["a"], ["b"]),
        (["`a`", "b"], []),
        ("t.a = s.a and t.b = s.b", []),
        ("s.a = t.a AND (s.only = t.b)", []),
        ("((t.a = s.a) and (t.b = s.b and t.v > 3))", []),
        ("t.a = s.a and t.v between 1 and 3 and s.only = t.b", []),
        ("t.a = only and t.b = only", []),
        ("t.a = s.a and v = 1 and case when t.v = 1 and t.v = 2 then t.b = 1 end and t.b = s.b", []),
        ("t.a = s.a and t.b = s.b and (t.v = 1 or t.v = 2)", []),
        ("t.a = s.a and 'x and t.b = s.b and y' = 'z'", ["b"]),
        ("t.a = s.a and (t.b = s.b or t.v = 1)", ["b"]),
        ("t.a = s.a and not (t.b = s.b)", ["b"]),
        ("t.a = s.a and t.b + 1 = s.b", ["b"]),
        ("t.a = s.a and t.b >= s.b and t.b <= s.b", ["b"]),
        ("t.a = s.a and t.b = 1", ["b"]),
        ("t.a = s.a and t.b = t.v and s.b = s.only", ["b"]),
        ("t.r.a = s.a and t.b = s.b", ["a"]),
        ("t.a = s.a and t.b is not distinct from s.b", []),
        ("t.a = s.a and t.b <=> s.b", []),
        ("t.a = s.a and t.b = coalesce(s.b, 1)", ["b"]),
    ],
)
def test_keys_that_the_condition_lacks(on: str | list[str], missing: list[str]) -> None:
    clause = MergeClause(when=When.MATCHED, condition=None, action=Action.DELETE)
    merger = MergePlan(on, "s", "t", (clause,)).merger(TARGET, SOURCE, now_us=0)
    assert missing_keys(merger, ["a", "b"]) == missing
