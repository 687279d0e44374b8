"""Tests that parsing damaged footers ends quickly, regardless of the lengths that they declare."""

from __future__ import annotations

import pytest

from frazil._thrift import CompactCursor

LONGEST = b"\xff" * 9 + b"\x01"
BYTE, DOUBLE, BINARY, LIST, STRUCT = 3, 7, 8, 9, 12


def test_the_longest_number_is_read() -> None:
    assert CompactCursor(LONGEST).varint() == 2**64 - 1


def test_a_number_of_more_than_64_bits_is_rejected() -> None:
    with pytest.raises(ValueError, match="longer than 64 bits"):
        CompactCursor(b"\xff" * 1_000_000).varint()


@pytest.mark.parametrize("kind", [BYTE, DOUBLE, BINARY])
def test_a_value_that_ends_after_the_data_is_rejected(kind: int) -> None:
    with pytest.raises(IndexError, match="a value extends beyond the end of the data"):
        CompactCursor(b"\x09" if kind == BINARY else b"").skip(kind)


@pytest.mark.parametrize("kind", [1, BYTE, DOUBLE, BINARY, LIST, STRUCT])
def test_list_ends_with_the_data_regardless_of_its_declared_length(kind: int) -> None:
    with pytest.raises(IndexError):
        CompactCursor(bytes([0xF0 | kind]) + LONGEST + bytes(100)).skip(LIST)
