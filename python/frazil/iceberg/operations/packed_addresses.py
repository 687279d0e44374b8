"""Addresses of rows to delete in a few bytes each: the positions by data file, as differences."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PackedAddresses", "pack", "pack_addresses", "unpack"]

_HEAD = struct.Struct("<Bqq")
"""The width of a difference in bytes, the number of positions and the first position."""

_DIFFERENCES = {1: pa.uint8(), 2: pa.uint16(), 4: pa.uint32(), 8: pa.uint64()}


class PackedAddresses:
    """The addresses of rows, packed by data file."""

    def __init__(self, rows: pa.Table) -> None:
        """Keep packed positions: the first column is the data file, the second the result of `pack`.

        A data file can have several rows.
        """
        self._packed: dict[str, list[bytes]] = {}
        for batch in rows.to_batches():
            for path, packed in zip(*(column.to_pylist() for column in batch.columns[:2]), strict=True):
                self._packed.setdefault(path, []).append(packed)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(_HEAD.unpack_from(part)[1] for parts in self._packed.values() for part in parts)

    @property
    def files(self) -> set[str]:
        """The locations of the data files."""
        return set(self._packed)

    def positions(self, file_path: str) -> pa.Array:
        """Return the sorted positions in a data file."""
        parts = [unpack(part) for part in self._packed.get(file_path, [])]
        found = pa.concat_arrays(parts) if parts else pa.array([], pa.int64())
        return found.take(pc.sort_indices(found)) if len(parts) > 1 else found


def pack(positions: pa.Array) -> bytes:
    """Return sorted positions, at least one, as bytes.

    >>> unpack(pack(pa.array([3, 7, 1000]))).to_pylist()
    [3, 7, 1000]
    """
    differences = pc.subtract(positions.slice(1), positions.slice(0, len(positions) - 1))
    most = pc.max(differences).as_py() or 0
    width = next(width for width in _DIFFERENCES if most < 1 << 8 * width)
    content = differences.cast(_DIFFERENCES[width])
    head = _HEAD.pack(width, len(positions), positions[0].as_py())
    return head + (bytes(content.buffers()[1])[: len(content) * width] if len(content) else b"")


def unpack(packed: bytes) -> pa.Array:
    """Return the positions that `pack` encoded."""
    width, count, first = _HEAD.unpack_from(packed)
    content = pa.py_buffer(memoryview(packed)[_HEAD.size :])
    differences = pa.Array.from_buffers(_DIFFERENCES[width], count - 1, [None, content]).cast(pa.int64())
    return pc.cumulative_sum(pa.concat_arrays([pa.array([first], pa.int64()), differences]))


def pack_addresses(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack data files and positions into one row for each data file.

    Raises:
        InvalidArgumentError: An address is NULL.
    """
    files: list[pa.Array] = []
    found: list[pa.Array] = []
    for batch in batches:
        if batch.column(0).null_count or batch.column(1).null_count:
            message = "the address of a row is NULL"
            raise InvalidArgumentError(message)
        if batch.num_rows:
            # The paths of a batch repeat; only their numbers are kept for each row.
            files.append(batch.column(0).cast(pa.string()).dictionary_encode())
            found.append(batch.column(1).cast(pa.int64()))
    if not files:
        return
    encoded = pa.chunked_array(files).unify_dictionaries()
    numbers = pa.concat_arrays([chunk.indices for chunk in encoded.chunks])
    paths = encoded.chunk(0).dictionary
    rows = pa.table({"file": numbers, "position": pa.concat_arrays(found)})
    files, found = [], []
    rows = rows.sort_by([("file", "ascending"), ("position", "ascending")])
    runs = pc.run_end_encode(rows.column(0).combine_chunks())
    positions = rows.column(1).combine_chunks()
    begin = 0
    for number, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        packed = pack(positions.slice(begin, end - begin))
        yield pa.RecordBatch.from_arrays(
            [pa.array([paths[number].as_py()]), pa.array([packed], pa.binary())], names=["file", "positions"]
        )
        begin = end
