"""Tests of writing DataFrames to tables: the same rows as by the table itself, without duplicates, despite failures."""

from __future__ import annotations

import datetime as dt
import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
from pyspark.errors import PythonException

import frazil
from frazil.errors import CommitConflictError, InvalidArgumentError, NoSuchSnapshotError
from frazil.iceberg._table import state_of
from frazil.iceberg._verbs import carry_out, snapshot_options
from frazil.iceberg.operations.rows import WrittenRows
from frazil.iceberg.operations.writes import OverwritePartitions
from frazil.spark import write
from frazil.spark._attempts import Attempts, linger_seconds
from frazil.spark._session import WriteSession
from support.frames import load, rows
from support.spark_tables import KINDS, data, files, frame, listed, make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.sampled(6)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_write_mode_matches_the_table_api(spark: SparkSession, tmp_path: Path, kind: str, version: int) -> None:
    table, twin = make(tmp_path / "spark", kind, version), make(tmp_path / "local", kind, version)
    first, second = data(0, 60), data(40, 25)
    steps: list[tuple[str, Any, Any]] = [
        ("append", write(frame(spark, first), table), twin.append(first)),
        ("dynamic", write(frame(spark, second), table, "dynamic"), twin.dynamic_partition_overwrite(second)),
        (
            "overwrite",
            write(frame(spark, first), table, "overwrite", overwrite_filter="id > 50 or id is null"),
            twin.overwrite(first, "id > 50 or id is null"),
        ),
    ]
    for step, done, expected in steps:
        counts = (done.deleted_rows, done.inserted_rows, done.added_records)
        assert counts == (expected.deleted_rows, expected.inserted_rows, expected.added_records), step
    found = rows(table.scan().to_arrow())
    assert found == rows(twin.scan().to_arrow())
    assert found == rows(load(spark, str(tmp_path / "spark")).toArrow())
    assert files(tmp_path / "spark") == listed(table, tmp_path / "spark")
    write(frame(spark, second), table, "overwrite")
    assert rows(table.scan().to_arrow()) == rows(second)


