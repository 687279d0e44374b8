from __future__ import annotations

import datetime as dt
import json
import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import datasource as ds

import frazil
import frazil.paimon
from frazil.errors import InvalidArgumentError, NoSuchSnapshotError, NoSuchTableError
from frazil.spark import read
from frazil.spark._char import char_lengths
from frazil.spark._source import FrazilDataSource
from support.frames import load, plain, rows, variant_free

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Where = Callable[[str], str]

# Keys, types, deletion vectors, aggregation, changed schemas, columns in separate files, quoted names.
NAMES = [
    "Table-with.name é",
    "agg_collect",
    "append_dv_orc",
    "append_empty",
    "append_types_avro",
    "append_variant",
    "branch_fallback",
    "cast_string_to_char_3",
    "data_evolution",
    "evo_collection_types",
    "pk_types_orc_b4",
    "pk_types_parquet_b4",
    "pu_seq_groups",
]
SMALL = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}


def shipped(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - as Spark does


def source(path: str, **options: str) -> Any:
    return FrazilDataSource({"path": path} | {name.replace("_", "-"): value for name, value in options.items()})


def read_alone(made: FrazilDataSource, schema: Any = None) -> list[dict[str, Any]]:
    """Read as Spark does, with a separate pickle for each step, but without Spark."""
    reader = shipped(made).reader(schema or made.schema())
    there = shipped(reader)
    parts = shipped(reader.partitions())
    return [row for part in parts for batch in there.read(part) for row in batch.to_pylist()]


def listed(found: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(plain(row)) for row in found)


@pytest.mark.parametrize("name", NAMES)
def test_rows_and_columns_are_those_of_to_arrow(spark: SparkSession, paimon_table: Where, name: str) -> None:
    path = paimon_table(name)
    scan = frazil.load_table(path).scan()
    nanoseconds = {field.name for field in scan.schema() if "[ns" in str(field.type)}
    chosen = [field.name for field in scan.schema() if field.name not in nanoseconds]
    frame = read(spark, path, selected_fields=chosen)
    expected = frazil.load_table(path).scan(selected_fields=chosen).to_arrow()
    for column, length in char_lengths(frazil.load_table(path)).items():
        # Spark pads values of CHAR columns.
        if column in chosen:
            place, field = chosen.index(column), expected.schema.field(column)
            expected = expected.set_column(place, field, pc.utf8_rpad(expected[column], length))
    assert frame.columns == expected.column_names
    assert [field.nullable for field in frame.schema] == [field.nullable for field in expected.schema]
    if "variant" in frame.schema.simpleString():
        # Spark 4.1 cannot return NULL variants as Arrow.
        found = sorted(repr(variant_free(row.asDict(recursive=True))) for row in frame.collect())
        assert found == sorted(repr(variant_free(row)) for row in expected.to_pylist())
        return
    assert rows(frame.toArrow()) == rows(expected)
    if nanoseconds:
        with pytest.raises(AnalysisException, match=f"`{min(nanoseconds)}`|`{max(nanoseconds)}`"):
            load(spark, path)


def test_each_state_can_be_read(spark: SparkSession, paimon_table: Where) -> None:
    path = paimon_table("tags_pk")
    table = frazil.load_table(path)
    assert isinstance(table, frazil.paimon.Table)
    for name, tag in table.tags().items():
        expected = rows(table.scan(ref=name).to_arrow())
        # Most of these snapshots have expired, but the tags keep them.
        for option in ("tag", "ref", "versionAsOf", "scan.tag-name", "scan.version"):
            assert listed(read_alone(source(path, **{option: name}))) == expected, (name, option, tag)
    newest = table.snapshots()[-1]
    expected = rows(table.scan(snapshot_id=newest.snapshot_id).to_arrow())
    for option in ("snapshot-id", "versionAsOf", "scan.snapshot-id", "scan.version"):
        assert listed(read_alone(source(path, **{option: str(newest.snapshot_id)}))) == expected
    moment = newest.committed_at.isoformat()
    times = {"as-of-timestamp": newest.timestamp_ms, "scan.timestamp-millis": newest.timestamp_ms}
    for option, time in (times | {"timestampAsOf": moment, "scan.timestamp": moment}).items():
        assert listed(read_alone(source(path, **{option: str(time)}))) == expected
    assert rows(load(spark, path, **{"scan.snapshot-id": str(newest.snapshot_id)}).toArrow()) == expected


def test_each_branch_can_be_read(spark: SparkSession, paimon_table: Where) -> None:
    path = paimon_table("branches_pk")
    table = frazil.load_table(path, format="paimon")
    for name in (*table.branches(), "main"):
        expected = rows(table.scan(ref=name).to_arrow())
        for option in ("branch", "ref"):
            assert listed(read_alone(source(path, **{option: name}))) == expected
        for snapshot in table.with_branch(name).snapshots():
            ident = snapshot.snapshot_id
            expected = rows(table.with_branch(name).scan(snapshot_id=ident).to_arrow())
            assert listed(read_alone(source(path, branch=name, snapshot_id=str(ident)))) == expected
    branch = table.with_branch("fromtag")
    assert rows(read(spark, branch).toArrow()) == rows(branch.scan().to_arrow()) != rows(table.scan().to_arrow())


@pytest.mark.parametrize("mode", ["delta", "changelog", "diff"])
def test_changes_between_snapshots_have_their_kinds(spark: SparkSession, paimon_table: Where, mode: str) -> None:
    path = paimon_table("cl_input_parquet")
    options = {"incremental-between": "1,5", "incremental-between-scan-mode": mode}
    expected = frazil.load_table(path, format="paimon").scan(selected_fields=("*", "_ROW_KIND"), options=options)
    assert expected.count() > 0
    frame = load(spark, path, metadata_columns="_ROW_KIND", **options)
    assert rows(frame.toArrow()) == rows(expected.to_arrow())
    given = spark.read.format("frazil").options(**options).schema("_ROW_KIND string not null, k int not null")
    assert given.load(path).columns == ["_ROW_KIND", "k"]
    assert given.load(path).count() == expected.count()


def test_partitions_follow_the_sizes(spark: SparkSession, paimon_table: Where) -> None:
    path = paimon_table("pk_types_parquet_b4")
    columns = {"columns": "k, f_i8, f_time, f_ts3"}
    whole, buckets = load(spark, path, **columns), load(spark, path, **columns, **SMALL)
    assert whole.rdd.getNumPartitions() == 1
    # Files of a bucket whose keys overlap are merged, and therefore read together.
    assert 1 < buckets.rdd.getNumPartitions() <= len(list(frazil.load_table(path).scan().plan_files()))
    assert rows(buckets.toArrow()) == rows(whole.toArrow())
    files = load(spark, paimon_table("append_types_orc"), columns="id", split_size="1", file_open_cost="1")
    assert files.rdd.getNumPartitions() > 1


def test_a_filter_a_limit_and_columns_are_kept(spark: SparkSession, paimon_table: Where) -> None:
    path = paimon_table("pk_types_parquet_b4")
    table = frazil.load_table(path)
    where = "k between 3 and 20 or f_bool"
    expected = table.scan(where, ("k", "f_str")).to_arrow()
    assert 0 < expected.num_rows < table.scan().count()
    assert rows(read(spark, table, where, ("k", "f_str")).toArrow()) == rows(expected)
    assert read(spark, path, selected_fields=["k"], limit=7, options=SMALL).count() == 7
    assert len(read_alone(source(path, columns="k", limit="7", **SMALL))) == 7


def test_names_may_be_written_in_another_case(paimon_table: Where) -> None:
    path = paimon_table("tags_pk")
    expected = frazil.load_table(path).scan("k > 3", ("k", "s")).to_arrow()
    given = {"columns": "K, S", "case-sensitive": "false"}
    assert len(read_alone(source(path, **given))) > expected.num_rows > 0
    assert len(read_alone(source(path, row_filter="K > 3", **given))) == expected.num_rows


def test_a_limit_is_kept_where_splits_are_of_two_branches(paimon_table: Where) -> None:
    path = paimon_table("branch_fallback")
    assert len(read_alone(source(path))) > 3
    assert len(source(path).reader(source(path).schema()).partitions()) > 1
    assert len(read_alone(source(path, limit="3"))) == 3


def test_filters_columns_and_limits_can_be_pushed(paimon_table: Where) -> None:
    path = paimon_table("pk_types_parquet_b4")
    made = source(path, columns="k, f_str, f_i8", pushdown="true", **SMALL)
    reader = made.reader(made.schema())
    reader.pushFilters([ds.GreaterThan(("k",), 20), ds.EqualTo(("nope",), 1)])
    found = [row["k"] for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    expected = frazil.load_table(path).scan("k > 20").to_arrow()["k"].to_pylist()
    assert sorted(found) == sorted(expected)
    assert reader.pushLimit(2) is True
    assert sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part)) == 2


