"""Tests that metadata tables and system tables can be opened by names such as `t$files`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import iceberg, paimon
from frazil.errors import InvalidArgumentError, NoSuchTableError
from frazil.paimon._views import VIEWS
from support.cases import GOLDEN

if TYPE_CHECKING:
    from pathlib import Path

ICEBERG = str(GOLDEN / "iceberg" / "del_pos_file_parquet_part")
PAIMON = str(GOLDEN / "paimon" / "g.db" / "tags_pk")


@pytest.mark.parametrize(
    ("location", "name"),
    [
        *((ICEBERG, name) for name in iceberg.Inspect.names()),
        *((PAIMON, name) for name in paimon.Inspect.names() if name not in VIEWS),
    ],
)
def test_a_path_names_each_table_of_a_table(location: str, name: str) -> None:
    found: Any = frazil.load_table(f"{location}${name}")
    assert isinstance(found, frazil.VirtualTable)
    assert found.name == name
    assert found.scan().to_arrow().equals(frazil.load_table(location).inspect[name].scan().to_arrow())


@pytest.mark.parametrize("name", ["audit_log", "binlog", "ro"])
def test_a_view_of_the_rows_is_a_table(name: str) -> None:
    found: Any = frazil.load_table(f"{PAIMON}${name}")
    assert isinstance(found, paimon.Table)
    assert found.system_table == name
    expected = frazil.load_table(PAIMON).inspect[name]
    assert isinstance(expected, frazil.VirtualTable)
    assert found.scan().to_arrow().equals(expected.scan().to_arrow())
    assert frazil.load_table(PAIMON).system_table is None


def test_metadata_file_and_format_combine_with_a_metadata_table_name() -> None:
    first = min((GOLDEN / "iceberg" / "del_pos_file_parquet_part" / "metadata").glob("*.json"))
    opened = frazil.load_table(f"{first}$snapshots", format="iceberg")
    assert opened.scan().count() == len(frazil.load_table(first).snapshots())
    with pytest.raises(NoSuchTableError):
        frazil.load_table(f"{ICEBERG}$snapshots", format="paimon")


@pytest.mark.parametrize("location", [ICEBERG, PAIMON])
def test_an_unknown_name_lists_the_near_ones(location: str) -> None:
    with pytest.raises(InvalidArgumentError, match="unknown metadata table `snapshot`") as caught:
        frazil.load_table(f"{location}$snapshot")
    assert "did you mean `snapshots`" in str(caught.value)


def test_without_a_table_the_whole_location_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTableError, match=r"none\$files"):
        frazil.load_table(tmp_path / "none$files")
    with pytest.raises(NoSuchTableError):
        frazil.load_table(tmp_path / "$files")


@pytest.mark.parametrize("location", [ICEBERG, PAIMON])
@pytest.mark.parametrize("name", ["a$b", "t$files", "$x", "x$"])
def test_a_folder_with_a_dollar_sign_is_a_table(tmp_path: Path, location: str, name: str) -> None:
    shutil.copytree(location, tmp_path / "t")
    shutil.copytree(location, tmp_path / name)
    found: Any = frazil.load_table(tmp_path / name)
    assert isinstance(found, iceberg.Table | paimon.Table)
    assert frazil.load_table(f"{tmp_path / name}$snapshots").scan().count() == len(found.snapshots())


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    catalog = frazil.load_catalog("c", type="local", path=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    catalog.create_table("db.t", {"id": "long"}).append([{"id": 1}])
    return catalog


@pytest.mark.parametrize("name", iceberg.Inspect.names())
def test_a_catalog_names_them_in_two_ways(catalog: Any, name: str) -> None:
    expected = catalog.load_table("db.t").inspect[name].scan().to_arrow()
    for identifier in (f"db.t${name}", f"db.t.{name}", ("db", f"t${name}"), ("db", "t", name)):
        found = catalog.load_table(identifier)
        assert isinstance(found, frazil.VirtualTable)
        assert found.scan().to_arrow().equals(expected)


def test_a_table_takes_precedence_in_a_catalog(catalog: Any) -> None:
    catalog.create_namespace(("db", "t"))
    for identifier in ("db.t.files", "db.t$files", "db.a$b"):
        catalog.create_table(identifier, {"other": "long"})
        assert catalog.load_table(identifier).schema().column_names == ["other"]
    assert catalog.load_table("db.a$b$snapshots").scan().count() == 0
    assert isinstance(catalog.load_table("db.t.snapshots"), frazil.VirtualTable)


def test_other_names_are_not_found_in_a_catalog(catalog: Any) -> None:
    for identifier in ("db.t.file", "db.u.files", "db.u$files", "u$files", "files", "$files", "db.t$"):
        with pytest.raises(NoSuchTableError):
            catalog.load_table(identifier)
    with pytest.raises(InvalidArgumentError, match="did you mean `files`"):
        catalog.load_table("db.t$file")


def test_a_folder_of_tables_names_them_too() -> None:
    catalog = frazil.load_catalog("h", type="hadoop", warehouse=str(GOLDEN))
    name = "iceberg.del_pos_file_parquet_part"
    expected = catalog.load_table(name).inspect["files"].scan().to_arrow()
    for identifier in (f"{name}$files", f"{name}.files"):
        assert catalog.load_table(identifier).scan().to_arrow().equals(expected)
