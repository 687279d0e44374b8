"""Tests of rows as dictionaries: values are written unchanged, or rejected with their path and row."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=14))
NAIVE = dt.datetime(2024, 2, 29, 1, 2, 3, 4)  # noqa: DTZ001 - a timestamp without a time zone
AWARE = NAIVE.replace(tzinfo=UTC)
DAY = dt.date(2024, 2, 29)
TIME = dt.time(1, 2, 3, 4)
FIRST = dt.datetime(1, 1, 1, 10, tzinfo=UTC)
LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - as above
UUID = uuid.UUID(int=7)
D = Decimal
POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])

TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(9, 2),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "fixed": pa.binary(3),
    "uuid": pa.uuid(),
    "struct": POINT,
    "list": pa.list_(pa.int32()),
    "map": pa.map_(pa.string(), pa.int32()),
}

VALUES: dict[str, Any] = {
    "bool": True,
    "numpy.bool": np.bool_(0),
    "int": 1,
    "2**24 + 1": 2**24 + 1,
    "2**31": 2**31,
    "2**53 + 1": 2**53 + 1,
    "2**60": 2**60,
    "2**63": 2**63,
    "10**400": 10**400,
    "numpy.int8": np.int8(5),
    "numpy.uint64": np.uint64(2**63),
    "float": 1.5,
    "whole float": 2.0,
    "0.1": 0.1,
    "1e300": 1e300,
    "1e-300": 1e-300,
    "nan": float("nan"),
    "inf": float("inf"),
    "numpy.float32": np.float32(1.5),
    "numpy.float64": np.float64(1e300),
    "Decimal": D("2.7"),
    "whole Decimal": D(2),
    "Decimal with zeros": D("1.5000"),
    "Decimal of three places": D("2.755"),
    "Decimal of eight digits": D("12345678"),
    "Decimal nan": D("NaN"),
    "Decimal inf": D("-Infinity"),
    "Decimal zero": D("0E+400"),
    "str": "abc",
    "digits": "1",
    "long str": "a" * 16,
    "uuid str": str(UUID),
    "surrogate": "\ud800",
    "bytes": b"abc",
    "bytearray": bytearray(b"abc"),
    "memoryview": memoryview(b"aXbXcX")[::2],
    "16 bytes": UUID.bytes,
    "uuid": UUID,
    "date": DAY,
    "datetime": NAIVE,
    "midnight": dt.datetime(2024, 2, 29),  # noqa: DTZ001 - as above
    "aware": AWARE,
    "aware in the east": dt.datetime(1, 1, 2, tzinfo=EAST),
    "last datetime": LAST,
    "time": TIME,
    "aware time": TIME.replace(tzinfo=UTC),
    "timedelta": dt.timedelta(days=1),
    "pandas.Timestamp": pd.Timestamp(NAIVE),
    "pandas.Timestamp of ns": pd.Timestamp("2024-02-29T00:00:00.000000001"),
    "pandas.Timestamp aware": pd.Timestamp(AWARE),
    "pandas.NA": pd.NA,
    "pandas.NaT": pd.NaT,
    "numpy day": np.datetime64("2024-02-29"),
    "numpy second": np.datetime64("2024-02-29T01:02:03"),
    "numpy ns": np.datetime64("2024-02-29T00:00:00.000000001"),
    "numpy NaT": np.datetime64("NaT"),
    "numpy timedelta": np.timedelta64(1, "s"),
    "pyarrow scalar": pa.scalar(7),
    "list": [1, None],
    "tuple": (1, 2),
    "empty list": [],
    "array": np.array([1, 2]),
    "matrix": np.array([[1]]),
    "set": {1},
    "list of floats": [1, 2.5],
    "list of bools": [True],
    "dict": {"x": 1},
    "dict of other names": {"z": 1},
    "dict of a wrong value": {"x": 1.5},
    "empty dict": {},
    "pairs": [("x", 1), ["y", None]],
    "pairs with NULL": [(None, 1)],
    "triples": [(1, 2, 3)],
    "range": range(2),
    "object": object(),
}

NULLS = {"pandas.NA", "pandas.NaT", "numpy NaT"}
BYTES = ["bytes", "bytearray", "memoryview"]

WHOLE = {"whole float": 2, "whole Decimal": 2, "Decimal zero": 0}
EIGHT_DIGITS = {"Decimal of eight digits": 12345678}

# The values that a type accepts, and the value that is read: None for the same value.
TAKEN: dict[str, dict[str, Any]] = {
    "boolean": {"bool": True, "numpy.bool": False},
    "int": {"int": 1, "2**24 + 1": 2**24 + 1, "numpy.int8": 5, "pyarrow scalar": 7} | WHOLE | EIGHT_DIGITS,
    "long": {
        **WHOLE,
        **EIGHT_DIGITS,
        "int": 1,
        "2**24 + 1": 2**24 + 1,
        "2**31": 2**31,
        "2**53 + 1": 2**53 + 1,
        "2**60": 2**60,
        "numpy.int8": 5,
        "pyarrow scalar": 7,
    },
    "float": {
        **WHOLE,
        **EIGHT_DIGITS,
        "Decimal with zeros": 1.5,
        "int": 1.0,
        "2**31": 2.0**31,
        "2**60": 2.0**60,
        "2**63": 2.0**63,
        "numpy.int8": 5.0,
        "numpy.uint64": 2.0**63,
        "float": 1.5,
        "whole float": 2.0,
        "0.1": float(np.float32(0.1)),
        "nan": float("nan"),
        "inf": float("inf"),
        "numpy.float32": 1.5,
        "pyarrow scalar": 7.0,
    },
    "double": {
        **WHOLE,
        **EIGHT_DIGITS,
        "Decimal with zeros": 1.5,
        "int": 1.0,
        "2**24 + 1": 2.0**24 + 1,
        "2**31": 2.0**31,
        "2**60": 2.0**60,
        "2**63": 2.0**63,
        "numpy.int8": 5.0,
        "numpy.uint64": 2.0**63,
        "float": 1.5,
        "whole float": 2.0,
        "0.1": 0.1,
        "1e300": 1e300,
        "1e-300": 1e-300,
        "nan": float("nan"),
        "inf": float("inf"),
        "numpy.float32": 1.5,
        "numpy.float64": 1e300,
        "pyarrow scalar": 7.0,
    },
    "decimal": {
        "int": D("1.00"),
        "numpy.int8": D("5.00"),
        "pyarrow scalar": D("7.00"),
        "Decimal": D("2.70"),
        "whole Decimal": D("2.00"),
        "Decimal with zeros": D("1.50"),
        "Decimal zero": D("0.00"),
        "float": D("1.50"),
        "whole float": D("2.00"),
        "numpy.float32": D("1.50"),
    },
    "date": {"date": DAY, "midnight": DAY, "numpy day": DAY},
    "time": {"time": TIME},
    "timestamp": {
        "datetime": NAIVE,
        "midnight": dt.datetime(2024, 2, 29),  # noqa: DTZ001 - as above
        "last datetime": LAST,
        "pandas.Timestamp": NAIVE,
        "numpy second": NAIVE.replace(microsecond=0),
    },
    "timestamptz": {"aware": AWARE, "aware in the east": FIRST, "pandas.Timestamp aware": AWARE},
    "timestamp_ns": {
        "datetime": pd.Timestamp(NAIVE),
        "midnight": pd.Timestamp(DAY),
        "pandas.Timestamp": pd.Timestamp(NAIVE),
        "pandas.Timestamp of ns": VALUES["pandas.Timestamp of ns"],
        "numpy second": pd.Timestamp(NAIVE.replace(microsecond=0)),
        "numpy ns": VALUES["pandas.Timestamp of ns"],
    },
    "timestamptz_ns": {"aware": pd.Timestamp(AWARE), "pandas.Timestamp aware": pd.Timestamp(AWARE)},
    "string": {name: VALUES[name] for name in ("str", "digits", "long str", "uuid str")},
    "binary": {**dict.fromkeys(BYTES, b"abc"), "16 bytes": UUID.bytes},
    "fixed": dict.fromkeys(BYTES, b"abc"),
    "uuid": {"uuid": UUID, "16 bytes": UUID},
    "struct": {"dict": {"x": 1, "y": None}, "empty dict": {"x": None, "y": None}},
    "list": {"list": [1, None], "tuple": [1, 2], "empty list": [], "array": [1, 2]},
    "map": {
        "dict": [("x", 1)],
        "dict of other names": [("z", 1)],
        "empty dict": [],
        "empty list": [],
        "pairs": [("x", 1), ("y", None)],
    },
}


def one(folder: Path, data_type: pa.DataType) -> Any:
    schema = pa.schema([("id", pa.int64()), ("c", data_type)])
    return frazil.create_table(folder / "t", schema, format_version=3)


@pytest.mark.parametrize("kind", TYPES)
def test_a_value_of_a_dictionary_is_written_as_it_is_or_rejected(tmp_path: Path, kind: str) -> None:
    table = one(tmp_path, TYPES[kind])
    taken = dict.fromkeys(NULLS) | TAKEN[kind]
    for name in VALUES.keys() - taken.keys():
        with pytest.raises(InvalidArgumentError, match=r"the value of `c.* in row 1 does not fit"):
            pytest.fail(f"{name}: {table.append([{'id': -1}, {'id': 0, 'c': VALUES[name]}])}")
    table.overwrite([{"id": number, "c": VALUES[name]} for number, name in enumerate(taken)])
    found = table.scan().to_arrow().sort_by("id")["c"].to_pylist()
    is_nan = [value is not None and value != value for value in found]  # noqa: PLR0124 - NaN is not equal to itself
    assert [name for name, nan in zip(taken, is_nan, strict=True) if nan] == ["nan"] * ("nan" in taken)
    pairs = zip(taken.items(), found, is_nan, strict=True)
    assert not [(name, value) for (name, expected), value, nan in pairs if not nan and value != expected]


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "dynamic overwrite": lambda table, rows: table.dynamic_partition_overwrite(rows),
    "upsert": lambda table, rows: table.upsert(rows, ["id"]),
    "merge": lambda table, rows: table.merge(rows, ["id"]).when_matched_update_all().execute(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("column", "value"),
    [("id", 1.9), ("id", D("1.9")), ("id", True), ("c", 1.5), ("c", "1"), ("c", float("nan")), ("c", 1 << 31)],
)
def test_no_operation_narrows_a_value_of_a_dictionary(tmp_path: Path, operation: str, column: str, value: Any) -> None:
    table = one(tmp_path, pa.int32())
    table.append([{"id": 1, "c": 1}])
    row = {"id": 1, "c": 2} | {column: value}
    with pytest.raises(InvalidArgumentError, match=f"the value of `{column}` in row 3 does not fit"):
        OPERATIONS[operation](table, iter([[{"id": 5}], [{"id": 6}, {"id": 7}, row]]))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "c": 1}]


NESTED: dict[str, tuple[pa.DataType, Any, str]] = {
    "struct": (POINT, {"x": 1.5}, "c.x"),
    "unknown field": (POINT, {"x": 1, "nope": 2}, "c"),
    "field name that is not a string": (POINT, {1: 2}, "c"),
    "list": (pa.list_(pa.int64()), [1, 2, 2.5], "c.element"),
    "list in a list": (pa.list_(pa.list_(pa.int64())), [[1], [], [2, True]], "c.element.element"),
    "text for a list": (pa.list_(pa.string()), "ab", "c"),
    "bytes for a list": (pa.list_(pa.int64()), b"ab", "c"),
    "dictionary for a list": (pa.list_(pa.string()), {"a": 1}, "c"),
    "tuple for a struct": (POINT, (1, "a"), "c"),
    "pairs for a struct": (POINT, [("x", 1)], "c"),
    "struct in a list": (pa.list_(POINT), [{"x": 1}, None, {"y": b"a"}], "c.element.y"),
    "key of a map": (pa.map_(pa.int64(), pa.int64()), {1: 1, "2": 2}, "c.key"),
    "NULL key of a map": (pa.map_(pa.int64(), pa.int64()), {None: 1}, "c.key"),
    "value of a map": (pa.map_(pa.int64(), POINT), {1: {"x": 1}, 2: {"x": D("1.5")}}, "c.value.x"),
    "text for a map": (pa.map_(pa.string(), pa.string()), "ab", "c"),
    "list in a struct": (pa.struct([("l", pa.list_(pa.date32()))]), {"l": [DAY, NAIVE]}, "c.l.element"),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_nested_value_that_does_not_fit_is_named_with_its_path_and_row(tmp_path: Path, name: str) -> None:
    data_type, value, path = NESTED[name]
    table = one(tmp_path, data_type)
    rows = [{"id": 0}, {"id": 1, "c": None}, {"id": 2, "c": value}]
    with pytest.raises(InvalidArgumentError, match=f"the value of `{path}` in row 2 does not fit") as caught:
        table.append(rows)
    assert caught.value.context["column"] == path


def test_scanned_values_can_be_appended_again(tmp_path: Path) -> None:
    nested = pa.struct([("l", pa.list_(POINT)), ("m", pa.map_(pa.int32(), pa.list_(pa.float32()))), ("s", POINT)])
    table = one(tmp_path, nested)
    values = [
        None,
        {"l": [{"x": 1, "y": "a"}, None], "m": [(1, [0.5, None]), (2, None)], "s": {"x": None, "y": "b"}},
        {"l": [], "m": [], "s": None},
        {"l": None, "m": None, "s": {"x": 5, "y": None}},
    ]
    rows = [{"id": number, "c": value} for number, value in enumerate(values)]
    table.append(rows)
    assert table.scan().to_arrow().to_pylist() == rows
    table.overwrite(table.scan().to_arrow().to_pylist())
    assert table.scan().to_arrow().to_pylist() == rows


def test_rows_without_any_column_are_rows(tmp_path: Path) -> None:
    table = one(tmp_path, pa.int32())
    assert table.append([{}, {}]).added_records == 2
    assert table.append([]).added_records == 0
    assert table.scan().to_arrow().to_pylist() == [{"id": None, "c": None}] * 2


def test_a_field_that_no_dictionary_has_gets_its_default(tmp_path: Path) -> None:
    table = one(tmp_path, POINT)
    table.update_schema().add_column(("c", "z"), "long", default_value=7).commit()
    table.append([{"id": 1, "c": {"x": 1}}, {"id": 2, "c": None}, {"id": 3, "c": {}}])
    points = [{"x": 1, "y": None, "z": 7}, None, {"x": None, "y": None, "z": 7}]
    assert table.scan().to_arrow()["c"].to_pylist() == points


def test_a_merge_reads_columns_of_dictionaries_that_the_table_does_not_have(tmp_path: Path) -> None:
    table = one(tmp_path, pa.int32())
    table.append([{"id": 1, "c": 1}, {"id": 2, "c": 2}, {"id": 3, "c": 3}])
    rows = [{"id": 1, "op": "delete"}, {"id": 2, "op": "update", "n": 20}, {"id": 4, "op": None}]
    merge = table.merge(rows, ["id"]).when_matched_delete("source.op = 'delete'")
    merge.when_matched_update({"c": "cast(source.n as int)"}, "source.op = 'update'").execute()
    assert table.scan().to_arrow().sort_by("id").to_pylist() == [{"id": 2, "c": 20}, {"id": 3, "c": 3}]
    with pytest.raises(InvalidArgumentError, match="the values of `op` do not have a common type"):
        table.merge([{"id": 1, "op": "a"}, {"id": 2, "op": 1}], ["id"]).when_matched_delete().execute()
