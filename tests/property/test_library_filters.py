"""Property tests of filters that are expressions of pyarrow: random ones are compared with `pyarrow.Table.filter`."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

import frazil
from support.filters import COMPARISONS, EXAMPLES, examples

FLOATS = [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 1.5, -1.5, 0.10000000149011612]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [None, -7, 0, 1, 2, 3]),
    "l": (pa.int64(), [None, -7, 0, 1, 2, 3]),
    "r": (pa.float32(), FLOATS),
    "f": (pa.float64(), FLOATS),
    "n": (pa.decimal128(9, 2), [None, Decimal("-1.25"), Decimal(0), Decimal("1.50")]),
    "s": (pa.string(), [None, "", "a", "ab", "a_b", "a%", "\\", "b\na", "é"]),
    "b": (pa.binary(), [None, b"", b"\x00", b"\xff"]),
    "d": (pa.date32(), [None, dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "ts": (pa.timestamp("us"), [None, *(dt.datetime(year, 1, 1, 12) for year in (1969, 2024))]),  # noqa: DTZ001
    "flag": (pa.bool_(), [None, True, False]),
}
ROWS = 40
FOLDER = TemporaryDirectory()
NUMBERS = ("i", "l", "r", "f")


@cache
def rows() -> pa.Table:
    """Return rows with every value of each column, next to different values of the others."""
    columns = {
        name: pa.array([values[row * step % len(values)] for row in range(ROWS)], kind)
        for step, (name, (kind, values)) in enumerate(VALUES.items(), start=1)
    }
    return pa.table({"id": pa.array(range(ROWS)), **columns})


@cache
def table() -> Any:
    """Return a table with these rows in several files."""
    made: Any = frazil.create_table(Path(FOLDER.name) / "t", rows().schema)
    for batch in rows().to_batches(max_chunksize=7):
        made.append(pa.Table.from_batches([batch]))
    return made


@st.composite
def leaves(draw: st.DrawFn) -> pc.Expression:
    name = draw(st.sampled_from(sorted(VALUES)))
    kind, values = VALUES[name]
    column, value = pc.field(name), draw(st.sampled_from(values))
    compare = COMPARISONS[draw(st.sampled_from(sorted(COMPARISONS)))]
    choices = [
        lambda: compare(column, pa.scalar(value, kind)),
        lambda: compare(pc.scalar(pa.scalar(value, kind)), column),
        lambda: column.is_null(nan_is_null=name in ("r", "f") and draw(st.booleans())),
        column.is_valid,
    ]
    if name in NUMBERS:
        choices += [lambda: compare(column * 2 + 1, draw(st.sampled_from([-1, 1, 3]))), column.is_nan]
        choices += [lambda: compare(column * 1, pc.field(draw(st.sampled_from(NUMBERS))))]
    if name in ("r", "f"):
        accepted = [None, math.nan, math.inf, 1.5]
        choices += [lambda: column.isin(pa.array(draw(st.lists(st.sampled_from(accepted))), kind))]
    else:
        choices += [lambda: column.isin(pa.array(draw(st.lists(st.sampled_from(values))), kind))]
    if name == "flag":
        choices.append(lambda: column)
    if name == "s":
        test = draw(st.sampled_from([pc.starts_with, pc.ends_with, pc.match_substring]))
        choices.append(lambda: test(column, value or ""))
        choices.append(lambda: pc.match_like(column, draw(st.sampled_from(["a%", "_", "%b", "a\\_b", "", "%", "%a%"]))))
    return draw(st.sampled_from(choices))()


EXPRESSIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        inner.map(lambda one: ~one),
        st.builds(lambda left, right: left & right, inner, inner),
        st.builds(lambda left, right: left | right, inner, inner),
    ),
    max_leaves=6,
)


@given(expression=EXPRESSIONS)
@examples(EXAMPLES * 10)
def test_the_rows_are_those_of_pyarrow(expression: pc.Expression) -> None:
    expected = rows().filter(expression)["id"].to_pylist()
    assert sorted(table().scan(expression).to_arrow()["id"].to_pylist()) == expected, expression
