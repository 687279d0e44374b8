"""Tests of the changes between snapshots in the public API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import Table

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("place", pa.struct([("x", pa.int32()), ("y", pa.int32())])),
    ]
)


def row(number: int, name: str | None) -> dict[str, Any]:
    return {"id": number, "name": name, "place": {"x": number, "y": 0}}


@pytest.fixture(params=[(2, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Create a table of four rows, of which one is updated and one deleted."""
    version, mode = request.param
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table = frazil.create_table(tmp_path / "t", SCHEMA, format_version=version, properties=properties)
    table.append([row(1, "a"), row(2, "b"), row(3, None)])
    table.update({"name": "'B'"}, "id = 2")
    table.delete("id = 3")
    table.append([row(4, "d")])
    return table


def listed(table: Table, *span: int | None, **options: Any) -> list[tuple[int, str | None, str, int]]:
    changes = table.changes(*span, **options).to_arrow().to_pylist()
    rows = [(c["id"], c["name"], c["_change_type"], c["_change_ordinal"]) for c in changes]
    return sorted(rows, key=str)


def ids(table: Table) -> list[int]:
    return [entry.snapshot_id for entry in table.history()]


def test_changes_are_rows_inserted_and_deleted(table: Table) -> None:
    first, *_ = ids(table)
    expected = [(2, "B", "INSERT", 0), (2, "b", "DELETE", 0), (3, None, "DELETE", 1), (4, "d", "INSERT", 2)]
    assert listed(table, first) == expected
    assert table.changes(first).count() == len(expected)


def test_net_changes_omit_reverted_changes(table: Table) -> None:
    changes = [change[:3] for change in listed(table, net_changes=True)]
    assert changes == [(1, "a", "INSERT"), (2, "B", "INSERT"), (4, "d", "INSERT")]


def test_updates_are_paired_by_the_columns_that_identify_rows(table: Table) -> None:
    first, second, *_ = ids(table)
    expected = [(2, "B", "UPDATE_AFTER", 0), (2, "b", "UPDATE_BEFORE", 0)]
    assert listed(table, first, second, identifier_columns=["id"]) == expected
    # Both rows of the update are read, regardless of which one the filter selects.
    assert listed(table, first, second, identifier_columns=["id"], row_filter="name = 'B'") == expected[:1]
    assert listed(table, first, second, identifier_columns=["id"], row_filter="id = 1") == []


def test_updates_are_paired_by_row_ids(table: Table) -> None:
    first, second, *_ = ids(table)
    if table.format_version < 3:
        with pytest.raises(errors.InvalidArgumentError, match="the schema has no identifier fields") as caught:
            table.changes(compute_updates=True)
        assert "identifier_columns" in str(caught.value.hint)
        return
    expected = [(2, "B", "UPDATE_AFTER", 0), (2, "b", "UPDATE_BEFORE", 0)]
    assert listed(table, first, second, compute_updates=True) == expected


def test_columns_and_rows_are_selected(table: Table) -> None:
    first, *_ = ids(table)
    changes = table.changes(first, selected_fields=["place.x"], row_filter="name is null", limit=1)
    assert changes.schema().names == ["place", "_change_type", "_change_ordinal", "_commit_snapshot_id"]
    [change] = changes.to_arrow().to_pylist()
    assert (change["place"], change["_change_type"]) == ({"x": 3}, "DELETE")
    # A change is an update even if the selected columns are unchanged.
    updated = table.changes(first, ids(table)[1], selected_fields=["id"]).to_arrow().to_pylist()
    assert sorted(change["_change_type"] for change in updated) == ["DELETE", "INSERT"]


def test_snapshots_that_rewrite_files_change_nothing(table: Table) -> None:
    last = ids(table)[-1]
    assert listed(table, last) == []
    assert listed(table, last, last) == []


def test_an_empty_table_has_no_changes(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA)
    assert table.changes().to_arrow().num_rows == 0
    assert table.changes().snapshot_id is None


def test_the_plan_names_files_and_deletes(table: Table) -> None:
    first, *_ = ids(table)
    plan = table.changes(first).plan()
    assert "paired" in plan.explain()
    files = plan.to_arrow().to_pylist()
    assert all(file["deletes_before"] is not None or file["deletes_after"] is not None for file in files)


def test_identifiers_that_identify_several_rows_are_refused(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA)
    table.append([row(1, "a"), row(1, "b")])
    table.update({"name": "'c'"}, "id = 1")
    changes = table.changes(table.history()[0].snapshot_id, identifier_columns=["id"])
    with pytest.raises(errors.InvalidArgumentError, match="rows with the same `id`"):
        changes.to_arrow()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"net_changes": True, "compute_updates": True}, "are mutually exclusive"),
        ({"carryovers": True, "identifier_columns": ["id"]}, "are mutually exclusive"),
        ({"compute_updates": False, "identifier_columns": ["id"]}, "compute_updates=False"),
        ({"identifier_columns": ["nme"]}, "no column `nme`"),
        ({"identifier_columns": ["place"]}, "is nested and cannot identify rows"),
        ({"identifier_columns": ["place.x"]}, "is nested and cannot identify rows"),
        ({"net_changes": 1}, "net_changes"),
        ({"identifier_columns": "id"}, r"pass identifier_columns=\['id'\]"),
        ({"selected_fields": ["_row_id"]}, "cannot be selected from the changes"),
        ({"row_filter": "nme = 1"}, "no column `nme`"),
        ({"from_snapshot_id_exclusive": "v1"}, "from_snapshot_id_exclusive is 'v1'"),
        ({"from_snapshot_id_exclusive": 17}, "snapshot 17 is not an ancestor of snapshot"),
    ],
)
def test_invalid_change_options_are_rejected(table: Table, options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        table.changes(**options)


def test_a_missing_snapshot_is_named(table: Table) -> None:
    with pytest.raises(errors.NoSuchSnapshotError, match="no snapshot 17"):
        table.changes(None, 17)


def test_columns_with_the_names_of_changes_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("_Change_Type", pa.string())])
    table = frazil.create_table(tmp_path / "t", schema)
    table.append([{"id": 1, "_Change_Type": "x"}])
    with pytest.raises(errors.InvalidArgumentError, match="`_Change_Type`, which is also the name of a change column"):
        table.changes()
    assert table.changes(selected_fields=["id"]).count() == 1


def test_rows_without_a_value_that_is_required_now(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("s", pa.struct([("x", pa.int32())]))]))
    table.append([{"id": None, "s": {"x": None}}, {"id": 1, "s": {"x": 1}}])
    table.overwrite([{"id": 2, "s": {"x": 2}}])
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.update_column("id", required=True)
        update.update_column("s.x", required=True)
    assert table.schema().fields[0].required
    rows = table.changes().to_arrow().to_pylist()
    found = sorted((row["_change_type"], str(row["id"]), str(row["s"]["x"])) for row in rows)
    deleted, inserted = ("DELETE", "1", "1"), ("INSERT", "1", "1")
    nulls = [("DELETE", "None", "None"), ("INSERT", "None", "None")]
    assert found == sorted([deleted, inserted, *nulls, ("INSERT", "2", "2")])
    assert [row["id"] for row in table.changes(net_changes=True).to_arrow().to_pylist()] == [2]
    assert table.changes(row_filter="id is null").count() == 2
    assert table.scan().to_arrow()["id"].to_pylist() == [2]
    first = table.snapshots()[0].snapshot_id
    assert table.incremental_append_scan(to_snapshot_id_inclusive=first).to_arrow()["id"].to_pylist() == [None, 1]
