"""Fixtures and configuration for all tests."""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import time
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xdist.scheduler import LoadScopeScheduling

# A shell disables Ctrl-C for background processes, and so for the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
WEIGHTS = HERE / "support" / "weights.json"
DAY_SECONDS = 86_400
MAX_DAYS = 30
"""The number of consecutive days within which each sampled case runs."""

Case = TypeVar("Case")

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--portion", type=int, default=1, metavar="N", help="run one in N cases of each test, others each day"
    )


def pytest_configure(config: pytest.Config) -> None:  # noqa: ARG001 - the name is pytest's
    # Workers collect the tests, too, and must choose the same.
    os.environ.setdefault("FRAZIL_SEED", str(int(time.time()) // DAY_SECONDS))


def pytest_report_header() -> str:
    return f"FRAZIL_SEED={os.environ['FRAZIL_SEED']} chooses the samples"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are not in the sample, and order the rest by group, the longest group first."""
    portion = config.getoption("--portion")
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        marker = item.get_closest_marker("sampled")
        if not size("FRAZIL_SAMPLES") and (marker or portion > 1):
            count = marker.args[0] if marker else 0
            cases.setdefault((item.nodeid.partition("[")[0], count), []).append(item)
    dropped: set[pytest.Item] = set()
    for (name, count), found in cases.items():
        dropped |= {*found} - {
            *sample(name, found, -(-(count or len(found)) // portion), int(os.environ["FRAZIL_SEED"]))
        }
    if dropped:
        config.hook.pytest_deselected(items=sorted(dropped, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in dropped]
    weights = group_weights(items)
    items.sort(key=lambda item: (-weights[group(item.nodeid)], group(item.nodeid)))


def sample(name: str, cases: Sequence[Case], count: int, seed: int) -> list[Case]:
    """Return some cases of a test; `MAX_DAYS` consecutive seeds return each of them at least once."""
    count = min(len(cases), max(count, -(-len(cases) // MAX_DAYS)))
    shuffled = random.Random(name).sample(cases, len(cases))  # noqa: S311 - not cryptography
    first = seed * count
    return [shuffled[(first + at) % len(cases)] for at in range(count)]


def group(nodeid: str) -> str:
    """Return the group of a test: the tests of a group run in one process, in order.

    A group is a file, or several files that share a Spark session.
    """
    path = PurePosixPath(nodeid.partition("::")[0])
    if path.stem.startswith("test_java_"):
        return str(path.parent)
    return f"spark {spark_groups()[path.stem]}" if path.stem in spark_groups() else str(path)


@functools.cache
def file_weights() -> dict[str, float]:
    """Return the seconds that each test file took when they were last recorded."""
    return dict(json.loads(WEIGHTS.read_text(encoding="utf-8")))


@functools.cache
def spark_groups() -> dict[str, int]:
    """Distribute the files that share a Spark session over one group a process, with similar weights."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files = [path for path in (HERE / "spark").glob("test_*.py") if not path.stem.startswith("test_connect")]
    weighted = sorted(
        ((file_weights().get(f"tests/spark/{path.name}", 5.0), path.stem) for path in files), reverse=True
    )
    groups: dict[str, int] = {}
    loads = [0.0] * count
    for weight, stem in weighted:
        lightest = loads.index(min(loads))
        groups[stem] = lightest
        loads[lightest] += weight
    return groups


def group_weights(items: Iterable[pytest.Item]) -> dict[str, float]:
    """Return the weight of the group of each test."""
    weights: dict[str, float] = {}
    for name in {item.nodeid.partition("::")[0] for item in items}:
        weights[group(name)] = weights.get(group(name), 0) + file_weights().get(name, 1.0)
    return weights


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    from xdist.scheduler import LoadScopeScheduling

    # The groups are in order; by default those with the most tests would be first.
    config.option.loadscopereorder = False
    # The workers know the number of processes from xdist.
    os.environ["PYTEST_XDIST_WORKER_COUNT"] = str(len(config.getvalue("tx")))
    spark_groups.cache_clear()

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return GroupScheduling(config, log)
