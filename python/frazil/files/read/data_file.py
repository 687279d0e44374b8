"""The common interface of the readers of all file formats.

Each reader returns a schema, and batches of the wanted columns with the position of their first row in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

__all__ = ["BATCH_ROWS", "DataFile", "Statistics", "Wanted"]

BATCH_ROWS = 131_072
"""The number of rows in a batch; larger batches hardly speed up decoding and need more memory."""

Wanted = tuple[list[int], list[int]]
"""The leaf columns in depth-first order, and the top-level columns that contain them."""

Statistics = tuple[int, int, list[tuple[int, str, bytes | None, bytes | None, int | None]]]
"""A row group: the number of rows, the offset of its first page, and the statistics of its leaf columns."""


class DataFile(Protocol):
    """A file that contains rows."""

    schema: pa.Schema
    row_groups: bool

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Yield the position of the first row, the wanted columns (None if there are none) and the number of rows."""

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        """Return the row groups; only available if `row_groups` is true."""
