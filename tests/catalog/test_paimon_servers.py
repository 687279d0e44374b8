"""Tests of Paimon's JDBC catalog on database servers: locks, names, concurrent and killed writers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.servers import KINDS, run

if TYPE_CHECKING:
    from pathlib import Path

    from support.servers import Servers

COLUMNS = {"writer": "INT", "at": "INT"}
WRITERS, COMMITS = 4, 20

Properties = dict[str, str]


@pytest.fixture(params=KINDS)
def given(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Properties:
    """Return the properties of a catalog in an empty database, whose writers acquire locks."""
    lock = {"lock.enabled": "true", "lock-acquire-timeout": "1200 ms", "lock-check-max-sleep": "50 ms"}
    uri = servers.new_database(request.param)
    return {"metastore": "jdbc", "uri": uri, "warehouse": f"{tmp_path}/wh", **lock}


def opened(given: Properties, **more: str) -> Any:
    return frazil.load_catalog("p", **{**given, **more})


def with_table(given: Properties) -> Any:
    catalog = opened(given)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", COLUMNS)


def locks(given: Properties) -> list[Any]:
    return run(given["uri"], "SELECT lock_id, expire_time_seconds FROM paimon_distributed_locks")


def hold(given: Properties, lock_id: str = "jdbc.db.t", *, seconds: int = 1000, age: int = 0) -> None:
    """Hold a lock as another writer that acquired it some seconds ago."""
    is_mysql = given["uri"].startswith("mysql")
    since = f"NOW() - INTERVAL {age} SECOND" if is_mysql else f"NOW() - INTERVAL '{age} seconds'"
    values = f"VALUES (:lock_id, {since}, :seconds)"
    run(given["uri"], f"INSERT INTO paimon_distributed_locks {values}", lock_id=lock_id, seconds=seconds)


def test_a_held_lock_is_waited_for_and_an_expired_one_taken_over(given: Properties) -> None:
    table = with_table(given)
    hold(given)
    with pytest.raises(errors.UnavailableError, match=r"'jdbc\.db\.t' has been held by another writer since \d{4}-"):
        table.append([{"writer": 1}])
    assert locks(given) == [("jdbc.db.t", 1000)]
    free = threading.Timer(0.3, run, (given["uri"], "DELETE FROM paimon_distributed_locks"))
    free.start()
    assert table.append([{"writer": 1}]).attempts == 1
    free.join()
    for lock_id in ("jdbc.db.t", "jdbc.db.T", "jdbc.db.other"):
        hold(given, lock_id, seconds=60, age=62)
    table.append([{"writer": 2}])
    assert sorted(locks(given)) == [("jdbc.db.T", 60), ("jdbc.db.other", 60)]
    assert sorted(table.refresh().scan().to_arrow()["writer"].to_pylist()) == [1, 2]


def test_names_that_differ_in_case_are_different(given: Properties) -> None:
    catalog = opened(given)
    catalog.create_namespace("db")
    catalog.create_table("db.t", COLUMNS, options={"bucket": "-1"}).append([{"writer": 1}])
    for name in ("db.T", "DB.t", "db.ţ"):
        assert not catalog.table_exists(name)
        for call in (catalog.load_table, catalog.drop_table, catalog.purge_table):
            with pytest.raises(errors.NoSuchTableError):
                call(name)
    with pytest.raises(errors.NoSuchNamespaceError):
        catalog.drop_namespace("DB")
    catalog.create_namespace("DB", {"owner": "me", "OWNER": "you"})
    for name in ("db.T", "DB.t"):
        catalog.create_table(name, COLUMNS, options={"bucket": "-1"})
    assert catalog.list_namespaces() == [("DB",), ("db",)]
    assert catalog.list_tables("db") == [("db", "T"), ("db", "t")]
    catalog.purge_table("db.T")
    assert catalog.load_table("db.t").scan().count() == 1
    assert catalog.load_namespace_properties("DB").items() >= {"owner": "me", "OWNER": "you"}.items()


WRITER = """
import json, sys
import frazil
number, commits, properties = json.loads(sys.argv[1])
catalog = frazil.load_catalog("p", **properties)
print("ready", flush=True)
sys.stdin.readline()
catalog.create_namespace_if_not_exists("db")
table = catalog.create_table_if_not_exists("db.t", {"writer": "INT", "at": "INT"})
for at in range(commits):
    table.append([{"writer": number, "at": at}])
    print(at, flush=True)
"""


def writer(number: int, commits: int, given: Properties) -> subprocess.Popen[str]:
    """Start a process that waits for a line before it writes."""
    started = subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", WRITER, json.dumps([number, commits, given])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout
    assert started.stdout.readline() == "ready\n"
    return started


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def test_concurrent_writers_lose_nothing(given: Properties) -> None:
    """They also create the tables of the catalog, the database and the table concurrently."""
    patient = {**given, "lock-acquire-timeout": "8 min"}
    writers = [writer(number, COMMITS, patient) for number in range(WRITERS)]
    for process in writers:
        begin(process)
    told = [process.communicate(timeout=300)[1] for process in writers]
    assert [process.returncode for process in writers] == [0] * WRITERS, told
    rows = opened(given).load_table("db.t").scan().to_arrow().to_pylist()
    expected = [(number, at) for number in range(WRITERS) for at in range(COMMITS)]
    assert sorted((row["writer"], row["at"]) for row in rows) == expected
    assert locks(given) == []


def test_a_killed_writer_leaves_whole_commits_and_a_lock_that_expires(given: Properties) -> None:
    table = with_table(given)
    for number in range(1, 4):
        process = writer(number, 1000, given)
        begin(process)
        assert process.stdout
        process.stdout.readline()
        time.sleep(0.023 * number)
        process.send_signal(signal.SIGKILL)
        told, _ = process.communicate()
        acknowledged = 1 + len(told.split())
        found = [row["at"] for row in table.refresh().scan().to_arrow().to_pylist() if row["writer"] == number]
        assert sorted(found) in (list(range(acknowledged)), list(range(acknowledged + 1)))
    # A held lock expires after a second.
    end = time.monotonic() + 30
    while True:
        try:
            table.append([{"writer": 0, "at": 0}])
            break
        except errors.UnavailableError:
            assert time.monotonic() < end
    assert locks(given) == []
