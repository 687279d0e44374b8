"""Tests of filters and values that are built as objects."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import col, errors

if TYPE_CHECKING:
    from pathlib import Path

ZONE = dt.timezone(dt.timedelta(hours=2))
WHEN = dt.datetime(2024, 2, 29, 12, 30, tzinfo=ZONE)
LOCAL = dt.datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001 - a local time
NAN, INFINITY = float("nan"), float("inf")
UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")

ROWS = [
    {
        "id": 1,
        "f": 1.5,
        "s": "it's",
        "b": b"\x00\xff",
        "d": dt.date(2024, 2, 29),
        "t": dt.time(12, 30),
        "ts": LOCAL,
        "tz": WHEN,
        "n": decimal.Decimal("1.25"),
        "flag": True,
        "point": {"x y": 1},
    },
    {"id": 2, "f": float("nan"), "s": "a_b", "n": decimal.Decimal("-2.50"), "flag": False, "point": {"x y": None}},
    {"id": 3, "f": float("-inf"), "s": "Acb"},
    {"id": 4},
]
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("d", pa.date32()),
        ("t", pa.time64("us")),
        ("ts", pa.timestamp("us")),
        ("tz", pa.timestamp("us", "UTC")),
        ("n", pa.decimal128(9, 2)),
        ("flag", pa.bool_()),
        ("point", pa.struct([("x y", pa.int64())])),
    ]
)


@pytest.fixture(params=["iceberg", "paimon"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    table = frazil.create_table(tmp_path / "t", SCHEMA, format=request.param)
    table.append(pa.Table.from_pylist(ROWS, schema=SCHEMA))
    return table


EXPRESSIONS: list[tuple[Any, list[int]]] = [
    (col("id") == 1, [1]),
    (col("id") != 1, [2, 3, 4]),
    (col("id") < 2, [1]),
    (col("id") >= 2, [2, 3, 4]),
    (col("id") >= col("point.x y"), [1]),
    ((col("id") + 1) * 2 - 1 > 6, [3, 4]),
    (10 - col("id") == 8, [2]),
    (10 / col("id") == 5, [2]),
    (col("id") % 2 == 1, [1, 3]),
    (9 % col("id") == 1, [2, 4]),
    (-col("id") == -3, [3]),
    ((col("id") == 1) | (col("s") == "a_b"), [1, 2]),
    ((col("id") > 1) & col("flag"), []),
    (~col("flag"), [2]),
    (True & (col("id") == 1), [1]),
    (False | (col("id") == 1), [1]),
    (col("f") == 1.5, [1]),
    (col("f") == NAN, [2]),
    (col("f").is_nan(), [2]),
    (col("f").is_not_nan(), [1, 3, 4]),
    (col("f") == float("-inf"), [3]),
    (col("f") < float("inf"), [1, 3]),
    (col("s") == "it's", [1]),
    (col("s").is_in(["it's", "Acb", None]), [1, 3]),
    (col("id").is_in(number for number in (1, 4)), [1, 4]),
    (col("id").is_in([]), []),
    (col("s").is_null(), [4]),
    (col("s").is_not_null(), [1, 2, 3]),
    (col("s").starts_with("a_"), [2]),
    (col("s").like("_cb"), [3]),
    (col("id").between(2, 3), [2, 3]),
    (col("b") == b"\x00\xff", [1]),
    (col("d") == dt.date(2024, 2, 29), [1]),
    (col("t") == dt.time(12, 30), [1]),
    (col("ts") == LOCAL, [1]),
    (col("tz") == WHEN, [1]),
    (col("tz") == WHEN.astimezone(dt.UTC), [1]),
    (col("n") == decimal.Decimal("1.25"), [1]),
    (col("n").abs() > 2, [2]),
    (col("n").round() == -3, [2]),
    (col("n").round(1) == decimal.Decimal("1.3"), [1]),
    (col("id").cast("string") == "1", [1]),
    (col("s").try_cast("int").is_null(), [1, 2, 3, 4]),
    (col("s").upper() == "ACB", [3]),
    (col("s").lower() == "acb", [3]),
    (col("s").concat("!").trim().length() == 5, [1]),
    (col("s").substring(2) == "cb", [3]),
    (col("s").substring(1, 1) == "a", [2]),
    (col("s").coalesce("none") == "none", [4]),
    (col("point.x y") == 1, [1]),
]


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS, ids=[str(one) for one, _ in EXPRESSIONS])
def test_an_expression_selects_rows(table: Any, expression: Any, expected: list[int]) -> None:
    assert sorted(table.scan(expression).to_arrow()["id"].to_pylist()) == expected
    assert table.scan(repr(expression)).count() == len(expected)
    copy = pickle.loads(pickle.dumps(expression))  # noqa: S301 - own bytes
    assert str(copy) == str(expression)
    assert table.scan().filter(copy).count() == len(expected)


def test_a_uuid_is_compared_with_a_column(tmp_path: Path) -> None:
    table: Any = frazil.create_table(tmp_path / "t", {"u": "uuid"})
    table.append([{"u": UUID}, {"u": None}])
    assert table.scan(col("u") == UUID).count() == 1
    assert table.scan(col("u").coalesce(col("u")) == UUID).count() == 1
    assert table.scan(col("u").is_in([col("u"), UUID])).count() == 1
    assert table.scan(col("u").is_in([UUID])).row_filter == table.scan(f"u = '{UUID}'").row_filter


def test_changes_take_expressions(tmp_path: Path) -> None:
    table: Any = frazil.create_table(tmp_path / "t", {"id": "long", "name": "string"})
    table.append([{"id": number, "name": f"n{number}"} for number in range(6)])
    table.delete(col("id") < 1)
    table.update({"name": col("name").upper().concat("!")}, col("id") % 2 == 1)
    source = [{"id": 2, "name": "x"}, {"id": 9, "name": "y"}]
    merge = table.merge(source, on="target.id = source.id")
    merge.when_matched_update(
        {"name": col("source.name").upper()}, condition=col("target.id") > 1
    ).when_not_matched_insert({"id": col("source.id") + 1, "name": col("source.name")}).execute()
    table.overwrite([{"id": 20, "name": "z"}], overwrite_filter=col("id") == 4)
    found = sorted((row["id"], row["name"]) for row in table.scan().to_arrow().to_pylist())
    assert found == [(1, "N1!"), (2, "X"), (3, "N3!"), (5, "N5!"), (10, "y"), (20, "z")]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: col("a") == 1 and col("b") == 2, "combine conditions with &"),
        (lambda: bool(col("a")), "truth value"),
        (lambda: col(""), "name of a column"),
        (lambda: col(5), "name of a column"),
        (lambda: col("a") == object(), "object"),
        (lambda: (col("a") == 1) & "b = 2", "not a condition"),
        (lambda: col("a").is_in("abc"), "several values"),
        (lambda: col("a").is_in(5), "several values"),
        (lambda: col("a").like(5), "pattern"),
        (lambda: col("a").starts_with(b"a"), "prefix"),
    ],
)
def test_misuse_is_rejected(make: Any, named: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=named):
        make()


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
def test_columns_whose_names_are_words(tmp_path: Path, table_format: str) -> None:
    names = ("inf", "nan", "case", "end", "current_date", "c0")
    schema = pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in names)])
    table: Any = frazil.create_table(tmp_path / "t", schema, format=table_format)
    table.append(
        pa.Table.from_pylist([{"id": row, **dict.fromkeys(names, float(row))} for row in range(4)], schema=schema)
    )
    for name in names:
        for expression, expected in [
            (col("id") == col(name), [0, 1, 2, 3]),
            (col("id") != col(name), []),
            (col(name) == 2, [2]),
            (col("id").is_in([col(name), 77]), [0, 1, 2, 3]),
            (col(name) + 0 == INFINITY, []),
        ]:
            scan = table.scan(expression)
            assert sorted(scan.to_arrow()["id"].to_pylist()) == expected, expression
            assert table.scan(scan.row_filter).count() == len(expected), scan.row_filter
            tasks = pickle.loads(pickle.dumps(list(scan.plan_files())))  # noqa: S301 - own bytes
            read = [batch["id"].to_pylist() for task in tasks for batch in task.to_arrow_batches()]
            assert sorted(number for numbers in read for number in numbers) == expected, expression


def test_names_are_quoted(tmp_path: Path) -> None:
    table: Any = frazil.create_table(
        tmp_path / "t", pa.schema([('a "b', pa.int64()), ("c.d", pa.int64()), ("and", pa.int64())])
    )
    table.append(pa.table({'a "b': [1], "c.d": [2], "and": [3]}))
    assert table.scan((col('a "b') == 1) & (col("c.d") == 2) & (col("and") == 3)).count() == 1
    with pytest.raises(errors.InvalidArgumentError, match="no column"):
        table.scan(col("A") == 1)
