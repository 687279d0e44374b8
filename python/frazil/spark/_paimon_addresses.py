"""Rows of Paimon tables without a primary key, with their addresses, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil import _native
from frazil.paimon._read import read_split
from frazil.paimon._scan import rows_scan
from frazil.paimon._writer_options import utc_offset_ms
from frazil.spark._type_conversion import Conversion, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil.paimon._state import TableState

__all__ = ["addressed_rows"]


def addressed_rows(
    spark: SparkSession,
    state: TableState,
    columns: Sequence[str],
    row_filter: str,
    address: tuple[str, ...],
) -> DataFrame:
    """Return rows of the latest snapshot, with their data file and position as the columns `address`.

    The DataFrame may contain rows that do not match the filter.
    """
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    scan = rows_scan(state.native, row_filter, columns=columns)
    schema = scan.schema()
    own = spark_schema(schema, "error")
    file, position = (StructField(name, kind) for name, kind in zip(address, (StringType(), LongType()), strict=True))
    target = StructType([*own.fields, file, position])
    plan = scan.rewrites(utc_offset_ms=utc_offset_ms())
    splits = [plan.file(place)[0].to_bytes() for place in range(len(plan))]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        conversion = Conversion(schema, own)
        for batch in batches:
            for place in batch.column(0).to_pylist():
                [split] = _native.PaimonSplit.from_bytes(splits[place], state.files)
                path = split.data_files()[0].file_path
                for rows in read_split(split):
                    count, last = rows.num_rows, rows.num_columns - 1
                    converted = conversion.apply(rows.select(range(last)))
                    found = [*converted.columns, pa.repeat(pa.scalar(path), count), rows.column(last)]
                    yield pa.RecordBatch.from_arrays(found, names=target.names)

    return spark.range(0, len(splits), 1, max(1, len(splits))).mapInArrow(read, target)
