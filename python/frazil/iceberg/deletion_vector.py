"""The blobs of Iceberg's deletion vectors (`deletion-vector-v1` in Puffin files), to Arrow and back.

Scans apply deletion vectors by themselves; this is for tools that look into Puffin files or make them. A blob is what
`content_offset` and `content_size_in_bytes` of a delete file point at: length, magic, roaring bitmap and checksum.

>>> from frazil.iceberg import deletion_vector
>>> blob = deletion_vector.encode([1, 3])
>>> deletion_vector.kept_rows(blob, 5).to_pylist()
[True, False, True, False, True]
>>> deletion_vector.positions(blob).to_pylist()
[1, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil import _native
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["encode", "kept_rows", "positions"]


def kept_rows(blob: bytes | bytearray | memoryview, row_count: int) -> pa.BooleanArray:
    """Give the mask of the rows of a data file that are not deleted, as `filter` of pyarrow takes it.

    Args:
        blob: All bytes of the blob.
        row_count: How many rows the data file has.

    Raises:
        CorruptDeletesError: The length, magic, checksum or bitmap is wrong, or a deleted row is beyond the end of the
            file.
        LimitExceededError: There is no memory for a mask of so many rows.
        InvalidArgumentError: `row_count` is negative.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [10, 11, 12]})
    >>> table.filter(kept_rows(encode([1]), table.num_rows))["id"].to_pylist()
    [10, 12]
    """
    if row_count < 0:
        message = f"a data file cannot have {row_count} rows"
        raise InvalidArgumentError(message)
    return _native.kept_rows(bytes(blob), row_count)


def positions(blob: bytes | bytearray | memoryview) -> pa.Int64Array:
    """Give the deleted positions, counted from 0, ascending.

    Raises:
        CorruptDeletesError: Length, magic, checksum or bitmap is not right.
    """
    return _native.deleted_positions(bytes(blob))


def encode(positions: pa.Array | Sequence[int]) -> bytes:
    """Give the blob of deleted positions, byte for byte as Iceberg's Java library writes it.

    Args:
        positions: Integers from 0 in any order; repetitions count once.

    Raises:
        InvalidArgumentError: The positions are no integers, or one is NULL.
        CorruptDataError: A position is negative.
        LimitExceededError: The blob would be larger than 2 GiB, which positions beyond 2^59 or so need.

    >>> encode([7, 7]) == encode([7])
    True
    """
    try:
        values = pa.array(positions, pa.int64()) if not isinstance(positions, pa.Array) else positions.cast(pa.int64())
    except (pa.ArrowException, TypeError, OverflowError) as error:
        message = f"the positions are no integers of 64 bits: {error}"
        raise InvalidArgumentError(message) from error
    return _native.encode_positions(values)
