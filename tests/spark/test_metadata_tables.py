"""Tests that metadata tables in the data source have the same rows as `table.inspect`."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest

import frazil
from frazil import paimon
from frazil.iceberg import Inspect
from frazil.spark import read
from support.canonical import canonical_rows, lines
from support.cases import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

NAME = "pevo_v2_three_specs"
PAIMON = "tags_pk"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", Inspect.names())
def test_spark_metadata_tables_match_python(spark: SparkSession, table: Callable[[str], str], name: str) -> None:
    found = spark.read.format("frazil").load(f"{table(NAME)}${name}").toArrow()
    expected = frazil.load_table(table(NAME)).inspect[name].scan().to_arrow()
    assert found.column_names == expected.column_names
    assert lines(canonical_rows(found)) == lines(canonical_rows(expected))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in paimon.Inspect.names() if name != "row_tracking"])
def test_spark_shows_the_system_tables_that_python_shows(
    spark: SparkSession, paimon_table: Callable[[str], str], name: str
) -> None:
    expected = frazil.load_table(paimon_table(PAIMON)).inspect[name].scan().to_arrow()
    found = spark.read.format("frazil").option("inspect", name).load(paimon_table(PAIMON)).toArrow()
    assert found.column_names == expected.column_names
    assert lines(canonical_rows(found)) == lines(canonical_rows(expected))


# Columns of UUIDs, times of day and nanoseconds, which have other types in Spark: `test_types.py`.
OF_OTHER_TYPES = {
    "evo_defaults_orc",
    "evo_defaults_parquet",
    "hive_time",
    "negative_time",
    "old_1_4_2_append_types",
    "p_v3_bucket4_timestamp_ns",
    "pk_multi_key",
    "pk_types_avro_b1",
    "type_all_v3",
}


def sample(count: int) -> list[tuple[str, str]]:
    """Return a deterministic sample of golden tables with the names of their metadata tables."""
    iceberg = {folder.parent for folder in (GOLDEN / "iceberg").glob("*/metadata")}
    system = {folder.parent for folder in (GOLDEN / "paimon").glob("*.db/*/schema")}
    choices = random.Random(32)  # noqa: S311 - no secret
    found = []
    for folders, names in ((iceberg, Inspect.names()), (system, sorted({*paimon.Inspect.names()} - {"row_tracking"}))):
        tables = sorted(str(folder.relative_to(GOLDEN)) for folder in folders if folder.name not in OF_OTHER_TYPES)
        in_turns = itertools.cycle(choices.sample(names, len(names)))
        found += list(zip(choices.sample(tables, count // 2), in_turns, strict=False))
    return found


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("place", "name"), sample(40))
def test_metadata_tables_have_the_same_schema_and_rows_in_spark(spark: SparkSession, place: str, name: str) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    expected = frazil.load_table(str(GOLDEN / place)).inspect[name].scan().to_arrow()
    frame = spark.read.format("frazil").load(f"{GOLDEN / place}${name}")
    assert frame.schema == from_arrow_schema(expected.schema, prefer_timestamp_ntz=True)
    assert lines(canonical_rows(frame.toArrow())) == lines(canonical_rows(expected))


def test_spark_reads_row_ids_and_changes(spark: SparkSession, paimon_table: Callable[[str], str]) -> None:
    place = paimon_table("row_tracking_compacted")
    expected = frazil.load_table(place).inspect.row_tracking()
    for frame in (
        spark.read.format("frazil").load(f"{place}$row_tracking"),
        read(spark, frazil.load_table(place).row_tracking()),
    ):
        assert lines(canonical_rows(frame.toArrow())) == lines(canonical_rows(expected))
    place = paimon_table("cl_lookup_avro")
    options = {"incremental-between": "0,6", "incremental-between-scan-mode": "changelog"}
    found = spark.read.format("frazil").options(**options).load(f"{place}$binlog").toArrow()
    binlog = frazil.load_table(place).binlog().scan(options=options).to_arrow()
    assert lines(canonical_rows(found)) == lines(canonical_rows(binlog))


def test_options_choose_snapshot_rows_and_columns(spark: SparkSession, table: Callable[[str], str]) -> None:
    opened = frazil.load_table(table(NAME))
    first = opened.snapshots()[0].snapshot_id
    frame = (
        spark.read.format("frazil")
        .option("inspect", "files")
        .option("snapshot-id", str(first))
        .option("row-filter", "record_count > 2")
        .option("columns", "file_path, record_count")
        .load(table(NAME))
    )
    expected = opened.inspect.files(first, row_filter="record_count > 2", selected_fields=["file_path", "record_count"])
    assert sorted(map(tuple, frame.collect())) == sorted(tuple(row.values()) for row in expected.to_pylist())
    assert frame.where("record_count > 1000").count() == 0


def test_wrong_names_are_refused(spark: SparkSession, table: Callable[[str], str]) -> None:
    with pytest.raises(Exception, match="unknown metadata table `file`"):
        spark.read.format("frazil").option("inspect", "file").load(table(NAME)).printSchema()
    with pytest.raises(Exception, match="` does not support a snapshot selection"):
        spark.read.format("frazil").option("snapshot-id", "1").load(f"{table(NAME)}$refs").printSchema()
