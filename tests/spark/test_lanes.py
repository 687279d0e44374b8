"""Tests of data files that Spark reads itself: the same rows, and only if its results are correct."""

from __future__ import annotations

import datetime as dt
import decimal
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.spark import read
from frazil.spark._lane_pruning import pruning
from frazil.spark._lanes import _PATH, _fits, native_files
from support.frames import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    Where = Callable[[str], str]

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"
NANOSECONDS = ("type_all_v3", "p_v3_bucket4_timestamp_ns")
NAMES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir() and path.name not in NANOSECONDS)

COLUMNS = {
    "b": (pa.bool_(), [True, None]),
    "i": (pa.int32(), [-1, None]),
    "l": (pa.int64(), [1 << 62, None]),
    "f": (pa.float32(), [float("nan"), None]),
    "d": (pa.float64(), [-0.0, None]),
    "day": (pa.date32(), [dt.date(1200, 3, 1), None]),
    "s": (pa.string(), ["é", None]),
    "bin": (pa.binary(), [b"\xff", None]),
    "t": (pa.timestamp("us"), [-24_000_000_000_000_001, None]),
    "tz": (pa.timestamp("us", "UTC"), [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), None]),
    "n": (pa.decimal128(9, 2), [decimal.Decimal("1.25"), None]),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Where:
    """Return the paths of copies of golden tables, because Spark reads no files whose path has a space."""
    top = tmp_path_factory.mktemp("tables")

    def copied(name: str) -> str:
        if not (top / name).exists():
            shutil.copytree(GOLDEN / name, top / name)
        return str(top / name)

    return copied


def fields(types: dict[str, pa.DataType], first: int = 1) -> pa.Schema:
    ids = range(first, first + len(types))
    pairs = zip(ids, types.items(), strict=True)
    return pa.schema([pa.field(name, of, metadata={"PARQUET:field_id": str(number)}) for number, (name, of) in pairs])


def written(path: Path, schema: pa.Schema, values: list[list[Any]], **options: Any) -> pq.FileMetaData:
    arrays = [pa.array(column, of) for column, of in zip(values, schema.types, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, **options)
    return pq.read_metadata(path)


def parquet_scans(frame: DataFrame) -> tuple[bool, bool]:
    """Return whether Spark's own reader is used, and whether frazil's reader is.

    Node names are searched, because the plan contains paths too.
    """
    plan = frame._jdf.queryExecution().executedPlan().toString()
    nodes = set(re.findall(r"\b(?:FileScan|BatchScan) \w+", plan))
    assert nodes <= {"FileScan parquet", "BatchScan frazil"}, plan
    return "FileScan parquet" in nodes, "BatchScan frazil" in nodes


@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", NAMES)
def test_every_lane_gives_the_same_rows(spark: SparkSession, table: Where, name: str) -> None:
    expected = read(spark, table(name), read_lane="arrow")
    if "variant" in expected.schema.simpleString():
        return
    assert read(spark, table(name)).schema == expected.schema
    frame = read(spark, table(name), read_lane="native")
    assert [(f.name, f.dataType) for f in frame.schema] == [(f.name, f.dataType) for f in expected.schema]
    assert rows(frame.toArrow()) == rows(frazil.load_table(table(name)).scan().to_arrow())


def test_every_type_that_is_left_to_spark_is_right(spark: SparkSession, tmp_path: Path) -> None:
    schema = fields({name: of for name, (of, _) in COLUMNS.items()})
    footer = written(tmp_path / "a.parquet", schema, [values for _, values in COLUMNS.values()])
    assert _fits(footer, schema)
    from frazil.spark._lanes import NativeFiles
    from frazil.spark._type_conversion import spark_schema

    files = NativeFiles.__new__(NativeFiles)
    files.paths = [str(tmp_path / "a.parquet")]
    files.pruning = pruning(footer, schema)
    frame = files.frame(spark, spark_schema(schema, "error"), {})
    assert rows(frame.toArrow()) == rows(pq.read_table(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ({"a": pa.int32()}, {"a": pa.int64()}),
        ({"a": pa.uint32()}, {"a": pa.int32()}),
        ({"a": pa.int16()}, {"a": pa.int32()}),
        ({"a": pa.float32()}, {"a": pa.float64()}),
        ({"b": pa.int32()}, {"a": pa.int32()}),
        ({"A": pa.int32()}, {"a": pa.int32()}),
        ({"a": pa.int32(), "A": pa.int32()}, {"a": pa.int32()}),
        ({"a": pa.binary()}, {"a": pa.string()}),
        ({"a": pa.timestamp("ms")}, {"a": pa.timestamp("us")}),
        ({"a": pa.timestamp("us")}, {"a": pa.timestamp("us", "UTC")}),
        ({"a": pa.timestamp("ns")}, {"a": pa.timestamp("us")}),
        ({"a": pa.decimal128(9, 2)}, {"a": pa.decimal128(10, 2)}),
        ({"a": pa.decimal128(9, 2)}, {"a": pa.decimal128(9, 3)}),
        ({"a": pa.list_(pa.int32())}, {"a": pa.list_(pa.int32())}),
        ({"a": pa.struct([("x", pa.int32())])}, {"a": pa.struct([("x", pa.int32())])}),
        ({"a": pa.binary(4)}, {"a": pa.binary(4)}),
        ({"a": pa.time64("us")}, {"a": pa.time64("us")}),
        ({"a": pa.int32()}, {"a": pa.int32(), "b": pa.int32()}),
    ],
)
def test_files_with_different_stored_types_are_read_by_frazil(
    tmp_path: Path, stored: dict[str, pa.DataType], wanted: dict[str, pa.DataType]
) -> None:
    footer = written(tmp_path / "a.parquet", fields(stored), [[None]] * len(stored))
    assert not _fits(footer, fields(wanted))


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "brotli"},
        {"use_deprecated_int96_timestamps": True},
        {"use_dictionary": False, "column_encoding": {"x": "BYTE_STREAM_SPLIT"}},
    ],
)
def test_encodings_that_spark_may_not_read_are_read_by_frazil(tmp_path: Path, options: dict[str, Any]) -> None:
    schema = fields({"t": pa.timestamp("us", "UTC"), "x": pa.float64()})
    values = [[dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], [1.5]]
    assert _fits(written(tmp_path / "a.parquet", schema, values), schema)
    assert not _fits(written(tmp_path / "b.parquet", schema, values, **options), schema)


