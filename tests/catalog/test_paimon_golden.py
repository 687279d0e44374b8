"""Catalogs that Paimon (Java) wrote: what it lists, it lists, and what it reads, it reads."""

from __future__ import annotations

import json
import pickle
import shutil
from typing import Any

import pytest

import frazil
from frazil import errors
from frazil.paimon import Inspect
from support.cases import GOLDEN

CATALOGS = GOLDEN / "paimon_catalogs"
FOLDER = json.loads((CATALOGS / "catalog_filesystem.json").read_text())
DATABASE = json.loads((CATALOGS / "catalog_jdbc.json").read_text())
CANARY = "canary-of-the-password"


def folder_catalog(**properties: str) -> Any:
    return frazil.load_catalog("p", type="paimon", warehouse=str(CATALOGS / "filesystem"), **properties)


def jdbc_catalog(**properties: str) -> Any:
    given = DATABASE["catalog_options"] | {"uri": f"jdbc:sqlite:{CATALOGS / 'jdbc' / 'catalog.db'}"} | properties
    return frazil.load_catalog("p", relocate={"/golden/paimon_jdbc": str(CATALOGS / "jdbc")}, **given)


@pytest.mark.parametrize(("made", "case"), [(folder_catalog, FOLDER), (jdbc_catalog, DATABASE)])
def test_databases_and_tables_are_those_that_java_lists(made: Any, case: dict[str, Any]) -> None:
    catalog = made()
    # A folder in which nothing is does not survive a copy by files.
    listed = [name for name in case["databases"] if case["tables"][name] or made is jdbc_catalog]
    assert [name for (name,) in catalog.list_namespaces() if name not in {"Empty", "db one"}] == listed
    for database in listed:
        assert [table for _, table in catalog.list_tables(database)] == case["tables"][database]
        assert not catalog.list_namespaces(database)
        for table in case["tables"][database]:
            assert catalog.table_exists((database, table))


def test_rows_are_those_that_java_reads() -> None:
    catalog = jdbc_catalog()
    for name, expected in DATABASE["reads"].items():
        table = catalog.load_table(name)
        rows = table.scan().to_arrow().to_pylist()
        assert sorted(rows, key=lambda row: row["k"]) == expected["rows_inline"], name
        assert table.name() == tuple(name.split("."))
        assert table.refresh().scan().count() == len(rows)
    assert folder_catalog().load_table("sales.t1").scan().to_arrow().to_pylist() == FOLDER["expect"]["rows_inline"]


def test_options_of_tables_are_those_that_java_shows() -> None:
    catalog = folder_catalog(**{"table-default.snapshot.num-retained.max": "5"})
    for name, options in FOLDER["table_options"].items():
        # What a catalog had as defaults when a table was made, the table keeps.
        assert catalog.load_table(name).options == options
    shown: dict[tuple[str, str], dict[str, str]] = {}
    for row in DATABASE["sys"]["all_table_options"]["rows"]:
        shown.setdefault((row["database_name"], row["table_name"]), {})[row["key"]] = row["value"]
    for levels, options in shown.items():
        del options["path"]
        assert jdbc_catalog().load_table(levels).options == options


def test_properties_of_databases_are_those_that_java_shows() -> None:
    catalog = jdbc_catalog()
    for database, options in DATABASE["database_options"].items():
        assert catalog.load_namespace_properties(database) == options
    # It has no table, and lies elsewhere than by its name.
    assert catalog.list_tables("located") == []


def test_absent_names_are_typed_errors() -> None:
    for catalog in (folder_catalog(), jdbc_catalog()):
        for name in ("sales.nope", "d1.nope", "d2.t3", "nope.t1"):
            assert not catalog.table_exists(name)
            with pytest.raises(errors.NoSuchTableError, match=f"no table '{name}'"):
                catalog.load_table(name)
        with pytest.raises(errors.NoSuchNamespaceError, match="'nope'"):
            catalog.list_tables("nope")


def test_another_key_is_another_catalog() -> None:
    catalog = jdbc_catalog(**{"catalog-key": "silver"})
    assert catalog.list_namespaces() == []
    with pytest.raises(errors.NoSuchTableError) as caught:
        catalog.load_table("d1.t1")
    assert caught.value.hint == "the database holds tables of catalogs with the catalog-key 'golden', not 'silver'"


