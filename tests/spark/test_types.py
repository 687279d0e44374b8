"""Tests of the values that are passed to Spark, without Spark."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark._type_conversion import Conversion, check_schema, spark_schema

UUIDS = [uuid.UUID(int=0), None, uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), uuid.UUID(int=(1 << 128) - 1)]
VARIANT = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)])


def uuids(values: list[uuid.UUID | None]) -> pa.Array:
    return pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([value and value.bytes for value in values], pa.binary(16))
    )


def converted(field: pa.Field, array: pa.Array, timestamp_ns: str = "error") -> pa.Array:
    schema = pa.schema([field])
    conversion = Conversion(schema, spark_schema(schema, timestamp_ns))
    result = conversion.apply(pa.RecordBatch.from_arrays([array], schema=schema)).column(0)
    result.validate(full=True)
    return result


@pytest.mark.parametrize("cut", [slice(None), slice(1, None), slice(2, 3), slice(0, 0)])
def test_a_uuid_is_text(cut: slice) -> None:
    result = converted(pa.field("u", pa.uuid()), uuids(UUIDS)[cut])
    assert result.type == pa.string()
    assert result.to_pylist() == [value and str(value) for value in UUIDS[cut]]


NESTED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.struct([("u", pa.binary(2)), ("n", pa.int32())]), [{"u": b"ab", "n": 1}, None, {"u": None, "n": 2}]),
    (pa.list_(pa.field("element", pa.binary(2))), [[b"ab", None], None, [], [b"cd"]]),
    (pa.map_(pa.binary(2), pa.timestamp("us", "UTC")), [[(b"ab", None)], None, [], [(b"cd", None), (b"ef", None)]]),
    (
        pa.list_(pa.field("element", pa.struct([("m", pa.map_(pa.string(), pa.binary(1)))]))),
        [[{"m": [("k", b"x")]}, None], None, [{"m": None}], []],
    ),
]


@pytest.mark.parametrize(("data_type", "values"), NESTED, ids=[str(data_type) for data_type, _ in NESTED])
@pytest.mark.parametrize("start", [0, 1])
def test_types_inside_others_are_converted(data_type: pa.DataType, values: list[Any], start: int) -> None:
    result = converted(pa.field("x", data_type), pa.array(values, data_type)[start:])
    assert "fixed_size_binary" not in str(result.type)
    assert result.to_pylist() == values[start:]


def test_matching_arrays_are_not_copied() -> None:
    array = pa.array([[{"a": 1}], None], pa.list_(pa.field("element", pa.struct([("a", pa.int64())]))))
    result = converted(pa.field("x", array.type), array)
    assert result.values.field("a").buffers()[1].address == array.values.field("a").buffers()[1].address


def test_nanoseconds_are_rounded_down() -> None:
    nanos = [0, 1, -1, 999, 1000, -1000, -1001, None, -(1 << 63), (1 << 63) - 1]
    array = pa.array(nanos, pa.int64()).view(pa.timestamp("ns", "UTC"))
    micros = converted(pa.field("t", array.type), array, "micros")
    assert micros.type == pa.timestamp("us", "UTC")
    assert micros.view(pa.int64()).to_pylist() == [None if value is None else value // 1000 for value in nanos]
    assert converted(pa.field("t", array.type), array, "long").to_pylist() == nanos


@pytest.mark.parametrize(
    ("field", "column"),
    [
        (pa.field("t", pa.timestamp("ns")), "t"),
        (pa.field("s", pa.struct([("t", pa.list_(pa.field("element", pa.timestamp("ns", "UTC"))))])), "s.t.element"),
        (pa.field("m", pa.map_(pa.string(), pa.timestamp("ns"))), "m.value"),
        (pa.field("x", pa.duration("s")), "x"),
    ],
)
def test_a_type_that_spark_lacks_is_an_error_that_names_the_column(field: pa.Field, column: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        spark_schema(pa.schema([field]), "error")
    assert f"`{column}`" in str(caught.value)
    assert "`columns`" in str(caught.value)
    assert caught.value.context == {"column": column}


def test_time_type_requires_spark_4_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(spark, "TimeType", raising=False)
    with pytest.raises(UnsupportedError, match=r"use Spark 4\.1"):
        spark_schema(pa.schema([("t", pa.time64("us"))]), "error")


def test_a_variant_has_its_fields_in_the_order_of_spark() -> None:
    field = pa.field("v", VARIANT, metadata={"ARROW:extension:name": "arrow.parquet.variant"})
    array = pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x0c\x05"}, None], VARIANT)
    result = converted(field, array)
    assert [child.name for child in result.type] == ["value", "metadata"]
    assert result.type.field("metadata").metadata == {b"variant": b"true"}
    assert result.to_pylist() == array.to_pylist()


def test_a_variant_of_paimon_is_known_by_its_parts() -> None:
    variant = pa.struct([pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")])
    ids = {"paimon.id": "3"}
    row = pa.struct([pa.field(name, pa.binary(), nullable=False, metadata=ids) for name in ("metadata", "value")])
    schema = pa.schema([pa.field("v", variant), pa.field("l", pa.list_(pa.field("element", variant))), ("r", row)])
    found = spark_schema(schema, "error")
    assert [field.dataType.simpleString() for field in found] == [
        "variant",
        "array<variant>",
        "struct<metadata:binary,value:binary>",
    ]
    array = pa.array([[{"metadata": b"\x01\x00\x00", "value": b"\x0c\x05"}], None], schema.field("l").type)
    result = converted(schema.field("l"), array)
    assert result.type.value_type.field("metadata").metadata == {b"variant": b"true"}
    assert result.to_pylist() == array.to_pylist()


@pytest.mark.parametrize(
    ("data_type", "spark_type", "values"),
    [
        (pa.int8(), "tinyint", [-128, None, 127]),
        (pa.int16(), "smallint", [-32768, None, 32767]),
        (pa.time32("ms"), "time(6)", [dt.time(0), None, dt.time(23, 59, 59, 999000)]),
        (pa.timestamp("ms"), "timestamp_ntz", [dt.datetime(1, 1, 1), None]),  # noqa: DTZ001 - a wall clock
        (pa.timestamp("ms", "UTC"), "timestamp", [dt.datetime(9999, 12, 31, tzinfo=dt.UTC), None]),
        (pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)), "map<string,int>", [[("a", 2)], None]),
    ],
)
def test_types_that_only_paimon_has(data_type: pa.DataType, spark_type: str, values: list[Any]) -> None:
    field = pa.field("x", data_type)
    assert spark_schema(pa.schema([field]), "error")[0].dataType.simpleString() == spark_type
    assert converted(field, pa.array(values, data_type)).to_pylist() == values


def test_a_value_that_spark_cannot_hold_is_an_error_that_names_the_column() -> None:
    with pytest.raises(UnsupportedError, match="type for column `t` cannot hold all"):
        converted(pa.field("t", pa.timestamp("ms")), pa.array([1 << 60], pa.timestamp("ms")))


def test_columns_are_returned_in_the_requested_order() -> None:
    source = pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.binary(1))])
    batch = pa.RecordBatch.from_pylist([{"a": 1, "b": "x", "c": b"y"}], source)
    target = spark.StructType().add("c", "binary").add("a", "integer")
    assert Conversion(source, target).apply(batch).to_pylist() == [{"c": b"y", "a": 1}]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (spark.StructType().add("x", "integer"), "no column `x`"),
        (spark.StructType().add("a", "long"), "column `a` is int, not bigint"),
        (spark.StructType().add("a", "integer", nullable=False), "column `a` may contain NULL"),
    ],
)
def test_a_given_schema_must_fit(wanted: spark.StructType, words: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        check_schema(wanted, spark.StructType().add("a", "integer"))
    assert words in str(caught.value)
