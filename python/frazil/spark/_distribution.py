"""Distribution of rows to write tasks (`write.distribution-mode`).

| mode | rows |
|---|---|
| none | are not shuffled |
| hash | of one partition are sent to one task, or to a few tasks if there are many rows |
| range | are range-partitioned by partition and sort order |

As in Java, the default is `range` for a table with a sort order and `hash` for a partitioned table. Each task sorts its
own rows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from frazil._arguments import optional_text
from frazil.errors import InvalidArgumentError
from frazil.spark import functions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from frazil.iceberg._table_metadata import TableMetadata

MODES = ("none", "hash", "range")

_TIMES = {"year": functions.years, "month": functions.months, "day": functions.days, "hour": functions.hours}
_WITH_NUMBER = re.compile(r"(bucket|truncate)\[(\d+)\]")


def distributed(frame: DataFrame, table: TableMetadata, mode: str | None) -> DataFrame:
    """Distribute the rows to the tasks that write them.

    Raises:
        InvalidArgumentError: The mode is unknown.
    """
    order = table.sort_order().fields
    partitions = [part for part in table.spec().fields if part.transform != "void"]
    default = "range" if order else "hash" if partitions else "none"
    given = optional_text("distribution_mode", mode) or table.properties.get("write.distribution-mode")
    mode = (given or default).lower()
    if mode not in MODES:
        message = f"the distribution mode is {mode!r}, expected one of {', '.join(MODES)}"
        raise InvalidArgumentError(message)
    keys = [_key(frame, table, part.source_ids, part.transform) for part in partitions]
    if mode == "hash":
        names, frame = _with_keys(frame, keys)
        return frame.hint("rebalance", *names).drop(*names) if names else frame
    if mode == "none":
        return frame
    from pyspark.sql import functions as sql

    names, frame = _with_keys(frame, [*keys, *(_key(frame, table, part.source_ids, part.transform) for part in order)])
    if not names:
        return frame
    sorts = [sql.col(name).asc_nulls_first() for name in names[: len(keys)]]
    for name, part in zip(names[len(keys) :], order, strict=True):
        way = f"{part.direction}_{part.null_order.replace('-', '_')}"
        sorts.append(getattr(sql.col(name), way)())
    return frame.repartitionByRange(*sorts).drop(*names)


def _with_keys(frame: DataFrame, keys: list[Column]) -> tuple[list[str], DataFrame]:
    names = [f"__frazil_key_{place}" for place in range(len(keys))]
    return names, frame.select("*", *(key.alias(name) for key, name in zip(keys, names, strict=True)))


def _key(frame: DataFrame, table: TableMetadata, source_ids: tuple[int, ...], transform: str) -> Column:
    """Return a Spark expression with equal values for rows that have the same transform value."""
    from pyspark.sql import functions as sql

    names = _names(table, source_ids[0])
    if names[0] not in frame.columns:
        # The rows lack the column, so its value is NULL or a default in all rows.
        return sql.lit(0)
    column = sql.col(".".join(f"`{name.replace('`', '``')}`" for name in names))
    if transform in _TIMES:
        return _TIMES[transform](column)
    found = _WITH_NUMBER.fullmatch(transform)
    if found is None:
        return column
    if found[1] == "bucket":
        return functions.bucket(int(found[2]), column)
    return functions.truncate(int(found[2]), column, frame.select(column.alias("key")).schema["key"].dataType)


def _names(table: TableMetadata, source_id: int) -> list[str]:
    """Return the names of a field's enclosing columns, outermost first, followed by its own name."""

    def search(fields: tuple, names: list[str]) -> list[str] | None:  # type: ignore[type-arg]
        for part in fields:
            found = [*names, part.name] if part.field_id == source_id else search(part.fields, [*names, part.name])
            if found:
                return found
        return None

    found = search(table.schema().fields, [])
    if found is None:
        message = f"the schema has no column with the id {source_id}"
        raise InvalidArgumentError(message)
    return found
