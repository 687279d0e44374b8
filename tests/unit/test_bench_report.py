"""Tests of the arithmetic of `benches/compare`: ratios, marks, verdicts, and reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"
sys.path.append(str(BENCHES / "compare"))

import documents  # noqa: E402
import picture  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import runner  # noqa: E402
from rows import Figure, Mark, Row, Work  # noqa: E402
from runner import Measured  # noqa: E402

OURS, LIMIT, PEER = Work("frazil", "list_files", "T"), Work("limits", "walk", "T"), Work("polars", "list_files", "T")
INDEX = {"T": {"files": 1000}, "Ts": {"files": 100}}


def measured(*values: float, **more: Any) -> Measured:
    names = ("cpu_s", "wall_s", "rise_mib")
    return Measured([{**dict.fromkeys(names, value), "check": {}, "versions": {}, **more} for value in values])


def judged(row: Row, results: dict[Work, Measured]) -> report.Verdict:
    return report.judge(row, results, INDEX, full=False)


def test_a_row_is_ok_up_to_its_mark_and_short_beyond() -> None:
    row = Row("X", "x", OURS, LIMIT, Mark(3, 2))
    assert judged(row, {OURS: measured(1.5), LIMIT: measured(1.0)}).state == report.OK
    assert judged(row, {OURS: measured(1.51), LIMIT: measured(1.0)}).state == report.SHORT


def test_a_mark_from_below_turns_the_verdict() -> None:
    row = Row("X", "x", OURS, LIMIT, Mark(1.7, at_least=True))
    assert judged(row, {OURS: measured(1.8), LIMIT: measured(1.0)}).state == report.OK
    assert judged(row, {OURS: measured(1.6), LIMIT: measured(1.0)}).state == report.SHORT


def test_ratios_are_of_the_same_round() -> None:
    # A machine that is twice as slow in the second round, and three times in the third, does not change the ratios.
    verdict = judged(
        Row("X", "x", OURS, LIMIT, Mark(2)), {OURS: measured(1.0, 2.2, 2.7), LIMIT: measured(1.0, 2.0, 3.0)}
    )
    assert verdict.ratio.median == pytest.approx(1.0)
    assert (verdict.ratio.least, verdict.ratio.most) == pytest.approx((0.9, 1.1))
    assert str(verdict.ratio) == "1 (0.9-1.1)"


def test_baseline_without_deletes_is_subtracted() -> None:
    less = Work("frazil", "list_files", "Ts")
    row = Row("X", "x", OURS, LIMIT, Mark(4), less=less)
    verdict = judged(row, {OURS: measured(1.5), less: measured(1.0), LIMIT: measured(0.25)})
    assert verdict.ours == pytest.approx(0.5)
    assert verdict.ratio.median == pytest.approx(2.0)


def test_growth_is_normalized_by_the_unit_of_the_row() -> None:
    small = Work("frazil", "list_files", "Ts")
    row = Row("X", "x", OURS, small, Mark(1.15), per="files")
    assert judged(row, {OURS: measured(2.2), small: measured(0.2)}).ratio.median == pytest.approx(1.1)


def test_without_anything_to_compare_with_the_figure_itself_is_held_to_the_mark() -> None:
    row = Row("X", "x", OURS, None, Mark(64), "rise_mib")
    assert judged(row, {OURS: measured(63.0)}).state == report.OK
    assert judged(row, {OURS: measured(65.0)}).state == report.SHORT


@pytest.mark.parametrize("missing", [Measured(), Measured(failure="no such program")])
def test_a_row_with_something_missing_is_open_and_says_what(missing: Measured) -> None:
    verdict = judged(Row("X", "x", OURS, LIMIT, Mark(2)), {OURS: measured(1.0), LIMIT: missing})
    assert verdict.state == report.OPEN
    assert "limits walk T" in verdict.failure
    assert verdict.failure in report.terminal([verdict])


def test_a_peer_that_is_missing_is_named_and_leaves_the_verdict() -> None:
    row = Row("X", "x", OURS, LIMIT, Mark(2), peers=("polars",))
    verdict = judged(row, {OURS: measured(1.0), LIMIT: measured(1.0), PEER: Measured(failure="not installed: polars")})
    assert verdict.state == report.OK
    assert "polars: not installed: polars" in report.terminal([verdict])
    assert "polars: not installed: polars" in report.markdown([verdict])


def test_a_peer_is_told_in_times_of_frazil() -> None:
    row = Row("X", "x", OURS, LIMIT, Mark(2), peers=("polars",))
    results = {OURS: measured(1.0), LIMIT: measured(0.5), PEER: measured(3.0)}
    assert "polars 3 s = 3x" in report.terminal([judged(row, results)])


def test_a_result_that_differs_does_not_count() -> None:
    setting = runner.Setting("", {}, 1, full=False, timeout_s=1)
    setting.index = {"T": {"files": 10}}
    results = {OURS: measured(1.0, check={"files": 10}), PEER: measured(0.5, check={"files": 9})}
    runner.compare(results, setting)
    assert results[OURS].why == ""
    assert results[PEER].why == "incorrect result: files is 9, not 10"


def test_results_are_compared_with_those_of_frazil_where_the_index_is_silent() -> None:
    setting = runner.Setting("", {}, 1, full=False, timeout_s=1)
    setting.index = {}
    ours, peer = (Work(engine, "bucket_int64", rows=5) for engine in ("frazil", "daft"))
    results = {ours: measured(1.0, check={"sum": 7}), peer: measured(1.0, check={"sum": 8})}
    runner.compare(results, setting)
    assert results[peer].why == "incorrect result: sum is 8, not 7"


def test_rows_that_share_work_take_turns() -> None:
    lonely = Work("frazil", "bucket_int64", rows=5)
    table = [
        Row("A", "a", OURS, LIMIT, Mark(1)),
        Row("B", "b", lonely, None, Mark(1)),
        Row("C", "c", Work("frazil", "filter_bounds", "T"), LIMIT, Mark(1)),
    ]
    assert [[row.id for row in group] for group in rows.groups(table, full=False)] == [["B"], ["A", "C"]]


def test_rows_are_chosen_by_number() -> None:
    assert [row.id for row in rows.select(["b1"], full=False)] == ["B1", "B1x2", "B1g", "B1i", "B1m"]
    assert [row.id for row in rows.select(["B13e"], full=False)] == ["B13e"]
    with pytest.raises(SystemExit, match="unknown row B99; known rows are"):
        rows.select(["B99"], full=False)


def test_every_row_has_a_name_of_its_own_and_known_engines() -> None:
    assert len({row.id for row in rows.ROWS}) == len(rows.ROWS)
    engines = {work.engine for row in rows.ROWS for work in row.works(full=True)}
    assert [engine for engine in engines if not (BENCHES / "compare" / "engines" / f"{engine}.py").exists()] == []


def test_a_peer_does_the_work_of_the_row() -> None:
    row = next(row for row in rows.ROWS if row.id == "B10")
    works = [(work.engine, work.job, work.table) for work in row.works(full=True)]
    assert ("chdb", "stream_rows", "T5") in works
    assert ("chdb", "stream_rows", "T3r") in works


def test_the_page_changes_between_its_markers_only() -> None:
    page = f"before\n{documents.BEGIN}\nold\n{documents.END}\nafter\n"
    assert documents.between_markers(page, "new") == f"before\n{documents.BEGIN}\n\nnew\n\n{documents.END}\nafter\n"
    with pytest.raises(ValueError, match="lacks the line"):
        documents.between_markers("before", "new")


def test_the_picture_has_a_bar_for_a_row_and_a_dot_for_a_peer() -> None:
    row = Row("X", "a < b", OURS, LIMIT, Mark(2), peers=("polars",))
    results = {OURS: measured(1.0), LIMIT: measured(0.5), PEER: measured(3.0)}
    drawn = ElementTree.fromstring(picture.picture([judged(row, results)]))  # noqa: S314 - our own text
    assert len(drawn.findall("{*}circle")) == 1
    assert [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")] == ["X a < b: 2 (2-2), ≤ 2"]


def test_the_axis_of_the_picture_is_logarithmic() -> None:
    steps = [picture.place(ratio, 100) for ratio in (0.1, 1, 10, 100)]
    assert steps == pytest.approx([picture.LABELS + picture.PLOT * third / 3 for third in range(4)], abs=0.1)
    assert picture.place(0.0, 100) == picture.LABELS


@pytest.mark.parametrize(
    ("value", "figure", "text"),
    [
        (1.234, "cpu_s", "1.23 s"),
        (0.0123, "cpu_s", "12.3 ms"),
        (0.5, "wall_s", "0.5 s wall"),
        (280.4, "rise_mib", "280 MiB"),
    ],
)
def test_figures_have_units(value: float, figure: Figure, text: str) -> None:
    assert report.quantity(value, Row("X", "x", OURS, LIMIT, Mark(1), figure)) == text
