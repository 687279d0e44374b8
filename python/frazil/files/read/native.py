"""Data files that are decoded without pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from frazil import _native
    from frazil.files.read.data_file import Wanted

__all__ = ["native_batches"]


def native_batches(
    reader: _native.BatchReader, wanted: Wanted, batch_rows: int
) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
    """Read the wanted columns, as `DataFile.batches` does."""
    reader.begin(wanted[1], batch_rows)
    position = 0
    while (batch := reader.next_batch()) is not None:
        yield position, batch, batch.num_rows
        position += batch.num_rows
