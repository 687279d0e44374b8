"""Tests of the benchmark tables: they match the index, and the same command writes the same bytes."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow.parquet as pq
import pyroaring
import pytest

import frazil

if TYPE_CHECKING:
    from collections.abc import Iterator

MAKE = Path(__file__).resolve().parents[2] / "benches" / "tables" / "make.py"
SCALE = 0.01
TO_PLAN = ["W", "T1", "T1s", "T2", "T2p", "TH", "P20k"]
TO_READ = ["T3r", "T3", "T4", "T5", "T5b", "PM", "PA"]


def make(out: Path, *arguments: str) -> list[str]:
    command = [sys.executable, str(MAKE), "--out", str(out), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench")
    make(out, "--scale", str(SCALE))
    return out


@pytest.fixture(scope="module")
def index(tables: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tables / "index.json").read_text())
    return found


def load(entry: dict[str, Any]) -> Any:
    return frazil.load_table(entry["metadata"] if "metadata" in entry else entry["path"])


def planned(entry: dict[str, Any], where: str | None) -> list[dict[str, Any]]:
    table = load(entry)
    scan = table.scan(where) if where else table.scan()
    return [row for batch in scan.plan().to_arrow_batch_reader() for row in batch.to_pylist()]


@pytest.mark.parametrize("name", TO_PLAN)
def test_a_plan_has_the_files_that_the_index_says(index: dict[str, Any], name: str) -> None:
    entry = index[name]
    for which, expected in entry["expected_files"].items():
        assert len(planned(entry, entry["filters"].get(which))) == expected, which


@pytest.mark.parametrize("name", ["T2", "T2p"])
def test_delete_files_meet_as_many_data_files_as_the_index_says(index: dict[str, Any], name: str) -> None:
    entry = index[name]
    deletes = [path for file in planned(entry, None) for path in file["delete_files"]]
    assert sum("/pos-" in path for path in deletes) == entry["position_pairs"]
    assert any("/eq-" in path for path in deletes) == (name == "T2")


@pytest.mark.parametrize("name", ["T2", "T2p"])
def test_a_filter_on_an_id_inside_the_bounds_finds_its_file(index: dict[str, Any], name: str) -> None:
    assert len(planned(index[name], index[name]["filters"]["H1"])) == 1


@pytest.mark.parametrize("name", TO_READ)
def test_a_read_has_the_rows_that_the_index_says(index: dict[str, Any], name: str) -> None:
    entry = index[name]
    assert sum(pq.read_metadata(path).num_rows for path in entry["data_files"]) == entry["rows"]
    assert load(entry).scan().to_arrow().num_rows == entry["expected_rows"]


def test_deletion_vectors_and_position_deletes_leave_the_same_rows(index: dict[str, Any]) -> None:
    by_files, by_vectors = (load(index[name]).scan().to_arrow().sort_by("ts") for name in ("T3", "T4"))
    assert by_files.equals(by_vectors)


def test_the_history_is_as_long_as_the_index_says(index: dict[str, Any]) -> None:
    assert index["TH"]["snapshots"] == 5_000 * SCALE
    assert len(load(index["TH"]).snapshots()) == index["TH"]["snapshots"]


def test_a_filter_on_a_day_leaves_two_manifests(index: dict[str, Any]) -> None:
    assert index["T1"]["F1_manifests"] == 2


def manifests(table: Path) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for path in sorted((table / "metadata").glob("*-m*.avro")):
        with path.open("rb") as file:
            yield path, list(fastavro.reader(file))


@pytest.mark.parametrize("name", ["T2", "T4"])
def test_another_avro_library_reads_the_manifests(index: dict[str, Any], name: str) -> None:
    folder = Path(index[name]["metadata"]).parent.parent
    entries = [entry["data_file"] for _, found in manifests(folder) for entry in found]
    assert sum(entry["content"] == 0 for entry in entries) == index[name]["files"]
    assert len({entry["file_path"] for entry in entries if entry["file_format"] == "PARQUET"}) == len(
        [entry for entry in entries if entry["file_format"] == "PARQUET"]
    )


def test_bounds_are_in_order(index: dict[str, Any]) -> None:
    folder = Path(index["T1s"]["metadata"]).parent.parent
    entries = [entry["data_file"] for _, found in manifests(folder) for entry in found]
    longs = [1, 2, 3, 4, 5, 6, 7, 13, 14]
    for entry in entries:
        low, high = (
            {pair["key"]: int.from_bytes(pair["value"], "little", signed=True) for pair in entry[which]}
            for which in ("lower_bounds", "upper_bounds")
        )
        assert all(low[column] <= high[column] for column in longs)
        assert {pair["key"] for pair in entry["value_counts"]} == set(range(1, 21))


def test_another_roaring_library_reads_the_deletion_vectors(index: dict[str, Any]) -> None:
    folder = Path(index["T4"]["metadata"]).parent.parent
    puffin = (folder / "data" / "deletes.puffin").read_bytes()
    vectors = [e["data_file"] for _, found in manifests(folder) for e in found if e["data_file"]["content"]]
    assert vectors
    for vector in vectors:
        blob = puffin[vector["content_offset"] :][: vector["content_size_in_bytes"]]
        # Length, magic, number of bitmaps, upper half of the positions of the first bitmap; the checksum follows the
        # bitmaps.
        bitmap = pyroaring.BitMap.deserialize(io.BytesIO(blob[20:-4]).read())
        assert len(bitmap) == vector["record_count"]


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "again"

    def digests() -> dict[str, str]:
        make(out, "--scale", "0.002")
        files = [path for path in sorted(out.rglob("*")) if path.is_file()]
        found = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        shutil.rmtree(out)
        return found

    assert digests() == digests()


def test_a_table_that_is_there_is_left_alone_unless_its_size_is_another(tmp_path: Path) -> None:
    assert make(tmp_path, "--tables", "W,PM", "--scale", "0.001")[0].startswith("W: 0.")
    assert make(tmp_path, "--tables", "W,PM", "--scale", "0.001") == ["W: already exists", "PM: already exists"]
    assert "already" not in "".join(make(tmp_path, "--tables", "PM", "--scale", "0.002"))
    index = json.loads((tmp_path / "index.json").read_text())
    assert set(index) == {"W", "PM"}
    assert index["PM"]["rows"] == 10_000


def test_a_table_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(MAKE), "--out", str(tmp_path), "--tables", "T9"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert failed.returncode
    assert "unknown tables T9; known tables are" in failed.stderr