@pytest.mark.parametrize("kind", ["bucketed", "days", "sorted"])
def test_hash_distribution_writes_one_file_per_partition(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = make(tmp_path / "t", kind)
    done = write(frame(spark, data(0, 200), parts=8), table, distribution_mode="hash")
    partitions = set(rows(table.scan(selected_fields=("_partition",)).to_arrow()))
    assert done.added_files == len(partitions) > 1
    many = write(frame(spark, data(0, 200), parts=8), table, distribution_mode="none")
    assert many.added_files > done.added_files


def test_files_of_a_sorted_table_are_sorted_and_apart(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "sorted")
    write(frame(spark, data(0, 100)), table)
    for task in table.scan().plan_files():
        found = task.to_arrow()["c"].to_pylist()
        texts = [text for text in found if text is not None]
        assert texts == sorted(texts, reverse=True)


def test_a_task_that_fails_once_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make(folder, write__target_file_size_bytes="1")
    content = data(0, 400)

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        if context.attemptNumber() == 0 and context.partitionId() == 1:
            raise OSError("the first attempt")

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        unstable = frame(spark, content).mapInArrow(fail_once, "id long, day timestamp_ntz, x double, c string")
        done = write(unstable, table)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert done.added_records == 400
    assert rows(table.scan().to_arrow()) == rows(content)
    assert files(folder) == listed(table, folder)


def test_only_returned_messages_are_committed(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make(folder, "bucketed")
    session = WriteSession(state_of(table))
    first, _ = session.write(iter(data(0, 10).to_batches()))
    before = files(folder)
    # Another attempt at the same task, in a killed process.
    again = WriteSession(state_of(table), ident=session.ident)
    folders = {path: (folder / path).read_bytes() for path in before}
    for path, content in folders.items():
        other = folder / path.replace("-0-", "-9-")
        other.write_bytes(content)
    assert len(files(folder)) == 2 * len(before)
    again.messages([first], others=True)
    assert files(folder) == before
    again.abort()
    assert files(folder) == []


def test_where_attempts_are_not_known_to_have_ended_files_are_looked_for_until_none_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t"
    table = make(folder)
    session = WriteSession(state_of(table))
    message, _ = session.write(iter(data(0, 10).to_batches()))
    (written,) = files(folder)
    others = [folder / written.replace("-0-", f"-{task}-") for task in (8, 9)]
    pauses: list[float] = []

    def pauses_of(late: int, kept: list[bytes] | None, linger: float = 7) -> list[float]:
        """Sweep while another attempt writes a file in each of `late` pauses; return the pauses."""
        pauses.clear()

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) <= late:
                others[1].write_bytes(b"late")

        # Only the module's own name: other threads of the process sleep, too.
        monkeypatch.setattr("frazil.spark._session.time", SimpleNamespace(sleep=pause))
        if kept is None:
            session.abort(linger)
        else:
            session.messages(kept, others=True, linger=linger)
        return pauses

    assert pauses_of(0, [message]) == []
    for late, expected in [(0, [7]), (1, [7, 2]), (3, [7, 2, 2, 2]), (6, [7, 2, 2, 2, 2, 2])]:
        others[0].write_bytes(b"early")
        assert pauses_of(late, [message]) == expected
        assert files(folder) == [written]
    # Sweeping ends: a file that is written after the last sweep remains.
    others[0].write_bytes(b"early")
    assert pauses_of(100, [message]) == [7, 2, 2, 2, 2, 2]
    assert pauses_of(0, [message], linger=0) == []
    assert files(folder) == [written]
    assert pauses_of(1, None) == [7, 2]
    assert files(folder) == []


def test_attempts_are_unknown_without_a_spark_context() -> None:
    attempts = Attempts(cast("SparkSession", object()), "nothing")
    with attempts:
        pass
    assert (attempts.ran_again(), attempts.wait()) == (False, 5)


@pytest.mark.parametrize(
    ("setting", "seconds"),
    [(None, 5), ("2s", 5), (" 6S ", 9), ("500ms", 3.5), ("1500", 4.5), ("2min", 123), ("1m", 63), ("soon", 5)],
)
def test_a_killed_worker_lives_as_long_as_spark_lets_it(setting: str | None, seconds: float) -> None:
    assert linger_seconds(setting) == seconds


def test_partitions_of_a_spec_that_others_changed_are_not_replaced_in_silence(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make(folder, "bucketed", commit__retry__num_retries="0")
    table.append(data(0, 10))
    session = WriteSession(state_of(table))
    message, linger = session.write(iter(data(0, 10).to_batches()))
    written = WrittenRows(session.messages([message], others=linger > 0), session, session.state)
    newest = frazil.load_table(folder)
    newest.update_spec().add_field("c").commit()
    before = files(folder)
    with pytest.raises(CommitConflictError, match="the partition spec changed"):
        carry_out(newest, OverwritePartitions(options=snapshot_options("main", None)), written)
    assert files(folder) == listed(newest, folder) != before


def test_a_job_that_fails_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make(folder, "bucketed")
    table.append(data(0, 10))
    before = (table.metadata_location, files(folder), files(folder, "metadata"))

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        raise OSError("never works")

    broken = frame(spark, data(0, 50), 1).mapInArrow(fail, "id long, day timestamp_ntz, x double, c string")
    with pytest.raises(PythonException, match="never works"):
        write(broken, table, distribution_mode="none")
    with pytest.raises(Exception, match="never works"):
        broken.write.format("frazil").mode("append").save(str(folder))
    assert (table.refresh().metadata_location, files(folder), files(folder, "metadata")) == before


def test_columns_and_types_are_checked_before_a_task_runs(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("c", pa.string())])
    table = frazil.create_table(tmp_path / "t", schema)
    with pytest.raises(InvalidArgumentError, match="colour"):
        write(spark.sql("select 1L id, 'a' colour"), table)
    with pytest.raises(InvalidArgumentError, match="`c` has the type int, which cannot be converted to string"):
        write(spark.sql("select 1L id, 1 c"), table)
    with pytest.raises(PythonException, match="`id` is required, but NULL in row 2"):
        write(spark.sql("select if(id = 2, null, id) id from range(0, 5, 1, 1)"), table)
    with pytest.raises(NoSuchSnapshotError, match="nowhere"):
        write(spark.sql("select 1L id"), table, branch="nowhere")
    with pytest.raises(InvalidArgumentError, match="append, overwrite, dynamic"):
        write(spark.sql("select 1L id"), table, "ignore")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="overwrite_filter requires the mode `overwrite`"):
        write(spark.sql("select 1L id"), table, overwrite_filter="id > 1")
    with pytest.raises(InvalidArgumentError, match="none, hash, range"):
        write(spark.sql("select 1L id"), table, distribution_mode="odd")  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [{"branch": 5}, {"distribution_mode": 5}, {"write_format": 5}]
    for arguments in [*wrong, {"target_file_size_bytes": "much"}]:
        with pytest.raises(InvalidArgumentError, match=next(iter(arguments))):
            write(spark.sql("select 1L id"), table, **arguments)
    assert files(tmp_path / "t") == []
    # An int is widened, and missing columns are NULL.
    assert write(spark.sql("select 1 id"), table).added_records == 1
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "c": None}]


