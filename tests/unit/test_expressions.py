"""Tests of expressions compared with DuckDB, and of intentional differences."""

from __future__ import annotations

import datetime
import decimal
import math
import threading
import uuid

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frazil
from frazil import _native
from frazil.errors import InvalidArgumentError

UTC = datetime.UTC
D = decimal.Decimal
ROWS = pa.record_batch(
    {
        "i": pa.array([1, -7, None, 2147483647, 0], pa.int32()),
        "j": pa.array([3, 2, 5, -4, None], pa.int32()),
        "l": pa.array([9007199254740993, -5, 0, None, 12], pa.int64()),
        "x": pa.array([1.5, -0.25, None, 1e300, 2.675], pa.float64()),
        "y": pa.array([0.5, 4.0, 1.0, None, -3.0], pa.float64()),
        "d": pa.array([D("12.34"), D("-0.05"), None, D("999.99"), D("0.00")], pa.decimal128(5, 2)),
        "e": pa.array([D("1.500"), D("2.250"), D("3.000"), None, D("-7.125")], pa.decimal128(7, 3)),
        "s": pa.array(["  ab ", "Straße", None, "", "x%y"], pa.string()),
        "t": pa.array(["b", "aa", "z", None, "X"], pa.large_string()),
        "b": pa.array([True, False, None, True, False]),
        "day": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31), None, None], pa.date32()),
        "ts": pa.array(
            [datetime.datetime.fromisoformat("1969-12-31T23:59:59.000005"), None, None, None, None], pa.timestamp("us")
        ),
        "n": pa.array([{"a": 1}, {"a": None}, None, {"a": 4}, {"a": 5}], pa.struct([("a", pa.int32())])),
    }
)


def evaluate(text: str, rows: pa.RecordBatch = ROWS) -> list[object]:
    return _native.evaluate_expression(text, [("target", rows)]).to_pylist()


def one(text: str) -> object:
    return _native.evaluate_expression(text, []).to_pylist()[0]


@pytest.mark.parametrize(
    "text",
    [
        "j + 1",
        "j - l",
        "i % j",
        "j * 2 - -j",
        "- j",
        "x + y",
        "x * y - 1",
        "l + j",
        "i / j",
        "l / 2",
        "x % y",
        "d + e",
        "d - 1",
        "d * e",
        "d < e",
        "d = 12.34",
        "i < 1.5",
        "l = 9007199254740993",
        "x <= y or b",
        "not b and i > 0",
        "i in (1, 0, null)",
        "j not in (3, 5)",
        "i between -7 and 1",
        "s like '%a%'",
        "s || '-' || t",
        "case when i > 0 then 'p' when i < 0 then 'n' end",
        "case i when 1 then 10 else j end",
        "coalesce(i, j, 0)",
        "nullif(i, 1)",
        "greatest(i, j)",
        "least(i, j, 0)",
        "greatest(x, y, 1)",
        "abs(x)",
        "abs(j)",
        "upper(t)",
        "lower(t)",
        "trim(s)",
        "length(s)",
        "substring(s, 2, 3)",
        "substring(t, 1)",
        "i is not distinct from j",
        "x is distinct from null",
        "b is true",
        "cast(i as bigint) * 1000",
        "cast(l as string)",
        "cast(d as double)",
        "try_cast(s as int)",
        "try_cast('12' as int)",
        "cast(day as timestamp)",
        "cast(ts as date)",
        "round(d, 1)",
        "round(x)",
        "n.a + 1",
        "target.i > target.j",
        "if(i > 0, i, j)",
    ],
)
def test_values_are_those_of_duckdb(text: str) -> None:
    theirs = text.replace("target.", "")
    connection = duckdb.connect()
    connection.register("rows", pa.Table.from_batches([ROWS]))
    expected = [row[0] for row in connection.table("rows").project(theirs).fetchall()]
    found = evaluate(text)
    assert len(found) == len(expected)
    for ours, other in zip(found, expected, strict=True):
        if isinstance(other, float) and isinstance(ours, float):
            assert ours == other or math.isclose(ours, other, rel_tol=1e-12)
        elif isinstance(ours, decimal.Decimal) or isinstance(other, decimal.Decimal):
            assert (ours is None) == (other is None)
            assert ours is None or D(str(ours)) == D(str(other))
        else:
            assert ours == other


