"""Rows of Paimon tables without a primary key, with their addresses, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil import _native
from frazil.paimon._read import read_split
from frazil.paimon._scan import rows_scan
from frazil.paimon._writer_options import utc_offset_ms
from frazil.paimon._writing import state_of
from frazil.spark._type_conversion import Conversion, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil.paimon import Table
    from frazil.sql._metadata_columns import Place

__all__ = ["addressed_rows"]


def addressed_rows(
    spark: SparkSession,
    table: Table,
    columns: Sequence[str],
    row_filter: str,
    places: Mapping[str, Place],
) -> DataFrame:
    """Return rows of the latest snapshot, with additional columns for their places, by name.

    The DataFrame may contain rows that do not match the filter.
    """
    from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

    state = state_of(table)
    keys = table.partition_keys if "partition" in places.values() else []
    read_columns = [*columns, *(key for key in keys if key not in columns)]
    scan = rows_scan(state.native, row_filter, columns=read_columns)
    schema = scan.schema()
    own = spark_schema(schema, "error")
    kept = [own.names.index(name) for name in columns]
    partition = StructType([own[key] for key in keys])
    types = {"file": StringType(), "position": LongType(), "bucket": IntegerType(), "partition": partition}
    extra = [StructField(name, types[what]) for name, what in places.items()]
    target = StructType([*(own[place] for place in kept), *extra])
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
                    values = converted.select(keys)
                    found = {
                        "file": pa.repeat(pa.scalar(path), count),
                        "position": rows.column(last),
                        "bucket": pa.repeat(pa.scalar(split.bucket, pa.int32()), count),
                        "partition": pa.StructArray.from_arrays(values.columns, fields=list(values.schema)),
                    }
                    arrays = [*(converted.column(place) for place in kept), *(found[what] for what in places.values())]
                    yield pa.RecordBatch.from_arrays(arrays, names=target.names)

    return spark.range(0, len(splits), 1, max(1, len(splits))).mapInArrow(read, target)
