"""Tests of Paimon tables whose compactions look up records: deletion vectors, first-row, and `force-lookup`.

Rows of level 0 are not visible in most of them, so each write compacts: no row that was written is invisible, and no
row that was replaced is visible.
"""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

import frazil
from frazil import errors
from frazil._write_result import WriteResult
from frazil.paimon._input_rows import write_rows
from frazil.paimon._messages import Messages, commit
from frazil.paimon._state import CommitOptions, TableState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from frazil.paimon import Table

COLUMNS = [("id", "BIGINT NOT NULL"), ("part", "STRING NOT NULL"), ("n", "INT"), ("s", "STRING")]
VECTORS = {"deletion-vectors.enabled": "true"}
FIRST_ROW = {"merge-engine": "first-row"}
TABLES: dict[str, dict[str, str]] = {
    "vectors": VECTORS,
    "bitmap64": VECTORS | {"deletion-vectors.bitmap64": "true"},
    "vectors by sequence": VECTORS | {"sequence.field": "n"},
    "vectors and partial update": VECTORS | {"merge-engine": "partial-update"},
    "vectors and aggregation": VECTORS | {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    "vectors merged on read": VECTORS | {"deletion-vectors.merge-on-read": "true"},
    "first row": FIRST_ROW,
    "lookup": {"force-lookup": "true"},
    "lookup and partial update": {"force-lookup": "true", "merge-engine": "partial-update"},
    "small files": VECTORS | {"target-file-size": "2 kb", "num-levels": "4"},
    "orc and avro": VECTORS | {"file.format": "orc", "file.format.per.level": "0:avro"},
}


def create(folder: Path, options: dict[str, str], **more: Any) -> Table:
    given = {"bucket": "1", **options, **more}
    return frazil.create_table(
        folder / "t",
        COLUMNS,
        format="paimon",
        primary_keys=("part", "id"),
        partition_keys=["part"],
        options={name.replace("__", "-"): str(value) for name, value in given.items()},
    )


def rows(table: Table) -> dict[tuple[str, int], tuple[int | None, str | None]]:
    found = table.scan().to_arrow().to_pylist()
    by_key = {(row["part"], row["id"]): (row["n"], row["s"]) for row in found}
    assert len(by_key) == len(found), "a key has two rows"
    return by_key


class Model:
    """The rows of a table, key by key."""

    def __init__(self, options: dict[str, str]) -> None:
        self.engine = options.get("merge-engine", "deduplicate")
        self.sequence = "sequence.field" in options
        self.rows: dict[tuple[str, int], tuple[int | None, str | None]] = {}
        self.deleted: dict[tuple[str, int], int | None] = {}

    def add(self, record: dict[str, Any]) -> None:
        key, new = (record["part"], record["id"]), (record["n"], record["s"])
        old = self.rows.get(key)
        if record["_ROW_KIND"] == "-D":
            self.rows.pop(key, None)
        elif old is None:
            self.rows[key] = new
        elif self.engine == "partial-update":
            self.rows[key] = (old[0] if new[0] is None else new[0], old[1] if new[1] is None else new[1])
        elif self.engine == "aggregation":
            total = new[0] if old[0] is None else old[0] if new[0] is None else old[0] + new[0]
            self.rows[key] = (total, old[1] if new[1] is None else new[1])
        elif self.engine == "deduplicate" and (not self.sequence or (new[0] or 0) >= (old[0] or 0)):
            self.rows[key] = new


def some(seeded: random.Random, count: int, *, deletes: bool, sequence: bool) -> list[dict[str, Any]]:
    return [
        {
            "id": seeded.randint(0, 400),
            "part": seeded.choice(["x", "y"]),
            "n": seeded.randint(1, 9) if sequence else seeded.choice([None, 1, 2, 3]),
            "s": seeded.choice([None, "a", "b" * seeded.randint(1, 40)]),
            "_ROW_KIND": "-D" if deletes and seeded.random() < 0.2 else "+I",
        }
        for _ in range(count)
    ]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_visible_after_each_write(tmp_path: Path, name: str, seed: int) -> None:
    options = TABLES[name]
    seeded = random.Random(f"{name}{seed}")  # noqa: S311 - not a secret
    table, model = create(tmp_path, options), Model(options)
    deletes = model.engine == "deduplicate" and not model.sequence
    for step in range(14):
        added = some(seeded, seeded.choice([1, 20, 300]), deletes=deletes, sequence=model.sequence)
        table.append(added)
        for record in added:
            model.add(record)
        if seeded.random() < 0.15:
            table.compact(full=seeded.random() < 0.5)
        assert rows(table) == model.rows, (name, step)
        if name != "vectors merged on read" and "deletion-vectors.enabled" in options:
            assert {file["level"] for file in table.inspect.files().to_pylist()} <= {1, 2, 3, 4, 5}
    for snapshot in table.snapshots():
        table.scan(snapshot_id=snapshot.snapshot_id).count()


def test_vectors_mark_replaced_rows_and_go_with_their_files(tmp_path: Path) -> None:
    table = create(tmp_path, VECTORS)
    table.append([{"id": i, "part": "x", "n": i} for i in range(1000)])
    assert table.inspect.table_indexes().num_rows == 0
    done = table.append([{"id": 5, "part": "x", "n": -5}, {"id": 7, "part": "x", "_ROW_KIND": "-D"}])
    assert done.snapshot_id == 4
    (index,) = table.inspect.table_indexes().to_pylist()
    assert (index["index_type"], index["row_count"]) == ("DELETION_VECTORS", 1)
    (ranges,) = index["dv_ranges"]
    assert ranges["_CARDINALITY"] == 2
    assert sorted(file["level"] for file in table.inspect.files().to_pylist()) == [4, 5]
    assert [(row["id"], row["n"]) for row in table.scan("id in (5, 7)").to_arrow().to_pylist()] == [(5, -5)]
    assert table.scan().count() == 999
    table.compact()
    assert table.inspect.table_indexes().num_rows == 0
    (file,) = table.inspect.files().to_pylist()
    assert (file["level"], file["record_count"]) == (5, 999)


def test_first_row_keeps_the_first_of_each_key(tmp_path: Path) -> None:
    table = create(tmp_path, FIRST_ROW)
    table.append([{"id": 1, "part": "x", "s": "first"}, {"id": 1, "part": "x", "s": "again"}])
    table.append([{"id": 1, "part": "x", "s": "later"}, {"id": 2, "part": "x", "s": "new"}])
    assert rows(table) == {("x", 1): (None, "first"), ("x", 2): (None, "new")}
    with pytest.raises(errors.InvalidArgumentError, match="first-row"):
        table.append([{"id": 1, "part": "x", "_ROW_KIND": "-D"}])
    assert rows(table) == {("x", 1): (None, "first"), ("x", 2): (None, "new")}


@pytest.mark.parametrize("options", [VECTORS, FIRST_ROW], ids=["vectors", "first row"])
def test_write_only_rows_wait_for_a_compaction(
    tmp_path: Path, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    table = create(tmp_path, options, write__only="true")
    table.append([{"id": 1, "part": "x"}])
    assert table.scan().count() == 0
    assert any("not visible until" in record.getMessage() for record in caplog.records)
    table.compact()
    assert table.scan().count() == 1


def test_overwritten_and_truncated_tables_have_no_vectors(tmp_path: Path) -> None:
    table = create(tmp_path, VECTORS)
    for n in range(2):
        table.append([{"id": i, "part": part, "n": n} for i in range(9) for part in ("x", "y")][: 18 - n])
    assert table.inspect.table_indexes().num_rows > 0
    table.overwrite([{"id": 1, "part": "x"}], partitions=[{"part": "x"}])
    assert {key for key in rows(table) if key[0] == "x"} == {("x", 1)}
    assert len(rows(table)) == 10
    table.truncate()
    assert rows(table) == {}
    assert table.inspect.table_indexes().num_rows == 0


@pytest.mark.parametrize("name", ["vectors", "first row", "lookup"])
def test_row_changes_are_visible(tmp_path: Path, name: str) -> None:
    table = create(tmp_path, TABLES[name])
    table.append([{"id": i, "part": "x", "n": i} for i in range(100)])
    if name == "first row":
        with pytest.raises(errors.UnsupportedError):
            table.delete("id < 5")
        return
    assert table.delete("id < 5").deleted_rows == 5
    assert table.update({"n": "n + 1000"}, "id < 10").updated_rows == 5
    assert rows(table) == {("x", i): (i + 1000 if i < 10 else i, None) for i in range(5, 100)}


def compact_first(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], times: int = 1) -> None:
    """Call `act` each time a write has compacted its buckets and has not yet committed, at most `times` times."""
    import frazil.paimon._compacting as compacting

    original, left = compacting.compacted, [times]

    def meanwhile(*args: Any, **options: Any) -> list[bytes]:
        messages = original(*args, **options)
        if left[0]:
            left[0], rest = 0, left[0] - 1
            act()
            left[0] = rest
        return messages

    monkeypatch.setattr(compacting, "compacted", meanwhile)


@pytest.mark.parametrize("name", ["vectors", "bitmap64", "first row", "vectors and aggregation", "lookup"])
def test_writers_that_are_compacted_by_others_plan_again(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer adds keys that both have, and such as only one has, at levels that the first did not look up."""
    options = TABLES[name]
    table, model = create(tmp_path, options), Model(options)
    first = [{"id": i, "part": "x", "n": 1, "s": "old", "_ROW_KIND": "+I"} for i in range(300)]
    theirs = [{"id": i, "part": "x", "n": 2, "s": "theirs", "_ROW_KIND": "+I"} for i in (1, 2, 3, 500, 501)]
    mine = [{"id": i, "part": "x", "n": 4, "s": "mine", "_ROW_KIND": "+I"} for i in (2, 3, 4, 501, 502)]
    table.append(first)
    other = frazil.load_table(tmp_path / "t")
    compact_first(monkeypatch, lambda: other.append(theirs))
    done = table.append(mine)
    found = rows(table)
    # Both writers continue the sequence numbers of one snapshot; the younger file wins.
    for record in [*first, *theirs, *mine]:
        model.add(record)
    assert found.keys() == model.rows.keys()
    both = {("x", 2), ("x", 3), ("x", 501)}
    assert {key: row for key, row in found.items() if key not in both} == {
        key: row for key, row in model.rows.items() if key not in both
    }
    assert done.snapshot_id == table.snapshots()[-1].snapshot_id
    table.compact()
    assert rows(table) == found


def test_rows_that_another_writer_compacts_are_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, VECTORS | {"commit.max-retries": "2"})
    table.append([{"id": i, "part": "x", "n": 1} for i in range(10)])
    other, count = frazil.load_table(tmp_path / "t"), [100]

    def appends() -> None:
        count[0] += 1
        other.append([{"id": count[0], "part": "x"}])

    compact_first(monkeypatch, appends, times=9)
    table.append([{"id": 7, "part": "x", "n": 2}])
    assert rows(table)["x", 7] == (2, None)


class AlwaysLost:
    """A commit whose compaction another writer always makes impossible."""

    max_retries = 3
    may_be_committed = False

    def __init__(self) -> None:
        self.calls = 0

    def commit(self, messages: list[bytes]) -> SimpleNamespace:
        self.calls += 1
        none = dict.fromkeys(("added_files", "added_rows", "added_bytes", "removed_files", "removed_rows"), 0)
        first = self.calls == 1
        return SimpleNamespace(
            snapshot_ids=[1] if first else [], attempts=int(first), lost=range(len(messages)), failure=None, **none
        )


def test_rows_that_stay_hidden_are_reported() -> None:
    lost = AlwaysLost()

    def again(messages: Sequence[bytes]) -> Messages:
        return Messages(cast("Any", lost), messages, compacts=True, again=again)

    written = Messages(cast("Any", lost), [b"a", b"b"], again=again)
    message = "rows were written to memory://t, but are not visible until .* changed the same buckets each time"
    with pytest.raises(errors.CommitConflictError, match=message):
        commit(written, WriteResult(None), "memory://t")
    assert lost.calls == 5


def test_a_failed_compaction_writes_nothing_where_rows_would_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import frazil.paimon._compacting as compacting

    table = create(tmp_path, VECTORS)
    table.append([{"id": 1, "part": "x"}])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}

    def broken(_split: Any) -> Any:
        message = "broken"
        raise errors.StorageError(message)

    monkeypatch.setattr(compacting, "read_split", broken)
    with pytest.raises(errors.StorageError, match="broken"):
        table.append([{"id": 1, "part": "x", "n": 2}])
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_float_keys_have_no_vectors(tmp_path: Path) -> None:
    options = VECTORS | {"bucket": "1"}
    columns = [("id", "DOUBLE NOT NULL"), ("n", "INT")]
    with pytest.raises(errors.UnsupportedError, match="FLOAT or DOUBLE"):
        frazil.create_table(tmp_path / "t", columns, format="paimon", primary_keys=["id"], options=options)


LOOKUP = {"changelog-producer": "lookup"}
FULL = {"changelog-producer": "full-compaction"}
CHANGELOGS: dict[str, dict[str, str]] = {
    "lookup": LOOKUP,
    "lookup and vectors": LOOKUP | VECTORS,
    "lookup by sequence": LOOKUP | {"sequence.field": "n"},
    "lookup without equal rows": LOOKUP | {"changelog-producer.row-deduplicate": "true"},
    "lookup and partial update": LOOKUP | {"merge-engine": "partial-update"},
    "lookup and aggregation": LOOKUP | {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    "lookup and first row": LOOKUP | FIRST_ROW,
    "lookup in small files": LOOKUP | {"target-file-size": "2 kb", "num-levels": "4"},
    "lookup in orc": LOOKUP | {"changelog-file.format": "orc", "changelog-file.prefix": "cl-"},
    "full": FULL,
    "full and aggregation": FULL | {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    "full without equal rows": FULL | {"changelog-producer.row-deduplicate": "true"},
}


def replay(state: dict[tuple[str, int], Any], changes: list[dict[str, Any]]) -> None:
    """Apply changes to a state; a change takes back exactly the row that is there."""
    for change in changes:
        key, row = (change["part"], change["id"]), (change["n"], change["s"])
        kind = change["_change_type"]
        if kind in ("UPDATE_BEFORE", "DELETE"):
            assert state.pop(key) == row, change
        else:
            assert kind == "UPDATE_AFTER" or key not in state, change
            state[key] = row


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CHANGELOGS)
def test_replayed_changes_are_the_rows(tmp_path: Path, name: str, seed: int) -> None:
    options = CHANGELOGS[name]
    seeded = random.Random(f"changes {name}{seed}")  # noqa: S311 - not a secret
    table, model = create(tmp_path, options), Model(options)
    deletes = model.engine == "deduplicate" and not model.sequence
    is_full = name.startswith("full")
    state: dict[tuple[str, int], Any] = {}
    read = None
    for step in range(12):
        added = some(seeded, seeded.choice([1, 20, 200]), deletes=deletes, sequence=model.sequence)
        table.append(added)
        for record in added:
            model.add(record)
        if (is_full and step % 3 == 2) or seeded.random() < 0.1:
            table.compact()
        assert rows(table) == model.rows, (name, step)
        latest = table.snapshots()[-1].snapshot_id
        replay(state, table.changes(read, latest).to_arrow().to_pylist())
        read = latest
        if not is_full or step % 3 == 2:
            assert state == model.rows, (name, step)
    for snapshot in table.inspect.snapshots().to_pylist():
        assert (snapshot["changelog_record_count"] is None) or snapshot["commit_kind"] == "COMPACT"


def test_equal_rows_are_no_change(tmp_path: Path) -> None:
    ignoring = {"changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "s"}
    table = create(tmp_path, LOOKUP | ignoring)
    table.append([{"id": i, "part": "x", "n": i, "s": "a"} for i in range(3)])
    first = table.snapshots()[-1].snapshot_id
    table.append([{"id": 0, "part": "x", "n": 0, "s": "b"}, {"id": 1, "part": "x", "n": 5, "s": "a"}])
    changes = table.changes(first).to_arrow().to_pylist()
    assert [(row["_change_type"], row["id"], row["n"]) for row in changes] == [
        ("UPDATE_BEFORE", 1, 1),
        ("UPDATE_AFTER", 1, 5),
    ]


def test_the_changelog_of_first_rows_has_inserts_only(tmp_path: Path) -> None:
    table = create(tmp_path, LOOKUP | FIRST_ROW)
    table.append([{"id": i, "part": "x", "n": 0} for i in range(2)])
    table.append([{"id": i, "part": "x", "n": 1} for i in range(3)])
    changes = table.changes().to_arrow().to_pylist()
    assert [(row["_change_type"], row["id"], row["n"]) for row in changes] == [
        ("INSERT", 0, 0),
        ("INSERT", 1, 0),
        ("INSERT", 2, 1),
    ]
    written = list(tmp_path.rglob("changelog-*"))
    table.append([{"id": 1, "part": "x", "n": 2}])
    assert list(tmp_path.rglob("changelog-*")) == written


def test_first_rows_are_uploaded_once(tmp_path: Path) -> None:
    """A file that shares no key with others only changes its level, and its rows are also written to the changelog."""
    table = create(tmp_path, LOOKUP)
    table.append([{"id": i, "part": "x", "n": i} for i in range(100)])
    assert len(list(tmp_path.rglob("data-*.parquet"))) == 1
    (changelog,) = tmp_path.rglob("changelog-*.parquet")
    assert changelog.stat().st_size
    (file,) = table.inspect.files().to_pylist()
    assert (file["level"], file["record_count"]) == (5, 100)
    table.overwrite([{"id": 1, "part": "x"}])
    assert len(list(tmp_path.rglob("changelog-*.parquet"))) == 1, "an overwrite has no changelog"


def test_each_nth_write_is_compacted_completely(tmp_path: Path) -> None:
    table = create(tmp_path, FULL | {"full-compaction.delta-commits": "3"})
    for n in range(6):
        table.append([{"id": 1, "part": "x", "n": n}])
    assert [snapshot.operation for snapshot in table.snapshots()] == [*["append"] * 3, "compact"] * 2
    changes = table.changes().to_arrow().to_pylist()
    assert [(row["_change_type"], row["n"]) for row in changes] == [
        ("INSERT", 2),
        ("UPDATE_BEFORE", 2),
        ("UPDATE_AFTER", 5),
    ]
    for identifier in (4, 5, 6):
        table.append([{"id": 1, "part": "x", "n": identifier}], commit_user="me", identifier=identifier)
    assert [snapshot.operation for snapshot in table.snapshots()][8:] == [*["append"] * 3, "compact"]


@pytest.mark.parametrize("name", ["vectors", "first row"])
def test_a_stream_is_compacted_again(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, TABLES[name])
    table.append([{"id": 1, "part": "x", "n": 1}])
    other = frazil.load_table(tmp_path / "t")
    compact_first(monkeypatch, lambda: other.append([{"id": 5, "part": "x"}]))
    table.append([{"id": 9, "part": "x"}], commit_user="me", identifier=7)
    assert rows(table).keys() == {("x", 1), ("x", 5), ("x", 9)}


def test_a_repeated_call_makes_the_rows_of_the_first_one_visible(tmp_path: Path) -> None:
    table = create(tmp_path, VECTORS)
    table.append([{"id": 1, "part": "x", "n": 1}])
    new = [{"id": 1, "part": "x", "n": 2}]
    # A process that ended between the two snapshots of its write.
    messages = write_rows(TableState(table._native, table._files, {}), new, overwrites=False)
    written = TableState(table._native, table._files, {}).begin_commit(CommitOptions(user="me", identifier=7))
    written.commit(messages)
    assert rows(table) == {("x", 1): (1, None)}
    table.append(new, commit_user="me", identifier=7)
    assert rows(table) == {("x", 1): (2, None)}
    assert [snapshot.operation for snapshot in table.snapshots()][2:] == ["append", "compact"]


EXPIRING = {"record-level.expire-time": "1 d", "record-level.time-field": "n"}


@pytest.mark.parametrize("options", [VECTORS, LOOKUP, FIRST_ROW, VECTORS | LOOKUP], ids=str)
def test_expired_records_are_replaced(tmp_path: Path, options: dict[str, str]) -> None:
    """A record that has expired is visible until its file is rewritten."""
    table = create(tmp_path, options | EXPIRING)
    now = int(time.time())
    table.append([{"id": i, "part": "x", "n": now - 86_398, "s": "old"} for i in range(1000)])
    time.sleep(3)
    table.append([{"id": 1, "part": "x", "n": now, "s": "new"}])
    is_first = options == FIRST_ROW
    assert rows(table)["x", 1] == ((now - 86_398, "old") if is_first else (now, "new"))
    if not is_first:
        table.delete("id = 2")
        assert ("x", 2) not in rows(table)


@pytest.mark.parametrize("options", [VECTORS | LOOKUP, FIRST_ROW | LOOKUP, LOOKUP, FULL], ids=str)
def test_changes_of_an_overwrite_are_complete(tmp_path: Path, options: dict[str, str]) -> None:
    table = create(tmp_path, options)
    table.append([{"id": i, "part": "x", "n": 0} for i in range(5)])
    read = table.snapshots()[-1].snapshot_id
    state: dict[tuple[str, int], Any] = {("x", i): (0, None) for i in range(5)}
    table.overwrite([{"id": 2, "part": "x", "n": 1}, {"id": 9, "part": "x", "n": 1}])
    replay(state, table.changes(read).to_arrow().to_pylist())
    assert state == rows(table) == {("x", 2): (1, None), ("x", 9): (1, None)}
