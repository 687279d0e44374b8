"""Tests that columns take the values that they represent exactly, from data frames, Arrow and dictionaries alike."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frazil
from frazil.errors import InvalidArgumentError
from frazil.files.rows.places import TypeNames
from frazil.files.rows.python_values import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMATS = ("iceberg", "paimon")
D = Decimal
NAN = float("nan")
INTEGERS = [0, 1, -1, *(sign * 2**n + by for n in (7, 8, 15, 24, 31, 53, 63) for sign in (1, -1) for by in (-1, 0, 1))]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    0.5,
    -2.25,
    0.1,
    2.0**24,
    2.0**31,
    2.0**53,
    2.0**63,
    -(2.0**63),
    1e30,
    1e300,
    1e-300,
    5e-324,
    NAN,
    float("inf"),
]
DECIMALS = [D(text) for text in ("0", "1", "-2", "2.5", "0.1", "0.125", "99.99", "127", "128", "9999999", "1E+25")]
SECONDS = [dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29), dt.datetime(1969, 12, 31), dt.datetime(2024, 2, 29, 12)]  # noqa: DTZ001 - timestamps without a time zone
MICROS = [*SECONDS, dt.datetime(1970, 1, 1, 0, 0, 0, 1)]  # noqa: DTZ001 - as above
BYTES = [b"", b"ab", b"abc", bytes(16)]

SOURCES: dict[pa.DataType, list[Any]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()), INTEGERS),
    **dict.fromkeys((pa.float32(), pa.float64()), FLOATS),
    **dict.fromkeys((pa.decimal128(38, 4), pa.decimal128(5, 2), pa.decimal256(76, 10)), DECIMALS),
    **dict.fromkeys((pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")), MICROS),
    pa.timestamp("us", "UTC"): [moment.replace(tzinfo=dt.UTC) for moment in MICROS],
    pa.date32(): [dt.date(2024, 2, 29)],
    pa.time32("s"): [dt.time(1, 2, 3)],
    pa.string(): ["", "1", "2024-02-29"],
    pa.large_string(): ["a"],
    pa.binary(): BYTES,
    pa.large_binary(): BYTES,
    pa.binary(2): [b"ab"],
    pa.bool_(): [True],
    pa.duration("s"): [dt.timedelta(1)],
}

COLUMNS = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(9, 2)": pa.decimal128(9, 2),
    "decimal(38, 0)": pa.decimal128(38, 0),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
}
COLUMNS_OF_FORMATS = {
    "iceberg": COLUMNS | {"fixed": pa.binary(2)},
    "paimon": COLUMNS | {"tinyint": pa.int8(), "smallint": pa.int16()},
}


def held(values: list[Any], data_type: pa.DataType) -> pa.Array:
    """Return those of the values that an Arrow type holds unchanged."""
    kept = []
    for value in values:
        try:
            scalar = pa.scalar(value, data_type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
        # A float32 holds other values, and pyarrow truncates the microseconds of some types.
        if pa.types.is_floating(data_type) or scalar.as_py() == value:
            kept.append(scalar.as_py())
    return pa.array(kept, data_type)


def of_dictionaries(value: Any, data_type: pa.DataType) -> pa.Array | None:
    """Return a value that a column takes from a dictionary, None if it does not."""
    try:
        return batch_of([{"c": value}], pa.schema([("c", data_type)]), 0, TypeNames(str), infer=False)["c"]
    except InvalidArgumentError:
        return None


@pytest.mark.parametrize(("form", "column"), [(f, c) for f in FORMATS for c in COLUMNS_OF_FORMATS[f]])
def test_columns_take_from_arrow_the_values_that_they_take_from_dictionaries(
    tmp_path: Path, form: str, column: str
) -> None:
    data_type = COLUMNS_OF_FORMATS[form][column]
    table = frazil.create_table(tmp_path / "t", pa.schema([("c", data_type)]), format=form)
    for source, values in SOURCES.items():
        array = held(values, source)
        assert len(array)
        expected = [of_dictionaries(scalar.as_py(), data_type) for scalar in array]
        for value, found in zip(array, expected, strict=True):
            if found is None:
                rows = pa.table({"c": pa.concat_arrays([pa.nulls(2, source), pa.array([value], source)])})
                with pytest.raises(InvalidArgumentError, match=r"`c`( in row 2 does not fit| has the type)"):
                    pytest.fail(f"{source} {value}: {table.append(rows)}")
        taken = [index for index, found in enumerate(expected) if found is not None]
        if taken:
            table.overwrite(pa.table({"c": pa.concat_arrays([array.take(taken), pa.nulls(1, source)])}))
            wanted = pa.concat_arrays([found for found in expected if found is not None] + [pa.nulls(1, data_type)])
            # Text tells -0.0 from 0.0, and NaN is itself.
            assert str(table.scan().to_arrow()["c"].to_pylist()) == str(wanted.to_pylist()), source


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "upsert": lambda table, rows: table.upsert(rows, ["id"]),
    "merge": lambda table, rows: (
        table.merge(rows, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    ),
}
POINT = pa.struct([("x", pa.int32()), ("d", pa.date32())])
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "v": pa.int32(),
        "f": pa.float32(),
        "d": pa.date32(),
        "s": pa.string(),
        "n": pa.decimal128(9, 2),
        "l": pa.list_(pa.int32()),
        "p": pa.list_(POINT),
        "m": pa.map_(pa.string(), pa.float32()),
    }
)
MIDNIGHT = dt.datetime(2024, 2, 29)  # noqa: DTZ001 - a timestamp without a time zone
NOON = dt.datetime(2024, 2, 29, 12)  # noqa: DTZ001 - as above
FRAME = pd.DataFrame(
    {
        "id": [1.0, 2.0],
        "v": [1.0, None],
        "f": [0.5, None],
        "d": pd.to_datetime(["2024-02-29", None]),
        "s": [NAN, NAN],
        "n": [1.5, None],
        "l": [[1, None], None],
        "p": [[{"x": 1.0, "d": MIDNIGHT}], None],
    }
)
EXPECTED = [
    {
        "id": 1,
        "v": 1,
        "f": 0.5,
        "d": MIDNIGHT.date(),
        "s": None,
        "n": D("1.50"),
        "l": [1, None],
        "p": [{"x": 1, "d": MIDNIGHT.date()}],
    },
    {"id": 2} | dict.fromkeys("vfdsnlp"),
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("form", FORMATS)
def test_every_operation_takes_the_types_that_pandas_has(tmp_path: Path, form: str, operation: str) -> None:
    for number, rows in enumerate([FRAME, pl.from_pandas(FRAME), iter([FRAME[:1], pa.Table.from_pandas(FRAME[1:])])]):
        table = frazil.create_table(tmp_path / f"t{number}", SCHEMA, format=form)
        OPERATIONS[operation](table, rows)
        found = table.scan().to_arrow().sort_by("id").drop_columns("m").to_pylist()
        assert found == EXPECTED, type(rows)


WRONG: dict[str, tuple[str, Any, str]] = {
    "a large integer": ("v", [1, 2**40], f": {2**40}"),
    "a fraction": ("v", [1, 1.5], r": 1\.5"),
    "NaN of Arrow": ("v", pa.array([1, NAN]), ": NaN"),
    "a time of day": ("d", pd.Series([MIDNIGHT, NOON]), ": 2024-02-29T12:00:00"),
    "a large double": ("f", [1, 1e300], ": 1e300"),
    "a small double": ("f", [1, 1e-300], ": 1e-300"),
    "an integer that a float rounds": ("f", [1, 2**24 + 1], f": {2**24 + 1}"),
    "a double of more digits": ("n", [1.5, 1.125], r": 1\.125"),
    "a decimal of more digits": ("n", pa.array([D("1.5"), D("1.125")]), r": 1\.125"),
    "an element": ("l", [[1], [2, 2.5]], r": 2\.5"),
    "a field of an element": ("p", [[], [{"d": NOON}]], ": 2024-02-29T12:00:00"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_value_that_a_column_cannot_hold_is_named(tmp_path: Path, form: str, operation: str) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, format=form)
    table.append(FRAME)
    for name, (column, values, shown) in WRONG.items():
        frame = values if isinstance(values, pa.Array) else pa.Table.from_pandas(pd.DataFrame({"c": values}))["c"]
        for rows in (
            pa.table({"id": [1, 2], column: frame}),
            iter([pa.table({"id": [1], column: frame[:1]}), pa.table({"id": [2], column: frame[1:]})]),
        ):
            with pytest.raises(
                InvalidArgumentError, match=rf"the value of `{column}[a-z.]*` in row 1 does not fit .*{shown}"
            ):
                pytest.fail(f"{name}: {OPERATIONS[operation](table, rows)}")
    assert table.scan().to_arrow().sort_by("id").drop_columns("m").to_pylist() == EXPECTED


NUMBERS = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-200, 200),
    st.floats(allow_nan=False),
    st.integers(-200, 200).map(lambda number: number / 8),
)


@given(
    st.sampled_from(FORMATS),
    st.sampled_from([t for t in COLUMNS if COLUMNS[t] != pa.bool_()]),
    st.lists(NUMBERS, min_size=1, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_random_frames_of_numbers_have_the_values_of_dictionaries(
    tmp_path_factory: pytest.TempPathFactory, form: str, column: str, values: list[Any]
) -> None:
    frame = pd.DataFrame({"c": values})
    if frame["c"].dtype == object:
        frame["c"] = frame["c"].astype(np.float64)
    rows = [{"c": None if value != value else value} for value in frame["c"].tolist()]  # noqa: PLR0124 - NaN
    tables = [
        frazil.create_table(tmp_path_factory.mktemp("t") / "t", pa.schema([("c", COLUMNS[column])]), format=form)
        for _ in range(2)
    ]
    found = []
    for table, data in zip(tables, (frame, rows), strict=True):
        try:
            table.append(data)
            found.append(str(table.scan().to_arrow()["c"].to_pylist()))
        except InvalidArgumentError:
            found.append("an error")
    assert found[0] == found[1]
