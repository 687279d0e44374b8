"""The lakes that are connected to sessions, whose names of tables `read` and `write` accept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

__all__ = ["named_table", "remember"]

_LAKES: WeakKeyDictionary[SparkSession, list[Lake[DataFrame]]] = WeakKeyDictionary()


def remember(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    """Keep a lake as the latest one of a session."""
    _LAKES.setdefault(spark, []).insert(0, lake)


def named_table(spark: SparkSession, table: Any) -> Any:
    """Return the table of a name such as `cat.db.t` in a lake of the session; any other argument as it is."""
    if not isinstance(table, str) or not _is_name(table):
        return table
    found = next((lake for lake in _LAKES.get(spark, ()) if lake.has_catalog(table)), None)
    return table if found is None else found.table(table)


def _is_name(text: str) -> bool:
    return "." in text and "/" not in text and os.sep not in text