def copied(path: str, folder: Path) -> Path:
    shutil.copytree(path, folder)
    for hint in ("LATEST", "EARLIEST"):
        (folder / "snapshot" / hint).unlink(missing_ok=True)
    return folder


def newest_away(folder: Path) -> Callable[[], None]:
    """Undo the last two commits; return a function that restores them."""
    snapshots = sorted((folder / "snapshot").iterdir(), key=lambda path: int(path.name.removeprefix("snapshot-")))
    moved = [(path.rename(folder.parent / path.name), path) for path in snapshots[-2:]]

    def commit_again() -> None:
        for away, place in moved:
            away.rename(place)

    return commit_again


def test_a_dataframe_stays_with_the_state_it_was_made_of(
    spark: SparkSession, paimon_table: Where, tmp_path: Path
) -> None:
    path = copied(paimon_table("cl_none_parquet"), tmp_path / "t")
    commit_again = newest_away(path)
    before = rows(frazil.load_table(path).scan().to_arrow())
    frame = load(spark, str(path))
    commit_again()
    assert rows(frazil.load_table(path).scan().to_arrow()) != before
    assert rows(frame.toArrow()) == before
    assert frame.unionAll(frame).count() == 2 * len(before)


def test_a_schema_that_is_newer_than_the_snapshot_is_the_one_that_is_read(paimon_table: Where, tmp_path: Path) -> None:
    path = copied(paimon_table("cl_none_parquet"), tmp_path / "t")
    commit_again = newest_away(path)
    schema = json.loads((path / "schema" / "schema-0").read_text())
    schema["fields"].append({"id": schema["highestFieldId"] + 1, "name": "new", "type": "INT"})
    schema |= {"id": 1, "highestFieldId": schema["highestFieldId"] + 1}
    (path / "schema" / "schema-1").write_text(json.dumps(schema))
    made = source(str(path))
    assert made.schema().names[-1] == "new"
    assert {row["new"] for row in read_alone(made)} == {None}
    commit_again()
    # With the id of a snapshot, its own schema would be used.
    with pytest.raises(NoSuchSnapshotError, match="create the DataFrame again"):
        made.reader(made.schema()).partitions()


