"""Tests of primary-key tables with dynamic buckets: every key has one bucket, whoever writes it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support.paimon_files import HINTS, files_in, files_known

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

SCHEMA = {"id": "BIGINT NOT NULL", "part": "STRING NOT NULL", "n": "INT"}
INPUT = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int32()), ("_ROW_KIND", pa.string())])


def create(folder: Path, *, partitioned: bool = False, **options: Any) -> Table:
    table: Any = frazil.create_table(
        folder / "t",
        SCHEMA,
        format="paimon",
        primary_keys=["part", "id"] if partitioned else ["id"],
        partition_keys=["part"] if partitioned else [],
        options=options,
    )
    return table


def rows(table: Table) -> list[tuple[str, int, int | None]]:
    return sorted((row["part"], row["id"], row["n"]) for row in table.scan().to_arrow().to_pylist())


def buckets_of_keys(table: Table) -> dict[tuple[str, int], int]:
    """Return the bucket of each key, of all records including deletes; a key in two buckets fails."""
    found: dict[tuple[str, int], int] = {}
    for split in table.audit_log().scan().plan_files():
        for row in (row for rows in split.to_arrow_batches() for row in rows.to_pylist()):
            key = (row["part"] if table.partition_keys else "", row["id"])
            assert found.setdefault(key, split.bucket) == split.bucket, key
    return found


def indexed(table: Table) -> dict[tuple[str, int], int]:
    """Return the number of indexed keys of each bucket."""
    found = table.inspect.table_indexes().to_pylist()
    assert {row["index_type"] for row in found} <= {"HASH"}
    assert all(row["file_size"] == 4 * row["row_count"] for row in found)
    counts = {(row["partition"], row["bucket"]): row["row_count"] for row in found}
    assert len(counts) == len(found)
    return counts


def test_the_default_of_a_table_with_a_key_is_dynamic_buckets(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([{"id": 1, "part": "x", "n": 1}, {"id": 2, "part": "x", "n": 2}])
    table.append([{"id": 2, "part": "x", "n": 3}, {"id": 3, "part": "x"}])
    assert rows(table) == [("x", 1, 1), ("x", 2, 3), ("x", 3, None)]
    assert list(indexed(table).values()) == [3]
    names = {name.split("/")[0] for name in files_in(table)}
    assert names == {"bucket-0", "index", "manifest", "schema", "snapshot"}


PARTS = ["x", "y", "é /="]


class Random:
    """Random changes of a table, and the rows that they give."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - not a secret
        choice, likely = self.random.choice, self.random.random
        self.partitioned = likely() < 0.6
        self.target = choice([1, 3, 10, 1000])
        self.most = choice([1, 2, 5]) if likely() < 0.4 else None
        options: dict[str, Any] = {"dynamic-bucket.target-row-num": self.target}
        if self.most:
            options["dynamic-bucket.max-buckets"] = self.most
        if likely() < 0.2:
            options["index-file-in-data-file-dir"] = "true"
        if likely() < 0.3:
            options["num-sorted-run.compaction-trigger"] = 2
        self.table = create(folder, partitioned=self.partitioned, **options)
        self.handles: list[Any] = [self.table, frazil.load_table(self.table.location, format="paimon")]
        self.model: dict[Any, dict[str, Any]] = {}

    def batch(self) -> pa.Table:
        choice = self.random.choice
        return pa.Table.from_pylist(
            [
                {
                    "id": self.random.randint(0, 60),
                    "part": choice(PARTS),
                    "n": choice([None, 1, 2]),
                    "_ROW_KIND": choice(["+I", "+I", "+U", "-D", None]),
                }
                for _ in range(choice([1, 10, 80]))
            ],
            schema=INPUT,
        )

    def step(self) -> None:
        handle = self.random.choice(self.handles)
        step = self.random.choice(["append", "append", "append", "overwrite", "dynamic", "truncate", "compact"])
        if step == "compact":
            handle.compact()
        elif step == "truncate":
            handle.truncate()
            self.model.clear()
        else:
            self.write(handle, step, self.batch())

    def write(self, handle: Any, step: str, data: pa.Table) -> None:
        verbs = {"overwrite": handle.overwrite, "dynamic": handle.dynamic_partition_overwrite}
        verbs.get(step, handle.append)(iter(data.to_batches(max_chunksize=7)))
        replaced: set[str] = set() if step == "append" else set(PARTS)
        if step == "dynamic" and self.partitioned:
            replaced = set(data["part"].to_pylist())
        self.model = {key: row for key, row in self.model.items() if row["part"] not in replaced}
        for row in data.to_pylist():
            self.model[(row["part"], row["id"]) if self.partitioned else row["id"]] = row

    def check(self) -> None:
        kept = [row for row in self.model.values() if row["_ROW_KIND"] != "-D"]
        assert rows(self.table) == sorted((row["part"], row["id"], row["n"]) for row in kept)
        buckets_of_keys(self.table)
        counts = indexed(self.table)
        assert sum(counts.values()) >= len(self.model)
        if self.most:
            assert all(bucket < self.most for _, bucket in counts)
        else:
            assert all(count <= self.target for count in counts.values())


