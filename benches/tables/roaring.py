"""Encodes positions as Roaring bitmaps in the portable format."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from values import Integers

NO_RUNS = 12_346  # the cookie of a bitmap without run containers
MOST_OF_ARRAY = 4_096


def encode64(positions: Integers) -> bytes:
    """Encode sorted positions as a 64-bit bitmap: a 32-bit bitmap for each upper half."""
    halves = [(int(part[0] >> 32), encode32(part & 0xFFFF_FFFF)) for part in groups(positions, 32)]
    return struct.pack("<q", len(halves)) + b"".join(struct.pack("<I", key) + part for key, part in halves)


def encode32(positions: Integers) -> bytes:
    """Encode sorted positions below 2^32 as array and bitmap containers."""
    parts = groups(positions, 16)
    bodies = [container(part & 0xFFFF) for part in parts]
    keys = b"".join(struct.pack("<HH", part[0] >> 16, len(part) - 1) for part in parts)
    start = 8 + len(keys) + 4 * len(parts)
    offsets = start + np.cumsum([0, *map(len, bodies)])[:-1]
    return struct.pack("<II", NO_RUNS, len(parts)) + keys + offsets.astype("<u4").tobytes() + b"".join(bodies)


def container(low: Integers) -> bytes:
    if len(low) <= MOST_OF_ARRAY:
        return low.astype("<u2").tobytes()
    bits = np.zeros(1 << 16, np.uint8)
    bits[low] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def groups(positions: Integers, bits: int) -> list[Integers]:
    """Group sorted positions by all bits except the lowest `bits`."""
    return np.split(positions, np.flatnonzero(np.diff(positions >> bits)) + 1) if len(positions) else []
