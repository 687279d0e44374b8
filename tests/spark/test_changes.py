"""Tests that the data source reads the same changes as `table.changes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support.canonical import canonical_rows, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from pyspark.sql import SparkSession

NAME = "inc_mor"


def same(found: pa.Table, expected: pa.Table) -> bool:
    return found.column_names == expected.column_names and lines(canonical_rows(found)) == lines(
        canonical_rows(expected)
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"net_changes": True}, {"carryovers": True}, {"identifier_columns": ["id"]}],
    ids=["changes", "net", "carryovers", "updates"],
)
def test_spark_reads_the_changes_that_python_reads(
    spark: SparkSession, table: Callable[[str], str], options: dict[str, Any]
) -> None:
    opened = frazil.load_table(table(NAME))
    first = opened.snapshots()[0].snapshot_id
    reader = spark.read.format("frazil").option("start-snapshot-id", str(first))
    for name, value in options.items():
        text = ",".join(value) if isinstance(value, list) else "true"
        reader = reader.option(name.replace("_", "-"), text)
    expected = opened.changes(first, **options).to_arrow()
    assert expected.num_rows > 1
    assert same(reader.load(f"{table(NAME)}$changes").toArrow(), expected)


def test_columns_and_conditions_select_changes(spark: SparkSession, table: Callable[[str], str]) -> None:
    opened = frazil.load_table(table(NAME))
    first = opened.snapshots()[0].snapshot_id
    # Each file is a task.
    options = {"start-snapshot-id": str(first), "split-size": "1"}
    frame = spark.read.format("frazil").options(**options).load(f"{table(NAME)}$changes")
    found = frame.where("_change_type = 'DELETE'").select("id", "_change_type")
    expected = deletes(opened.changes(first).to_arrow(), ["id", "_change_type"])
    assert expected.num_rows
    assert same(found.toArrow(), expected)


def test_options_choose_rows_columns_and_snapshots(spark: SparkSession, table: Callable[[str], str]) -> None:
    opened = frazil.load_table(table(NAME))
    first, second, *_ = (snapshot.snapshot_id for snapshot in opened.snapshots())
    frame = (
        spark.read.format("frazil")
        .options(**{"start-snapshot-id": str(first), "end-snapshot-id": str(second), "row-filter": "id > 1"})
        .options(columns="id", inspect="changes")
        .load(table(NAME))
    )
    assert same(frame.toArrow(), opened.changes(first, second, row_filter="id > 1", selected_fields=["id"]).to_arrow())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"net-change": "true"}, "did you mean `net-changes`"),
        ({"net-changes": "yes"}, "expected true or false"),
        ({"net-changes": "true", "carryovers": "true"}, "are mutually exclusive"),
        ({"snapshot-id": "1"}, "`snapshot-id` does not apply to changes"),
        ({"start-timestamp": "1"}, "pass snapshots, as `start-snapshot-id` and `end-snapshot-id`"),
        ({"start-snapshot-id": "17"}, "snapshot 17 is not an ancestor"),
    ],
)
def test_invalid_change_options_are_rejected(
    spark: SparkSession, table: Callable[[str], str], options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format("frazil").options(**options).load(f"{table(NAME)}$changes").collect()


@pytest.mark.parametrize(
    "options", [{}, {"net_changes": True}, {"compute_updates": False}], ids=["changes", "net", "plain"]
)
@pytest.mark.parametrize("name", ["pk_levels_universal", "cl_lookup_avro"])
def test_spark_reads_the_changes_of_paimon_tables(
    spark: SparkSession, paimon_table: Callable[[str], str], name: str, options: dict[str, Any]
) -> None:
    opened = frazil.load_table(paimon_table(name))
    first = opened.snapshots()[0].snapshot_id
    reader = spark.read.format("frazil").option("start-snapshot-id", str(first))
    for key, value in options.items():
        reader = reader.option(key.replace("_", "-"), str(value).lower())
    expected = opened.changes(first, **options).to_arrow()
    assert expected.num_rows > 1
    assert same(reader.load(f"{paimon_table(name)}$changes").toArrow(), expected)


def test_columns_and_conditions_select_changes_of_paimon_tables(
    spark: SparkSession, paimon_table: Callable[[str], str]
) -> None:
    place = paimon_table("pk_levels_universal")
    opened = frazil.load_table(place)
    first = opened.snapshots()[0].snapshot_id
    options = {"start-snapshot-id": str(first), "split-size": "1"}
    names = [opened.scan().schema().names[0], "_change_type"]
    frame = spark.read.format("frazil").options(**options).load(f"{place}$changes")
    found = frame.where("_change_type = 'DELETE'").select(*names).toArrow()
    assert same(found, deletes(opened.changes(first).to_arrow(), names))


def deletes(changes: pa.Table, names: list[str]) -> pa.Table:
    return changes.filter([kind == "DELETE" for kind in changes["_change_type"].to_pylist()]).select(names)
