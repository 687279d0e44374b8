"""Tables that are written by Spark and by frazil directly, and rows for them."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import frazil

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from frazil.iceberg import Table

SCHEMA = pa.schema(
    [pa.field("id", pa.int64()), pa.field("day", pa.timestamp("us")), pa.field("x", pa.float64()), ("c", pa.string())]
)

KINDS: dict[str, tuple[str, ...]] = {
    "unpartitioned": (),
    "bucketed": ("bucket(4, id)",),
    "days": ("day(day)",),
    "nan": ("x",),
    "text": ("truncate(1, c)", "bucket(2, id)"),
    "sorted": ("bucket(2, id)",),
}


def data(first: int, count: int) -> pa.Table:
    """Return rows with NULL and NaN in every partition source column."""
    numbers = range(first, first + count)
    noon = dt.datetime(2024, 2, 27, 12)  # noqa: DTZ001 - a timestamp without a zone
    days = [None if n % 7 == 0 else noon + dt.timedelta(days=n % 4) for n in numbers]
    floats = [None if n % 5 == 0 else math.nan if n % 5 == 1 else float(n % 3) for n in numbers]
    texts = [None if n % 11 == 0 else f"{'äbc'[n % 3]}{n}" for n in numbers]
    ids = [None if n % 13 == 0 else n for n in numbers]
    return pa.table([ids, days, floats, texts], schema=SCHEMA)


def frame(spark: SparkSession, content: pa.Table, parts: int = 3) -> DataFrame:
    # By way of lists, so that NaN stays distinct from NULL.
    types = "id long, day timestamp_ntz, x double, c string"
    return spark.createDataFrame([tuple(row.values()) for row in content.to_pylist()], types).repartition(parts)


def make(folder: Path, kind: str = "unpartitioned", version: int = 2, **properties: str) -> Table:
    named = {name.replace("_", "-").replace("--", "."): value for name, value in properties.items()}
    table = frazil.create_table(folder, SCHEMA, partition_by=KINDS[kind], format_version=version, properties=named)
    if kind == "sorted":
        with table.update_sort_order() as order:
            order.desc("c")
    return table


def files(folder: Path, below: str = "data") -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in (folder / below).rglob("*") if path.is_file())


def listed(table: Table, folder: Path) -> list[str]:
    """Return the data files of all snapshots."""
    found: set[str] = set()
    for snapshot in table.snapshots():
        scan = table.scan(selected_fields=("_file",), snapshot_id=snapshot.snapshot_id)
        found.update(scan.to_arrow()["_file"].to_pylist())
    return sorted(str(Path(path).relative_to(folder)) for path in found)
