"""Tests of changes to the schema of Paimon tables: rules, reads of old files, and concurrent changes."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from frazil.paimon._input_rows import ArrowRows
from frazil.paimon._operations import Append, Compact
from frazil.paimon._row_changes import Update
from frazil.paimon._state import CommitOptions, TableState

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.paimon import Table

KEYED = {"bucket": "1", "write-only": "true"}


def files_of(table: Table) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(table.location, "schema").iterdir())}


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=str)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return a table with a primary key, nested columns and one row."""
    schema = pa.schema(
        [
            pa.field("k", pa.int32(), nullable=False),
            ("v", pa.int32()),
            ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
            ("a", pa.list_(pa.struct([("x", pa.int32())]))),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    )
    table = frazil.paimon.Table.create(tmp_path / "t", schema, primary_keys=["k"], options=KEYED)
    table.append([{"k": 1, "v": 10, "s": {"x": 1, "y": "a"}, "a": [{"x": 1}], "m": {"one": 1}}])
    return table


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "required column": (lambda u: u.add_column("n", "INT", required=True), "a new column cannot be NOT NULL"),
    "existing name": (lambda u: u.add_column("v", "INT"), "a column of this name already exists"),
    "reserved name": (lambda u: u.add_column("_ROW_ID", "INT"), "Paimon reserves this column name"),
    "default of another type": (lambda u: u.add_column("n", "INT", default_value="x"), "default: x"),
    "key dropped": (lambda u: u.delete_column("k"), "a column of the primary key cannot be dropped"),
    "key retyped": (lambda u: u.update_column("k", "BIGINT"), "primary key cannot be changed to another type"),
    "key nullable": (lambda u: u.make_column_optional("k"), "primary key cannot be made nullable"),
    "missing column": (lambda u: u.delete_column("w"), "the table has no column `w`"),
    "element dropped": (lambda u: u.delete_column("a.element"), "are not fields"),
    "no cast": (lambda u: u.update_column("v", "DATE"), "INT cannot be changed to DATE"),
    "not null": (lambda u: u.update_column("v", required=True), "alter-column-null-to-not-null.disabled"),
    "same place": (lambda u: u.move_first("k"), "already at this position"),
    "other struct": (lambda u: u.move_after("v", "s.x"), "only be moved within its ROW"),
    "bucket": (lambda u: u.set_option("bucket", -1), "the option `bucket` cannot be changed"),
    "merge engine": (lambda u: u.set_option("merge-engine", "first-row"), "`merge-engine` cannot be changed"),
    "vectors": (lambda u: u.set_option("deletion-vectors.enabled", True), "deletion-vectors.modifiable"),  # noqa: FBT003
    "path": (lambda u: u.set_option("path", "/x"), "the location of a table cannot change"),
    "value": (lambda u: u.set_option("num-levels", "many"), "num-levels"),
    "sequence field": (lambda u: u.set_option("sequence.field", "w"), "`w`"),
    "second operation": (lambda u: u.add_column("n", "INT").delete_column("k"), "cannot be dropped"),
    "fallback": (lambda u: u.set_option("scan.fallback-branch", "b"), "which is not a branch"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_change_changes_nothing(table: Table, name: str) -> None:
    change, message = REFUSED[name]
    before = files_of(table)
    with pytest.raises(errors.InvalidArgumentError) as error:
        change(table.update_schema()).commit()
    assert message in str(error.value)
    assert files_of(table) == before
    assert table.schema().schema_id == 0


def test_other_refusals(table: Table) -> None:
    with pytest.raises(errors.UnsupportedError, match="primary key"):
        table.update_schema().set_identifier_fields("v")
    with pytest.raises(errors.UnsupportedError, match="union_by_name"):
        table.update_schema().union_by_name(pa.schema([]))
    with pytest.raises(errors.InvalidArgumentError, match="storage option"):
        table.set_properties({"s3.access-key-id": "secret"})
    with pytest.warns(UserWarning, match="num-levels"):
        table.set_properties({"num-levls": "3"})
    with pytest.raises(errors.UnsupportedError, match="read-only"):
        table.audit_log().set_properties({"owner": "me"})
    only = frazil.paimon.Table.create(table.location + "_one", {"a": "INT"})
    with pytest.raises(errors.InvalidArgumentError, match="the only column"):
        only.update_schema().delete_column("a").commit()


@pytest.mark.parametrize("name", ["partition", "primary-key"])
def test_keys_are_set_only_when_a_table_is_created(tmp_path: Path, name: str) -> None:
    table = frazil.create_table(tmp_path / "t", {"id": "INT", "p": "INT"}, format="paimon")
    with pytest.raises(errors.InvalidArgumentError, match="set when it is created"):
        table.set_properties({name: "p"})
    assert name not in frazil.load_table(tmp_path / "t").options


def test_a_builder_that_raises_publishes_nothing(table: Table) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="must be a string"), table.update_schema() as update:
        update.add_column("n", "INT").rename_column("n", 5)  # type: ignore[arg-type]
    assert table.schema().schema_id == 0
    with table.update_schema() as update:
        update.add_column("n", "INT")
    update.commit()
    assert (table.schema().schema_id, table.schema().column_names[-1]) == (1, "n")


def test_options_and_the_comment_change_with_one_schema_each(table: Table) -> None:
    table.set_properties({"owner": "me"}, label=5)
    table.remove_properties("owner", "absent")
    table.update_schema().set_comment("text").commit()
    assert table.options == {**KEYED, "label": "5"}
    assert (table.comment, table.schema().schema_id, len(table.schemas())) == ("text", 3, 4)
    assert frazil.load_table(table.location).options == table.options


ONE = {"k": 1, "v": 10, "s": {"x": 1, "y": "a"}, "a": [{"x": 1}], "m": [("one", 1)]}

EVOLUTIONS: dict[str, tuple[Callable[[Any], Any], dict[str, Any], list[str]]] = {
    "add": (lambda u: u.add_column("n", "BIGINT"), {**ONE, "n": None}, ["k", "v", "s", "a", "m", "n"]),
    "add default": (
        lambda u: u.add_column("n", "DATE", default_value=dt.date(2024, 1, 2)),
        {**ONE, "n": None},
        ["k", "v", "s", "a", "m", "n"],
    ),
    "add field": (
        lambda u: u.add_column("s.z", pa.int64()).add_column(("a", "y"), "STRING"),
        {**ONE, "s": {"x": 1, "y": "a", "z": None}, "a": [{"x": 1, "y": None}]},
        ["k", "v", "s", "a", "m"],
    ),
    "drop and add": (
        lambda u: u.delete_column("v").add_column("v", "INT"),
        {**ONE, "v": None},
        ["k", "s", "a", "m", "v"],
    ),
    "drop field": (lambda u: u.delete_column("s.x"), {**ONE, "s": {"y": "a"}}, ["k", "v", "s", "a", "m"]),
    "rename": (
        lambda u: u.rename_column("v", "w").rename_column("s.x", "z").rename_column("k", "id"),
        {"id": 1, "w": 10, "s": {"z": 1, "y": "a"}, "a": [{"x": 1}], "m": [("one", 1)]},
        ["id", "w", "s", "a", "m"],
    ),
    "swap": (
        lambda u: u.rename_column("v", "t").rename_column("m", "v").rename_column("t", "m"),
        {**ONE, "v": [("one", 1)], "m": 10},
        ["k", "m", "s", "a", "v"],
    ),
    "widen": (
        lambda u: u.update_column("v", "BIGINT").update_column("m.value", "BIGINT").update_column("s.x", "DOUBLE"),
        {**ONE, "s": {"x": 1.0, "y": "a"}},
        ["k", "v", "s", "a", "m"],
    ),
    "cast": (lambda u: u.update_column("v", "STRING"), {**ONE, "v": "10"}, ["k", "v", "s", "a", "m"]),
    "narrow": (lambda u: u.update_column("v", "TINYINT"), ONE, ["k", "v", "s", "a", "m"]),
    "move": (
        lambda u: u.move_last("k").move_before("m", "v").move_after(("s", "x"), ("s", "y")),
        ONE,
        ["m", "v", "s", "a", "k"],
    ),
    "document": (lambda u: u.update_column("v", doc="a value"), ONE, ["k", "v", "s", "a", "m"]),
}


@pytest.mark.parametrize("name", EVOLUTIONS)
def test_old_files_are_read_with_the_new_columns(table: Table, name: str) -> None:
    change, expected, names = EVOLUTIONS[name]
    before = frazil.load_table(table.location).scan(snapshot_id=1).to_arrow()
    change(table.update_schema()).commit()
    assert table.schema().column_names == names
    assert rows(table) == [{column: expected[column] for column in names}]
    # The snapshot has its own schema.
    assert table.scan(snapshot_id=1).to_arrow() == before
    # New rows, and merges and compactions of old and new files.
    key = names[0] if name == "rename" else "k"
    table.append([{key: 2}])
    if name != "add default":
        # The update would replace NULL by the default, which is refused.
        table.update({names[1]: f"`{names[1]}`"}, f"{key} = 1")
    new = {column: expected[column] for column in names}
    two = next(row for row in rows(table) if row[key] == 2)
    assert {column: value for column, value in two.items() if value is not None and column != key} == (
        {"n": dt.date(2024, 1, 2)} if name == "add default" else {}
    )
    assert [row for row in rows(table) if row[key] == 1] == [new]
    table.compact()
    assert [row for row in rows(table) if row[key] == 1] == [new]
    table.delete(f"{key} = 2")
    assert rows(table) == [new]
    assert table.changes().to_arrow().num_rows > 0


def test_a_table_is_written_between_changes(tmp_path: Path) -> None:
    table = frazil.paimon.Table.create(tmp_path / "t", {"k": "INT", "v": "INT"}, primary_keys=["k"], options=KEYED)
    model: dict[int, dict[str, Any]] = {}
    for step in range(6):
        table.append([{"k": step, "v": step}])
        model[step] = {"v": step}
        table.update_schema().add_column(f"c{step}", "STRING").commit()
        table.upsert(pa.table({"k": pa.array([0, 10 + step], pa.int32()), f"c{step}": ["x", "y"]}))
        model[0][f"c{step}"] = "x"
        model[10 + step] = {f"c{step}": "y"}
        if step % 2:
            table.compact()
    names = table.schema().column_names[1:]
    expected = [{"k": key} | {name: row.get(name) for name in names} for key, row in sorted(model.items())]
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["k"]) == expected


