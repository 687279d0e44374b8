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
DELETE_FROM_ROWS = 100_000


def warm_up(target: Target) -> None:
    # Before anything else in Spark, because Java passes its initial environment to workers.
    _session(target)
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


def sql_delete(target: Target) -> Callable[[], dict[str, float]]:
    lake, table = _table_to_delete(target)
    return _statements(lambda number: lake.sql(f"DELETE FROM lake.db.t WHERE {_ten_ids(number)}"), table)  # noqa: S608 - numbers


def api_delete(target: Target) -> Callable[[], dict[str, float]]:
    _, table = _table_to_delete(target)
    return _statements(lambda number: table.delete(_ten_ids(number)), table)


def sql_merge(target: Target) -> Callable[[], dict[str, float]]:
    """Merge rows into the first half by a statement, by delete files and new data files."""
    import frazil.spark

    session = _session(target)
    lake = frazil.spark.connect(session, {"lake": {"type": "hadoop", "warehouse": target.tables}})
    return spark.merge(session, lake.sql, target)


def _table_to_delete(target: Target) -> tuple[Lake[DataFrame], Any]:
    """Return a lake and its merge-on-read table `lake.db.t` of 100,000 rows."""
    import pyarrow as pa

    lake, table = _small_table(target)
    lake.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    table.append(pa.table({"id": range(DELETE_FROM_ROWS), "name": ["x"] * DELETE_FROM_ROWS}))
    return lake, table


def _ten_ids(number: int) -> str:
    return f"id >= {10 * number} AND id < {10 * (number + 1)}"


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
        for number in range(STATEMENTS, 2 * STATEMENTS):
            run(number)
        return {"rows": table.refresh().scan().count()}

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
    os.environ["FRAZIL_ALLOWED_LOCATIONS"] = f"{target.shared},{target.tables}"
    session = spark.session()
    frazil.spark.register(session)
    return session
