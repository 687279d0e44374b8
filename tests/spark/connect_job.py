"""Read and write tables over Spark Connect from a separate server, and print the results."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import frazil
from frazil.spark import delete, functions, merge, read, update, write
from support.frames import load, rows
from support.spark_settings import SETTINGS
from support.spark_tables import data, frame

if TYPE_CHECKING:
    from collections.abc import Callable


def failure(function: Callable[[], Any]) -> str:
    try:
        function()
    except Exception as error:  # noqa: BLE001 - the test looks at it
        return f"{type(error).__name__}: {error}"
    return ""


def main(folder: str, paimon: str) -> None:
    session = SparkSession.builder.remote("local[2]").config(map=SETTINGS).getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    loaded = frazil.load_table(folder)
    assert isinstance(loaded, frazil.iceberg.Table)
    table = loaded
    write(frame(session, data(0, 60)), table)
    write(frame(session, data(40, 25)), folder, "dynamic")
    write(frame(session, data(70, 9)), folder, "overwrite", overwrite_filter="id > 50 or id is null")
    delete(session, folder, "id in (41, 42)")
    update(session, folder, {"c": "concat('u', c)", "x": 1.5}, "id between 10 and 44")
    source = frame(session, data(43, 3))
    merge(source, folder, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    frame(session, data(90, 5)).write.format("frazil").mode("append").save(folder)
    table = table.refresh()

    def fail(batches: Any) -> Any:
        yield from batches
        raise OSError("never works")

    broken = frame(session, data(0, 50), 2).mapInArrow(fail, "id long, day timestamp_ntz, x double, c string")
    found = {
        "connected": type(session).__module__,
        "by_the_source": rows(load(session, folder).toArrow()),
        "by_the_function": rows(read(session, table, read_lane="native").toArrow()),
        "some": rows(read(session, folder, "id > 50", ["id"]).toArrow()),
        "paimon": read(session, paimon).count(),
        "buckets": read(session, folder).select(functions.bucket(4, "id").alias("b")).distinct().count(),
        "failed": failure(lambda: write(broken, folder, distribution_mode="none")),
        "misfit": failure(lambda: write(session.sql("select 1L id, 'a' colour"), folder)),
    }
    print(json.dumps(found))  # noqa: T201 - the test reads it
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
