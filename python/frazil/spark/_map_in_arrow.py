"""`DataFrame.mapInArrow` for columns of any name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["map_in_arrow"]

_PLAIN = re.compile(r"\w+", re.ASCII)


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: StructType | str
) -> DataFrame:
    """Return the rows that a function computes of the batches of a DataFrame.

    Spark's method parses the names of columns: it takes a name with a dot for a field of a struct.
    """
    names = frame.columns
    mapped: Any = function
    if not all(map(_PLAIN.fullmatch, names)) or len({name.lower() for name in names}) < len(names):

        def mapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return function(batch.rename_columns(names) for batch in batches)

        frame = frame.toDF(*(f"_{place}" for place in range(len(names))))
    return frame.mapInArrow(mapped, schema)
