"""Property tests of filters over the golden tables: random filters compared with a simple evaluator."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
from frazil import _native
from frazil.iceberg._task import FileScanTask
from support.filters import COMPARISONS, EXAMPLES, TABLES, examples, filters, quoted, rows_of, whole


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
@examples(EXAMPLES)
def test_no_row_that_matches_is_lost_and_none_that_does_not_is_given(name: str, data: st.DataObject) -> None:
    source = whole(name)
    chosen = data.draw(filters(source.columns))
    sql = _native.normalize_predicate(chosen.sql) if data.draw(st.booleans()) else chosen.sql
    scan = source.table.scan(sql)
    assert Counter(rows_of(scan.to_arrow())) == source.expected(chosen), sql
    assert scan.count() == source.expected(chosen).total(), sql


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
@examples(max(2, EXAMPLES // 4))
def test_tasks_read_alone_or_sent_elsewhere_give_the_rows_of_the_scan(name: str, data: st.DataObject) -> None:
    source = whole(name)
    chosen = data.draw(filters(source.columns))
    tasks = list(source.table.scan(chosen.sql).plan_files())
    alone: Counter[str] = Counter()
    for task in tasks:
        rows = rows_of(task.to_arrow())
        alone.update(rows)
        (sent,) = FileScanTask.from_bytes(task.to_bytes())
        assert sent.to_bytes() == task.to_bytes()
        assert rows_of(sent.to_arrow()) == rows
    assert alone == source.expected(chosen), chosen.sql


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
@examples(EXAMPLES)
def test_a_plan_is_the_same_without_a_cache_with_an_empty_one_and_with_a_warm_one(
    name: str, data: st.DataObject
) -> None:
    table, sql = whole(name).table, data.draw(filters(whole(name).columns)).sql
    room = frazil.config.cache_bytes

    def planned() -> tuple[dict[str, int], list[str]]:
        plan = table.scan(sql).plan()
        return plan.metrics, plan.to_arrow()["file_path"].to_pylist()

    warm_from_others = planned()
    frazil.config.cache_bytes = 0
    without = planned()
    frazil.config.cache_bytes = room
    cold = planned()
    assert warm_from_others == without == cold == planned(), sql


@given(name=st.sampled_from(TABLES), data=st.data())
@examples(EXAMPLES * 10)
def test_printing_a_parsed_filter_and_parsing_it_again_changes_nothing(name: str, data: st.DataObject) -> None:
    once = _native.normalize_predicate(data.draw(filters(whole(name).columns)).sql)
    assert _native.normalize_predicate(once) == once


NAMES = st.text(min_size=1, max_size=6).map(quoted)
NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats().map(repr),
)
TEXTS = st.text(max_size=6).map(lambda text: "'" + text.replace("'", "''") + "'")
LITERALS = st.one_of(
    NUMBERS,
    TEXTS,
    st.binary(max_size=4).map(lambda value: f"X'{value.hex()}'"),
    st.dates().map(lambda value: f"DATE '{value.isoformat()}'"),
    st.times().map(lambda value: f"TIME '{value.isoformat()}'"),
    st.datetimes().map(lambda value: f"TIMESTAMP '{value.isoformat(sep=' ')}'"),
    st.sampled_from(["true", "false", "nan", "inf", "-inf", "-0.0"]),
)
TESTS = st.one_of(
    st.builds("{} {} {}".format, NAMES, st.sampled_from([*COMPARISONS, "!="]), LITERALS),
    st.builds("{} IN ({}, {})".format, NAMES, LITERALS, LITERALS),
    st.builds("{} NOT BETWEEN {} AND {}".format, NAMES, LITERALS, LITERALS),
    st.builds("{}.{} IS NOT NULL".format, NAMES, NAMES),
    st.builds("{} IS NAN".format, NAMES),
    st.builds("{} LIKE {}".format, NAMES, TEXTS),
    NAMES,
)
SENTENCES = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        inner.map("NOT ({})".format),
        st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
    ),
    max_leaves=6,
)


@given(text=SENTENCES)
@examples(EXAMPLES * 25)
def test_printed_filters_round_trip(text: str) -> None:
    once = _native.normalize_predicate(text)
    assert _native.normalize_predicate(once) == once


WORDS = ["and", "or", "not", "is", "null", "in", "like", "between", "date", "(", ")", ",", ".", "'", '"', "`", "\\"]


@given(
    text=st.one_of(
        st.text(),
        st.lists(st.one_of(TESTS, st.sampled_from(WORDS))).map(" ".join),
    )
)
@examples(EXAMPLES * 25)
def test_any_text_parses_or_is_an_invalid_argument(text: str) -> None:
    try:
        _native.normalize_predicate(text)
    except frazil.errors.InvalidArgumentError as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize("name", ["nested_parquet", "nested_partitioned_v3", "nested_avro"])
@pytest.mark.parametrize("text", ["ss.a.c is null and ss.a.b is null", "ss.d is null and ss.a.b is null"])
def test_a_filter_may_name_the_fields_of_a_struct_in_any_order(name: str, text: str) -> None:
    table = whole(name).table
    assert table.scan(text, ("id",)).to_arrow().num_rows == table.scan(text).to_arrow().num_rows
