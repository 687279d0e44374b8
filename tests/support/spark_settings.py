"""Common settings of Spark sessions in tests: quiet, small and without network access."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import frazil

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from pyspark.sql import SparkSession

PACKAGES = Path(frazil.__file__).parents[1]

JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Options of the Java virtual machine for short queries, which do not benefit from a better compiler."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JVM_OPTIONS,
    "spark.sql.session.timeZone": "UTC",
}


def use_this_python(environment: MutableMapping[str, str]) -> None:
    """Make Spark start this interpreter for its workers.

    Spark finds no Python data source if `PYSPARK_PYTHON` contains a space, so it is set to a name on the `PATH`.
    """
    folder, name = os.path.split(sys.executable)
    environment["PATH"] = os.pathsep.join([folder, environment.get("PATH", os.defpath)])
    environment["PYSPARK_PYTHON"] = name


def _link_without_archives(folder: str) -> None:
    """Link the files of the installed Spark, except for its archives of Python modules.

    Workers would import pyspark from the archives: each would compile the modules, and list the archives for each task.
    """
    import pyspark

    for name in ("bin", "jars"):
        Path(folder, name).symlink_to(Path(pyspark.__file__).with_name(name))


def session() -> Iterator[SparkSession]:
    """Yield the session of this process, and stop it afterwards."""
    use_this_python(os.environ)
    # The workers must import the package from the same folder as this process.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
    from pyspark.sql import SparkSession

    settings = {**SETTINGS, "spark.sql.shuffle.partitions": "2"}
    with tempfile.TemporaryDirectory(prefix="frazil-spark-") as home:
        _link_without_archives(home)
        os.environ["SPARK_HOME"] = home
        found = SparkSession.builder.master("local[2,3]").appName("frazil").config(map=settings).getOrCreate()
        del os.environ["SPARK_HOME"]
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()