def test_a_table_without_a_snapshot_stays_without_rows(paimon_table: Where, tmp_path: Path) -> None:
    path = copied(paimon_table("pk_rowkinds"), tmp_path / "t")
    snapshots = path / "snapshot"
    snapshots.rename(tmp_path / "away")
    made = source(str(path))
    (tmp_path / "away").rename(snapshots)
    assert read_alone(made) == []
    assert len(read_alone(source(str(path)))) > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "nope"}, "unknown column `nope`"),
        ({"row-filter": "nope = 1"}, "`nope`"),
        ({"scan.snapshotid": "7"}, "did you mean `scan.snapshot-id`?"),
        ({"start-snapshot-id": "1"}, "unknown option `start-snapshot-id`"),
        ({"scan.snapshot-id": "77"}, "NoSuchSnapshotError"),
        ({"tag": "nope"}, "NoSuchSnapshotError"),
        ({"branch": "nope"}, "NoSuchSnapshotError"),
        ({"scan.mode": "from-snapshot"}, "InvalidArgumentError"),
        ({"incremental-between": "1"}, "InvalidArgumentError"),
        ({"source.split.target-size": "1 parsec"}, "InvalidArgumentError"),
        ({"read.stream.maxFilesPerTrigger": "1"}, "streaming reads are not supported"),
        ({"format": "delta"}, "unknown table format 'delta'"),
        ({"format": "iceberg"}, "NoSuchTableError"),
    ],
)
def test_a_mistake_is_an_error_of_frazil(paimon_table: Where, options: dict[str, str], words: str) -> None:
    with pytest.raises(frazil.FrazilError) as caught:
        source(paimon_table("tags_pk"), **options).schema()
    assert words in f"{caught.value.kind}: {caught.value}"


def test_a_mistake_reaches_the_user_of_spark(spark: SparkSession, paimon_table: Where) -> None:
    with pytest.raises(AnalysisException, match=r"unknown option `scan\.snapshotid`"):
        load(spark, paimon_table("tags_pk"), **{"scan.snapshotid": "7"})


def test_the_format_is_found_or_given(paimon_table: Where, tmp_path: Path) -> None:
    assert len(read_alone(source(paimon_table("tags_pk"), format="paimon"))) > 0
    with pytest.raises(NoSuchTableError):
        source(str(tmp_path))
    with pytest.raises(NoSuchTableError):
        source(str(tmp_path), format="paimon")


def test_read_takes_the_arguments_of_scan(spark: SparkSession, paimon_table: Where) -> None:
    path = paimon_table("cl_input_parquet")
    table = frazil.load_table(path, format="paimon", relocate={"/nowhere": "/else"})
    snapshot = table.snapshots()[1]
    moment = snapshot.committed_at + dt.timedelta(milliseconds=1)
    between = {"incremental-between": "1,5", "incremental-between-scan-mode": "delta"}
    how: list[dict[str, Any]] = [
        {},
        {"row_filter": False},
        {"row_filter": "k > 1", "selected_fields": ("v", "_SEQUENCE_NUMBER")},
        {"snapshot_id": snapshot.snapshot_id},
        {"as_of": moment},
        {"ref": "main"},
        {"options": between, "selected_fields": ("*", "_ROW_KIND")},
        {"options": {"scan.snapshot-id": snapshot.snapshot_id}},
    ]
    for index, arguments in enumerate(how):
        expected = rows(table.scan(**arguments).to_arrow())
        assert rows(read(spark, table if index % 2 else path, **arguments).toArrow()) == expected
    wrong: Any = frazil.paimon.object_table(path)
    for arguments in ({"snapshot_id": 1, "ref": "main"}, {"limit": -1}):
        with pytest.raises(InvalidArgumentError):
            read(spark, table, **arguments)
    with pytest.raises(InvalidArgumentError, match="not ObjectTable"):
        read(spark, wrong)


def test_partitions_hold_no_secret(paimon_table: Where) -> None:
    made = source(paimon_table("tags_pk"), **{"s3.secret-access-key": "hidden"})
    reader = made.reader(made.schema())
    assert all(b"hidden" not in pickle.dumps(partition) for partition in reader.partitions())