def test_branches_have_their_own_schemas(table: Table) -> None:
    table.manage_snapshots().create_tag(None, "v1").create_branch("v1", "b").commit()
    branch = table.with_branch("b")
    branch.update_schema().add_column("n", "INT").commit()
    assert branch.schema().column_names[-1] == "n"
    assert "n" not in table.refresh().schema().column_names
    table.set_properties({"scan.fallback-branch": "b"})


def test_a_stale_handle_alters_and_writes_the_latest_schema(table: Table) -> None:
    stale = pickle.loads(pickle.dumps(table))  # noqa: S301 - made here
    table.update_schema().add_column("n", "INT").commit()
    stale.append([{"k": 2, "n": 5}])
    assert [row["n"] for row in rows(stale)] == [None, 5]
    table.update_schema().rename_column("n", "o").commit()
    stale.update_schema().add_column("p", "INT").commit()
    assert stale.schema().column_names[-2:] == ["o", "p"]


class AtSchemaOf:
    """The state of a table at the schema of a handle."""

    def __init__(self, table: Table) -> None:
        self._state = TableState(table._native, table._files, table._options)

    def newest(self) -> TableState:
        return self._state

    def state(self) -> TableState:
        return self._state


OPTIONS = CommitOptions(user="u")


def staged(table: Table, k: int) -> Any:
    """Write a row with the schema of the handle, without a commit."""
    return Append(options=OPTIONS).prepare(AtSchemaOf(table), ArrowRows([{"k": k, "v": k}]))


