"""Tests of the cache: its statistics, the files that it keeps, and when it is disabled."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"
TABLE = GOLDEN / "pevo_v2_three_specs"
LONG_AGO = 1_000_000_000


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Start with an empty cache, and restore the settings afterwards."""
    limits = frazil.config.cache_bytes, frazil.config.memory_limit
    frazil.config.cache_bytes = "1 MiB"
    frazil.cache.clear()
    yield
    frazil.config.cache_bytes, frazil.config.memory_limit = limits


def plan(table: Path = TABLE, row_filter: str = "id < 0") -> dict[str, int]:
    return frazil.load_table(str(table)).scan(row_filter).plan().metrics


def copied(tmp_path: Path) -> Path:
    """Copy a table to a location that is not cached, with files that are old enough to be cached."""
    table = tmp_path / "table"
    shutil.copytree(TABLE, table)
    for path in table.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return table


def test_plan_reuses_entries_cached_by_an_earlier_plan() -> None:
    before = frazil.cache.stats()
    cold = plan()
    between = frazil.cache.stats()
    assert (between.hits, between.misses > before.misses) == (before.hits, True)
    assert between.entries > 0
    assert 0 < between.bytes <= 1 << 20
    assert plan() == cold
    after = frazil.cache.stats()
    assert (after.hits > between.hits, after.misses) == (True, between.misses)
    assert (after.entries, after.bytes) == (between.entries, between.bytes)


def test_an_emptied_cache_is_empty_and_counts_on() -> None:
    plan()
    frazil.cache.clear()
    stats = frazil.cache.stats()
    assert (stats.entries, stats.bytes) == (0, 0)
    assert stats.misses > 0


def test_columns_of_several_filters_are_kept_side_by_side() -> None:
    plan(row_filter="id < 0")
    one = frazil.cache.stats()
    plan(row_filter="id < 0 and cat = 'no such'")
    both = frazil.cache.stats()
    assert (both.entries, both.bytes > one.bytes) == (one.entries, True)
    plan(row_filter="id < 0")
    plan(row_filter="cat = 'no such'")
    assert frazil.cache.stats().bytes == both.bytes


def test_cache_keeps_nothing_without_capacity() -> None:
    frazil.config.cache_bytes = 0
    expected = plan()
    assert frazil.cache.stats().entries == 0
    frazil.config.cache_bytes = "1 MiB"
    assert plan() == expected
    held = frazil.cache.stats()
    frazil.config.cache_bytes = held.bytes - 1
    fewer = frazil.cache.stats()
    assert fewer.entries < held.entries
    assert fewer.evictions > held.evictions
    assert plan() == expected


def test_the_cache_gives_way_to_planning() -> None:
    plan()
    assert frazil.cache.stats().bytes > STEP
    frazil.config.memory_limit = 1000
    with pytest.raises(errors.LimitExceededError, match=r"config\.memory_limit"):
        frazil.load_table(str(TABLE)).scan().plan()
    assert least_memory_to_plan() > 1 << 16
    assert frazil.cache.stats().bytes <= STEP


STEP = 2000


def least_memory_to_plan() -> int:
    for limit in range(1 << 16, 1 << 20, STEP):
        frazil.config.memory_limit = limit
        try:
            frazil.load_table(str(TABLE)).scan().plan()
        except errors.LimitExceededError:
            continue
        return limit
    pytest.fail("1 MiB does not suffice")


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    table = copied(tmp_path)
    plan(table)
    plan(table)
    for manifest in (table / "metadata").glob("*.avro"):
        content = manifest.read_bytes()
        manifest.write_bytes(b"Obj\x02" + content[4:])
    with pytest.raises(errors.CorruptManifestError):
        plan(table)


def test_a_file_that_was_just_written_is_not_kept(tmp_path: Path) -> None:
    table = copied(tmp_path)
    for path in table.rglob("*"):
        os.utime(path)
    plan(table)
    assert frazil.cache.stats().entries == 0


def test_a_file_that_is_gone_is_missed(tmp_path: Path) -> None:
    table = copied(tmp_path)
    plan(table)
    listed = {path for path in (table / "metadata").glob("*.avro") if not path.name.startswith("snap-")}
    for manifest in listed:
        manifest.unlink()
    with pytest.raises(errors.MissingFileError):
        plan(table)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="makes links")
def test_cache_does_not_bypass_another_tables_allowed_paths(tmp_path: Path) -> None:
    table = copied(tmp_path)
    plan(table)
    # The same files, through links that lead out of a second table.
    other = tmp_path / "other"
    shutil.copytree(table, other)
    manifests = [path for path in (other / "metadata").glob("*.avro") if not path.name.startswith("snap-")]
    for manifest in manifests:
        manifest.unlink()
        manifest.symlink_to(table / "metadata" / manifest.name)
    with pytest.raises(errors.PathNotAllowedError):
        plan(other)


def test_threads_share_the_cache() -> None:
    expected = plan()
    frazil.cache.clear()
    found: list[dict[str, int]] = []
    threads = [threading.Thread(target=lambda: found.extend(plan() for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 20


def child(connection: multiprocessing.connection.Connection) -> None:
    before = frazil.cache.stats()
    metrics = [plan(), plan()]
    connection.send((before.entries, metrics, frazil.cache.stats().entries))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_its_own(tmp_path: Path) -> None:  # noqa: ARG001
    expected = plan()
    held = frazil.cache.stats()
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()
    process = fork.Process(target=child, args=(there,))
    process.start()
    assert here.poll(60)
    before, metrics, after = here.recv()
    process.join()
    assert (before, metrics, after) == (0, [expected, expected], held.entries)
    assert frazil.cache.stats() == held
