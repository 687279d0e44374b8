"""Tests of updates of long files: only the filter columns are read first, and further columns if rows match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import frazil
from frazil.files.read.data_file import BATCH_ROWS
from frazil.files.read.parquet import ParquetFile

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 2 * BATCH_ROWS + 1000
GROUP = 20_000

MATCHES = {
    "none": [],
    "first and last": [0, ROWS - 1],
    "one group": [3 * GROUP + 5, 3 * GROUP + 6],
    "edges of batches": [BATCH_ROWS - 1, BATCH_ROWS, 2 * BATCH_ROWS],
    "scattered": list(range(0, ROWS, 977)),
    "all": list(range(ROWS)),
}


@pytest.mark.parametrize("where", MATCHES)
@pytest.mark.parametrize(("version", "data_format"), [(2, "parquet"), (3, "parquet"), (3, "orc")])
def test_exactly_the_matching_rows_are_updated(tmp_path: Path, version: int, data_format: str, where: str) -> None:
    marks = np.zeros(ROWS, dtype=np.int64)
    marks[MATCHES[where]] = 1
    data = pa.table({"id": np.arange(ROWS), "mark": marks, "v": np.arange(ROWS) * 2})
    properties = {
        "write.format.default": data_format,
        "write.update.mode": "merge-on-read",
        "write.delete.mode": "merge-on-read",
        "write.parquet.row-group-size-bytes": str(GROUP * 24),
    }
    table = frazil.create_table(tmp_path / "t", data.schema, format_version=version, properties=properties)
    table.append(data)
    table.delete(f"id in (1, {3 * GROUP + 6})")
    result = table.update({"v": "v + 1"}, "mark = 1")
    kept = np.ones(ROWS, dtype=bool)
    kept[[1, 3 * GROUP + 6]] = False
    expected = np.arange(ROWS) * 2 + marks
    read = table.scan().to_arrow().sort_by("id")
    assert np.array_equal(read["id"].to_numpy(), np.arange(ROWS)[kept])
    assert np.array_equal(read["v"].to_numpy(), expected[kept])
    assert result.updated_rows == int(marks[kept].sum())


@pytest.mark.parametrize(
    ("where", "looked", "read"),
    [
        ("none", ROWS, 0),
        ("scattered", 2 * BATCH_ROWS, ROWS),
        ("one group", ROWS, BATCH_ROWS + GROUP),
    ],
)
def test_rows_are_looked_for_only_where_a_look_may_spare_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, looked: int, read: int
) -> None:
    marks = np.arange(ROWS) % 2 * 2
    marks[MATCHES[where]] = 1
    properties = {"write.update.mode": "merge-on-read", "write.parquet.row-group-size-bytes": str(GROUP * 24)}
    data = pa.table({"id": np.arange(ROWS), "mark": marks, "v": np.arange(ROWS)})
    table = frazil.create_table(tmp_path / "t", data.schema, properties=properties)
    table.append(data)
    rows = {"look": 0, "read": 0}
    batches = ParquetFile.batches

    def counted(self: Any, wanted: Any, *arguments: Any) -> Any:
        for found in batches(self, wanted, *arguments):
            rows["look" if len(wanted[0]) == 1 else "read"] += found[2]
            yield found

    monkeypatch.setattr(ParquetFile, "batches", counted)
    assert table.update({"v": "v + 1"}, "mark = 1").updated_rows == len(MATCHES[where])
    assert rows["look"] <= looked
    assert rows["read"] <= read
