"""Tables that Apache Iceberg (Java) and other engines wrote, compared with what those engines read."""

from __future__ import annotations

import builtins
import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from support.canonical import Row, YearOutOfRange, canonical_rows, checksum, holds_variants, lines, parse_expected
from support.cases import SHARED, Case, found_cases, golden_cases
from support.defects import REFERENCE_DEFECTS, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from frazil.iceberg import FileScanTask, Scan

Want = dict[str, Any]
Deletes = dict[str, set[tuple[str, str, int | None]]]

CASES = [*golden_cases(), *found_cases()]

ALL_CASES = 300
LINEAGE = ("*", "_row_id", "_last_updated_sequence_number")
CONTENTS = {1: "POSITION_DELETES", 2: "EQUALITY_DELETES"}


def each(key: str) -> pytest.MarkDecorator:
    """Give one test for each case that has a key."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.id, marks=[pytest.mark.shared] if case.shared else [])
            for case in CASES
            if case.content.get(key)
        ],
    )


def test_every_case_is_there() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"only the {len(CASES)} cases in the repository run: the others lie in {SHARED}")
    assert len(CASES) > ALL_CASES


@each("expect")
def test_rows(case: Case) -> None:
    want = case.content["expect"]
    error, _ = REFUSED.get(case.id, (want.get("error"), ""))
    if error:
        check_refusal(case, error)
        return
    scan = case.table.scan()
    rows = scan.to_arrow()
    assert known(case, "rows") or not difference(rows, want)
    assert rows.schema == scan.schema()
    assert scan.count() == rows.num_rows
    assert case.column_names in {None, tuple(rows.column_names)}


@each("snapshots")
def test_snapshots(case: Case) -> None:
    check_all(
        case,
        (
            (f"snapshot {name}", want, partial(case.table.scan, snapshot_id=int(name)))
            for name, want in case.content["snapshots"].items()
        ),
    )


@each("snapshots")
def test_time_travel(case: Case) -> None:
    """A moment shows what the snapshot log says was current then, the moment of the commit included."""
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
    check_all(
        case,
        (
            (f"snapshot {snapshot_id}", want, partial(case.table.scan, as_of=moment))
            for moment, snapshot_id in current.items()
            if (want := case.content["snapshots"].get(str(snapshot_id)))
        ),
    )


@each("refs")
def test_branches_and_tags(case: Case) -> None:
    refs = case.content["refs"]
    assert {name: (ref.snapshot_id, ref.type) for name, ref in case.table.refs().items()} == {
        name: (want["snapshot_id"], want["type"]) for name, want in refs.items()
    }
    check_all(
        case,
        ((f"ref {name}", want, partial(case.table.scan, ref=name)) for name, want in refs.items()),
    )


@each("plans")
def test_plans(case: Case) -> None:
    """Tasks read one by one give the rows; no file is kept that the reference planner prunes, and the deletes agree."""
    problems = []
    for want in case.content["plans"]:
        if want.get("rows") is None or want.get("error") or want.get("convention"):
            continue
        name = want["filter"]
        if known(case, name):
            continue
        try:
            tasks = list(case.table.scan(row_filter=name).plan_files())
            problem = difference(read_one_by_one(case, tasks), want)
            problem = problem or plan_difference(case, tasks, want)
        except frazil.FrazilError as error:
            problem = repr(error)
        if problem:
            problems.append(f"{name}: {problem}")
    assert not problems


@each("lineage")
def test_row_lineage(case: Case) -> None:
    checks = [("lineage", case.content["lineage"], partial(case.table.scan, selected_fields=LINEAGE))]
    checks += [
        (
            f"lineage where {plan['filter']}",
            {"rows": len(plan["lineage"]), "rows_inline": plan["lineage"]},
            partial(case.table.scan, plan["filter"], LINEAGE),
        )
        for plan in case.content["plans"]
        if plan.get("lineage")
    ]
    check_all(case, checks)


@each("incremental")
def test_incremental_appends(case: Case) -> None:
    check_all(
        case,
        (
            (
                f"appends {want['from']} to {want['to']}",
                want,
                partial(
                    case.table.incremental_append_scan,
                    from_snapshot_id_exclusive=want["from"],
                    to_snapshot_id_inclusive=want["to"],
                ),
            )
            for want in case.content["incremental"]
            if want.get("mode") == "append" and not want.get("error")
        ),
    )


@each("metadata_columns")
def test_metadata_columns(case: Case) -> None:
    fields = ("*", "_file", "_pos", "_spec_id", "_partition")
    assert known(case, "rows") or metadata_rows(case, fields) == lines(case.content["metadata_columns"])


@each("rows_with_deleted")
def test_deleted_rows(case: Case) -> None:
    """With `_deleted`, rows that were deleted are there and say so."""
    rows = metadata_rows(case, ("*", "_file", "_pos", "_deleted"))
    assert known(case, "rows") or rows == lines(case.content["rows_with_deleted"])


def check_refusal(case: Case, error: str) -> None:
    """Files are damaged or missing: a typed error. Where only Java cannot read the table, rows are as good."""
    kind = error.split(":", maxsplit=1)[0]
    failure: frazil.FrazilError | None = None
    try:
        case.table.scan().to_arrow()
    except frazil.FrazilError as caught:
        failure = caught
    if hasattr(builtins, kind) or hasattr(frazil.errors, kind):
        assert kind in [base.__name__ for base in type(failure).__mro__]


def check_all(case: Case, checks: Iterable[tuple[str, Want, Callable[[], Scan]]]) -> None:
    """Compare all reads of a case and name every difference, not only the first."""
    problems = []
    for name, want, scan in checks:
        if want.get("error") or known(case, name):
            continue
        try:
            problem = difference(scan().to_arrow(), want)
        except frazil.FrazilError as error:
            problem = repr(error)
        if problem:
            problems.append(f"{name}: {problem}")
    assert not problems


def known(case: Case, name: str) -> bool:
    return any(name.startswith(check) for check, _ in REFERENCE_DEFECTS.get(case.id, ()))


def difference(table: pa.Table, want: Want) -> str | None:
    """Say how rows differ from what is expected; None when they do not."""
    if want.get("rows") is not None and table.num_rows != want["rows"]:
        return f"{table.num_rows} rows, expected {want['rows']}"
    sample = want.get("rows_inline")
    if not sample and (not want.get("sha256") or holds_variants(table.schema)):
        return None
    try:
        rows = canonical_rows(table)
    except YearOutOfRange:  # the reference could not write the row down either
        return None
    if sample and lines(rows) == lines(map(parse_expected, sample)):
        return None
    expected = {want.get("sha256"), want.get("input_sha256")}
    # Found cases have UUIDs as bytes.
    if checksum(rows) in expected or checksum(canonical_rows(table, uuid_text=False)) in expected:
        return None
    strange = sorted(set(lines(rows)) - set(lines(sample))) if sample else []
    return f"other values, such as {strange[:1]}"


def read_one_by_one(case: Case, tasks: list[FileScanTask]) -> pa.Table:
    return pa.concat_tables([case.table.scan().schema().empty_table(), *(task.to_arrow() for task in tasks)])


def plan_difference(case: Case, tasks: list[FileScanTask], want: Want) -> str | None:
    kept = {case.relative(task.file.file_path) for task in tasks}
    extra = sorted(kept - set(want["files"]))
    if extra and not want.get("java_prunes_matching_rows"):
        return f"keeps {len(extra)} files that the reference planner prunes, such as {extra[0]}"
    for path, ours in deletes_by_file(case, tasks).items():
        theirs = {
            (file[0], file[1], file[2] if len(file) > 2 else None) for file in want.get("deletes", {}).get(path, ())
        }
        known_kind = "EQUALITY_DELETES" if known(case, "equality deletes") else None
        extra_deletes = {file for file in ours - theirs if file[1] != known_kind}
        if path in want["files"] and (extra_deletes or theirs - ours):
            return f"{path}: deletes {ours}, expected {theirs}"
    return None


def deletes_by_file(case: Case, tasks: list[FileScanTask]) -> Deletes:
    """Give the delete files of each data file as cases name them."""
    return {
        case.relative(task.file.file_path): {
            (case.relative(file.file_path), CONTENTS[file.content], file.content_offset) for file in task.delete_files
        }
        for task in tasks
    }


def metadata_rows(case: Case, fields: tuple[str, ...]) -> list[str]:
    rows: list[Row] = canonical_rows(case.table.scan(selected_fields=fields).to_arrow())
    for row in rows:
        row["_file"] = case.relative(row["_file"])
        if "_partition" in row:
            row["_partition"] = row["_partition"] or None
    return lines(rows)


def aware(moment_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=moment_ms)
