"""Common settings of Spark sessions in tests: quiet, small and without network access."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import frazil

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from pyspark.sql import SparkSession

PACKAGES = Path(frazil.__file__).parents[1]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
}


def use_this_python(environment: MutableMapping[str, str]) -> None:
    """Make Spark start this interpreter for its workers.

    Spark finds no Python data source if `PYSPARK_PYTHON` contains a space, so it is set to a name on the `PATH`.
    """
    folder, name = os.path.split(sys.executable)
    environment["PATH"] = os.pathsep.join([folder, environment.get("PATH", os.defpath)])
    environment["PYSPARK_PYTHON"] = name


def session() -> Iterator[SparkSession]:
    """Yield the session of this process, and stop it afterwards."""
    use_this_python(os.environ)
    # The workers must import the package from the same folder as this process.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
    from pyspark.sql import SparkSession

    settings = {**SETTINGS, "spark.sql.shuffle.partitions": "2"}
    found = SparkSession.builder.master("local[2,3]").appName("frazil").config(map=settings).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()
