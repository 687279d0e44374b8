from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import StructType

import frazil
from frazil.errors import InvalidArgumentError
from frazil.spark import read
from support.frames import load, rows, variant_free

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    Where = Callable[[str], str]

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"
NAMES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
NANOSECONDS = {"type_all_v3": "c12", "p_v3_bucket4_timestamp_ns": "v"}


@pytest.mark.parametrize("name", NAMES)
def test_rows_and_columns_are_those_of_to_arrow(spark: SparkSession, table: Where, name: str) -> None:
    expected = frazil.load_table(table(name)).scan().to_arrow()
    options = {"timestamp_ns_mode": "micros"} if name in NANOSECONDS else {}
    frame = load(spark, table(name), **options)
    assert frame.columns == expected.column_names
    assert [field.nullable for field in frame.schema] == [field.nullable for field in expected.schema]
    # Spark 4.1 cannot return NULL variants as Arrow.
    if "variant" in frame.schema.simpleString():
        found = sorted(repr(variant_free(row.asDict(recursive=True))) for row in frame.collect())
        assert found == sorted(repr(variant_free(row)) for row in expected.to_pylist())
        return
    for index, field in enumerate(expected.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            nanos = expected.column(index).cast(pa.int64()).to_pylist()
            micros = pa.array([None if value is None else value // 1000 for value in nanos], pa.int64())
            expected = expected.set_column(index, field.name, micros.cast(pa.timestamp("us", field.type.tz)))
    assert rows(frame.toArrow()) == rows(expected)


@pytest.mark.parametrize(("name", "column"), NANOSECONDS.items())
def test_a_type_that_spark_lacks_is_an_error_that_names_the_column(
    spark: SparkSession, table: Where, name: str, column: str
) -> None:
    with pytest.raises(AnalysisException) as caught:
        load(spark, table(name))
    assert "frazil.errors.UnsupportedError" in str(caught.value)
    assert f"`{column}`" in str(caught.value)
    others = [n for n in frazil.load_table(table(name)).scan().schema().names if n == "id"]
    assert load(spark, table(name), columns=",".join(others)).count() > 0


def test_columns_are_chosen_before_spark_sees_them(spark: SparkSession, table: Where) -> None:
    frame = load(spark, table("nested_parquet"), columns="id, ss.a.b", metadata_columns="_pos")
    assert frame.schema.simpleString() == "struct<id:int,ss:struct<a:struct<b:int>>,_pos:bigint>"
    assert frame.where("ss.a.b = 0").select("id").collect()[0].id == 10


def test_a_given_schema_chooses_columns_too(spark: SparkSession, table: Where) -> None:
    path = table("del_pos_file_parquet_part")
    frame = spark.read.format("frazil").schema("v int, _file string, id int").load(path)
    scan = frazil.load_table(path).scan(selected_fields=("id", "v", "_file"))
    assert frame.columns == ["v", "_file", "id"]
    assert rows(frame.select("id", "v", "_file").toArrow()) == rows(scan.to_arrow())
    with pytest.raises(AnalysisException, match="column `v` is int, not bigint"):
        spark.read.format("frazil").schema("v long").load(path).collect()


@pytest.mark.parametrize("options", [{}, {"inspect": "files"}, {"row-filter": "id > 9"}])
def test_an_empty_schema_keeps_the_rows(spark: SparkSession, table: Where, options: dict[str, str]) -> None:
    path = table("del_pos_file_parquet_part")
    frame = spark.read.format("frazil").options(**options)
    expected = frame.load(path).count()
    assert expected > 1
    assert frame.schema(StructType([])).load(path).count() == expected
    assert frame.schema(StructType([])).load(path).selectExpr("1 AS one").count() == expected


def test_an_empty_schema_keeps_the_merged_rows_of_paimon(spark: SparkSession, paimon_table: Where) -> None:
    path = paimon_table("cl_lookup_avro")
    frame = spark.read.format("frazil").schema(StructType([])).load(path)
    assert frame.count() == frazil.load_table(path).scan().count() > 0


def test_metadata_columns_are_those_of_the_scan(spark: SparkSession, table: Where) -> None:
    names = ("_file", "_pos", "_spec_id", "_partition", "_deleted", "_row_id", "_last_updated_sequence_number")
    path = table("dv_spark_parquet_part")
    frame = load(spark, path, metadata_columns=",".join(names))
    assert rows(frame.toArrow()) == rows(frazil.load_table(path).scan(selected_fields=("*", *names)).to_arrow())


def test_a_row_filter_is_applied_to_the_row(spark: SparkSession, table: Where) -> None:
    path = table("pevo_v2_three_specs")
    where = "id between 3 and 30 or id is null"
    expected = frazil.load_table(path).scan(where).to_arrow()
    assert 0 < expected.num_rows < frazil.load_table(path).scan().count()
    assert rows(load(spark, path, row_filter=where).toArrow()) == rows(expected)
    upper = load(spark, path, row_filter="ID between 3 and 30 or ID is null", case_sensitive="false")
    assert rows(upper.toArrow()) == rows(expected)
    assert load(spark, path, limit="7").count() == 7
    assert load(spark, path, limit="0").count() == 0


def test_each_snapshot_ref_and_time_can_be_read(spark: SparkSession, table: Where) -> None:
    opened = frazil.load_table(table("ref_branches_tags"))
    for snapshot in opened.snapshots():
        expected = rows(opened.scan(snapshot_id=snapshot.snapshot_id).to_arrow())
        ident = str(snapshot.snapshot_id)
        assert rows(load(spark, table("ref_branches_tags"), snapshot_id=ident).toArrow()) == expected
    for name, ref in opened.refs().items():
        expected = rows(opened.scan(ref=name).to_arrow())
        for option in ("ref", ref.type, "versionAsOf"):
            assert rows(load(spark, table("ref_branches_tags"), **{option: name}).toArrow()) == expected
    entry = opened.history()[-1]
    expected = rows(opened.scan(as_of=entry.timestamp_ms).to_arrow())
    moment = dt.datetime.fromtimestamp(entry.timestamp_ms / 1000, dt.UTC)
    for option in ({"as_of_timestamp": str(entry.timestamp_ms)}, {"timestampAsOf": moment.isoformat()}):
        assert rows(load(spark, table("ref_branches_tags"), **option).toArrow()) == expected


def test_appended_rows_between_snapshots(spark: SparkSession, table: Where) -> None:
    opened = frazil.load_table(table("inc_appends_only"))
    first, *_, last = (snapshot.snapshot_id for snapshot in opened.snapshots())
    expected = opened.incremental_append_scan(from_snapshot_id_exclusive=first, to_snapshot_id_inclusive=last)
    assert expected.count() > 0
    path = table("inc_appends_only")
    frame = load(spark, path, start_snapshot_id=str(first), end_snapshot_id=str(last))
    assert rows(frame.toArrow()) == rows(expected.to_arrow())
    assert load(spark, path, start_snapshot_id=str(first)).count() == expected.count()


def test_partitions_follow_the_sizes(spark: SparkSession, table: Where) -> None:
    path = table("fmt_mixed")
    whole, files = load(spark, path, file_open_cost="1"), load(spark, path, split_size="1", file_open_cost="1")
    assert whole.rdd.getNumPartitions() == 1
    assert files.rdd.getNumPartitions() > 10
    assert rows(files.toArrow()) == rows(whole.toArrow())
    small = load(spark, path, batch_size="1")
    assert rows(small.toArrow()) == rows(whole.toArrow())


def test_a_dataframe_stays_with_the_state_it_was_made_of(spark: SparkSession, table: Where, tmp_path: Path) -> None:
    path = tmp_path / "t"
    shutil.copytree(table("inc_appends_only"), path)
    metadata = path / "metadata"
    newest = Path(frazil.load_table(str(path)).metadata_location).name
    (metadata / "version-hint.text").unlink(missing_ok=True)
    (metadata / newest).rename(tmp_path / newest)
    before = frazil.load_table(str(path)).scan().count()
    frame = load(spark, str(path))
    (tmp_path / newest).rename(metadata / newest)
    assert frazil.load_table(str(path)).scan().count() > before
    assert frame.count() == before
    assert frame.unionAll(frame).count() == 2 * before
    assert load(spark, str(path)).count() > before


def test_relocations_are_json(spark: SparkSession, table: Where) -> None:
    path = table("del_pos_overlap")
    recorded = frazil.load_table(path).location
    frame = load(spark, path, relocate=json.dumps({recorded: path}))
    assert frame.count() == frazil.load_table(path).scan().count()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"snapshot_id": "7"}, "NoSuchSnapshotError"),
        ({"snapshot-id": "1", "tag": "x"}, "are mutually exclusive"),
        ({"sanpshot-id": "7"}, "did you mean `snapshot-id`?"),
        ({"relocate": "{"}, "option `relocate` is not valid JSON"),
        ({"columns": "nope"}, "no column `nope`"),
        ({"row-filter": "id >"}, "InvalidArgumentError"),
        ({"ref": "nope"}, "NoSuchSnapshotError"),
    ],
)
def test_a_mistake_is_an_error_of_frazil(
    spark: SparkSession, table: Where, options: dict[str, str], words: str
) -> None:
    with pytest.raises(AnalysisException) as caught:
        load(spark, table("del_pos_overlap"), **options)
    assert words in str(caught.value)


