"""Avro data files, decoded by the native reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil.files.read.data_file import BATCH_ROWS
from frazil.files.read.native import native_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil.files.read.data_file import Statistics, Wanted

__all__ = ["AvroFile"]


class AvroFile:
    """An Avro data file."""

    row_groups = False

    def __init__(self, files: _native.Files, path: str) -> None:
        self._reader = _native.BatchReader(files, path, "AVRO")
        self.schema = self._reader.schema()

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Read the wanted columns in batches; see `DataFile.batches`."""
        del selected
        return native_batches(self._reader, wanted, batch_rows)

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        """Raise an error: statistics are not read from Avro files."""
        raise NotImplementedError