def test_files_of_an_older_schema_are_committed_by_id(table: Table) -> None:
    written = staged(table, 2)
    other = frazil.load_table(table.location)
    other.update_schema().rename_column("v", "w").add_column("v", "STRING").commit()
    written.commit.commit(written.messages)
    assert [(row["k"], row["w"], row["v"]) for row in rows(other)] == [(1, 10, None), (2, 2, None)]
    assert other.current_snapshot().schema_id == 1


def test_files_that_do_not_fit_the_latest_schema_conflict(tmp_path: Path) -> None:
    table = frazil.paimon.Table.create(tmp_path / "t", {"k": "INT", "v": "INT"}, primary_keys=["k"], options=KEYED)
    written = staged(table, 2)
    frazil.load_table(table.location).set_properties({"merge-engine": "first-row"})
    with pytest.raises(errors.CommitConflictError, match="merge-engine"):
        written.commit.commit(written.messages)


def test_rows_with_columns_of_a_later_schema_are_not_changed(table: Table) -> None:
    other = frazil.load_table(table.location)
    other.update_schema().add_column("n", "INT").commit()
    other.upsert([{"k": 1, "n": 5}])
    before = rows(other)
    update = Update(options=OPTIONS, row_filter="k = 1", assignments=[("v", "1")])
    attempt = update.plan(AtSchemaOf(table).newest(), update.prepare(AtSchemaOf(table), None))
    with pytest.raises(errors.CommitConflictError, match="altered"):
        attempt.execute(None)
    compacted = Compact(options=OPTIONS).prepare(AtSchemaOf(table))
    assert compacted.commit.commit(compacted.messages).lost == list(range(len(compacted.messages)))
    assert rows(other) == before


