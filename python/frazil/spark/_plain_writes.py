# ruff: noqa: N802 - the names of Spark
"""`DataFrame.writeTo` for tables of a lake.

The method is replaced in its class while any lake is connected: the DataFrames of a session have no other common place.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.sql._reader import literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

__all__ = ["LakeWriter", "connect_writes", "disconnect_writes"]

_WRITES: dict[type, tuple[Callable[..., Any], list[tuple[SparkSession, Lake[DataFrame]]]]] = {}
"""The method `writeTo` of each class of DataFrames, and the lakes that are connected, the latest last."""


def connect_writes(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    """Let the DataFrames of a session write to the tables of a lake."""
    frames = _class_of_frames(spark)
    if frames not in _WRITES:
        own: Callable[..., Any] = frames.writeTo
        lakes: list[tuple[SparkSession, Lake[DataFrame]]] = []
        _WRITES[frames] = own, lakes

        @functools.wraps(own)
        def write_to(frame: DataFrame, table: str) -> Any:
            found = next((one for session, one in reversed(lakes) if session is frame.sparkSession), None)
            return own(frame, table) if found is None or not found.has_name(table) else LakeWriter(frame, table, found)

        frames.writeTo = write_to
    _WRITES[frames][1].append((spark, lake))


def disconnect_writes(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    """Undo `connect_writes`."""
    frames = _class_of_frames(spark)
    own, lakes = _WRITES.get(frames, (None, []))
    lakes[:] = [(session, one) for session, one in lakes if one is not lake]
    if own is not None and not lakes:
        frames.writeTo = own
        del _WRITES[frames]


def _class_of_frames(spark: SparkSession) -> Any:
    return type(spark.range(0))


class LakeWriter:
    """The writer that `DataFrame.writeTo` returns for a table of a lake, with the methods of Spark."""

    def __init__(self, frame: DataFrame, table: str, lake: Lake[DataFrame]) -> None:
        """Keep the rows and the name of the table."""
        self._frame, self._table, self._lake = frame, table, lake
        self._provider: str | None = None
        self._partitions: list[str] = []
        self._properties: dict[str, str] = {}

    def using(self, provider: str) -> LakeWriter:
        """Set the provider of a new table."""
        self._provider = provider
        return self

    def option(self, key: str, value: Any) -> LakeWriter:
        """Refuse an option.

        Raises:
            UnsupportedError: Always.
        """
        del value
        message = f"the option {key!r} is not supported by writeTo on tables of a lake"
        raise UnsupportedError(message, hint="use frazil.spark.write and its arguments")

    def tableProperty(self, property: str, value: str) -> LakeWriter:  # noqa: A002 - the name of Spark
        """Set a property of a new table."""
        self._properties[property] = value
        return self

    def partitionedBy(self, col: Any, *cols: Any) -> LakeWriter:
        """Partition a new table by columns, given by name or as columns."""
        self._partitions = [_partition(one) for one in (col, *cols)]
        return self

    def create(self) -> None:
        """Create the table with the rows."""
        self._make("CREATE TABLE")

    def replace(self) -> None:
        """Replace the table by a new one with the rows."""
        self._make("REPLACE TABLE")

    def createOrReplace(self) -> None:
        """Create the table with the rows, or replace it."""
        self._make("CREATE OR REPLACE TABLE")

    def append(self) -> None:
        """Append the rows, by the names of their columns."""
        self._lake.sql(f"INSERT INTO {self._table} BY NAME SELECT * FROM {{rows}}", rows=self._frame)  # noqa: S608 - a name

    def overwritePartitions(self) -> None:
        """Replace the partitions that have new rows."""
        from frazil.spark._writes import write

        write(self._frame, self._lake.table(self._table), "dynamic")

    def overwrite(self, condition: Any) -> None:
        """Refuse to replace rows that match a condition of Spark.

        Raises:
            UnsupportedError: Always.
        """
        del condition
        message = "overwrite with a condition is not supported by writeTo on tables of a lake"
        name = self._table
        hint = f'use INSERT INTO {name} REPLACE WHERE …, or frazil.spark.write(df, lake.table("{name}"), "overwrite")'
        raise UnsupportedError(message, hint=hint)

    def _make(self, statement: str) -> None:
        parts = [f"{statement} {self._table}"]
        parts += [f"USING {self._provider}"] if self._provider else []
        parts += [f"PARTITIONED BY ({', '.join(self._partitions)})"] if self._partitions else []
        if self._properties:
            pairs = (f"{literal(key)} = {literal(value)}" for key, value in self._properties.items())
            parts.append(f"TBLPROPERTIES ({', '.join(pairs)})")
        text = " ".join(parts).replace("{", "{{").replace("}", "}}")
        self._lake.sql(f"{text} AS SELECT * FROM {{rows}}", rows=self._frame)  # noqa: S608 - parts of the statement


def _partition(column: Any) -> str:
    """Return a partition column or transform as SQL.

    Raises:
        InvalidArgumentError: The argument is neither a name nor a column.
    """
    if isinstance(column, str):
        return column
    text = str(column)
    if not text.startswith("Column<'") or not text.endswith("'>"):
        message = f"partitionedBy takes names and columns, not {type(column).__name__}"
        raise InvalidArgumentError(message)
    return text[len("Column<'") : -len("'>")]