def test_field_ids_and_calendars_of_files_are_checked(tmp_path: Path) -> None:
    schema = fields({"a": pa.int32()})
    assert not _fits(written(tmp_path / "a.parquet", fields({"a": pa.int32()}, first=2), [[1]]), schema)
    assert not _fits(written(tmp_path / "b.parquet", pa.schema([("a", pa.int32())]), [[1]]), schema)
    for metadata, fits in [
        ({"org.apache.spark.version": "3.5.1"}, True),
        ({"org.apache.spark.version": "2.4.8"}, False),
        ({"org.apache.spark.version": "3.5.1", "org.apache.spark.legacyDateTime": ""}, False),
    ]:
        footer = written(tmp_path / "c.parquet", schema.with_metadata(metadata), [[1]])
        assert _fits(footer, schema) == fits


@pytest.mark.parametrize("path", ["/a/_b/c.parquet", "/a/.b", "/a/b*", "/a/b[1]", "/a/b c", "/a/b%20", "/a/{b}", "a/b"])
def test_paths_that_spark_takes_for_others_are_read_by_frazil(path: str) -> None:
    assert not _PATH.fullmatch(path)
    assert _PATH.fullmatch("/a/day=2020-01-01/00000-1-x.parquet")


def test_files_with_deletes_are_read_by_frazil_and_the_others_by_spark(spark: SparkSession, table: Where) -> None:
    path = table("dv_spark_parquet_part")
    files = native_files(frazil.load_table(path).scan(), nullable=False)
    assert files is not None
    assert (len(files.paths), files.are_all) == (4, False)
    assert parquet_scans(read(spark, path)) == (True, True)
    assert parquet_scans(read(spark, path, read_lane="arrow")) == (False, True)
    assert parquet_scans(read(spark, path, limit=3)) == (False, True)
    assert parquet_scans(read(spark, path, selected_fields=("*", "_pos"))) == (False, True)
    assert parquet_scans(read(spark, table("evo_reorder"))) == (True, False)


def test_a_filter_leaves_to_spark_only_files_of_which_every_row_matches(spark: SparkSession, table: Where) -> None:
    path = table("dv_spark_parquet_part")
    for text in ("id > 4", "c = 'a'", "id < 0"):
        found = read(spark, path, text)
        assert rows(found.toArrow()) == rows(frazil.load_table(path).scan(text).to_arrow())


def test_a_choice_of_files_is_good_for_its_plan_only(spark: SparkSession, table: Where) -> None:
    files = native_files(frazil.load_table(table("dv_spark_parquet_part")).scan(), nullable=False)
    assert files is not None
    other = spark.read.format("frazil").option("native-files", files.option()).load(table("inc_mor"))
    with pytest.raises(Exception, match="from another plan"):
        other.collect()


def test_the_way_in_which_spark_lists_files_is_restored(spark: SparkSession, table: Where) -> None:
    before = spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold")
    read(spark, table("evo_reorder"))
    assert spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold") == before
