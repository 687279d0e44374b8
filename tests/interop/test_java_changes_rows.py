"""Tests of DELETE, UPDATE and MERGE in Spark SQL: frazil changes a table as Iceberg (Java) changes an equal one."""

# ruff: noqa: S608 - of a test
from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import frazil
import frazil.spark
from frazil.errors import FrazilError
from frazil.spark import _sql_row_changes
from interop.conftest import WHOLE
from support.java import JavaError
from support.java_checks import LINEAGE_VERSION, check_metadata
from support.sql_row_tables import CASES, in_utc
from support.sql_twins import SHAPES, Statements, source

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake
    from support.java import Java

STATEMENTS = 3
"""The number of statements for each pair of tables."""


def names_of(number: int) -> tuple[str, int, str]:
    """Return the words that identify a pair of tables."""
    shape, version, mode = TWINS[number]
    return shape.name, version, mode


def contents(found: pa.Table, first_new_id: int = 1 << 40) -> Counter[str]:
    """Return rows in a form that can be compared; NaN equals NaN.

    Rows have ids only up to `first_new_id`, because the ids of later rows depend on the number of rewritten rows.
    """
    names = found.column_names
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    values = [dict(enumerate(row)) for row in rows]
    if "_row_id" in names:
        place = names.index("_row_id")
        for row in values:
            row[place] = row[place] if row[place] < first_new_id else "new"
    return Counter(map(repr, values))


def run(java: Java, of_java: str, lake: Lake[DataFrame], ours: str) -> list[Any]:
    """Run a statement in both, and return the errors."""
    # Java would find other rows, see `DEFECTS`.
    of_java = re.sub(r"(\S+) > 1\.0\b", r"\1 + 0 > 1.0", of_java)
    if of_java.startswith("DELETE") and ("<>" in of_java or "NOT (" in of_java):
        head, _, condition = of_java.partition(" WHERE ")
        of_java = f"{head} WHERE coalesce({condition}, false)"
    errors: list[Any] = []
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(java.sql, of_java)
        try:
            lake.sql(ours)
        except (FrazilError, PySparkException) as error:
            errors.append(error)
        try:
            theirs.result()
        except JavaError as error:
            errors.append(error)
    return errors


TWINS = [(shape, version, mode) for version, mode in CASES for shape in SHAPES]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "number", range(0, len(TWINS), 1 if WHOLE else 7), ids=lambda number: "-".join(map(str, names_of(number)))
)
def test_frazil_changes_the_same_rows(
    java: Java, spark: SparkSession, warehouse: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    shape, version, mode = TWINS[number]
    names = {key: f"twins.{key}{number}" for key in ("java", "frazil", "source")}
    for key in ("java", "frazil"):
        java.many(shape.history(Random(number), f"java.{names[key]}", version, mode))  # noqa: S311 - of a test
    chooser = Random(number)  # noqa: S311 - of a test
    java.many(source(chooser, shape, f"java.{names['source']}"))
    lake = frazil.spark.connect(spark, {"lake": frazil.load_catalog("lake", type="hadoop", warehouse=str(warehouse))})
    lineage = ", _row_id" if version == LINEAGE_VERSION else ""
    queries = [f"SELECT *{lineage} FROM java.{names[key]}" for key in ("java", "frazil")]
    first, second = java.many(queries)
    assert contents(first) == contents(second)
    first_new_id = max(first["_row_id"].to_pylist(), default=-1) + 1 if lineage else 0
    done: list[str] = []
    for place in range(STATEMENTS):
        drawn = Statements(chooser, shape).draw()
        texts = [
            drawn.replace("{t}", f"{catalog}.{names[key]}").replace("{s}", f"{catalog}.{names['source']}")
            for catalog, key in (("java", "java"), ("lake", "frazil"))
        ]
        # Some statements change the rows in workers.
        monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0 if place == number % 7 else 128 << 20)
        monkeypatch.setattr(_sql_row_changes, "JOIN_LIMIT_BYTES", 0 if place == number % 7 else 128 << 20)
        done.append(f"{texts[1]};\n")
        with in_utc(spark):
            errors = run(java, texts[0], lake, texts[1])
        assert len(errors) != 1, f"{''.join(done)}{errors}"
        by_java, by_frazil = (contents(found, first_new_id) for found in java.many(queries))
        assert by_frazil == by_java, f"{''.join(done)}frazil: {by_frazil - by_java}\nJava: {by_java - by_frazil}"
    name = names["frazil"]
    # Java leaves position deletes of removed files.
    check_metadata(java, lake.table(f"lake.{name}"), f"java.{name}", dangling=True)


NULLS = ("p INT", "PARTITIONED BY (p)", "(1, 1), (2, 2), (3, NULL)")
DEFECTS = {
    "NULL <> 1": (*NULLS, "DELETE FROM {t} WHERE p <> 1", [1], [1, 3]),
    "NOT (NULL = 1)": (*NULLS, "DELETE FROM {t} WHERE NOT (p = 1)", [1], [1, 3]),
    "NaN > 1": (
        "v DOUBLE",
        "",
        "(1, CAST('NaN' AS DOUBLE)), (2, 0.0D)",
        "DELETE FROM {t} WHERE v > 1.0",
        [1, 2],
        [2],
    ),
    "several matches": (
        "p INT",
        "",
        "(1, 1), (2, 2)",
        (
            "MERGE INTO {t} AS t USING (SELECT * FROM VALUES (1), (1) AS s(x)) AS s ON t.id = s.x "
            "WHEN NOT MATCHED BY SOURCE THEN DELETE"
        ),
        [1, 1],
        [1],
    ),
}
"""Tables, statements, and the rows that Java and frazil leave.

Java deletes partitions of NULL, for which the condition is NULL. It skips files by their largest value, although NaN is
greater than every other value in Spark. Without WHEN MATCHED, it repeats rows that match several rows of the source,
if it rewrites their file.
"""


@pytest.mark.parametrize("name", DEFECTS)
def test_java_has_known_defects(java: Java, spark: SparkSession, warehouse: Path, name: str) -> None:
    column, partition, values, statement, *expected = DEFECTS[name]
    lake = frazil.spark.connect(spark, {"lake": frazil.load_catalog("lake", type="hadoop", warehouse=str(warehouse))})
    found = []
    for catalog, table in (("java", "twins.defect"), ("lake", "twins.no_defect")):
        java.many(
            [
                f"CREATE OR REPLACE TABLE java.{table} (id INT, {column}) USING iceberg {partition}",
                f"INSERT INTO java.{table} VALUES {values}",
            ]
        )
        (java if catalog == "java" else lake).sql(statement.replace("{t}", f"{catalog}.{table}"))
        found.append(sorted(java.sql(f"SELECT id FROM java.{table}")["id"].to_pylist()))
    assert found == expected
