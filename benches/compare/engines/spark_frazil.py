"""frazil in PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines import spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from targets import Target

PACKAGES = ("pyspark", "frazil")


def warm_up(target: Target) -> None:
    spark.aggregate(_frame(target, limit=str(100_000)))


def aggregate(target: Target) -> Callable[[], dict[str, float]]:
    return spark.aggregate_of(lambda: _frame(target))


def _frame(target: Target, **options: str) -> DataFrame:
    import os

    import frazil.spark

    # In the environment, so that the workers know it too: tables of one folder share data files.
    os.environ["FRAZIL_ALLOWED_LOCATIONS"] = target.shared
    session = spark.session()
    frazil.spark.register(session)
    return session.read.format("frazil").options(**options).load(target.location)
