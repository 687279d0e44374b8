"""Tests of writes by `df.write.format("frazil")` and by SQL."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from frazil.errors import NoSuchTableError
from frazil.spark._writer import FrazilWriter
from support.frames import rows
from support.spark_tables import data, files, frame, listed, make

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def save(content: DataFrame, folder: Path, mode: str = "append", **options: str) -> None:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    content.write.format("frazil").mode(mode).options(**named).save(str(folder))


def test_modes_are_those_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "spark"
    table, twin = make(folder, "bucketed"), make(tmp_path / "local", "bucketed")
    first, second, third = data(0, 50), data(100, 2), data(30, 5)
    save(frame(spark, first), folder, snapshot_property__who="me", write_format="avro", target_file_size_bytes="1000")
    twin.append(first)
    assert table.refresh().current_snapshot().summary["who"] == "me"  # type: ignore[union-attr]
    assert {path.rpartition(".")[2] for path in files(folder)} == {"avro"}
    save(frame(spark, second), folder, "overwrite", overwrite_mode="dynamic")
    twin.dynamic_partition_overwrite(second)
    assert rows(table.refresh().scan().to_arrow()) == rows(twin.scan().to_arrow())
    save(frame(spark, third), folder, "overwrite")
    assert rows(table.refresh().scan().to_arrow()) == rows(third)
    assert files(folder) == listed(table.refresh(), folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colour": "red"}, "unknown option `colour`"),
        ({"row_filter": "id > 1"}, "option `row-filter` applies only to reads"),
        ({"overwrite_mode": "odd"}, "expected static or dynamic"),
        ({"target_file_size_bytes": "0"}, "a number from 1"),
        ({"distribution_mode": "hash"}, "use `frazil.spark.write`"),
        ({"mergeSchema": "true"}, "unknown option `mergeschema`"),
        ({"branch": "nowhere"}, "nowhere"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    make(tmp_path / "t")
    with pytest.raises(Exception, match=message):
        save(frame(spark, data(0, 3)), tmp_path / "t", **options)
    assert files(tmp_path / "t") == []


def test_a_column_that_does_not_fit_is_named(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "t")
    with pytest.raises(Exception, match="colour"):
        save(spark.sql("select 1L id, 'a' colour"), tmp_path / "t")


def test_a_table_that_is_gone_at_the_commit_keeps_no_files(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    make(folder, "bucketed")
    columns = [("id", LongType()), ("x", DoubleType()), ("c", StringType())]
    schema = StructType([StructField(name, data_type) for name, data_type in columns])
    writer = FrazilWriter({"path": str(folder)}, schema, overwrite=False)
    message = writer.write(iter(data(0, 10).select(["id", "x", "c"]).to_batches()))
    assert files(folder)
    shutil.move(folder / "metadata", tmp_path / "away")
    with pytest.raises(NoSuchTableError):
        writer.commit([message])
    assert files(folder) == []


def test_sql_inserts_into_a_view(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make(folder, "bucketed")

    def view(name: str, **options: Any) -> None:
        texts = "".join(f", '{option.replace('_', '-')}' '{value}'" for option, value in options.items())
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} USING frazil OPTIONS (path '{folder}'{texts})")

    view("whole")
    view("parts", overwrite_mode="dynamic")
    values = "SELECT id, timestamp_ntz'2024-02-29 00:00:00', double(id), string(id) FROM range({}, {})"
    spark.sql("INSERT INTO whole " + values.format(0, 20))
    assert table.refresh().scan().count() == 20
    spark.sql("INSERT OVERWRITE parts " + values.format(20, 21))
    partial = table.refresh().scan().count()
    assert 1 < partial < 20
    spark.sql("INSERT OVERWRITE whole " + values.format(30, 33))
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [30, 31, 32]
    # A view refers to the state of the table at its creation; a new view sees the rows.
    view("whole")
    assert spark.sql("SELECT count(*) FROM whole").collect()[0][0] == 3
