"""Tests of merges whose rows are given by data file and position, and new rows by their values."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import FrazilError, InvalidArgumentError
from frazil.iceberg._table import state_of
from frazil.iceberg.operations.addressed import Addresses, MergedRows, SelectedRows
from frazil.iceberg.operations.values import Filter
from support.addresses import ADDRESS, change_given, selected
from support.sql_row_tables import CASES, contents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("v", pa.int32())])

each_case = pytest.mark.parametrize(("version", "mode"), CASES)


def filled(folder: Path, version: int, mode: str) -> Any:
    """Return a table with two files, each with a deleted row."""
    modes = {f"write.{kind}.mode": mode for kind in ("delete", "merge")}
    table = frazil.create_table(folder, SCHEMA, format_version=version, properties=modes)
    for first in (0, 10):
        table.append([{"id": key, "name": "a", "v": key} for key in range(first, first + 10)])
    table.delete("id in (3, 13)")
    return table


def merge(table: Any, changed: Sequence[pa.Table], inserted: Sequence[pa.Table] = (), branch: str = "main") -> Any:
    return change_given(table, "merge", MergedRows(changed, inserted), branch=branch)


def setting(table: Any, row_filter: str, **values: Any) -> pa.Table:
    """Return the addresses of matching rows, with the same new values for all."""
    found = selected(table, row_filter).select(ADDRESS)
    for name, value in values.items():
        found = found.append_column(name, pa.array([value] * len(found), SCHEMA.field(name).type))
    return found


def news(**columns: Sequence[Any]) -> pa.Table:
    """Return new rows."""
    return pa.table({name: pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()})


def rows(table: Any, branch: str = "main") -> dict[int, Any]:
    found = table.scan(ref=branch).to_arrow().to_pylist()
    return {one["id"]: (one["name"], one["v"]) for one in found}


@each_case
def test_one_snapshot_deletes_updates_and_inserts(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "b").commit()
    expected, lineage = rows(table), {}
    if version > 2:
        found = table.scan(selected_fields=["id", "_row_id"]).to_arrow().to_pylist()
        lineage = {one["id"]: one["_row_id"] for one in found}
    result = merge(
        table,
        [
            setting(table, "id in (1, 12)", name="first"),
            setting(table, "id in (2, 19)"),
            setting(table, "id in (0, 11)", v=None, name="second"),
            setting(table, "id = 100", v=1),
        ],
        [
            news(id=[100, 101], v=[1, 2]),
            news(id=[102]),
            news(id=[]),
        ],
    )
    assert (result.deleted_rows, result.updated_rows, result.inserted_rows) == (2, 4, 3)
    changed = {1: ("first", 1), 12: ("first", 12), 0: ("second", None), 11: ("second", None)}
    new = {100: (None, 1), 101: (None, 2), 102: (None, None)}
    del expected[2], expected[19]
    table = table.refresh()
    assert rows(table) == expected | changed | new
    assert rows(table, "b").keys() == expected.keys() | {2, 19}
    assert len(table.snapshots()) == 4
    if version > 2:
        found = table.scan(selected_fields=["id", "_row_id"]).to_arrow().to_pylist()
        assert {one["id"]: one["_row_id"] for one in found if one["id"] < 100} == {
            key: value for key, value in lineage.items() if key in expected
        }
    result = merge(table, [], [news(id=[103])], "b")
    assert result.inserted_rows == 1
    assert 103 in rows(table.refresh(), "b")


@each_case
def test_invalid_rows_change_no_file(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    before = contents(tmp_path)
    new = news(id=[100])
    invalid: dict[str, tuple[list[pa.Table], list[pa.Table]]] = {
        "is addressed twice": ([setting(table, "id = 5"), setting(table, "id < 6", name="x")], [new]),
        "the table has no column `nope`": ([], [new, pa.table({"nope": [1]})]),
        "id": ([setting(table, "id = 5")], [news(v=[1])]),
        "v": ([setting(table, "id = 5", name="x")], [pa.table({"id": [1], "v": ["x"]})]),
    }
    for problem, (changed, inserted) in invalid.items():
        with pytest.raises(FrazilError) as error:
            merge(table, changed, inserted)
        assert problem in str(error.value)
    assert contents(tmp_path) == before


def test_workers_do_not_receive_new_rows(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2, "merge-on-read")
    given = MergedRows([setting(table, "id = 5"), setting(table, "id = 6", v=1)], [news(id=[100])])
    addresses = Addresses(SelectedRows(given, Filter()), state_of(table))
    received = pickle.loads(pickle.dumps(addresses))  # noqa: S301 - of this test
    assert (len(addresses.inserted), received.inserted) == (1, [])
    assert (len(received), received.files) == (2, addresses.files)


def test_deleted_rows_are_not_changed_again(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2, "merge-on-read")
    path = selected(table, "id = 5")["_file"][0].as_py()
    deleted = pa.table({"_file": [path], "_pos": [3]})
    with pytest.raises(InvalidArgumentError, match="only 1 of 2 addressed rows exist"):
        merge(table, [deleted, setting(table, "id = 5", v=1)])
