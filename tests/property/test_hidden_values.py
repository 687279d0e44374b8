"""Property tests of values below NULL: arbitrary values there do not change what is written."""

from __future__ import annotations

import tempfile
from itertools import accumulate
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frazil

LEAVES = (pa.int64(), pa.bool_(), pa.string(), pa.timestamp("us"), pa.decimal128(21, 2))


def _mask(random: Random, rows: int) -> pa.Array | None:
    return pa.array([random.random() < 0.3 for _ in range(rows)], pa.bool_()) if random.random() < 0.7 else None


def nested(random: Random, depth: int, rows: int) -> pa.Array:
    """Return values that are structs, lists or maps, with arbitrary values below each NULL."""
    if depth == 0:
        values = [random.randint(0, 1) if random.random() < 0.8 else None for _ in range(rows)]
        return pa.array(values, pa.int64()).cast(random.choice(LEAVES))
    kind = random.choice(("struct", "struct", "list", "map"))
    if kind == "struct":
        parts = [nested(random, depth - 1, rows), nested(random, random.randint(0, depth - 1), rows)]
        fields = [pa.field(name, part.type, part.null_count > 0) for name, part in zip("ab", parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=_mask(random, rows))
    offsets = [0, *accumulate(random.randint(0, 3) for _ in range(rows))]
    values = nested(random, depth - 1, offsets[-1])
    if kind == "list":
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=_mask(random, rows))
    keys = pa.array([str(index) for index in range(offsets[-1])], pa.string())
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, values, mask=_mask(random, rows))


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 32), depth=st.integers(1, 4), rows=st.integers(1, 9))
def test_values_below_null_are_not_written(file_format: str, seed: int, depth: int, rows: int) -> None:
    values = nested(Random(seed), depth, rows)  # noqa: S311 - a test
    given_rows = pa.table({"id": pa.array(range(rows), pa.int64()), "c": values})
    with tempfile.TemporaryDirectory() as folder:
        table = frazil.create_table(f"{folder}/t", given_rows.schema, properties={"write.format.default": file_format})
        table.append(given_rows)
        assert table.scan().to_arrow().sort_by("id").to_pylist() == given_rows.to_pylist()
