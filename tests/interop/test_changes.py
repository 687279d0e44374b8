"""Tests that changes between snapshots match Java's, and that replaying them produces the next snapshot."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from frazil import errors
from support.canonical import canonical_rows
from support.cases import Case, found_cases, golden_cases
from support.checks import check_all, each_case, known
from support.defects import REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from frazil.iceberg import Table

CASES = [*golden_cases(), *found_cases()]
ADDED = ("INSERT", "UPDATE_AFTER")
CHANGE_COLUMNS = ["_change_type", "_change_ordinal", "_commit_snapshot_id"]

each = partial(each_case, CASES)


def arguments(text: str) -> dict[str, Any]:
    """Convert the arguments of Spark's procedure `create_changelog_view` to those of `changes`."""
    named: dict[str, Any] = {name: True for name in ("net_changes", "compute_updates") if f"{name} => true" in text}
    columns = re.findall(r"'([^']+)'", text) if "identifier_columns" in text else []
    # The table `t.changes` includes carried-over rows.
    return named | {"identifier_columns": columns, "carryovers": not text}


@each("incremental")
def test_changelogs(case: Case) -> None:
    check_all(
        case,
        (
            (
                f"changes {want['from']} to {want['to']} {want.get('arguments', '')}",
                want,
                partial(case.table.changes, want["from"], want["to"], **arguments(want.get("arguments") or "")),
            )
            for want in case.content["incremental"]
            if want.get("mode") == "changelog" and not want.get("error")
        ),
    )


def steps(table: Table) -> Iterator[tuple[int | None, int]]:
    """Yield the snapshots of `main` that have the current schema, each with the parent that it is compared with."""
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots()}
    current = table.current_snapshot()
    place = None if current is None else current.snapshot_id
    while place in snapshots:
        parent = snapshots[place].parent_snapshot_id
        if parent is None or parent in snapshots:
            yield parent, place
        place = parent


def texts(rows: pa.Table) -> list[str]:
    return [json.dumps(row, sort_keys=True) for row in canonical_rows(rows)]


def counted(rows: pa.Table) -> Counter[str]:
    return Counter(texts(rows))


@pytest.mark.sampled(120)
@each("expect")
def test_replayed_changes_give_the_next_snapshot(case: Case) -> None:
    """Covers every type of delete file in the golden tables."""
    if case.id in REFUSED or case.content["expect"].get("error") or known(case, "rows"):
        pytest.skip("the table cannot be read")
    table = case.table
    schema = table.scan().schema()
    for parent, snapshot in steps(table):
        after = table.scan(snapshot_id=snapshot)
        before = None if parent is None else table.scan(snapshot_id=parent)
        scans = [after] if before is None else [before, after]
        # Changes have the columns of the current schema.
        if not all(scan.schema().equals(schema, check_metadata=True) for scan in scans):
            continue
        try:
            start = Counter() if before is None else counted(before.to_arrow())
        except errors.MissingFileError:
            return  # Some table folders contain only the files of the latest snapshot.
        changes = table.changes(parent, snapshot).to_arrow()
        kinds = changes["_change_type"].to_pylist()
        rows = texts(changes.drop_columns(CHANGE_COLUMNS))
        added = Counter(row for row, kind in zip(rows, kinds, strict=True) if kind in ADDED)
        removed = Counter(row for row, kind in zip(rows, kinds, strict=True) if kind not in ADDED)
        end = counted(after.to_arrow())
        assert (removed, added) == (start - end, end - start), f"changes from {parent} to {snapshot}"
