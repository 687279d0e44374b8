"""Tests of addresses that are packed by data file."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from frazil.errors import InvalidArgumentError
from frazil.iceberg.operations.packed_addresses import PackedAddresses, pack, pack_addresses, unpack


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
@pytest.mark.parametrize("most", [1, 255, 256, 65_536_000, 1 << 45, 1 << 62])
def test_positions(count: int, most: int) -> None:
    chooser = random.Random(count)  # noqa: S311 - of a test
    positions = sorted(chooser.randint(0, most) for _ in range(count))
    assert unpack(pack(pa.array(positions, pa.int64()))).to_pylist() == positions


def test_addresses_of_several_tasks() -> None:
    chooser = random.Random(1)  # noqa: S311 - of a test
    rows = [(chooser.choice("abc"), position) for position in range(5000)]
    chooser.shuffle(rows)
    batches = [
        pa.record_batch({"file": [one[0] for one in part], "position": [one[1] for one in part]})
        for part in (rows[begin : begin + 700] for begin in range(0, 5000, 700))
    ]
    tasks = [pa.Table.from_batches(list(pack_addresses(iter(part)))) for part in (batches[:3], batches[3:])]
    packed = PackedAddresses(pa.concat_tables(tasks))
    assert (len(packed), packed.files) == (5000, {"a", "b", "c"})
    for file in "abc":
        assert packed.positions(file).to_pylist() == sorted(place for name, place in rows if name == file)
    assert packed.positions("d").to_pylist() == []
    assert sum(task.nbytes for task in tasks) < 3 * 5000
    assert list(pack_addresses(iter([]))) == []


def test_null_addresses() -> None:
    batch = pa.record_batch({"file": ["a", None], "position": [1, 2]})
    with pytest.raises(InvalidArgumentError, match="the address of a row is NULL"):
        list(pack_addresses(iter([batch])))