def _add(location: str, name: str, barrier: Any) -> None:
    table = frazil.load_table(location)
    barrier.wait()
    table.update_schema().add_column(name, "ROW<a INT, b INT>").commit()


def test_racing_processes_all_add_their_columns(table: Table) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(8)
    racers = [context.Process(target=_add, args=(table.location, f"c{i}", barrier)) for i in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0] * 8
    latest = table.refresh()
    assert set(latest.schema().column_names) == {"k", "v", "s", "a", "m", *(f"c{i}" for i in range(8))}
    ids = [
        number
        for column in latest.schema().fields
        for number in (column.field_id, *(field.field_id for field in column.data_type.fields))
    ]
    assert len(ids) == len(set(ids))
    assert latest.schema().schema_id == 8


def test_one_test_for_both_formats(tmp_path: Path) -> None:
    iceberg = frazil.create_table(tmp_path / "i", pa.schema([("a", pa.int32()), ("b", pa.string())]))
    paimon = frazil.paimon.Table.create(tmp_path / "p", {"a": "INT", "b": "STRING"})
    for table in (iceberg, paimon):
        table.append([{"a": 1, "b": "x"}])
        with table.update_schema() as update:
            update.add_column("c", pa.int64(), "a number").rename_column("b", "d")
            update.update_column("a", "bigint").move_first("c")
        table.update_schema().delete_column("d").commit()
        table.set_properties({"label": "x"})
        table.set_properties(other="y")
        table.remove_properties("other", "absent")
        assert table.properties.get("label") == "x"
        assert "other" not in table.properties
        assert table.scan().to_arrow().to_pylist() == [{"c": None, "a": 1}]


class LockOf:
    """A lock whose first holder is preceded by another writer."""

    def __init__(self, other: Any) -> None:
        self._other: Any = other

    def acquire(self) -> None:
        other, self._other = self._other, None
        if other is not None:
            other()

    def release(self) -> None:
        pass


def with_lock(monkeypatch: pytest.MonkeyPatch, table: Table, other: Any) -> None:
    """Let another writer change a table after a commit was checked and before it is published."""
    lock = LockOf(other)
    ours = type(table)._lock
    monkeypatch.setattr(type(table), "_lock", lambda self: lock if self is table else ours(self))


def test_a_commit_notices_that_the_table_was_altered_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    options = {"bucket": "4", "bucket-key": "k"}
    frazil.create_table(place, {"a": "INT", "k": "INT"}, format="paimon", options=options)
    table = frazil.load_table(place)
    with_lock(monkeypatch, table, lambda: frazil.load_table(place).set_properties({"bucket-key": "a"}))
    rows = [{"a": number, "k": 7 * number} for number in range(20)]
    with pytest.raises(errors.CommitConflictError, match="the option `bucket-key` of the table has changed"):
        table.append(rows)
    table = frazil.load_table(place)
    table.append(rows)
    assert [table.scan(f"a = {number}").count() for number in range(20)] == [1] * 20


