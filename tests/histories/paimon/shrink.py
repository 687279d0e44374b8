"""Shrinks a failing history while it still fails in the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from histories.paimon.compare import compare
from histories.paimon.history import Concurrently, Ours, Write
from histories.shrink import fewer, simplest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from histories.paimon.compare import Failure
    from histories.paimon.history import History, Step
    from histories.paimon.oracle import Oracle

    Again: TypeAlias = Callable[[History, Failure], list[Failure]]
    """A function that runs a history, and returns the failures of the step or read that failed before."""

TRIES = 150
"""The maximum number of histories that are run for one failure."""


def shrink(history: History, failure: Failure, oracle: Oracle) -> tuple[History, Failure]:
    """Return a smaller history with the same type of failure in the same read, and that failure."""
    return shrunk(history, failure, lambda candidate, _: compare(candidate, oracle, [failure.read]).failures)


def shrunk(history: History, failure: Failure, again: Again) -> tuple[History, Failure]:
    """Return a smaller history that still fails in the same way, and the failure."""
    tries = iter(range(TRIES))
    smallest = history, failure

    def fails(candidate: History) -> bool:
        nonlocal smallest
        if next(tries, None) is None:
            return False
        found = again(candidate, failure)
        same = next((other for other in found if other.what == failure.what), None)
        if same:
            smallest = candidate, same
        return same is not None

    fewer(history.steps, lambda steps: fails(replace(history, steps=steps)))
    simplest(smallest[0], simpler, fails)
    return smallest


def simpler(history: History) -> Iterator[History]:
    """Yield histories with one item removed: an option, a column, rows, the options of a write."""
    create = history.create
    for option in create.options:
        options = tuple(other for other in create.options if other != option)
        yield replace(history, create=replace(create, options=options))
    for column in create.columns:
        if column.name not in {*create.primary_keys, *create.partition_keys}:
            yield _without(history, column.name)
    for at, step in enumerate(history.steps):
        for smaller in _smaller(step):
            yield replace(history, steps=(*history.steps[:at], smaller, *history.steps[at + 1 :]))


def _without(history: History, name: str) -> History:
    """Return the history without a column."""
    create = history.create
    columns = tuple(column for column in create.columns if column.name != name)
    steps = tuple(_project(step, name) for step in history.steps)
    return replace(history, create=replace(create, columns=columns), steps=steps)


def _project(step: Step, name: str) -> Step:
    if isinstance(step, Concurrently):
        return Concurrently(tuple(_project(write, name) for write in step.writes))  # type: ignore[arg-type]
    if isinstance(step, Ours):
        return Ours(_project(step.step, name))  # type: ignore[arg-type]
    if not isinstance(step, Write) or name not in step.columns:
        return step
    at = step.columns.index(name)
    columns = step.columns[:at] + step.columns[at + 1 :]
    return replace(step, columns=columns, rows=tuple(row[: at + 1] + row[at + 2 :] for row in step.rows))


def _smaller(step: Step) -> Iterator[Step]:
    if isinstance(step, Concurrently):
        yield from step.writes
    if isinstance(step, Ours):
        yield from (Ours(smaller) for smaller in _smaller(step.step))  # type: ignore[arg-type]
    if not isinstance(step, Write):
        return
    half = len(step.rows) // 2
    if half:
        yield replace(step, rows=step.rows[:half])
        yield replace(step, rows=step.rows[half:])
        if len(step.rows) <= 6:
            yield from (replace(step, rows=step.rows[:at] + step.rows[at + 1 :]) for at in range(len(step.rows)))
    if step.options or step.writer or step.overwrite is not None:
        yield replace(step, options=(), writer="", overwrite=None)
