"""The Python that Spark runs: that of `PYSPARK_PYTHON`, or else the first `python3` on the path.

Where an environment is not activated (an IDE, Jupyter, `venv/bin/python script.py`), that is another Python than the
one of this process, and frazil is not installed in it. Spark then says only that there is no such data source.
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
    """Return the session of a DataFrame, which the user knows by `name`.

    Raises:
        InvalidArgumentError: It is not a DataFrame of Spark.
    """
    if not hasattr(type(frame), "sparkSession"):
        message = f"{name} must be a DataFrame of Spark, not {type(frame).__name__}"
        raise InvalidArgumentError(message)
    return frame.sparkSession


def check_session(spark: SparkSession) -> None:
    """Check the release of Spark, and that the Python of the workers has frazil, as far as that can be known here.

    Raises:
        UnsupportedError: A release of Spark before 4.1.
        InvalidArgumentError: It does not: the error says what to set. Or it is not a session.
    """
    check_spark()
    if not hasattr(type(spark), "createDataFrame"):
        message = f"spark must be a SparkSession, not {type(spark).__name__}"
        raise InvalidArgumentError(message)
    from pyspark.sql.utils import is_remote

    if is_remote():
        return  # the server has a Python of its own
    try:
        python = spark.sparkContext.pythonExec
    except Exception:  # noqa: BLE001 - platforms keep their SparkContext to themselves, each with its own error
        return
    found = shutil.which(python)
    # On a cluster the path may exist on the workers only.
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):  # noqa: PTH100 - not through links
        return
    if not _has_frazil(found, os.environ.get("PYTHONPATH", "")):
        message = f"frazil cannot be imported in the Python of Spark, {found}; this process runs {sys.executable}"
        raise InvalidArgumentError(message, context={"python": found}, hint=_HINT)


@functools.lru_cache
def _has_frazil(python: str, path: str) -> bool:  # noqa: ARG001 - another path, another answer
    ran = subprocess.run(  # noqa: S603 - what Spark runs, too
        [python, "-c", "import frazil, pyarrow"], capture_output=True, check=False, timeout=_SECONDS
    )
    return ran.returncode == 0
