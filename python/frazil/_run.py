"""Runs an operation on a table: prepares it once, then plans, executes and commits it until no conflict remains.

An operation is a value that is the same for tables, transactions and Spark. Each format defines its operations. Only
this module determines the order of the steps, and the files to delete if a step fails.
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
    """The snapshot of a branch that an operation on the same branch read its rows from."""

    snapshot_id: int | None
    """The snapshot; None if the branch was empty."""


class States(Protocol[State_co]):
    """A table in the form that operations use."""

    def state(self) -> State_co:
        """Return the current state."""

    def newest(self) -> State_co:
        """Load the latest state, make it the current one and return it."""


class Ready(Protocol[State_contra]):
    """The result of preparing an operation before its first attempt, such as written data files."""

    def fit(self, state: State_contra) -> Self:
        """Return a version for the given state, which may be newer than the state that this was prepared for.

        Raises:
            CommitConflictError: The schema or the partition spec changed, and the rows cannot be read again.
        """

    def abort(self) -> None:
        """Delete the files that were written during preparation and will not be committed."""


class Work(Protocol[Writer_contra, Change_co]):
    """An attempt at an operation, planned on one state."""

    def execute(self, writer: Writer_contra) -> Change_co:
        """Write the files of the attempt and return the change to commit."""


class Done(Generic[Change]):
    """Work without execution: all files were written during preparation."""

    def __init__(self, change: Change) -> None:
        """Keep the change that `execute` returns."""
        self._change = change

    def execute(self, writer: object) -> Change:  # noqa: ARG002 - as of `Work`
        """Return the change that was passed to the constructor."""
        return self._change


class Operation(Protocol[State_contra]):
    """An operation requested by a user: a frozen value without rows, which is pickled for workers."""

    replans: ClassVar[bool]
    """Whether a conflict is resolved by planning again on the latest state."""

    def prepare(self, table: States[State_contra], rows: Any) -> Any:
        """Do the work that all attempts share: write the rows into files, or read them."""

    def plan(self, state: State_contra, ready: Any, tasks: bytes | None = None) -> Any:
        """Plan one attempt; in a worker, only the part given by `tasks`."""


class Staged(Protocol[State_co, Change_contra]):
    """Staged changes before their commit. The `with` block deletes their files if it raises."""

    @property
    def may_be_committed(self) -> bool:
        """Whether the changes are committed or their outcome is unknown, so that nothing may be deleted."""

    def state(self) -> State_co:
        """Return the state with all changes so far."""

    def add(self, change: Change_contra) -> WriteResult:
        """Add a change and return its result, whose last fields are set by the commit."""

    def commit(self) -> int:
        """Commit and return the number of attempts, including earlier ones."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Executor(Protocol):
    """Carries out the work of an attempt."""

    def execute(self, operation: Any, work: Any, ready: Any, staged: Any) -> Any:
        """Do the work and return the change to commit."""


class _Here:
    """An executor that works in this process."""

    def execute(self, operation: Any, work: Work[Any, Change], ready: Any, staged: Any) -> Change:  # noqa: ARG002
        return work.execute(staged)


HERE = _Here()


class Target(States[State_co], Protocol[State_co]):
    """A table that operations change."""

    def begin(self) -> Staged[State_co, Any]:
        """Begin changes to the current state."""

    def adopt(self, staged: Any) -> None:
        """Make the state that the commit of `staged` published the current state."""

    def replan(self) -> bool:
        """Back off and load the latest state for another attempt; return False if the attempts are used up."""

    def is_behind(self) -> bool:
        """Load the latest state and return whether it differs from the current one."""

    def end(self) -> None:
        """End the attempts and let the next waiting writer on this machine continue."""


def apply(
    staged: Staged[State, Any], operation: Operation[State], ready: Any, executor: Executor = HERE
) -> WriteResult:
    """Plan and execute an operation on the staged state, and add its change to the staged changes."""
    work = operation.plan(staged.state(), ready)
    return staged.add(executor.execute(operation, work, ready, staged))


def run(target: Target[State], operation: Operation[State], rows: Any = None, executor: Executor = HERE) -> WriteResult:
    """Carry out one operation and commit it.

    Rows are read and written once, because a stream can be read only once. If a concurrent writer changed the data that
    the operation depends on, the operation is planned again on the latest state.

    Raises:
        CommitConflictError: Concurrent commits won in every attempt.
        CommitStateUnknownError: It is unknown whether the change was committed; nothing was deleted.
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
                # The current state may have expired since it was loaded, and its files may have been deleted.
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
