"""Tests of Paimon catalogs in a SQL database, as they are written."""

from __future__ import annotations

import itertools
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from frazil.paimon import Table
from support.faulty_database import FAULTS, FaultyDatabase
from support.servers import KINDS, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.catalog import Catalog

COLUMNS = {"id": "BIGINT", "name": "STRING"}
GOLDEN = Path(__file__).parents[1] / "golden" / "paimon_catalogs" / "catalog_jdbc.json"


ADDRESSES: dict[Path, str] = {}
"""The addresses of the databases for folders whose catalogs are not in SQLite."""


def uri_of(root: Path) -> str:
    return ADDRESSES.get(root, f"sqlite:///{root}/catalog.db")


def opened(root: Path, **properties: str) -> Catalog[Any]:
    given = {"metastore": "jdbc", "uri": uri_of(root), "warehouse": f"{root}/wh"}
    return frazil.load_catalog("p", type="paimon", **(given | properties))


def rows(root: Path, statement: str) -> list[Any]:
    if root in ADDRESSES:
        return sorted(run(ADDRESSES[root], statement))
    with closing(sqlite3.connect(root / "catalog.db")) as connection:
        found = connection.execute(statement).fetchall()
        connection.commit()
    return sorted(found)


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture(params=["sqlite", *KINDS])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Create a folder and an empty database."""
    if request.param in KINDS:
        ADDRESSES[tmp_path] = request.getfixturevalue("servers").new_database(request.param)
    yield tmp_path
    ADDRESSES.pop(tmp_path, None)


@pytest.fixture
def catalog(root: Path) -> Catalog[Any]:
    made = opened(root)
    made.create_namespace("db")
    return made


def test_the_database_is_as_java_creates_it(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.create_namespace("db")
    catalog.create_table("db.t", COLUMNS)
    golden = json.loads(GOLDEN.read_text())["sqlite"]
    expected = {name: table["ddl"] for name, table in golden.items() if name != "paimon_distributed_locks"}
    assert dict(rows(tmp_path, "SELECT name, sql FROM sqlite_master WHERE type = 'table'")) == expected


def test_a_table_is_created_read_and_written(catalog: Catalog[Any], root: Path) -> None:
    table = catalog.create_table(
        "db.t", COLUMNS | {"day": "STRING"}, primary_keys=["id", "day"], partition_keys=["day"], options={"bucket": "2"}
    )
    table.append([{"id": 1, "name": "a", "day": "x"}])
    again = opened(root)
    assert again.list_tables("db") == [("db", "t")]
    assert again.load_table("db.t").scan().count() == 1
    assert (root / "wh" / "db.db" / "t" / "schema" / "schema-0").is_file()
    assert rows(root, "SELECT * FROM paimon_tables") == [("jdbc", "db", "t")]
    assert rows(root, "SELECT * FROM paimon_table_properties") == [
        ("jdbc", "db", "t", "bucket", "2"),
        ("jdbc", "db", "t", "bucket-key", "id"),
        ("jdbc", "db", "t", "partition", "day"),
        ("jdbc", "db", "t", "primary-key", "id,day"),
    ]
    with pytest.raises(errors.AlreadyExistsError, match=r"db\.t"):
        again.create_table("db.t", COLUMNS)
    assert again.create_table_if_not_exists("db.t", COLUMNS).scan().count() == 1


def test_the_copy_of_the_options_follows_changes(catalog: Catalog[Any], root: Path) -> None:
    table = catalog.create_table("db.t", COLUMNS, primary_keys=["id"], options={"bucket": "2", "label": "a"})
    stale = opened(root).load_table("db.t")
    table.set_properties({"label": "b"})
    table.update_schema().rename_column("id", "key").commit()
    stale.remove_properties("label")
    assert rows(root, "SELECT property_key, property_value FROM paimon_table_properties") == [
        ("bucket", "2"),
        ("bucket-key", "key"),
        ("primary-key", "key"),
    ]
    with pytest.raises(errors.InvalidArgumentError):
        table.set_properties({"path": "/x"})
    table.append([{"key": 1, "name": "a"}])
    table.manage_snapshots().create_tag(None, "v").create_branch("v", "b").commit()
    catalog.load_table("db.t$branch_b").set_properties({"label": "c"})
    assert ("label", "c") not in rows(root, "SELECT property_key, property_value FROM paimon_table_properties")


def test_databases_have_properties(catalog: Catalog[Any], root: Path) -> None:
    catalog.create_namespace("d2", {"owner": "me", "exists": "no"})
    place = f"{root}/wh/d2.db"
    assert catalog.load_namespace_properties("d2") == {"owner": "me", "location": place}
    assert rows(root, "SELECT * FROM paimon_database_properties WHERE database_name = 'd2'") == [
        ("jdbc", "d2", "exists", "true"),
        ("jdbc", "d2", "location", place),
        ("jdbc", "d2", "owner", "me"),
    ]
    found = catalog.update_namespace_properties("d2", {"owner", "none"}, {"team": "data"})
    assert (found.removed, found.updated, found.missing) == (["owner"], ["team"], ["none"])
    assert catalog.load_namespace_properties("d2") == {"team": "data", "location": place}
    with pytest.raises(errors.AlreadyExistsError, match="d2"):
        catalog.create_namespace("d2")
    catalog.create_table("d2.t", COLUMNS)
    with pytest.raises(errors.CatalogError, match="contains tables, so its location cannot be changed"):
        catalog.update_namespace_properties("d2", updates={"location": "/elsewhere"})
    with pytest.raises(errors.CatalogError, match="not empty"):
        catalog.drop_namespace("d2")
    catalog.drop_table("d2.t")
    catalog.drop_namespace("d2")
    assert not catalog.namespace_exists("d2")
    assert catalog.list_namespaces() == [("db",)]


def test_tables_are_in_the_warehouse_as_of_java(catalog: Catalog[Any], root: Path) -> None:
    """Java 1.4 ignores the location of a database; tables that earlier releases created are still found."""
    elsewhere = root / "elsewhere"
    catalog.create_namespace("far", {"location": str(elsewhere)})
    catalog.create_table("far.t", COLUMNS)
    assert catalog.load_table("far.t").location == f"{root}/wh/far.db/t"
    Table.create(elsewhere / "old", COLUMNS)
    old = catalog.register_table("far.old", f"{elsewhere}/old")
    assert old.location == f"{elsewhere}/old"
    with pytest.raises(errors.InvalidArgumentError, match="expects table"):
        catalog.register_table("far.other", f"{root}/anywhere")


def test_dropping_forgets_and_registering_brings_back(catalog: Catalog[Any], root: Path) -> None:
    table = catalog.create_table("db.t", COLUMNS)
    table.append([{"id": 1}])
    catalog.drop_table("db.t")
    assert not catalog.table_exists("db.t")
    assert rows(root, "SELECT * FROM paimon_table_properties") == []
    with pytest.raises(errors.NoSuchTableError):
        catalog.drop_table("db.t")
    for create in (catalog.create_table, catalog.create_table_if_not_exists):
        with pytest.raises(errors.CatalogError, match="does not list") as caught:
            create("db.t", COLUMNS)
        assert "register_table" in (caught.value.hint or "")
    assert not catalog.table_exists("db.t")
    assert catalog.register_table("db.t", table.location).scan().count() == 1
    with pytest.raises(errors.AlreadyExistsError):
        catalog.register_table("db.t", table.location)
    with pytest.raises(errors.NoSuchTableError):
        catalog.register_table("db.none", f"{root}/wh/db.db/none")


def test_purging_deletes_the_folder_and_nothing_else(catalog: Catalog[Any], root: Path) -> None:
    catalog.create_table("db.other", COLUMNS).append([{"id": 1}])
    kept = files_below(root)
    table = catalog.create_table("db.t", COLUMNS)
    table.append([{"id": 1}])
    plan = catalog.plan_purge("db.t")
    kinds = {kind: count for kind, (count, _) in plan.by_kind().items()}
    assert len(plan) == len(files_below(root)) - len(kept)
    assert (kinds["schema"], kinds["data"]) == (1, 1)
    table.append([{"id": 2}])
    with pytest.raises(errors.CommitConflictError, match="nothing was deleted"):
        catalog.purge_table("db.t", plan)
    assert catalog.load_table("db.t").scan().count() == 2
    catalog.drop_table("db.t", purge=True)
    assert files_below(root) == kept
    assert not (root / "wh" / "db.db" / "t").exists()
    assert catalog.create_table("db.t", COLUMNS).scan().count() == 0


def test_files_elsewhere_are_not_purged(catalog: Catalog[Any], root: Path) -> None:
    catalog.create_table("db.t", COLUMNS)
    schema = root / "wh" / "db.db" / "t" / "schema" / "schema-0"
    options = {"data-file.external-paths": f"file://{root}/out"}
    schema.write_text(json.dumps(json.loads(schema.read_text()) | {"options": options}))
    with pytest.raises(errors.UnsupportedError, match="external-paths"):
        catalog.purge_table("db.t")
    assert catalog.table_exists("db.t")


@pytest.mark.parametrize("name", ["we ird", "O'Brien; DROP TABLE paimon_tables", "näme", "100_x", "--", "T", "t"])
def test_names_are_values_not_sql(catalog: Catalog[Any], name: str) -> None:
    catalog.create_namespace((name,), {name: name})
    catalog.create_table((name, name), COLUMNS).append([{"id": 1}])
    assert catalog.list_tables((name,)) == [(name, name)]
    assert catalog.load_table((name, name)).scan().count() == 1
    catalog.drop_table((name, name))
    assert catalog.list_tables((name,)) == []
    catalog.drop_namespace((name,))
    assert catalog.list_namespaces() == [("db",)]


@pytest.mark.parametrize("name", ["a$b", "a%2fb", "a:b", "a*b", 'a"b', ".hidden", "sys", "a<b"])
def test_names_that_are_not_folders_are_refused(catalog: Catalog[Any], name: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is not allowed as the name"):
        catalog.create_table(("db", name), COLUMNS)
    with pytest.raises(errors.InvalidArgumentError, match="is not allowed as the name"):
        catalog.create_namespace((name,))
    assert catalog.list_tables("db") == []


def test_bad_input_leaves_nothing(catalog: Catalog[Any], root: Path) -> None:
    before = files_below(root)
    for schema, error in (({"id": "NONSENSE"}, errors.InvalidArgumentError), ({}, errors.InvalidArgumentError)):
        with pytest.raises(error):
            catalog.create_table("db.t", schema)
    with pytest.raises(errors.NoSuchNamespaceError, match="create_namespace"):
        catalog.create_table("none.t", COLUMNS)
    with pytest.raises(errors.InvalidArgumentError, match="a database and a table"):
        catalog.create_table("t", COLUMNS)
    with pytest.raises(errors.UnsupportedError, match="nest"):
        catalog.create_namespace("a.b")
    with pytest.raises(errors.UnsupportedError, match="rename"):
        catalog.rename_table("db.t", "db.u")
    for name in ("db.t", "t", "a.b.c", "db.t$branch_b"):
        with pytest.raises(errors.NoSuchTableError):
            catalog.drop_table(name)
    assert files_below(root) == before
    assert rows(root, "SELECT * FROM paimon_tables") == []


def test_without_a_warehouse_the_database_needs_a_location(root: Path) -> None:
    catalog = frazil.load_catalog("p", metastore="jdbc", uri=uri_of(root))
    catalog.create_namespace("db")
    with pytest.raises(errors.InvalidArgumentError, match="no warehouse"):
        catalog.create_table("db.t", COLUMNS)
    catalog.create_namespace("far", {"location": f"{root}/far"})
    assert catalog.create_table("far.t", COLUMNS).location == f"{root}/far/t"


def test_a_database_is_not_changed_by_reading_nor_without_leave(tmp_path: Path) -> None:
    catalog = opened(tmp_path, init_catalog_tables="false")
    with pytest.raises(errors.MissingFileError):
        catalog.create_namespace("db")
    assert files_below(tmp_path) == []
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute("CREATE TABLE other(x)")
    with pytest.raises(errors.CatalogError, match="contains no Paimon catalog"):
        catalog.create_namespace("db")
    opened(tmp_path).create_namespace("db")
    assert catalog.list_namespaces() == [("db",)]


def test_tables_of_older_databases_are_completed(root: Path) -> None:
    """The database of an earlier release lacks the table of table properties."""
    opened(root).create_namespace("db")
    rows(root, "DROP TABLE paimon_table_properties")
    opened(root, init_catalog_tables="false").create_table("db.t", COLUMNS, options={"bucket": "-1"})
    opened(root).create_table("db.u", COLUMNS, options={"bucket": "-1"})
    opened(root, **{"sync-all-properties": "false"}).create_table("db.v", COLUMNS, options={"bucket": "-1"})
    assert rows(root, "SELECT table_name FROM paimon_table_properties") == [("u",)]
    assert len(opened(root).list_tables("db")) == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_a_whole_table_or_none(tmp_path: Path, fault: str) -> None:
    for at in itertools.count():
        root = tmp_path / str(at)
        root.mkdir()
        if not fails_whole(root, FaultyDatabase(fault, at)):
            assert at > (0 if "commit" in fault else 5)
            return


def fails_whole(root: Path, broken: FaultyDatabase) -> bool:
    """Create a table with a fault and check the result; return whether the fault occurred."""
    catalog = opened(root)
    catalog.create_namespace("db")
    before = files_below(root)
    is_created = False
    with broken.installed():
        broken.arm()
        try:
            catalog.create_table("db.t", COLUMNS, options={"bucket": "-1"})
            is_created = True
        except errors.CommitStateUnknownError:
            # Nothing may be deleted, because the row may still be inserted.
            assert (root / "wh" / "db.db" / "t" / "schema" / "schema-0").is_file()
            return broken.is_tripped
        except errors.CatalogError as error:
            assert broken.is_tripped
            is_created = "the table was created, but it cannot be loaded" in str(error)
    assert opened(root).table_exists("db.t") is is_created
    if not is_created:
        assert files_below(root) == before
        catalog.create_table("db.t", COLUMNS)
    assert catalog.load_table("db.t").scan().count() == 0
    return broken.is_tripped


CREATOR = """
import json, sys
import frazil
from frazil.errors import AlreadyExistsError
number, properties = json.loads(sys.argv[1])
catalog = frazil.load_catalog("p", **properties)
print("ready", flush=True)
sys.stdin.readline()
catalog.create_namespace_if_not_exists("db")
for at in range(10):
    try:
        catalog.create_table(f"db.t{at}", {"id": "INT"}, comment=str(number))
        print(at)
    except AlreadyExistsError:
        pass
    catalog.create_table_if_not_exists(f"db.u{at}", {"id": "INT"}).append([{"id": number}])
"""


def test_two_processes_create_the_same_tables(root: Path) -> None:
    given = {"type": "paimon", "metastore": "jdbc", "uri": uri_of(root), "warehouse": f"{root}/wh"}
    creators = [
        subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-c", CREATOR, json.dumps([number, given])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for creator in creators:
        assert creator.stdout
        assert creator.stdout.readline() == "ready\n"
    told = [creator.communicate("\n", timeout=120) for creator in creators]
    assert [creator.returncode for creator in creators] == [0, 0], [error for _, error in told]
    won = [set(map(int, output.split())) for output, _ in told]
    assert won[0] | won[1] == set(range(10))
    assert not won[0] & won[1]
    catalog = frazil.load_catalog("p", **given)
    for number in range(2):
        assert {at for at in range(10) if catalog.load_table(f"db.t{at}").comment == str(number)} == won[number]
    for at in range(10):
        found = catalog.load_table(f"db.u{at}").scan().to_arrow()["id"].to_pylist()
        assert sorted(found) == [0, 1]