def test_no_table_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="NoSuchTableError"):
        load(spark, str(tmp_path))


def test_sql_reads_views(spark: SparkSession, table: Where) -> None:
    path = table("ref_branches_tags")
    opened = frazil.load_table(path)
    old = opened.snapshots()[0].snapshot_id
    spark.sql(f"create or replace temp view now using frazil options (path '{path}')")
    spark.sql(f"create or replace temp view old using frazil options (path '{path}', 'snapshot-id' '{old}')")
    counts = spark.sql("select (select count(*) from now), (select count(*) from old)").first()
    assert tuple(counts) == (opened.scan().count(), opened.scan(snapshot_id=old).count())


@pytest.fixture
def catalog(spark: SparkSession) -> Iterator[Callable[[str], object]]:
    """Run statements, and drop the table `t` afterwards."""
    yield spark.sql
    spark.sql("drop table if exists t")


def test_a_table_of_the_catalog_of_spark_is_read_as_it_is_now(
    spark: SparkSession, catalog: Callable[[str], object], tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.struct([("x", pa.int32())]))])
    opened = frazil.create_table(folder, schema)
    opened.append(pa.table({"id": [1], "s": [{"x": 5}]}, schema=schema))
    catalog(f"create table t using frazil location '{folder}' comment 'by id'")
    assert spark.sql("select id, s.x from t").collect() == [(1, 5)]
    opened.append(pa.table({"id": [2], "s": [None]}, schema=schema))
    assert spark.sql("select id from t where s is null").collect() == [(2,)]
    # Columns that are added later are not in the catalog's schema; removed columns are missing.
    opened.update_schema().add_column("new", "int").commit()
    assert spark.table("t").columns == ["id", "s"]
    assert spark.table("t").count() == 2
    opened.update_schema().delete_column("s").commit()
    with pytest.raises(AnalysisException, match="no column `s`"):
        spark.sql("select * from t").collect()


