"""The method `sql` of a session whose statements run in a lake."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.spark._plain_names import PlainNames
from frazil.spark._plain_writes import connect_writes, disconnect_writes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake


class PlainSql:
    """A replacement for `spark.sql` that passes statements to a lake."""

    def __init__(self, spark: SparkSession, lake: Lake[DataFrame]) -> None:
        """Replace the method of this session object."""
        self.own = own_sql(spark)
        self._spark, self._lake = spark, lake
        self._before = vars(spark).get("sql")
        functools.update_wrapper(self, self.own)  # for `help` and completion
        vars(spark)["sql"] = self
        self._names = PlainNames(spark, lake)
        connect_writes(spark, lake)

    def __call__(self, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803 - the names of Spark
        """Run a statement as `spark.sql` does."""
        return self._lake.sql(sqlQuery, args, **kwargs)

    def restore(self) -> None:
        """Restore the method that the session had before.

        Raises:
            InvalidArgumentError: The method was replaced again.
        """
        attributes = vars(self._spark)
        if attributes.get("sql") is not self:
            message = "cannot restore spark.sql: it was replaced again after this lake was connected"
            raise InvalidArgumentError(message, hint="disconnect the lake that was connected last first")
        self._names.restore()
        disconnect_writes(self._spark, self._lake)
        if self._before is None:
            del attributes["sql"]
        else:
            attributes["sql"] = self._before


def own_sql(spark: SparkSession) -> Callable[..., DataFrame]:
    """Return the method `sql` of a session that does not run statements in a lake."""
    found = spark.sql
    return found.own if isinstance(found, PlainSql) else found
