"""Run statements by `spark.sql` over Spark Connect, and print the results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from support import plain_sql
from support.spark_settings import SETTINGS

if __name__ == "__main__":
    session = SparkSession.builder.remote("local[2]").config(map=SETTINGS).getOrCreate()
    found = plain_sql.run(session, Path(sys.argv[1]))
    print(json.dumps(found | {"connected": type(session).__module__}))  # noqa: T201 - the test reads it
    session.stop()
