"""Tests of DELETE, UPDATE and MERGE in Spark SQL in which a request to the store fails, before or after its effect.

`make faults` tests all requests (`FRAZIL_FAULTS=all`), `make test` a sample.
"""

from __future__ import annotations

import re
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import frazil
import frazil.spark
from frazil.errors import FrazilError
from support.faults import Operation, Sweep, World, check, copied, mode
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALL = bool(size("FRAZIL_FAULTS"))
FAULTS = ("refused", "lost", "answer lost", "gone", "blind")
SAMPLE, QUERIED_SAMPLE = 4, 1
"""The number of faults for each statement without and with a query of the table, unless all are tested."""
NEWS = "SELECT * FROM VALUES (1L, 'y'), (7L, 'z'), (20L, 'a'), (21L, NULL) AS s(id, p)"
STATEMENTS = {
    "delete": "DELETE FROM lake.ns.t WHERE id IN (1, 7)",
    "delete by a query": "DELETE FROM lake.ns.t WHERE id IN (SELECT max(id) - 1 FROM range(3, 9)) OR id % 5 = 1",
    "update": "UPDATE lake.ns.t SET p = 'z' WHERE id IN (1, 7)",
    "update by a query": "UPDATE lake.ns.t SET p = concat('n', id) WHERE id % 5 = 1",
    "merge": (
        f"MERGE INTO lake.ns.t AS t USING ({NEWS}) AS s ON t.id = s.id WHEN MATCHED AND s.p = 'z' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND s.id >= 20 THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN UPDATE SET p = 'm'"
    ),
}
"""Statements that change nothing more when they run again."""


@pytest.fixture(autouse=True)
def _one_worker() -> Iterator[None]:
    """Use one worker, so that requests are in a fixed order."""
    before = frazil.config.max_workers
    frazil.config.max_workers = 1
    yield
    frazil.config.max_workers = before


def run(spark: SparkSession, statement: str, world: World) -> None:
    """Run a statement on the table of a store.

    Raises:
        FrazilError: The statement failed, possibly while Spark read the table, which wraps the error.
    """
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse="s3://b", **world.options)
    try:
        frazil.spark.connect(spark, {"lake": catalog}).sql(statement)
    except PySparkException as error:
        if re.search(r"frazil\.errors\.(?!Internal|CommitStateUnknown)", str(error)):
            raise FrazilError(str(error)) from error
        raise


def chosen(sweep: Sweep) -> list[tuple[str, int]]:
    """Return all faults of all requests, or some of them."""
    points = [(fault, at) for fault in FAULTS for at in sweep.points(fault)]
    name = sweep.operation.name
    is_queried = "query" in name or "merge " in name
    step = 1 if ALL else len(points) // (QUERIED_SAMPLE if is_queried else SAMPLE)
    return points[zlib.crc32(name.encode()) % step :: step]


def rows(world: World) -> list[Any]:
    return sorted(map(str, world.table().scan().to_arrow().to_pylist()))


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("version", "how"), [(2, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_fault_leaves_the_rows_before_or_after(
    spark: SparkSession, tmp_path: Path, name: str, version: int, how: str
) -> None:
    properties = mode(name.split(maxsplit=1)[0], how)
    operation = Operation(
        f"{name} {how} v{version}", partial(run, spark, STATEMENTS[name]), version, properties=properties
    )
    with Sweep.of(operation, tmp_path) as sweep:
        points = chosen(sweep)
        (after,) = sweep.after.values()
        count = len(after["rows"][after["refs"]["main"]])
        for fault, at in points:
            with copied(operation, sweep.template, tmp_path / f"{fault}-{at}") as world:
                assert check(sweep, world, partial(world.store.arm, fault, at)), (fault, sweep.calls[at])
                expected = rows(world)
                if len(expected) > count:
                    # The statement took effect in spite of the fault, so that `check` appended a row instead.
                    operation.act(world)
                    assert rows(world) == expected, (fault, sweep.calls[at])
    assert len(points) >= QUERIED_SAMPLE
