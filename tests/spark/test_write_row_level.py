"""Tests that DELETE, UPDATE and MERGE in Spark's workers have the same results as in the table itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from frazil.errors import InvalidArgumentError, LimitExceededError
from frazil.spark import delete, merge, update
from support.frames import rows
from support.spark_tables import data, files, frame, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from frazil.iceberg import Table

CASES = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]


def twins(tmp_path: Path, version: int, mode: str, kind: str = "days") -> tuple[Table, Table]:
    """Return two tables with the same rows in the same files, some of them deleted."""
    made = []
    for name in ("spark", "local"):
        modes = {f"write__{verb}__mode": mode for verb in ("delete", "update", "merge")}
        table = make(tmp_path / name, kind, version, **modes)
        table.append(data(0, 40))
        table.append(data(40, 40))
        table.delete("id in (3, 50)")
        made.append(table)
    return made[0], made[1]


def content(table: Table) -> list[str]:
    lineage = ("_row_id", "_last_updated_sequence_number") if table.format_version > 2 else ()
    return rows(table.scan(selected_fields=("*", *lineage)).to_arrow())


def changed(result: Any) -> tuple[int, ...]:
    return (result.deleted_rows, result.updated_rows, result.inserted_rows)


@pytest.mark.parametrize(("version", "mode"), CASES)
@pytest.mark.parametrize("where", ["id in (0, 1, 2, 41, 42) or c is null", "day = timestamp '2024-02-28 12:00:00'"])
def test_delete(spark: SparkSession, tmp_path: Path, version: int, mode: str, where: str) -> None:
    table, twin = twins(tmp_path, version, mode)
    assert changed(delete(spark, table, where)) == changed(twin.delete(where))
    assert content(table) == content(twin)
    assert table.scan(where).count() == 0
    again = delete(spark, table, where)
    assert (again.snapshot_id, again.deleted_rows) == (None, 0)
    left = table.scan().count()
    assert changed(delete(spark, table, where=True)) == (left, 0, 0)
    assert table.scan().count() == 0


@pytest.mark.parametrize(("version", "mode"), CASES)
def test_update(spark: SparkSession, tmp_path: Path, version: int, mode: str) -> None:
    table, twin = twins(tmp_path, version, mode)
    values: dict[str, Any] = {"c": "concat('u', c)", "x": 1.5}
    where = "id between 10 and 44"
    assert changed(update(spark, table, values, where)) == changed(twin.update(values, where))
    assert content(table) == content(twin)
    # The rows move to another partition.
    moved = {"day": "timestamp '2030-01-01 00:00:00'"}
    assert changed(update(spark, table, moved, "id < 20")) == changed(twin.update(moved, "id < 20"))
    assert content(table) == content(twin)


@pytest.mark.parametrize(("version", "mode"), CASES)
def test_merge(spark: SparkSession, tmp_path: Path, version: int, mode: str) -> None:
    table, twin = twins(tmp_path, version, mode)
    source = data(60, 40).slice(0, 40)
    source = source.filter(pc.is_valid(source["id"]))

    def carry_out(builder: Any) -> Any:
        return (
            builder.when_matched_delete("target.id > 75")
            .when_matched_update({"c": "'merged'"})
            .when_not_matched_insert_all("source.id < 95")
            .execute()
        )

    done, expected = carry_out(merge(frame(spark, source), table, ["id"])), carry_out(twin.merge(source, ["id"]))
    assert changed(done) == changed(expected)
    assert 0 not in changed(done)
    assert rows(table.scan().to_arrow()) == rows(twin.scan().to_arrow())


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_merge_of_rows_that_the_source_does_not_have(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    table, twin = twins(tmp_path, 2, mode)
    source = data(1, 5)

    def carry_out(builder: Any) -> Any:
        return builder.when_not_matched_by_source_delete("target.id > 20").execute()

    done, expected = carry_out(merge(frame(spark, source), table, ["id"])), carry_out(twin.merge(source, ["id"]))
    assert changed(done) == changed(expected)
    assert rows(table.scan().to_arrow()) == rows(twin.scan().to_arrow())


def test_many_groups_of_files_are_changed_by_many_tasks(spark: SparkSession, tmp_path: Path) -> None:
    tables = [make(tmp_path / name, "days", 3, read__split__target_size="1") for name in ("spark", "local")]
    for table in tables:
        for first in range(0, 60, 20):
            table.append(data(first, 20))
    table, twin = tables
    assert changed(delete(spark, table, "id in (1, 21, 41)")) == changed(twin.delete("id in (1, 21, 41)"))
    source = data(15, 60)
    source = source.filter(pc.is_valid(source["id"]))
    done = merge(frame(spark, source), table, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    expected = twin.merge(source, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    assert changed(done) == changed(expected)
    assert rows(table.scan().to_arrow()) == rows(twin.scan().to_arrow())


def test_a_source_above_the_limit_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    builder = merge(frame(spark, data(0, 10)), table, ["id"], broadcast_limit_bytes=10).when_not_matched_insert_all()
    with pytest.raises(LimitExceededError, match="broadcast_limit_bytes"):
        builder.execute()
    assert files(tmp_path / "t") == []


@pytest.mark.parametrize("key", ["id", "nothing"])
def test_merge_source_leaves_no_temporary_files(spark: SparkSession, tmp_path: Path, key: str) -> None:
    table = make(tmp_path / "t")
    table.append(data(1, 3))
    # Spark broadcasts task input of more than a mebibyte, and keeps its file until the session ends.
    source = spark.sql("select id, repeat('x', 1 << 20) c from range(2, 4)")
    temporary = Path(spark.sparkContext._temp_dir)
    before = files(temporary, "")
    if key == "id":
        done = merge(source, table, [key]).when_matched_update_all().when_not_matched_insert_all().execute()
        assert changed(done) == (0, 2, 0)
    else:
        with pytest.raises(InvalidArgumentError, match=key):
            merge(source, table, [key]).when_matched_delete().execute()
    assert files(temporary, "") == before


def test_a_row_that_two_rows_of_the_source_would_change_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table, _ = twins(tmp_path, 2, "copy-on-write")
    before = (table.metadata_location, files(tmp_path / "spark"))
    twice = pa.concat_tables([data(10, 2), data(10, 2)])
    with pytest.raises(Exception, match="InvalidArgumentError"):
        merge(frame(spark, twice), table, ["id"]).when_matched_update_all().execute()
    assert (table.refresh().metadata_location, files(tmp_path / "spark")) == before


def test_a_branch_changes_and_main_does_not(spark: SparkSession, tmp_path: Path) -> None:
    table, _ = twins(tmp_path, 2, "merge-on-read")
    table.manage_snapshots().create_branch(table.refs()["main"].snapshot_id, "audit").commit()
    before = table.scan().count()
    assert delete(spark, table, "id < 10", branch="audit").deleted_rows > 0
    assert table.scan().count() == before
    assert table.scan("id < 10", ref="audit").count() == 0


def test_invalid_arguments_are_rejected_before_any_task_runs(spark: SparkSession, tmp_path: Path) -> None:
    table, _ = twins(tmp_path, 2, "copy-on-write")
    with pytest.raises(InvalidArgumentError, match="colour"):
        delete(spark, table, "colour = 1")
    with pytest.raises(InvalidArgumentError, match="colour"):
        update(spark, table, {"colour": 1})
    with pytest.raises(InvalidArgumentError, match="branch must be a string, not 1"):
        delete(spark, table, "id = 1", branch=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="broadcast_limit_bytes is 'much', expected an integer"):
        merge(frame(spark, data(0, 3)), table, ["id"], broadcast_limit_bytes="much")  # type: ignore[arg-type]


def test_the_current_time_is_the_same_in_all_workers(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "days", 2, read__split__target_size="1")
    table.append(data(0, 40))
    assert len(list(table.scan().plan_files())) > 1
    now = "cast(current_timestamp() as string)"
    assert update(spark, table, {"c": now}).updated_rows == 40
    [first] = pc.unique(table.scan().to_arrow()["c"]).to_pylist()
    source = frame(spark, data(0, 40))
    merge(source, table, ["id"]).when_matched_update({"c": now}).execute()
    [second] = pc.unique(table.scan("id is not null").to_arrow()["c"]).to_pylist()
    assert first < second
