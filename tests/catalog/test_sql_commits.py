"""Tests of SQL catalogs that are shared with other clients, and of lakes that contain one."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from frazil.catalog import _sqlite as sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.catalog import Catalog

SCHEMA = pa.schema([pa.field("id", pa.int64()), ("name", pa.string())])
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", None]})


def ours(root: Path, **properties: str) -> Catalog[Any]:
    return frazil.load_catalog("c", uri=f"sqlite:///{root}/catalog.db", warehouse=f"{root}/wh", **properties)


def with_table(root: Path) -> tuple[Catalog[Any], Any]:
    """Return a catalog with the table `n.t`, which has no rows."""
    catalog = ours(root)
    catalog.create_namespace("n")
    return catalog, catalog.create_table("n.t", SCHEMA)


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Return a function that opens PyIceberg's catalog in the same database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = pytest.importorskip("pyiceberg.catalog.sql")
        made: list[Any] = []

        def make() -> Any:
            made.append(
                oracle.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/wh")
            )
            return made[-1]

        yield make
        for catalog in made:
            catalog.engine.dispose()


def select(root: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(root / "catalog.db")) as connection:
        return connection.execute(statement).fetchall()


def test_pyiceberg_continues_our_tables(tmp_path: Path, theirs: Callable[[], Any]) -> None:
    catalog = ours(tmp_path)
    catalog.create_namespace("a.b", {"owner": "me"})
    table = catalog.create_table("a.b.t", SCHEMA, partition_by=["name"])
    table.append(ROWS)
    other = theirs()
    assert other.list_namespaces("a") == [("a", "b")]
    assert other.load_namespace_properties("a.b")["owner"] == "me"
    assert other.list_tables("a.b") == [("a", "b", "t")]
    seen = other.load_table("a.b.t")
    assert seen.scan().to_arrow().num_rows == 2
    seen.append(ROWS)
    assert table.append(ROWS).attempts == 2
    assert table.scan().count() == other.load_table("a.b.t").scan().to_arrow().num_rows == 6
    other.create_namespace("n")
    other.rename_table("a.b.t", "n.u")
    assert catalog.load_table("n.u").append(ROWS).attempts == 1
    other.drop_table("n.u")
    with pytest.raises(errors.NoSuchTableError):
        catalog.load_table("n.u")
    catalog.drop_namespace("a.b")
    assert other.list_namespaces() == [("n",)]


def test_we_continue_pyiceberg_tables(tmp_path: Path, theirs: Callable[[], Any]) -> None:
    other = theirs()
    other.create_namespace("n", {"owner": "them"})
    made = other.create_table("n.t", SCHEMA)
    made.append(ROWS)
    catalog = ours(tmp_path)
    table = catalog.load_table("n.t")
    assert table.location == f"file://{tmp_path}/wh/n/t"
    assert table.append(ROWS).attempts == 1
    assert table.refresh().scan().count() == 4
    made.refresh()
    assert made.metadata_location.startswith(f"file://{tmp_path}/wh/n/t/metadata/00002-")
    assert made.scan().to_arrow().num_rows == 4
    made.append(ROWS)
    assert [entry.metadata_file[-10:] for entry in made.metadata.metadata_log][-1:] == [table.metadata_location[-10:]]
    assert catalog.load_table("n.t").scan().count() == 6
    assert catalog.update_namespace_properties("n", ["owner"], {"x": "y"}).removed == ["owner"]
    assert other.load_namespace_properties("n")["x"] == "y"
    kinds = catalog.purge_table("n.t").by_kind()
    assert kinds["data"][0] == 3
    assert not [path for path in (tmp_path / "wh" / "n" / "t").rglob("*") if path.is_file()]
    assert other.list_tables("n") == []


def test_catalog_schema_matches_java_and_keeps_the_previous_location(tmp_path: Path) -> None:
    _, table = with_table(tmp_path)
    first = table.metadata_location
    table.append(ROWS)
    columns = "catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type"
    [row] = select(tmp_path, f"SELECT {columns} FROM iceberg_tables")  # noqa: S608 - made here
    assert row == ("c", "n", "t", table.metadata_location, first, "TABLE")
    assert select(tmp_path, "SELECT * FROM iceberg_namespace_properties") == [("c", "n", "exists", "true")]
    with pytest.raises(sqlite3.IntegrityError), closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute("INSERT INTO iceberg_tables VALUES ('c', 'n', 't', NULL, NULL, NULL)")


def test_tables_of_the_first_version_stay_so(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute(
            "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,"
            " table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000),"
            " previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))"
        )
    catalog = ours(tmp_path)
    catalog.create_namespace("n")
    catalog.create_table("n.t", SCHEMA).append(ROWS)
    assert ours(tmp_path).load_table("n.t").scan().count() == 2
    assert len(select(tmp_path, "PRAGMA table_info(iceberg_tables)")) == 5


def test_a_view_keeps_its_name(tmp_path: Path) -> None:
    catalog = ours(tmp_path)
    catalog.create_namespace("n")
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection, connection:
        connection.execute("INSERT INTO iceberg_tables VALUES ('c', 'n', 'v', '/v.json', NULL, 'VIEW')")
    catalog.create_table("n.t", SCHEMA)
    with pytest.raises(errors.AlreadyExistsError, match="view"):
        catalog.create_table("n.v", SCHEMA)
    with pytest.raises(errors.AlreadyExistsError):
        catalog.rename_table("n.t", "n.v")
    with pytest.raises(errors.NoSuchTableError):
        catalog.drop_table("n.v")
    catalog.drop_table("n.t")
    with pytest.raises(errors.CatalogError, match="not empty"):
        catalog.drop_namespace("n")
    assert select(tmp_path, "SELECT table_name, metadata_location FROM iceberg_tables") == [("v", "/v.json")]


def test_nothing_is_made_by_reading_or_where_it_is_not_wanted(tmp_path: Path) -> None:
    catalog = ours(tmp_path)
    for call in (
        catalog.list_namespaces,
        lambda: catalog.load_table("n.t"),
        lambda: catalog.create_table("n.t", SCHEMA),
    ):
        with pytest.raises(errors.MissingFileError, match="does not exist"):
            call()
    unwilling = ours(tmp_path, init_catalog_tables="false")
    with pytest.raises(errors.MissingFileError, match="does not exist"):
        unwilling.create_namespace("n")
    lake = frazil.load_catalog("x", path=str(tmp_path / "lake"))
    assert lake.type == "local"
    assert not lake.table_exists("n.t")
    for call in (lake.list_namespaces, lambda: lake.load_table("n.t")):
        with pytest.raises(errors.MissingFileError, match="create_namespace or create_table"):
            call()
    assert not (tmp_path / "catalog.db").exists()
    assert not (tmp_path / "lake").exists()
    (tmp_path / "catalog.db").touch()
    with pytest.raises(errors.CatalogError, match="no table iceberg_tables"):
        unwilling.create_namespace("n")
    catalog.create_namespace("n")
    unwilling.create_namespace("m")
    assert catalog.list_namespaces() == [("m",), ("n",)]


def test_a_change_waits_for_others_and_a_reader_does_not_stop_it(tmp_path: Path) -> None:
    catalog = ours(tmp_path)
    catalog.create_namespace("n")
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            held.set()
            release.wait(10)
            connection.execute("ROLLBACK")

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    assert catalog.list_namespaces() == [("n",)]
    threading.Timer(0.3, release.set).start()
    began = time.monotonic()
    catalog.create_table("n.t", SCHEMA)
    assert time.monotonic() - began > 0.2
    holder.join()


def test_changes_of_a_killed_writer_are_rolled_back(tmp_path: Path) -> None:
    catalog, table = with_table(tmp_path)
    code = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE iceberg_tables SET metadata_location = 'half'")
for i in range(2000):
    connection.execute("INSERT INTO iceberg_namespace_properties VALUES ('c', 'half', ?, ?)", (str(i), "x" * 500))
os.kill(os.getpid(), 9)
"""
    arguments = [sys.executable, "-c", code, str(tmp_path / "catalog.db")]
    subprocess.run(arguments, check=False)  # noqa: S603
    assert (tmp_path / "catalog.db-journal").stat().st_size > 0
    assert catalog.list_namespaces() == [("n",)]
    assert catalog.load_table("n.t").metadata_location == table.metadata_location
    assert table.append(ROWS).attempts == 1


