"""Tests of the locks that Paimon writers acquire in a SQL database.

`FRAZIL_WRITERS` sets the number of writing processes; `make faults` runs 16.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from frazil.catalog._paimon_lock import LockSettings, SnapshotLock
from support.faulty_database import FAULTS, FaultyDatabase
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS = size("FRAZIL_WRITERS")
COMMITS = 25 if WRITERS > 4 else 5
COLUMNS = {"writer": "INT", "at": "INT"}
GOLDEN = Path(__file__).parents[1] / "golden" / "paimon_catalogs" / "catalog_jdbc.json"


def properties(root: Path, **given: str) -> dict[str, str]:
    """Return the properties of a catalog with a short lock timeout."""
    lock = {"lock.enabled": "true", "lock-acquire-timeout": "1200 ms", "lock-check-max-sleep": "50 ms"}
    place = {"metastore": "jdbc", "uri": f"sqlite:///{root}/catalog.db", "warehouse": f"{root}/wh"}
    return {**place, **lock, **given}


def opened(root: Path, **given: str) -> Any:
    return frazil.load_catalog("p", **properties(root, **given))


def run(root: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(root / "catalog.db")) as connection:
        found = connection.execute(statement, values).fetchall()
        connection.commit()
    return found


def hold(root: Path, lock_id: str = "jdbc.db.t", *, seconds: int = 1000, since: str = "now") -> None:
    """Hold a lock as another writer."""
    statement = "INSERT INTO paimon_distributed_locks VALUES (?, datetime('now', ?), ?)"
    run(root, statement, lock_id, "+0 seconds" if since == "now" else since, seconds)


def locks(root: Path) -> list[Any]:
    return run(root, "SELECT lock_id, expire_time_seconds FROM paimon_distributed_locks")


def files_below(root: Path) -> list[str]:
    found = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith("catalog.db"))
    return sorted(str(path.relative_to(root)) for path in found)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    catalog = opened(tmp_path)
    catalog.create_namespace("db")
    catalog.create_table("db.t", COLUMNS)
    return tmp_path


def test_the_table_of_locks_is_as_java_creates_it(root: Path) -> None:
    golden = json.loads(GOLDEN.read_text())["sqlite"]["paimon_distributed_locks"]["ddl"]
    statement = "SELECT sql FROM sqlite_master WHERE name = 'paimon_distributed_locks'"
    assert run(root, statement) == [(golden,)]


def test_a_commit_holds_the_lock_and_releases_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    release = SnapshotLock.release

    def watched(lock: SnapshotLock) -> None:
        seen.append((locks(root), (root / "wh/db.db/t/snapshot/snapshot-1").is_file()))
        release(lock)

    monkeypatch.setattr(SnapshotLock, "release", watched)
    opened(root).load_table("db.t").append([{"writer": 1}])
    assert seen == [([("jdbc.db.t", 1)], True)]
    assert locks(root) == []


def test_a_held_lock_is_waited_for(root: Path) -> None:
    hold(root)
    free = threading.Timer(0.3, run, (root, "DELETE FROM paimon_distributed_locks"))
    free.start()
    assert opened(root).load_table("db.t").append([{"writer": 1}]).attempts == 1
    free.join()


WRITES: dict[str, Callable[[Any], object]] = {
    "append": lambda table: table.append([{"writer": 2}]),
    "overwrite": lambda table: table.overwrite([{"writer": 2}]),
    "truncate": lambda table: table.truncate(),
    "pickled": lambda table: pickle.loads(pickle.dumps(table)).append([{"writer": 2}]),  # noqa: S301 - made here
    "pickled twice": lambda table: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(table)))).truncate(),  # noqa: S301
    "refreshed": lambda table: table.refresh().append([{"writer": 2}]),
    "main": lambda table: table.with_branch("main").append([{"writer": 2}]),
}


@pytest.mark.parametrize("write", WRITES)
def test_unreleased_lock_error_suggests_a_remedy(root: Path, write: str) -> None:
    table = opened(root).load_table("db.t")
    table.append([{"writer": 1}])
    before = files_below(root)
    hold(root)
    with pytest.raises(
        errors.UnavailableError, match=r"'jdbc\.db\.t' has been held by another writer since \d{4}-"
    ) as caught:
        WRITES[write](table)
    assert "raise lock-acquire-timeout" in (caught.value.hint or "")
    assert "paimon_distributed_locks" in (caught.value.hint or "")
    assert files_below(root) == before
    assert opened(root).load_table("db.t").scan().to_arrow()["writer"].to_pylist() == [1]
    assert locks(root) == [("jdbc.db.t", 1000)]


def test_an_expired_lock_is_taken_over(root: Path) -> None:
    hold(root, seconds=60, since="-62 seconds")
    hold(root, "jdbc.db.other", seconds=60, since="-62 seconds")
    opened(root).load_table("db.t").append([{"writer": 1}])
    assert locks(root) == [("jdbc.db.other", 60)]


def test_a_lock_that_was_taken_over_is_left_to_its_new_holder(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    release = SnapshotLock.release

    def late(lock: SnapshotLock) -> None:
        run(root, "DELETE FROM paimon_distributed_locks")
        hold(root, since="+5 seconds")
        release(lock)

    monkeypatch.setattr(SnapshotLock, "release", late)
    assert opened(root).load_table("db.t").append([{"writer": 1}]).added_records == 1
    assert locks(root) == [("jdbc.db.t", 1000)]
    assert "expired while it was held" in caplog.text


def test_locks_of_others_do_not_count(root: Path) -> None:
    for lock_id in ("jdbc.db.u", "other.db.t", "jdbc.db", "jdbc.db.T", "jdbc.db.%"):
        hold(root, lock_id)
    assert opened(root).load_table("db.t").append([{"writer": 1}]).added_records == 1


def test_no_lock_without_lock_enabled(root: Path) -> None:
    hold(root)
    for given in ({"lock.enabled": "false"}, {"lock.enabled": "FALSE"}):
        assert opened(root, **given).load_table("db.t").append([{"writer": 1}]).added_records == 1
    without = {key: value for key, value in properties(root).items() if key != "lock.enabled"}
    assert frazil.load_catalog("p", **without).load_table("db.t").append([{"writer": 1}]).added_records == 1


def test_object_stores_are_locked_unless_told_otherwise(tmp_path: Path) -> None:
    given = {"metastore": "jdbc", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": "s3://bucket/wh"}
    levels = ("db", "t")
    assert frazil.load_catalog("p", **given).lock(levels)  # type: ignore[attr-defined]
    off = {**given, "lock.enabled": "false"}
    assert frazil.load_catalog("p", **off).lock(levels) is None  # type: ignore[attr-defined]


def test_creating_a_table_takes_its_lock(root: Path) -> None:
    catalog = opened(root)
    hold(root, "jdbc.db.new")
    with pytest.raises(errors.UnavailableError, match=r"jdbc\.db\.new"):
        catalog.create_table("db.new", COLUMNS)
    assert not catalog.table_exists("db.new")
    run(root, "DELETE FROM paimon_distributed_locks")
    catalog.create_table("db.new", COLUMNS)
    assert locks(root) == []


def test_the_catalog_key_is_part_of_the_lock(tmp_path: Path) -> None:
    catalog = opened(tmp_path, **{"catalog-key": "gold"})
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", COLUMNS)
    hold(tmp_path, "jdbc.db.t")
    table.append([{"writer": 1}])
    hold(tmp_path, "gold.db.t")
    with pytest.raises(errors.UnavailableError, match=r"gold\.db\.t"):
        table.append([{"writer": 1}])


def test_a_database_without_locks_gets_its_table(root: Path) -> None:
    run(root, "DROP TABLE paimon_distributed_locks")
    opened(root).load_table("db.t").append([{"writer": 1}])
    assert locks(root) == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("8 min", 480), ("500", 0.5), ("2s", 2), ("1 h", 3600), (" 3 MINUTES ", 180), ("10ms", 0.01), ("1 d", 86400)],
)
def test_durations_are_those_of_java(text: str, seconds: float) -> None:
    found = LockSettings.of({"lock-acquire-timeout": text, "lock-check-max-sleep": text})
    assert (found.acquire_timeout_s, found.check_max_sleep_s) == (seconds, seconds)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("lock-acquire-timeout", "soon", errors.InvalidArgumentError),
        ("lock-acquire-timeout", "-1 s", errors.InvalidArgumentError),
        ("lock-check-max-sleep", "1 fortnight", errors.InvalidArgumentError),
        ("lock-check-max-sleep", "", errors.InvalidArgumentError),
        ("lock.type", "zookeeper", errors.UnsupportedError),
    ],
)
def test_bad_properties_are_refused_before_anything_is_written(
    root: Path, name: str, value: str, error: type[Exception]
) -> None:
    before = files_below(root)
    with pytest.raises(error, match=name.replace(".", r"\.") if error is errors.InvalidArgumentError else "zookeeper"):
        opened(root, **{name: value}).load_table("db.t").append([{"writer": 1}])
    assert files_below(root) == before


def test_ctrl_c_ends_the_wait(root: Path) -> None:
    hold(root)
    table = opened(root, **{"lock-acquire-timeout": "5 min"}).load_table("db.t")
    before = files_below(root)
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        table.append([{"writer": 1}])
    interrupt.join()
    assert files_below(root) == before


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_lock_loses_nothing(root: Path, fault: str) -> None:
    appended = 0
    for at in itertools.count():
        table = opened(root).load_table("db.t")
        before = files_below(root)
        broken = FaultyDatabase(fault, at)
        with broken.installed():
            broken.arm()
            try:
                table.append([{"writer": at}])
                appended += 1
            except errors.CatalogError:
                assert broken.is_tripped
                assert files_below(root) == before
        run(root, "DELETE FROM paimon_distributed_locks")
        assert opened(root).load_table("db.t").scan().count() == appended
        if not broken.is_tripped:
            assert at > (0 if "commit" in fault else 3)
            break


WRITER = """
import json, sys
import frazil
number, commits, properties = json.loads(sys.argv[1])
table = frazil.load_catalog("p", **properties).load_table("db.t")
print("ready", flush=True)
sys.stdin.readline()
for at in range(commits):
    table.append([{"writer": number, "at": at}])
"""


@pytest.mark.slow
def test_concurrent_writers_with_a_lock_lose_nothing(root: Path) -> None:
    given = properties(root, **{"lock-acquire-timeout": "8 min"})
    writers = [
        subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-c", WRITER, json.dumps([number, COMMITS, given])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("\n")
        writer.stdin.flush()
    told = [writer.communicate(timeout=600)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS, told
    rows = opened(root).load_table("db.t").scan().to_arrow().to_pylist()
    expected = [(number, at) for number in range(WRITERS) for at in range(COMMITS)]
    assert sorted((row["writer"], row["at"]) for row in rows) == expected
    assert locks(root) == []
