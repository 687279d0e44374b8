"""Tests of the changes between snapshots of Paimon tables in the public API."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import _native, errors
from frazil.paimon._changes import read_stage
from support.canonical import canonical_rows, lines
from support.cases import GOLDEN

if TYPE_CHECKING:
    from frazil.paimon import Table

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())])
DELETE = {"_ROW_KIND": "-D"}
EVERY = ({"compute_updates": False}, {}, {"net_changes": True}, {"carryovers": True})
OWN = ("_change_type", "_change_ordinal", "_commit_snapshot_id")


def listed(table: Table, *span: int | None, **options: Any) -> list[tuple[Any, ...]]:
    rows = table.changes(*span, **options).to_arrow().to_pylist()
    return sorted((r["k"], r["v"], r["_change_type"], r["_change_ordinal"], r["_commit_snapshot_id"]) for r in rows)


@pytest.fixture
def keyed(tmp_path: Path) -> Table:
    """Create a table with a key and two buckets: three rows, then an update and a delete, then a compaction."""
    table = frazil.create_table(
        tmp_path / "keyed", SCHEMA, format="paimon", primary_keys=["k"], options={"bucket": "2"}
    )
    table.append([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}, {"k": 3, "v": "c"}])
    table.append([{"k": 2, "v": "B", "_ROW_KIND": "+I"}, {"k": 3, "v": None, **DELETE}])
    table.compact(full=True)
    table.append([{"k": 4, "v": "d"}])
    return table


def test_rows_of_a_key_are_updates(keyed: Table) -> None:
    assert listed(keyed, 1) == [
        (2, "B", "UPDATE_AFTER", 0, 2),
        (2, "b", "UPDATE_BEFORE", 0, 2),
        (3, "c", "DELETE", 0, 2),
        (4, "d", "INSERT", 2, 4),
    ]
    assert keyed.changes(1).count() == 4
    assert [kind for *_, kind, _, _ in listed(keyed, 1, compute_updates=False)] == [
        "INSERT", "DELETE", "DELETE", "INSERT"
    ]  # fmt: skip


def test_net_changes_are_those_of_the_last_state(keyed: Table) -> None:
    assert listed(keyed, net_changes=True) == [
        (k, v, "INSERT", 3, 4) for k, v in ((1, "a"), (2, "B"), (4, "d"))
    ]  # fmt: skip


def test_a_filter_keeps_the_image_of_an_update_that_matches(keyed: Table) -> None:
    assert listed(keyed, 1, row_filter="v = 'B'") == [(2, "B", "UPDATE_AFTER", 0, 2)]
    assert listed(keyed, 1, row_filter="k = 2") == [(2, "B", "UPDATE_AFTER", 0, 2), (2, "b", "UPDATE_BEFORE", 0, 2)]
    assert keyed.changes(1, row_filter="v = 'B'", selected_fields=["k"]).to_arrow().to_pylist() == [
        {"k": 2, "_change_type": "UPDATE_AFTER", "_change_ordinal": 0, "_commit_snapshot_id": 2}
    ]


def test_files_whose_keys_did_not_change_are_not_read(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, format="paimon", primary_keys=["k"], options={"bucket": "1"})
    for first in (0, 100, 200, 300):
        table.append([{"k": first + k, "v": "a"} for k in range(100)])
    table.append([{"k": 150, "v": "b"}, {"k": 160, "v": "b"}])
    files = table.changes(4).plan().to_arrow().to_pylist()
    assert Counter(file["side"] for file in files) == {"before": 1, "after": 2}
    assert len(listed(table, 4)) == 4


def test_an_append_table_has_inserts_and_an_overwrite_deletes(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, format="paimon")
    table.append([{"k": 1, "v": "a"}])
    table.append([{"k": 1, "v": "a"}, {"k": 2, "v": None}])
    table.overwrite([{"k": 2, "v": None}, {"k": 3, "v": "c"}])
    assert listed(table)[:2] == [(1, "a", "DELETE", 2, 3)] * 2
    assert sorted(listed(table)[2:], key=str) == sorted(
        [(1, "a", "INSERT", 0, 1), (1, "a", "INSERT", 1, 2), (2, None, "INSERT", 1, 2), (3, "c", "INSERT", 2, 3)],
        key=str,
    )
    assert listed(table, 2, identifier_columns=["k"], row_filter="k = 3") == [(3, "c", "INSERT", 0, 3)]
    plan = table.changes(1, 2).plan()
    assert (len(plan), plan.metrics["paired_stages"], plan.metrics["files"]) == (1, 0, 1)
    assert "1 files in 1 splits of 1 commits" in plan.explain()


def test_invalid_change_options_are_rejected(keyed: Table, tmp_path: Path) -> None:
    plain = frazil.create_table(tmp_path / "plain", SCHEMA, format="paimon")
    with pytest.raises(errors.NoSuchSnapshotError, match="some of the snapshots after 1 up to 9 do not exist"):
        keyed.changes(1, 9)
    with pytest.raises(errors.InvalidArgumentError, match="the first snapshot must not be newer than the last one"):
        keyed.changes(3, 2)
    with pytest.raises(errors.InvalidArgumentError, match="the table has no primary key"):
        plain.changes(compute_updates=True)
    with pytest.raises(errors.InvalidArgumentError, match="unknown identifier column `nope`"):
        keyed.changes(identifier_columns=["nope"])
    with pytest.raises(errors.InvalidArgumentError, match="are mutually exclusive"):
        keyed.changes(net_changes=True, carryovers=True)
    with pytest.raises(errors.InvalidArgumentError, match="cannot be selected from the changes"):
        keyed.changes(selected_fields=["k", "_ROW_KIND"])
    with pytest.raises(errors.InvalidArgumentError, match="read the changes of the table itself"):
        keyed.audit_log().changes()
    assert plain.changes().to_arrow().num_rows == 0
    assert plain.changes().schema().names == ["k", "v", *OWN]


def test_expired_snapshots_are_named(keyed: Table) -> None:
    Path(keyed.location, "snapshot", "snapshot-1").unlink()
    with pytest.raises(errors.NoSuchSnapshotError, match="from_snapshot_id_exclusive: not set"):
        keyed.changes()
    with pytest.raises(errors.NoSuchSnapshotError, match="from_snapshot_id_exclusive=2"):
        keyed.changes(1)
    assert listed(keyed, 2) == [(4, "d", "INSERT", 1, 4)]


# Tables that Java wrote


def _tables() -> list[Path]:
    return sorted(path.parent for path in (GOLDEN / "paimon").glob("*.db/*/snapshot"))


def _rows(rows: pa.Table) -> Counter[str]:
    return Counter(lines(canonical_rows(rows)))


def _replayed(state: Counter[str], changes: pa.Table, columns: list[str]) -> Counter[str]:
    kinds = changes["_change_type"].to_pylist()
    for kinds_of, sign in ((("INSERT", "UPDATE_AFTER"), 1), (("DELETE", "UPDATE_BEFORE"), -1)):
        chosen = changes.filter(pa.array([kind in kinds_of for kind in kinds], pa.bool_())).select(columns)
        for row, count in _rows(chosen).items():
            state[row] += sign * count
    return +state


KNOWN = {
    "decsum_avro": "Java's compaction makes NULL of a sum that does not fit, which a merge on read returns",
}
"""Tables whose compaction changes rows."""


def test_replayed_changes_are_the_next_state() -> None:
    replayed = 0
    for folder in _tables():
        table = frazil.load_table(folder)
        if folder.name in KNOWN or "scan.fallback-branch" in table.options:
            continue
        compared = table.options.get("changelog-producer", "none") == "none"
        schema, columns = table.schema(), table.schema().column_names
        snapshots = [None] if table.snapshots() and table.snapshots()[0].snapshot_id == 1 else []
        snapshots = [
            one for one in (*snapshots, *table.snapshots()) if one is None or one.schema_id == schema.schema_id
        ]
        for before, after in pairwise(snapshots):
            start = 0 if before is None else before.snapshot_id
            if after.snapshot_id != start + 1:
                continue
            states = [table.scan(snapshot_id=one.snapshot_id).to_arrow() for one in (before, after) if one is not None]
            state = Counter() if before is None else _rows(states[0])
            for options in EVERY if compared else [{"net_changes": True}]:
                changes = table.changes(start, after.snapshot_id, **options).to_arrow()
                assert changes.column_names == [*columns, *OWN]
                where = f"{folder.name}, snapshot {after.snapshot_id}, {options}"
                assert _replayed(Counter(state), changes, columns) == _rows(states[-1]), where
                replayed += 1
    assert replayed > 500


TYPES = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}


def test_a_changelog_is_read_as_it_was_written() -> None:
    read = 0
    for folder in _tables():
        table = frazil.load_table(folder)
        kinds = {snapshot.commit_kind for snapshot in table.snapshots()}
        if table.options.get("changelog-producer", "none") == "none" or "OVERWRITE" in kinds:
            continue
        last = table.current_snapshot()
        first = table.snapshots()[0].snapshot_id - 1
        expected = table.scan(
            selected_fields=("*", "_ROW_KIND"), options={"incremental-between": f"{first},{last.snapshot_id}"}
        ).to_arrow()
        types = pa.array([TYPES[kind] for kind in expected["_ROW_KIND"].to_pylist()], pa.string())
        expected = expected.drop_columns(["_ROW_KIND"]).append_column("_change_type", types)
        changes = table.changes(first)
        found = changes.to_arrow().drop_columns(list(OWN[1:]))
        assert _rows(found) == _rows(expected), folder.name
        read += found.num_rows
    assert read > 100


def test_stages_are_read_in_another_process(keyed: Table) -> None:
    for options in EVERY:
        changes = keyed.changes(row_filter="k > 1", selected_fields=["v"], **options)
        files = _native.Files("/", [], [], {})
        contents = changes.plan().groups(1, 1)
        stages = [_native.PaimonChangeStage.from_bytes(content, files) for content in contents]
        batches = [batch for stage in stages for batch in read_stage(stage, workers=1)]
        assert _rows(pa.Table.from_batches(batches)) == _rows(changes.to_arrow())
    with pytest.raises(errors.FrazilError, match="not a stage of changes"):
        _native.PaimonChangeStage.from_bytes(b"nonsense", files)
