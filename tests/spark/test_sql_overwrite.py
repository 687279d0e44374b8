"""Tests that INSERT OVERWRITE of a table by a query of the same table loses no rows of concurrent commits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import CommitConflictError
from frazil.spark._engine import SparkEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

MODE = "spark.sql.sources.partitionOverwriteMode"
COLUMNS = "(id BIGINT, part STRING) USING {format} PARTITIONED BY (part)"
TABLES = {"i.db.t": "iceberg", "p.default.t": "paimon"}
STATEMENTS = {
    "all": "INSERT OVERWRITE {t} SELECT id + 10, part FROM {t}",
    "subquery": "INSERT OVERWRITE {t} SELECT 1, 'a' WHERE EXISTS (SELECT 1 FROM {t})",
    "one partition": "INSERT OVERWRITE {t} PARTITION (part = 'a') SELECT id + 10 FROM {t} WHERE part = 'a'",
    "dynamic": "INSERT OVERWRITE {t} SELECT id + 10, part FROM {t}",
    "dynamic partition": "INSERT OVERWRITE {t} PARTITION (part) SELECT id + 10, part FROM {t} AS x",
}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake[DataFrame]]:
    catalogs = {
        "i": {"type": "hadoop", "warehouse": str(tmp_path / "iceberg")},
        "p": {"type": "paimon", "warehouse": str(tmp_path / "paimon")},
    }
    lake = frazil.spark.connect(spark, catalogs)
    for table, table_format in TABLES.items():
        lake.sql(f"CREATE TABLE {table} {COLUMNS.format(format=table_format)}")
        lake.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    yield lake
    spark.conf.unset(MODE)


def ids(lake: Lake[DataFrame], table: str) -> list[int]:
    found: list[int] = sorted(lake.table(table).scan().to_arrow()["id"].to_pylist())
    return found


def meanwhile(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> None:
    """Run an action once, after a query is created and before its rows are written."""
    insert = SparkEngine.insert
    actions = [action]

    def first(self: SparkEngine, *arguments: Any) -> None:
        if actions:
            actions.pop()()
        insert(self, *arguments)

    monkeypatch.setattr(SparkEngine, "insert", first)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("what", STATEMENTS)
def test_concurrent_appends_conflict_with_overwrite(
    spark: SparkSession, lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, table: str, what: str
) -> None:
    if what.startswith("dynamic"):
        spark.conf.set(MODE, "dynamic")
    other = lake.table(table)
    meanwhile(monkeypatch, lambda: other.append([{"id": 3, "part": "a"}]))
    before = set(Path(other.location).rglob("*.parquet"))
    with pytest.raises(CommitConflictError):
        lake.sql(STATEMENTS[what].format(t=table))
    assert ids(lake, table) == [1, 2, 3]
    # The file of the other writer.
    assert len(set(Path(other.location).rglob("*.parquet")) - before) == 1
    lake.sql(STATEMENTS[what].format(t=table))
    assert ids(lake, table) != [1, 2, 3]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("what", STATEMENTS)
def test_a_table_is_loaded_once(
    spark: SparkSession, lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, table: str, what: str
) -> None:
    if what.startswith("dynamic"):
        spark.conf.set(MODE, "dynamic")
    catalog = lake.catalog(table[0])
    load, loaded = catalog.load_table, []

    def counted(identifier: Any) -> Any:
        loaded.append(identifier)
        return load(identifier)

    monkeypatch.setattr(catalog, "load_table", counted)
    lake.sql(STATEMENTS[what].format(t=table))
    assert len(loaded) == 1


@pytest.mark.parametrize("table", TABLES)
def test_query_of_other_tables_replaces_concurrently_added_rows(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    other = next(one for one in TABLES if one != table)
    meanwhile(monkeypatch, lambda: lake.table(table).append([{"id": 3, "part": "a"}]))
    lake.sql(f"INSERT OVERWRITE {table} SELECT id + 20, part FROM {other}")
    assert ids(lake, table) == [21, 22]


def test_an_empty_table_that_was_read_is_validated_too(lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    for table, table_format in (("i.db.e", "iceberg"), ("p.default.e", "paimon")):
        lake.sql(f"CREATE TABLE {table} {COLUMNS.format(format=table_format)}")
        meanwhile(monkeypatch, lambda table=table: lake.table(table).append([{"id": 3, "part": "a"}]))
        with pytest.raises(CommitConflictError):
            lake.sql(f"INSERT OVERWRITE {table} SELECT count(*), 'a' FROM {table}")
        assert ids(lake, table) == [3]


def test_states_that_are_chosen_replace_the_newest(lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.table("i.db.t")
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_branch(first, "b").create_tag(first, "v").commit()
    for source in (f"i.db.t VERSION AS OF {first}", "i.db.t.tag_v", "i.db.t.branch_b"):
        meanwhile(monkeypatch, lambda: lake.table("i.db.t").append([{"id": 3, "part": "a"}]))
        lake.sql(f"INSERT OVERWRITE i.db.t SELECT * FROM {source}")
        assert ids(lake, "i.db.t") == [1, 2]


@pytest.mark.parametrize("source", ["i.db.t.branch_b", "i.db.t VERSION AS OF 'b'"])
def test_a_branch_is_validated_against_the_branch(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    table = lake.table("i.db.t")
    table.manage_snapshots().create_branch(table.snapshots()[0].snapshot_id, "b").commit()
    meanwhile(monkeypatch, lambda: lake.table("i.db.t").append([{"id": 3, "part": "a"}], branch="b"))
    with pytest.raises(CommitConflictError):
        lake.sql(f"INSERT OVERWRITE i.db.t.branch_b SELECT * FROM {source}")
    meanwhile(monkeypatch, lambda: lake.table("i.db.t").append([{"id": 4, "part": "a"}]))
    lake.sql(f"INSERT OVERWRITE i.db.t.branch_b SELECT id + 10, part FROM {source}")
    found = lake.table("i.db.t").scan(ref="b").to_arrow()["id"].to_pylist()
    assert sorted(found) == [11, 12, 13]


def test_rows_that_do_not_match_the_partition_stay(lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: lake.table("i.db.t").append([{"id": 3, "part": "b"}]))
    lake.sql(STATEMENTS["one partition"].format(t="i.db.t"))
    assert ids(lake, "i.db.t") == [2, 3, 11]


def delete(table: Any) -> None:
    if table.format == "paimon":
        table.drop_partitions([{"part": "b"}])
    else:
        table.delete("id = 2")


CHANGES: dict[str, Callable[[Any], Any]] = {
    "append": lambda table: table.append([{"id": 3, "part": "a"}]),
    "delete": delete,
}
LEFT = {"append": [1, 2, 3], "delete": [1]}


@pytest.mark.parametrize(
    ("verb", "source"),
    [
        ("CREATE OR REPLACE TABLE", "{t}"),
        ("REPLACE TABLE", "view"),
        ("REPLACE TABLE", "(SELECT 1 AS id, 'a' AS part) WHERE EXISTS (SELECT 1 FROM view)"),
    ],
)
@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_is_replaced_by_its_own_rows_loses_none_of_others(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, verb: str, change: str, source: str
) -> None:
    lake.sql("CREATE OR REPLACE TEMPORARY VIEW view AS SELECT * FROM i.db.t")
    statement = f"{verb} i.db.t USING iceberg AS SELECT id + 10 AS id, part FROM {source.format(t='i.db.t')}"
    meanwhile(monkeypatch, lambda: CHANGES[change](lake.table("i.db.t")))
    before = set(Path(lake.table("i.db.t").location).rglob("*.parquet"))
    with pytest.raises(CommitConflictError, match="run the statement again"):
        lake.sql(statement)
    assert ids(lake, "i.db.t") == LEFT[change]
    assert len(set(Path(lake.table("i.db.t").location).rglob("*.parquet")) - before) == len(LEFT[change]) // 3
    lake.sql("CREATE OR REPLACE TEMPORARY VIEW view AS SELECT * FROM i.db.t")
    lake.sql(statement)
    expected = [11] if "EXISTS" in source else [number + 10 for number in LEFT[change]]
    assert ids(lake, "i.db.t") == expected


def test_a_table_that_is_replaced_by_other_rows_replaces_those_of_others(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lake.table("i.db.t").snapshots()[0].snapshot_id
    for source in ("p.default.t", f"i.db.t VERSION AS OF {first}"):
        meanwhile(monkeypatch, lambda: lake.table("i.db.t").append([{"id": 3, "part": "a"}]))
        lake.sql(f"REPLACE TABLE i.db.t USING iceberg AS SELECT id + 20 AS id, part FROM {source}")
        assert ids(lake, "i.db.t") == [21, 22]


def test_a_compaction_does_not_conflict_with_a_replacement(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.sql("INSERT INTO i.db.t VALUES (3, 'a')")
    meanwhile(monkeypatch, lambda: lake.table("i.db.t").rewrite_data_files(min_input_files=2))
    lake.sql("REPLACE TABLE i.db.t USING iceberg AS SELECT id + 10 AS id, part FROM i.db.t")
    assert ids(lake, "i.db.t") == [11, 12, 13]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("made", "change"), [("dataframe", "append"), ("dataframe", "delete"), ("nested", "delete")])
def test_a_view_of_the_table_keeps_the_state_that_it_read(
    spark: SparkSession, lake: Lake[DataFrame], table: str, change: str, made: str
) -> None:
    if made == "dataframe":
        frazil.spark.read(spark, lake.table(table)).createOrReplaceTempView("view")
    else:
        lake.sql(f"CREATE OR REPLACE TEMPORARY VIEW view AS SELECT * FROM {table}")
    if made == "nested":
        spark.sql("SELECT max(id) AS id, part FROM view GROUP BY part").createOrReplaceTempView("view")
    CHANGES[change](lake.table(table))
    left = ids(lake, table)
    query = "SELECT id, part FROM view"
    if made == "nested":
        query += f" WHERE id IN (SELECT id FROM {table})"
    with pytest.raises(CommitConflictError):
        lake.sql(f"INSERT OVERWRITE {table} {query}")
    assert ids(lake, table) == left
    lake.sql(f"CREATE OR REPLACE TEMPORARY VIEW view AS SELECT * FROM {table}")
    lake.sql(f"INSERT OVERWRITE {table} SELECT id + 10, part FROM view")
    assert ids(lake, table) == [number + 10 for number in left]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", ["append", "delete"])
def test_a_view_of_a_query_of_the_lake_reads_the_latest_state(lake: Lake[DataFrame], table: str, change: str) -> None:
    lake.sql(f"CREATE OR REPLACE TEMPORARY VIEW view AS SELECT * FROM {table}")
    CHANGES[change](lake.table(table))
    left = ids(lake, table)
    lake.sql(f"INSERT OVERWRITE {table} SELECT id + 10, part FROM view")
    assert ids(lake, table) == [number + 10 for number in left]


READS: dict[str, Callable[[SparkSession, Any], DataFrame]] = {
    "auto": frazil.spark.read,
    "arrow": lambda spark, table: frazil.spark.read(spark, table, read_lane="arrow"),
    "limit": lambda spark, table: frazil.spark.read(spark, table, limit=10),
    "cached": lambda spark, table: frazil.spark.read(spark, table).cache(),
    "location": lambda spark, table: frazil.spark.read(spark, table.location),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("how", "change", "mode"),
    [
        ("auto", "append", "overwrite"),
        ("auto", "delete", "dynamic"),
        ("arrow", "delete", "overwrite"),
        ("limit", "append", "dynamic"),
        ("cached", "delete", "overwrite"),
        ("location", "append", "overwrite"),
    ],
)
def test_a_dataframe_of_the_table_that_is_written_keeps_the_state_that_it_read(
    spark: SparkSession, lake: Lake[DataFrame], table: str, change: str, how: str, mode: Any
) -> None:
    target = lake.table(table)
    rows = READS[how](spark, target).selectExpr("id", "part")
    CHANGES[change](lake.table(table))
    left = ids(lake, table)
    with pytest.raises(CommitConflictError):
        frazil.spark.write(rows, target, mode)
    assert ids(lake, table) == left
    rows = READS[how](spark, lake.table(table)).selectExpr("id + 10 AS id", "part")
    frazil.spark.write(rows, lake.table(table), mode)
    assert ids(lake, table) == [number + 10 for number in left]


@pytest.mark.parametrize("table", TABLES)
def test_an_earlier_state_in_a_dataframe_replaces_the_newest(
    spark: SparkSession, lake: Lake[DataFrame], table: str
) -> None:
    first = lake.table(table).snapshots()[0].snapshot_id
    rows = frazil.spark.read(spark, lake.table(table), snapshot_id=first)
    lake.table(table).append([{"id": 3, "part": "a"}])
    frazil.spark.write(rows, lake.table(table), "overwrite")
    assert ids(lake, table) == [1, 2]


def test_a_dataframe_of_a_branch_is_validated_against_the_branch(spark: SparkSession, lake: Lake[DataFrame]) -> None:
    table = lake.table("i.db.t")
    table.manage_snapshots().create_branch(table.snapshots()[0].snapshot_id, "b").commit()
    rows = frazil.spark.read(spark, table, ref="b")
    lake.table("i.db.t").append([{"id": 3, "part": "a"}], branch="b")
    with pytest.raises(CommitConflictError):
        frazil.spark.write(rows, table, "overwrite", branch="b")
    frazil.spark.write(rows, table, "overwrite")
    assert ids(lake, "i.db.t") == [1, 2]


def test_compaction_does_not_conflict(lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    lake.sql("INSERT INTO p.default.t VALUES (3, 'a')")
    meanwhile(monkeypatch, lambda: lake.table("p.default.t").compact())
    lake.sql(STATEMENTS["all"].format(t="p.default.t"))
    assert ids(lake, "p.default.t") == [11, 12, 13]
