"""Tests of filters that are expressions of pyarrow, Polars and PyIceberg: each library evaluates them itself, too."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import subprocess
import sys
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg import expressions as ex
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import expression_to_pyarrow, pyarrow_to_schema
from pyiceberg.table.name_mapping import NameMapping

import frazil
from frazil import _arguments, errors

if TYPE_CHECKING:
    from pathlib import Path

D = decimal.Decimal
NAN, INFINITY = math.nan, math.inf
FLOAT32 = 0.10000000149011612
DAY = dt.date(2020, 1, 1)
MOMENT = dt.datetime(2020, 1, 1, 12, 30, 0, 5)  # noqa: DTZ001 - a timestamp without a zone
UTC = MOMENT.replace(tzinfo=dt.UTC)
BERLIN = MOMENT.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
KEY = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("r", pa.float32()),
        ("f", pa.float64()),
        ("g", pa.float64()),
        ("n", pa.decimal128(9, 2)),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("d", pa.date32()),
        ("t", pa.time64("us")),
        ("ts", pa.timestamp("us")),
        ("tz", pa.timestamp("us", "UTC")),
        ("flag", pa.bool_()),
        ("other", pa.bool_()),
        ("st", pa.struct([("x", pa.int64()), ("y z", pa.struct([("f", pa.float64())]))])),
        ("a.b", pa.int64()),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "i": 1,
        "l": 2**53 + 1,
        "r": 0.1,
        "f": 0.1,
        "g": 0.1,
        "n": D("1.25"),
        "s": "it's 50%",
        "b": b"\x00\xff",
        "d": DAY,
        "t": dt.time(12, 30, 0, 5000),
        "ts": MOMENT,
        "tz": UTC,
        "flag": True,
        "other": False,
        "st": {"x": 1, "y z": {"f": NAN}},
        "a.b": 7,
    },
    {},
    {"i": 2**31 - 2, "l": -7, "r": NAN, "f": NAN, "g": NAN, "n": D("-1.25"), "s": "a_b\\c", "flag": False},
    {"i": -7, "l": 0, "r": -0.0, "f": -0.0, "g": 0.0, "n": D("0.10"), "s": "", "b": b"", "flag": True, "other": True},
    {"i": 0, "l": 1, "r": INFINITY, "f": INFINITY, "g": 1.0, "s": "B\nb", "flag": False, "other": True},
    {"i": 2, "r": -INFINITY, "f": -INFINITY, "g": NAN, "s": "äöü", "st": {"x": None, "y z": {"f": 2.0}}, "a.b": 1},
    {
        "i": 3,
        "l": 3,
        "r": 2.5,
        "f": FLOAT32,
        "n": D("2.50"),
        "d": dt.date(2021, 3, 4),
        "ts": MOMENT.replace(year=1969),
        "tz": UTC.replace(year=1969),
        "flag": True,
        "st": {"x": 5, "y z": None},
    },
    {"f": 1.0, "g": 2.0, "s": "a_b", "d": dt.date(1969, 12, 31), "t": dt.time(), "other": False},
    {"f": NAN, "g": 1.0, "s": "a%b"},
    {"f": 2.0, "s": "axb"},
]
TABLE = pa.Table.from_pylist([{"id": number, **row} for number, row in enumerate(ROWS)], schema=SCHEMA)


@pytest.fixture(scope="module", params=["iceberg", "paimon"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: Any = frazil.create_table(tmp_path_factory.mktemp("filters") / "t", SCHEMA, format=request.param)
    for start in range(0, len(ROWS), 3):
        made.append(TABLE.slice(start, 3))
    return made


def ids(found: Any) -> list[int]:
    return sorted(found["id"].to_pylist())


f, scalar = pc.field, pc.scalar
ARROW: list[Any] = [
    f("i") > 1,
    f("i") >= 2,
    f("i") == 3,
    f("i") != 3,
    f("l") < 2,
    scalar(2) >= f("i"),
    f("l") * 0 + 3 == 3,
    f("i").cast("float64") > 1.5,
    f("i") == 3_000_000_000,
    f("l") == 2**53 + 1,
    f("f") > 1,
    f("f") >= 0,
    f("f") < 1,
    f("f") <= 0,
    f("f") == 0,
    f("f") == 0.1,
    f("f") == FLOAT32,
    f("f") > -INFINITY,
    f("f") <= INFINITY,
    f("f") >= INFINITY,
    f("f") != 0.1,
    f("f") == NAN,
    f("f") != NAN,
    ~(f("f") == NAN),
    ~(f("f") != NAN),
    f("f") <= NAN,
    scalar(NAN) < f("f"),
    scalar(NAN) != scalar(NAN),
    scalar(2) > scalar(1.5),
    ~(f("f") > 1),
    ~(f("f") < 1),
    ~(f("f") <= 1) | (f("i") == 0),
    f("r") == 0.1,
    f("r") > 0.1,
    f("r") == FLOAT32,
    f("r") > pa.scalar(0.1, pa.float32()),
    f("r") == 2.5,
    f("n") == D("1.25"),
    f("n") > D("1.255"),
    f("n") > 0.1,
    f("n") == 1.25,
    f("f") == D("0.1"),
    f("s") == "it's 50%",
    f("s") > "a",
    f("b") == b"\x00\xff",
    f("d") == DAY,
    f("d") > MOMENT,
    f("d") <= MOMENT,
    f("ts") == MOMENT,
    f("ts") >= DAY,
    f("ts") > pa.scalar(pa.scalar(MOMENT, pa.timestamp("us")).value * 1000 - 1, pa.timestamp("ns")),
    f("ts") > pa.scalar(-1, pa.timestamp("s")),
    f("tz") == UTC,
    f("tz") <= BERLIN,
    f("tz") < pa.scalar(0, pa.timestamp("ms", "UTC")),
    f("t") == dt.time(12, 30, 0, 5000),
    f("t") < pa.scalar(1, pa.time32("s")),
    f("flag"),
    ~f("flag"),
    f("flag") == True,  # noqa: E712 - an expression
    f("flag") != f("i").is_null(),
    f("i") == scalar(None),
    ~(f("i") == scalar(None)),
    f("i") == pa.scalar(None, pa.int32()),
    scalar(True),  # noqa: FBT003 - a literal
    scalar(False) | (f("i") == 1),  # noqa: FBT003 - a literal
    f("i").is_null(),
    f("f").is_null(nan_is_null=True),
    ~f("f").is_null(nan_is_null=True),
    f("f").is_null(nan_is_null=False),
    f("i").is_valid(),
    f("f").is_nan(),
    ~f("f").is_nan(),
    f("i").is_nan(),
    f("i").isin([1, 3]),
    ~f("i").isin([1, 3]),
    f("i").isin([1, None]),
    ~f("i").isin([1, None]),
    f("i").isin([None]),
    f("i").isin([]),
    ~f("i").isin([]),
    pc.is_in(f("i"), pa.array([1, None]), skip_nulls=True),
    ~pc.is_in(f("i"), pa.array([1, None]), skip_nulls=True),
    f("f").isin([NAN, 2.0]),
    ~f("f").isin([NAN, 1.0, None]),
    f("f").isin([2]),
    f("s").isin(["a_b", "", "nope"]),
    f("d").isin([DAY, None]),
    f("ts").isin([MOMENT]),
    f("tz").isin([UTC]),
    f("n").isin([D("1.25"), D("0.10")]),
    f("b").isin([b"", b"x"]),
    f("flag").isin([True]),
    f("st", "x") == 1,
    f(("st", "y z", "f")) > 1,
    f("st", "y z", "f").is_nan(),
    f("st", "x").is_null(),
    f("a.b") == 7,
    (f("i") > 0) & f("other"),
    (f("i") > 0) | f("other"),
    ~((f("i") > 0) & f("other")),
    ~((f("i") > 0) | f("other")),
    pc.starts_with(f("s"), "a_"),
    ~pc.starts_with(f("s"), "a_"),
    pc.ends_with(f("s"), "50%"),
    pc.match_substring(f("s"), "_b\\"),
    pc.match_like(f("s"), "a_b%"),
    pc.match_like(f("s"), r"a\_b%"),
    pc.match_like(f("s"), "___"),
    pc.match_like(f("s"), "B%b"),
    f("i") + 1 > 2,
    (f("l") - 1) * 2 < 3,
    f("f") + 1 > 1,
    ~(f("f") + 1 > 1),
    f("r") + 1 > 1.1,
    f("r") * 2 == 0.2,
    scalar(2) * f("f") <= f("g"),
    f("f") * 1 > f("g"),
    f("f") * 1 == f("g"),
    ~(f("f") * 1 == f("g")),
    f("f") * 1 != f("g"),
    ~(f("f") * 1 != f("g")),
    f("g") * 1 >= f("f"),
    ~(f("g") * 1 >= f("f")),
    ~(f("g") * 1 < f("f")),
    (f("f") * 1 == f("g")).is_null(),
    f("f").cast("float64") / 2 == 1,
    f("r").cast("float64") * 0.1 < 1,
    f("n").cast("float64") > 1,
    f("ts").cast("date32") == DAY,
    f("i").cast("int64") + 2 == 5,
    (f("i") > 1) == f("flag"),
]


@pytest.mark.parametrize("expression", ARROW, ids=map(str, range(len(ARROW))))
def test_expressions_of_pyarrow(table: Any, expression: Any) -> None:
    assert ids(table.scan(expression).to_arrow()) == ids(TABLE.filter(expression)), expression
    assert table.scan().filter(expression).count() == TABLE.filter(expression).num_rows


def test_a_uuid_of_pyarrow(tmp_path: Path) -> None:
    made: Any = frazil.create_table(tmp_path / "t", {"u": "uuid"})
    made.append([{"u": KEY}, {"u": None}])
    assert made.scan(f("u") == pa.scalar(KEY.bytes, pa.uuid())).count() == 1


REFUSED_ARROW: list[tuple[Any, str, str]] = [
    (f("f") > f("g"), "a comparison of two columns", r'write frazil.col\("f"\) > frazil.col\("g"\)'),
    (f("st", "x") == f("l"), "two columns", r'frazil.col\("st.x"\) == frazil.col\("l"\)'),
    (pc.and_(f("flag"), f("other")), "the function and_,", "use the operator &"),
    (pc.or_(f("flag"), f("other")), "the function or_,", r"use the operator \|"),
    (pc.xor(f("flag"), f("other")), "the function xor", "with &"),
    (pc.starts_with(f("s"), "A", ignore_case=True), "the function starts_with", "omit ignore_case"),
    (pc.match_substring_regex(f("s"), "a.*"), "match_substring_regex", "SQL string"),
    (pc.utf8_upper(f("s")) == "A", "utf8_upper", "SQL string"),
    (pc.is_finite(f("f")), "is_finite", "infinity"),
    (pc.if_else(f("flag"), f("i"), 1) == 1, "if_else", "SQL string"),
    (pc.year(f("d")) == 2020, "year", "frazil.col"),
    (f("i") / 2 == 1, "divide_checked", 'cast a column to "float64"'),
    (f("f") * 2.5 == 1, "multiply_checked", 'cast a column to "float64"'),
    (f("i") + f("l") == 1, "add_checked", 'cast a column to "float64"'),
    (f("i").cast("string") == "1", "a cast to string", "CAST"),
    (f("f").cast("int32", safe=False) == 1, "not safe", "safe=True"),
    (f("f").isin([0.0, 1.0]), "isin with the number 0.0", "=="),
    (f("f").isin([0.1]), "isin with the number 0.1", "=="),
    (f(3) == 1, "cannot be serialized", "SQL string"),
    (f("ts") - f("ts") == dt.timedelta(1), "subtract", "SQL string"),
    (f("i") == dt.timedelta(1), "a literal of type duration", "type"),
    (f("ts") == pa.scalar(2**60, pa.timestamp("s")), "between the years 1 and 9999", ""),
]


@pytest.mark.parametrize(("expression", "what", "hint"), REFUSED_ARROW, ids=[what for _, what, _ in REFUSED_ARROW])
def test_refused_expressions_of_pyarrow(expression: Any, what: str, hint: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=what) as caught:
        _arguments.filter_text(expression)
    caught.match(hint)


c, double = pl.col, pl.Float64
POLARS: list[Any] = [
    c("i") > 1,
    c("i") <= 2,
    c("i") != 3,
    c("i") > 1.5,
    c("i") == 3_000_000_000,
    c("l") == 2**53 + 1,
    pl.lit(3, dtype=pl.Int64) <= c("l"),
    c("f") > 1,
    c("f") >= 0,
    c("f") == 0.0,
    c("f") == -0.0,
    c("f") == pl.lit(0.1, dtype=double),
    c("f") < 0.5,
    ~(c("f") > 1),
    c("f") > c("g"),
    c("f") == c("g"),
    c("f") != c("g"),
    c("r") < c("f"),
    c("r") == pl.lit(0.1, dtype=double),
    c("r") > pl.lit(0.1, dtype=double),
    c("r") == 2.5,
    c("n") == D("1.25"),
    c("n") > D("1.255"),
    c("n") > pl.lit(0.1, dtype=double),
    c("n") == 1.25,
    c("s") == "it's 50%",
    c("b") == b"\x00\xff",
    c("d") == DAY,
    c("d") > MOMENT,
    c("ts") == MOMENT,
    c("ts") >= DAY,
    c("ts") > pl.lit(MOMENT, dtype=pl.Datetime("ns")),
    c("ts") > pl.lit(MOMENT, dtype=pl.Datetime("us")),
    c("tz") == UTC,
    c("tz") > pl.lit(UTC),
    c("t") == dt.time(12, 30, 0, 5000),
    c("flag"),
    ~c("flag"),
    c("flag") == True,  # noqa: E712 - an expression
    c("i") == pl.lit(None),
    c("i").is_null(),
    c("i").is_not_null(),
    c("f").is_nan(),
    c("f").is_not_nan(),
    ~c("f").is_nan(),
    c("i").is_nan(),
    c("i").is_in([1, 3]),
    ~c("i").is_in([1, 3]),
    c("i").is_in([1, None]),
    ~c("i").is_in([1, None]),
    c("i").is_in([1, None], nulls_equal=True),
    ~c("i").is_in([1, None], nulls_equal=True),
    ~c("i").is_in([1], nulls_equal=True),
    c("f").is_in([NAN, 0.0, 2.0]),
    c("r").is_in([0.1, 2.5]),
    c("s").is_in(["a_b", ""]),
    c("s").is_in({"a_b"}),
    c("d").is_in([DAY]),
    c("ts").is_in([MOMENT]),
    c("tz").is_in([UTC]),
    c("n").is_in([D("1.25")]),
    c("b").is_in([b""]),
    c("flag").is_in([True, None]),
    c("i").is_between(1, 3),
    c("i").is_between(1, 3, closed="left"),
    c("i").is_between(1, 3, closed="right"),
    c("i").is_between(1, 3, closed="none"),
    ~c("f").is_between(0, 1),
    c("i").eq_missing(1),
    c("i").eq_missing(None),
    c("i").ne_missing(1),
    c("flag").eq_missing(c("other")),
    c("st").struct.field("x") == 1,
    c("st").struct.field("y z").struct.field("f").is_nan(),
    c("a.b") == 7,
    (c("i") > 0) & c("other"),
    ~((c("i") > 0) & c("other")),
    ~((c("i") > 0) | c("other")),
    pl.all_horizontal(c("i") > 0, "other"),
    ~pl.all_horizontal(c("i") > 0, "other"),
    pl.any_horizontal(c("i") > 0, "other"),
    ~pl.any_horizontal(c("i") > 0, "other"),
    c("s").str.starts_with("a_"),
    ~c("s").str.starts_with("a_"),
    c("s").str.ends_with("50%"),
    c("s").str.contains("_b\\", literal=True),
    c("i").alias("z") > 1,
    c("i") + 1 > 2,
    c("i") + c("l") > 2,
    c("l") - c("f") > 0,
    c("i") + c("r") > 2,
    c("n") + c("i") > 2,
    (c("l") - 1) * 2 < 3,
    c("n") * 2 > 2,
    c("r") * 2 == pl.lit(0.2, dtype=double),
    c("r") * 2 == pl.lit(2 * FLOAT32, dtype=double),
    c("r") * pl.lit(0.1, dtype=double) == pl.lit(FLOAT32 * 0.1, dtype=double),
    c("f").cast(double) / 2 == 1,
    c("i") / pl.lit(2, dtype=double) == 1,
    c("f").cast(double) * 2.5 > 1,
    -c("i") > 0,
    c("i").cast(pl.Int64) * c("l") > 2,
    c("n").cast(double) > 1,
]


@pytest.mark.parametrize("expression", POLARS, ids=map(str, range(len(POLARS))))
def test_expressions_of_polars(table: Any, expression: Any) -> None:
    frame: Any = pl.from_arrow(TABLE)
    expected = sorted(frame.filter(expression)["id"].to_list())
    assert ids(table.scan(expression).to_arrow()) == expected, expression
    assert table.scan().filter(expression).count() == len(expected)


REFUSED_POLARS: list[tuple[Any, str, str]] = [
    (c("f") > 0.1, "the number 0.1, which is rounded for a column of Float32", r"pl.lit\(0.1, dtype=pl.Float64\)"),
    (c("f").is_between(0, 0.1), "the number 0.1", "pl.lit"),
    (c("i").is_between(1, None), "IsBetween with a bound that is not a value", ">="),
    (c("i").is_between(1, c("l")), "IsBetween with a bound that is not a value", ">="),
    (c("ts") > pl.lit(MOMENT, dtype=pl.Datetime("ms")), "a timestamp of milliseconds", r"pl.Datetime\(\"us\"\)"),
    (c("ts") > pl.lit(1, dtype=pl.Int64).cast(pl.Datetime("ns")), "a cast to", "CAST"),
    (c("f") == pl.lit(0.1, dtype=pl.Float32), r"a literal of type Float32 \(Polars", ""),
    (c("i").is_in([]), "is_in with a list without values", r"pl.lit\(False\)"),
    (c("i").is_in([None]), "is_in with a list without values", "is_null"),
    (c("l") > 1e300, "to which integers are rounded", "SQL string"),
    (c("f") == NAN, "a NaN or an infinity", "is_nan"),
    (c("f") < pl.lit(INFINITY, dtype=pl.Float64), "a NaN or an infinity", "SQL string for infinity"),
    (c("i") // 2 == 1, "FloorDivide", "SQL string"),
    (c("i") % 2 == 1, "Modulus", "SQL string"),
    (c("i") / 2 == 1, "TrueDivide", "pl.Float64"),
    (c("i") * c("l") == 1, "Multiply", "pl.Float64"),
    (c("f") * 2.5 == 1, "a number of no type", "pl.lit"),
    (c("n") * D("1.5") == 1, "arithmetic with this literal", "SQL string"),
    (c("flag") ^ c("other"), "Xor", "use &"),
    (c("i").cast(pl.Int32, strict=False) == 1, "NonStrict", "strict=False"),
    (c("i").cast(pl.String) == "1", "a cast to String", "CAST"),
    (c("s").str.contains("a.*"), "a regular expression", "literal=True"),
    (c("s").str.starts_with(c("s")), "not a string literal", ""),
    (c("s").str.to_uppercase() == "A", r"Uppercase \(Polars \d", "frazil.col"),
    (c("i").is_in(c("l").implode()), "is_in|Implode|Agg", ""),
    (c("i").is_finite(), r"IsFinite \(Polars", ""),
    (c("i").abs() > 1, r"Abs \(Polars", ""),
    (c("^i.*$") > 1, "pattern|Selector", ""),
    (pl.all() > 1, "Polars", ""),
    (c("i", "l") > 1, "Polars", ""),
    (c("i").sum() > 1, "Polars", ""),
    (c("i") == dt.timedelta(1), "Duration", ""),
    (c("i").map_elements(bool, return_dtype=pl.Boolean), "Polars", ""),
    (pl.when(c("flag")).then(c("i")).otherwise(1) == 1, "Ternary", ""),
    (c("i").over("l") == 1, "Polars", ""),
]


@pytest.mark.parametrize(("expression", "what", "hint"), REFUSED_POLARS, ids=map(str, range(len(REFUSED_POLARS))))
def test_refused_expressions_of_polars(expression: Any, what: str, hint: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=what) as caught:
        _arguments.filter_text(expression)
    caught.match(hint)
    assert "cannot be used as a filter" in str(caught.value)


def test_a_literal_in_another_time_zone() -> None:
    assert (
        _arguments.filter_text(c("tz") == pl.lit(BERLIN)) == "(\"tz\" = TIMESTAMP '2020-01-01T11:30:00.000005+00:00')"
    )


def test_old_releases_of_polars_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl, "__version__", "1.35.2")
    with pytest.raises(errors.InvalidArgumentError, match=r"Polars 1.35.2 cannot .* need Polars 1.36 or later"):
        _arguments.filter_text(c("i") == 1)


def test_unknown_forms_of_polars_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = [
        '{"BinaryExpr":{"left":{"Column":"a"},"op":"Gt","right":{"Literal":{"Dyn":{"Int":1}}},"new":1}}',
        '{"BinaryExpr":{"left":{"Column":"a"},"op":"New","right":{"Column":"b"}}}',
        '{"Column":"a","New":1}',
        '{"Literal":{"Scalar":{"dtype":"Int64","value":{"Int64":1}}}}',
        '{"Function":{"input":[{"Column":"a"}],"function":{"Boolean":{"IsNull":{"new":1}}}}}',
        '{"Function":{"input":[{"Column":"a"}],"function":"New"}}',
        '["Column"]',
    ]
    for form in forms:
        monkeypatch.setattr(type(c("i").meta), "serialize", lambda _, form=form, **_options: form)
        with pytest.raises(errors.InvalidArgumentError, match=r"the Polars expression contains .* \(Polars \d"):
            _arguments.filter_text(c("i") == 1)


def test_polars_is_not_imported() -> None:
    code = "import sys, frazil; from frazil._arguments import filter_text; filter_text(frazil.col('a') == 1)"
    code += "; assert not {'polars', 'pyarrow', 'pyiceberg'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - own code


PYICEBERG: list[Any] = [
    ex.AlwaysTrue(),
    ex.AlwaysFalse(),
    ex.EqualTo("i", 1),
    ex.NotEqualTo("i", 1),
    ex.LessThan("l", 2),
    ex.LessThanOrEqual("l", 1),
    ex.GreaterThan("i", 1),
    ex.GreaterThanOrEqual("i", 2),
    ex.GreaterThan("i", 2**40),
    ex.EqualTo("f", 0.1),
    ex.EqualTo("f", 0.0),
    ex.EqualTo("r", 0.5),
    ex.GreaterThan("f", 1.0),
    ex.GreaterThanOrEqual("f", INFINITY),
    ex.LessThanOrEqual("f", INFINITY),
    ex.LessThan("r", 2.5),
    ex.EqualTo("r", 0.1),
    ex.NotEqualTo("r", 0.1),
    ex.GreaterThan("r", 0.1),
    ex.In("r", [0.1, 0.3]),
    ex.NotIn("r", [0.1, 2.5]),
    ex.NotEqualTo("f", 1.0),
    ~ex.GreaterThan("f", 1.0),
    ex.Not(ex.LessThan("f", 1.0)),
    ex.GreaterThan("n", D("0.10")),
    ex.EqualTo("n", D("1.25")),
    ex.EqualTo("s", "it's 50%"),
    ex.GreaterThan("s", "a"),
    ex.EqualTo("b", b"\x00\xff"),
    ex.EqualTo("d", DAY),
    ex.LessThan("d", "2020-06-01"),
    ex.EqualTo("t", dt.time(12, 30, 0, 5000)),
    ex.EqualTo("ts", MOMENT),
    ex.LessThan("ts", MOMENT.isoformat()),
    ex.EqualTo("tz", UTC),
    ex.GreaterThanOrEqual("tz", BERLIN),
    ex.EqualTo("flag", True),  # noqa: FBT003 - a literal
    ex.NotEqualTo("flag", True),  # noqa: FBT003 - a literal
    ex.IsNull("i"),
    ex.NotNull("i"),
    ex.IsNull("st"),
    ex.IsNaN("f"),
    ex.NotNaN("f"),
    ex.Not(ex.IsNaN("f")),
    ex.In("i", [1, 3]),
    ex.NotIn("i", [1, 3]),
    ex.Not(ex.In("i", [1, 3])),
    ex.Not(ex.NotIn("i", [1, 3])),
    ex.In("i", []),
    ex.NotIn("i", []),
    ex.In("f", [2.0, 1.0]),
    ex.In("s", ["a_b", ""]),
    ex.In("s", {"a_b"}),
    ex.NotIn("s", {"a_b"}),
    ex.In("d", [DAY, "1969-12-31"]),
    ex.In("ts", [MOMENT, MOMENT.replace(year=1969)]),
    ex.In("n", [D("1.25"), D("0.10")]),
    ex.StartsWith("s", "a_"),
    ex.NotStartsWith("s", "a_"),
    ex.Not(ex.StartsWith("s", "a_")),
    ex.EqualTo("st.x", 1),
    ex.IsNull("st.x"),
    ex.And(ex.GreaterThan("i", 0), ex.EqualTo("other", True)),  # noqa: FBT003 - a literal
    ex.Not(ex.And(ex.GreaterThan("i", 0), ex.EqualTo("other", True))),  # noqa: FBT003 - a literal
    ex.Or(ex.GreaterThan("i", 0), ex.IsNull("s")),
    ex.Not(ex.Or(ex.GreaterThan("i", 0), ex.IsNull("s"))),
    (ex.EqualTo("i", 1) | ex.EqualTo("i", 3)) & ~ex.IsNull("l"),
]


@pytest.mark.parametrize("expression", PYICEBERG, ids=map(str, range(len(PYICEBERG))))
def test_expressions_of_pyiceberg(table: Any, expression: Any) -> None:
    names = [name for name in SCHEMA.names if name not in ("a.b", "g")]
    rows = TABLE.select(names)
    ids_of = dict(zip(names, range(1, len(names) + 1), strict=True))
    mapping = [{"field-id": number, "names": [name]} for name, number in ids_of.items()]
    mapping[names.index("st")]["fields"] = [
        {"field-id": 100, "names": ["x"]},
        {"field-id": 101, "names": ["y z"], "fields": [{"field-id": 102, "names": ["f"]}]},
    ]
    schema = pyarrow_to_schema(rows.schema, NameMapping.model_validate(mapping))
    converted = expression_to_pyarrow(bind(schema, expression, case_sensitive=True), schema)
    assert ids(table.scan(expression).to_arrow()) == ids(rows.filter(converted)), expression


def test_deletes_by_expressions_of_pyiceberg(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3, 4], "r": pa.array([0.1, 0.2, None, 0.05], pa.float32())})
    remaining: list[Any] = [
        (ex.NotEqualTo("r", 0.1), [1, 3]),
        (ex.NotIn("r", [0.1, 0.3]), [1, 3]),
        (ex.GreaterThan("r", 0.1), [1, 3, 4]),
    ]
    for number, (expression, left) in enumerate(remaining):
        made = frazil.create_table(str(tmp_path / f"t{number}"), rows.schema)
        made.append(rows)
        made.delete(expression)
        assert sorted(made.scan().to_arrow()["id"].to_pylist()) == left


def test_refused_expressions_of_pyiceberg() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="a number that a FLOAT column rounds"):
        _arguments.filter_text(ex.EqualTo("i", 0.1))
    with pytest.raises(errors.InvalidArgumentError, match=r"PyIceberg expression contains .*SQL string"):
        _arguments.filter_text(ex.Reference("i"))
