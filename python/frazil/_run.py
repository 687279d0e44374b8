"""Carry out an operation on a table: prepare it once, then plan, execute and commit it until no writer is in the way.

An operation is a value, the same for tables, transactions and Spark. A format describes what its operations do; this
module is the one place that knows in which order, and what is deleted if a step fails.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from frazil._write_result import settle
from frazil.errors import CommitConflictError, MissingFileError

if TYPE_CHECKING:
    from types import TracebackType

    from frazil._write_result import WriteResult

__all__ = [
    "HERE",
    "Done",
    "Executor",
    "Operation",
    "ReadSnapshot",
    "Ready",
    "Staged",
    "States",
    "Target",
    "Work",
    "apply",
    "run",
]

State = TypeVar("State")
State_co = TypeVar("State_co", covariant=True)
State_contra = TypeVar("State_contra", contravariant=True)
Change = TypeVar("Change")
Change_co = TypeVar("Change_co", covariant=True)
Change_contra = TypeVar("Change_contra", contravariant=True)
Writer_contra = TypeVar("Writer_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """The snapshot of a branch whose rows were read to make the rows of an operation on the same branch."""

    snapshot_id: int | None
    """None if the branch had no snapshot."""


class States(Protocol[State_co]):
    """A table as an operation finds it."""

    def state(self) -> State_co:
        """Return the state that is at hand."""

    def newest(self) -> State_co:
        """Load and return the newest state; it is the one at hand afterwards."""


class Ready(Protocol[State_contra]):
    """What an operation did before its first attempt, such as data files that it wrote."""

    def fit(self, state: State_contra) -> Self:
        """Return what fits a state that may be newer than the one that this was prepared for.

        Raises:
            CommitConflictError: The schema or the partition spec changed, and rows cannot be read again.
        """

    def abort(self) -> None:
        """Delete files that will not be committed."""


class Work(Protocol[Writer_contra, Change_co]):
    """One attempt at an operation, planned on one state."""

    def execute(self, writer: Writer_contra) -> Change_co:
        """Write what the attempt writes, and return the change to commit."""


class Done(Generic[Change]):
    """Work that needs no execution: all files were written when the operation was prepared."""

    def __init__(self, change: Change) -> None:
        """Take the change."""
        self._change = change

    def execute(self, writer: object) -> Change:  # noqa: ARG002 - as of `Work`
        """Return the change."""
        return self._change


class Operation(Protocol[State_contra]):
    """What a user asked for: a frozen value without rows, which workers get as a pickle."""

    replans: ClassVar[bool]
    """Whether a conflict is resolved by planning again on the newest state."""

    def prepare(self, table: States[State_contra], rows: Any) -> Any:
        """Do once what all attempts share: write the rows into files, or read them."""

    def plan(self, state: State_contra, ready: Any, tasks: bytes | None = None) -> Any:
        """Plan one attempt; in a worker, the part of it that `tasks` names."""


class Staged(Protocol[State_co, Change_contra]):
    """Changes on their way to a commit. The `with` block deletes their files if it raises."""

    @property
    def may_be_committed(self) -> bool:
        """Whether the changes are committed, or the outcome is unknown: nothing may be deleted."""

    def state(self) -> State_co:
        """Return the state with all changes so far."""

    def add(self, change: Change_contra) -> WriteResult:
        """Make a change; the result is complete after the commit."""

    def commit(self) -> int:
        """Commit, and return the number of attempts, those before counted."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Executor(Protocol):
    """Where the work of an attempt is done."""

    def execute(self, operation: Any, work: Any, ready: Any, staged: Any) -> Any:
        """Do the work, and return the change to commit."""


class _Here:
    """This process."""

    def execute(self, operation: Any, work: Work[Any, Change], ready: Any, staged: Any) -> Change:  # noqa: ARG002
        return work.execute(staged)


HERE = _Here()


class Target(States[State_co], Protocol[State_co]):
    """A table that operations change."""

    def begin(self) -> Staged[State_co, Any]:
        """Begin changes of the state at hand."""

    def adopt(self, staged: Any) -> None:
        """Go to the state that a commit made."""

    def replan(self) -> bool:
        """Wait, and load the newest state for another attempt; return False if no more attempts are allowed."""

    def is_behind(self) -> bool:
        """Load the newest state, and return whether it is another one than that which was at hand."""

    def end(self) -> None:
        """End the attempts: let other writers of this machine have their turn."""


def apply(
    staged: Staged[State, Any], operation: Operation[State], ready: Any, executor: Executor = HERE
) -> WriteResult:
    """Make the change of an operation on what is staged."""
    work = operation.plan(staged.state(), ready)
    return staged.add(executor.execute(operation, work, ready, staged))


def run(target: Target[State], operation: Operation[State], rows: Any = None, executor: Executor = HERE) -> WriteResult:
    """Carry out one operation and commit it.

    Rows are read and written once: a stream gives them only once. If another writer changed what the operation looked
    at, it is planned again on the newest state.

    Raises:
        CommitConflictError: Other writers were first in each attempt.
        CommitStateUnknownError: It is not known whether the change was committed; nothing was deleted.
    """
    began = time.perf_counter()
    ready = operation.prepare(target, rows)
    staged = None
    try:
        while True:
            try:
                staged = target.begin()
                with staged:
                    ready = ready.fit(staged.state())
                    result = apply(staged, operation, ready, executor)
                    count = staged.commit()
                target.adopt(staged)
                break
            except CommitConflictError:
                if not (operation.replans and target.replan()):
                    raise
            except MissingFileError:
                # The state at hand may have expired since it was loaded, with its files.
                if not target.is_behind():
                    raise
    except BaseException:
        # A signal may arrive after the commit.
        if staged is None or not staged.may_be_committed:
            ready.abort()
        raise
    finally:
        target.end()
    settle(result, attempts=count, seconds=time.perf_counter() - began)
    return result
