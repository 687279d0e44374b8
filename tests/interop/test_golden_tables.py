"""Tests of tables that Apache Iceberg (Java) and other engines wrote, compared with the results of those engines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from support.canonical import Row, canonical_rows, lines
from support.cases import SHARED, Case, found_cases, golden_cases
from support.checks import (
    Want,
    check_all,
    check_moments,
    check_plans,
    check_refusal,
    difference,
    each_case,
    known,
)
from support.defects import REFUSED

if TYPE_CHECKING:
    from frazil.iceberg import FileScanTask

Deletes = dict[str, set[tuple[str, str, int | None]]]

CASES = [*golden_cases(), *found_cases()]

ALL_CASES = 300
LINEAGE = ("*", "_row_id", "_last_updated_sequence_number")
CONTENTS = {1: "POSITION_DELETES", 2: "EQUALITY_DELETES"}

each = partial(each_case, CASES)


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
    assert known(case, "rows") or not difference(case, rows, want)
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
    """A timestamp selects the current snapshot of the snapshot log at that time, including the time of the commit."""
    current = check_moments(case)
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
    """Separately read tasks return the rows, files pruned by the reference planner are pruned, and deletes agree."""
    check_plans(case, plan_difference)


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
    """With `_deleted`, deleted rows are returned and marked."""
    rows = metadata_rows(case, ("*", "_file", "_pos", "_deleted"))
    assert known(case, "rows") or rows == lines(case.content["rows_with_deleted"])


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
    """Return the delete files of each data file by the names in cases."""
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
