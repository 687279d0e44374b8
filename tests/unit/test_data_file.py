"""Tests of which ORC timestamps pyarrow may read incorrectly."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from frazil.files.read.orc import zone_may_matter

WITH_MILLISECONDS = dt.datetime(1970, 1, 1, 0, 2, 3, 123123)  # noqa: DTZ001 - a wall clock
MOMENT = pa.timestamp("ns")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([WITH_MILLISECONDS], MOMENT, True),
        ([None, -WITH_MILLISECONDS.microsecond * 1000], MOMENT, True),
        ([1_000_000], MOMENT, True),
        ([999_999], MOMENT, False),
        ([0, None, 5_000_000_000], MOMENT, False),
        ([dt.datetime(1970, 1, 3, 0, 0, 0, 5000)], MOMENT, False),  # noqa: DTZ001
        ([WITH_MILLISECONDS], pa.timestamp("ns", "UTC"), False),
        ([1_000_000], pa.int64(), False),
        ([[1_000_000], None], pa.list_(MOMENT), True),
        ([[("a", 1_000_000)]], pa.map_(pa.string(), MOMENT), True),
        ([[("a", 0)]], pa.map_(pa.string(), MOMENT), False),
        ([{"a": {"b": 1_000_000}}], pa.struct({"a": pa.struct({"b": MOMENT})}), True),
        ([], MOMENT, False),
    ],
)
def test_zones_matter_near_1970_and_with_milliseconds(values: list[Any], kind: pa.DataType, expected: bool) -> None:  # noqa: FBT001
    assert zone_may_matter(pa.array(values, kind)) is expected
