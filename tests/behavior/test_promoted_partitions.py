"""Tests of every transform on every promotable column: earlier rows are read, changed and rewritten."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table

DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), None]
DATES = ["d", "bucket(4, d)", "void(d)", "year(d)", "month(d)", "day(d)"]
PROMOTIONS: dict[str, tuple[pa.DataType, str, list[Any], list[str]]] = {
    "int to long": (pa.int32(), "long", [-7, 12, None], ["d", "bucket(4, d)", "truncate(2, d)", "void(d)"]),
    "float to double": (pa.float32(), "double", [-0.5, 1.5, None], ["d", "void(d)"]),
    "decimal": (
        pa.decimal128(4, 2),
        "decimal(20, 2)",
        [Decimal("-1.25"), Decimal("99.99"), None],
        ["d", "bucket(4, d)", "truncate(2, d)", "void(d)"],
    ),
    "date to timestamp": (pa.date32(), "timestamp", DAYS, DATES),
    "date to timestamp_ns": (pa.date32(), "timestamp_ns", DAYS, DATES),
}
VERBS = ("delete", "update", "merge")
CASES = [(promotion, field) for promotion, (*_, fields) in PROMOTIONS.items() for field in fields]
CHANGES: dict[str, Callable[[Table], object]] = {
    "append": lambda table: table.append([{"id": 4}]),
    "update": lambda table: table.update({"id": "id + 10"}, "id = 1"),
    "delete": lambda table: table.delete("id = 2"),
    "upsert": lambda table: table.upsert([{"id": 3}, {"id": 5}], ["id"]),
    "merge": lambda table: table.merge([{"id": 3}], ["id"]).when_matched_delete().execute(),
    "dynamic overwrite": lambda table: table.dynamic_partition_overwrite([{"id": 6}]),
    "add a field": lambda table: table.update_spec().add_field("id").commit(),
    "overwrite": lambda table: table.overwrite([{"id": 7}]),
    "delete all": lambda table: table.delete(),
}


def made(folder: Path, arrow: pa.DataType, values: list[Any], field: str, *, from_v1: bool) -> Table:
    """Return a v3 table with the spec, or with what v1 keeps of it after its field is removed."""
    schema = pa.schema([("id", pa.int64()), ("d", arrow)])
    modes = {f"write.{verb}.mode": "copy-on-write" if from_v1 else "merge-on-read" for verb in VERBS}
    properties = {"commit.manifest.min-count-to-merge": "2", **modes}
    version = 1 if from_v1 else 3
    table = frazil.create_table(folder, schema, partition_by=[field], format_version=version, properties=properties)
    rows = pa.table({"id": [1, 2, 3], "d": pa.array(values, arrow)}, schema=schema)
    table.append(rows)
    if from_v1:
        table.update_spec().remove_field(table.spec().fields[0].name).commit()
        table.append(rows)
        table.upgrade(2)
        table.upgrade(3)
    return table


@pytest.mark.parametrize("from_v1", [False, True], ids=["", "removed in v1"])
@pytest.mark.parametrize(("promotion", "field"), CASES)
def test_a_promoted_partition_column(tmp_path: Path, promotion: str, field: str, *, from_v1: bool) -> None:
    arrow, to, values, _ = PROMOTIONS[promotion]
    table = made(tmp_path / "t", arrow, values, field, from_v1=from_v1)
    before = table.scan().to_arrow()
    try:
        table.update_schema().update_column("d", to).commit()
    except InvalidArgumentError:
        # The values of other transforms would have another type.
        assert pa.types.is_date(arrow)
        assert field != "void(d)"
        assert table.scan().to_arrow().equals(before)
        return
    assert table.scan().to_arrow().equals(before.cast(table.scan().to_arrow().schema))
    assert table.scan(selected_fields=("id", "_partition")).to_arrow().num_rows == before.num_rows
    for name, change in CHANGES.items():
        copy = frazil.load_table(table.location)
        try:
            change(copy)
        except frazil.FrazilError as error:
            raise AssertionError(name) from error
        rows = frazil.load_table(table.location).scan().to_arrow()
        assert copy.scan().to_arrow().equals(rows)
        assert copy.scan("d is null").count() == rows["d"].null_count


@pytest.mark.parametrize(("promotion", "field"), [case for case in CASES if "date" not in case[0]])
def test_filters_on_a_snapshot_from_before_the_promotion(tmp_path: Path, promotion: str, field: str) -> None:
    arrow, to, values, _ = PROMOTIONS[promotion]
    table = made(tmp_path / "t", arrow, values, field, from_v1=False)
    before = table.current_snapshot()
    assert before is not None
    table.update_schema().update_column("d", to).commit()
    table.append(pa.table({"id": [4], "d": pa.array([values[1]], table.scan().to_arrow().schema.field("d").type)}))
    low, high = values[0], values[1]
    for condition, expected in {
        f"d <= {low}": [1],
        f"d > {low}": [2],
        f"d in ({low}, {high})": [1, 2],
        f"d not in ({low}, 3)": [2],
        f"d != {high}": [1],
        "d is null": [3],
    }.items():
        rows = table.scan(condition, snapshot_id=before.snapshot_id).to_arrow()
        assert sorted(rows["id"].to_pylist()) == expected, condition
        assert rows.schema.field("d").type == arrow
