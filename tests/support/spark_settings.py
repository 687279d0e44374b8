"""Common settings of Spark sessions in tests: quiet, small and without network access."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

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
