"""Deletes, updates and merges of Paimon tables without a primary key, against a list of rows."""

from __future__ import annotations

import math
import random
import shutil
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from frazil.paimon import _compacting, _file_rewriter
from support.added_columns import AddedColumns
from support.cases import GOLDEN, SHARED
from support.paimon_garbage import garbage, missing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.paimon import Table

Row = dict[str, Any]

SCHEMA = {"part": "STRING", "id": "BIGINT", "v": "INT", "x": "DOUBLE", "a.b": "STRING", "_POSITION": "INT"}
KINDS: dict[str, tuple[list[str], dict[str, object]]] = {
    "unaware": ([], {}),
    "small files": ([], {"target-file-size": "1 kb", "compaction.min.file-num": 3}),
    "partitioned": (["part"], {}),
    "bucketed": ([], {"bucket": 3, "bucket-key": "id"}),
    "bucketed by two": (["part"], {"bucket": 2, "bucket-key": "id,x", "write-only": "true"}),
    "orc": (["part"], {"file.format": "orc"}),
    "avro": ([], {"bucket": 2, "bucket-key": "id", "file.format": "avro"}),
    "vectors": ([], {"deletion-vectors.enabled": "true"}),
    "vectors in partitions": (["part"], {"deletion-vectors.enabled": "true", "file.format": "orc"}),
    "vectors in buckets": (
        ["part"],
        {"bucket": 2, "bucket-key": "id", "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    ),
    "indexes": ([], {"file-index.bloom-filter.columns": "id,part", "file-index.bitmap.columns": "v"}),
}


def create(folder: Path, kind: str = "unaware") -> Table:
    parts, options = KINDS[kind]
    # Avro names cannot contain a dot.
    columns = {("a_b" if name == "a.b" and kind == "avro" else name): text for name, text in SCHEMA.items()}
    table: Table = frazil.create_table(folder / "t", columns, format="paimon", partition_keys=parts, options=options)
    return table


def row(number: int, **values: object) -> Row:
    return {"part": "ab"[number % 2], "id": number, "v": number, "x": 0.5, "a.b": None, "_POSITION": -number} | values


def counted(rows: list[Row]) -> Counter[str]:
    """Return the rows as a multiset in which NaN equals NaN and -0.0 differs from 0.0."""
    return Counter(repr(sorted(row.items())) for row in rows)


def stored(table: Table, snapshot: int | None = None) -> list[Row]:
    scan = table.scan() if snapshot is None else table.scan(snapshot_id=snapshot)
    return scan.to_arrow().to_pylist()


class History:
    """Random changes of a table and of a list of rows."""

    def __init__(self, table: Table, seed: str) -> None:
        self.table, self.random = table, random.Random(seed)  # noqa: S311 - reproducible
        self.name = table.scan().schema().names[4]
        self.added = AddedColumns(self.random)
        self.rows: list[Row] = []
        self.known: dict[int, Counter[str]] = {}

    def new_rows(self, count: int) -> list[Row]:
        choose = self.random.choice
        return [
            self.added.values()
            | {
                "part": choose(["a", "b", None]),
                "id": self.random.randrange(30),
                "v": choose([None, *range(10)]),
                "x": choose([None, 0.0, -0.0, math.nan, 1.5, math.inf]),
                self.name: choose([None, "", "ü", "x'y"]),
                "_POSITION": self.random.randrange(5),
            }
            for _ in range(count)
        ]

    def condition(self) -> tuple[str, Callable[[Row], bool]]:
        number = self.random.randrange(10)
        conditions: list[tuple[str, Callable[[Row], bool]]] = [
            (f"v > {number}", lambda row: row["v"] is not None and row["v"] > number),
            (f"NOT v > {number}", lambda row: row["v"] is not None and row["v"] <= number),
            (f"id = {number}", lambda row: row["id"] == number),
            (
                f"id in ({number}, {number + 9}) or part is null",
                lambda row: row["id"] in (number, number + 9) or row["part"] is None,
            ),
            ("part = 'a'", lambda row: row["part"] == "a"),
            ("x = 0.0", lambda row: row["x"] == 0.0),
            ("x > 1.0", lambda row: row["x"] is not None and (math.isnan(row["x"]) or row["x"] > 1)),
            (
                f'"{self.name}" = \'ü\' and "_POSITION" >= 2',
                lambda row: row[self.name] == "ü" and row["_POSITION"] >= 2,
            ),
            ("id > 1000", lambda row: row["id"] > 1000),
            *self.added.conditions(),
        ]
        return self.random.choice(conditions)

    def append(self) -> None:
        new = self.new_rows(self.random.randrange(1, 25))
        self.table.append(pa.Table.from_pylist(new, self.table.scan().schema()))
        self.rows += self.added.written(new)

    def evolve(self) -> None:
        with self.table.update_schema() as update:
            change = self.random.choice(["name", "v", *["added"] * 6])
            if change == "v":
                update.update_column("v", "BIGINT")
            elif change == "name":
                old, self.name = self.name, self.name.rstrip("_") if self.name.endswith("_") else self.name + "_"
                update.rename_column((old,), self.name)
                self.rows = [{(self.name if name == old else name): row[name] for name in row} for row in self.rows]
            else:
                self.rows = self.added.evolve(update, self.rows)

    def delete(self) -> None:
        text, matches = self.condition()
        result = self.table.delete(text)
        kept = [row for row in self.rows if not matches(row)]
        assert counts(result) == (len(self.rows) - len(kept), 0, 0), text
        self.rows = kept

    def update(self) -> None:
        text, matches = self.condition()
        values: tuple[dict[str, Any], Callable[[Row], Row]] = self.random.choice(
            [
                ({"v": "CAST(id AS int) + 1"}, lambda row: {"v": row["id"] + 1}),
                ({"x": -0.0, f'"{self.name}"': None}, lambda row: row | {"x": -0.0, self.name: None}),
                ({"part": "'c'", "id": "id + 1"}, lambda row: {"part": "c", "id": row["id"] + 1}),
                ({"part": None}, lambda row: row | {"part": None}),
                *self.added.assignments(),
            ]
        )
        if self.added.lack_defaults(row | values[1](row) for row in self.rows if matches(row)):
            with pytest.raises(errors.InvalidArgumentError, match="written as the default of the column"):
                self.table.update(values[0], text)
            return
        result = self.table.update(values[0], text)
        changed = sum(map(matches, self.rows))
        assert counts(result) == (0, changed, 0), text
        self.rows = [row | values[1](row) if matches(row) else row for row in self.rows]

    def merge(self) -> None:
        source = {row["id"]: row for row in self.added.written(self.new_rows(6))}
        by_source = self.random.random() < 0.3
        merge = self.table.merge(pa.Table.from_pylist(list(source.values()), self.table.scan().schema()), ["id"])
        merge = merge.when_matched_delete("source.v = 3").when_matched_update_all("source.v > 3")
        if by_source:
            merge = merge.when_not_matched_by_source_update({"v": "7"}, "target.part = 'b'")
        merge = merge.when_not_matched_insert_all("source.id <> 5")
        if by_source and self.added.lack_defaults(
            row for row in self.rows if row["part"] == "b" and row["id"] not in source
        ):
            with pytest.raises(errors.InvalidArgumentError, match="written as the default of the column"):
                merge.execute()
            return
        result = merge.execute()
        deleted = updated = 0
        kept = []
        for old in self.rows:
            match = source.get(old["id"])
            if match is None and by_source and old["part"] == "b":
                kept.append(old | {"v": 7})
            elif match is not None and match["v"] is not None and match["v"] > 3:
                kept.append(match)
            elif match is not None and match["v"] == 3:
                deleted += 1
                continue
            else:
                kept.append(old)
                continue
            updated += 1
        known = {row["id"] for row in self.rows}
        new = [row for key, row in source.items() if key not in known and key != 5]
        assert counts(result) == (deleted, updated, len(new))
        self.rows = kept + new

    def upsert(self) -> None:
        source = {row["id"]: row for row in self.added.written(self.new_rows(5))}
        result = self.table.upsert(pa.Table.from_pylist(list(source.values()), self.table.scan().schema()), ["id"])
        assert result.deleted_rows == 0
        known = {row["id"] for row in self.rows}
        new = [row for key, row in source.items() if key not in known]
        assert result.inserted_rows == len(new)
        self.rows = [source.get(row["id"], row) for row in self.rows] + new

    def compact(self) -> None:
        self.table.compact()

    def overwrite(self) -> None:
        new = self.new_rows(20)
        self.table.overwrite(pa.Table.from_pylist(new, self.table.scan().schema()))
        self.rows = self.added.written(new)

    def check(self) -> None:
        snapshots = self.table.snapshots()
        if snapshots:
            # A snapshot keeps its schema.
            self.known.setdefault(snapshots[-1].snapshot_id, counted(self.rows))
        assert counted(stored(self.table)) == counted(self.rows)
        assert self.table.scan().count() == len(self.rows)


def counts(result: Any) -> tuple[int, int, int]:
    return result.deleted_rows, result.updated_rows, result.inserted_rows


STEPS = (
    ["append"] * 3
    + ["delete"] * 3
    + ["update"] * 4
    + ["merge"] * 3
    + ["upsert"] * 2
    + ["evolve"] * 5
    + ["compact", "overwrite"]
)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_histories(tmp_path: Path, kind: str, seed: int) -> None:
    history = History(create(tmp_path, kind), f"{kind} {seed}")
    history.append()
    history.check()
    for _ in range(16):
        getattr(history, history.random.choice(STEPS))()
        history.check()
    for snapshot, rows in history.known.items():
        assert counted(stored(history.table, snapshot)) == rows
    folder = tmp_path / "t"
    assert not missing(folder)
    assert not garbage(folder)
    files = history.table.inspect.files().to_pylist()
    vectors = [one for index in history.table.inspect.table_indexes().to_pylist() for one in index["dv_ranges"]]
    assert {one["f0"] for one in vectors} <= {file["file_path"].rpartition("/")[2] for file in files}
    deleted = sum(one["_CARDINALITY"] for one in vectors)
    assert sum(file["record_count"] for file in files) == len(history.rows) + deleted


def test_files_without_matches_stay_and_no_match_makes_no_snapshot(tmp_path: Path) -> None:
    table = create(tmp_path)
    for start in (0, 10, 20):
        table.append([row(start + n) for n in range(10)])
    before = {file["file_path"] for file in table.inspect.files().to_pylist()}
    for nothing in (table.delete("id = 99 or v = 1 and v = 2"), table.update({"v": 1}, "v is null")):
        assert nothing.snapshot_id is None
        assert counts(nothing) == (0, 0, 0)
    assert not garbage(tmp_path / "t")
    result = table.delete("id in (3, 13)")
    assert (result.deleted_rows, result.removed_files, result.added_files) == (2, 2, 2)
    after = {file["file_path"] for file in table.inspect.files().to_pylist()}
    assert len(before & after) == 1
    whole = table.delete("id >= 20")
    assert (whole.deleted_rows, whole.removed_files, whole.added_files) == (10, 1, 0)


def test_rows_keep_their_order_and_sequence_numbers_in_buckets(tmp_path: Path) -> None:
    table = create(tmp_path, "bucketed by two")
    table.append([row(n, part="a", id=1) for n in range(5)])
    table.append([row(n, part="a", id=1) for n in range(5, 8)])
    table.update({"a.b": "'new'"}, "v = 2")
    table.delete("v = 1")
    assert [(one["v"], one["a.b"]) for one in stored(table)] == [
        (0, None), (2, "new"), (3, None), (4, None), (5, None), (6, None), (7, None)
    ]  # fmt: skip
    files = table.inspect.files().to_pylist()
    assert sorted((file["min_sequence_number"], file["max_sequence_number"]) for file in files) == [(0, 3), (5, 7)]


@pytest.mark.parametrize("kind", ["unaware", "bucketed", "vectors", "vectors in buckets"])
def test_a_concurrent_append_is_no_conflict(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, kind)
    table.append([row(n) for n in range(6)])
    _before_commit(monkeypatch, lambda: create_again(tmp_path).append([row(1), row(7)]))
    assert table.delete("id < 3").deleted_rows == 3
    assert sorted(one["id"] for one in stored(table)) == [1, 3, 4, 5, 7]


@pytest.mark.parametrize("kind", ["unaware", "vectors", "vectors in partitions"])
@pytest.mark.parametrize("other", ["delete", "compact", "overwrite", "update"])
def test_a_change_is_planned_again_after_a_concurrent_rewrite(
    tmp_path: Path, kind: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path, kind)
    for start in range(0, 6, 2):
        table.append([row(start), row(start + 1)])
    calls: dict[str, Callable[[Table], object]] = {
        "delete": lambda table: table.delete("id = 1"),
        "compact": lambda table: table.compact(),
        "overwrite": lambda table: table.overwrite([row(0), row(9)]),
        "update": lambda table: table.update({"v": 100}, "id = 0"),
    }
    _before_commit(monkeypatch, lambda: calls[other](create_again(tmp_path)))
    result = table.update({"v": "v + 1"}, "id < 3")
    found = {one["id"]: one["v"] for one in stored(table)}
    expected = {
        "delete": {0: 1, 2: 3, 3: 3, 4: 4, 5: 5},
        "compact": {0: 1, 1: 2, 2: 3, 3: 3, 4: 4, 5: 5},
        "overwrite": {0: 1, 9: 9},
        "update": {0: 101, 1: 2, 2: 3, 3: 3, 4: 4, 5: 5},
    }
    assert found == expected[other]
    assert result.updated_rows == sum(key < 3 for key in found)
    assert not garbage(tmp_path / "t")


@pytest.mark.parametrize("kind", ["vectors", "vectors in partitions", "vectors in buckets"])
@pytest.mark.parametrize("has_vectors", [False, True])
def test_a_compaction_keeps_concurrent_deletes(
    tmp_path: Path,
    kind: str,
    has_vectors: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = create(tmp_path, kind)
    for start in range(0, 12, 4):
        table.append([row(start + n) for n in range(4)])
    if has_vectors:
        table.delete("id in (0, 5)")
    compacted, left = _compacting.compacted, [1]

    def interrupted(*arguments: Any) -> list[bytes]:
        messages = compacted(*arguments)
        if left:
            left.clear()
            create_again(tmp_path).delete("id in (1, 6)")
        return messages

    monkeypatch.setattr(_compacting, "compacted", interrupted)
    table.compact()
    assert not left
    expected = {*range(12)} - {1, 6} - ({0, 5} if has_vectors else set())
    assert {one["id"] for one in stored(table)} == expected
    table.compact()
    assert {one["id"] for one in stored(table)} == expected
    assert table.inspect.table_indexes().num_rows == 0
    assert not garbage(tmp_path / "t")


def test_files_with_many_deleted_rows_are_compacted(tmp_path: Path) -> None:
    table = create(tmp_path, "vectors")
    table.append([row(n) for n in range(10)])
    table.delete("id < 2")
    assert table.compact(full=False).snapshot_id is None
    table.delete("id = 2")
    assert table.compact(full=False).snapshot_id == 4
    assert [file["record_count"] for file in table.inspect.files().to_pylist()] == [7]
    table.set_properties({"compaction.delete-ratio-threshold": "0.9"})
    table.delete("id > 4")
    assert table.compact(full=False).snapshot_id is None
    assert table.compact().snapshot_id == 6
    assert sorted(one["id"] for one in stored(table)) == [3, 4]


CHANGES: dict[str, Callable[[Table], Any]] = {
    "delete": lambda table: table.delete("v >= 0"),
    "update": lambda table: table.update({"v": "v + 1"}, "v >= 0"),
    "merge": lambda table: table.merge([row(n) for n in range(6)], ["id"]).when_matched_delete().execute(),
    "upsert": lambda table: table.upsert([row(n, v=100) for n in range(6)], ["id"]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("times", [1, 3])
def test_a_change_is_planned_again_if_its_snapshot_expires(
    tmp_path: Path, change: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path)
    for start in range(0, 6, 2):
        table.append([row(start), row(start + 1)])
    left = list(range(times))
    execute = _file_rewriter.FileRewriter.execute

    def expired_first(self: _file_rewriter.FileRewriter) -> object:
        if left:
            other = create_again(tmp_path)
            with monkeypatch.context() as patch:
                patch.setattr(_file_rewriter.FileRewriter, "execute", execute)
                other.update({"v": "v"}, f"id = {left.pop()}")
            other.expire_snapshots(retain_max=1, retain_min=1).apply()
        return execute(self)

    monkeypatch.setattr(_file_rewriter.FileRewriter, "execute", expired_first)
    result = CHANGES[change](table)
    assert not left
    assert sum(counts(result)) == 6
    assert len(stored(table)) == (0 if change in ("delete", "merge") else 6)
    assert not garbage(tmp_path / "t")


def test_a_lost_file_is_an_error(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1), row(2)])
    (lost,) = (tmp_path / "t" / "bucket-0").iterdir()
    lost.unlink()
    for change in CHANGES.values():
        with pytest.raises(errors.MissingFileError, match=lost.name):
            change(table)
    assert [snapshot.snapshot_id for snapshot in table.snapshots()] == [1]


def test_a_delete_of_all_rows_opens_no_data_file(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1), row(2)])
    table.append([row(3)])
    for file in (tmp_path / "t" / "bucket-0").iterdir():
        file.write_bytes(b"")
    assert counts(table.delete()) == (3, 0, 0)
    assert stored(table) == []
    assert counts(table.delete()) == (0, 0, 0)


def test_a_change_that_always_loses_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, format="paimon", options={"commit.max-retries": 2})
    table.append([row(n) for n in range(6)])
    _before_commit(monkeypatch, lambda: create_again(tmp_path).update({"v": "v + 1"}), times=9)
    with pytest.raises(errors.CommitConflictError):
        table.delete("id = 1")
    monkeypatch.undo()
    assert sorted(one["v"] for one in stored(table)) == [3, 4, 5, 6, 7, 8]
    assert not garbage(tmp_path / "t")


