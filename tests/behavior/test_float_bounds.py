"""Tests that Parquet files contain no bounds of column chunks with NaN, and that zeros are bounded by -0.0 and 0.0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil

if TYPE_CHECKING:
    from pathlib import Path

NAN = math.nan
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("at", pa.struct([("x", pa.float64()), ("in", pa.struct([("y", pa.float32())]))])),
        ("l", pa.list_(pa.float64())),
        ("ls", pa.list_(pa.struct([("z", pa.float32()), ("n", pa.int32())]))),
        ("m", pa.map_(pa.string(), pa.float64())),
        ("s", pa.string()),
    ]
)
FLOATS = {"f", "d", "at.x", "at.in.y", "l.list.element", "ls.list.element.z", "m.key_value.value"}


def row(number: int, value: float | None) -> dict[str, Any]:
    nested = {"at": {"x": value, "in": {"y": value}}, "l": [1.0, value], "ls": [{"z": value, "n": number}]}
    return {"id": number, "f": value, "d": value, **nested, "m": [("k", value)], "s": "text"}


def chunks(folder: Path) -> list[dict[str, Any]]:
    """Return the column chunks by path of each row group of the only Parquet file in a folder."""
    [path] = folder.rglob("*.parquet")
    pq.ParquetFile(path, page_checksum_verification=True).read()
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    found = [[group.column(number) for number in range(metadata.num_columns)] for group in groups]
    return [{chunk.path_in_schema: chunk for chunk in columns} for columns in found]


def has_bounds(chunk: Any) -> bool:
    return bool(chunk.statistics.has_min_max)


def created(folder: Path, table_format: str, **properties: str) -> Any:
    if table_format == "iceberg":
        return frazil.create_table(folder / "t", SCHEMA, properties=properties)
    return frazil.create_table(folder / "t", SCHEMA, format="paimon", options=properties)


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
def test_a_chunk_with_nan_has_no_bounds(tmp_path: Path, table_format: str, page_version: str) -> None:
    versions = {"write.parquet.page-version": f"v{page_version[0]}"} if table_format == "iceberg" else {}
    table = created(tmp_path, table_format, **versions)
    data = pa.Table.from_pylist([row(1, 1.5), row(2, NAN), row(3, None)], schema=SCHEMA)
    table.append(data)
    [columns] = chunks(tmp_path)
    assert set(columns) >= FLOATS
    for path, chunk in columns.items():
        assert has_bounds(chunk) == (path not in FLOATS), path
        assert chunk.has_column_index == (path not in FLOATS), path
        assert chunk.has_offset_index
        assert chunk.statistics.null_count == (path in FLOATS)
    assert str(table.scan().to_arrow().sort_by("id").to_pylist()) == str(data.to_pylist())


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
def test_chunks_without_nan_keep_bounds_and_zeros_have_both_signs(tmp_path: Path, table_format: str) -> None:
    created(tmp_path, table_format).append(pa.Table.from_pylist([row(1, 0.0), row(2, None)], schema=SCHEMA))
    [columns] = chunks(tmp_path)
    assert all(has_bounds(chunk) and chunk.has_column_index for chunk in columns.values())
    for path in FLOATS:
        found = columns[path].statistics
        assert (found.min, math.copysign(1, found.min)) == (0.0, -1.0)
        assert math.copysign(1, found.max) == 1.0
    assert columns["id"].statistics.max == 2


def test_only_the_row_groups_with_nan_lose_their_bounds(tmp_path: Path) -> None:
    table = created(tmp_path, "iceberg", **{"write.parquet.row-group-size-bytes": "1"})
    values = [NAN, 1.0, -NAN, -0.0, None, math.inf]
    table.append(pa.Table.from_pylist([row(i, value) for i, value in enumerate(values)], schema=SCHEMA))
    groups = chunks(tmp_path)
    assert len(groups) == len(values)
    known = [value is not None and not math.isnan(value) for value in values]
    assert [has_bounds(columns["d"]) for columns in groups] == known
    assert [has_bounds(columns["m.key_value.value"]) for columns in groups] == known
    assert [columns["d"].has_column_index for columns in groups] == [not str(value).endswith("nan") for value in values]
    assert all(has_bounds(columns["id"]) and has_bounds(columns["s"]) for columns in groups)


def test_nan_outside_a_slice_does_not_count(tmp_path: Path) -> None:
    data = pa.Table.from_pylist([row(0, NAN), row(1, 1.0), row(2, 2.0), row(3, NAN)], schema=SCHEMA).slice(1, 2)
    created(tmp_path, "iceberg").append(data)
    [columns] = chunks(tmp_path)
    assert all(has_bounds(columns[path]) for path in FLOATS)


def test_manifests_keep_bounds_without_nan_and_its_count(tmp_path: Path) -> None:
    table = created(tmp_path, "iceberg")
    table.append(pa.Table.from_pylist([row(1, 1.5), row(2, NAN)], schema=SCHEMA))
    metrics = table.inspect.files().to_pylist()[0]["readable_metrics"]
    assert (metrics["d"]["nan_value_count"], metrics["f"]["nan_value_count"]) == (1, 1)
    assert (metrics["d"]["lower_bound"], metrics["d"]["upper_bound"]) == (1.5, 1.5)
