"""The operation that writes partitions again with another number of buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from frazil._run import Done, ReadSnapshot
from frazil.paimon._input_rows import ArrowRows
from frazil.paimon._messages import Messages
from frazil.paimon._operations import Overwrite
from frazil.paimon._read import read_splits
from frazil.paimon._scan import rows_scan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._run import States
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["Rescale"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """Replaces the rows of partitions that have another number of buckets than the table by the same rows."""

    replans: ClassVar[bool] = False
    options: CommitOptions
    buckets: int
    """The number of buckets of the table."""
    partitions: Sequence[Mapping[str, str | None]] | None = None
    """The partition column values as strings; None for all partitions."""

    def prepare(self, table: States[TableState], rows: Any = None) -> Messages:  # noqa: ARG002 - as of `Operation`
        """Read the rows, and write them into new files."""
        state = table.newest()
        scan = rows_scan(state.native, "", columns=("*",))
        plan = scan.plan(1)
        splits = [split for split in map(plan.split, range(len(plan))) if split.total_buckets != self.buckets]
        splits = [split for split in splits if self._is_wanted(dict(split.partition_values))]
        if not splits:
            return Messages(state.begin_commit(self.options), [], compacts=True)
        found = dict.fromkeys(tuple(split.partition_values) for split in splits)
        overwrite = Overwrite(
            options=self.options,
            partitions=[dict(values) for values in found] if splits[0].partition_values else None,
            read=ReadSnapshot(scan.snapshot_id),
        )
        return overwrite.prepare(table, ArrowRows(read_splits(splits, workers=1)))

    def plan(self, state: TableState, ready: Messages, tasks: bytes | None = None) -> Done[Messages]:  # noqa: ARG002
        """Return the commit."""
        return Done(ready)

    def _is_wanted(self, values: Mapping[str, str | None]) -> bool:
        given = self.partitions
        return given is None or any(all(values.get(name, "") == one[name] for name in one) for one in given)
