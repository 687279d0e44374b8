"""Tests that data files longer than one part are uploaded to an object store in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import frazil
from frazil import _native
from frazil.errors import FrazilError
from support.object_store import ObjectStore, object_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Incompressible data of slightly more than two parts.
ROWS = (2 * _native.Upload.PART_BYTES + (1 << 20)) // 8
PARTS = 3
TABLE = "s3://bucket/table"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    (tmp_path / "bucket").mkdir()
    with object_store(tmp_path) as server:
        yield server


@pytest.fixture
def rows() -> pa.Table:
    return pa.table({"id": np.random.default_rng(7).integers(-(2**62), 2**62, ROWS)})


def new_table(store: ObjectStore, rows: pa.Table, **properties: str) -> frazil.Table:
    return frazil.create_table(TABLE, rows.schema, storage=store.properties, properties=properties)


def data_files(store: ObjectStore) -> list[Path]:
    return list((store.root / "bucket" / "table" / "data").rglob("*.*"))


@pytest.mark.parametrize("data_format", ["parquet", "orc", "avro"])
def test_a_long_file_arrives_in_parts(store: ObjectStore, rows: pa.Table, data_format: str) -> None:
    table = new_table(store, rows, **{"write.format.default": data_format})
    store.arm()
    result = table.append(rows)
    sent = [path for method, path in store.calls if method == "PUT" and "partNumber=" in path]
    assert (len(sent), result.added_files, store.uploads) == (PARTS, 1, {})
    assert table.scan().to_arrow().equals(rows)


def test_a_short_file_is_put_at_once(store: ObjectStore, rows: pa.Table) -> None:
    table = new_table(store, rows)
    store.arm()
    table.append(rows.slice(0, 10))
    assert not [path for _, path in store.calls if "upload" in path]
    assert table.scan().count() == 10


@pytest.mark.parametrize("fault", ["refused", "answer lost"])
@pytest.mark.parametrize("request_of", ["?uploads", "partNumber=1&", "partNumber=3&", "?uploadId"])
def test_file_with_failed_parts_does_not_exist(store: ObjectStore, rows: pa.Table, fault: str, request_of: str) -> None:
    table = new_table(store, rows)
    store.arm()
    table.append(rows)
    at = next(number for number, (_, path) in enumerate(store.calls) if request_of in path)
    store.arm(fault, at)
    try:
        table.append(rows)
    except FrazilError:
        # If the response to the last request is lost, the writer does not know that the file exists, and deletes it.
        assert len(data_files(store)) == 1
        assert not store.uploads
        expected = ROWS
    else:
        expected = 2 * ROWS
    store.arm()
    assert frazil.load_table(TABLE, storage=store.properties).scan().count() == expected
