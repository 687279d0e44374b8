"""Tests of compacting Paimon tables: fewer files with the same rows, and concurrent readers and writers."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.paimon import Table

COLUMNS = [
    ("id", "BIGINT NOT NULL"),
    ("part", "STRING NOT NULL"),
    ("n", "INT"),
    ("deep", "ARRAY<ROW<x INT, y STRING>>"),
]


def create(folder: Path, *, keys: tuple[str, ...] = (), partitioned: bool = False, **options: Any) -> Table:
    return frazil.create_table(
        folder / "t",
        COLUMNS,
        format="paimon",
        primary_keys=keys,
        partition_keys=["part"] if partitioned else [],
        options=options,
    )


def some(seeded: random.Random, count: int, kinds: tuple[str, ...] = ("+I",)) -> list[dict[str, Any]]:
    return [
        {
            "id": seeded.randint(0, 50),
            "part": seeded.choice(["x", "y"]),
            "n": seeded.choice([None, 1, 2]),
            "deep": seeded.choice([None, [], [{"x": 1, "y": None}, None]]),
            "_ROW_KIND": seeded.choice(kinds),
        }
        for _ in range(count)
    ]


def rows(table: Table) -> list[str]:
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


KEYED: list[dict[str, Any]] = [
    {},
    {"sequence.field": "n"},
    {"data-file.thin-mode": "true"},
    {"merge-engine": "partial-update", "ignore-delete": "true"},
    {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    {"target-file-size": "1 kb"},
]


@pytest.mark.parametrize("options", KEYED, ids=lambda options: next(iter(options.values()), "deduplicate"))
def test_a_bucket_with_keys_becomes_one_sorted_run(tmp_path: Path, options: dict[str, Any]) -> None:
    seeded = random.Random(str(options))  # noqa: S311 - not a secret
    table = create(tmp_path, keys=("part", "id"), partitioned=True, bucket=2, **options)
    kinds = ("+I", "+U", "-D") if "merge-engine" not in options else ("+I",)
    for _ in range(3):
        for _ in range(3):
            table.append(some(seeded, 30, kinds))
        before, old = rows(table), table.scan(snapshot_id=1).count()
        done = table.compact()
        assert rows(table) == before
        assert table.scan(snapshot_id=1).count() == old
        assert done.removed_files >= 9
        found = table.inspect.files()
        assert set(found.column("level").to_pylist()) == {5}
        assert set(found.column("file_source").to_pylist()) == {"COMPACT"}
        assert sum(found.column("deleteRowCount").to_pylist()) == 0
        assert all(split.raw_convertible for split in table.scan().plan_files())
        assert table.current_snapshot().operation == "compact"  # type: ignore[union-attr]
        assert table.current_snapshot().total_record_count == len(before)  # type: ignore[union-attr]
        again = table.compact()
        assert (again.snapshot_id, again.added_files, again.attempts) == (None, 0, 0)


@pytest.mark.parametrize("bucketed", [False, True])
def test_small_files_of_append_tables_are_joined(tmp_path: Path, bucketed: bool) -> None:  # noqa: FBT001 - a parameter
    options = {"bucket": 2, "bucket-key": "id"} if bucketed else {}
    seeded = random.Random(1)  # noqa: S311 - not a secret
    table = create(tmp_path, partitioned=True, **options)
    given = []
    for _ in range(4):
        given += (batch := some(seeded, 20))
        table.append([{key: value for key, value in row.items() if key != "_ROW_KIND"} for row in batch])
    before = rows(table)
    assert table.compact(full=False).snapshot_id is None, "four files are not many"
    done = table.compact(partitions=[{"part": "x"}])
    assert (done.added_records, done.removed_records) == (sum(row["part"] == "x" for row in given),) * 2
    table.compact()
    assert rows(table) == before
    buckets = {(str(split.partition), split.bucket) for split in table.scan().plan_files()}
    assert table.inspect.files().num_rows == len(buckets)
    if bucketed:
        ids = table.scan("part = 'x'").to_arrow()["id"].to_pylist()
        by_bucket = table.bucket_ids(pa.table({"id": ids})).to_pylist()
        expected = [row["id"] for row in given if row["part"] == "x"]
        for bucket in set(by_bucket):
            kept = [one for one, of in zip(ids, by_bucket, strict=True) if of == bucket]
            assert kept == [one for one in expected if one in kept], "rows of a bucket keep their order"
    table.append([{"id": 1, "part": "x"}])
    assert table.scan().count() == 81


def test_only_buckets_with_many_runs_are_due(tmp_path: Path) -> None:
    options = {"num-sorted-run.compaction-trigger": 3, "write-only": "true"}
    table = create(tmp_path, keys=("id",), bucket=1, **options)
    for i in range(2):
        table.append([{"id": i, "part": "x"}])
    assert table.compact(full=False).snapshot_id is None
    table.append([{"id": 2, "part": "x"}])
    assert table.compact(full=False).removed_files == 3
    table.append([{"id": i, "part": "x", "_ROW_KIND": "-D"} for i in range(3)])
    assert table.compact().added_files == 0
    assert table.scan().count() == 0
    assert table.inspect.files().num_rows == 0


@pytest.mark.parametrize("seed", range(4))
def test_picked_runs_are_merged_and_deletes_stay_above_older_rows(tmp_path: Path, seed: int) -> None:
    seeded = random.Random(seed)  # noqa: S311 - not a secret
    options = {"num-sorted-run.compaction-trigger": 2, "write-only": "true"}
    table = create(tmp_path, keys=("id",), bucket=1, **options)
    table.append(pa.table({"id": range(3_000), "part": [f"{i * 7919:x}" for i in range(3_000)]}))
    table.compact()
    model = set(range(3_000))
    with_deletes = 0
    for _ in range(8):
        batch = [{**row, "id": row["id"] * 60} for row in some(seeded, 5, ("+I", "-D"))]
        table.append(batch)
        for row in batch:
            model.discard(row["id"])
            if row["_ROW_KIND"] == "+I":
                model.add(row["id"])
        table.compact(full=False)
        assert set(table.scan().to_arrow()["id"].to_pylist()) == model
        found = table.inspect.files().to_pylist()
        with_deletes += any(file["file_source"] == "COMPACT" and file["deleteRowCount"] for file in found)
    assert with_deletes > 2
    table.compact()
    assert set(table.scan().to_arrow()["id"].to_pylist()) == model


def test_a_compaction_that_loses_against_another_one_leaves_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, keys=("id",), bucket=1)
    for i in range(3):
        table.append([{"id": i, "part": "x"}])
    import frazil.paimon._compacting as compacting

    original = compacting.read_split

    def meanwhile(split: Any) -> Any:
        compacting.read_split = original
        frazil.load_table(tmp_path / "t").compact()  # type: ignore[attr-defined]
        return original(split)

    compacting.read_split = meanwhile
    try:
        assert table.compact().snapshot_id is None
    finally:
        compacting.read_split = original
    assert len([name for name in files(tmp_path / "t") if name.endswith(".parquet")]) == 4
    assert table.refresh().scan().count() == 3


def operations(table: Table) -> list[str]:
    return [snapshot.operation for snapshot in table.snapshots()]


def test_a_write_compacts_the_buckets_that_it_made_deep(tmp_path: Path) -> None:
    table = create(tmp_path, keys=("part", "id"), partitioned=True, bucket=1)
    for i in range(4):
        table.append([{"id": i, "part": "x"}, {"id": i, "part": "y"}])
    assert operations(table) == ["append"] * 4
    done = table.append([{"id": 1, "part": "x", "n": 5, "_ROW_KIND": "+U"}], commit_user="me", identifier=7)
    assert operations(table)[4:] == ["append", "compact"]
    assert (done.snapshot_id, done.added_files, done.removed_files) == (5, 1, 0)
    newest = table.inspect.snapshots().to_pylist()[-1]
    assert (newest["commit_user"], newest["commit_identifier"]) == ("me", 7)
    levels = {file["partition"]: file["level"] for file in table.inspect.files().to_pylist()}
    assert table.inspect.files().num_rows == 5
    assert levels == {"{x}": 5, "{y}": 0}, "the other bucket was not written"
    assert table.append([{"id": 9, "part": "x"}], commit_user="me", identifier=7).attempts == 0
    assert len(operations(table)) == 6
    found = {(row["id"], row["part"]): row["n"] for row in table.scan().to_arrow().to_pylist()}
    assert found == {(i, part): 5 if (i, part) == (1, "x") else None for i in range(4) for part in "xy"}


def test_small_files_of_fixed_buckets_are_joined_by_writes(tmp_path: Path) -> None:
    table = create(tmp_path, bucket=1, **{"bucket-key": "id", "compaction.min.file-num": 3})
    for i in range(3):
        table.append([{"id": i, "part": "x"}])
    assert operations(table) == ["append"] * 3 + ["compact"]
    assert table.scan().to_arrow()["id"].to_pylist() == [0, 1, 2]
    assert table.inspect.files().num_rows == 1


@pytest.mark.parametrize(
    "options", [{"write-only": "true"}, {"write.compaction-skip": "true"}, {"bucket": -1}], ids=str
)
def test_other_tables_are_compacted_by_others(tmp_path: Path, options: dict[str, Any]) -> None:
    table = create(tmp_path, **{"bucket": 1, "bucket-key": "id"} | options if "bucket" not in options else options)
    for i in range(8):
        table.append([{"id": i, "part": "x"}])
    assert operations(table) == ["append"] * 8


def test_a_compaction_that_fails_keeps_the_rows_that_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = create(tmp_path, keys=("id",), bucket=1)
    for i in range(4):
        table.append([{"id": i, "part": "x"}])
    import frazil.paimon._compacting as compacting

    def broken(_split: Any) -> Any:
        raise errors.StorageError("broken")

    monkeypatch.setattr(compacting, "read_split", broken)
    before = files(tmp_path)
    assert table.append([{"id": 4, "part": "x"}]).snapshot_id == 5
    logged = [record for record in caplog.records if record.levelname == "WARNING"]
    assert ["broken" in record.getMessage() for record in logged] == [True]
    assert len([name for name in files(tmp_path) - before if name.endswith(".parquet")]) == 1
    assert table.scan().to_arrow()["id"].to_pylist() == list(range(5))
    monkeypatch.undo()
    table.append([{"id": 5, "part": "x"}])
    assert operations(table)[-1] == "compact"


def test_records_that_have_expired_are_dropped_by_compaction(tmp_path: Path) -> None:
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "n"}
    now = int(time.time())
    table = create(tmp_path, keys=("id",), bucket=1, **options)
    table.append([{"id": 1, "part": "x", "n": now - 100_000}, {"id": 2, "part": "x", "n": now}, {"id": 3, "part": "x"}])
    # The newer record has expired, so the older one is visible again.
    table.append([{"id": 2, "part": "x", "n": 5}])
    assert table.scan().to_arrow()["n"].to_pylist() == [now - 100_000, 5, None]
    table.compact()
    assert table.scan().to_arrow().select(["id", "n"]).to_pylist() == [{"id": 2, "n": now}, {"id": 3, "n": None}]
    assert table.compact().snapshot_id is None, "nothing is left to drop"
    table.overwrite([{"id": 4, "part": "x", "n": 1}])
    assert [level for _, level in names_and_levels(table)] == [5]
    assert table.compact().removed_files == 1
    assert table.scan().count() == 0


def test_the_time_of_records_is_a_column(tmp_path: Path) -> None:
    for field in ("part", "nope"):
        with pytest.raises(errors.InvalidArgumentError, match=r"record-level\.time-field"):
            create(
                tmp_path,
                keys=("id",),
                bucket=1,
                **{"record-level.expire-time": "1 d", "record-level.time-field": field},
            )
    assert files(tmp_path) == set()


def test_partitions_are_chosen_by_their_keys(tmp_path: Path) -> None:
    table = create(tmp_path, keys=("part", "id"), partitioned=True, bucket=1)
    for _ in range(2):
        table.append([{"id": 1, "part": part} for part in ("a", "b", "c")])
    table.compact(where="part >= 'b'")
    levels = sorted((file["partition"], file["level"]) for file in table.inspect.files().to_pylist())
    assert levels == [("{a}", 0), ("{a}", 0), ("{b}", 5), ("{c}", 5)]
    assert table.compact(where="part = 'z'").snapshot_id is None
    assert table.compact(partitions=[{"part": "a"}], where="part = 'b'").snapshot_id is None
    before = files(tmp_path)
    for where, named in [("id = 1", "column: id"), ("part = 'a' or n is null", "column: n"), ("nope = 1", "nope")]:
        with pytest.raises(errors.InvalidArgumentError, match=named):
            table.compact(where=where)
    assert files(tmp_path) == before


def names_and_levels(table: Table) -> list[tuple[str, int]]:
    return sorted((file["file_path"], file["level"]) for file in table.inspect.files().to_pylist())


def test_a_file_that_shares_no_key_only_changes_its_level(tmp_path: Path) -> None:
    table = create(tmp_path, keys=("id",), bucket=1)
    table.append([{"id": 1, "part": "x"}])
    ((name, level),) = names_and_levels(table)
    assert level == 0
    done = table.compact()
    assert (done.added_files, done.removed_files) == (1, 1)
    assert names_and_levels(table) == [(name, 5)]
    assert table.scan().count() == 1
    table.append([{"id": 1, "part": "x", "_ROW_KIND": "-D"}])
    table.compact()
    assert names_and_levels(table) == [], "a file with deletes is rewritten in the highest level"


def test_a_lost_change_of_level_deletes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, keys=("id",), bucket=1)
    table.append([{"id": 1, "part": "x"}])
    import frazil.paimon._compacting as compacting

    original = compacting.compacted

    def meanwhile(*args: Any, **options: Any) -> list[bytes]:
        messages = original(*args, **options)
        monkeypatch.undo()
        frazil.load_table(tmp_path / "t").compact()  # type: ignore[attr-defined]
        return messages

    monkeypatch.setattr(compacting, "compacted", meanwhile)
    assert table.compact().snapshot_id is None, "the other writer left nothing to do"
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [1]


def between_plan_and_commit(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Call each of `acts` once, after a compaction has written its files and before it is committed."""
    import frazil.paimon._compacting as compacting

    original, waiting = compacting.compacted, list(acts)

    def meanwhile(*args: Any, **options: Any) -> list[bytes]:
        messages = original(*args, **options)
        if waiting:
            act = waiting.pop(0)
            others, waiting[:] = waiting[:], []
            act()
            waiting[:] = others
        return messages

    monkeypatch.setattr(compacting, "compacted", meanwhile)


