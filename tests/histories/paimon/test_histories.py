"""Tests of tables that Paimon (Java) wrote by random histories, and of twins of which frazil writes one.

`FRAZIL_PAIMON_HISTORIES` sets the number of histories; `PYTHONPATH=tests python -m histories.paimon SEED` replays one,
and `python -m histories.paimon --twins SEED` a pair of twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from histories.paimon.compare import compare
from histories.paimon.generate import random_history
from histories.paimon.oracle import Oracle, missing
from histories.paimon.shrink import shrink
from histories.paimon.twins import compare_twins, random_twin, smaller
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterator

HISTORIES = size("FRAZIL_PAIMON_HISTORIES")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    lack = missing()
    if lack:
        pytest.skip(f"random histories of Paimon: {lack}")
    java = Oracle(tmp_path_factory.mktemp("paimon") / "warehouse")
    yield java
    java.close()


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_frazil_reads_match_java(seed: int, oracle: Oracle) -> None:
    history = random_history(seed)
    failures = compare(history, oracle).failures
    if failures:
        smaller, failure = shrink(history, failures[0], oracle)
        pytest.fail(f"seed {seed}: {len(failures)} reads differ, the first: {failures[0]}\n\n{smaller}\n{failure}")


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_table_that_frazil_writes_is_like_the_one_of_java(seed: int, oracle: Oracle) -> None:
    history = random_twin(seed)
    failures = compare_twins(history, oracle).failures
    if failures:
        least, failure = smaller(history, failures[0], oracle)
        pytest.fail(f"seed {seed}: {failures[0]}\n\n{least}\n{failure}")


def test_a_history_prints_as_code_that_makes_it() -> None:
    from histories.paimon import history as words

    for seed in range(20):
        history = random_history(seed)
        assert random_history(seed) == history or "nan" in str(history)
        copy = eval(str(history), {**vars(words), "nan": float("nan"), "inf": float("inf")})  # noqa: S307 - our own text
        assert str(copy) == str(history)
