"""Creates histories by seed, runs them, and shrinks them if they fail.

`PYTHONPATH=tests python -m histories.iceberg.seeds 0 5000` runs seeds; with a file it runs the history in it.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from histories.iceberg.generate import random_step
from histories.iceberg.history import History
from histories.iceberg.run import Failure, drive, run
from histories.iceberg.simpler import simpler
from histories.iceberg.tables import random_table
from histories.shrink import fewer, simplest

if TYPE_CHECKING:
    from collections.abc import Iterable

STEPS = 10


def made(seed: int, folder: Path | None = None, seen: Counter[str] | None = None) -> tuple[History, Failure | None]:
    """Create the history of a seed while running it, and return the failure; `seen` counts the valid errors."""
    random = Random(seed)  # noqa: S311 - a test
    table, profile = random_table(random)
    left = iter(range(random.randint(2, STEPS)))
    draw = lambda world: None if next(left, None) is None else random_step(random, profile, world)  # noqa: E731
    steps, failure = drive(table, draw, folder, seen)
    return History(seed, table, steps), failure


def shrunk(history: History, failure: Failure, folder: Path | None = None) -> tuple[History, Failure]:
    """Return a smaller history with the same failure."""
    kind = _kind(failure)

    def fails(candidate: History) -> bool:
        found = run(candidate, folder)
        return found is not None and _kind(found) == kind

    history = replace(history, steps=history.steps[: failure.place + 1])
    if not fails(history):
        return history, failure
    history = replace(history, steps=fewer(history.steps, lambda steps: fails(replace(history, steps=steps))))
    history = simplest(history, simpler, fails)
    return history, run(history, folder) or failure


def _kind(failure: Failure) -> str:
    return f"{type(failure.error).__name__} {str(failure.error)[:20]}"


def report(seed: int, history: History, failure: Failure) -> str:
    """Return a report of the failure, with the history as Python code."""
    return f"seed {seed}, step {failure.place}: {failure.message}\n{history!r}"


def failures(seeds: Iterable[int], seen: Counter[str] | None = None) -> Iterable[str]:
    """Run seeds, and yield the shrunk failures."""
    for seed in seeds:
        history, failure = made(seed, seen=seen)
        if failure is not None:
            yield report(seed, *shrunk(history, failure))


def main(arguments: list[str]) -> int:
    """Run seeds, or the history in a file."""
    count = 0
    if len(arguments) == 1:
        failure = run(parsed(Path(arguments[0]).read_text(encoding="utf-8")))
        if failure is not None:
            raise failure.error
        return 0
    refusals: Counter[str] = Counter()
    for text in failures(range(int(arguments[0]), int(arguments[1])), refusals):
        count += 1
        print(text, flush=True)  # noqa: T201 - a tool
    for text, times in refusals.most_common(40):
        print(f"{times:6} {text}")  # noqa: T201
    return int(count > 0)


def parsed(text: str) -> History:
    """Return the history that a string describes."""
    import math
    from decimal import Decimal

    from histories import filters, inputs, types
    from histories.iceberg import history

    names = {**vars(types), **vars(filters), **vars(inputs), **vars(history)}
    found = eval(text, names | {"nan": math.nan, "inf": math.inf, "Decimal": Decimal})  # noqa: S307 - one's own text
    assert isinstance(found, History)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