@given(
    st.lists(
        st.tuples(st.none() | st.integers(-(10**9), 10**9), st.none() | st.integers(-(10**9), 10**9).filter(bool)),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["a + b", "a - b", "a * b", "a % b", "a / b", "(a + b) * 2 - a", "a < b or a > 5", "abs(a) + b"]),
)
@settings(max_examples=60, deadline=None)
def test_arithmetic_of_longs_is_that_of_duckdb(rows: list[tuple[int | None, int | None]], text: str) -> None:
    batch = pa.record_batch(
        {"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.int64())}
    )
    connection = duckdb.connect()
    connection.register("batch", pa.Table.from_batches([batch]))
    assert evaluate(text, batch) == [row[0] for row in connection.table("batch").project(text).fetchall()]


DECIMALS = st.decimals(min_value=-9999, max_value=9999, places=2)


@given(st.lists(st.tuples(st.none() | DECIMALS, st.none() | DECIMALS.filter(bool)), min_size=1, max_size=10))
@settings(max_examples=60, deadline=None)
def test_arithmetic_of_decimals_is_exact(rows: list[tuple[D | None, D | None]]) -> None:
    kind = pa.decimal128(6, 2)
    batch = pa.record_batch({"a": pa.array([a for a, _ in rows], kind), "b": pa.array([b for _, b in rows], kind)})
    with decimal.localcontext(prec=60, rounding=decimal.ROUND_HALF_UP):
        for text, operation in {
            "a + b": lambda a, b: a + b,
            "a - b": lambda a, b: a - b,
            "a * b": lambda a, b: a * b,
            "a % b": lambda a, b: a % b,
            "a / b": lambda a, b: (a / b).quantize(D("1e-9")),
        }.items():
            expected = [None if a is None or b is None else operation(a, b) for a, b in rows]
            assert evaluate(text, batch) == expected, text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cast('nan' as double) = nan", True),
        ("nan > inf", True),
        ("cast('-0.0' as double) = 0.0", True),
        ("null = null", None),
        ("null <=> null", True),
        ("1 <=> null", False),
        ("null and false", False),
        ("null and true", None),
        ("null or true", True),
        ("not null", None),
        ("null in (1)", None),
        ("1 in (2, null)", None),
        ("1 not in (2, null)", None),
        ("1 / 2", 0.5),
        ("7 % -3", 1),
        ("-7 % 3", -1),
        ("2.5 / 2", D("1.25")),
        ("1.10 * 2", D("2.20")),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(2.675e0, 2)", 2.68),
        ("round(1e300, 2)", 1e300),
        ("substring('hello', -3, 2)", "ll"),
        ("substring('hello', 0, 2)", "he"),
        ("substring('hello', -7, 3)", "h"),
        ("concat('a', null)", None),
        ("concat('a', 'b', '')", "ab"),
        ("length('aß')", 2),
        ("length(X'00ff')", 2),
        ("cast('2024-02-30' as date) is null", InvalidArgumentError),
        ("try_cast('2024-02-30' as date)", None),
        ("cast(' 12 ' as int)", 12),
        ("cast('12.5' as decimal(5, 1))", D("12.5")),
        ("cast(1.25 as decimal(2, 1))", D("1.3")),
        ("cast(2.9e0 as int)", 2),
        ("cast(1 as boolean)", True),
        ("cast(true as int)", 1),
        ("cast(date '2024-01-02' as string)", "2024-01-02"),
        ("cast(timestamp '1969-12-31 23:59:59.5' as date)", datetime.date(1969, 12, 31)),
        ("date '2024-01-02' < timestamp '2024-01-02 00:00:01'", True),
        ("timestamp '2024-01-02T00:00:00+01:00'", datetime.datetime(2024, 1, 1, 23, tzinfo=UTC)),
        ("cast('2024-01-02T03:04:05Z' as timestamptz)", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (
            "cast('f79c3e09-677c-4bbd-a479-3f349cb785e7' as uuid)",
            uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes,
        ),
        ("2147483647 + 1", InvalidArgumentError),
        ("2147483648 + 1", 2147483649),
        ("case when false then 1 / 0 else 2 end", 2),
        ("false and 1 / 0 = 1", False),
        ("true or 1 % 0 = 1", True),
        ("coalesce(1, 1 % 0)", 1),
        ("1 % 0", InvalidArgumentError),
        ("1.0 / 0", InvalidArgumentError),
        ("1e0 / 0", InvalidArgumentError),
        ("greatest(nan, 1e0) is nan", True),
    ],
)
def test_rules(text: str, value: object) -> None:
    if value is InvalidArgumentError:
        with pytest.raises(InvalidArgumentError):
            one(text)
        return
    found = one(text)
    assert found == value or (isinstance(found, float) and math.isnan(found))
    assert type(found) is type(value) or isinstance(value, int)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s = 1", "string cannot be compared with 1; write a string in single quotes"),
        ("s = i", "string cannot be compared with one of type int"),
        ("day = '2024-02-30'", "date cannot be compared with '2024-02-30'; write '2024-01-31'"),
        ("day = upper('2024-02-29')", "date cannot be compared with one of type string; write DATE"),
        ("ts > lower('2024-02-29')", "write TIMESTAMP"),
        ("s + 1", "string and int are incompatible in `s + 1`"),
        ("i + 1 +", "found the end"),
        ("target.z = 1", "no column `target.z`"),
        ("l + 9223372036854775807", "the result of `l + 9223372036854775807` does not fit"),
        ("cast(s as int)", "is not a valid int"),
        ("cast(n as int)", "cannot be cast"),
        ("cast(i as money)", "`money` is not a valid type"),
        ("frobnicate(i)", "no function frobnicate"),
        ("nullif(i)", "takes two arguments, not 1"),
        ("i and b", "AND requires a boolean, not int"),
        ("n > n", "cannot be ordered"),
        ("case when b then 1 else 'a' end", "int and string"),
        ("1" + " + 1" * 600, "more than 500 operators"),
        ("(" * 300 + "1" + ")" * 300, "nested expressions"),
        ("nullif(" * 60 + "i" + ", 0)" * 60, "too long"),
        ("x = 1; drop", "unexpected `;`"),
    ],
)
def test_rejected_expressions_state_the_reason(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        evaluate(text)
    assert message in str(raised.value)


def test_names_in_two_relations_are_ambiguous() -> None:
    one = pa.record_batch({"id": [1]})
    with pytest.raises(InvalidArgumentError, match="in both target and source"):
        _native.evaluate_expression("id = 1", [("target", one), ("source", one)])
    assert _native.evaluate_expression("target.id = source.id", [("target", one), ("source", one)]).to_pylist() == [
        True
    ]


def test_forms_of_arrow_are_read() -> None:
    batch = pa.record_batch(
        {
            "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
            "view": pa.array(["a", "b", None], pa.string_view()),
            "tiny": pa.array([1, 2, None], pa.int8()),
            "millis": pa.array([0, 1, None], pa.timestamp("ms")),
        }
    )
    assert evaluate("dictionary || view", batch) == ["aa", None, None]
    assert evaluate("tiny + 2147483640", batch) == [2147483641, 2147483642, None]
    assert evaluate("millis = timestamp '1970-01-01 00:00:00.001'", batch) == [False, True, None]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        -(2**62),
        10**30,
        1.5,
        -1e-300,
        math.inf,
        math.nan,
        D("-1.50"),
        D("1E+5"),
        "it's",
        b"\x00\xff",
        datetime.date(2024, 2, 29),
        datetime.datetime.fromisoformat("2024-02-29T01:02:03.000004"),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC),
        datetime.time(1, 2, 3, 4),
    ],
)
def test_literals_keep_their_values(value: object) -> None:
    found = one(str(frazil.lit(value)))
    assert found == value or (isinstance(value, float) and math.isnan(value) and math.isnan(found))  # type: ignore[arg-type]
    assert isinstance(found, (type(value), int, D))


@pytest.mark.parametrize("value", [np.int32(7), np.array(7), pa.scalar(7, pa.int8())])
def test_scalars_of_other_libraries_are_literals(value: object) -> None:
    assert str(frazil.lit(value)) == "7"
    assert str(frazil.lit(pa.scalar(None))) == "NULL"


@pytest.mark.parametrize("value", [[1], np.array([1, 2]), pa.array([1])])
def test_invalid_literals_are_rejected(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match=type(value).__name__):
        frazil.lit(value)


def test_long_chains_end_in_small_stacks() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(one("(" * 60 + "1" + " + 1" * 490 + ")" * 60)))
    thread.start()
    thread.join()
    assert found == [491]
