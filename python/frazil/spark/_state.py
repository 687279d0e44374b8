"""The source of a DataFrame: a table of any format at one state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from frazil import _native, iceberg, paimon
    from frazil._changes import Changes
    from frazil._virtual_table import VirtualScan
    from frazil.spark._branch_read import BranchRead
    from frazil.spark._lanes import NativeFiles
    from frazil.spark._options import ReadOptions

    Scan = iceberg.Scan | paimon.Scan | VirtualScan | Changes[Any, Any]

SPLIT_BYTES = 128 << 20
"""The bytes of files that a partition reads, unless set by an option or by the table."""

OPEN_COST_BYTES = 4 << 20
"""The minimum size that a file counts as, unless set by an option or by the table."""

_EVERYTHING_BYTES = (1 << 63) - 1


class ReadState(ABC):
    """A table at the state of its creation. Every read returns the same rows. The open table is not pickled."""

    has_native_files: ClassVar[bool] = False
    """Whether Spark can read some of the data files itself."""

    def __init__(self, asked: ReadOptions) -> None:
        """Keep the options of the read."""
        self.asked = asked

    @abstractmethod
    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Scan:
        """Create a scan of the state.

        Raises:
            InvalidArgumentError: A column or literal is invalid.
        """

    @abstractmethod
    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return the table's settings for the bytes of a partition and for the minimum size of a file."""

    @abstractmethod
    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read parts returned by `groups`, possibly in another process: the schema and at most `limit` rows."""

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan the read and return its partitions, each as serialized parts; with a limit, at most one partition."""
        split, cost = self._sizes()
        plan = self.scan(columns, row_filter, limit).plan()
        if limit is None:
            return [[content] for content in plan.groups(split, cost)]
        everything = plan.groups(_EVERYTHING_BYTES, cost)
        return [everything] if everything else []

    def lasting_options(self) -> dict[str, str | None] | None:
        """Return the options that select this state in later reads; a value of None removes an option.

        The result is None if no options can select the state.
        """
        return None

    def char_lengths(self) -> dict[str, int]:
        """Return the lengths of the columns that Spark pads with spaces, by name."""
        return {}

    def newest_of(self) -> BranchRead | None:
        """Return the branch that is read if the state was its latest; None for any other state."""
        return None

    def native_files(self, *, nullable: bool, is_filtered_later: bool) -> NativeFiles | None:  # noqa: ARG002
        """Return the data files that Spark can read with the same result, or None.

        With `nullable`, files with required columns are included: Spark returns these columns as nullable. With
        `is_filtered_later`, Spark may return rows that the filter excludes.
        """
        return None

    def check_session(self, setting: Callable[[str], str | None]) -> None:  # noqa: B027 - most states do not depend on it
        """Check in a task that the settings of its session do not select another state.

        `setting` returns a setting by name.

        Raises:
            UnsupportedError: They do, but were not known when the state was selected.
        """

    def files(self) -> _native.Files:
        """Return the storage of an executor; serialized tasks identify their own files."""
        from frazil import _native

        return _native.Files("/", [], [], self.asked.storage)

    def _sizes(self) -> tuple[int, int]:
        split, cost = self.table_sizes()
        costs = (self.asked.open_cost_bytes, cost, OPEN_COST_BYTES)
        return self.asked.split_bytes or split or SPLIT_BYTES, next(cost for cost in costs if cost is not None)
