"""Tests that catalogs written by Paimon (Java) are listed and read with the same results."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import shutil
from typing import Any

import pytest

import frazil
from frazil import errors
from frazil.paimon import Inspect, Table
from frazil.paimon._views import VIEWS
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
    # An empty folder does not survive a copy of files.
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
        # A table keeps the catalog defaults at the time of its creation.
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
    # The database has no table, and its location does not match its name.
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
    assert caught.value.hint == "the database contains tables under the catalog-key 'golden', but not 'silver'"


def test_missing_database_is_not_created(tmp_path: Any) -> None:
    missing = tmp_path / "none.db"
    with pytest.raises(errors.MissingFileError, match="does not exist"):
        jdbc_catalog(uri=f"jdbc:sqlite:{missing}?password={CANARY}").list_namespaces()
    assert not missing.exists()


@pytest.mark.parametrize("name", [name for name in Inspect.names() if name != "row_tracking"])
def test_system_tables_have_names(name: str) -> None:
    for database, catalog in (("sales", folder_catalog()), ("d1", jdbc_catalog())):
        found = catalog.load_table((database, f"t1${name}"))
        assert isinstance(found, Table if name in VIEWS else frazil.VirtualTable)
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
        with pytest.raises(errors.InvalidArgumentError, match="the catalog has no system table 'table'") as caught:
            catalog.load_table("sys.table")
        assert "all_tables" in str(caught.value)
        assert ("sys",) not in catalog.list_namespaces()


COLUMNS = {
    "all_tables": (
        "database_name table_name table_type partitioned primary_key owner created_at created_by updated_at updated_by "
        "record_count file_size_in_bytes file_count last_file_creation_time"
    ),
    "all_partitions": (
        "database_name table_name partition_name record_count file_size_in_bytes file_count last_file_creation_time "
        "done"
    ),
    "all_table_options": "database_name table_name key value",
    "catalog_options": "key value",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_system_tables_of_a_catalog_have_the_columns_of_java(name: str) -> None:
    for catalog in (folder_catalog(), jdbc_catalog()):
        found = catalog.inspect[name].scan().to_arrow()
        assert found.column_names == COLUMNS[name].split()
        assert catalog.load_table(f"sys.{name}").scan().to_arrow().equals(found)
        assert getattr(catalog.inspect, name)().equals(found)
        java = name if "options" in name else name.removeprefix("all_")
        assert catalog.load_table(("sys", java)).scan().to_arrow().equals(found)
        first = found.column_names[0]
        if found.num_rows > 0:
            value = found[first][0].as_py()
            kept = getattr(catalog.inspect, name)(row_filter=f"{first} = '{value}'", selected_fields=[first])
            assert set(kept[first].to_pylist()) == {value}
    assert sorted(COLUMNS) == catalog.inspect.names()


def test_the_system_tables_of_a_catalog_list_all_tables() -> None:
    for catalog in (folder_catalog(), jdbc_catalog()):
        names = [levels for database in catalog.list_namespaces() for levels in catalog.list_tables(database)]
        rows = catalog.inspect.all_tables().to_pylist()
        assert [(row["database_name"], row["table_name"]) for row in rows] == names
        for row, levels in zip(rows, names, strict=True):
            table = catalog.load_table(levels)
            assert row["primary_key"] is bool(table.primary_keys)
            assert row["partitioned"] is bool(table.partition_keys)
            options = catalog.inspect.all_table_options(row_filter=f"table_name = '{levels[1]}'").to_pylist()
            own = {row["key"]: row["value"] for row in options if row["database_name"] == levels[0]}
            assert own == table.options


def test_the_options_of_a_catalog_hide_secrets() -> None:
    catalog = folder_catalog(**{"s3.secret-access-key": CANARY})
    options = {row["key"]: row["value"] for row in catalog.inspect.catalog_options().to_pylist()}
    assert options["warehouse"] == str(CATALOGS / "filesystem")
    assert options["s3.secret-access-key"] == "***"


def test_the_partitions_of_all_tables(tmp_path: Any) -> None:
    shutil.copytree(GOLDEN / "paimon" / "g.db" / "append_dv_parquet_b64_bucketed", tmp_path / "a.db" / "p")
    shutil.copytree(GOLDEN / "paimon" / "g.db" / "tags_pk", tmp_path / "a.db" / "t")
    catalog: Any = frazil.load_catalog("p", type="paimon", warehouse=str(tmp_path))
    expected = catalog.load_table("a.p").inspect.partitions().to_pylist()
    rows = catalog.inspect.all_partitions(row_filter="table_name = 'p'").to_pylist()
    assert len(rows) == len(expected) > 0
    for row, partition in zip(rows, expected, strict=True):
        assert row["partition_name"] == partition["partition"]
        assert row["record_count"] == partition["record_count"]
        assert row["file_count"] == partition["file_count"]
        updated = partition["last_update_time"].replace(tzinfo=dt.UTC)
        assert row["last_file_creation_time"] == round(updated.timestamp() * 1000)


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


def test_a_system_table_exists_if_it_can_be_loaded() -> None:
    endings = ("snapshots", "branch_main", "branch_main$files", "branch_no$files", "snapshot", "history", "", *VIEWS)
    names = [f"{table}${ending}" for table in ("t1", "none") for ending in endings]
    for database, catalog in (("sales", folder_catalog()), ("d1", jdbc_catalog())):
        found = {name: catalog.table_exists((database, name)) for name in names}
        assert found == {name: loads(catalog, (database, name)) for name in names}
        assert found["t1$snapshots"]
        assert found["t1$ro"]
        assert not any(exists for name, exists in found.items() if name.startswith("none"))
        for name in (
            "sys.all_tables",
            "sys.tables",
            "sys.partitions",
            "sys.catalog_options",
            "sys.none",
            "x.all_tables",
        ):
            assert catalog.table_exists(name) == loads(catalog, tuple(name.split(".")))
        assert catalog.table_exists("sys.all_tables")


def loads(catalog: Any, name: tuple[str, ...]) -> bool:
    try:
        catalog.load_table(name)
    except (errors.NoSuchTableError, errors.InvalidArgumentError, errors.NoSuchSnapshotError):
        return False
    return True
