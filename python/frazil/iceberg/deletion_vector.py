"""Conversion of Iceberg deletion vector blobs (`deletion-vector-v1` in Puffin files) to and from Arrow.

Scans apply deletion vectors automatically; this module is for tools that read or write Puffin files. A blob is the part
of the file that `content_offset` and `content_size_in_bytes` of a delete file refer to: length, magic, Roaring bitmap
and checksum.

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
    """Return a mask of the rows of a data file that are not deleted, for the `filter` method of pyarrow.

    Args:
        blob: The complete bytes of the blob.
        row_count: The number of rows in the data file.

    Raises:
        CorruptDeletesError: The length, magic, checksum or bitmap is invalid, or a deleted row is beyond the end of the
            file.
        LimitExceededError: The mask for this number of rows does not fit into memory.
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
    """Return the deleted positions, starting at 0, in ascending order.

    Raises:
        CorruptDeletesError: The length, magic, checksum or bitmap is invalid.
    """
    return _native.deleted_positions(bytes(blob))


def encode(positions: pa.Array | Sequence[int]) -> bytes:
    """Return the blob for deleted positions, byte for byte as written by Iceberg's Java library.

    Args:
        positions: Integers starting at 0, in any order; duplicates are ignored.

    Raises:
        InvalidArgumentError: The positions are not integers, or one is NULL.
        CorruptDataError: A position is negative.
        LimitExceededError: The blob would be larger than 2 GiB, which happens for positions beyond about 2^59.

    >>> encode([7, 7]) == encode([7])
    True
    """
    try:
        values = pa.array(positions, pa.int64()) if not isinstance(positions, pa.Array) else positions.cast(pa.int64())
    except (pa.ArrowException, TypeError, OverflowError) as error:
        message = f"the positions must be 64-bit integers: {error}"
        raise InvalidArgumentError(message) from error
    return _native.encode_positions(values)
