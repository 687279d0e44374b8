"""Iceberg's own Spark source, from the project's jar, which Spark downloads from Maven Central."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engines import spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from targets import Target

PACKAGES = ("pyspark",)
JAR = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
CACHE = Path(__file__).resolve().parents[3] / "target" / "bench" / "ivy"


def warm_up(target: Target) -> None:
    from pyspark.sql import functions

    _frame(target).where(functions.col("id") == 0).count()


def aggregate(target: Target) -> Callable[[], dict[str, float]]:
    return spark.aggregate_of(lambda: _frame(target))


def sql_merge(target: Target) -> Callable[[], dict[str, float]]:
    """Merge rows into the first half by a statement, by delete files and new data files."""
    session = _session(target)
    return spark.merge(session, session.sql, target)


def _frame(target: Target) -> DataFrame:
    return _session(target).read.format("iceberg").load(target.location)


def _session(target: Target) -> SparkSession:
    settings = {
        "spark.jars.packages": JAR,
        "spark.jars.ivy": str(CACHE),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": target.tables,
    }
    return spark.session(**settings)
