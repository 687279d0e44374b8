"""One Spark session for the engines that run in Spark, and the query that they answer."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

QUERY = (
    "count(*) rows",
    "sum(v) `sum of v`",
    "min(id) `min of id`",
    "max(id) `max of id`",
    "max(d)",
    "max(s)",
    "max(ts)",
)
COMPARED = ("rows", "sum of v", "min of id", "max of id")


def session(**settings: str) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers find frazil where this process finds it.
    found = importlib.util.find_spec("frazil")
    if found and found.origin:
        os.environ["PYTHONPATH"] = str(Path(found.origin).parents[1])
    common = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
    }
    spark = SparkSession.builder.master("local[2]").appName("bench").config(map=common | settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def aggregate(frame: DataFrame) -> dict[str, float]:
    """Look at every value of five columns and give what must be the same for all engines."""
    row = frame.selectExpr(*QUERY).collect()[0]
    return {name: row[name] for name in COMPARED}


def aggregate_of(frame: Callable[[], DataFrame]) -> Callable[[], dict[str, float]]:
    """Make the frame within what is timed: planning belongs to it."""
    return lambda: aggregate(frame())
