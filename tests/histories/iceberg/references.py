"""Branches, tags and the current snapshot in the model."""

from __future__ import annotations

from dataclasses import replace

from histories.iceberg.evolution import check_heads
from histories.iceberg.history import (
    MAIN,
    CherryPick,
    CreateRef,
    FastForward,
    Reference,
    RemoveRef,
    Rollback,
    SetCurrent,
)
from histories.iceberg.row_changes import Outcome
from histories.iceberg.state import NotApplicable, Ref, Refused, Row, Snapshot, State


def move(state: State, step: Reference) -> Outcome:
    """Return the outcome of a step that creates, moves or removes references."""
    outcome = _moved(state, step)
    check_heads(outcome.state)
    return outcome


def _moved(state: State, step: Reference) -> Outcome:  # noqa: C901
    if isinstance(step, (CreateRef, Rollback, SetCurrent, CherryPick)) and step.snapshot >= len(state.snapshots):
        raise NotApplicable("no such snapshot")
    match step:
        case CreateRef(_, name, snapshot, is_tag):
            if name in state.refs:
                raise Refused("is there")
            return Outcome(state.with_ref(name, Ref(snapshot, is_tag)))
        case RemoveRef(_, name):
            if name not in state.refs or name == MAIN:
                raise NotApplicable(name)
            return Outcome(replace(state, refs={k: v for k, v in state.refs.items() if k != name}))
        case FastForward(_, branch, to):
            return _forwarded(state, branch, to)
        case Rollback(_, snapshot):
            if snapshot not in state.ancestors(state.place_of(MAIN)):
                raise Refused("no ancestor")
            return Outcome(state.with_ref(MAIN, Ref(snapshot)))
        case SetCurrent(_, snapshot):
            return Outcome(state.with_ref(MAIN, Ref(snapshot)))
        case CherryPick(_, snapshot):
            return _picked(state, snapshot)
    raise TypeError(step)


def _forwarded(state: State, branch: str, to: str) -> Outcome:
    if to not in state.refs or branch not in state.refs or state.refs[branch].is_tag:
        raise NotApplicable(branch)
    target = state.refs[to].snapshot
    if state.refs[branch].snapshot not in state.ancestors(target):
        raise Refused("no ancestor")
    return Outcome(state.with_ref(branch, Ref(target)))


def _picked(state: State, place: int) -> Outcome:
    snapshot, current = state.snapshots[place], state.place_of(MAIN)
    if current is None or snapshot.replaced is not None:
        raise NotApplicable("nothing is current, or partitions were replaced")
    if place in state.ancestors(current):
        raise Refused("is current")
    if snapshot.parent == current:
        return Outcome(state.with_ref(MAIN, Ref(place)), may_fail=True)
    if snapshot.operation != "append":
        raise Refused("no append")
    added = tuple(Row(row.values, row.columns, row.spec) for row in snapshot.added)
    rows = (*state.stored(MAIN), *added)
    return Outcome(
        state.with_snapshot(MAIN, Snapshot(rows, state.columns, current, "append", added)),
        inserted=len(added),
        may_fail=True,
    )
