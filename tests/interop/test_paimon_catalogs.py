"""Tests in which Java and frazil share a Paimon catalog in a SQL database, its tables and its locks."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from histories.paimon.history import Column, Compact, Create, History, Type, Write
from histories.paimon.java_process import TABLE
from histories.paimon.oracle import FOLDER, Oracle, missing
from histories.paimon.reads import Read, Rows
from interop.conftest import WHOLE
from support.canonical import canonical_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = f"db.{TABLE}"
LOCK = f"jdbc.db.{TABLE}"
COLUMNS = {"id": "BIGINT NOT NULL", "name": "STRING"}


def write(*ids: int) -> Write:
    return Write(("id", "name"), tuple(("+I", number, "java") for number in ids))


class Shared:
    """A catalog that both use."""

    def __init__(self, root: Path) -> None:
        self.warehouse = root / "wh"
        self.database = root / "catalog.db"
        self.properties = {
            "metastore": "jdbc",
            # Java leaves a query open, which would block all writers (including Java) in another journal mode.
            "uri": f"jdbc:sqlite:{self.database}?journal_mode=WAL",
            "lock.enabled": "true",
            "lock-acquire-timeout": "60 s",
            "lock-check-max-sleep": "100 ms",
        }
        self.java = Oracle(self.warehouse, self.properties)

    def ours(self, **properties: str) -> Any:
        return frazil.load_catalog("p", warehouse=str(self.warehouse), **{**self.properties, **properties})

    def run(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.database, timeout=30)) as connection:
            found = connection.execute(statement).fetchall()
            connection.commit()
        return found

    def check(self, count: int) -> None:
        """Check that both read the same rows, and their number."""
        [found] = self.java.read([Read()])
        assert isinstance(found, Rows), found
        rows = canonical_rows(self.ours().load_table(NAME).scan().to_arrow())
        assert sorted(found.rows, key=repr) == sorted(rows, key=repr)
        assert len(rows) == count


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    lack = missing() or (None if list(FOLDER.glob("jars/sqlite-jdbc-*.jar")) else f"no driver of SQLite in {FOLDER}")
    if lack:
        if WHOLE:
            pytest.fail(lack)
        pytest.skip(f"Paimon catalogs that are shared with Java: {lack}")
    made = Shared(tmp_path)
    yield made
    made.java.close()


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_java_continues_in_a_frazil_catalog(shared: Shared, keys: tuple[str, ...]) -> None:
    catalog = shared.ours()
    catalog.create_namespace("db", {"owner": "me"})
    table = catalog.create_table(NAME, COLUMNS, primary_keys=keys, options={"bucket": "1"} if keys else {})
    table.append([{"id": 1, "name": "frazil"}])
    before = shared.run("SELECT name, sql FROM sqlite_master")
    assert shared.java.adopt([write(2, 3)], TABLE).rejected == (None,)
    shared.check(3)
    table.append([{"id": 4, "name": "frazil"}])
    assert shared.java.adopt([Compact(full=True), write(5)], TABLE).rejected == (None, None)
    shared.check(5)
    assert shared.run("SELECT name, sql FROM sqlite_master") == before
    assert shared.run("SELECT * FROM paimon_distributed_locks") == []


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_frazil_continues_in_a_java_catalog(shared: Shared, keys: tuple[str, ...]) -> None:
    columns = (Column("id", Type("BIGINT", nullable=False)), Column("name", Type("STRING")))
    asked = Create(columns, primary_keys=keys, options=(("bucket", "2" if keys else "-1"),))
    outcome = shared.java.run(History(0, asked, (write(1, 2),)))
    assert outcome.rejected == (None, None)
    table = shared.ours().load_table(NAME)
    table.append([{"id": 3, "name": "frazil"}])
    shared.check(3)
    table.compact()
    shared.check(3)
    java = shared.run("SELECT * FROM paimon_table_properties ORDER BY property_key")
    shared.ours().drop_table(NAME)
    assert shared.run("SELECT * FROM paimon_tables") == shared.run("SELECT * FROM paimon_table_properties") == []
    shared.ours().register_table(NAME, table.location)
    assert shared.run("SELECT * FROM paimon_table_properties ORDER BY property_key") == java
    assert shared.java.adopt([write(4)], TABLE).rejected == (None,)
    shared.check(4)


def test_a_lock_of_frazil_keeps_java_out(shared: Shared) -> None:
    catalog = shared.ours()
    catalog.create_namespace("db")
    catalog.create_table(NAME, COLUMNS).append([{"id": 1}])
    impatient = Oracle(shared.warehouse, {**shared.properties, "lock-acquire-timeout": "500 ms"})
    try:
        lock = catalog.lock(("db", TABLE))
        assert lock.acquire() is None
        [rejected] = impatient.adopt([write(2)], TABLE).rejected
        assert "Acquire lock failed" in str(rejected)
        lock.release()
        assert impatient.adopt([write(2)], TABLE).rejected == (None,)
    finally:
        impatient.close()
    assert catalog.load_table(NAME).scan().count() == 2


def test_writers_of_both_at_the_same_time_lose_nothing(shared: Shared) -> None:
    catalog = shared.ours()
    catalog.create_namespace("db")
    # Files stay small, so that compactions do not replace appends.
    catalog.create_table(NAME, COLUMNS, options={"write-only": "true", "commit.max-retries": "100"})
    steps = [write(number) for number in range(20)]
    table = shared.ours().load_table(NAME)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(shared.java.adopt, steps, TABLE)
        for number in range(100, 120):
            table.append([{"id": number, "name": "frazil"}])
        assert theirs.result().rejected == (None,) * 20
    shared.check(40)
    ids = table.refresh().scan().to_arrow()["id"].to_pylist()
    assert sorted(ids) == [*range(20), *range(100, 120)]
    assert len(table.refresh().snapshots()) == 40
