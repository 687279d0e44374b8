"""Equality deletes of other writers still apply after frazil rewrites the files that they apply to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from support.equality import delete_by_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILTERS = ["id <> 1", "id > 1", "NOT (id = 1)", "id IN (2, 3)", "id = 2", "v >= 10"]
ROWS = pa.table({"id": [1, 2, 3, 4], "v": [10, 20, 30, 40]})
SOURCE = pa.table({"id": [2], "v": [21]})
DELETED = 1

CHANGES: dict[str, Callable[[Any, str], Any]] = {
    "delete": lambda table, row_filter: table.delete(row_filter),
    "update": lambda table, row_filter: table.update({"v": "v + 1"}, row_filter),
    "overwrite": lambda table, row_filter: table.overwrite(ROWS.slice(0, 0), row_filter),
    "merge": lambda table, row_filter: (
        table.merge(SOURCE, on=f"target.id = source.id AND {qualified(row_filter)}").when_matched_update_all().execute()
    ),
    "upsert": lambda table, _: table.upsert(SOURCE, ["id"]),
    "rewrite_data_files": lambda table, row_filter: table.rewrite_data_files(row_filter, rewrite_all=True).apply(),
}


def qualified(row_filter: str) -> str:
    return row_filter.replace("id", "target.id").replace("v ", "target.v ")


@pytest.mark.parametrize("row_filter", FILTERS)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_other_rows_does_not_restore_deleted_rows(
    tmp_path: Path, change: str, mode: str, row_filter: str
) -> None:
    modes = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    table = frazil.create_table(tmp_path / "t", ROWS.schema, properties=modes)
    table.append(ROWS)
    delete_by_key(table, {"id": [DELETED]}, {}, 0)
    table = table.refresh()
    assert DELETED not in table.scan().to_arrow()["id"].to_pylist()
    CHANGES[change](table, row_filter)
    assert DELETED not in table.scan().to_arrow()["id"].to_pylist()


def test_a_scan_omits_deletes_whose_keys_do_not_match(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", ROWS.schema)
    table.append(ROWS)
    delete_by_key(table, {"id": [DELETED]}, {}, 0)
    scan = table.refresh().scan(row_filter="id > 1")
    assert scan.plan().metrics["delete_files"] == 0
    assert scan.to_arrow()["id"].to_pylist() == [2, 3, 4]