def test_an_alteration_notices_that_the_table_has_its_first_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    options = {"bucket": "4", "bucket-key": "k"}
    frazil.create_table(place, {"a": "INT", "k": "INT"}, format="paimon", options=options)
    table = frazil.load_table(place)
    rows = [{"a": number, "k": 7 * number} for number in range(20)]
    with_lock(monkeypatch, table, lambda: frazil.load_table(place).append(rows))
    with pytest.raises(errors.InvalidArgumentError, match="the option `bucket-key` cannot be changed"):
        table.set_properties({"bucket-key": "a"})
    assert [table.scan(f"k = {7 * number}").count() for number in range(20)] == [1] * 20


def test_a_merge_of_an_older_handle_reads_its_source_as_the_latest_schema(tmp_path: Path) -> None:
    """A source of dictionaries has the types of the columns, which another writer widened."""
    keys = {"primary_keys": ["id"], "options": {"bucket": 1}}
    table: Any = frazil.create_table(tmp_path / "t", {"id": "INT", "n": "INT"}, format="paimon", **keys)
    table.append([{"id": 1, "n": 1}])
    old: Any = frazil.load_table(table.location, format="paimon")
    table.update_schema().update_column("n", "BIGINT").commit()
    wide = 1 << 40
    old.merge([{"id": 1, "n": wide}], ["id"]).when_matched_update_all().execute()
    assert old.scan().to_arrow().to_pylist() == [{"id": 1, "n": wide}]


def test_a_write_beside_a_rescale_conflicts(tmp_path: Path) -> None:
    keys = {"primary_keys": ["id"], "options": {"bucket": 1}}
    table: Any = frazil.create_table(tmp_path / "t", {"id": "INT", "n": "INT"}, format="paimon", **keys)
    table.append([{"id": 1, "n": 1}])
    other: Any = frazil.load_table(table.location, format="paimon")

    def rows() -> Any:
        other.set_properties({"bucket": "2"})
        other.overwrite([{"id": 1, "n": 5}])
        yield pa.RecordBatch.from_pylist([{"id": 2, "n": 2}], schema=pa.schema([("id", pa.int32()), ("n", pa.int32())]))

    with pytest.raises(errors.CommitConflictError) as found:
        table.append(rows())
    assert "overwrite" not in str(found.value)
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "n": 5}]


VECTORS = {"bucket": "1", "changelog-producer": "lookup", "deletion-vectors.modifiable": "true"}


def keyed(folder: Path, **options: str) -> Table:
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
    return frazil.paimon.Table.create(folder, schema, primary_keys=["k"], options=VECTORS | options)


def test_deletion_vectors_are_switched_on_only_if_no_bucket_needs_a_merge(tmp_path: Path) -> None:
    table = keyed(tmp_path / "t")
    table.append([{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    for value in range(3, 8):
        table.append([{"k": 1, "v": value}])
    with pytest.raises(errors.InvalidArgumentError, match=r"more than once, or not at all.*compact\(\)") as raised:
        table.set_properties({"deletion-vectors.enabled": "true"})
    assert "deletion-vectors.enabled" in str(raised.value)
    table.compact()
    table.set_properties({"deletion-vectors.enabled": "true"})
    assert rows(frazil.load_table(table.location, format="paimon")) == [{"k": 1, "v": 7}, {"k": 2, "v": 2}]


def test_a_file_on_level_0_would_be_invisible_with_deletion_vectors(tmp_path: Path) -> None:
    table = keyed(tmp_path / "t", **{"write-only": "true"})
    table.append([{"k": 1, "v": 1}])
    with pytest.raises(errors.InvalidArgumentError, match="not at all"):
        table.set_properties({"deletion-vectors.enabled": "true"})


def test_tables_without_files_and_tables_without_keys_switch_deletion_vectors(tmp_path: Path) -> None:
    table = keyed(tmp_path / "t")
    table.set_properties({"deletion-vectors.enabled": "true"})
    schema = pa.schema([("v", pa.int32())])
    options = {"bucket": "-1", "deletion-vectors.modifiable": "true"}
    table = frazil.paimon.Table.create(tmp_path / "a", schema, options=options)
    table.append([{"v": 1}])
    table.set_properties({"deletion-vectors.enabled": "true"})
