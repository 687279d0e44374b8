"""Fixtures and configuration for all tests."""

from __future__ import annotations

import os
import random
import signal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# A shell disables Ctrl-C for background processes, and so for the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = (
    "test_bad_writes",
    "test_bench_tables",
    "test_data_files",
    "test_evolution",
    "test_faults",
    "test_paimon_servers",
    "test_promoted_partitions",
    "test_reserved_names",
    "test_sql_commits",
    "test_sql_servers",
    "test_stale_evolution",
    "test_uploads",
    "test_writers",
)
"""The files that take most of the test time without starting Spark."""

ALONE = ("test_cluster", "test_cluster_writes")
"""The files whose clusters need the whole machine: a starved executor counts as lost, and its stages are repeated."""

SESSIONS = ("spark", "java")
"""Fixtures that start a Java virtual machine, which is shared by all tests that use it."""


def pytest_itemcollected(item: pytest.Item) -> None:
    if any(name in getattr(item, "fixturenames", ()) for name in SESSIONS):
        item.add_marker(pytest.mark.spark)
    if item.path.stem in SLOW:
        item.add_marker(pytest.mark.slow)
    if item.path.stem in ALONE:
        item.add_marker(pytest.mark.alone)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of tests marked `sampled` beyond their count; the choice is the same in each run."""
    if os.environ.get("FRAZIL_SAMPLES") == "all":
        return
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if marker := item.get_closest_marker("sampled"):
            cases.setdefault((item.nodeid.partition("[")[0], marker.args[0]), []).append(item)
    dropped: set[pytest.Item] = set()
    for (name, count), found in cases.items():
        chance = random.Random(name)  # noqa: S311 - not cryptography
        dropped |= {*found} - {*chance.sample(found, min(count, len(found)))}
    if dropped:
        config.hook.pytest_deselected(items=sorted(dropped, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in dropped]


def group(nodeid: str) -> str:
    """Return the group of a test: tests of one file, or of files that share a Spark session, run in one process."""
    path = PurePosixPath(nodeid.partition("::")[0])
    shares = path.parent.name == "spark" and not path.stem.startswith("test_connect")
    if shares or path.stem.startswith("test_java_"):
        return str(path.parent)
    return str(path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return GroupScheduling(config, log)
