from __future__ import annotations

import pickle
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import frazil
from frazil.errors import (
    CorruptMetadataError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchNamespaceError,
    NoSuchTableError,
    PathNotAllowedError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.catalog import Catalog


@pytest.fixture
def catalog(warehouse: Path) -> Catalog:
    return frazil.load_catalog("local", type="hadoop", warehouse=str(warehouse))


def test_namespaces_are_the_folders_that_are_not_tables(catalog: Catalog) -> None:
    assert catalog.list_namespaces() == [("empty",), ("sales",)]
    assert catalog.list_namespaces("sales") == [("sales", "eu")]
    assert catalog.list_namespaces(("sales", "eu")) == []
    assert [catalog.namespace_exists(name) for name in ((), "sales", "sales.eu", "top", "no", "sales.orders")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_tables_are_the_folders_with_metadata(catalog: Catalog, warehouse: Path) -> None:
    (warehouse / "sales" / "half" / "metadata").mkdir(parents=True)
    assert catalog.list_tables(()) == [("top",)]
    assert catalog.list_tables("sales") == [("sales", "orders")]
    assert catalog.list_tables("sales.eu") == [("sales", "eu", "odd name"), ("sales", "eu", "orders")]
    assert catalog.list_tables("empty") == []
    assert [catalog.table_exists(name) for name in ("top", "sales.orders", "sales.half", "sales", "sales.no")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_table_is_read_by_text_and_by_tuple(catalog: Catalog) -> None:
    assert catalog.load_table("sales.orders").scan().count() == 52
    table = catalog.load_table(("sales", "eu", "odd name"))
    assert (table.scan().to_arrow().num_rows, table.name()) == (7, ("sales", "eu", "odd name"))
    assert table.catalog is catalog


def test_the_warehouse_may_be_relative_or_a_uri(warehouse: Path) -> None:
    for location in ("warehouse", "warehouse/", f"file:{warehouse}", f"file://{warehouse}/"):
        catalog = frazil.load_catalog("local", warehouse=location)
        assert catalog.load_table("sales.orders").scan().count() == 52, location
        assert catalog.load_namespace_properties("sales") == {"location": str(warehouse / "sales")}


def test_absent_names_are_typed_errors(catalog: Catalog) -> None:
    with pytest.raises(NoSuchTableError, match=r"catalog 'local' has no table 'sales\.no'") as caught:
        catalog.load_table("sales.no")
    assert caught.value.context == {"catalog": "local", "table": "sales.no"}
    for ask in (catalog.list_tables, catalog.list_namespaces, catalog.load_namespace_properties):
        with pytest.raises(NoSuchNamespaceError, match=r"no namespace 'sales\.no'"):
            ask("sales.no")
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("sales.orders")


@pytest.mark.parametrize(
    "name", ["", "a..b", ".a", "a.", "a/b", "a\\b", "a\0b", "a\nb", ("..", "a"), ("a", 1), ("",), 7]
)
def test_names_that_would_lead_elsewhere_are_refused(catalog: Catalog, name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        catalog.load_table(name)
    with pytest.raises(InvalidArgumentError):
        catalog.table_exists(name)


def test_links_to_folders_are_not_listed_and_lead_nowhere_outside(
    catalog: Catalog, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(warehouse / "top", tmp_path / "elsewhere")
    (warehouse / "sales" / "link").symlink_to(tmp_path / "elsewhere")
    (warehouse / "sales" / "inside").symlink_to(warehouse / "top")
    assert catalog.list_tables("sales") == [("sales", "orders")]
    assert catalog.table_exists("sales.inside")
    assert catalog.load_table("sales.inside").scan().count() == 0
    assert not catalog.table_exists("sales.link")
    with pytest.raises(PathNotAllowedError):
        catalog.load_table("sales.link")
    monkeypatch.setattr(frazil.config, "allowed_locations", [str(tmp_path)])
    allowed = frazil.load_catalog("local", warehouse=str(warehouse))
    assert allowed.table_exists("sales.link")
    assert allowed.load_table("sales.link").scan().count() == 0


def test_a_new_warehouse_is_created_by_the_first_write(tmp_path: Path) -> None:
    folder = tmp_path / "new lake" / "warehouse"
    catalog = frazil.load_catalog("local", warehouse=str(folder))
    assert not catalog.table_exists("n.t")
    assert not folder.parent.exists()
    catalog.create_namespace("n")
    catalog.create_table("n.t", pa.schema([("x", pa.int64())])).append([{"x": 1}])
    assert frazil.load_catalog("local", warehouse=str(folder)).load_table("n.t").scan().count() == 1


def test_a_warehouse_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingFileError, match="is not a folder"):
        frazil.load_catalog("local", warehouse=str(tmp_path / "file"))
    with pytest.raises(MissingFileError, match="does not exist"):
        frazil.load_catalog("read", type="paimon", warehouse=str(tmp_path / "nowhere")).load_table("n.t")
    with pytest.raises(InvalidArgumentError, match="'warehouse'"):
        frazil.load_catalog("local", type="hadoop")
    with pytest.raises(PathNotAllowedError):
        frazil.load_catalog("local", warehouse="file://host/share")


def test_refresh_sees_the_newest_table_and_no_other(catalog: Catalog, warehouse: Path) -> None:
    table = catalog.load_table("sales.orders")
    assert table.refresh().metadata_location == table.metadata_location
    shutil.rmtree(warehouse / "sales" / "orders")
    with pytest.raises(NoSuchTableError):
        table.refresh()
    shutil.copytree(warehouse / "top", warehouse / "sales" / "orders")
    with pytest.raises(CorruptMetadataError, match="was replaced by table"):
        table.refresh()


def test_a_table_that_is_pickled_is_read_without_its_catalog(catalog: Catalog) -> None:
    copy = pickle.loads(pickle.dumps(catalog.load_table("sales.orders")))  # noqa: S301 - made here
    assert copy.scan().count() == 52
