"""Tests of BLOB columns: their values, and descriptors that reference them."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import frazil
from frazil import errors
from support.cases import SHARED

TABLES = sorted((SHARED / "cases" / "alibaba+paimon-cpp" / "paimon").glob("*/blob_*.db/*"))
MAGIC = 0x424C4F4244455343

pytestmark = pytest.mark.skipif(not TABLES, reason=f"there is no {SHARED}")


def followed(descriptor: bytes) -> bytes:
    """Read the value that a descriptor references."""
    version, magic, length = struct.unpack_from("<Bqi", descriptor)
    uri = descriptor[13 : 13 + length].decode()
    offset, size = struct.unpack_from("<qq", descriptor, 13 + length)
    assert (version, magic, len(descriptor)) == (2, MAGIC, 29 + length)
    return Path(uri).read_bytes()[offset : offset + size]


def columns(table: Any, **options: Any) -> dict[str, list[Any]]:
    blobs = [field.name for field in table.schema().fields if field.type.startswith("BLOB")]
    rows = table.scan(selected_fields=blobs, options=options).to_arrow()
    return {name: rows.column(name).to_pylist() for name in blobs}


@pytest.mark.parametrize("folder", TABLES, ids=lambda folder: f"{folder.parts[-3]}-{folder.name}")
def test_descriptors_lead_to_the_values(folder: Path) -> None:
    table = frazil.load_table(str(folder))
    for name, values in columns(table).items():
        descriptors = columns(table, **{"blob-as-descriptor": True})[name]
        assert [None if found is None else followed(found) for found in descriptors] == values
        assert any(value is not None for value in values)


def test_the_option_may_be_of_the_table_and_the_scan_wins(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    shutil.copytree(TABLES[0], folder)
    edit_options(folder, **{"blob-as-descriptor": "true"})
    table = frazil.load_table(str(folder))
    values = columns(table, **{"blob-as-descriptor": False})
    described = columns(table)
    assert {name: [followed(found) for found in all_of_it] for name, all_of_it in described.items()} == values


@pytest.mark.parametrize("option", ["blob-descriptor-field", "blob-view-field"])
def test_externally_stored_blobs_are_rejected_by_option_name(tmp_path: Path, option: str) -> None:
    folder = tmp_path / "table"
    shutil.copytree(TABLES[0], folder)
    edit_options(folder, **{option: "f5"})
    with pytest.raises(errors.UnsupportedError, match=option):
        frazil.load_table(str(folder)).scan().to_arrow()


@pytest.mark.parametrize("described", [False, True])
def test_a_damaged_file_is_named(tmp_path: Path, described: bool) -> None:  # noqa: FBT001
    folder = tmp_path / "table"
    shutil.copytree(TABLES[0], folder)
    for file in folder.rglob("*.blob"):
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(errors.FrazilError) as caught:
        columns(frazil.load_table(str(folder)), **{"blob-as-descriptor": described})
    assert caught.value.context["file"].endswith(".blob")


def edit_options(folder: Path, **options: str) -> None:
    for file in (folder / "schema").glob("schema-*"):
        content = json.loads(file.read_text())
        content["options"].update(options)
        file.write_text(json.dumps(content))
