"""Tests in which every request of every operation fails once, before and after its effect.

No data is lost, duplicated or left incomplete.

`make faults` tests all requests (`FRAZIL_FAULTS=all`), `make test` a sample.
"""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING

import pytest

import frazil
from support import paimon_change_faults, paimon_faults
from support.faults import OPERATIONS, CatalogWorld, Operation, Sweep
from support.faulty_database import look_at_statement, statements_of
from support.object_store import FAULTS
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = bool(size("FRAZIL_FAULTS"))
EVERY = [*OPERATIONS, *paimon_faults.OPERATIONS, *paimon_change_faults.OPERATIONS]
counted: dict[str, list[int]] = {"iceberg": [], "paimon": []}
"""The number of fault points of each operation, by format."""


@pytest.fixture(autouse=True)
def _one_worker() -> Iterator[None]:
    """Use one worker, so that requests are in a fixed order."""
    before = frazil.config.max_workers
    frazil.config.max_workers = 1
    yield
    frazil.config.max_workers = before


def chosen(sweep: Sweep) -> list[tuple[str, int]]:
    """Return all fault points, or one for every fourth type of fault."""
    name = sweep.operation.name
    if ALL:
        return [(fault, at) for fault in FAULTS for at in sweep.points(fault)]
    offset = [operation.name for operation in EVERY].index(name)
    points = []
    for fault in list(FAULTS)[offset % 4 :: 4]:
        found = sweep.points(fault)
        points += [(fault, found[zlib.crc32(f"{name} {fault}".encode()) % len(found)])] if found else []
    return points


@pytest.mark.sampled(84)
@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.name)
def test_a_fault_at_any_request_leaves_the_table_before_or_after(tmp_path: Path, operation: Operation) -> None:
    with Sweep.of(operation, tmp_path) as sweep:
        points = chosen(sweep)
        assert sweep.run(points) == len(points)
        counted["paimon" if isinstance(operation, paimon_faults.PaimonOperation) else "iceberg"].append(len(points))


@pytest.mark.parametrize("operation", [it for it in OPERATIONS if it.world is CatalogWorld], ids=lambda it: it.name)
def test_a_fault_at_any_statement_leaves_the_catalog_before_or_after(tmp_path: Path, operation: Operation) -> None:
    with Sweep.of(operation, tmp_path) as sweep:
        points = statements_of(sweep)
        if not ALL:
            points = points[len(operation.name) % 8 :: 8]
        for point in points:
            assert look_at_statement(sweep, *point)
        counted["iceberg"].append(len(points))


@pytest.mark.parametrize(("table_format", "least"), [("iceberg", (5_000, 100)), ("paimon", (2_000, 70))])
def test_that_there_were_enough(table_format: str, least: tuple[int, int]) -> None:
    found = counted[table_format]
    if not found:
        pytest.skip("run with the others")
    print(f"{table_format}: {sum(found)} points of {len(found)} operations", file=sys.__stdout__)
    assert sum(found) >= least[not ALL]