def test_types_that_spark_has_in_another_form(spark: SparkSession, tmp_path: Path) -> None:
    inner = pa.struct([("u", pa.uuid()), ("n", pa.int32())])
    schema = pa.schema(
        [
            ("u", pa.uuid()),
            ("f", pa.binary(2)),
            ("tz", pa.timestamp("us", "UTC")),
            ("d", pa.decimal128(20, 2)),
            ("s", inner),
            ("l", pa.list_(pa.binary(1))),
            ("m", pa.map_(pa.string(), pa.uuid())),
        ]
    )
    table = frazil.create_table(tmp_path / "t", schema, partition_by=["bucket(3, u)"], format_version=3)
    one, two = uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)
    content = spark.sql(
        f"""select '{one}' u, X'0102' f, timestamp '2024-02-29 12:00:00+02:00' tz, cast(1.5 as decimal(20, 2)) d,
        named_struct('u', '{two}', 'n', 1) s, array(X'01', null) l, map('a', '{one}') m
        union all select null, null, null, null, null, null, null
        union all select '{two}', X'0304', null, null, named_struct('u', null, 'n', 2), array(), map()"""
    )
    write(content, table)
    found = table.scan().to_arrow().sort_by("f").to_pylist()
    assert found[0] == {
        "u": one,
        "f": b"\x01\x02",
        "tz": dt.datetime(2024, 2, 29, 10, tzinfo=dt.UTC),
        "d": found[0]["d"],
        "s": {"u": two, "n": 1},
        "l": [b"\x01", None],
        "m": [("a", one)],
    }
    assert str(found[0]["d"]) == "1.50"
    assert (found[1]["u"], found[1]["s"], found[1]["l"], found[1]["m"]) == (two, {"u": None, "n": 2}, [], [])
    assert set(found[2].values()) == {None}
    with pytest.raises(
        PythonException, match="the value of `u` in row 0 does not fit: a UUID must have 32 hexadecimal digits"
    ):
        write(spark.sql("select 'no uuid' u"), table)
    with pytest.raises(PythonException, match="the value of `f` in row 1 does not fit: a value must have 2 bytes"):
        write(spark.sql("select X'0102' f union all select X'01'").coalesce(1), table, distribution_mode="none")


def test_a_variant_is_written_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), format_version=3)
    with table.update_schema() as change:
        change.add_column("v", "variant")
    write(spark.sql("""select 1L id, parse_json('{"a": [1, "x"]}') v union all select 2L, null"""), table)
    shown = load(spark, str(tmp_path / "t")).selectExpr("id", "to_json(v) v").orderBy("id").collect()
    assert [(row.id, row.v) for row in shown] == [(1, '{"a":[1,"x"]}'), (2, None)]


def test_a_branch_gets_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(data(0, 3))
    head = table.refs()["main"].snapshot_id
    table.manage_snapshots().create_branch(head, "audit").create_tag(head, "fixed").commit()
    write(frame(spark, data(3, 4)), table, branch="audit", snapshot_properties={"who": "me"})
    assert (table.scan().count(), table.scan(ref="audit").count()) == (3, 7)
    head = table.refs()["audit"].snapshot_id
    assert next(s for s in table.snapshots() if s.snapshot_id == head).summary["who"] == "me"
    with pytest.raises(InvalidArgumentError, match="`fixed` is a tag"):
        write(frame(spark, data(3, 4)), table, branch="fixed")
    frame(spark, data(7, 2)).write.format("frazil").mode("append").option("branch", "audit").save(str(tmp_path / "t"))
    assert (table.refresh().scan().count(), table.refresh().scan(ref="audit").count()) == (3, 9)


def test_an_empty_frame_commits_nothing_that_is_there(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", "bucketed")
    table.append(data(0, 5))
    nothing = frame(spark, data(0, 3)).where("id > 100")
    assert write(nothing, table).snapshot_id is None
    assert write(nothing, table, "dynamic").snapshot_id is None
    assert table.scan().count() == 5
    assert write(nothing, table, "overwrite").deleted_rows == 5
    assert table.scan().count() == 0
