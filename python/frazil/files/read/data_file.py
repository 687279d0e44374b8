"""What the readers of all file formats have in common.

All of them return a schema, and batches of the wanted columns with the position of their first row in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

__all__ = ["BATCH_ROWS", "DataFile", "Statistics", "Wanted"]

BATCH_ROWS = 131_072
"""Rows of a batch; decoding costs little more per row above this, and memory grows."""

Wanted = tuple[list[int], list[int]]
"""Leaf columns in depth-first order, and the top-level columns that hold them."""

Statistics = tuple[int, int, list[tuple[int, str, bytes | None, bytes | None, int | None]]]
"""A row group: rows, offset of its first page, statistics of leaves."""


class DataFile(Protocol):
    """A file that holds rows."""

    schema: pa.Schema
    row_groups: bool

    def batches(
        self, wanted: Wanted, selected: Sequence[bool] | None, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, pa.RecordBatch | None, int]]:
        """Give the position of the first row, the wanted columns (None when there is none), and the number of rows."""

    def statistics(self, leaves: list[int]) -> list[Statistics]:
        """Describe the row groups; only where `row_groups` is true."""
