"""Tests that metadata tables of golden Iceberg tables have the same columns and rows as in Java."""

from __future__ import annotations

import json
from typing import Any

import pytest

import frazil
from frazil.errors import InvalidArgumentError, NoSuchSnapshotError
from frazil.iceberg import Inspect
from support.canonical import canonical_rows, lines
from support.cases import GOLDEN

TABLES = {
    path.stem: json.loads(path.read_text(encoding="utf-8")).get("metadata_tables") or {}
    for path in sorted((GOLDEN / "iceberg_cases").glob("*.json"))
}
CASES = [(table, name) for table, found in TABLES.items() for name, rows in found.items() if isinstance(rows, list)]


def comparable(value: Any) -> Any:
    """Sort the entries of maps, and remove the scheme of local paths."""
    if isinstance(value, dict):
        return {key: comparable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        inner = [comparable(item) for item in value]
        is_map = inner and all(isinstance(item, list) and len(item) == 2 for item in inner)
        return sorted(inner, key=json.dumps) if is_map else inner
    return value.removeprefix("file:") if isinstance(value, str) else value


@pytest.mark.parametrize(("table", "name"), CASES)
def test_metadata_tables_are_those_of_java(table: str, name: str) -> None:
    expected = TABLES[table][name]
    found = frazil.load_table(str(GOLDEN / "iceberg" / table)).inspect[name].scan().to_arrow()
    assert found.num_rows == len(expected)
    if expected:
        columns = list(expected[0])
        assert [column for column in found.column_names if column in columns] == columns
        rows = [comparable(row) for row in canonical_rows(found.select(columns))]
        assert lines(rows) == lines(comparable(row) for row in expected)


@pytest.fixture(scope="module")
def evolved() -> Any:
    return frazil.load_table(str(GOLDEN / "iceberg/pevo_v2_three_specs"))


@pytest.mark.parametrize("name", Inspect.names())
def test_inspect_method_matches_the_metadata_table(evolved: Any, name: str) -> None:
    assert getattr(evolved.inspect, name)().equals(evolved.inspect[name].scan().to_arrow())


@pytest.mark.parametrize("name", Inspect.names())
def test_columns_and_filters_are_those_of_the_whole(evolved: Any, name: str) -> None:
    table = evolved.inspect[name]
    whole = table.scan().to_arrow()
    for column in whole.column_names:
        assert table.scan(selected_fields=[column]).to_arrow().equals(whole.select([column]))
        nulls = whole[column].null_count
        assert table.scan(f'"{column}" is null').count() == nulls
        assert table.scan(f'"{column}" is not null', ()).count() == whole.num_rows - nulls
    assert table.scan(limit=1).to_arrow().equals(whole.slice(0, 1))
    assert table.scan("false").to_arrow().equals(whole.slice(0, 0))


def test_nested_fields_can_be_filtered(evolved: Any) -> None:
    files = evolved.inspect.files()
    expected = [row for row in files.to_pylist() if (row["partition"]["id_bucket_3"] or 0) >= 1]
    assert evolved.inspect.files(row_filter="partition.id_bucket_3 >= 1").to_pylist() == expected
    bounds = [row["readable_metrics"]["id"]["lower_bound"] for row in files.to_pylist()]
    found = evolved.inspect.files(row_filter="readable_metrics.id.lower_bound > 3", selected_fields=["file_path"])
    assert found.num_rows == sum(bound is not None and bound > 3 for bound in bounds)


def test_tables_of_one_snapshot_travel_in_time(evolved: Any) -> None:
    for snapshot in evolved.snapshots():
        planned = [task.file.file_path for task in evolved.scan(snapshot_id=snapshot.snapshot_id).plan_files()]
        listed = evolved.inspect.data_files(snapshot.snapshot_id, selected_fields=["file_path"])
        assert sorted(listed["file_path"].to_pylist()) == sorted(planned)
        at = evolved.inspect.data_files(as_of=snapshot.timestamp_ms, selected_fields=["file_path"])
        assert at.num_rows == listed.num_rows
    assert evolved.inspect.files(ref="main").equals(evolved.inspect.files())


def test_wrong_names_and_snapshots_are_refused(evolved: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="unknown metadata table `file`") as caught:
        evolved.inspect["file"]
    assert "did you mean `files`" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="`refs` does not support a snapshot selection"):
        evolved.inspect.open("refs", snapshot_id=evolved.current_snapshot().snapshot_id)
    with pytest.raises(NoSuchSnapshotError):
        evolved.inspect.files(7)
    with pytest.raises(InvalidArgumentError, match="no column `file_pth`") as caught:
        evolved.inspect.files(selected_fields=["file_pth"])
    assert "did you mean `file_path`" in str(caught.value)
    with pytest.raises(InvalidArgumentError):
        evolved.inspect.files(row_filter="record_count = 'x'")


def test_an_empty_table_has_empty_metadata_tables(tmp_path: Any) -> None:
    import pyarrow as pa

    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    counts = {name: table.inspect[name].scan().count() for name in table.inspect.names()}
    assert {name for name, count in counts.items() if count} == {"metadata_log_entries"}


def test_metadata_tables_convert_to_other_libraries(evolved: Any) -> None:
    scan = evolved.inspect["files"].scan("content = 0", ["file_path", "record_count"])
    rows = scan.to_arrow()
    assert len(scan.to_pandas()) == rows.num_rows
    assert scan.to_polars().height == rows.num_rows
    assert scan.to_duckdb("f").execute("select count(*) from f").fetchone() == (rows.num_rows,)
