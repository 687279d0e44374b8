"""Property tests of MERGE compared with a simple row-by-row implementation of SQL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil import _merge as values
from frazil import _native
from frazil._merge import MergeClause, MergePlan, When
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
SCHEMA = pa.schema([("k", pa.int32()), ("f", pa.float64()), ("v", pa.int64()), ("s", pa.string())])
FLOATS = [0.0, -0.0, 1.5, math.nan, math.inf, None]

rows = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.none() | st.integers(0, 4),
            "f": st.sampled_from(FLOATS),
            "v": st.none() | st.integers(-3, 3),
            "s": st.none() | st.sampled_from(["a", "b", ""]),
        }
    ),
    max_size=12,
)


def canonical(value: Any) -> Any:
    """Return a value with a single NaN and a single zero."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def equal(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else canonical(a) == canonical(b)


def both(*parts: bool | None) -> bool | None:
    if False in parts:
        return False
    return None if None in parts else True


def less(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else a < b


@dataclass(frozen=True)
class Condition:
    sql: str | None
    holds: Callable[[Row | None, Row | None], bool | None]

    def __repr__(self) -> str:
        return repr(self.sql)


ONS = [
    Condition("t.k = s.k", lambda t, s: equal(t["k"], s["k"])),
    Condition("s.f = t.f", lambda t, s: equal(t["f"], s["f"])),
    Condition("t.s = s.s", lambda t, s: equal(t["s"], s["s"])),
    Condition("t.k <=> s.k", lambda t, s: canonical(t["k"]) == canonical(s["k"])),
    Condition("t.k = s.k and t.f = s.f", lambda t, s: both(equal(t["k"], s["k"]), equal(t["f"], s["f"]))),
    Condition("t.k = s.v and t.v < s.k", lambda t, s: both(equal(t["k"], s["v"]), less(t["v"], s["k"]))),
    Condition("t.k = s.k and s.v is not null", lambda t, s: both(equal(t["k"], s["k"]), s["v"] is not None)),
]
ALWAYS = Condition(None, lambda _t, _s: True)
MATCHED = [
    Condition("t.v < s.v", lambda t, s: less(t["v"], s["v"])),
    Condition("t.f = s.f", lambda t, s: equal(t["f"], s["f"])),
    Condition("s.s is null", lambda _t, s: s["s"] is None),
    Condition("s.v > 0", lambda _t, s: less(0, s["v"])),
]
TARGET_ONLY = [
    Condition("t.v < 1", lambda t, _s: less(t["v"], 1)),
    Condition("t.s is null", lambda t, _s: t["s"] is None),
]
SOURCE_ONLY = [
    Condition("s.v < 1", lambda _t, s: less(s["v"], 1)),
    Condition("s.f = nan", lambda _t, s: equal(s["f"], math.nan)),
]


@dataclass(frozen=True)
class Action:
    name: str
    values: tuple[tuple[str, str], ...]
    apply: Callable[[Row | None, Row | None], Row | None]


def added(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b


DELETE = Action("delete", (), lambda _t, _s: None)
UPDATES = [
    Action("update_all", (), lambda _t, s: dict(s)),
    Action(
        "update",
        (("v", "t.v + s.v"), ("s", "coalesce(s.s, t.s)")),
        lambda t, s: {**t, "v": added(t["v"], s["v"]), "s": t["s"] if s["s"] is None else s["s"]},
    ),
    DELETE,
]
LONELY = [
    Action("update", (("v", "t.v - 1"), ("f", "null")), lambda t, _s: {**t, "v": added(t["v"], -1), "f": None}),
    DELETE,
]
INSERTS = [
    Action("insert_all", (), lambda _t, s: dict(s)),
    Action("insert", (("k", "s.k"), ("s", "'new'")), lambda _t, s: {"k": s["k"], "f": None, "v": None, "s": "new"}),
]


Clauses = list[tuple[Condition, Action]]


def clauses(conditions: list[Condition], actions: list[Action]) -> st.SearchStrategy[Clauses]:
    some = st.lists(st.tuples(st.sampled_from(conditions), st.sampled_from(actions)), max_size=2)
    last = st.lists(st.tuples(st.just(ALWAYS), st.sampled_from(actions)), max_size=1)
    return st.tuples(some, last).map(lambda parts: parts[0] + parts[1])


class Cardinality(Exception):
    pass


def model(target: list[Row], source: list[Row], on: Condition, asked: tuple[Clauses, Clauses, Clauses]) -> list[Row]:
    matched, not_matched, by_source = asked

    def first(found: list[tuple[Condition, Action]], t: Row | None, s: Row | None) -> Action | None:
        return next((action for condition, action in found if condition.holds(t, s) is True), None)

    result = []
    used = [False] * len(source)
    only_delete = len(matched) == 1 and matched[0] == (ALWAYS, DELETE)
    for t in target:
        partners = [i for i, s in enumerate(source) if on.holds(t, s) is True]
        for i in partners:
            used[i] = True
        if not partners:
            action = first(by_source, t, None)
            result.append(t if action is None else action.apply(t, None))
            continue
        actions = [(action, source[i]) for i in partners if (action := first(matched, t, source[i])) is not None]
        if len(actions) > 1 and not only_delete:
            raise Cardinality
        result.append(actions[0][0].apply(t, actions[0][1]) if actions else t)
    for s, is_used in zip(source, used, strict=True):
        action = None if is_used else first(not_matched, None, s)
        result.append(None if action is None else action.apply(None, s))
    return [row for row in result if row is not None]


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def sorted_rows(rows: list[Row]) -> list[str]:
    return sorted(repr([canonical(row[name]) for name in SCHEMA.names]) for row in rows)


def merged(merger: _native.Merger, batches: list[pa.RecordBatch]) -> list[Row]:
    found = []
    for rows in batches:
        untouched, deleted, updated, new, _ = merger.probe(rows)
        assert untouched.null_count == 0
        assert new.schema == SCHEMA
        touched = sorted([*deleted.to_pylist(), *updated.to_pylist()])
        assert touched == [i for i, stays in enumerate(untouched.to_pylist()) if not stays]
        assert updated.to_pylist() == sorted(set(updated.to_pylist()))
        found += [*rows.filter(untouched).to_pylist(), *new.to_pylist()]
    for rows in merger.inserts():
        found += [{name: row.get(name) for name in SCHEMA.names} for row in rows.to_pylist()]
    return found


@given(
    rows,
    rows,
    st.sampled_from(ONS),
    st.tuples(clauses(MATCHED, UPDATES), clauses(SOURCE_ONLY, INSERTS), clauses(TARGET_ONLY, LONELY)),
    st.integers(0, 12),
)
@settings(max_examples=300, deadline=None)
def test_merge_matches_sql_semantics(
    target: list[Row],
    source: list[Row],
    on: Condition,
    asked: tuple[Clauses, Clauses, Clauses],
    cut: int,
) -> None:
    parts = [
        MergeClause(
            when=when, condition=condition.sql, action=values.Action(action.name), assignments=list(action.values)
        )
        for when, found in zip(When, asked, strict=True)
        for condition, action in found
    ]
    if not parts:
        return
    # Two mergers share the work, as in two processes.
    mergers = [MergePlan(on.sql, "s", "t", tuple(parts)).merger(SCHEMA, SCHEMA, now_us=0) for _ in range(2)]
    for merger in mergers:
        merger.source(batch(source[:3]))
        merger.source(batch(source[3:]))
        merger.seal()
    try:
        expected = model(target, source, on, asked)
    except Cardinality:
        with pytest.raises(
            InvalidArgumentError, match="several source rows would change the same row of the table, with the key:"
        ):
            merged(mergers[0], [batch(target)])
        return
    found = []
    for rows in [target[:cut], target[cut:]]:
        untouched, _, _, new, _ = mergers[0].probe(batch(rows))
        found += [*batch(rows).filter(untouched).to_pylist(), *new.to_pylist()]
    other = mergers[1]
    other.merge_matched(mergers[0].matched())
    for rows in other.inserts():
        found += [{name: row.get(name) for name in SCHEMA.names} for row in rows.to_pylist()]
    assert sorted_rows(found) == sorted_rows(expected)


@given(rows, rows)
@settings(max_examples=60, deadline=None)
def test_a_filter_leaves_out_only_rows_that_match_nothing(target: list[Row], source: list[Row]) -> None:
    for on in ONS:
        clause = MergeClause(when=When.MATCHED, condition=None, action=values.Action.DELETE)
        merger = MergePlan(on.sql, "s", "t", (clause,)).merger(SCHEMA, SCHEMA, now_us=0)
        merger.source(batch(source))
        merger.seal()
        text = merger.filter() or "true"
        kept = _native.evaluate_expression(text, [("t", batch(target))]).to_pylist()
        _native.normalize_predicate(text)
        for keep, t in zip(kept, target, strict=True):
            assert keep or not any(on.holds(t, s) for s in source), text


@given(rows, rows)
@settings(max_examples=60, deadline=None)
def test_an_upsert_updates_rows_that_really_change(target: list[Row], source: list[Row]) -> None:
    def same(a: Row, b: Row) -> bool:
        return [canonical(a[name]) for name in SCHEMA.names] == [canonical(b[name]) for name in SCHEMA.names]

    merger = _native.Merger.upsert(["k"], update=True, insert=True, target_schema=SCHEMA, source_schema=SCHEMA)
    merger.source(batch(source))
    keys = [row["k"] for row in source if row["k"] is not None]
    if len(set(keys)) < len(keys):
        with pytest.raises(InvalidArgumentError, match="same key"):
            merger.seal()
        return
    merger.seal()
    found = merged(merger, [batch(target)])
    by_key = {row["k"]: row for row in source if row["k"] is not None}
    known = {row["k"] for row in target}
    expected = [by_key.get(row["k"], row) for row in target]
    expected += [row for row in source if row["k"] is None or row["k"] not in known]
    assert sorted_rows(found) == sorted_rows(expected)
    _, deleted, updated, *_ = merger.probe(batch(target))
    assert not deleted.to_pylist()
    changed = [i for i, row in enumerate(target) if row["k"] in by_key and not same(row, by_key[row["k"]])]
    assert updated.to_pylist() == changed
