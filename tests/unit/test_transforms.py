"""Tests of the vectors of the Iceberg specification and its notes, in the public API."""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from frazil import transforms
from frazil.errors import InvalidArgumentError
from frazil.transforms import Transform, bucket, days, hours, identity, months, truncate, void, years

BUCKETS = (1 << 31) - 1
"""The number of buckets for which a bucket is the hash without its sign (except for the hash of all ones)."""

UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
US = pa.timestamp("us")


def us(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("values", "hashed"),
    [
        (pa.array([34], pa.int32()), 2017239379),
        (pa.array([34], pa.int64()), 2017239379),
        (pa.array([1]), 1392991556),
        (pa.array([-1]), 1651860712),
        (pa.array([-(2**31)], pa.int32()), -2073034792),
        (pa.array([-(2**63)]), 1366273829),
        (pa.array([dt.date(2017, 11, 16)]), -653330422),
        (pa.array([dt.time(22, 31, 8)], pa.time64("us")), -662762989),
        (pa.array([us("2017-11-16T22:31:08")], US), -2047944441),
        (pa.array([us("2017-11-16T22:31:08")], pa.timestamp("us", "UTC")), -2047944441),
        (pa.array([us("2017-11-16T22:31:08.000001")], US), -1207196810),
        (pa.array([1510871468000001001], pa.timestamp("ns")), -1207196810),
        (pa.array([-1], pa.timestamp("ns")), 1651860712),
        (pa.array([Decimal("14.20")]), -500754589),
        (pa.array([Decimal("1.28")]), 1544076949),
        (pa.array([Decimal("-1.28")]), 267099677),
        (pa.array([Decimal("-1.29")]), -435537839),
        (pa.array([Decimal(10**37)], pa.decimal128(38, 0)), 2139453790),
        (pa.array(["iceberg"]), 1210000089),
        (pa.array([""]), 0),
        (pa.array(["\U0001f4b0"]), -1486360756),
        (pa.array([UUID.bytes], pa.uuid()), 1488055340),
        (pa.array([UUID.bytes], pa.binary(16)), 1488055340),
        (pa.array([b"\0\1\2\3"]), -188683207),
        (pa.array([b"\0\1\2\3"], pa.binary(4)), -188683207),
        (pa.array([b"\0"]), 1364076727),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_bucket_hashes_as_the_specification(values: pa.Array, hashed: int) -> None:
    for n in (BUCKETS, 100, 16, 1):
        found = bucket(n)(values)
        assert (found.type, found.to_pylist()) == (pa.int32(), [(hashed & 0x7FFFFFFF) % n])


@pytest.mark.parametrize(
    ("width", "data_type", "pairs"),
    [
        (10, pa.int32(), {1: 0, 5: 0, 9: 0, 10: 10, -1: -10, -10: -10, -11: -20, None: None}),
        (10, pa.int64(), {1: 0, -1: -10, -11: -20, 2**62: 2**62 - 4}),
        (10, pa.decimal128(9, 2), {Decimal("12.34"): Decimal("12.30"), Decimal("-0.05"): Decimal("-0.10")}),
        (50, pa.decimal128(9, 2), {Decimal("10.65"): Decimal("10.50")}),
        (3, pa.string(), {"iceberg": "ice", "ab": "ab", "": "", "\U0001f4b0\U0001f4b0äb": "\U0001f4b0\U0001f4b0ä"}),
        (2, pa.binary(), {b"\0\1\2\3": b"\0\1", b"": b"", None: None}),
    ],
)
def test_truncate(width: int, data_type: pa.DataType, pairs: dict[Any, Any]) -> None:
    found = truncate(width)(pa.array(list(pairs), data_type))
    assert (found.type, found.to_pylist()) == (data_type, list(pairs.values()))


@pytest.mark.parametrize(
    ("microseconds", "expected"),
    [
        (1512123175038194, (47, 575, 17501, 420034)),
        (0, (0, 0, 0, 0)),
        (-1, (-1, -1, -1, -1)),
        (-1000001, (-1, -1, -1, -1)),
        (-90000000002, (-1, -1, -2, -26)),
        (-31500000000000, (-1, -12, -365, -8750)),
        (-62135596800000000, (-1969, -23628, -719162, -17259888)),
        (253402300799999999, (8029, 96359, 2932896, 70389527)),
        (None, (None, None, None, None)),
    ],
)
def test_dates_and_times_are_rounded_down_to_the_unit(
    microseconds: int | None, expected: tuple[int | None, ...]
) -> None:
    for zone in (None, "UTC", "Europe/Berlin"):
        values = pa.array([microseconds], pa.timestamp("us", zone))
        found = tuple(transform(values).cast(pa.int32())[0].as_py() for transform in (years, months, days, hours))
        assert found == expected


def test_days_are_dates_and_the_others_integers() -> None:
    values = pa.array([dt.date(1969, 12, 31), dt.date(2017, 11, 16)])
    assert days(values).equals(values)
    assert (years(values).to_pylist(), years(values).type) == ([-1, 47], pa.int32())
    assert months(values).to_pylist() == [-1, 574]


def test_identity_and_void_keep_the_type() -> None:
    for values in (pa.array([1.5, None]), pa.array([UUID.bytes, None], pa.uuid()), pa.array(["a", None])):
        assert identity(values).equals(values)
        assert (void(values).type, void(values).null_count) == (values.type, 2)


def test_the_shape_of_the_result_is_that_of_the_values() -> None:
    chunked = pa.chunked_array([["ab", "cd"], [], ["ef"]])
    assert [len(chunk) for chunk in truncate(1)(chunked).chunks] == [2, 0, 1]
    assert truncate(1)(pa.chunked_array([], pa.string())).type == pa.string()
    assert len(truncate(1)(pa.array([], pa.string()))) == 0
    assert bucket(16)(pa.array([0, 34, 34])[1:]).to_pylist() == [3, 3]


def test_series_of_other_libraries() -> None:
    pd = pytest.importorskip("pandas")
    assert bucket(16)(pd.Series([34, 35])).to_pylist() == bucket(16)(pa.array([34, 35])).to_pylist()
    assert truncate(1)(pd.Series(["ab", None])).to_pylist() == ["a", None]
    assert days(pd.Series(pd.to_datetime(["1969-12-31"]))).to_pylist() == [dt.date(1969, 12, 31)]
    pl = pytest.importorskip("polars")
    found = truncate(1)(pl.Series(["ab", None]))
    assert isinstance(found, pa.ChunkedArray)
    assert found.to_pylist() == ["a", None]


@pytest.mark.parametrize(
    ("values", "like"),
    [
        (pa.array([34], pa.int8()), pa.array([34])),
        (pa.array([34], pa.uint16()), pa.array([34])),
        (pa.array([2**32 - 1], pa.uint32()), pa.array([2**32 - 1])),
        (pa.array(["a"], pa.large_string()), pa.array(["a"])),
        (pa.array(["a"], pa.string_view()), pa.array(["a"])),
        (pa.array(["a", "a"]).dictionary_encode(), pa.array(["a", "a"])),
        (pa.array([dt.date(2017, 11, 16)], pa.date64()), pa.array([dt.date(2017, 11, 16)])),
        (pa.array([dt.time(22, 31, 8)], pa.time32("s")), pa.array([dt.time(22, 31, 8)])),
        (pa.array([dt.time(22, 31, 8)], pa.time64("ns")), pa.array([dt.time(22, 31, 8)])),
        (pa.array([us("2017-11-16T22:31:08")], pa.timestamp("s")), pa.array([us("2017-11-16T22:31:08")])),
        (pa.array([us("2017-11-16T22:31:08")], pa.timestamp("ms", "UTC")), pa.array([us("2017-11-16T22:31:08")])),
        (pa.array([Decimal("14.20")], pa.decimal64(9, 2)), pa.array([Decimal("14.20")])),
        (pa.array([Decimal("14.20")], pa.decimal256(40, 2)), pa.array([Decimal("14.20")])),
    ],
    ids=lambda value: str(value.type),
)
def test_types_that_iceberg_lacks_are_taken_as_the_next_that_holds_them(values: pa.Array, like: pa.Array) -> None:
    assert bucket(1000)(values).equals(bucket(1000)(like))


@pytest.mark.parametrize(
    ("transform", "values"),
    [
        (bucket(4), pa.array([1.5])),
        (bucket(4), pa.array([True])),
        (bucket(4), pa.array([[1]])),
        (bucket(4), pa.array([{"a": 1}])),
        (bucket(4), pa.array([2**64 - 1], pa.uint64())),
        (truncate(4), pa.array([b"abcd"], pa.binary(4))),
        (truncate(4), pa.array([dt.date(2017, 11, 16)])),
        (days, pa.array([1])),
        (days, pa.array(["2017-11-16"])),
        (hours, pa.array([dt.date(2017, 11, 16)])),
        (bucket(4), pa.array([1], pa.time64("ns"))),
        (bucket(4), [1, 2]),
        (bucket(4), None),
        (days, "2017-11-16"),
    ],
)
def test_values_that_a_transform_does_not_take(transform: Transform, values: object) -> None:
    with pytest.raises(InvalidArgumentError):
        transform(values)


@pytest.mark.parametrize("make", [bucket, truncate])
@pytest.mark.parametrize("parameter", [0, -1, 2**31, 1.5, "4", None, True])
def test_parameters_are_positive_integers(make: Any, parameter: object) -> None:
    with pytest.raises(InvalidArgumentError, match="must be an integer from 1 to"):
        make(parameter)


def test_text_equality_and_pickling() -> None:
    every = [bucket(16), truncate(3), years, months, days, hours, identity, void]
    assert [str(t) for t in every] == ["bucket[16]", "truncate[3]", "year", "month", "day", "hour", "identity", "void"]
    for transform in every:
        assert eval(repr(transform), vars(transforms)) == transform  # noqa: S307
        assert pickle.loads(pickle.dumps(transform)) == transform  # noqa: S301
    assert days() is days
    assert len({*every, bucket(16), bucket(17)}) == len(every) + 1
    assert bucket(16) != "bucket[16]"
