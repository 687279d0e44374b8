"""Tests of Python values in VARIANT columns: written values are read back, other values are named with their path."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frazil
import frazil.variant
from frazil.errors import InvalidArgumentError
from frazil.files.rows.places import Place, TypeNames
from frazil.files.rows.variants import variants
from support.variant import decode_variant

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

NAIVE = dt.datetime(2024, 2, 29, 1, 2, 3, 4)  # noqa: DTZ001 - a timestamp without a time zone
AWARE = NAIVE.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))
MICROS = 1_709_168_523_000_004

# Python values, and their variants in the form of `decode_variant`.
VALUES: list[tuple[Any, Any]] = [
    (True, True),
    (np.bool_(0), False),
    (0, 0),
    (-129, -129),
    (2**31, 2**31),
    (-(2**63), -(2**63)),
    (2**63, {"$decimal": str(2**63)}),
    (np.int16(5), 5),
    (1.5, 1.5),
    (np.float32(0.5), 0.5),
    (Decimal("1.50"), {"$decimal": "1.50"}),
    (Decimal("-0.001"), {"$decimal": "-0.001"}),
    (Decimal("1E+3"), {"$decimal": "1000"}),
    (Decimal("9" * 38), {"$decimal": "9" * 38}),
    ("", ""),
    ("é" * 40, "é" * 40),
    (dt.date(2024, 2, 29), {"$date": "19782"}),
    (NAIVE, {"$timestampntz": str(MICROS)}),
    (AWARE, {"$timestamptz": str(MICROS - 7_200_000_000)}),
    (pd.Timestamp(NAIVE), {"$timestampntz": str(MICROS)}),
    (pd.Timestamp("1970-01-01T00:00:00.000000001"), {"$timestampntz_nanos": "1"}),
    ([], []),
    ([1, None, "x", [pd.NA]], [1, None, "x", [None]]),
    ((1, 2), [1, 2]),
    (np.array([1, 2]), [1, 2]),
    ({}, {}),
    ({"b": 1, "a": {"b": None}}, {"a": {"b": None}, "b": 1}),
    ({"metadata": 1, "value": 2}, {"metadata": 1, "value": 2}),
]


def table_of(folder: Path, form: str, **columns: str) -> Any:
    return frazil.create_table(
        folder / "t",
        {"id": "bigint" if form == "paimon" else "long"} | columns,
        format=form,
        **({"format_version": 3} if form == "iceberg" else {}),
    )


def decoded(column: pa.ChunkedArray) -> list[Any]:
    return [None if row is None else decode_variant(row["metadata"], row["value"]) for row in column.to_pylist()]


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "upsert": lambda table, rows: table.upsert(rows, ["id"]),
    "merge": lambda table, rows: table.merge(rows, ["id"]).when_not_matched_insert_all().execute(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_python_values_are_written_as_variants(tmp_path: Path, form: str, operation: str) -> None:
    table = table_of(tmp_path, form, v="variant")
    rows = [{"id": number, "v": value} for number, (value, _) in enumerate(VALUES)] + [{"id": 99, "v": None}]
    OPERATIONS[operation](table, rows)
    found = table.scan().to_arrow().sort_by("id")
    assert decoded(found["v"]) == [expected for _, expected in VALUES] + [None]
    table.overwrite(found.to_pylist())
    assert table.scan().to_arrow().sort_by("id") == found


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_variants_are_read_back_as_json(tmp_path: Path, form: str) -> None:
    table = table_of(tmp_path, form, v="variant")
    value = {"a": [1, None, "x", {"b": 0.5}], "c": True}
    table.append([{"id": 1, "v": value}, {"id": 2}])
    texts = frazil.variant.to_json(table.scan().to_arrow().sort_by("id")["v"]).to_pylist()
    assert [text and json.loads(text) for text in texts] == [value, None]


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_variants_are_parts_of_structs_lists_and_maps(tmp_path: Path, form: str) -> None:
    types = (
        {"l": "array<variant>", "m": "map<string, variant>", "s": "row<v variant>"}
        if form == "paimon"
        else {"l": "list<variant>", "m": "map<string, variant>", "s": "struct<v: variant>"}
    )
    table = table_of(tmp_path, form, **types)
    table.append([{"id": 1, "l": [1, None, {"a": 2}], "m": {"k": [True]}, "s": {"v": "x"}}, {"id": 2}])
    row = table.scan().to_arrow().sort_by("id").to_pylist()[0]
    values = [*row["l"], row["m"][0][1], row["s"]["v"]]
    assert [value and decode_variant(value["metadata"], value["value"]) for value in values] == [
        1,
        None,
        {"a": 2},
        [True],
        "x",
    ]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


WRONG: dict[str, tuple[Any, str]] = {
    "set": ({1}, "v"),
    "object": ({"a": [1, object()]}, "v.a.element"),
    "time": ({"a": {"b": dt.time(1)}}, "v.a.b"),
    "complex": ([1j], "v.element"),
    "key": ({"a": {1: 2}}, "v.a"),
    "surrogate": ({"a": "\ud800"}, "v.a"),
    "surrogate key": ({"\ud800": 1}, "v"),
    "integer": ([10**38], "v.element"),
    "decimal": ({"a": Decimal(1).scaleb(-39)}, "v.a"),
    "decimal NaN": (Decimal("NaN"), "v"),
    "decimal infinity": (Decimal("Infinity"), "v"),
    "large decimal": (Decimal("1E+999999"), "v"),
    "matrix": (np.array([[1]]), "v"),
    "nesting": (nested(129), "v.element"),
}


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_other_python_values_are_named_with_their_path(tmp_path: Path, form: str) -> None:
    table = table_of(tmp_path, form, v="variant")
    for name, (value, path) in WRONG.items():
        with pytest.raises(InvalidArgumentError, match=rf"the value of `{path}[a-z.]*` in row 1 does not fit variant"):
            pytest.fail(f"{name}: {table.append([{'id': 1}, {'id': 2, 'v': value}])}")
    assert table.scan().count() == 0
    table.append([{"id": 1, "v": nested(128)}])
    assert decoded(table.scan().to_arrow()["v"]) == [nested(128)]


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(max_size=80)
    ),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(max_size=5), parts),
    max_leaves=50,
)


@given(JSON)
@settings(max_examples=300, deadline=None)
def test_random_values_are_decoded_as_they_were(value: Any) -> None:
    (found,) = variants([[value]], Place("v", lambda row: row, TypeNames(str))).to_pylist()
    assert decode_variant(found["metadata"], found["value"]) == [value]