def test_a_database_that_is_not_there_stays_away(tmp_path: Any) -> None:
    missing = tmp_path / "none.db"
    with pytest.raises(errors.MissingFileError, match="is not there"):
        jdbc_catalog(uri=f"jdbc:sqlite:{missing}?password={CANARY}")
    assert not missing.exists()


@pytest.mark.parametrize("name", Inspect.names())
def test_system_tables_have_names(name: str) -> None:
    for database, catalog in (("sales", folder_catalog()), ("d1", jdbc_catalog())):
        found = catalog.load_table((database, f"t1${name}"))
        assert isinstance(found, frazil.VirtualTable)
        expected = catalog.load_table((database, "t1")).inspect[name].scan().to_arrow()
        assert found.scan().to_arrow().equals(expected)
        assert catalog.table_exists((database, f"t1${name}"))
        assert not catalog.table_exists((database, f"none${name}"))


@pytest.mark.parametrize(("name", "near"), [("t1$snapshot", "snapshots"), ("t1$file", "files"), ("t1$", None)])
def test_unknown_system_tables_are_refused(name: str, near: str | None) -> None:
    for database, catalog in (("sales", folder_catalog()), ("d1", jdbc_catalog())):
        with pytest.raises(errors.InvalidArgumentError, match="unknown metadata table") as caught:
            catalog.load_table((database, name))
        assert near is None or f"did you mean `{near}`" in str(caught.value)
        assert not catalog.table_exists((database, name))
        with pytest.raises(errors.NoSuchTableError):
            catalog.load_table((database, "none$files"))


def test_the_database_of_the_system_is_not_listed() -> None:
    for catalog in (folder_catalog(), jdbc_catalog()):
        with pytest.raises(errors.NoSuchTableError, match=r"'sys\.table'"):
            catalog.load_table("sys.table")
        assert ("sys",) not in catalog.list_namespaces()


def test_a_branch_is_a_table_of_its_own_name(tmp_path: Any) -> None:
    copied = tmp_path / "sales.db" / "t1"
    shutil.copytree(CATALOGS / "filesystem" / "sales.db" / "t1", copied)
    for name in ("schema", "snapshot"):
        shutil.copytree(copied / name, copied / "branch" / "branch-b 1" / name)
    (copied / "schema" / "schema-0").write_text((copied / "schema" / "schema-0").read_text().replace('"s"', '"u"'))
    catalog: Any = frazil.load_catalog("p", type="paimon", warehouse=str(tmp_path))
    table = catalog.load_table("sales.t1$branch_b 1")
    assert (table.branch, table.name()) == ("b 1", ("sales", "t1$branch_b 1"))
    assert table.scan().to_arrow().to_pylist() == FOLDER["expect"]["rows_inline"]
    assert catalog.load_table("sales.t1").schema().column_names == ["k", "v", "u"]
    assert catalog.list_tables("sales") == [("sales", "t1")]
    names = ("t1$branch_b 1", "t1$branch_no", "t2$branch_b 1", "t1$branch_b 1$files", "t1$branch_")
    assert [catalog.table_exists(("sales", name)) for name in names] == [True, False, False, True, False]
    assert catalog.load_table("sales.t1$branch_b 1$schemas").scan().to_arrow()["fields"][0].as_py().find('"s"') > 0
    for name in ("t1$branch_no", "t1$branch_"):
        with pytest.raises(errors.FrazilError):
            catalog.load_table(("sales", name))


def test_views_are_tables_of_their_own_names() -> None:
    for database, catalog in (("sales", folder_catalog()), ("d1", jdbc_catalog())):
        rows = catalog.load_table((database, "t1")).scan().to_arrow().to_pylist()
        log = catalog.load_table((database, "t1$audit_log"))
        assert log.scan().to_arrow().to_pylist() == [{"rowkind": "+I", **row} for row in rows]
        assert log.refresh().scan().schema().names[0] == "rowkind"
        assert pickle.loads(pickle.dumps(log)).scan().schema().names[0] == "rowkind"  # noqa: S301 - made here
        assert catalog.load_table((database, "t1$ro")).scan().schema().names == ["k", "v", "s"]
        assert [catalog.table_exists((database, f"t1${view}")) for view in ("ro", "audit_log")] == [True, True]
