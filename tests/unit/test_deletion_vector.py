"""Tests of deletion vector blobs from Python."""

from __future__ import annotations

import pyarrow as pa
import pytest

from frazil.errors import CorruptDataError, CorruptDeletesError, InvalidArgumentError
from frazil.iceberg import deletion_vector

FIVE_ODD = bytes.fromhex(
    "0000002a d1d33964 0100000000000000 00000000 3a300000 01000000 00000400 10000000 0100030005000700 0900 b3fb20be"
)


def test_a_blob_of_java_is_read_and_written() -> None:
    assert deletion_vector.positions(FIVE_ODD).to_pylist() == [1, 3, 5, 7, 9]
    assert deletion_vector.encode([9, 7, 5, 3, 1, 1]) == FIVE_ODD
    kept = deletion_vector.kept_rows(FIVE_ODD, 11)
    assert kept.type == pa.bool_()
    assert kept.to_pylist() == [i % 2 == 0 for i in range(10)] + [True]


@pytest.mark.parametrize("step", [1, 3, 10, 1000])
def test_masks_of_every_density_keep_undeleted_rows(step: int) -> None:
    rows = 200_001
    deleted = range(5, rows, step)
    blob = deletion_vector.encode(pa.array(deleted, pa.int64()))
    assert deletion_vector.positions(blob).to_pylist() == list(deleted)
    kept = deletion_vector.kept_rows(memoryview(blob), rows)
    gone = set(deleted)
    assert kept.to_pylist() == [row not in gone for row in range(rows)]


def test_nothing_deleted_keeps_all_rows() -> None:
    blob = deletion_vector.encode([])
    assert deletion_vector.kept_rows(blob, 3).to_pylist() == [True] * 3
    assert len(deletion_vector.kept_rows(blob, 0)) == 0
    assert deletion_vector.positions(blob).type == pa.int64()


def test_damage_is_noticed() -> None:
    for at in range(len(FIVE_ODD)):
        damaged = bytearray(FIVE_ODD)
        damaged[at] ^= 0x10
        with pytest.raises(CorruptDeletesError):
            deletion_vector.kept_rows(damaged, 100)
        with pytest.raises(CorruptDeletesError):
            deletion_vector.positions(FIVE_ODD[:at])
    with pytest.raises(CorruptDeletesError, match="a position is not below the number of rows, 9"):
        deletion_vector.kept_rows(FIVE_ODD, 9)


def test_invalid_positions_are_rejected() -> None:
    with pytest.raises(InvalidArgumentError):
        deletion_vector.encode(["a"])
    with pytest.raises(InvalidArgumentError):
        deletion_vector.encode([None])
    with pytest.raises(InvalidArgumentError):
        deletion_vector.encode([1 << 63])
    with pytest.raises(CorruptDataError):
        deletion_vector.encode([-1])
    with pytest.raises(InvalidArgumentError):
        deletion_vector.kept_rows(FIVE_ODD, -1)