def test_a_file_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    catalog = ours(tmp_path)
    catalog.create_namespace("n")
    (tmp_path / "catalog.db").chmod(0o444)
    assert ours(tmp_path).list_namespaces() == [("n",)]


def test_tables_of_a_transaction_that_fails_are_not_taken_for_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = frazil.load_catalog("local", path=f"{tmp_path}/lake")
    commit = sqlite.SqliteDatabase._commit

    def failing(*_: Any) -> None:
        message = "disk I/O error"
        raise sqlite3.OperationalError(message)

    monkeypatch.setattr(sqlite.SqliteDatabase, "_commit", failing)
    with pytest.raises(errors.CatalogError, match="disk I/O error"):
        lake.create_namespace("n")
    monkeypatch.setattr(sqlite.SqliteDatabase, "_commit", commit)
    assert not lake.table_exists("n.t")
    lake.create_namespace("n")
    assert lake.list_namespaces() == [("n",)]


def test_a_database_that_may_not_be_written_refuses_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = with_table(tmp_path)
    table.append(ROWS)
    monkeypatch.setattr(sqlite, "_BUSY_SECONDS", 0.05)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with closing(sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.CatalogError, match="locked"):
            ours(tmp_path).load_table("n.t").append(ROWS)
        connection.execute("ROLLBACK")
    after = sorted(str(path) for path in tmp_path.rglob("*") if not path.name.endswith("-journal"))
    assert after == before
    assert table.append(ROWS).attempts == 1


