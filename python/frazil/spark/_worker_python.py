"""The Python that Spark runs: the one in `PYSPARK_PYTHON`, or else the first `python3` on the path.

If the environment is not activated (an IDE, Jupyter, `venv/bin/python script.py`), Spark runs a different Python than
the current process, in which frazil is not installed. Spark then only reports that the data source does not exist.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from frazil.errors import InvalidArgumentError
from frazil.spark._version import check_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECONDS = 60
_HINT = (
    'set os.environ["PYSPARK_PYTHON"] = sys.executable before the session is created (in a notebook: restart the '
    "kernel), activate the environment, or install frazil in that Python"
)


def session_of(frame: DataFrame, name: str) -> SparkSession:
    """Return the session of a DataFrame, which messages call `name`.

    Raises:
        InvalidArgumentError: The object is not a Spark DataFrame.
    """
    if not hasattr(type(frame), "sparkSession"):
        message = f"{name} must be a Spark DataFrame, not {type(frame).__name__}"
        raise InvalidArgumentError(message)
    return frame.sparkSession


def check_session(spark: SparkSession) -> None:
    """Check the Spark release and, as far as possible, that the workers' Python has frazil.

    Raises:
        UnsupportedError: The Spark release is older than 4.1.
        InvalidArgumentError: frazil is missing, and the error suggests a remedy; or the object is not a session.
    """
    check_spark()
    if not hasattr(type(spark), "createDataFrame"):
        message = f"spark must be a SparkSession, not {type(spark).__name__}"
        raise InvalidArgumentError(message)
    from pyspark.sql.utils import is_remote

    if is_remote():
        return  # the server has a separate Python
    try:
        python = spark.sparkContext.pythonExec
    except Exception:  # noqa: BLE001 - platforms keep their SparkContext to themselves, each with its own error
        return
    found = shutil.which(python)
    # On a cluster the path may exist only on the workers.
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):  # noqa: PTH100 - not through links
        return
    if not _has_frazil(found, os.environ.get("PYTHONPATH", "")):
        message = f"frazil cannot be imported in Spark's Python, {found}; this process runs {sys.executable}"
        raise InvalidArgumentError(message, context={"python": found}, hint=_HINT)


@functools.lru_cache
def _has_frazil(python: str, path: str) -> bool:  # noqa: ARG001 - another path, another answer
    ran = subprocess.run(  # noqa: S603 - what Spark runs, too
        [python, "-c", "import frazil, pyarrow"], capture_output=True, check=False, timeout=_SECONDS
    )
    return ran.returncode == 0
