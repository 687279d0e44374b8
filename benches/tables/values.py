"""Generates columns of values: a column is an array with one element, or one row of bytes, for each record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]  # one row of bytes for each record
Integers = NDArray[np.int64]
Values = NDArray[np.generic]

DAY_US = 86_400_000_000
FIRST_DAY = 20_089  # 2025-01-01
FIRST_DAY_US = FIRST_DAY * DAY_US
ID_LIMIT = 1 << 40
HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)


def scramble(numbers: Integers) -> Integers:
    """Map distinct numbers below `ID_LIMIT` to distinct ids below it without a visible order."""
    return (numbers.astype(np.uint64) * GOLDEN & np.uint64(ID_LIMIT - 1)).astype(np.int64)


def join(*parts: bytes | Bytes) -> Bytes:
    """Concatenate constant and varying bytes row by row."""
    count = max(len(part) for part in parts if not isinstance(part, bytes))
    wide: list[Bytes] = [
        np.broadcast_to(np.frombuffer(part, np.uint8), (count, len(part))) if isinstance(part, bytes) else part
        for part in parts
    ]
    return np.concatenate(wide, axis=1)


def texts(column: Bytes) -> list[str]:
    """Return every row as a string."""
    return [bytes(row).decode() for row in column]


def digits(numbers: Integers, width: int) -> Bytes:
    """Return the last `width` decimal digits."""
    return (numbers[:, None] // 10 ** np.arange(width)[::-1] % 10 + ord("0")).astype(np.uint8)


def hexadecimal(numbers: NDArray[np.uint64], width: int) -> Bytes:
    """Return the last `width` hexadecimal digits, lowest first."""
    nibbles = numbers[:, None] >> np.uint64(4) * np.arange(width, dtype=np.uint64) & np.uint64(15)
    rows: Bytes = HEX[nibbles]
    return rows


def dates(days: Integers) -> Bytes:
    """Return days since 1970 as YYYY-MM-DD."""
    known, which = np.unique(days, return_inverse=True)
    written = np.datetime_as_string(known.astype("datetime64[D]")).astype("S10")
    rows: Bytes = written.view(np.uint8).reshape(-1, 10)
    return rows[which]


def little_endian(numbers: Values) -> Bytes:
    """Return the bytes of numbers in the format of Iceberg and Paimon."""
    width = numbers.dtype.itemsize
    return np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).view(np.uint8).reshape(-1, width)


def big_endian(numbers: Integers, width: int) -> Bytes:
    """Return the last `width` bytes in Iceberg's format of decimals."""
    return np.ascontiguousarray(numbers, ">i8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]
