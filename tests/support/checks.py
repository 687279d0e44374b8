"""Checks of the cases that are common to all formats."""

from __future__ import annotations

import builtins
import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from support.canonical import Row, YearOutOfRange, canonical_rows, checksum, holds_variants, lines, parse_expected
from support.defects import REFERENCE_DEFECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from support.cases import Case

Want = dict[str, Any]


def each_case(cases: Sequence[Case], key: str) -> pytest.MarkDecorator:
    """Parametrize a test with all cases that have a key."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.id, marks=[pytest.mark.shared] if case.shared else [])
            for case in cases
            if case.content.get(key) is not None
        ],
    )


def check_all(case: Case, checks: Iterable[tuple[str, Want, Callable[[], Any]]]) -> None:
    """Compare all reads of a case, and report every difference, not only the first."""
    problems = []
    for name, want, scan in checks:
        if want.get("error") or known(case, name):
            continue
        try:
            problem = difference(case, scan().to_arrow(), want)
        except frazil.FrazilError as error:
            problem = repr(error)
        if problem:
            problems.append(f"{name}: {problem}")
    assert not problems, "; ".join(problems)


def check_moments(case: Case) -> dict[int, int]:
    """Check that a timestamp selects the snapshot current at that time, including the time of the commit.

    Returns:
        The snapshots by their timestamps in milliseconds.
    """
    current: dict[int, int] = {entry.timestamp_ms: entry.snapshot_id for entry in case.table.history()}
    kept = {snapshot.snapshot_id for snapshot in case.table.snapshots()}
    before = None
    for moment, snapshot_id in sorted(current.items()):
        if snapshot_id in kept:
            assert case.table.scan(as_of=moment).snapshot_id == snapshot_id
            assert case.table.scan(as_of=aware(moment)).snapshot_id == snapshot_id
        if before in kept:
            assert case.table.scan(as_of=moment - 1).snapshot_id == before
        before = snapshot_id
    return current


def check_refusal(case: Case, error: str) -> None:
    """Files are damaged or missing: a typed error. Where only Java invalid table, rows are as good."""
    kind = error.split(":", maxsplit=1)[0]
    failure: frazil.FrazilError | None = None
    try:
        case.table.scan().to_arrow()
    except frazil.FrazilError as caught:
        failure = caught
    if hasattr(builtins, kind) or hasattr(frazil.errors, kind):
        assert kind in [base.__name__ for base in type(failure).__mro__]


def check_plans(case: Case, compare: Callable[[Case, list[Any], Want], str | None]) -> None:
    """Read the tasks of each filter separately, and compare the files of the plan by `compare`.

    Filters whose rows depend on a convention, such as that of signed zeros, are skipped.
    """
    problems = []
    for want in case.content["plans"]:
        name = want["filter"]
        if want.get("rows") is None or want.get("error") or want.get("convention") or known(case, name):
            continue
        right = want | want.get("exact", {})
        try:
            tasks = list(case.table.scan(row_filter=name).plan_files())
            rows = pa.concat_tables([case.table.scan().schema().empty_table(), *(task.to_arrow() for task in tasks)])
            problem = difference(case, rows, right) or compare(case, tasks, right)
        except frazil.FrazilError as error:
            problem = repr(error)
        if problem:
            problems.append(f"{name}: {problem}")
    assert not problems, "; ".join(problems)


def known(case: Case, name: str) -> bool:
    """Return whether a check is a known defect of the reference."""
    return any(name.startswith(check) for check, _ in REFERENCE_DEFECTS.get(case.id, ()))


def difference(case: Case, table: pa.Table, want: Want) -> str | None:
    """Return the difference between rows and the expected ones, or None if there is none."""
    if want.get("rows") is not None and table.num_rows != want["rows"]:
        return f"{table.num_rows} rows, expected {want['rows']}"
    sample = want.get("rows_inline")
    if not sample and (not want.get("sha256") or holds_variants(table.schema)):
        return None
    sums = {want.get("sha256"), want.get("input_sha256")}
    rows: list[Row] = []
    try:
        for form in case.forms:
            rows = _ordered(canonical_rows(table, form), case.unordered_columns)
            if checksum(rows) in sums or (sample and lines(rows) == lines(map(parse_expected, sample))):
                return None
    except YearOutOfRange:  # the reference could not write the row either
        return None
    strange = sorted(set(lines(rows)) - set(lines(sample))) if sample else []
    return f"other values, such as {strange[:1]}"


def aware(moment_ms: int) -> dt.datetime:
    """Return a timestamp in UTC."""
    return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=moment_ms)


def _ordered(rows: list[Row], unordered: list[str]) -> list[Row]:
    for row in rows:
        for name in unordered:
            if isinstance(row.get(name), list):
                row[name].sort(key=lambda part: json.dumps(part, sort_keys=True))
    return rows