@pytest.mark.parametrize("kind", ["unaware", "vectors"])
def test_racing_writers_lose_no_row(tmp_path: Path, kind: str) -> None:
    create(tmp_path, kind).append([row(n) for n in range(40)])
    failures: list[BaseException] = []

    def work(writer: int) -> None:
        try:
            table = create_again(tmp_path)
            for n in range(writer, 40, 4):
                if n % 8 < 4:
                    table.delete(f"id = {n}")
                else:
                    table.update({"v": "v + 1000"}, f"id = {n}")
                table.append([row(100 + n)])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    expected = {n: n + 1000 for n in range(40) if n % 8 >= 4} | {100 + n: 100 + n for n in range(40)}
    found = stored(create_again(tmp_path))
    assert len(found) == len(expected)
    assert {one["id"]: one["v"] for one in found} == expected
    assert not garbage(tmp_path / "t")


def test_a_source_that_matches_a_row_twice_changes_nothing(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1), row(2)])
    merge = table.merge([row(1, v=5), row(1, v=6)], ["id"]).when_matched_update_all()
    with pytest.raises(errors.InvalidArgumentError, match="source"):
        merge.execute()
    with pytest.raises(errors.InvalidArgumentError, match="join_cols must specify the key columns"):
        table.upsert([row(1)])
    assert table.snapshots()[-1].snapshot_id == 1
    assert not garbage(tmp_path / "t")