def test_only_buckets_that_others_changed_are_compacted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, keys=("part", "id"), partitioned=True, bucket=1)
    for n in range(3):
        table.append([{"id": 1, "part": part, "n": n} for part in ("a", "b", "c")])
    other = frazil.load_table(tmp_path / "t")

    def compacts() -> None:
        other.compact(where="part = 'b'")  # type: ignore[attr-defined]
        other.append([{"id": 2, "part": "b", "n": 9}])

    before = files(tmp_path)
    between_plan_and_commit(monkeypatch, compacts)
    done = table.compact()
    assert operations(table) == ["append"] * 3 + ["compact", "append", "compact", "compact"]
    assert (done.added_files, done.removed_files) == (3, 8)
    found = {(file["partition"], file["level"]) for file in table.inspect.files().to_pylist()}
    assert found == {("{a}", 5), ("{b}", 5), ("{c}", 5)}
    assert sorted(row["n"] for row in table.scan().to_arrow().to_pylist()) == [2, 2, 2, 9]
    # Of partition b: the file of the other compaction, the appended one, and the one of both. No file of the lost part.
    assert len([name for name in files(tmp_path) - before if name.startswith("t/part=b")]) == 3


def test_compaction_gives_up_when_others_are_always_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, keys=("part", "id"), partitioned=True, bucket=1, **{"commit.max-retries": "2"})
    for n in range(2):
        table.append([{"id": 1, "part": part, "n": n} for part in ("a", "b")])
    other = frazil.load_table(tmp_path / "t")

    def compacts() -> None:
        other.append([{"id": 3, "part": "b"}])
        other.compact(where="part = 'b'")  # type: ignore[attr-defined]
        other.append([{"id": 4, "part": "b"}])

    between_plan_and_commit(monkeypatch, *[compacts] * 4)
    with pytest.raises(errors.CommitConflictError, match=r"the same buckets each time.*commit\.max-retries"):
        table.compact()
    levels = sorted((file["partition"], file["level"]) for file in table.refresh().inspect.files().to_pylist())
    assert levels == [("{a}", 5), ("{b}", 0), ("{b}", 5)]
    assert table.scan().count() == 4
    monkeypatch.undo()
    assert table.compact().removed_files == 2


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_compaction_keeps_the_row_of_two_writers_with_equal_sequence_numbers(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of the older file commits between plan and commit of a compaction of the younger file."""
    import frazil.paimon._operations as operations_of

    mine = create(tmp_path, keys=("id",), bucket=1, **{"merge-engine": engine})
    mine.append([{"id": 1, "part": "old"}])
    original, seen = operations_of.commit, []

    def late(*arguments: Any) -> int:
        monkeypatch.setattr(operations_of, "commit", original)
        time.sleep(0.01)
        mine.append([{"id": 1, "part": "younger"}])
        attempts = []

        def commits() -> None:
            attempts.append(original(*arguments))
            seen.extend(rows(mine))

        between_plan_and_commit(monkeypatch, commits)
        mine.compact()
        return attempts[0]

    monkeypatch.setattr(operations_of, "commit", late)
    frazil.load_table(tmp_path / "t").append([{"id": 1, "part": "older"}])  # type: ignore[attr-defined]
    assert seen == rows(mine)
    assert "younger" in seen[0]
    assert [level for _, level in names_and_levels(mine)] == [5]
    numbers = [snapshot["commit_kind"] for snapshot in mine.inspect.snapshots().to_pylist()]
    assert numbers == ["APPEND"] * 3 + ["COMPACT"]


def test_overwritten_buckets_are_in_the_highest_level(tmp_path: Path) -> None:
    for upgrade, level in [("true", 5), ("false", 0)]:
        folder = tmp_path / upgrade
        table = create(folder, keys=("id",), bucket=1, **{"overwrite-upgrade": upgrade})
        table.overwrite([{"id": 1, "part": "x"}])
        assert [found for _, found in names_and_levels(table)] == [level]


def test_files_are_compacted_with_the_newest_schema(tmp_path: Path) -> None:
    table = create(tmp_path, keys=("id",), bucket=1)
    for i in range(2):
        table.append([{"id": i, "part": "x", "n": i}])
    schema = json.loads((tmp_path / "t/schema/schema-0").read_text())
    fields = [field for field in schema["fields"] if field["name"] != "n"]
    fields.append({"id": schema["highestFieldId"] + 1, "name": "new", "type": "INT"})
    schema.update(id=1, fields=fields, highestFieldId=schema["highestFieldId"] + 1)
    (tmp_path / "t/schema/schema-1").write_text(json.dumps(schema))
    table = table.refresh()
    table.compact()
    assert set(table.inspect.files()["schema_id"].to_pylist()) == {1}
    assert table.scan().to_arrow().column_names == ["id", "part", "deep", "new"]
    assert table.scan().count() == 2


def test_wrong_partitions_and_views_are_named(tmp_path: Path) -> None:
    table = create(tmp_path, partitioned=True)
    table.append([{"id": 1, "part": "x"}])
    before = files(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match="no partition matches these values"):
        table.compact(partitions=[{"part": "z"}])
    with pytest.raises(errors.InvalidArgumentError, match="`n` is not a partition key"):
        table.compact(partitions=[{"n": 1}])
    with pytest.raises(errors.UnsupportedError, match="read-optimized"):
        table.read_optimized().compact()
    assert files(tmp_path) == before
