"""The format-independent parts of reading changes."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from frazil import _scan as scan
from frazil._arguments import field_names, filter_text, flag, whole_number
from frazil._boundary import guarded, operation_of
from frazil._read_ahead import limited
from frazil.config import config
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil import _native
    from frazil._arguments import RowFilter

COLUMNS = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
"""The columns that follow the table columns in changes."""

_SHARE_OF_MEMORY = 8
"""The divisor of the memory limit that yields the memory for rows buffered until they are paired."""

P = TypeVar("P", bound=scan.NativePlan)
Stage = TypeVar("Stage")


class Changes(scan.Scan[P, Stage]):
    """The rows that snapshots inserted and deleted, read on request."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the changes as Arrow record batches, in the order of the snapshots."""
        import pyarrow as pa

        plan = self._plan()
        every = (batch for index in range(len(plan)) for batch in self._read(self._part(plan, index)))
        batches = limited(every, self._limit)
        return pa.RecordBatchReader.from_batches(self.schema(), guarded("changes", self._place, batches))

    @operation_of
    def count(self) -> int:
        """Count the changes by reading them."""
        return sum(batch.num_rows for batch in self.to_arrow_batch_reader())

    @abstractmethod
    def _part(self, plan: P, index: int) -> Stage:
        """Return the stage of a plan at an index."""


class Paired(Protocol):
    """A stage whose rows may have to be paired."""

    def pairs(self, memory_bytes: int) -> _native.ChangePairs | None:
        """Return the object that pairs deleted and inserted rows; None if this stage does not need pairing."""


def paired(stage: Paired, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Stream the rows of a stage; paired rows are emitted after all rows have been read."""
    pairs = stage.pairs(max(1, config.memory_limit // _SHARE_OF_MEMORY))
    if pairs is None:
        yield from rows
        return
    for batch in rows:
        pairs.push(batch)
    while (batch := pairs.next_batch()) is not None:
        yield batch


def native_arguments(  # noqa: PLR0913 - the arguments of `Table.changes`
    snapshots: tuple[int | None, int | None],
    *,
    row_filter: RowFilter,
    selected_fields: Sequence[str],
    net_changes: bool,
    compute_updates: bool | None,
    identifier_columns: Sequence[str],
    carryovers: bool,
    case_sensitive: bool,
    has_key: bool = False,
) -> dict[str, Any]:
    """Check the arguments of `Table.changes` and return those of the native scan.

    `has_key` states whether the table has a primary key, in which case updates are computed by default.

    Raises:
        InvalidArgumentError: An argument has the wrong type, or arguments contradict each other.
    """
    identifiers = field_names(identifier_columns, "identifier_columns") if identifier_columns != () else []
    names = ("from_snapshot_id_exclusive", "to_snapshot_id_inclusive")
    first, last = (None if it is None else whole_number(name, it) for name, it in zip(names, snapshots, strict=True))
    return {
        "row_filter": filter_text(row_filter),
        "selected_fields": field_names(selected_fields),
        "case_sensitive": flag("case_sensitive", case_sensitive),
        "snapshots": (first, last),
        "mode": _mode(
            net=flag("net_changes", net_changes),
            updates=None if compute_updates is None else flag("compute_updates", compute_updates),
            carryovers=flag("carryovers", carryovers),
            identifiers=identifiers,
            has_key=has_key,
        ),
        "identifier_columns": identifiers,
    }


def _mode(*, net: bool, updates: bool | None, carryovers: bool, identifiers: list[str], has_key: bool) -> str:
    """Return the pairing mode: `net`, `updates`, `carryovers`, or `changes` for unpaired rows."""
    if updates is None:
        updates = bool(identifiers) or (has_key and not net and not carryovers)
    if identifiers and not updates:
        message = "identifier_columns apply only to updates, which compute_updates=False disables"
        raise InvalidArgumentError(message)
    modes = {"net": net, "updates": updates, "carryovers": carryovers}
    chosen = [mode for mode, wanted in modes.items() if wanted]
    if len(chosen) > 1:
        message = "net_changes, compute_updates and carryovers are mutually exclusive"
        raise InvalidArgumentError(message, hint="read the changes separately for each mode")
    return chosen[0] if chosen else "changes"
