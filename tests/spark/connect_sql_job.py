"""Run the walk-through over Spark Connect from a separate server, and print the results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import frazil.spark
from frazil.errors import UnsupportedError
from support import walk_through
from support.spark_settings import SETTINGS


def rejection(lake: frazil.sql.Lake[object], statement: str) -> str:
    try:
        lake.sql(statement)
    except UnsupportedError as error:
        return str(error)
    return ""


def main(warehouse: str) -> None:
    session = SparkSession.builder.remote("local[2]").config(map=SETTINGS).getOrCreate()
    for name, value in walk_through.settings(Path(warehouse)).items():
        session.conf.set(name, value)
    lake = frazil.spark.connect(session)
    found = walk_through.run(lake)
    session.range(3).createOrReplaceTempView("tableV2")
    lake.sql("USE local.db")
    joined = lake.sql("SELECT t.data FROM tableV2 v JOIN table t ON t.id = v.id")
    found |= {
        "connected": type(session).__module__,
        "described": [list(row) for row in lake.sql("DESCRIBE table").collect()],
        "view": lake.sql("SELECT * FROM tableV2").count(),
        "joined": sorted(row.data for row in joined.collect()),
        "rejected": rejection(lake, "TRUNCATE TABLE table PARTITION (id = 1)"),
    }
    lake.sql("CREATE TABLE db.copy PARTITIONED BY (data) AS SELECT id, data FROM db.table")
    lake.sql("INSERT OVERWRITE db.copy PARTITION (data = 'b') SELECT id FROM range(5, 7)")
    lake.sql("CREATE TEMPORARY VIEW of_copy AS SELECT * FROM db.copy")
    lake.sql("CREATE OR REPLACE TABLE db.copy AS SELECT data, id FROM of_copy")
    found["copied"] = sorted(list(row) for row in lake.sql("SELECT * FROM db.copy").collect())
    lake.sql("UPDATE db.copy SET data = concat('u', id - 5) WHERE abs(id) = 5")
    lake.sql("DELETE FROM db.copy WHERE data = 'u0' AND id IN (SELECT max(id) - 1 FROM db.copy)")
    found["deleted"] = lake.last and lake.last.deleted_rows
    lake.sql(
        "MERGE INTO db.copy c USING tableV2 v ON c.id = v.id + 5 "
        "WHEN MATCHED AND v.id = 0 THEN DELETE WHEN NOT MATCHED AND id = 2 THEN INSERT (id, data) VALUES (id, 'merged')"
    )
    found["merged"] = sorted(list(row) for row in lake.sql("SELECT * FROM db.copy").collect())
    [[plan]] = lake.sql("EXPLAIN SELECT id FROM db.copy").collect()
    found["plan"] = "Physical Plan" in plan
    paimon = frazil.spark.connect(session, {"p": {"type": "paimon", "warehouse": f"{warehouse}/paimon"}})
    paimon.sql("CREATE TABLE p.default.t AS SELECT id, array(id) AS ids FROM range(0, 1000, 1, 4)")
    found["paimon"] = list(paimon.sql("SELECT count(*), sum(ids[0]) FROM p.default.t").collect()[0])
    print(json.dumps(found))  # noqa: T201 - the test reads it
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
