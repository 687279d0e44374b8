"""frazil in PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines import spark, spark_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from targets import Target

PACKAGES = ("pyspark", "frazil")


def warm_up(target: Target) -> None:
    # What Spark's own reader warms up as well: it reads files without deletes for `frazil.spark.read`.
    spark_parquet.warm_up(target)
    spark.aggregate(_source(target, limit=str(100_000)))


def aggregate(target: Target) -> Callable[[], dict[str, float]]:
    return spark.aggregate_of(lambda: _read(target))


def aggregate_source(target: Target) -> Callable[[], dict[str, float]]:
    """By the data source, which hands all rows from Python to Spark."""
    return spark.aggregate_of(lambda: _source(target))


def _read(target: Target) -> DataFrame:
    import frazil.spark

    return frazil.spark.read(_session(target), target.location)


def _source(target: Target, **options: str) -> DataFrame:
    return _session(target).read.format("frazil").options(**options).load(target.location)


def _session(target: Target) -> SparkSession:
    import os

    import frazil.spark

    # In the environment, so that the workers know it too: tables of one folder share data files.
    os.environ["FRAZIL_ALLOWED_LOCATIONS"] = target.shared
    session = spark.session()
    frazil.spark.register(session)
    return session
