"""Spark's own Parquet reader on the data files: no table format or deletes. It is the limit of reading in Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines import spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("pyspark",)


def warm_up(target: Target) -> None:
    spark.aggregate(spark.session().read.parquet(target.data_files[0]))


def aggregate(target: Target) -> Callable[[], dict[str, float]]:
    return spark.aggregate_of(lambda: spark.session().read.parquet(*target.data_files))
