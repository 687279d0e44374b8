"""frazil in PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines import spark, spark_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake
    from targets import Target

PACKAGES = ("pyspark", "frazil")
STATEMENTS = 40


def warm_up(target: Target) -> None:
    # Warms up Spark's own reader too, which reads files without deletes in `frazil.spark.read`.
    spark_parquet.warm_up(target)
    spark.aggregate(_source(target, limit=str(100_000)))


def aggregate(target: Target) -> Callable[[], dict[str, float]]:
    return spark.aggregate_of(lambda: _read(target))


def aggregate_source(target: Target) -> Callable[[], dict[str, float]]:
    """Aggregate by the data source, which passes all rows from Python to Spark."""
    return spark.aggregate_of(lambda: _source(target))


def sql_insert(target: Target) -> Callable[[], dict[str, float]]:
    lake, table = _small_table(target)
    return _statements(lambda number: lake.sql(f"INSERT INTO lake.db.t VALUES ({number}, 'x')"), table)  # noqa: S608 - a number


def api_insert(target: Target) -> Callable[[], dict[str, float]]:
    _, table = _small_table(target)
    return _statements(lambda number: table.append([{"id": number, "name": "x"}]), table)


def sql_query(target: Target) -> Callable[[], dict[str, float]]:
    lake, table = _small_table(target)
    table.append([{"id": 1, "name": "x"}])
    return _statements(lambda number: lake.sql(f"SELECT name FROM lake.db.t WHERE id < {number}").collect(), table)  # noqa: S608 - a number


def api_query(target: Target) -> Callable[[], dict[str, float]]:
    import frazil.spark

    session, (_, table) = _session(target), _small_table(target)
    table.append([{"id": 1, "name": "x"}])
    return _statements(
        lambda number: frazil.spark.read(session, table).where(f"id < {number}").select("name").collect(), table
    )


def _small_table(target: Target) -> tuple[Lake[DataFrame], Any]:
    """Return a lake and its empty table `lake.db.t`."""
    import tempfile

    import frazil.spark

    catalog = {"type": "hadoop", "warehouse": f"{tempfile.mkdtemp()}/lake"}
    lake = frazil.spark.connect(_session(target), {"lake": catalog})
    lake.sql("CREATE TABLE lake.db.t (id BIGINT, name STRING) USING iceberg")
    return lake, lake.table("lake.db.t")


def _statements(run: Callable[[int], Any], table: Any) -> Callable[[], dict[str, float]]:
    """Return a function that runs a statement repeatedly; by then Java has compiled much of its code."""
    for number in range(STATEMENTS):
        run(number)

    def statements() -> dict[str, float]:
        for number in range(STATEMENTS):
            run(number)
        return {"inserted": table.refresh().scan().count()}

    return statements


def _read(target: Target) -> DataFrame:
    import frazil.spark

    return frazil.spark.read(_session(target), target.location)


def _source(target: Target, **options: str) -> DataFrame:
    return _session(target).read.format("frazil").options(**options).load(target.location)


def _session(target: Target) -> SparkSession:
    import os

    import frazil.spark

    # An environment variable, so that workers inherit it: tables of one folder share data files.
    os.environ["FRAZIL_ALLOWED_LOCATIONS"] = target.shared
    session = spark.session()
    frazil.spark.register(session)
    return session
