"""A Spark session for all tests of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.cases import GOLDEN, SHARED
from support.spark_settings import session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    yield from session()


@pytest.fixture
def table() -> Callable[[str], str]:
    return lambda name: str(GOLDEN / "iceberg" / name)


@pytest.fixture(scope="session")
def paimon_table() -> Callable[[str], str]:
    """Return the folder of a Paimon table, in or next to the repository; skip the test if it does not exist."""

    def find(name: str) -> str:
        for top in (GOLDEN / "paimon", SHARED / "golden" / "paimon"):
            for path in (top / name, *top.glob(f"*.db/{name}")):
                if (path / "schema").is_dir():
                    return str(path)
        pytest.skip(f"no golden table {name}")

    return find
