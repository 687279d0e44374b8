"""Random histories of Iceberg tables: rows, counts, summaries, plans and row lineage match a simple model.

`FRAZIL_ICEBERG_HISTORIES` sets the number of histories, `FRAZIL_HISTORY_SEED` the first seed.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from histories.iceberg.history import Append, Batch, Delete, History, NewTable
from histories.iceberg.run import run
from histories.iceberg.seeds import failures, parsed, shrunk
from histories.shrink import fewer
from histories.types import Field, Simple, Struct
from support.sizes import size

if TYPE_CHECKING:
    from pathlib import Path

COUNT = size("FRAZIL_ICEBERG_HISTORIES")
FIRST = size("FRAZIL_HISTORY_SEED")
PARTS = 20

COLUMNS = Struct((Field(1, "id", Simple("long")),))
ROWS = Batch(COLUMNS, ({"id": 1}, {"id": 2}))


@pytest.mark.parametrize("part", range(PARTS))
def test_tables_match_the_model_after_each_step(part: int) -> None:
    found = list(failures(range(FIRST + part, FIRST + COUNT, PARTS)))
    assert not found, "\n\n".join(found)


def test_a_history_is_the_text_that_makes_it_again() -> None:
    history = History(7, NewTable(COLUMNS), (Append(0, ROWS), Delete(0)))
    assert parsed(repr(history)) == history
    assert run(history) is None


def test_a_history_that_fails_is_shrunk_to_the_steps_that_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    # A model that loses rows must fail at the first append.
    monkeypatch.setattr("histories.iceberg.row_changes.new_rows", lambda *_: ())
    history = History(7, NewTable(COLUMNS, properties=(("a", "b"),)), (Delete(0), Append(0, ROWS), Append(0, ROWS)))
    failure = run(history)
    assert failure is not None
    small, again = shrunk(history, failure)
    assert (small.table.properties, len(small.steps)) == ((), 1)
    assert str(again.error)[:20] == str(failure.error)[:20]


def test_delta_debugging_finds_the_items_that_fail_together() -> None:
    random = Random(1)  # noqa: S311
    for _ in range(20):
        bad = set(random.sample(range(40), 3))
        assert set(fewer(range(40), lambda items, bad=bad: bad <= set(items))) == bad


def test_seeds_are_run_in_a_folder_of_their_own(tmp_path: Path) -> None:
    assert run(History(7, NewTable(COLUMNS), (Append(0, ROWS),)), tmp_path) is None
    assert not list(tmp_path.iterdir())
