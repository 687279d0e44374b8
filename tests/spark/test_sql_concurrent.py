"""Tests of DELETE, UPDATE and MERGE in Spark SQL while other writers commit.

`FRAZIL_SQL_COMMITS` sets the number of statements of each concurrent writer; `make nightly` runs 200.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.spark
from frazil.errors import CommitConflictError, FrazilError, InvalidArgumentError
from frazil.iceberg.operations.addressed import ChangeRows
from frazil.spark import _sql_row_changes
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

COMMITS = size("FRAZIL_SQL_COMMITS")
KEYS = 4
SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("v", pa.int64())])
WAITS = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "10"}

STATEMENTS = {
    "delete": "DELETE FROM lake.db.t WHERE id IN (SELECT id FROM lake.db.u)",
    "delete of the target": "DELETE FROM lake.db.t WHERE id < 50 AND v > (SELECT avg(v) FROM lake.db.t)",
    "update": "UPDATE lake.db.t SET v = v * 10 + (SELECT max(v) FROM lake.db.u), k = k + 1 WHERE id % 2 = 0",
    "merge": """
        MERGE INTO lake.db.t USING lake.db.u ON t.id = u.id
        WHEN MATCHED AND u.v > 100 THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = t.v + u.v
        WHEN NOT MATCHED THEN INSERT (id, k, v) VALUES (u.id, u.k, u.v)
        WHEN NOT MATCHED BY SOURCE AND t.v > 50 THEN UPDATE SET k = -1
    """,
}


def make(spark: SparkSession, folder: Path, version: int = 2, **properties: str) -> Lake[DataFrame]:
    """Return a lake with the tables `db.t`, which has two files, and `db.u`."""
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(folder))
    catalog.create_namespace("db")
    modes = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update")}
    table = catalog.create_table("db.t", SCHEMA, format_version=version, properties={**modes, **WAITS, **properties})
    for first in (1, 4):
        table.append([{"id": key, "k": key, "v": key * 10} for key in range(first, first + 3)])
    lake = frazil.spark.connect(spark, {"lake": catalog})
    lake.sql("CREATE TABLE lake.db.u (id BIGINT, k INT, v BIGINT)")
    lake.sql("INSERT INTO lake.db.u VALUES (2, 0, 1), (5, 0, 101), (20, 20, 5)")
    return lake


def rows(lake: Lake[DataFrame]) -> Counter[tuple[Any, ...]]:
    found = lake.table("lake.db.t").scan(selected_fields=("id", "k", "v")).to_arrow()
    return Counter(tuple(row.values()) for row in found.to_pylist())


def append(lake: Lake[DataFrame]) -> None:
    lake.table("lake.db.t").append([{"id": 2, "k": 7, "v": 60}, {"id": 20, "k": 8, "v": 1}, {"id": 30, "v": 70}])


def delete(lake: Lake[DataFrame]) -> None:
    lake.table("lake.db.t").delete("id in (1, 2)")


def update(lake: Lake[DataFrame]) -> None:
    lake.table("lake.db.t").update({"v": 60}, "id in (4, 6)")


def compact(lake: Lake[DataFrame]) -> None:
    lake.sql("CALL lake.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))")


def evolve(lake: Lake[DataFrame]) -> None:
    table = lake.table("lake.db.t")
    with table.update_schema() as change:
        change.add_column("extra", "string").update_column("k", "long").move_first("v")
    table.update_spec().add_field("bucket(2, id)").commit()
    append(lake)


def change_both(lake: Lake[DataFrame]) -> None:
    lake.table("lake.db.u").append([{"id": 3, "k": 3, "v": 3}])
    delete(lake)


OTHERS = (append, delete, update, compact, evolve, change_both)


class Interruptions:
    """Other writers that commit after the query of a statement and before its commit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Intercept the plans of changes by addresses."""
        self.pending: list[Callable[[], None]] = []
        self.count = 0
        own_plan = ChangeRows.plan

        def plan(changes: ChangeRows, state: Any, ready: Any, tasks: bytes | None = None) -> Any:
            self.count += 1
            if self.pending:
                self.pending.pop(0)()
            return own_plan(changes, state, ready, tasks)

        monkeypatch.setattr(ChangeRows, "plan", plan)

    def run(self, lake: Lake[DataFrame], statement: str, others: Sequence[Callable[[Lake[DataFrame]], None]]) -> int:
        """Run a statement while others commit, one in each attempt; return the number of attempts."""
        self.count, self.pending = 0, [lambda other=other: other(lake) for other in others]  # type: ignore[misc]
        try:
            lake.sql(statement)
        finally:
            assert self.pending == []
        return self.count


@pytest.fixture
def interruptions(monkeypatch: pytest.MonkeyPatch) -> Interruptions:
    return Interruptions(monkeypatch)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.__name__)
def test_statements_run_again_after_conflicts(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interruptions: Interruptions,
    other: Callable[[Lake[DataFrame]], None],
) -> None:
    for place, (name, statement) in enumerate(STATEMENTS.items(), OTHERS.index(other)):
        # Half of the statements change the rows in workers.
        monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0 if place % 2 else 128 << 20)
        monkeypatch.setattr(_sql_row_changes, "JOIN_LIMIT_BYTES", 0 if place % 2 else 128 << 20)
        version = 3 if place // 2 % 2 else 2
        mode = {"write.merge.mode": "merge-on-read" if place % 3 else "copy-on-write"}
        own = make(spark, tmp_path / name, version, **mode)
        twin = make(spark, tmp_path / f"twin of {name}", version, **mode)
        other(twin)
        twin.sql(statement)
        interruptions.run(own, statement, [other])
        assert rows(own) == rows(twin), name
        assert own.last is not None
        assert twin.last is not None
        for count in ("deleted_rows", "updated_rows", "inserted_rows"):
            assert getattr(own.last, count) == getattr(twin.last, count), name


def append_far(lake: Lake[DataFrame]) -> None:
    lake.table("lake.db.t").append([{"id": 100, "k": 1, "v": 1}])


def test_each_attempt_runs_the_query_once(spark: SparkSession, tmp_path: Path, interruptions: Interruptions) -> None:
    lake = make(spark, tmp_path)
    statement = "DELETE FROM lake.db.t WHERE id < 50 AND id + 0 IN (1, 4)"
    assert interruptions.run(lake, statement, [append_far]) == 1
    assert interruptions.run(lake, STATEMENTS["merge"], [update, compact]) == 3
    assert lake.last is not None
    assert lake.last.attempts == 3
    statement = "UPDATE lake.db.t SET v = monotonically_increasing_id() * 0 + CAST(rand() AS BIGINT) WHERE id + 0 > -9"
    assert interruptions.run(lake, statement, [append]) == 2
    assert {row[2] for row in rows(lake)} == {0}


def test_appends_are_not_conflicts_with_snapshot_isolation(
    spark: SparkSession, tmp_path: Path, interruptions: Interruptions
) -> None:
    levels = {f"write.{kind}.isolation-level": "snapshot" for kind in ("delete", "update", "merge")}
    lake = make(spark, tmp_path, **levels)
    for name in ("delete", "update", "merge"):
        assert interruptions.run(lake, STATEMENTS[name], [append]) == 1, name
        assert {(2, 7, 60), (20, 8, 1), (30, None, 70)} <= set(rows(lake)), name
        assert interruptions.run(lake, STATEMENTS[name], [update]) <= 2, name


def test_conflicts_in_all_attempts(spark: SparkSession, tmp_path: Path, interruptions: Interruptions) -> None:
    lake = make(spark, tmp_path, **{"commit.retry.num-retries": "1"})
    # In the second attempt, the other writer waits up to 10 s for its turn.
    with pytest.raises(CommitConflictError):
        interruptions.run(lake, STATEMENTS["merge"], [append] * 2)
    assert interruptions.count == 2
    assert lake.table("lake.db.t").scan().count() == 6 + 3 * 2
    assert rows(lake)[(20, 8, 1)] == 2


def test_statements_that_are_no_longer_valid(spark: SparkSession, tmp_path: Path, interruptions: Interruptions) -> None:
    def drop(lake: Lake[DataFrame]) -> None:
        append(lake)
        with lake.table("lake.db.t").update_schema() as change:
            change.delete_column("v")

    def rename(lake: Lake[DataFrame]) -> None:
        append(lake)
        with lake.table("lake.db.t").update_schema() as change:
            change.rename_column("v", "w")

    for place, other in enumerate((drop, rename)):
        lake = make(spark, tmp_path / str(place))
        with pytest.raises((InvalidArgumentError, FrazilError), match="the table has no column `v`"):
            interruptions.run(lake, STATEMENTS["update"], [other])
        assert lake.table("lake.db.t").scan().count() == 9
        assert interruptions.count == 1


def test_concurrent_statements_lose_no_change(spark: SparkSession, tmp_path: Path) -> None:
    lake = make(spark, tmp_path, **{"commit.retry.num-retries": "20", "write.merge.mode": "merge-on-read"})
    lake.sql("DELETE FROM lake.db.t")
    statement = f"""
        MERGE INTO lake.db.t USING (SELECT id FROM range({KEYS})) s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET v = t.v + 1
        WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 1)
    """
    succeeded: list[int] = []
    problems: list[BaseException] = []

    def write() -> None:
        try:
            own = frazil.spark.connect(spark, {"lake": lake.catalog("lake")})
            for _ in range(COMMITS):
                try:
                    own.sql(statement)
                except CommitConflictError:
                    continue
                assert own.last is not None
                succeeded.append(own.last.attempts)
        except BaseException as error:  # noqa: BLE001 - told to the test
            problems.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    found = {row[0]: row[2] for row in rows(lake)}
    assert found == dict.fromkeys(range(KEYS), len(succeeded))
    assert rows(lake).total() == KEYS
    assert len(succeeded) == 2 * COMMITS
    print(f"{len(succeeded)} statements, {sum(succeeded)} attempts")  # noqa: T201 - shown by `pytest -s`
