"""The operations on the rows of a Paimon table: each is a value, which `frazil._run` carries out.

A commit of new rows is not replanned after a conflict. Rows that are added concurrently do not conflict, and only the
user can resolve conflicts with rows that were replaced concurrently. A compaction is planned again for the buckets that
another writer changed, and a change of rows that rewrites files if another writer removed them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from frazil._run import Done, Operation, States
from frazil._write_result import WriteResult
from frazil.errors import FrazilError, UnsupportedError
from frazil.paimon._messages import Messages, commit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from frazil._run import ReadSnapshot
    from frazil.paimon._state import CommitOptions, Replaced, TableState

__all__ = [
    "Append",
    "Compact",
    "NoRows",
    "Overwrite",
    "OverwritePartitions",
    "RowInput",
    "TableOperation",
    "Target",
]


TableOperation = Operation["TableState"]
"""An operation on a table."""

_MAX_REPLANS = 100
"""The maximum number of new plans; `commit.max-retries` limits those after a lost commit."""

_MAX_MISSING = 5
"""The maximum number of repetitions after a missing file; other writers may commit all the time."""

_NO_SNAPSHOT = 0
"""The id of no snapshot."""


class RowInput(Protocol):
    """Rows given by a user."""

    def write(self, state: TableState, *, overwrites: bool) -> list[bytes]:
        """Write the rows into new files and return the commit messages.

        For an overwrite, the sequence numbers of the earlier rows in a bucket are not continued.
        """


class NoRows:
    """The input of an overwrite that only deletes rows. No file is written, so all column types are accepted."""

    def write(self, state: TableState, *, overwrites: bool) -> list[bytes]:  # noqa: ARG002 - as of `RowInput`
        """Return an empty list of messages."""
        return []


class _Write:
    """The common parts of operations with rows."""

    replans: ClassVar[bool] = False
    options: CommitOptions
    read: ReadSnapshot | None

    def prepare(self, table: States[TableState], rows: RowInput) -> Messages:
        """Write the rows into new files, and compact the buckets of added rows that have many files."""
        from frazil.paimon._compacting import with_compaction

        state = table.newest()
        replaced, partitions = self._replaced()
        if replaced not in {None, "table"} and state.native.moves_keys() and not isinstance(rows, NoRows):
            message = "the primary key lacks a partition column, so the keys of the rows may be in other partitions"
            hint = "append the rows, which replace rows with the same key, or overwrite the whole table"
            raise UnsupportedError(message, context={"table": state.native.location}, hint=hint)
        read = self.read or (state.read_keys() if replaced is None else None)
        commit = state.begin_commit(self.options, replaced, partitions, read)
        written = Messages(commit, rows.write(state, overwrites=replaced is not None))
        return with_compaction(state, self.options, written, replaces=replaced is not None)

    def plan(self, state: TableState, ready: Messages, tasks: bytes | None = None) -> Done[Messages]:  # noqa: ARG002
        """Return the commit."""
        return Done(ready)

    def _replaced(self) -> tuple[Replaced | None, Sequence[Mapping[str, str | None]]]:
        """Return the scope of the replacement, and the given partitions; None and an empty sequence for an append."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Append(_Write):
    """Adds rows, which update rows with the same primary key."""

    options: CommitOptions
    read: None = None

    def _replaced(self) -> tuple[Replaced | None, Sequence[Mapping[str, str | None]]]:
        return None, ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite(_Write):
    """Replaces all rows, or the rows of some partitions."""

    options: CommitOptions
    partitions: Sequence[Mapping[str, str | None]] | None = None
    """The partition column values as strings; None for all rows."""
    read: ReadSnapshot | None = None
    """The snapshot that the rows were read from; later row changes are conflicts."""

    def _replaced(self) -> tuple[Replaced | None, Sequence[Mapping[str, str | None]]]:
        return ("table", ()) if self.partitions is None else ("partitions", self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwritePartitions(_Write):
    """Replaces all rows of the partitions that contain new rows."""

    options: CommitOptions
    read: ReadSnapshot | None = None
    """The snapshot that the rows were read from; later row changes are conflicts."""

    def _replaced(self) -> tuple[Replaced | None, Sequence[Mapping[str, str | None]]]:
        return "dynamic", ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Rewrites the files of buckets into fewer files."""

    replans: ClassVar[bool] = False
    options: CommitOptions
    full: bool = True
    """Whether to compact every bucket whose file count decreases; if False, only buckets with many files."""
    partitions: Sequence[Mapping[str, str | None]] = ()
    row_filter: str = ""

    assigns_buckets: bool = False
    """Whether to assign rows that wait for buckets to them, instead of compacting buckets."""

    def prepare(self, table: States[TableState], rows: Any = None) -> Messages:  # noqa: ARG002 - as of `Operation`
        """Rewrite the files."""
        from frazil.paimon._compacting import Wanted, assignment, compaction

        wanted = Wanted(full=self.full, partitions=[dict(one) for one in self.partitions], row_filter=self.row_filter)
        compact = assignment if self.assigns_buckets else compaction
        return compact(table.newest(), self.options, wanted)

    def plan(self, state: TableState, ready: Messages, tasks: bytes | None = None) -> Done[Messages]:  # noqa: ARG002
        """Return the commit."""
        return Done(ready)


class StagedCommit:
    """A commit in preparation."""

    def __init__(self, state: TableState, earlier: int) -> None:
        """Keep the table state, and the number of earlier attempts."""
        self._state, self._earlier = state, earlier
        self.ready: Messages | None = None
        self._result = WriteResult(None)

    @property
    def may_be_committed(self) -> bool:
        """Whether the files are committed or the outcome is unknown, so that nothing may be deleted."""
        return self.ready is not None and self.ready.commit.may_be_committed

    def state(self) -> TableState:
        """Return the table state."""
        return self._state

    def add(self, change: Messages) -> WriteResult:
        """Add the messages to commit and return the result, which is completed by the commit."""
        self.ready = change
        return self._result

    def commit(self) -> int:
        """Commit and return the number of attempts, including earlier ones: 0 if there was nothing to commit."""
        attempts = 0 if self.ready is None else commit(self.ready, self._result, self._state.native.location)
        return attempts and attempts + self._earlier

    def __enter__(self) -> Self:
        """Return the staged commit."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: if the commit fails, `Messages.abort` deletes the new files."""


class Target:
    """A table changed by one operation."""

    def __init__(self, state: TableState) -> None:
        """Keep the table state."""
        self._state = state
        self._staged: StagedCommit | None = None
        self._replans = 0
        self._missing = 0
        self._missing_in: int | None = _NO_SNAPSHOT

    def state(self) -> TableState:
        """Return the current state."""
        return self._state

    def newest(self) -> TableState:
        """Load the latest schema and return the table state with this schema."""
        self._state = self._state.refreshed()
        return self._state

    def begin(self) -> StagedCommit:
        """Begin a commit."""
        self._staged = StagedCommit(self._state, self._replans)
        return self._staged

    def adopt(self, staged: StagedCommit) -> None:
        """Do nothing: the commit is already complete."""

    def replan(self) -> bool:
        """Back off and load the latest state for another attempt.

        The result is False if the attempts are used up, if another table has replaced this one, or if the change is
        committed and only its compaction failed.

        Commits retry internally, so a conflict shows that another writer replaced files, or altered the table while the
        attempt was planned. A new plan has the new schema, so it does not wait.
        """
        self._replans += 1
        if self._staged is None or self._staged.may_be_committed or self._replans > _MAX_REPLANS:
            return False
        ready = self._staged.ready
        return (ready is None or ready.commit.back_off(self._replans)) and self._is_reloaded()

    def is_behind(self) -> bool:
        """Load the latest state and return whether an attempt that found a missing file should be repeated.

        The snapshot of an attempt is not known here, so the first repetition does not require a newer snapshot. A
        commit reads the latest snapshot itself and is not repeated.
        """
        if self._staged is None or self._staged.ready is not None or self._missing == _MAX_MISSING:
            return False
        self._missing += 1
        snapshot = json.loads(self._state.native.snapshot_json(None))
        latest = None if snapshot is None else snapshot["id"]
        known, self._missing_in = self._missing_in, latest
        return latest != known and self._is_reloaded()

    def _is_reloaded(self) -> bool:
        """Load the latest state; return False if the table was dropped, or if another table replaced it."""
        known = self._state.native.schema_json(None)
        try:
            return self.newest().native.schema_json(json.loads(known)["id"]) == known
        except FrazilError:
            return False

    def end(self) -> None:
        """Do nothing, because the commit has ended its attempts."""
