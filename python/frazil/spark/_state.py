"""What a DataFrame is made of: a table at one state, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil import _native, iceberg, paimon
    from frazil._changes import Changes
    from frazil._virtual_table import VirtualScan
    from frazil.spark._branch_read import BranchRead
    from frazil.spark._lanes import NativeFiles
    from frazil.spark._options import ReadOptions

    Scan = iceberg.Scan | paimon.Scan | VirtualScan | Changes[Any, Any]

SPLIT_BYTES = 128 << 20
"""How many bytes of files a partition reads where neither option nor table says it."""

OPEN_COST_BYTES = 4 << 20
"""What a file counts at least where neither option nor table says it."""

_EVERYTHING_BYTES = (1 << 63) - 1


class ReadState(ABC):
    """A table at the state that it had when this was made. Pickles without the open table, and reads the same rows."""

    has_native_files: ClassVar[bool] = False
    """Whether Spark may read some of the data files itself."""

    def __init__(self, asked: ReadOptions) -> None:
        """Keep what is asked of the table."""
        self.asked = asked

    @abstractmethod
    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Scan:
        """Describe a read of the state.

        Raises:
            InvalidArgumentError: A column or literal that does not fit.
        """

    @abstractmethod
    def table_sizes(self) -> tuple[int | None, int | None]:
        """Give what the table says of how many bytes a partition reads, and of what a file counts at least."""

    @abstractmethod
    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read what `groups` gave, perhaps in another process: the schema, and at most `limit` rows in all."""

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan, and give the partitions: wire forms that are read together. With a limit there is one at most."""
        split, cost = self._sizes()
        plan = self.scan(columns, row_filter, limit).plan()
        if limit is None:
            return [[content] for content in plan.groups(split, cost)]
        everything = plan.groups(_EVERYTHING_BYTES, cost)
        return [everything] if everything else []

    def lasting_options(self) -> dict[str, str | None] | None:
        """Return options by which every later read has this state, None for those to leave out.

        The result itself is None if the state cannot be named.
        """
        return None

    def newest_of(self) -> BranchRead | None:
        """Return the branch that is read, if the state is what its newest one was; None for any other state."""
        return None

    def native_files(self, *, nullable: bool, is_filtered_later: bool) -> NativeFiles | None:  # noqa: ARG002
        """Return the data files that Spark reads with the same result; None for none.

        With `nullable`, files of required columns are among them: Spark returns these columns as nullable. With
        `is_filtered_later`, Spark may return rows that the filter excludes.
        """
        return None

    def files(self) -> _native.Files:
        """Give the storage as an executor sees it: wire forms name their files by themselves."""
        from frazil import _native

        return _native.Files("/", [], [], self.asked.storage)

    def _sizes(self) -> tuple[int, int]:
        split, cost = self.table_sizes()
        costs = (self.asked.open_cost_bytes, cost, OPEN_COST_BYTES)
        return self.asked.split_bytes or split or SPLIT_BYTES, next(cost for cost in costs if cost is not None)
