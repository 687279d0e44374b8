"""Parquet INT96 timestamps that do not fit into 64 bits of nanoseconds, for which pyarrow overflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["with_far_times"]

INT96_NANOSECONDS_US = range(-(2**63) // 1000, 2**64 // 1000 + 1)
"""The range of INT96 timestamps that pyarrow reads correctly as nanoseconds, given as the microseconds that it reads.

Paimon's Java writer stores a time before 1970 as a day and a negative time of day, which pyarrow reads as
unsigned. As microseconds, the result is 2^64 nanoseconds late; as nanoseconds, it overflows to the intended value.
"""


def with_far_times(
    batches: Iterator[pa.RecordBatch],
    wide: Iterator[pa.RecordBatch],
    places: dict[int, int],
    read_exactly: Callable[[str, int], pa.Array],
    path: str,
) -> Iterator[pa.RecordBatch]:
    """Replace INT96 columns by exact values if their timestamps exceed the range of nanoseconds.

    Args:
        batches: Batches with timestamps in nanoseconds.
        wide: Only the INT96 columns, in microseconds.
        places: The positions of the INT96 columns in `batches`, with their leaf columns in the file.
        read_exactly: A function that reads all values of a column, given its name and its leaf column.
        path: The path of the file, for errors.

    Raises:
        UnsupportedError: A nested timestamp does not fit into nanoseconds.
    """
    exact: dict[int, pa.Array] = {}
    position = 0
    for batch, checked in _aligned(batches, wide):
        arrays = list(batch.columns)
        for (place, leaf), array in zip(places.items(), checked.columns, strict=True):
            name = batch.schema.field(place).name
            if not pa.types.is_timestamp(array.type):
                if any(_is_far(times) for times in _timestamps(array)):
                    message = f"the column {name!r} contains nested INT96 timestamps that do not fit into nanoseconds"
                    hint = "nanoseconds range from 1677 to 2262: omit the column from the scan"
                    raise UnsupportedError(message, context={"file": path, "column": name}, hint=hint)
            elif place not in exact and not _is_near(array, batch.schema.field(place).type):
                exact[place] = read_exactly(name, leaf)
            if place in exact:
                arrays[place] = exact[place].slice(position, batch.num_rows)
        yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
        position += batch.num_rows


def _is_near(array: pa.Array, nanoseconds: pa.DataType) -> bool:
    try:
        array.cast(nanoseconds)
    except pa.ArrowInvalid:
        return False
    return True


def _is_far(times: pa.Array) -> bool:
    import pyarrow.compute as pc

    bounds = pc.min_max(times.cast(pa.int64())).as_py()
    return any(bound is not None and bound not in INT96_NANOSECONDS_US for bound in bounds.values())


def _timestamps(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the timestamps in an array, at any depth."""
    if pa.types.is_timestamp(array.type):
        yield array
    elif isinstance(array, pa.StructArray):
        for part in array.flatten():
            yield from _timestamps(part)
    elif isinstance(array, pa.MapArray):
        # A MapArray is also a ListArray, but a map cannot be flattened.
        yield from _timestamps(array.keys)
        yield from _timestamps(array.items)
    elif isinstance(array, pa.ListArray):
        yield from _timestamps(array.flatten())


def _aligned(
    lefts: Iterator[pa.RecordBatch], rights: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield pairs of batches with the same rows from two inputs that are split differently."""
    left = right = None
    while True:
        left = left or next(lefts, None)
        right = right or next(rights, None)
        if left is None and right is None:
            return
        if left is None or right is None:
            message = "the columns have different lengths"
            raise ValueError(message)
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left, right = left.slice(rows), right.slice(rows)