def test_an_error_of_the_row_keeps_its_kind_and_an_unknown_outcome_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from frazil.catalog import _sql as sql

    catalog, table = with_table(tmp_path)
    replace = sql._Row.replace

    def failing(error: Exception, *, afterwards: bool) -> Callable[..., bool]:
        def call(row: Any, expected: str | None, new: str) -> bool:
            if afterwards:
                replace(row, expected, new)
            raise error

        return call

    monkeypatch.setattr(sql._Row, "replace", failing(errors.UnavailableError("lost"), afterwards=True))
    assert table.append(ROWS).added_records == 2
    monkeypatch.setattr(sql._Row, "replace", failing(errors.ForbiddenError("no entry", hint="ask"), afterwards=False))
    with pytest.raises(errors.ForbiddenError, match="no entry") as caught:
        table.append(ROWS)
    assert caught.value.hint == "ask"
    before = len(list(tmp_path.rglob("*")))
    for error in (errors.UnavailableError("lost"), KeyError("a bug")):
        monkeypatch.setattr(sql._Row, "replace", failing(error, afterwards=False))
        with pytest.raises(errors.CommitStateUnknownError, match=r"lost|a bug"):
            table.append(ROWS)
    # A data file, a manifest, a manifest list and a metadata file for each commit.
    assert len(list(tmp_path.rglob("*"))) == before + 8
    monkeypatch.setattr(sql._Row, "replace", replace)
    assert table.append(ROWS).added_records == 2
    assert catalog.load_table("n.t").scan().count() == 4


APPEND = """
import sys
import frazil

catalog = frazil.load_catalog("c", **dict(argument.split("=", 1) for argument in sys.argv[2:]))
for i in range(10):
    catalog.load_table("n.t").append([{"id": int(sys.argv[1]) * 10 + i, "name": "x"}])
"""


@pytest.mark.parametrize("kind", ["sql", "local"])
def test_processes_that_append_lose_nothing(tmp_path: Path, kind: str) -> None:
    properties = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"{tmp_path}/wh"}
    if kind == "local":
        properties = {"path": f"{tmp_path}/lake"}
    catalog = frazil.load_catalog("c", **properties)
    catalog.create_namespace("n")
    catalog.create_table("n.t", SCHEMA, properties={"commit.retry.num-retries": "200"})
    arguments = [f"{key}={value}" for key, value in properties.items()]
    running = [
        subprocess.Popen([sys.executable, "-c", APPEND, str(number), *arguments], stderr=subprocess.PIPE)  # noqa: S603
        for number in range(8)
    ]
    for process in running:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said.decode()
    table = catalog.load_table("n.t")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(80))
    numbers = sorted(snapshot.sequence_number for snapshot in table.snapshots())
    assert numbers == list(range(1, 81))
    parents = {snapshot.parent_snapshot_id for snapshot in table.snapshots()}
    assert len(parents) == 80


KILLED = """
import sys
import frazil

table = frazil.load_catalog("local", path=sys.argv[1]).load_table("n.t")
number = int(sys.argv[2]) * 1000
while True:
    table.append([{"id": number}])
    print(number, flush=True)
    number += 1
"""


