"""Tests of updating single fields of structs, in tables that are partitioned by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import Table

POINT = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32())])
SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("point", POINT)])
ROWS = [
    {"id": 1, "point": {"x": 1, "y": 10}},
    {"id": 2, "point": {"x": 2, "y": 20}},
    {"id": 3, "point": {"x": None, "y": 30}},
    {"id": 4, "point": None},
]


@pytest.fixture(params=["copy-on-write", "merge-on-read"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    modes = {f"write.{operation}.mode": request.param for operation in ("update", "merge")}
    table = frazil.create_table(tmp_path / "t", SCHEMA, partition_by=["point.x"], format_version=3, properties=modes)
    table.append(pa.Table.from_pylist(ROWS, schema=SCHEMA))
    return table


def rows(table: Table, where: str = "true") -> list[dict[str, object]]:
    return table.scan(where).to_arrow().sort_by("id").to_pylist()


def test_a_row_moves_to_the_partition_of_its_new_field(table: Table) -> None:
    assert table.update({"point.x": "coalesce(point.x, 0) + 1"}, "id in (1, 3, 4)").updated_rows == 3
    moved = [{"x": 2, "y": 10}, {"x": 2, "y": 20}, {"x": 1, "y": 30}, {"x": 1, "y": None}]
    assert [row["point"] for row in rows(table)] == moved
    for x in (1, 2):
        assert [row["id"] for row in rows(table, f"point.x = {x}")] == [i + 1 for i in range(4) if moved[i]["x"] == x]
    assert {("point_x", "1"), ("point_x", "2")} <= {task.file.partition[0] for task in table.scan().plan_files()}


def test_a_merge_sets_one_field_from_another(table: Table) -> None:
    source = pa.Table.from_pylist([{"id": 2, "point": {"x": 7, "y": 8}}, {"id": 9, "point": None}], schema=SCHEMA)
    merge = table.merge(source, ["id"]).when_matched_update({"point.y": "source.point.x"}).when_not_matched_insert_all()
    result = merge.execute()
    assert (result.updated_rows, result.inserted_rows) == (1, 1)
    assert rows(table, "id in (2, 9)") == [{"id": 2, "point": {"x": 2, "y": 7}}, {"id": 9, "point": None}]


def test_duplicate_assignments_leave_the_table_unchanged(table: Table) -> None:
    before = table.current_snapshot().snapshot_id
    with pytest.raises(InvalidArgumentError, match="`point` is set twice"):
        table.update({"point.x": 1, "point": None})
    assert table.refresh().current_snapshot().snapshot_id == before


@pytest.mark.parametrize("start", [1, 5, 6, 8, 9])
@pytest.mark.parametrize("other", [pa.float64(), pa.int32(), pa.string()], ids=str)
def test_structs_with_booleans_and_required_fields_may_be_slices(
    tmp_path: Path, start: int, other: pa.DataType
) -> None:
    flags = pa.struct([pa.field("must", other, nullable=False), pa.field("flag", pa.bool_())])
    value = pa.scalar(1, pa.int32()).cast(other).as_py()
    values = [None if i % 4 == 2 else {"must": value, "flag": (True, False, None)[i % 3]} for i in range(12)]
    whole = pa.table({"id": pa.array(range(12)), "s": pa.array(values, flags)})
    table = frazil.create_table(tmp_path / "t", whole.schema)
    part = whole.slice(start, 3)
    table.append(part)
    assert rows(table) == part.to_pylist()
    assert table.upsert(part, ["id"]).updated_rows == 0
    merge = table.merge(part, ["id"]).when_matched_delete("source.s.flag and source.s.must is not null")
    flagged = sum(row["s"] is not None and row["s"]["flag"] is True for row in part.to_pylist())
    assert merge.execute().deleted_rows == flagged


def test_a_struct_may_have_the_name_of_a_side_of_a_merge(tmp_path: Path) -> None:
    struct = pa.struct([("x", pa.int64()), ("id", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("target", struct), ("source", struct)])
    rows = [{"id": 1, "target": {"x": 10, "id": 11}, "source": {"x": 20, "id": 21}}]
    table = frazil.create_table(tmp_path / "t", schema)
    table.append(rows)
    # `target.id` is a column of the table; `target.x` can only be a field of the struct.
    table.update({"target.x": "target.x + target.id", "source.x": "target.source.x + 1"}, "target.x = 10")
    assert table.scan().to_arrow().to_pylist() == [
        {"id": 1, "target": {"x": 11, "id": 11}, "source": {"x": 21, "id": 21}}
    ]
    merge = table.merge(rows, "target.id = source.id")
    merge.when_matched_update({"target.x": "source.target.x", "source.x": "target.source.id"}).execute()
    assert table.scan().to_arrow().to_pylist() == [
        {"id": 1, "target": {"x": 10, "id": 11}, "source": {"x": 21, "id": 21}}
    ]
