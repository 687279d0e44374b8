"""Iceberg (Java) in Spark, in a separate process.

The Java virtual machine of a process is started once with the packages of its first user, so it is not shared with
tests of frazil's Spark reader.
"""

from __future__ import annotations

import multiprocessing
import traceback
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from support.spark_settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from pyspark.sql import SparkSession

PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
CATALOG = "java"
START_S = 300
ANSWER_S = 180


class JavaError(Exception):
    """An error that Java returned instead of a result."""


class Java:
    """A Spark session with Iceberg, whose catalog `java` is a folder of databases."""

    def __init__(self, warehouse: Path) -> None:
        """Start the session; the jar is downloaded from the public Java registry unless it is in the local cache."""
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, str(warehouse)), daemon=False)
        self._process.start()
        theirs.close()
        try:
            self._answer(START_S)
        except BaseException:
            self.close()
            raise

    def sql(self, statement: str) -> pa.Table:
        """Return the rows of a statement."""
        return self.many([statement])[0]

    def many(self, statements: Iterable[str]) -> list[pa.Table]:
        """Run statements one after another, and return the rows of each.

        Raises:
            JavaError: A statement failed; later statements were not run.
        """
        statements = list(statements)
        self._pipe.send(statements)
        found = []
        for _ in statements:
            with pa.ipc.open_stream(self._answer(ANSWER_S)) as stream:
                found.append(stream.read_all())
        return found

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self, seconds: float) -> Any:
        if not self._pipe.poll(seconds):
            raise JavaError(f"no answer in {seconds} seconds")
        try:
            answer = self._pipe.recv()
        except EOFError as error:
            raise JavaError("the process has ended") from error
        if isinstance(answer, str):
            raise JavaError(answer)
        return answer


def _serve(pipe: Connection, warehouse: str) -> None:
    try:
        spark = _session(warehouse)
        pipe.send(b"")
    except Exception:  # noqa: BLE001 - told to who waits
        pipe.send(traceback.format_exc())
        return
    while True:
        try:
            statements = pipe.recv()
        except EOFError:
            break
        for statement in statements:
            try:
                pipe.send(_rows(spark, statement))
            except Exception as error:  # noqa: BLE001 - told to who waits
                pipe.send(f"{statement}\n{error}")
                break
    spark.stop()


def _rows(spark: SparkSession, statement: str) -> bytes:
    rows: pa.Table = spark.sql(statement).toArrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def _session(warehouse: str) -> SparkSession:
    from pyspark.sql import SparkSession

    catalog = f"spark.sql.catalog.{CATALOG}"
    settings = {
        **SETTINGS,
        "spark.jars.packages": PACKAGE,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": warehouse,
        f"{catalog}.cache-enabled": "false",
        "spark.sql.defaultCatalog": CATALOG,
        "spark.sql.shuffle.partitions": "1",
        # Tables are small, so the fixed cost per query dominates.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.iceberg.locality.enabled": "false",
        "spark.shuffle.sort.bypassMergeThreshold": "1",
    }
    builder = SparkSession.builder.master("local[2]").appName("frazil-interop").config(map=settings)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
