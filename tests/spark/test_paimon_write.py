"""Tests of writing DataFrames to Paimon tables by workers: the same rows as by the table itself, despite failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException

import frazil
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark import delete, write
from support.frames import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from frazil.paimon import Table

KINDS: dict[str, dict[str, Any]] = {
    "append": {},
    "partitioned": {"partition_keys": ["p"]},
    "buckets": {"options": {"bucket": "3", "bucket-key": "id"}, "partition_keys": ["p"]},
    "keys": {"primary_keys": ["id", "p"], "partition_keys": ["p"], "options": {"bucket": "2"}},
    "changelog": {"primary_keys": ["id"], "options": {"bucket": "2", "changelog-producer": "input"}},
    "external": {"options": {"bucket": "2", "bucket-key": "id", "data-file.external-paths.strategy": "round-robin"}},
}
SCHEMA = {"id": "BIGINT", "p": "INT", "v": "STRING"}


def make(folder: Path, kind: str) -> Table:
    given = {**KINDS[kind], "options": dict(KINDS[kind].get("options", {}))}
    if kind == "external":
        given["options"]["data-file.external-paths"] = f"file://{folder}-elsewhere"
    return frazil.create_table(folder, SCHEMA, format="paimon", **given)


def data(first: int, count: int, text: str = "x") -> pa.Table:
    ids = range(first, first + count)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "p": pa.array([number % 3 for number in ids], pa.int32()),
        "v": pa.array([f"{text}{number}" for number in ids]),
    }
    return pa.table(columns)


def frame(spark: SparkSession, content: pa.Table, parts: int = 4) -> DataFrame:
    return spark.createDataFrame(content.to_pandas(), "id long, p int, v string").repartition(parts)


def data_files(folder: Path) -> list[str]:
    found = [*folder.rglob("bucket-*/*"), *Path(f"{folder}-elsewhere").rglob("bucket-*/*")]
    return sorted(path.name for path in found if path.is_file())


@pytest.mark.parametrize("kind", KINDS)
def test_every_write_mode_matches_the_table_api(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table, twin = make(tmp_path / "spark", kind), make(tmp_path / "local", kind)
    steps: list[tuple[pa.Table, str]] = [
        (data(0, 60), "append"),
        (data(40, 30, "y"), "append"),
        (data(3, 1, "z"), "dynamic"),
        (data(10, 20, "w"), "overwrite"),
    ]
    for content, mode in steps:
        done = write(frame(spark, content), table, mode)  # type: ignore[arg-type]
        getattr(twin, "dynamic_partition_overwrite" if mode == "dynamic" else mode)(content)
        assert done.snapshot_id is not None
        assert done.added_records == content.num_rows
        assert rows(table.scan().to_arrow()) == rows(twin.scan().to_arrow())
        kinds = [[snapshot.commit_kind for snapshot in part.snapshots()] for part in (table, twin)]
        assert kinds[0] == kinds[1]
    if kind == "changelog":
        found, expected = (part.changes(None, 2).to_arrow().drop(["_commit_snapshot_id"]) for part in (table, twin))
        assert rows(found) == rows(expected)


def test_partitions_are_replaced(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "buckets")
    table.append(data(0, 30))
    content = data(0, 3)
    write(frame(spark, content.filter(pa.compute.field("p") == 1)), table, "overwrite", partitions=[{"p": 1}])
    kept = data(0, 30).filter(pa.compute.field("p") != 1)
    assert rows(table.scan().to_arrow()) == rows(pa.concat_tables([kept, data(1, 1)]))
    before = data_files(tmp_path / "t")
    with pytest.raises(InvalidArgumentError, match="partitions that are not overwritten"):
        write(frame(spark, content), table, "overwrite", partitions=[{"p": 1}])
    assert data_files(tmp_path / "t") == before


def test_a_bucket_is_written_by_one_task(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "keys")
    write(frame(spark, data(0, 90), 5), table)
    files = table.inspect.files().select(["partition", "bucket"]).to_pylist()
    assert len(files) == 6
    assert len({(row["partition"], row["bucket"]) for row in files}) == 6


@pytest.mark.parametrize("kind", ["append", "keys", "external"])
def test_a_job_that_fails_leaves_no_file(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = make(tmp_path / "t", kind)
    table.append(data(0, 10))
    before = (data_files(tmp_path / "t"), [snapshot.snapshot_id for snapshot in table.snapshots()])

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if 95 in batch.column("id").to_pylist():
                raise OSError("never works")

    broken = frame(spark, data(0, 100), 3).mapInArrow(fail, "id long, p int, v string")
    with pytest.raises(PythonException, match="never works"):
        write(broken, table)
    assert (data_files(tmp_path / "t"), [snapshot.snapshot_id for snapshot in table.snapshots()]) == before


def test_a_location_and_properties_of_the_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "append")
    write(frame(spark, data(0, 5)), str(tmp_path / "t"), snapshot_properties={"job": "7"})
    assert len(table.snapshots()) == 1
    assert json.loads((tmp_path / "t" / "snapshot" / "snapshot-1").read_text())["properties"] == {"job": "7"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"write_format": "orc"}, "write_format applies only to Iceberg tables"),
        ({"distribution_mode": "hash"}, "distribution_mode applies only to Iceberg tables"),
        ({"mode": "overwrite", "overwrite_filter": "id > 1"}, "overwrite_filter applies only to Iceberg tables"),
        ({"mode": "overwrite", "partitions": [{"nothing": 1}]}, "nothing"),
        ({"branch": "nowhere"}, "nowhere"),
    ],
)
def test_invalid_write_arguments_are_rejected(
    spark: SparkSession, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    table = make(tmp_path / "t", "partitioned")
    with pytest.raises(frazil.FrazilError, match=message):
        write(frame(spark, data(0, 5)), table, **arguments)
    assert (data_files(tmp_path / "t"), table.snapshots()) == ([], [])


def test_columns_that_say_the_bucket_are_needed(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "buckets")
    with pytest.raises(InvalidArgumentError, match="no column `id`"):
        write(frame(spark, data(0, 5)).drop("id"), table)
    with pytest.raises(UnsupportedError, match=r"frazil\.spark\.write"):
        delete(spark, table, "id = 1")  # type: ignore[arg-type]


def test_columns_are_checked_before_any_task_runs(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "append")
    with pytest.raises(InvalidArgumentError, match="other"):
        write(frame(spark, data(0, 5)).withColumnRenamed("v", "other"), table)
