"""Runs a history: each step is performed with frazil and with the model, and the results are compared."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import frazil
from histories.iceberg.change_checks import check_commit, check_range
from histories.iceberg.checks import Mismatch, check_appends, check_head, check_read, check_tasks, compare, demand
from histories.iceberg.evolution import evolve
from histories.iceberg.history import (
    MAIN,
    Elsewhere,
    Evolution,
    Load,
    Read,
    ReadAppends,
    Rewrite,
    RowStep,
    Transaction,
)
from histories.iceberg.perform import apply_rewrite, create, perform, plan_rewrite
from histories.iceberg.references import move
from histories.iceberg.row_changes import Outcome, change_rows
from histories.iceberg.state import NotApplicable, Refused, State, new_state
from histories.values import text_of

if TYPE_CHECKING:
    from frazil._write_result import WriteResult
    from frazil.iceberg import Table
    from histories.iceberg.history import History, NewTable, Step

HANDLES = 3

Engine = Callable[[Path, Elsewhere], None]
"""A function that performs a step of another engine on the table in a folder."""


@dataclass(eq=False)
class World:
    """A table, its state in the model, and handles of different ages."""

    folder: Path
    state: State
    handles: list[Table]
    location: str
    states: dict[str, State]
    snapshot_ids: list[int] = field(default_factory=list)
    used_ids: set[int] = field(default_factory=set)
    refusals: Counter[str] = field(default_factory=Counter)
    engine: Engine | None = None

    @classmethod
    def new(cls, folder: Path, table: NewTable, engine: Engine | None = None) -> World:
        """Create the table and its handles."""
        made = create(folder / "t", table)
        state = new_state(table)
        location = made.metadata_location
        handles = [made, *(frazil.load_table(made.location) for _ in range(HANDLES - 1))]
        return cls(folder, state, handles, location, {location: state}, engine=engine)

    def load(self) -> Table:
        return frazil.load_table(self.folder / "t", format="iceberg")

    def seen(self, handle: int) -> State:
        """Return the state of a handle."""
        return self.states[self.handles[handle].metadata_location]

    def step(self, step: Step) -> None:
        """Perform one step and compare the results.

        Raises:
            Mismatch: frazil and the model differ.
        """
        match step:
            case Load():
                self.handles[step.handle] = self.load()
            case Read():
                check_read(self.handles[step.handle], self.seen(step.handle), step, self.snapshot_ids)
            case ReadAppends():
                check_appends(self.handles[step.handle], self.seen(step.handle), step, self.snapshot_ids)
                check_range(self.handles[step.handle], self.seen(step.handle), step, self.snapshot_ids)
            case Transaction():
                self._transaction(step)
            case Elsewhere():
                self._elsewhere(step)
            case Rewrite():
                self._rewrite(step)
            case _:
                self._change(step, lambda: perform(self.handles[step.handle], step, self.snapshot_ids))

    def finish(self) -> None:
        """Compare all changes in the history of `main` with its rows.

        Raises:
            Mismatch: frazil and the model differ.
        """
        count = len(self.state.ancestors(self.state.place_of("main")))
        check_range(self.load(), self.state, ReadAppends(0, None, count - 1, None), self.snapshot_ids)

    def _elsewhere(self, step: Elsewhere) -> None:
        """Perform the step of the other engine, if there is one."""
        if self.engine is None:
            return
        try:
            outcome = apply(self.state, step)
        except NotApplicable:
            return
        self.engine(self.folder, step)
        table = self.load()
        if table.metadata_location == self.location:
            self._no_effect(outcome.state, MAIN)
        else:
            self._adopt(table, outcome.state)

    def _rewrite(self, step: Rewrite) -> None:
        try:
            apply(self.state, step)
        except NotApplicable:
            return
        plan = plan_rewrite(self.handles[step.handle], step)
        for other in step.meanwhile:
            self.step(replace(other, handle=(step.handle + 1) % HANDLES))
        self._change(step, lambda: apply_rewrite(plan))

    def _change(self, step: Any, make: Callable[[], WriteResult | None]) -> None:
        table, before = self.handles[step.handle], self.state
        stale = self.seen(step.handle) is not before
        try:
            outcome: Outcome | None = apply(_by_writer(before, self.seen(step.handle)), step)
        except Refused as error:
            outcome, reason = None, str(error)
        except NotApplicable:
            return
        try:
            result = make()
        except frazil.FrazilError as error:
            self._refused(step, outcome, error, lenient=stale)
            return
        if outcome is None:
            changed = self.load().metadata_location != self.location
            demand(not changed and stale and result is not None, f"was not refused: {reason}")
            return
        self._took_effect(table, step, outcome, result)

    def _refused(self, step: Any, outcome: Outcome | None, error: frazil.FrazilError, *, lenient: bool) -> None:
        """Check an error: it may be valid, and then nothing has changed."""
        self.refusals[f"{type(step).__name__}: {type(error).__name__}: {error}"[:200]] += 1
        self._unchanged()
        right = outcome is None or outcome.may_fail or _takes_a_field_name(step, error)
        right = right or (lenient and _may_conflict(step, error))
        demand(not isinstance(error, frazil.errors.InternalError), f"an internal error: {error}")
        if not right:
            raise Mismatch(f"was refused: {type(error).__name__}: {error}") from error

    def _unchanged(self) -> None:
        demand(self.load().metadata_location == self.location, "a step that failed changed the table")

    def _took_effect(self, table: Table, step: Any, outcome: Outcome, result: WriteResult | None) -> None:
        if isinstance(step, RowStep):
            assert result is not None
            counts = (result.deleted_rows, result.updated_rows, result.inserted_rows)
            wanted = (outcome.deleted, outcome.updated, outcome.inserted)
            demand(counts == wanted, f"(deleted, updated, inserted) are {counts}, expected {wanted}: {result}")
            if result.snapshot_id is None:
                self._no_effect(outcome.state, step.branch)
                outcome = replace(outcome, state=self.state)
        self._adopt(table, outcome.state)

    def _no_effect(self, after: State, branch: str) -> None:
        rows = [list(map(text_of, state.rows(branch))) for state in (self.state, after)]
        compare("nothing was committed", rows[0], rows[1])

    def _adopt(self, table: Table, after: State) -> None:
        """Advance to the state after a commit, and compare the branches that changed."""
        before, after = self.state, replace(after, behind=False)
        if table.metadata_location in self.states:
            self._unchanged()
            demand(after.shape == before.shape, "nothing was committed")
            demand(after.refs == before.refs, "no reference was changed")
            return
        snapshots = table.snapshots()
        known = set(self.snapshot_ids)
        new = [snapshot for snapshot in snapshots if snapshot.snapshot_id not in known]
        count = len(after.snapshots) - len(before.snapshots)
        demand(len(new) == count, f"{len(new)} snapshots were made instead of {count}")
        self.snapshot_ids += [snapshot.snapshot_id for snapshot in new]
        places = range(len(before.snapshots), len(after.snapshots))
        found = list(after.snapshots)
        for place, snapshot in zip(places, new, strict=True):
            found[place] = self._with_operation(found[place], snapshot)
        refs = {name: self.snapshot_ids[ref.snapshot] for name, ref in after.refs.items()}
        actual = {name: ref.snapshot_id for name, ref in table.refs().items()}
        demand(refs == actual, f"references are {actual}, expected {refs}")
        after = replace(after, snapshots=tuple(found))
        for name, ref in after.refs.items():
            if not ref.is_tag and (before.refs.get(name) != ref or after.columns is not before.columns):
                first = new[0].sequence_number if new else 0
                head = check_head(table, after, name, self.used_ids, first)
                if head is not None:
                    found[ref.snapshot] = head
        after = replace(after, snapshots=tuple(found))
        self.state = self.states[table.metadata_location] = after
        self.location = table.metadata_location
        head = after.head()
        if head is not None:
            check_tasks("main", table.scan(), after.columns, head.read(after.columns))
        for place in places:
            check_commit(table, after, place, self.snapshot_ids)

    def _with_operation(self, snapshot: Any, actual: Any) -> Any:
        """Adopt the operation of the snapshot: some changes can have several operation names."""
        if actual.operation == "append":
            demand(snapshot.operation == "append", f"rows were removed, and the operation is append: {actual.summary}")
        return replace(snapshot, operation=actual.operation)

    def _transaction(self, step: Transaction) -> None:
        table, start = self.handles[step.handle], self.state
        seen = self.seen(step.handle)
        stale = seen is not start
        made: list[tuple[Any, Any]] = []
        try:
            with table.transaction() as changes:
                staged = start if not stale else None
                for inner in step.steps:
                    staged = self._inner(changes, inner, staged, made)
                for other in step.meanwhile:
                    self.step(replace(other, handle=(step.handle + 1) % HANDLES))
        except _Abort as abort:
            self._unchanged()
            if abort.mismatch is not None:
                raise Mismatch(abort.mismatch) from abort
            return
        except frazil.FrazilError as error:
            self._unchanged()
            self.refusals[f"Transaction: {type(error).__name__}: {error}"[:200]] += 1
            lenient = stale or self.state is not start or isinstance(error, frazil.errors.CommitConflictError)
            demand(lenient, f"the transaction was refused: {type(error).__name__}: {error}")
            return
        after = _by_writer(self.state, seen)
        try:
            for inner, result in made:
                # A commit that conflicts with another writer's rows may have found some to delete.
                if not isinstance(inner, RowStep) or result.snapshot_id is not None:
                    after = apply(after, inner).state
        except (NotApplicable, Refused) as error:
            demand(not made, f"was committed though {error}")
        self._adopt(table, _without_intermediate(self.state, after))

    def _inner(self, changes: Any, step: Any, staged: State | None, made: list[tuple[Any, Any]]) -> State | None:
        """Perform a step of a transaction; the state is unknown on a stale handle."""
        outcome: Outcome | None = None
        if staged is not None:
            try:
                outcome = apply(staged, step)
            except NotApplicable:
                return staged
            except Refused:
                pass
        try:
            result = perform(changes, step, self.snapshot_ids)
        except frazil.FrazilError as error:
            right = outcome is None or outcome.may_fail or _takes_a_field_name(step, error)
            raise _Abort(None if right else f"{step} was refused: {type(error).__name__}: {error}") from error
        if staged is not None and outcome is None:
            raise _Abort(f"{step} was not refused")
        if isinstance(step, RowStep):
            assert result is not None
            if outcome is not None:
                counts = (result.deleted_rows, result.updated_rows, result.inserted_rows)
                wanted = (outcome.deleted, outcome.updated, outcome.inserted)
                if counts != wanted:
                    raise _Abort(f"{step}: (deleted, updated, inserted) are {counts}, expected {wanted}: {result}")
        made.append((step, result))
        if isinstance(step, RowStep) and result.snapshot_id is None:
            return staged
        return None if outcome is None else outcome.state


def _by_writer(state: State, seen: State) -> State:
    """Return a state as changed by a writer with a stale state."""
    return replace(state, behind=seen.specs != state.specs)


def _without_intermediate(before: State, after: State) -> State:
    """Return the state after a transaction, without intermediate snapshots that were never visible as current."""
    first, last = len(before.snapshots), len(after.log) - 1
    return replace(after, log=tuple(p for i, p in enumerate(after.log) if p < first or i == last))


class _Abort(Exception):
    """A transaction is aborted, correctly unless there is a mismatch."""

    def __init__(self, mismatch: str | None) -> None:
        super().__init__(mismatch)
        self.mismatch = mismatch


def apply(state: State, step: Any) -> Outcome:
    """Return the result of a step in the model."""
    if isinstance(step, RowStep):
        return change_rows(state, step)
    return evolve(state, step) if isinstance(step, Evolution) else move(state, step)


def _takes_a_field_name(step: Any, error: frazil.FrazilError) -> bool:
    """Return whether a column was refused because a partition field has its name, as in Java."""
    return isinstance(step, Evolution) and "` has the same name as a column" in str(error)


def _may_conflict(step: Any, error: frazil.FrazilError) -> bool:
    """Return whether this error is valid for a stale handle."""
    errors = frazil.errors
    return isinstance(
        error, (errors.CommitConflictError, errors.InvalidArgumentError, errors.CommitValidationError)
    ) or not isinstance(step, RowStep)


@dataclass(frozen=True)
class Failure:
    """The failed step of a history, and its error."""

    place: int
    error: BaseException

    @property
    def message(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def run(history: History, folder: Path | None = None) -> Failure | None:
    """Run a history in a separate folder, and return the failure."""
    steps = iter(history.steps)
    return drive(history.table, lambda _: next(steps, None), folder)[1]


def drive(
    table: NewTable,
    following: Callable[[World], Step | None],
    folder: Path | None = None,
    seen: Counter[str] | None = None,
) -> tuple[tuple[Step, ...], Failure | None]:
    """Create a table and perform the steps of `following` until there are none; return them and the failure.

    `seen` counts the valid errors.
    """
    steps: list[Step] = []
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        try:
            world = World.new(Path(temporary), table)
            while (step := following(world)) is not None:
                steps.append(step)
                world.step(step)
            world.finish()
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            # A panic is not an Exception.
            return tuple(steps), Failure(len(steps) - 1, error)
        if seen is not None:
            seen.update(world.refusals)
    return tuple(steps), None