def test_null_is_refused_in_required_columns(tmp_path: Path) -> None:
    columns = {"id": "BIGINT NOT NULL", "v": "INT"}
    table = frazil.create_table(tmp_path / "t", columns, format="paimon")
    table.append([{"id": 1, "v": 1}])
    with pytest.raises(errors.InvalidArgumentError, match="required column `id` is NULL"):
        table.update({"id": None})
    assert not garbage(tmp_path / "t")
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "v": 1}]


@pytest.mark.parametrize("name", ["row_tracking_compacted", "data_evolution"])
def test_tables_that_append_refuses_are_refused(tmp_path: Path, name: str) -> None:
    shutil.copytree(GOLDEN / "paimon/g.db" / name, tmp_path / "t")
    table = create_again(tmp_path)
    column = table.scan().schema().names[0]
    calls: list[Callable[[], object]] = [
        table.delete,
        lambda: table.update({column: None}),
        lambda: table.merge(table.scan().to_arrow(), [column]).when_matched_delete().execute(),
        lambda: table.upsert(table.scan().to_arrow(), [column]),
    ]
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    for call in calls:
        with pytest.raises(errors.UnsupportedError, match=r"row-tracking|data-evolution"):
            call()
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("keys", [[], ["id"]])
def test_vectors_stay_in_force_after_they_are_switched_off(tmp_path: Path, keys: list[str]) -> None:
    options = {
        "bucket": 1,
        "bucket-key": "id",
        "deletion-vectors.enabled": "true",
        "deletion-vectors.modifiable": "true",
    }
    table = frazil.create_table(tmp_path / "t", SCHEMA, format="paimon", primary_keys=keys, options=options)
    for start in (0, 10, 20):
        table.append([row(start + n) for n in range(10)])
    table.delete("id in (1, 2, 11)")
    assert table.inspect.table_indexes().num_rows
    table.set_properties({"deletion-vectors.enabled": "false"})
    left = {*range(30)} - {1, 2, 11}
    assert {one["id"] for one in stored(table)} == left
    table.delete("id in (3, 12, 25)")
    left -= {3, 12, 25}
    assert {one["id"] for one in stored(table)} == left
    table.append([row(40)])
    table.compact()
    assert {one["id"] for one in stored(table)} == left | {40}
    assert not table.inspect.table_indexes().num_rows
    assert not garbage(tmp_path / "t")


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", sorted(path.name for path in (SHARED / "golden/paimon/g.db").glob("append_dv_*")) or [None]
)
def test_vectors_of_java_are_kept(tmp_path: Path, name: str | None) -> None:
    if name is None:
        pytest.skip("no tables in ../shared")
    shutil.copytree(SHARED / "golden/paimon/g.db" / name, tmp_path / "t")
    table = create_again(tmp_path)
    key = table.scan().schema().names[0]
    rows = stored(table)
    chosen = sorted(row[key] for row in rows)[:: len(rows) // 3]
    for value in chosen:
        assert table.delete(f"{key} = {value}").deleted_rows == 1
        rows = [row for row in rows if row[key] != value]
        assert counted(stored(table)) == counted(rows)
    assert table.inspect.table_indexes().num_rows
    table.compact()
    assert counted(stored(table)) == counted(rows)
    assert not table.inspect.table_indexes().num_rows
    table.expire_snapshots(retain_max=1, retain_min=1).apply()
    assert counted(stored(table)) == counted(rows)
    assert not garbage(tmp_path / "t")


def test_a_commit_identifier_is_committed_once(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(n) for n in range(4)])
    for _ in range(2):
        table.update({"v": "v + 1"}, commit_user="u", identifier=3)
    assert sorted(one["v"] for one in stored(table)) == [1, 2, 3, 4]
    assert not garbage(tmp_path / "t")


def create_again(folder: Path) -> Table:
    table: Table = frazil.load_table(folder / "t", format="paimon")
    return table


def _before_commit(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], times: int = 1) -> None:
    """Run `work` after the files of an attempt are written, before they are committed."""
    execute = _file_rewriter.FileRewriter.execute
    left = [times]

    def interrupted(self: _file_rewriter.FileRewriter) -> object:
        messages = execute(self)
        if left[0]:
            count, left[0] = left[0], 0
            work()
            left[0] = count - 1
        return messages

    monkeypatch.setattr(_file_rewriter.FileRewriter, "execute", interrupted)
