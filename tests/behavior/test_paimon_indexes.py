"""Tests that Paimon data files have the file indexes that options request, and that scans use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

COLUMNS = [("id", "BIGINT"), ("name", "STRING"), ("n", "INT"), ("tags", "MAP<STRING, STRING>")]
KINDS = {
    "bloom-filter": "name,tags[a]",
    "bitmap": "name",
    "bsi": "n",
    "range-bitmap": "n",
}


def create(folder: Path, *, keys: tuple[str, ...] = (), **options: Any) -> Table:
    # Statistics would prune files too.
    modes = {"metadata.stats-mode": "none"}
    bucket = {"bucket": 1} if keys else {}
    return frazil.create_table(
        folder / "t", COLUMNS, format="paimon", primary_keys=keys, options=modes | bucket | options
    )


def data(first: int, count: int = 50) -> pa.Table:
    ids = range(first, first + count)
    names = [None if i % 10 == 0 else f"name {i}" for i in ids]
    tags = [[("a", f"tag {i}")] for i in ids]
    return pa.table({"id": ids, "name": names, "n": [i * 2 for i in ids], "tags": tags}, schema=SCHEMA)


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("n", pa.int32()),
        ("tags", pa.map_(pa.string(), pa.string())),
    ]
)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and path.parent.name.startswith("bucket-")}


@pytest.mark.parametrize("threshold", ["0 b", "10 mb"])
@pytest.mark.parametrize("kind", KINDS)
def test_scans_leave_out_files_without_the_value(tmp_path: Path, kind: str, threshold: str) -> None:
    options = {f"file-index.{kind}.columns": KINDS[kind], "file-index.in-manifest-threshold": threshold}
    table = create(tmp_path, **options)
    for first in (0, 100, 200):
        table.append(data(first))
    beside = {name for name in files(tmp_path) if name.endswith(".index")}
    assert len(beside) == (3 if threshold == "0 b" else 0)
    assert {name.removesuffix(".index") for name in beside} <= files(tmp_path)
    column, condition = ("name", "name = 'name 101'") if "name" in KINDS[kind] else ("n", "n = 202")
    scan = table.scan(condition)
    assert scan.to_arrow()["id"].to_pylist() == [101]
    assert table.scan(condition, options={"file-index.read.enabled": "false"}).to_arrow()["id"].to_pylist() == [101]
    others = ["name is null", "name = 'name 5'"] if column == "name" else ["n is null", "n = 101", "n > 300"]
    for text in others:
        with_index = table.scan(text).to_arrow()["id"].to_pylist()
        without = table.scan(text, options={"file-index.read.enabled": "false"}).to_arrow()["id"].to_pylist()
        assert with_index == without, text


def test_indexes_follow_upserts_and_compactions(tmp_path: Path) -> None:
    options = {f"file-index.{kind}.columns": columns for kind, columns in KINDS.items()}
    table = create(tmp_path, keys=("id",), **options)
    for first in (0, 25, 50):
        table.append(data(first))
    table.compact()
    assert len(files(tmp_path)) == 8
    assert table.scan("name = 'name 51' and n = 102").to_arrow()["id"].to_pylist() == [51]
    assert table.scan("n > 150").count() == 24
    assert table.inspect.files().column("file_source").to_pylist() == ["COMPACT"]


def test_a_failed_write_leaves_no_index(tmp_path: Path) -> None:
    options = {
        "file-index.bitmap.columns": "name",
        "file-index.in-manifest-threshold": "0 b",
        "target-file-size": "1 b",
    }
    table = create(tmp_path, **options)

    def batches() -> Any:
        yield from data(0).to_batches()
        yield pa.record_batch({"wrong": [1]})

    with pytest.raises(errors.InvalidArgumentError, match="no column `wrong`"):
        table.append(batches())
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"file-index.bloom-filter.columns": "nome"}, "nome"),
        ({"file-index.bsi.columns": "name"}, "name"),
        ({"file-index.bloom.columns": "name"}, "bloom"),
        ({"file-index.bloom-filter.columns": "name", "file-index.bloom-filter.name.fpp": "x"}, "fpp"),
    ],
)
def test_indexes_that_no_file_has_are_refused_at_creation(tmp_path: Path, options: Any, named: str) -> None:
    with pytest.raises((errors.InvalidArgumentError, errors.UnsupportedError), match=named):
        create(tmp_path, **options)
    assert not list(tmp_path.iterdir())
