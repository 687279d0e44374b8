"""ORC data files, decoded by pyarrow, or by the native reader if pyarrow misreads or rejects their timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil import _native
from frazil._extras import has_pyarrow
from frazil.files.read.data_file import BATCH_ROWS
from frazil.files.read.native import native_batches
from frazil.files.read.remote import source

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator, Sequence

    from frazil.files.read.data_file import Statistics, Wanted

__all__ = ["OrcFile", "zone_may_matter"]

_RANGE_CHECKED = 25
"""The first pyarrow version in which timestamps outside 1677-2262 do not overflow."""
_NS_PER_MS = 1_000_000
_FARTHEST_ZONE_NS = 24 * 3_600 * 1_000_000_000


class OrcFile:
    """An ORC file."""

    row_groups = False

    def __init__(self, files: _native.Files, path: str, stack: contextlib.ExitStack) -> None:
        from pyarrow import orc

        self._files, self._path = files, path
        self._file = orc.ORCFile(stack.enter_context(source(files, path)))
        self.schema = self._file.schema

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Read the wanted columns in batches; see `DataFile.batches`."""
        del selected
        if not wanted[1]:
            yield 0, None, self._file.nrows
            return
        has_timestamps = any(_has_timestamps(self.schema.field(column).type) for column in wanted[1])
        # The native reader supports files from every ORC writer except the C++ library.
        if has_timestamps and self._file.writer != "ORC_CPP" and not has_pyarrow(_RANGE_CHECKED):
            yield from self._native(wanted, 0, batch_rows)
            return
        position = 0
        for stripe in range(self._file.nstripes):
            try:
                batch = self._file.read_stripe(stripe, wanted[1])
            except pa.ArrowInvalid:
                # pyarrow raises this error for timestamps that do not fit into 64 bits of nanoseconds. Damaged files
                # raise other errors.
                if not has_timestamps:
                    raise
                yield from self._native(wanted, position, batch_rows)
                return
            if self._file.writer == "ORC_JAVA" and any(map(zone_may_matter, batch.columns)):
                yield from self._native(wanted, position, batch_rows)
                return
            for start in range(0, batch.num_rows, batch_rows):
                part = batch.slice(start, batch_rows)
                yield position, part, part.num_rows
                position += part.num_rows

    def _native(self, wanted: Wanted, first: int, batch_rows: int) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Read the rows from a position on without pyarrow."""
        reader = _native.BatchReader(self._files, self._path, "ORC")
        for position, batch, rows in native_batches(reader, wanted, batch_rows):
            skipped = max(0, first - position)
            if batch is not None and skipped < rows:
                yield position + skipped, batch.slice(skipped), rows - skipped

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        """Raise an error: statistics are not read from ORC files."""
        raise NotImplementedError


def _has_timestamps(data_type: pa.DataType) -> bool:
    """Return whether values of the type contain timestamps, at any depth."""
    if pa.types.is_timestamp(data_type):
        return True
    return any(_has_timestamps(data_type.field(index).type) for index in range(data_type.num_fields))


def zone_may_matter(column: pa.Array) -> bool:
    """Return whether pyarrow may have read a timestamp off by a second because of the writer's time zone.

    Java rounds seconds towards zero in UTC, so readers correct values before the epoch that have milliseconds. pyarrow
    decides by the local time of the writer which values to correct.
    """
    import pyarrow.compute as pc

    if pa.types.is_map(column.type):
        return zone_may_matter(column.keys) or zone_may_matter(column.items)
    if pa.types.is_list(column.type):
        return zone_may_matter(column.values)
    if pa.types.is_struct(column.type):
        return any(zone_may_matter(column.field(index)) for index in range(column.type.num_fields))
    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return False
    near = column.filter(pc.less_equal(pc.abs(column.view(pa.int64())), _FARTHEST_ZONE_NS))
    below_second = pc.subtract(near, pc.floor_temporal(near, unit="second")).cast(pa.int64())
    return bool(pc.any(pc.greater_equal(below_second, _NS_PER_MS)).as_py())
