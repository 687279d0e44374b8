"""A Spark session for all tests of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import frazil
from support.cases import GOLDEN, SHARED
from support.spark_settings import SETTINGS, use_this_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

PACKAGES = Path(frazil.__file__).parents[1]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    use_this_python(os.environ)
    # The workers must import the package from the same folder as this process.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
    from pyspark.sql import SparkSession

    settings = {**SETTINGS, "spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.master("local[2,3]").appName("frazil").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


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