@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
def test_a_table_of_the_catalog_keeps_its_options(
    spark: SparkSession, table: Where, catalog: Callable[[str], object], kind: str
) -> None:
    if kind == "paimon":
        path = str(GOLDEN.parent / "paimon" / "g.db" / "cl_lookup_avro")
        chosen, expected = "'row-filter' 'false'", 0
    else:
        path = table("ref_branches_tags")
        opened = frazil.load_table(path)
        old = opened.snapshots()[0].snapshot_id
        chosen, expected = f"'snapshot-id' '{old}'", opened.scan(snapshot_id=old).count()
    catalog(f"create table t using frazil options (path '{path}', {chosen})")
    assert spark.table("t").count() == expected
    assert spark.sql("select count(*) from t a cross join t b").first()[0] == expected**2


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("create table t using frazil", "LOCATION"),
        ("create table t using frazil location '/nowhere/t'", "NoSuchTableError"),
        ("create table t using frazil options (path '{path}', `s3.secret-access-key` 'x')", "may be a secret"),
        ("create table t using frazil location '{path}' tblproperties ('colour' = 'red')", "unknown option `colour`"),
        (
            "create table t using frazil location '{path}' as select 1 as id",
            "the target table is unknown: Spark does not pass the name of its catalog's table to a Python data source",
        ),
    ],
)
def test_invalid_catalog_tables_are_not_created(
    spark: SparkSession, table: Where, catalog: Callable[[str], object], statement: str, message: str
) -> None:
    with pytest.raises(AnalysisException, match=message):
        catalog(statement.format(path=table("ref_branches_tags")))
    assert not spark.catalog.tableExists("t")


def test_a_table_of_the_catalog_is_not_written_since_spark_does_not_say_which(
    spark: SparkSession, table: Where, catalog: Callable[[str], object]
) -> None:
    path = table("ref_branches_tags")
    before = frazil.load_table(path).current_snapshot()
    catalog(f"create table t using frazil location '{path}'")
    for statement in ("insert into t select * from t", "insert overwrite t select * from t"):
        with pytest.raises(AnalysisException, match="TEMPORARY VIEW"):
            spark.sql(statement)
    with pytest.raises(AnalysisException, match="the target table is unknown"):
        spark.table("t").write.format("frazil").mode("append").save()
    assert frazil.load_table(path).current_snapshot() == before


def test_catalog_table_with_its_own_columns_is_rejected(spark: SparkSession, catalog: Callable[[str], object]) -> None:
    catalog("create table t (id bigint) using frazil")
    with pytest.raises(AnalysisException, match="the table is not specified"):
        spark.sql("select * from t").collect()


def test_read_takes_the_arguments_of_scan(spark: SparkSession, table: Where) -> None:
    path = table("ref_branches_tags")
    opened = frazil.load_table(path)
    old = opened.snapshots()[0]
    how: list[dict[str, Any]] = [
        {},
        {"row_filter": "id > 3", "selected_fields": ("id", "_pos")},
        {"row_filter": False},
        {"snapshot_id": old.snapshot_id},
        {"as_of": dt.datetime.fromtimestamp(opened.history()[-1].timestamp_ms / 1000 + 1, dt.UTC)},
        {"ref": "main", "row_filter": "ID > 3", "case_sensitive": False},
    ]
    for arguments in how:
        expected = rows(opened.scan(**arguments).to_arrow())
        assert rows(read(spark, path, **arguments).toArrow()) == expected
        assert rows(read(spark, opened, **arguments).toArrow()) == expected
    assert read(spark, path, limit=2).count() == 2
    assert read(spark, path, options={"split-size": "1", "file-open-cost": "1"}).rdd.getNumPartitions() > 1
    for wrong in ({"selected_fields": "id"}, {"row_filter": 3}):
        with pytest.raises(InvalidArgumentError):
            read(spark, path, **wrong)
