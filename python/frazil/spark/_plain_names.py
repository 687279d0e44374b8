"""Names of lake tables where Spark takes a name: `spark.table`, `spark.read.table` and `spark.catalog`."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from frazil.spark._plain_catalog import with_lake

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

__all__ = ["PlainNames"]


class PlainNames:
    """The names of a lake in a session object, whose class has other `table`, `read` and `catalog`."""

    def __init__(self, spark: SparkSession, lake: Lake[DataFrame]) -> None:
        """Let the session object find the tables of the lake."""
        self._spark, self._before = spark, type(spark)
        self._own: Any = _session_class(spark, lake)
        spark.__class__ = self._own

    def restore(self) -> None:
        """Restore the class of the session object."""
        if type(self._spark) is self._own:
            self._spark.__class__ = self._before


def _session_class(spark: SparkSession, lake: Lake[DataFrame]) -> Any:
    base: Any = type(spark)

    class PlainSession(base):  # type: ignore[misc]
        """A session that finds the tables of a lake."""

        @property
        def read(self) -> Any:
            """Return the reader of Spark, whose `table` finds the tables of the lake."""
            reader = super().read
            # Spark creates new sessions of the class of a session.
            if self is spark:
                reader.table = _found(reader.table, lake)
            return reader

        @property
        def catalog(self) -> Any:
            """Return the catalog of Spark, some of whose methods find the tables of the lake."""
            # Spark keeps this object, also after the lake is disconnected.
            return with_lake(copy.copy(super().catalog), lake) if self is spark else super().catalog

        def table(self, tableName: str) -> DataFrame:  # noqa: N803 - the name of Spark
            """Return a table of the lake or of Spark."""
            return _found(super().table, lake)(tableName) if self is spark else super().table(tableName)

    PlainSession.__name__, PlainSession.__qualname__ = base.__name__, base.__qualname__
    PlainSession.__module__ = base.__module__
    return PlainSession


def _found(own: Callable[[str], DataFrame], lake: Lake[DataFrame]) -> Callable[[str], DataFrame]:
    """Return a method that reads a table of the lake or of Spark by its name."""

    @functools.wraps(own)
    def table(tableName: str) -> DataFrame:  # noqa: N803 - the name of Spark
        return lake.sql(f"SELECT * FROM {tableName}") if lake.has_name(tableName) else own(tableName)  # noqa: S608 - a name

    return table
