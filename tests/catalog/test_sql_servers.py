"""Tests of SQL catalogs on database servers: concurrent and killed writers, lost connections, name lengths."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

import frazil
from frazil import errors
from frazil.catalog._server_database import ServerDatabase
from frazil.catalog._server_session import is_rolled_back
from support.servers import INTEROP, KINDS, run
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from frazil.catalog import Catalog
    from support.servers import Servers

SCHEMA = pa.schema([pa.field("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]

WRITERS, COMMITS = 4, 20
KILLS = size("FRAZIL_KILLS")

JAVA_TABLES = """
CREATE TABLE iceberg_tables (
    catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
    metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE iceberg_namespace_properties (
    catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255),
    property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))
"""


@pytest.fixture(params=KINDS)
def uri(request: pytest.FixtureRequest, servers: Servers) -> str:
    """Return the address of an empty database."""
    return servers.new_database(request.param)


@pytest.fixture
def catalog(uri: str, tmp_path: Path) -> Catalog[Any]:
    made = opened(uri, tmp_path)
    made.create_namespace("n")
    return made


def opened(uri: str, root: Path, **properties: str) -> Catalog[Any]:
    return frazil.load_catalog("c", type="sql", uri=uri, warehouse=f"{root}/wh", **properties)


def ids(table: Any) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(  # noqa: S603 - this Python
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    told = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), [error for _, error in told]
    return [output for output, _ in told]


# Rows and names


def test_reading_changes_nothing(uri: str, tmp_path: Path) -> None:
    catalog = opened(uri, tmp_path)
    with pytest.raises(errors.CatalogError, match="no table iceberg_tables"):
        catalog.list_namespaces()
    with pytest.raises(errors.CatalogError, match="no table iceberg_tables"):
        opened(uri, tmp_path, init_catalog_tables="false").create_namespace("n")
    assert sa.inspect(sa.create_engine(uri, poolclass=sa.NullPool)).get_table_names() == []


def test_postgresql_refuses_to_write_where_frazil_reads(servers: Servers) -> None:
    database = ServerDatabase("c", servers.new_database("postgresql"), {})
    with pytest.raises(errors.CatalogError, match="read-only transaction"), database.reading() as session:
        session.run("CREATE TABLE t (a INT)", {})
    with database.changing(None) as session:
        session.run("CREATE TABLE t (a INT)", {})
    assert database.columns("t") == {"a"}


def test_jdbc_addresses_name_the_same_database(catalog: Catalog[Any], uri: str, tmp_path: Path) -> None:
    catalog.create_table("n.t", SCHEMA).append(ROWS)
    url = sa.make_url(uri)
    scheme = url.drivername.partition("+")[0]
    schemes = [scheme] if scheme == "postgresql" else ["mysql", "mariadb"]
    for name in schemes:
        jdbc = f"jdbc:{name}://{url.host}:{url.port}/{url.database}"
        for given in ({"uri": jdbc, "jdbc.user": url.username or ""}, {"uri": f"{jdbc}?user={url.username}"}):
            other = frazil.load_catalog("c", type="sql", warehouse=f"{tmp_path}/wh", **given)
            assert other.load_table("n.t").append(ROWS).added_records == 2
        with pytest.raises(errors.FrazilError, match="noSuchParameter"):
            frazil.load_catalog("c", type="sql", uri=f"{jdbc}?user=x&noSuchParameter=1").list_namespaces()


@pytest.mark.parametrize("made_by", ["frazil", "java"])
def test_names_that_differ_in_case_or_accents_are_different(uri: str, tmp_path: Path, made_by: str) -> None:
    if made_by == "java":
        for statement in JAVA_TABLES.split(";"):
            run(uri, statement)
    catalog = opened(uri, tmp_path)
    catalog.create_namespace("space", {"key": "1"})
    kept = catalog.create_table("space.table", SCHEMA)
    kept.append(ROWS)
    for name in ("SPACE", "späce"):
        assert not catalog.namespace_exists((name,))
        with pytest.raises(errors.NoSuchNamespaceError):
            catalog.load_namespace_properties((name,))
        with pytest.raises(errors.NoSuchNamespaceError):
            catalog.drop_namespace((name,))
    for name in ("TABLE", "täble", "Table"):
        assert not catalog.table_exists(("space", name))
        for call in (catalog.load_table, catalog.drop_table, catalog.purge_table):
            with pytest.raises(errors.NoSuchTableError):
                call(("space", name))
        with pytest.raises(errors.NoSuchTableError):
            catalog.rename_table(("space", name), "space.new")
    other = frazil.load_catalog("C", type="sql", uri=uri, warehouse=f"{tmp_path}/wh2")
    assert other.list_namespaces() == []
    assert ids(kept) == [1, 2]
    if made_by == "java" and uri.startswith("mysql"):
        # The primary key of the table that Java created treats them as equal.
        with pytest.raises(errors.AlreadyExistsError):
            catalog.create_table("space.TABLE", SCHEMA)
        with pytest.raises(errors.AlreadyExistsError):
            catalog.create_namespace("SPACE", {"key": "2"})
        return
    catalog.create_namespace("SPACE", {"key": "2", "KEY": "3"})
    for name in ("space.TABLE", "SPACE.table", "SPACE.täble"):
        catalog.create_table(name, SCHEMA)
    assert catalog.list_namespaces() == [("SPACE",), ("space",)]
    assert catalog.list_tables("space") == [("space", "TABLE"), ("space", "table")]
    assert catalog.load_namespace_properties("SPACE").items() >= {"key": "2", "KEY": "3"}.items()
    catalog.rename_table("space.TABLE", "space.Table")
    catalog.drop_table("SPACE.table")
    assert catalog.list_tables("SPACE") == [("SPACE", "täble")]
    assert ids(kept) == [1, 2]


@pytest.mark.parametrize(
    "name", ["we ird", "O'Brien; DROP TABLE iceberg_tables", "漢字", "🧊", "100%_", "--", "%(x)s", ":n"]
)
def test_names_are_values_not_sql(catalog: Catalog[Any], name: str) -> None:
    catalog.create_namespace((name,), {name: name})
    catalog.create_table((name, name), SCHEMA).append(ROWS)
    assert catalog.list_tables((name,)) == [(name, name)]
    assert catalog.load_namespace_properties((name,))[name] == name
    assert catalog.load_table((name, name)).scan().count() == 2
    catalog.drop_table((name, name))
    catalog.drop_namespace((name,))
    assert catalog.list_namespaces() == [("n",)]


@pytest.mark.parametrize("mode", ["default", "lenient"])
def test_text_that_does_not_fit_is_refused_not_cut_off(
    catalog: Catalog[Any], uri: str, tmp_path: Path, mode: str
) -> None:
    if mode == "lenient":
        if not uri.startswith("mysql"):
            pytest.skip("PostgreSQL has no such mode")
        run(uri, "SET GLOBAL sql_mode = ''")
    try:
        table = catalog.create_table("n.t", SCHEMA)
        before = files_below(tmp_path)
        for create in (
            lambda: catalog.create_table(("n", "t" * 256), SCHEMA, f"{tmp_path}/wh/n/short"),
            lambda: catalog.create_table("n.far", SCHEMA, f"{tmp_path}/{'/'.join(['x' * 200] * 5)}"),
            lambda: catalog.create_namespace("x" * 256),
            lambda: catalog.create_namespace("y", {"k": "v" * 1001}),
            lambda: catalog.rename_table("n.t", ("n", "u" * 256)),
            lambda: catalog.update_namespace_properties("n", updates={"k" * 256: "v"}),
        ):
            with pytest.raises(errors.FrazilError, match=r"(?i)too long"):
                create()
        assert files_below(tmp_path) == before
        assert catalog.list_tables("n") == [("n", "t")]
        assert catalog.list_namespaces() == [("n",)]
        catalog.create_namespace("x" * 255, {"k" * 255: "v" * 1000})
        assert catalog.load_namespace_properties("x" * 255)["k" * 255] == "v" * 1000
        assert table.append(ROWS).attempts == 1
    finally:
        if mode == "lenient":
            run(uri, "SET GLOBAL sql_mode = DEFAULT")


def test_pyiceberg_and_frazil_share_a_server(catalog: Catalog[Any], uri: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sql = pytest.importorskip("pyiceberg.catalog.sql")
        table = catalog.create_table("n.t", SCHEMA)
        table.append(ROWS)
        theirs = sql.SqlCatalog("c", uri=uri, warehouse=f"file://{tmp_path}/wh")
        try:
            seen = theirs.load_table("n.t")
            seen.append(pa.Table.from_pylist(ROWS, SCHEMA))
            theirs.create_namespace("m")
            theirs.create_table("m.theirs", SCHEMA)
        finally:
            theirs.engine.dispose()
    assert table.append(ROWS).attempts == 2
    assert ids(table) == [1, 1, 1, 2, 2, 2]
    assert catalog.list_namespaces() == [("m",), ("n",)]
    catalog.load_table("m.theirs").append(ROWS)
    assert ids(catalog.load_table("m.theirs")) == [1, 2]


# Concurrent writers

APPEND = """
import sys
import frazil
uri, root, number, commits = sys.argv[1:]
catalog = frazil.load_catalog("c", type="sql", uri=uri, warehouse=f"{root}/wh")
print("ready", flush=True)
sys.stdin.readline()
catalog.create_namespace_if_not_exists("n")
table = catalog.create_table_if_not_exists("n.t", {"id": "long"}, properties={"commit.retry.num-retries": "200"})
for i in range(int(commits)):
    table.append([{"id": int(number) * int(commits) + i}])
    catalog.update_namespace_properties("n", updates={"last": number, f"k{i % 3}": number})
