"""Tests of the driver of a native split reader, and of detecting the format of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
import frazil._table
from frazil import _native, errors
from frazil._opened import opened_with
from frazil.paimon import _read as reading
from support.cases import GOLDEN

if TYPE_CHECKING:
    from pathlib import Path


class Reader:
    """A reader that concatenates files and records its input."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.at = 0
        self.opened = False
        self.pushed: list[pa.RecordBatch] = []
        self.log: list[tuple[Any, ...]] = []

    def step(self) -> Any:
        if self.pushed:
            return self.pushed.pop()
        if self.at == len(self.paths):
            return None
        return ("read" if self.opened else "open"), self.at

    def file(self, index: int) -> tuple[str, str, list[int]]:
        return self.paths[index], "PARQUET", []

    def open(self, index: int, schema: pa.Schema) -> tuple[list[int], list[int]]:
        self.opened = True
        self.log.append(("open", index, schema.names))
        return [0], [0]

    def push(self, index: int, position: int, batch: pa.RecordBatch, rows: int) -> None:
        self.log.append(("push", index, position, rows))
        self.pushed.append(batch)

    def end(self, index: int) -> None:
        self.log.append(("end", index))
        self.at, self.opened = index + 1, False


class Split:
    raw_convertible = True

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.files = _native.Files(str(folder), [], [], {})
        self.made = Reader([str(folder / name) for name in names])

    def reader(self) -> Reader:
        return self.made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, start in (("a.parquet", 0), ("b.parquet", 3)):
        pq.write_table(pa.table({"x": range(start, start + 3), "y": ["t"] * 3}), tmp_path / name)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1" * 9)
    return tmp_path


def test_files_are_opened_pushed_and_ended_as_the_reader_asks(folder: Path) -> None:
    split: Any = Split(folder, ["a.parquet", "b.parquet"])
    rows = [row for batch in reading.read_split(split) for row in batch.column("x").to_pylist()]
    assert rows == [0, 1, 2, 3, 4, 5]
    assert split.made.log == [
        ("open", 0, ["x", "y"]),
        ("push", 0, 0, 3),
        ("end", 0),
        ("open", 1, ["x", "y"]),
        ("push", 1, 0, 3),
        ("end", 1),
    ]


@pytest.mark.parametrize(
    ("name", "error"), [("no.parquet", errors.MissingFileError), ("damaged.parquet", errors.CorruptDataFileError)]
)
def test_errors_name_the_file(folder: Path, name: str, error: type[errors.FrazilError]) -> None:
    split: Any = Split(folder, ["a.parquet", name])
    with pytest.raises(error) as caught:
        list(reading.read_split(split))
    assert caught.value.context["file"].endswith(name)


def test_splits_are_read_ahead_in_order(folder: Path) -> None:
    splits: Any = [Split(folder, [name]) for name in ("b.parquet", "a.parquet") * 5]
    batches = list(reading.read_splits(splits, workers=3, limit=29))
    assert [row for batch in batches for row in batch.column("x").to_pylist()] == ([3, 4, 5, 0, 1, 2] * 5)[:29]


@pytest.mark.parametrize(
    ("files", "rows"), [(1, [50_000]), (50, [10_485, 10_485, 10_485, 10_485, 8_060]), (500, [8_192] * 6 + [848])]
)
def test_merges_of_many_files_have_smaller_batches(tmp_path: Path, files: int, rows: list[int]) -> None:
    pq.write_table(pa.table({"x": range(50_000)}), tmp_path / "a.parquet")
    split: Any = Split(tmp_path, ["a.parquet"])
    split.raw_convertible = False
    split.data_files = lambda: [None] * files
    assert [batch.num_rows for batch in reading.read_split(split)] == rows


def test_the_format_is_found_by_looking(tmp_path: Path) -> None:
    (tmp_path / "paimon" / "schema").mkdir(parents=True)
    (tmp_path / "paimon" / "schema" / "schema-0").write_text("{}")
    (tmp_path / "both" / "schema").mkdir(parents=True)
    (tmp_path / "both" / "metadata").mkdir()
    (tmp_path / "both" / "schema" / "schema-12").write_text("{}")
    (tmp_path / "neither" / "schema").mkdir(parents=True)
    (tmp_path / "neither" / "schema" / "schema-x").write_text("{}")
    iceberg = GOLDEN / "iceberg" / "inc_mor"
    for place, expected in (
        (tmp_path / "paimon", "paimon"),
        (f"file://{tmp_path}/paimon/", "paimon"),
        (tmp_path / "both", "paimon"),
        (tmp_path / "neither", "iceberg"),
        (tmp_path / "missing", "iceberg"),
        (iceberg, "iceberg"),
        (iceberg / "metadata" / "v1.metadata.json", "iceberg"),
    ):
        assert frazil._table._format_of(str(place), opened_with({}, {}, ())) == expected


def test_statistics_of_files_show_the_columns_that_a_file_has() -> None:
    table: Any = frazil.load_table(GOLDEN / "paimon/g.db/data_evolution", format="paimon")
    files = table.inspect.files().to_pylist()
    found = {tuple(file["write_cols"] or ()): file["min_value_stats"] for file in files}
    assert found["id", "a"] == "{a=  pad  , id=10}"
    assert found["b",].startswith("{b=")
    # The manifest lists the columns with statistics.
    assert found["b", "c"] == "{a=null, b=-1.0, c=null, id=null}"