def test_writers_that_are_killed_leave_whole_commits(tmp_path: Path) -> None:
    lake = frazil.load_catalog("local", path=f"{tmp_path}/lake")
    lake.create_namespace("n")
    lake.create_table("n.t", SCHEMA)
    acknowledged: set[int] = set()
    begun = 0
    for number in range(1, 7):
        arguments = [sys.executable, "-c", KILLED, f"{tmp_path}/lake", str(number)]
        writer = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert writer.stdout is not None
        said = [writer.stdout.readline()]
        time.sleep(0.013 * number)
        writer.kill()
        said += writer.stdout.read().splitlines()
        writer.wait()
        whole = {int(line) for line in said if line.strip()}
        acknowledged |= whole
        begun += len(whole) + 1
        found = lake.load_table("n.t").scan().to_arrow()["id"].to_pylist()
        assert len(found) == len(set(found)) <= begun
        assert acknowledged <= set(found)
    assert lake.load_table("n.t").append(ROWS).attempts == 1


def test_copied_lake_is_read_and_written_in_place(tmp_path: Path) -> None:
    lake = frazil.load_catalog("mine", path=f"{tmp_path}/lake")
    lake.create_namespace("n")
    lake.create_table("n.t", SCHEMA, partition_by=["bucket(2, id)"]).append(ROWS)
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == ["catalog.db", "warehouse"]
    shutil.copytree(tmp_path / "lake", tmp_path / "copy")
    original = sorted(path for path in (tmp_path / "lake").rglob("*"))
    copy = frazil.load_catalog("other name", path=f"{tmp_path}/copy")
    table = copy.load_table("n.t")
    assert table.metadata_location.startswith(f"{tmp_path}/copy/")
    table.append(ROWS)
    copy.create_table("n.u", SCHEMA).append(ROWS)
    assert sorted(path for path in (tmp_path / "lake").rglob("*")) == original
    assert lake.load_table("n.t").scan().count() == 2
    shutil.rmtree(tmp_path / "lake")
    (tmp_path / "copy").rename(tmp_path / "third")
    third = frazil.load_catalog("local", path=f"{tmp_path}/third")
    for name, count in (("n.t", 4), ("n.u", 2)):
        table = pickle.loads(pickle.dumps(third.load_table(name)))  # noqa: S301 - made here
        assert table.scan().count() == count
        table.append(ROWS)
        assert third.load_table(name).scan().count() == count + 2
    assert third.plan_purge("n.t").by_kind()["data"][0] == 3
    third.purge_table("n.t")
    assert not [path for path in (tmp_path / "third" / "warehouse" / "n" / "t").rglob("*") if path.is_file()]
    assert third.list_tables("n") == [("n", "u")]


def test_a_lake_is_a_folder_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.UnsupportedError, match="of type local must be a local folder, not"):
        frazil.load_catalog("local", path="s3://bucket/lake")
    with pytest.raises(errors.InvalidArgumentError, match="'path'"):
        frazil.load_catalog("local", type="local")
    monkeypatch.chdir(tmp_path)
    lake = frazil.load_catalog("local", path="./odd ? %41 lake")
    lake.create_namespace("n")
    assert lake.create_table("n.t", SCHEMA).append(ROWS).added_records == 2
    monkeypatch.chdir("/")
    assert lake.load_table("n.t").scan().count() == 2
    assert (tmp_path / "odd ? %41 lake" / "warehouse" / "n" / "t").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(errors.StorageError, match=r"the folder of catalog .* cannot be created"):
        frazil.load_catalog("local", path=f"{tmp_path}/file/lake").create_namespace("n")


def test_a_catalog_in_memory_stays_in_its_process(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="in-memory")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", SCHEMA)
    table.append(ROWS)
    (tmp_path / "pickled").write_bytes(pickle.dumps(table))
    code = """
import pickle, sys
import frazil
table = pickle.loads(open(sys.argv[1], "rb").read())
print(table.scan().count())
try:
    table.append([{"id": 1}])
except frazil.errors.UnsupportedError as error:
    print(error)
"""
    arguments = [sys.executable, "-c", code, str(tmp_path / "pickled")]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert said.splitlines()[0] == "2"
    assert "memory of another process" in said
    folder = Path(catalog.properties["warehouse"])
    assert folder.is_dir()
    assert frazil.load_catalog("c", type="memory").list_namespaces() == []
