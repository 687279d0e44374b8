"""A session of Iceberg (Java) for all tests of this folder, and the tables that frazil writes."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import pytest

from histories.paimon.oracle import Oracle, missing
from support.java import Java, JavaError
from support.spark_settings import session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from frazil.iceberg import Table
    from support.written import Written

WHOLE = bool(os.environ.get("FRAZIL_INTEROP"))
"""Whether Java is required: `make interop`."""


@pytest.fixture(scope="package")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="package")
def made(warehouse: Path) -> Callable[[Written], Table]:
    """Return a table of the database `db`, which is created once and only read."""
    return functools.cache(lambda written: written.make(warehouse / "db"))


@pytest.fixture(scope="package")
def java(warehouse: Path) -> Iterator[Java]:
    try:
        engine = Java(warehouse)
    except JavaError as error:
        if WHOLE:
            raise
        pytest.skip(f"no Iceberg (Java) here: {str(error).strip().splitlines()[-1]}")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Yield a session without Iceberg (Java)."""
    yield from session()


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    if lack := missing():
        if WHOLE:
            pytest.fail(lack)
        pytest.skip(f"Paimon tables that Java reads: {lack}")
    found = Oracle(tmp_path_factory.mktemp("warehouse"))
    yield found
    found.close()
