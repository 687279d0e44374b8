"""A Spark session for the engines that run in Spark, and the query that they run.

Running `spark.py` alone makes Java archive Spark's classes, which shortens the start of each session by a third.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from targets import Target

QUERY = (
    "count(*) rows",
    "sum(v) `sum of v`",
    "min(id) `min of id`",
    "max(id) `max of id`",
    "max(d)",
    "max(s)",
    "max(ts)",
)
MERGE = """
    MERGE INTO lake.written.{table} t USING {source} s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
COMPARED = ("rows", "sum of v", "min of id", "max of id")
# Java ignores an archive that is missing, or belongs to another Java or other jars.
CLASSES = Path(__file__).resolve().parents[3] / "target" / "bench" / "spark.jsa"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def session(**settings: str) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers import frazil from the same location as this process.
    found = importlib.util.find_spec("frazil")
    if found and found.origin:
        os.environ["PYTHONPATH"] = str(Path(found.origin).parents[1])
    common = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        JAVA_OPTIONS: f"-XX:SharedArchiveFile={CLASSES} -Xlog:disable",
    }
    spark = SparkSession.builder.master("local[2]").appName("bench").config(map=common | settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def aggregate(frame: DataFrame) -> dict[str, float]:
    """Aggregate every value of five columns, and return numbers that must be equal for all engines."""
    row = frame.selectExpr(*QUERY).collect()[0]
    return {name: row[name] for name in COMPARED}


def aggregate_of(frame: Callable[[], DataFrame]) -> Callable[[], dict[str, float]]:
    """Create the frame within the timed function, so that planning is included."""
    return lambda: aggregate(frame())


def merge(spark: SparkSession, sql: Callable[[str], DataFrame], target: Target) -> Callable[[], dict[str, float]]:
    """Merge rows, which are in memory, by a statement that `sql` runs with the folder of the tables as catalog `lake`.

    The table is that of frazil's `merge_on_read`. The statement runs on a small table first.
    """
    from targets import merge_source
    from writes import table_to_merge

    table = table_to_merge(target, "merge-on-read")
    sql(MERGE.format(table="`warm-up`", source="(SELECT id FROM VALUES (3L), (4L) AS v(id))"))
    source = spark.createDataFrame(merge_source(target)).cache()
    source.createOrReplaceTempView("source")
    source.count()

    def run() -> dict[str, float]:
        sql(MERGE.format(table="`table`", source="source"))
        summary = table.refresh().snapshots()[-1].summary
        updated = int(summary["added-position-deletes"])
        return {
            "updated": updated,
            "inserted": int(summary["added-records"]) - updated,
            "files_removed": int(summary.get("deleted-data-files", 0)),
        }

    return run


def archive_classes() -> None:
    """Archive the classes that the query needs."""
    CLASSES.parent.mkdir(parents=True, exist_ok=True)
    spark = session(**{JAVA_OPTIONS: f"-XX:ArchiveClassesAtExit={CLASSES} -Xlog:disable"})
    with tempfile.TemporaryDirectory() as folder:
        columns = ("id", "id v", "double(id) d", "string(id) s", "timestamp_seconds(id) ts")
        spark.range(1_000).selectExpr(*columns).write.parquet(f"{folder}/rows")
        aggregate(spark.read.parquet(f"{folder}/rows"))
    java = spark.sparkContext._gateway.proc  # noqa: SLF001 - nothing public waits for it
    spark.stop()
    # Java writes the archive when it ends.
    java.stdin.close()
    java.wait()


if __name__ == "__main__" and not CLASSES.exists():
    archive_classes()
