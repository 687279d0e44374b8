"""Tests of catalogs of Paimon tables: names and locations. Other tests open the tables."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.catalog import Catalog


def make_table(folder: Path) -> None:
    (folder / "schema").mkdir(parents=True)
    (folder / "schema" / "schema-0").write_text("{}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "wh"
    make_table(root / "sales.db" / "orders")
    make_table(root / "sales.db" / "Odd name")
    (root / "sales.db" / "half" / "schema").mkdir(parents=True)
    (root / "empty.db").mkdir()
    (root / "no database").mkdir()
    (root / ".hidden.db").mkdir()
    return root


@pytest.fixture
def catalog(folder: Path) -> Catalog[Any]:
    return frazil.load_catalog("p", type="paimon", warehouse=str(folder))


def test_databases_are_folders_with_a_suffix(catalog: Catalog[Any], folder: Path) -> None:
    assert catalog.list_namespaces() == [("empty",), ("sales",)]
    assert catalog.list_namespaces("sales") == []
    names = ((), "sales", "empty", "no database", "sales.orders", "no")
    assert [catalog.namespace_exists(name) for name in names] == [True, True, True, False, False, False]
    assert catalog.load_namespace_properties("sales") == {"location": f"{folder}/sales.db"}
    with pytest.raises(errors.NoSuchNamespaceError, match="'no'"):
        catalog.list_tables("no")


def test_tables_are_folders_with_schemas(catalog: Catalog[Any]) -> None:
    assert catalog.list_tables("sales") == [("sales", "Odd name"), ("sales", "orders")]
    assert catalog.list_tables("empty") == catalog.list_tables(()) == []
    names = ("sales.orders", "sales.half", "orders", "sales.a.b")
    assert [catalog.table_exists(name) for name in names] == [True, False, False, False]


@pytest.mark.parametrize("kind", ["filesystem", "jdbc"])
def test_tables_of_other_connectors_are_refused(tmp_path: Path, kind: str) -> None:
    properties = {"warehouse": str(tmp_path), "metastore": kind}
    properties |= {"uri": f"sqlite:///{tmp_path}/catalog.db"} if kind == "jdbc" else {}
    catalog = frazil.load_catalog("p", type="paimon", **properties)
    catalog.create_namespace("d")
    for connector in ("kafka", "", "Paimon"):
        with pytest.raises(errors.UnsupportedError, match=f"connector {connector!r}"):
            catalog.create_table("d.t", {"id": "BIGINT"}, options={"connector": connector})
        assert not catalog.table_exists("d.t")
    catalog.create_table("d.t", {"id": "BIGINT"}, options={"connector": "paimon"})


def test_tables_are_purged_and_databases_dropped(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("p", type="paimon", warehouse=str(tmp_path / "new"))
    with pytest.raises(errors.MissingFileError, match="new"):
        catalog.list_tables("d")
    catalog.create_namespace("d")
    catalog.create_table("d.t", {"id": "BIGINT"}).append([{"id": 1}])
    with pytest.raises(errors.UnsupportedError, match="keep its files"):
        catalog.drop_table("d.t")
    with pytest.raises(errors.NoSuchTableError):
        catalog.drop_table("d.none")
    with pytest.raises(errors.CatalogError, match="not empty"):
        catalog.drop_namespace("d")
    plan = catalog.plan_purge("d.t")
    assert {"schema", "snapshot", "manifest", "data"} <= plan.by_kind().keys()
    catalog.load_table("d.t").append([{"id": 2}])
    with pytest.raises(errors.CommitConflictError, match="nothing was deleted"):
        catalog.purge_table("d.t", plan)
    assert catalog.load_table("d.t").scan().count() == 2
    catalog.drop_table("d.t", purge=True)
    assert not catalog.table_exists("d.t")
    assert catalog.create_table("d.t", {"id": "BIGINT"}).scan().count() == 0
    catalog.purge_table("d.t")
    catalog.drop_namespace("d")
    assert catalog.list_namespaces() == []


def test_invalid_table_names(catalog: Catalog[Any]) -> None:
    for name in ("orders", ("a", "b", "c")):
        with pytest.raises(errors.NoSuchTableError, match="a database and a table"):
            catalog.load_table(name)


@pytest.mark.parametrize("metastore", ["hive", "rest"])
def test_unsupported_metastores_are_named(metastore: str) -> None:
    with pytest.raises(errors.UnsupportedError, match=metastore) as caught:
        frazil.load_catalog("p", metastore=metastore, warehouse=".")
    assert caught.value.hint == "the supported metastores are filesystem and jdbc"


@pytest.fixture
def database(folder: Path) -> str:
    path = folder / "catalog.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE paimon_tables(catalog_key, database_name, table_name);
            INSERT INTO paimon_tables VALUES ('jdbc', 'sales', 'orders'), ('jdbc', 'far', 'f'), ('other', 'x', 'y');
            CREATE TABLE paimon_database_properties(catalog_key, database_name, property_key, property_value);
            INSERT INTO paimon_database_properties VALUES ('jdbc', 'far', 'exists', 'true'),
                ('jdbc', 'far', 'location', '/recorded/far'), ('jdbc', 'bare', 'exists', 'true'),
                ('other', 'x', 'comment', 'not ours');
            """
        )
    connection.close()
    return f"jdbc:sqlite:{path}"


def test_a_database_lists_databases_and_tables(database: str, folder: Path) -> None:
    catalog = frazil.load_catalog("p", metastore="jdbc", uri=database, warehouse=str(folder))
    assert catalog.list_namespaces() == [("bare",), ("far",), ("sales",)]
    assert catalog.list_tables("sales") == [("sales", "orders")]
    assert catalog.list_tables("bare") == []
    assert catalog.load_namespace_properties("far") == {"location": "/recorded/far"}
    assert catalog.load_namespace_properties("bare") == {}
    names = ("sales.orders", "x.y", "sales.x", "sales")
    assert [catalog.table_exists(name) for name in names] == [True, False, False, False]
    with pytest.raises(errors.NoSuchTableError, match=r"x\.y"):
        catalog.load_table("x.y")


def test_table_locations_follow_the_database_location(database: str, folder: Path) -> None:
    relocate = {"/recorded": str(folder / "copied"), str(folder): str(folder)}
    catalog: Any = frazil.load_catalog("p", metastore="jdbc", uri=database, warehouse=str(folder), relocate=relocate)
    make_table(folder / "copied" / "far" / "f")
    assert catalog._location(("far", "f")) == f"{folder}/copied/far/f"
    assert catalog._location(("sales", "orders")) == f"{folder}/sales.db/orders"


def test_the_catalog_key_separates_catalogs(database: str) -> None:
    catalog = frazil.load_catalog("p", **{"metastore": "jdbc", "uri": database, "catalog-key": "other"})
    assert catalog.list_tables("x") == [("x", "y")]
    strange = frazil.load_catalog("p", **{"metastore": "jdbc", "uri": database, "catalog-key": "strange"})
    with pytest.raises(errors.NoSuchNamespaceError, match=r"catalog-key 'jdbc', 'other', but not 'strange'"):
        strange.list_tables("x")
    with pytest.raises(errors.InvalidArgumentError, match="no warehouse"):
        frazil.load_catalog("p", metastore="jdbc", uri=database).load_table("sales.orders")


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    sqlite3.connect(path).close()
    path.touch()
    catalog = frazil.load_catalog("p", type="paimon", metastore="jdbc", uri=f"sqlite:///{path}")
    with pytest.raises(errors.CatalogError, match="contains no Paimon catalog"):
        catalog.list_namespaces()