"""


@pytest.mark.parametrize("isolation", ["default", "serializable"])
def test_concurrent_writers_lose_nothing(uri: str, tmp_path: Path, isolation: str) -> None:
    """Four processes create the tables of the catalog, a namespace and a table, and commit twenty times each."""
    if isolation == "serializable":
        if not INTEROP:
            pytest.skip("run by `make interop`")
        if uri.startswith("mysql"):
            run(uri, "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        else:
            run(uri, f"ALTER DATABASE {sa.make_url(uri).database} SET default_transaction_isolation = 'serializable'")
    try:
        writers = [python(APPEND, uri, tmp_path, number, COMMITS) for number in range(WRITERS)]
        for writer in writers:
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin
            writer.stdin.write("\n")
            writer.stdin.flush()
        finish(writers)
    finally:
        if uri.startswith("mysql"):
            run(uri, "SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    table = opened(uri, tmp_path).load_table("n.t")
    assert ids(table) == list(range(WRITERS * COMMITS))
    assert sorted(snapshot.sequence_number for snapshot in table.snapshots()) == list(range(1, WRITERS * COMMITS + 1))
    assert len({snapshot.parent_snapshot_id for snapshot in table.snapshots()}) == WRITERS * COMMITS


def test_a_deadlock_is_retried(catalog: Catalog[Any], uri: str) -> None:
    """Another transaction holds one row of a namespace and waits for a row that frazil has changed."""
    properties = {f"k{number}": "old" for number in range(8)}
    catalog.update_namespace_properties("n", updates=properties)
    if not uri.startswith("mysql"):
        run(uri, f"ALTER DATABASE {sa.make_url(uri).database} SET deadlock_timeout = '800ms'")
    update = "UPDATE iceberg_namespace_properties SET property_value = 'held' WHERE property_key = :key"
    engine = sa.create_engine(uri, poolclass=sa.NullPool)
    with engine.connect() as connection, ThreadPoolExecutor(1) as pool:
        if not uri.startswith("mysql"):
            connection.execute(sa.text("SET deadlock_timeout = '60s'"))
        connection.execute(sa.text(update), {"key": "k3"})
        done = pool.submit(catalog.update_namespace_properties, "n", updates=dict.fromkeys(properties, "new"))
        time.sleep(0.4)
        with contextlib.suppress(sa.exc.DBAPIError):
            for key in properties:
                connection.execute(sa.text(update), {"key": key})
            connection.commit()
        connection.rollback()
        assert len(done.result(60).updated) == 8
    assert set(catalog.load_namespace_properties("n").values()) >= {"new"}
    assert "held" not in catalog.load_namespace_properties("n").values()


def test_a_commit_waits_for_a_row_that_is_held(catalog: Catalog[Any], uri: str) -> None:
    table = catalog.create_table("n.t", SCHEMA)
    with sa.create_engine(uri, poolclass=sa.NullPool).connect() as connection, ThreadPoolExecutor(1) as pool:
        connection.execute(sa.text("SELECT * FROM iceberg_tables FOR UPDATE"))
        done = pool.submit(table.append, ROWS)
        assert catalog.list_tables("n") == [("n", "t")]
        time.sleep(0.5)
        assert not done.done()
        connection.rollback()
        assert done.result(30).attempts == 1


def test_of_tables_made_at_once_one_stays_on_an_empty_database(uri: str, tmp_path: Path) -> None:
    """Each thread has a separate catalog, so each one also creates the tables of the catalog."""
    barrier = threading.Barrier(4)

    def make(_: int) -> str | None:
        catalog = opened(uri, tmp_path)
        barrier.wait()
        catalog.create_namespace_if_not_exists("n")
        try:
            return str(catalog.create_table("n.t", SCHEMA).uuid)
        except errors.AlreadyExistsError:
            return None

    with ThreadPoolExecutor(4) as pool:
        made = [uuid for uuid in pool.map(make, range(4)) if uuid]
    assert made == [opened(uri, tmp_path).load_table("n.t").uuid]


@pytest.mark.parametrize(
    ("code", "expected"),
    [("40001", True), ("40P01", True), ("55P03", True), ("23505", False), ("57P01", False), (None, False)],
)
def test_states_of_transactions_that_can_run_again(code: str | None, expected: Any) -> None:
    for attribute in ("sqlstate", "pgcode"):
        cause = Exception("told")
        setattr(cause, attribute, code)
        assert is_rolled_back(sa.exc.OperationalError("", {}, cause)) is expected
    for number in (1020, 1205, 1213):
        assert is_rolled_back(sa.exc.OperationalError("", {}, Exception(number, "told")))
    assert not is_rolled_back(sa.exc.OperationalError("", {}, Exception(2013, "lost connection")))
    assert not is_rolled_back(sa.exc.NoSuchTableError("t"))


# Lost connections and killed writers


@contextlib.contextmanager
def broken_commit(monkeypatch: pytest.MonkeyPatch, uri: str, *, after: bool) -> Iterator[list[int]]:
    """End the connection on the server during a commit, before or after it takes effect."""
    commit, ended = sa.Connection.commit, []

    def failing(connection: sa.Connection) -> None:
        is_mysql = uri.startswith("mysql")
        number = connection.scalar(sa.text("SELECT CONNECTION_ID()" if is_mysql else "SELECT pg_backend_pid()"))
        if after:
            commit(connection)
            connection.execute(sa.text("SELECT 1"))
        ended.append(number)
        run(uri, f"KILL {number}" if is_mysql else f"SELECT pg_terminate_backend({number}, 10000)")
        commit(connection)

    with monkeypatch.context() as patched:
        patched.setattr(sa.Connection, "commit", failing)
        yield ended


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_that_is_lost_in_a_commit_loses_and_doubles_nothing(
    catalog: Catalog[Any], uri: str, monkeypatch: pytest.MonkeyPatch, after: Any
) -> None:
    table = catalog.create_table("n.t", SCHEMA)
    with broken_commit(monkeypatch, uri, after=after) as ended:
        if after:
            # The catalog is queried, and the new state is found.
            assert table.append(ROWS).added_records == 2
        else:
            with pytest.raises(errors.CommitStateUnknownError, match="failed during the commit:"):
                table.append(ROWS)
        with pytest.raises(errors.CommitStateUnknownError, match="failed during the commit:"):
            catalog.create_namespace("m")
    assert len(ended) == 2
    assert ids(catalog.load_table("n.t")) == ([1, 2] if after else [])
    assert catalog.namespace_exists("m") is after
    catalog.create_namespace_if_not_exists("m")
    assert table.append(ROWS).added_records == 2


def test_a_connection_that_is_lost_before_a_commit_changes_nothing(
    catalog: Catalog[Any], uri: str, tmp_path: Path
) -> None:
    table = catalog.create_table("n.t", SCHEMA)
    before = files_below(tmp_path)
    is_mysql = uri.startswith("mysql")
    with sa.create_engine(uri, poolclass=sa.NullPool).connect() as connection, ThreadPoolExecutor(1) as pool:
        connection.execute(sa.text("SELECT * FROM iceberg_tables FOR UPDATE"))
        done = pool.submit(table.append, ROWS)
        waiting = (
            "SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE iceberg_tables%'"
            if is_mysql
            else "SELECT pid FROM pg_stat_activity WHERE query LIKE 'UPDATE iceberg_tables%'"
            " AND datname = current_database() AND wait_event_type = 'Lock'"
        )
        while not (found := run(uri, waiting)):
            time.sleep(0.05)
        run(uri, f"KILL {found[0][0]}" if is_mysql else f"SELECT pg_terminate_backend({found[0][0]}, 10000)")
        with pytest.raises(errors.CatalogError, match="returned an error"):
            done.result(60)
        connection.rollback()
    assert files_below(tmp_path) == before
    assert table.append(ROWS).attempts == 1
    assert ids(table) == [1, 2]


KILLED = """
import sys
import frazil
uri, root, number = sys.argv[1:]
table = frazil.load_catalog("c", type="sql", uri=uri, warehouse=f"{root}/wh").load_table("n.t")
number = int(number) * 1000
while True:
    table.append([{"id": number}])
    print(number, flush=True)
    number += 1
