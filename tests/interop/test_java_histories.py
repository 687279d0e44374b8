"""Tests of random histories in which frazil and Iceberg (Java) alternate: both read the rows of the model.

`make test` runs a few, `make interop` 100; `FRAZIL_HISTORY_SEED` sets the first seed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

from histories.iceberg.generate import random_step
from histories.iceberg.history import Elsewhere
from histories.iceberg.run import World
from histories.iceberg.tables import java_table, spark_takes
from support.java_checks import check_rows
from support.sizes import size

if TYPE_CHECKING:
    from pathlib import Path

    from histories.iceberg.tables import Profile
    from support.java import Java

COUNT = 100 if os.environ.get("FRAZIL_INTEROP") else 4
FIRST = size("FRAZIL_HISTORY_SEED")
TURNS = 3

STATEMENTS = {
    "insert": "insert into {name} select * from {name} where id between {low} and {high}",
    "delete": "delete from {name} where id between {low} and {high}",
    "update": "update {name} set id = id + 1 where id between {low} and {high}",
    "rewrite": "call java.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))",
}


@dataclass
class Turns:
    """A history with alternating writers: a few steps of frazil, then one of Java."""

    world: World
    random: Random
    profile: Profile
    steps: list[object] = field(default_factory=list)

    def ours(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            step = random_step(self.random, self.profile, self.world)
            while not spark_takes(step):
                step = random_step(self.random, self.profile, self.world)
            self.steps.append(step)
            self.world.step(self.steps[-1])

    def theirs(self) -> None:
        low = self.random.randrange(40)
        self.steps.append(Elsewhere(self.random.choice(sorted(STATEMENTS)), low, low + self.random.randrange(30)))
        self.world.step(self.steps[-1])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_java_and_frazil_take_turns(java: Java, warehouse: Path, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    table, profile = java_table(random)
    name = f"java.histories.s{seed}.t"

    def engine(_: Path, step: Elsewhere) -> None:
        java.sql(STATEMENTS[step.action].format(name=name, low=step.low, high=step.high))

    folder = warehouse / "histories" / f"s{seed}"
    folder.mkdir(parents=True)
    turns = Turns(World.new(folder, table, engine), random, profile)
    try:
        for _ in range(TURNS):
            turns.ours()
            turns.theirs()
        turns.ours()
        check_rows(java, turns.world.load(), name, signs="orc" not in profile.formats)
    except Exception as error:
        error.add_note(f"seed {seed}: {table!r}, {turns.steps!r}")
        raise