@pytest.mark.parametrize("seed", range(25))
def test_random_changes_give_the_rows_of_a_dictionary(tmp_path: Path, seed: int) -> None:
    changes = Random(tmp_path, seed)
    for _ in range(changes.random.randint(2, 8)):
        changes.step()
        changes.check()
    assert files_in(changes.table) - HINTS == files_known(changes.table) | {"schema/schema-0"}


def test_writers_that_plan_on_the_same_snapshot_share_the_buckets(tmp_path: Path) -> None:
    table = create(tmp_path, **{"dynamic-bucket.target-row-num": 100})
    table.append([{"id": 0, "part": "x"}])
    other: Any = frazil.load_table(table.location, format="paimon")

    def overtaken() -> Any:
        yield pa.RecordBatch.from_pylist([{"id": 1, "part": "x", "n": 1}], schema=INPUT)
        other.append([{"id": 1, "part": "x", "n": 2}, {"id": 2, "part": "x", "n": 2}])
        yield pa.RecordBatch.from_pylist([{"id": 3, "part": "x", "n": 3}], schema=INPUT)

    table.append(overtaken())
    assert [row[1] for row in rows(table)] == [0, 1, 2, 3]
    assert list(indexed(table).values()) == [4]
    assert files_in(table) - HINTS == files_known(table) | {"schema/schema-0"}
    table.append([{"id": number, "part": "x", "n": 9} for number in range(5)])
    assert rows(table) == [("x", number, 9) for number in range(5)]


def test_a_key_that_another_writer_gave_another_bucket_is_a_conflict(tmp_path: Path) -> None:
    table = create(tmp_path, **{"dynamic-bucket.target-row-num": 1})
    other: Any = frazil.load_table(table.location, format="paimon")

    def overtaken() -> Any:
        yield pa.RecordBatch.from_pylist([{"id": 1, "part": "x", "n": 1}], schema=INPUT)
        other.append([{"id": 2, "part": "x", "n": 2}, {"id": 1, "part": "x", "n": 2}])

    with pytest.raises(errors.CommitConflictError, match="another writer assigned a key to another bucket"):
        table.append(overtaken())
    assert rows(table) == [("x", 1, 2), ("x", 2, 2)]
    assert files_in(table) - HINTS == files_known(table) | {"schema/schema-0"}
    table.append([{"id": 1, "part": "x", "n": 3}])
    assert rows(table) == [("x", 1, 3), ("x", 2, 2)]


def test_rows_for_a_bucket_that_was_overwritten_are_a_conflict(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([{"id": 1, "part": "x"}])
    other: Any = frazil.load_table(table.location, format="paimon")

    def overtaken() -> Any:
        yield pa.RecordBatch.from_pylist([{"id": 1, "part": "x", "n": 1}], schema=INPUT)
        other.overwrite([{"id": 5, "part": "x", "n": 5}])

    with pytest.raises(errors.CommitConflictError, match="another writer replaced the rows"):
        table.append(overtaken())
    assert rows(table) == [("x", 5, 5)]
    assert files_in(table) - HINTS == files_known(table) | {"schema/schema-0"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dynamic-bucket.target-row-num": 0}, "dynamic-bucket.target-row-num"),
        ({"dynamic-bucket.max-buckets": 0}, "dynamic-bucket.max-buckets"),
        ({"dynamic-bucket.max-buckets": 40_000}, "dynamic-bucket.max-buckets"),
        ({"bucket-key": "id"}, "bucket-key"),
    ],
)
def test_options_that_leave_no_bucket_are_refused(tmp_path: Path, options: dict[str, Any], named: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=named):
        create(tmp_path, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_index_of_keys_fails_the_write(tmp_path: Path, damage: str) -> None:
    table = create(tmp_path)
    table.append([{"id": 1, "part": "x"}])
    (index,) = (tmp_path / "t" / "index").iterdir()
    if damage == "cut":
        index.write_bytes(index.read_bytes()[:3])
    else:
        index.unlink()
    before = files_in(table)
    with pytest.raises((errors.CorruptDataError, errors.MissingFileError), match="index-"):
        table.append([{"id": 1, "part": "x"}])
    assert files_in(table) == before
