"""Paimon's format tables and object tables in Spark SQL: folders of files without snapshots."""

from __future__ import annotations

import contextlib
import pickle
import warnings
from typing import TYPE_CHECKING, Any

from frazil._caller import caller_depth
from frazil.errors import FrazilError, UnsupportedError
from frazil.paimon import FormatTable, ObjectTable
from frazil.spark._to_arrow import to_arrow
from frazil.spark._type_conversion import Conversion, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as spark

    from frazil._write_result import WriteResult
    from frazil.paimon._format_table import FormatScan
    from frazil.sql._insert import Insertion
    from frazil.sql._sources import Source

__all__ = ["PLAIN_TABLES", "insert_into_format_table", "read_plain_table"]

_TASKS = 64
"""The maximum number of tasks that read the files."""

PLAIN_TABLES = (FormatTable, ObjectTable)
"""The tables without snapshots."""


def read_plain_table(session: SparkSession, source: Source) -> DataFrame:
    """Return a DataFrame of the current files; the workers read the files of a format table.

    Warns:
        UserWarning: The query sets read options of an object table, which have no effect.

    Raises:
        UnsupportedError: The query selects a snapshot, or sets read options of a format table.
    """
    table, schema = source.table, source.table.scan().schema()
    if source.state is None and source.options and isinstance(table, ObjectTable):
        message = (
            f"object table {table.location} has no snapshots: OPTIONS has no effect, and the current files are listed"
        )
        warnings.warn(message, UserWarning, stacklevel=caller_depth())
    elif source.state is not None or source.options:
        message = f"{table.table_type} {table.location} does not support snapshots or read options"
        raise UnsupportedError(message, hint="omit AS OF and OPTIONS: a query reads the current files")
    columns, filters = source.narrowed(schema)
    scan = table.scan(selected_fields=columns)
    with contextlib.suppress(FrazilError):
        scan = table.scan(" and ".join(f"({one})" for one in filters) or True, columns)
    if isinstance(table, ObjectTable):
        return session.createDataFrame(scan.to_arrow())
    target = spark_schema(scan.schema(), "micros")
    parts = [(pickle.dumps(part),) for part in scan.plan_files()]
    listed = session.createDataFrame(parts, "part binary")
    if parts:
        listed = listed.repartition(min(len(parts), _TASKS))
    return listed.mapInArrow(_FileReader(scan, target), target)


def insert_into_format_table(
    rows: DataFrame, table: FormatTable, how: Insertion, constants: Mapping[str, Any]
) -> WriteResult:
    """Write rows with the columns of the table, in this process; `constants` contains a static partition."""
    data = to_arrow(rows)
    if how.mode == "overwrite":
        return table.overwrite(data, partitions=[constants] if constants else None)
    if how.mode == "dynamic":
        return table.dynamic_partition_overwrite(data)
    return table.append(data)


class _FileReader:
    """A function that reads the files of a format table in the workers."""

    def __init__(self, scan: FormatScan, target: spark.StructType) -> None:
        self._scan, self._target = scan, target

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        conversion = Conversion(self._scan.schema(), self._target)
        for batch in batches:
            for part in batch.column(0).to_pylist():
                # The pickled part comes from the driver.
                for rows in self._scan.read_file(pickle.loads(part)):  # noqa: S301
                    yield conversion.apply(rows)