"""

KILLED_IN_COMMIT = """
import os, sys
import frazil, sqlalchemy
uri, root = sys.argv[1:]
catalog = frazil.load_catalog("c", type="sql", uri=uri, warehouse=f"{root}/wh")
table = catalog.load_table("n.t")
sqlalchemy.Connection.commit = lambda _: os.kill(os.getpid(), 9)
table.append([{"id": -1}])
"""


def test_writers_that_are_killed_leave_whole_commits(catalog: Catalog[Any], uri: str, tmp_path: Path) -> None:
    table = catalog.create_table("n.t", SCHEMA)
    acknowledged: set[int] = set()
    for number in range(1, KILLS + 1):
        writer = python(KILLED, uri, tmp_path, number)
        assert writer.stdout
        said = [writer.stdout.readline()]
        time.sleep(0.017 * number)
        writer.send_signal(signal.SIGKILL)
        told, _ = writer.communicate()
        whole = {int(line) for line in [*said, *told.splitlines()] if line.strip()}
        assert whole
        acknowledged |= whole
        found = ids(table)
        assert len(found) == len(set(found)) <= len(acknowledged) + number
        assert acknowledged <= set(found)
    writer = python(KILLED_IN_COMMIT, uri, tmp_path)
    assert (writer.communicate(timeout=120), writer.returncode)[1] == -signal.SIGKILL
    # The row is locked until the server notices that the client is gone.
    assert table.refresh().append([{"id": 0}]).attempts == 1
    assert -1 not in ids(table)
    catalog.rename_table("n.t", "n.u")
    catalog.purge_table("n.u")
