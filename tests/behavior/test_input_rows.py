"""Tests that every operation accepts the same rows from any library, and that errors name the column."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAIVE = dt.datetime(2024, 2, 29, 1, 2, 3, 4)  # noqa: DTZ001 - a timestamp without a time zone
AWARE = NAIVE.replace(tzinfo=dt.UTC)
TIME = dt.time(1, 2, 3, 4)
MICROS = pa.timestamp("us")
POINTS = pa.list_(pa.struct([("t", MICROS), ("d", pa.decimal128(9, 2)), ("l", pa.list_(pa.int64()))]))
POINT = [{"t": NAIVE, "d": Decimal("1.10"), "l": [1, None]}]
WIDE_POINTS = pa.large_list(
    pa.struct([("t", pa.timestamp("ns")), ("d", pa.decimal256(9, 2)), ("l", pa.list_view(pa.int16()))])
)


def arrow(values: list[Any], data_type: pa.DataType) -> pa.Table:
    ids = pa.array(range(1, len(values) + 1), pa.int64())
    return pa.table({"id": ids, "c": pa.array(values, data_type)})


def polars(values: list[Any], data_type: Any) -> pl.DataFrame:
    return pl.DataFrame({"id": list(range(1, len(values) + 1)), "c": values}, schema={"id": pl.Int64, "c": data_type})


def pandas(values: list[Any], dtype: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": range(1, len(values) + 1), "c": pd.Series(values, dtype=dtype)})


# The type of the column, the rows, and the value of the first row; the second one is NULL.
TAKEN: dict[str, tuple[pa.DataType, Any, Any]] = {
    "pandas datetime64[ns]": (MICROS, pandas([NAIVE, None], "datetime64[ns]"), NAIVE),
    "pandas datetime64[s]": (MICROS, pandas([NAIVE.replace(microsecond=0), None], "datetime64[s]"), None),
    "pandas datetime64[ns, UTC]": (pa.timestamp("us", "UTC"), pandas([AWARE, None], "datetime64[ns, UTC]"), AWARE),
    "pandas datetime64[ns, Berlin]": (
        pa.timestamp("us", "UTC"),
        pandas([AWARE, None], "datetime64[ns, Europe/Berlin]"),
        AWARE,
    ),
    "pandas Int8": (pa.int64(), pandas([1, None], "Int8"), 1),
    "pandas category": (pa.string(), pandas(["a", None], "category"), "a"),
    "pandas object": (pa.date32(), pandas([NAIVE.date(), None], object), NAIVE.date()),
    "pandas string": (pa.string(), pandas(["a", None], "string"), "a"),
    "Polars Time": (pa.time64("us"), polars([TIME, None], pl.Time), TIME),
    "Polars Datetime(ns)": (MICROS, polars([NAIVE, None], pl.Datetime("ns")), NAIVE),
    "Polars Datetime(ms)": (MICROS, polars([NAIVE.replace(microsecond=0), None], pl.Datetime("ms")), None),
    "Polars Array": (pa.list_(pa.int64()), polars([[1, 2], None], pl.Array(pl.Int64, 2)), [1, 2]),
    "Polars List of Categorical": (pa.list_(pa.string()), polars([["a"], None], pl.List(pl.Categorical)), ["a"]),
    "Polars Decimal": (pa.decimal128(38, 2), polars([Decimal("1.10"), None], pl.Decimal(38, 2)), Decimal("1.10")),
    "Polars Binary": (pa.binary(), polars([b"a", None], pl.Binary), b"a"),
    "decimal32": (pa.decimal128(9, 2), arrow([Decimal("1.10"), None], pa.decimal32(7, 2)), Decimal("1.10")),
    "decimal256": (pa.decimal128(9, 2), arrow([Decimal("1.10"), None], pa.decimal256(9, 2)), Decimal("1.10")),
    "decimal of a lower scale": (
        pa.decimal128(20, 2),
        arrow([Decimal("1.1"), None], pa.decimal128(10, 1)),
        Decimal("1.10"),
    ),
    "list view": (pa.list_(pa.int64()), arrow([[1, 2], None], pa.list_view(pa.int64())), [1, 2]),
    "large list view": (pa.list_(pa.int64()), arrow([[1, 2], None], pa.large_list_view(pa.int32())), [1, 2]),
    "fixed-size list": (pa.list_(pa.int64()), arrow([[1, 2], None], pa.list_(pa.int8(), 2)), [1, 2]),
    "large string": (pa.string(), arrow(["a", None], pa.large_string()), "a"),
    "string view": (pa.string(), arrow(["a", None], pa.string_view()), "a"),
    "binary view": (pa.binary(), arrow([b"a", None], pa.binary_view()), b"a"),
    "fixed-size binary": (pa.binary(), arrow([b"abc", None], pa.binary(3)), b"abc"),
    "dictionary": (pa.string(), arrow(["a", None], pa.dictionary(pa.int8(), pa.large_string())), "a"),
    "time32": (pa.time64("us"), arrow([TIME.replace(microsecond=0), None], pa.time32("s")), None),
    "uint32": (pa.int64(), arrow([1, None], pa.uint32()), 1),
    "float16": (pa.float64(), arrow([np.float16(1.5), None], pa.float16()), 1.5),
    "null": (pa.list_(MICROS), pa.table({"id": [1, 2], "c": pa.nulls(2)}), None),
    "uuid": (pa.uuid(), arrow([uuid.UUID(int=7).bytes, None], pa.binary(16)), uuid.UUID(int=7)),
    "nested": (POINTS, arrow([POINT, None], WIDE_POINTS), POINT),
    "map": (
        pa.map_(pa.string(), MICROS),
        arrow([[("a", NAIVE)], None], pa.map_(pa.large_string(), pa.timestamp("ns"))),
        [("a", NAIVE)],
    ),
    "dictionaries": (POINTS, [{"id": 1, "c": POINT}, {"id": 2}], POINT),
}

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "upsert": lambda table, rows: table.upsert(rows, ["id"]),
    "merge": lambda table, rows: (
        table.merge(rows, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_all_operations_accept_the_inputs_of_append(tmp_path: Path, name: str) -> None:
    data_type, rows, value = TAKEN[name]
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("c", data_type)]))
    table.append(rows)
    appended = table.scan().to_arrow()
    assert appended["c"].null_count == (2 if name == "null" else 1)
    if value is not None:
        assert appended["c"].to_pylist() == [value, None]
    for operation in ("upsert", "merge"):
        table.overwrite([{"id": 1}, {"id": 3}])
        OPERATIONS[operation](table, rows)
        found = table.scan("id < 3").to_arrow().sort_by("id")
        assert found.to_pylist() == appended.to_pylist(), operation


def test_parts_of_an_iterator_may_have_different_types_in_every_operation(tmp_path: Path) -> None:
    parts = [
        arrow([NAIVE], pa.timestamp("ns")),
        pa.table({"c": pa.array([NAIVE, None], MICROS), "id": pa.array([2, 3], pa.int32())}),
        [],
        [{"id": 4, "c": NAIVE}],
    ]
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("c", MICROS)]))
    for operation in OPERATIONS.values():
        operation(table, iter(parts))
        found = table.scan().to_arrow().sort_by("id").to_pylist()
        assert found == [{"id": i, "c": None if i == 3 else NAIVE} for i in range(1, 5)]
    with pytest.raises(InvalidArgumentError, match="not every batch of the source has a column `c`"):
        table.upsert(iter([[{"id": 1}], [{"id": 2, "c": None}]]), ["id"])


NOTHING: dict[str, Callable[[], Any]] = {
    "iterator": lambda: iter([]),
    "list": list,
    "table": lambda: pa.schema([("id", pa.int32())]).empty_table(),
    "reader": lambda: pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), []),
    "pandas": lambda: pd.DataFrame({"id": pd.Series([], dtype="int64")}),
    "Polars": lambda: pl.DataFrame(schema={"id": pl.Int64}),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", NOTHING)
def test_no_rows_are_rows_of_every_operation(tmp_path: Path, name: str, operation: str) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("c", MICROS)]))
    table.append([{"id": 1}])
    OPERATIONS[operation](table, NOTHING[name]())
    assert table.scan().count() == (operation != "overwrite")


@pytest.mark.parametrize("pages", [[[], [{"id": 1, "c": 2}]], [[{"id": 1, "c": 2}], []], [[], []]], ids=str)
def test_parts_of_an_iterator_may_have_no_rows_in_every_operation(tmp_path: Path, pages: list[Any]) -> None:
    rows = [row for page in pages for row in page]
    for name in ("append", "upsert", "merge"):
        table = frazil.create_table(tmp_path / name, pa.schema([("id", pa.int64()), ("c", pa.int64())]))
        if name == "append":
            table.append(iter(pages))
        elif name == "upsert":
            table.upsert(iter(pages), ["id"])
        else:
            table.merge(iter(pages), ["id"]).when_not_matched_insert_all().execute()
        assert table.scan().to_arrow().to_pylist() == rows


def test_an_upsert_names_the_row_whose_value_does_not_fit(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("c", MICROS), ("n", pa.int32())]))
    table.append([{"id": 1, "c": NAIVE}])
    late = pd.DataFrame({"id": [1, 2], "c": [pd.Timestamp(NAIVE), pd.Timestamp("2024-01-01T00:00:00.000000001")]})
    for operation in OPERATIONS.values():
        with pytest.raises(InvalidArgumentError, match="`c`"):
            operation(table, late)
    with pytest.raises(InvalidArgumentError, match="`c` in row 1 does not fit"):
        table.upsert(late, ["id"])
    with pytest.raises(InvalidArgumentError, match="`n` has the type string"):
        table.upsert(pa.table({"id": [1], "n": ["1"]}), ["id"])
    # A merge may read a source column that the table would not accept.
    rows = pa.table({"id": [1], "n": ["12"]})
    table.merge(rows, ["id"]).when_matched_update({"n": "cast(source.n as int)"}).execute()
    assert table.scan().to_arrow()["n"].to_pylist() == [12]


def test_a_merge_reads_columns_of_any_type_that_the_table_does_not_have(tmp_path: Path) -> None:
    columns = {"t": pa.time64("us"), "d": pa.decimal128(9, 2), "l": pa.list_(pa.int64())}
    table = frazil.create_table(tmp_path / "t", pa.schema({"id": pa.int64()} | columns))
    table.append([{"id": 1}])
    others = {
        "t2": pa.array([TIME], pa.time64("ns")),
        "d2": pa.array([Decimal("1.10")], pa.decimal256(9, 2)),
        "l2": pa.array([[1]], pa.list_view(pa.int32())),
    }
    rows = pa.table({"id": [1]} | others)
    merge = table.merge(rows, ["id"])
    merge.when_matched_update({name: f"source.{name}2" for name in columns}).execute()
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "t": TIME, "d": Decimal("1.10"), "l": [1]}]


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "pandas column of numbers and text": (lambda: pandas([1, "a"], object), "`c`"),
    "pandas column of text and numbers": (lambda: pandas(["a", 1], object), "`c`"),
    "pandas column of bytes and numbers": (lambda: pandas([b"a", 1.5], object), "`c`"),
    "pandas column of objects": (lambda: pandas([object(), None], object), "`c`"),
    "pandas column of lists and numbers": (lambda: pandas([[1], 1], object), "`c`"),
    "pandas column of complex numbers": (lambda: pandas([1j, 2j], complex), "`c`"),
    "pandas columns of one name": (lambda: pd.DataFrame([[1, 2]], columns=["id", "id"]), "(?i)duplicate"),
    "pandas column of dictionaries and text": (lambda: pandas([{"a": 1}, "b"], object), "`c`"),
    "Polars column of objects": (lambda: polars([object(), None], pl.Object), "`c`"),
    "column without a table": (lambda: pa.array([1]), "cannot be read as Arrow data"),
    "columns without a table": (lambda: pa.chunked_array([[1]]), "cannot be read as Arrow data"),
    "Polars series": (lambda: pl.Series([1]), "cannot be read as Arrow data"),
    "duration": (lambda: arrow([dt.timedelta(1)], pa.duration("s")), "`c`"),
    "union": (
        lambda: pa.table(
            {"id": [1], "c": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])},
        ),
        "`c`",
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", BROKEN)
def test_data_that_cannot_be_read_is_an_invalid_argument(tmp_path: Path, name: str, operation: str) -> None:
    make, words = BROKEN[name]
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("c", pa.binary(8))]))
    table.append([{"id": 1}])
    with pytest.raises(InvalidArgumentError, match=words):
        OPERATIONS[operation](table, make())
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "c": None}]


def test_source_errors_propagate_unchanged(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))

    def rows() -> Any:
        yield pa.record_batch({"id": [1]})
        message = "the source is gone"
        raise ConnectionError(message)

    for operation in OPERATIONS.values():
        with pytest.raises(ConnectionError, match="the source is gone"):
            operation(table, rows())
        with pytest.raises(ConnectionError, match="the source is gone"):
            operation(table, pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), rows()))


FRAME = pd.DataFrame({"id": [1, 2, 3], "c": ["a", "b", "c"]})


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(FRAME[FRAME.id > 1], id="filtered"),
        pytest.param(FRAME.set_axis(["x", "y", "z"])[1:], id="labels"),
        pytest.param(FRAME.set_axis(pd.MultiIndex.from_tuples([(1, 2), (3, 4), (5, 6)]))[1:], id="two levels"),
        pytest.param(FRAME[FRAME.id > 1].set_index("id"), id="a level that is a column"),
        pytest.param(pa.Table.from_pandas(FRAME[FRAME.id > 1]), id="pyarrow"),
        pytest.param(pa.table(FRAME[1:].to_dict("list")).replace_schema_metadata({"pandas": "{"}), id="other metadata"),
    ],
)
def test_an_index_without_a_name_is_not_a_column(tmp_path: Path, rows: Any) -> None:
    schema = pa.schema([("id", pa.int64()), ("c", pa.string())])
    table = frazil.create_table(tmp_path / "t", schema)
    assert table.append(rows).added_records == 2
    assert table.upsert(rows, ["id"]).updated_rows == 0
    assert table.scan().to_arrow().sort_by("id").to_pydict() == {"id": [2, 3], "c": ["b", "c"]}


def test_a_column_that_the_table_has_is_not_an_index(tmp_path: Path) -> None:
    schema = pa.schema([("__index_level_0__", pa.int64()), ("id", pa.int64()), ("c", pa.string())])
    table = frazil.create_table(tmp_path / "t", schema)
    table.append(FRAME[FRAME.id > 1])
    assert table.scan().to_arrow()["__index_level_0__"].to_pylist() == [1, 2]
