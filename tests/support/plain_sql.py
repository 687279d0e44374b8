"""A script of statements by `spark.sql`, for sessions of Classic and Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import frazil.spark
from frazil.errors import InvalidArgumentError
from frazil.sql._lexer import statements

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake


class BySparkSql:
    """A lake whose statements are run by `spark.sql`."""

    def __init__(self, spark: SparkSession, lake: Lake[DataFrame]) -> None:
        """Use a lake that is connected with `plain=True`."""
        self._spark, self._lake = spark, lake

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the lake."""
        return getattr(self._lake, name)

    def sql(self, *args: Any, **kwargs: Any) -> DataFrame:
        """Run a statement."""
        return self._spark.sql(*args, **kwargs)

    def script(self, text: str) -> list[DataFrame]:
        """Run the statements of a script."""
        return [self.sql(statement) for statement in statements(text)]


def rows(frame: DataFrame) -> list[list[Any]]:
    return sorted(map(list, frame.collect()))


def refusal(spark: SparkSession, statement: str, *args: Any, **kwargs: Any) -> str:
    try:
        spark.sql(statement, *args, **kwargs)
    except InvalidArgumentError as error:
        return str(error)
    return ""


CHANGES = """
UPDATE local.db.t SET name = 'u' WHERE id = 3;
DELETE FROM local.db.t WHERE id = 1;
ALTER TABLE local.db.t ADD COLUMN note STRING;
CALL local.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'));
CREATE TEMPORARY VIEW plain_view AS SELECT id, note FROM local.db.t
"""


def run(spark: SparkSession, warehouse: Path) -> dict[str, Any]:
    """Run the script; return its results as JSON values."""
    from pyspark.sql import functions

    session = type(spark)
    found: dict[str, Any] = {}
    with frazil.spark.connect(spark, {"local": {"type": "hadoop", "warehouse": str(warehouse)}}, plain=True) as lake:
        names = spark.range(1, 5).withColumn("name", functions.concat(functions.lit("n"), "id"))
        names.createOrReplaceTempView("plain_names")
        created = spark.sql("CREATE TABLE local.db.t (id BIGINT, name STRING) USING iceberg")
        found["created"] = [created.columns, created.collect()]
        spark.sql("INSERT INTO local.db.t SELECT id, name FROM {frame} WHERE id < {limit}", frame=names, limit=3)
        spark.sql("INSERT INTO local.db.t VALUES (:id, :name), (4, '{'), (5, NULL)", {"id": 3, "name": "it's {x}"})
        first = lake.table("local.db.t").snapshots()[0].snapshot_id
        for statement in CHANGES.split(";"):
            last = spark.sql(statement)
        found |= {
            "view_is_empty": last.collect() == [],
            "view": rows(spark.sql("SELECT id FROM plain_view")),
            "old": rows(spark.sql("SELECT * FROM local.db.t VERSION AS OF {snapshot}", snapshot=first)),
            "joined": rows(
                spark.sql(
                    "SELECT t.id, v.name, t.name FROM local.db.t JOIN plain_names v USING (id) WHERE t.id > ?", [2]
                )
            ),
            "placeholders": rows(
                spark.sql(
                    "SELECT {frame}.id, {frame}.name, '{{}}' FROM {frame} JOIN local.db.t ON {column} = {frame}.id"
                    " WHERE {frame}.id > :id AND t.name = {text}",
                    {"id": 2},
                    frame=names,
                    column=functions.col("t.id"),
                    text="u",
                )
            ),
            "shown": rows(spark.sql("SHOW TABLES IN local.db")),
            "described": rows(spark.sql("DESCRIBE local.db.t")),
            "args": refusal(spark, "ALTER TABLE local.db.t DROP COLUMN note", [1]),
            "frames": refusal(spark, "ALTER TABLE local.db.t RENAME COLUMN note TO {frame}", frame=names),
            "syntax": refusal(spark, "ALTER TABLE local.db.t NO"),
        }
        spark.sql("DELETE FROM local.db.t WHERE id IN (SELECT id FROM {frame})", frame=spark.range(5, 6))
        found["left"] = rows(spark.sql("SELECT id FROM local.db.t"))
        spark.sql("USE local.db")
        found["current"] = spark.sql("SELECT count(*) FROM t JOIN {frame} USING (id)", frame=names).collect()[0][0]
        spark.sql("CREATE TABLE copy AS SELECT * FROM {frame}", frame=names)
        found["copy"] = spark.sql("SELECT count(*) FROM copy").collect()[0][0]
        spark.sql("USE spark_catalog")
        found["of_spark"] = rows(spark.sql("SELECT {frame[id]} + :id FROM {frame}", {"id": 1}, frame=names))
        found["same"] = [
            session.builder.getOrCreate() is spark,
            session.getActiveSession() is spark,
            names.sparkSession is spark,
        ]
    found["restored"] = "sql" not in vars(spark)
    spark.catalog.dropTempView("plain_view")
    spark.catalog.dropTempView("plain_names")
    return found


def check(found: dict[str, Any]) -> None:
    """Compare the results of the script."""
    assert found["created"] == [[], []]
    assert found["view_is_empty"]
    assert found["view"] == [[2], [3], [4], [5]]
    assert found["old"] == [[1, "n1"], [2, "n2"]]
    assert found["joined"] == [[3, "n3", "u"], [4, "n4", "{"]]
    assert found["placeholders"] == [[3, "n3", "{}"]]
    assert found["shown"] == [["db", "t", False]]
    assert found["described"] == [["id", "bigint", ""], ["name", "string", ""], ["note", "string", ""]]
    assert found["args"] == (
        "args are not supported for ALTER on objects of this lake; "
        "use placeholders such as {name}, or include the values in the statement"
    )
    assert found["frames"].startswith("DataFrames are not supported for ALTER on objects of this lake; only queries")
    assert found["syntax"].startswith("syntax error")
    assert found["left"] == [[2], [3], [4]]
    assert found["current"] == 3
    assert found["copy"] == 4
    assert found["of_spark"] == [[2], [3], [4], [5]]
    assert found["same"] == [True, True, True]
    assert found["restored"]
