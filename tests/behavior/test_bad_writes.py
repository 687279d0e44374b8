"""Tests of invalid writes: each raises an error with a hint, and leaves the table unchanged."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string()), ("n", pa.int32())])
ROWS = [{"id": i, "p": "ab"[i % 2], "n": i} for i in range(6)]


def made(folder: Path, **properties: str) -> Any:
    table = frazil.create_table(folder / "t", SCHEMA, format_version=3, partition_by=["p"], properties=properties)
    table.append(ROWS)
    table.manage_snapshots().create_tag(None, "v1").commit()
    return table


def tree(folder: Path) -> dict[str, str]:
    """Return the files of a folder with their digests."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextlib.contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Check that no file is added, removed or changed."""
    before = tree(folder)
    yield
    assert tree(folder) == before


def rows(**columns: Any) -> pa.Table:
    return pa.table(columns)


def duplicate(*names: str) -> pa.Table:
    return pa.Table.from_arrays([pa.array([1], pa.int64()) for _ in names], list(names))


def dictionary(index: Any, values: list[str]) -> pa.Table:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1], index), pa.array(values))
    return pa.table({"id": pa.array([1, 2], pa.int64()), "p": codes, "n": pa.array([1, 2], pa.int32())})


INVALID = errors.InvalidArgumentError
MODES = ["copy-on-write", "merge-on-read"]


def fail_in_a_transaction(table: Any) -> None:
    with table.transaction() as changes:
        changes.append(ROWS)
        changes.delete("id = 1")
        changes.set_properties({"a": "b"})
        raise RuntimeError("enough")


BAD: dict[str, tuple[Callable[[Any], Any], type[Exception], str | None]] = {
    "no such column": (lambda t: t.append(rows(id=[1], q=["a"])), INVALID, "`q`"),
    "type that does not fit": (lambda t: t.append(rows(id=["x"])), INVALID, "`id`"),
    "number that does not fit": (lambda t: t.append([{"id": 1, "n": 1 << 40}]), INVALID, "fit"),
    "larger value": (lambda t: t.append(rows(id=pa.array([1]), n=pa.array([2**40]))), INVALID, "`n` in row 0"),
    "two columns of a name": (lambda t: t.append(duplicate("id", "id")), INVALID, "`id`"),
    "NULL where none may be": (lambda t: t.append(rows(id=pa.array([1, None, 3]))), INVALID, "`id`.*row 1"),
    "required column left out": (lambda t: t.append(rows(p=["a"])), INVALID, "`id`"),
    "row without a list": (lambda t: t.append(ROWS[0]), INVALID, r"not dict; pass a single row as a list, \[row\]"),
    "column that is no text": (
        lambda t: t.append([{1: 2}]),
        INVALID,
        "a column name must be a string, not 1",
    ),
    "summary that is no mapping": (lambda t: t.append(ROWS, snapshot_properties=["a"]), INVALID, "a mapping of names"),
    "no rows at all": (lambda t: t.append(4711), INVALID, "rows must be Arrow"),
    "overwrite by an unknown column": (lambda t: t.overwrite(ROWS, "nope = 1"), INVALID, "nope"),
    "overwrite with bad rows": (lambda t: t.overwrite(rows(id=["x"]), "id = 1"), INVALID, "`id`"),
    "dynamic overwrite with bad rows": (lambda t: t.dynamic_partition_overwrite(rows(p=["a"])), INVALID, "`id`"),
    "delete by an unknown column": (lambda t: t.delete("nope = 1"), INVALID, "nope"),
    "delete by no filter": (lambda t: t.delete("id ="), INVALID, None),
    "delete by no text": (lambda t: t.delete(4711), INVALID, "delete_filter must be an SQL string"),
    "overwrite by no text": (lambda t: t.overwrite(ROWS, 4711), INVALID, "overwrite_filter must be an SQL string"),
    "update by no text": (lambda t: t.update({"n": "1"}, 4711), INVALID, "where must be an SQL string"),
    "delete by another type": (lambda t: t.delete("id = 'x'"), INVALID, None),
    "update of an unknown column": (lambda t: t.update({"nope": "1"}), INVALID, "nope"),
    "update to another type": (lambda t: t.update({"n": "p"}), INVALID, None),
    "update by an unknown column": (lambda t: t.update({"n": "nope + 1"}), INVALID, "nope"),
    "update to NULL where none may be": (lambda t: t.update({"id": "null"}), INVALID, "id"),
    "update that overflows": (lambda t: t.update({"n": "n + 2147483647"}, "n > 0"), INVALID, None),
    "update of a list": (
        lambda t: t.update(["n"]),
        INVALID,
        r"values must be a mapping by column, as in \{",
    ),
    "update of nothing": (lambda t: t.update({}), INVALID, None),
    "upsert without keys": (lambda t: t.upsert(ROWS), INVALID, "join_cols"),
    "upsert by an unknown column": (lambda t: t.upsert(ROWS, ["nope"]), INVALID, "nope"),
    "upsert with keys twice": (lambda t: t.upsert([ROWS[0], ROWS[0]], ["id"]), INVALID, None),
    "merge with keys twice": (
        lambda t: t.merge([ROWS[1], ROWS[1]], ["id"]).when_matched_update_all().execute(),
        INVALID,
        None,
    ),
    "merge without clauses": (lambda t: t.merge(ROWS, ["id"]).execute(), INVALID, None),
    "merge on an unknown column": (lambda t: t.merge(ROWS, ["nope"]).when_matched_delete().execute(), INVALID, "nope"),
    "merge on no condition": (
        lambda t: t.merge(ROWS, "target.id + source.id").when_matched_delete().execute(),
        INVALID,
        None,
    ),
    "branch that is not there": (lambda t: t.append(ROWS, branch="nope"), errors.NoSuchSnapshotError, "nope"),
    "branch that is a tag": (lambda t: t.append(ROWS, branch="v1"), INVALID, "v1"),
    "branch of no name": (lambda t: t.manage_snapshots().create_branch(None, "").commit(), INVALID, None),
    "branch that is there": (
        lambda t: t.manage_snapshots().create_branch(None, "main").commit(),
        errors.FrazilError,
        "main",
    ),
    "branch of no snapshot": (
        lambda t: t.manage_snapshots().create_branch(4711, "x").commit(),
        errors.NoSuchSnapshotError,
        "4711",
    ),
    "main, removed": (lambda t: t.manage_snapshots().remove_branch("main").commit(), errors.FrazilError, "main"),
    "rollback to a stranger": (
        lambda t: t.manage_snapshots().rollback_to_snapshot(4711).commit(),
        errors.FrazilError,
        "4711",
    ),
    "property that is no number": (
        lambda t: t.set_properties({"commit.retry.num-retries": "x"}),
        INVALID,
        "commit.retry.num-retries",
    ),
    "property that is reserved": (lambda t: t.set_properties({"uuid": "x"}), INVALID, "uuid"),
    "mode that is none": (lambda t: t.set_properties({"write.delete.mode": "x"}), INVALID, "write.delete.mode"),
    "partition by an unknown column": (lambda t: t.update_spec().add_field("nope").commit(), INVALID, "nope"),
    "column that is there": (lambda t: t.update_schema().add_column("n", "int").commit(), INVALID, "n"),
    "narrower column": (lambda t: t.update_schema().update_column("id", "int").commit(), INVALID, "id"),
    "branch that is no text": (lambda t: t.append(ROWS, branch=5), INVALID, "branch must be a string, not 5"),
    "branch that is None": (lambda t: t.append(ROWS, branch=None), INVALID, "branch must be a string, not None"),
    "overwrite of no branch": (lambda t: t.overwrite(ROWS, branch=None), INVALID, "branch must be a string"),
    "dynamic overwrite of no branch": (
        lambda t: t.dynamic_partition_overwrite(ROWS, branch=5),
        INVALID,
        "branch must be a string",
    ),
    "delete of no branch": (lambda t: t.delete("id = 1", branch=["main"]), INVALID, "branch must be a string"),
    "delete of all of no branch": (lambda t: t.delete(branch=None), INVALID, "branch must be a string"),
    "update of no branch": (lambda t: t.update({"n": "1"}, branch=None), INVALID, "branch must be a string"),
    "upsert of no branch": (lambda t: t.upsert(ROWS, ["id"], branch=None), INVALID, "branch must be a string"),
    "merge of no branch": (
        lambda t: t.merge(ROWS, ["id"], branch=5).when_matched_delete().execute(),
        INVALID,
        "branch must be a string",
    ),
    "append that is fast or not": (
        lambda t: t.append(ROWS, fast="no"),
        INVALID,
        "fast must be True or False, not 'no'",
    ),
    "delete by case or not": (
        lambda t: t.delete("id = 1", case_sensitive=1),
        INVALID,
        "case_sensitive must be True or",
    ),
    "upsert that updates or not": (
        lambda t: t.upsert(ROWS, ["id"], when_matched_update_all=None),
        INVALID,
        "when_matched_update_all must be True or",
    ),
    "upsert that inserts or not": (
        lambda t: t.upsert(ROWS, ["id"], when_not_matched_insert_all=1),
        INVALID,
        "when_not_matched_insert_all must be True or",
    ),
    "empty list of a summary": (
        lambda t: t.append(ROWS, snapshot_properties=[]),
        INVALID,
        "snapshot_properties must be a mapping",
    ),
    "summary by number": (lambda t: t.append(ROWS, snapshot_properties={5: "x"}), INVALID, "name of a property.* 5"),
    "upsert by a number": (lambda t: t.upsert(ROWS, 5), INVALID, "join_cols must be a sequence of names, not 5"),
    "upsert by numbers": (lambda t: t.upsert(ROWS, ["id", 5]), INVALID, "join_cols must be a sequence of names, not 5"),
    "update of a number": (
        lambda t: t.update({5: "1"}),
        INVALID,
        "the name of a column must be a string, not 5",
    ),
    "merge on a number": (lambda t: t.merge(ROWS, 5), INVALID, "on must be a sequence of names, not 5"),
    "merge by no alias": (lambda t: t.merge(ROWS, ["id"], source_alias=5), INVALID, "source_alias must be a string"),
    "merge into no alias": (
        lambda t: t.merge(ROWS, ["id"], target_alias=None),
        INVALID,
        "target_alias must be a string",
    ),
    "merge by no condition": (
        lambda t: t.merge(ROWS, ["id"]).when_matched_delete(condition=True),
        INVALID,
        "condition must be a string, not True",
    ),
    "merge except a text": (
        lambda t: t.merge(ROWS, ["id"]).when_matched_update_all(except_columns="n"),
        INVALID,
        "except_columns must be a sequence of names",
    ),
    "merge except a number": (
        lambda t: t.merge(ROWS, ["id"]).when_matched_update_all(except_columns=5),
        INVALID,
        "except_columns must be a sequence of names",
    ),
    "properties that are a list": (lambda t: t.set_properties(["a"]), INVALID, "properties must be a mapping of names"),
    "property by number": (
        lambda t: t.set_properties({5: "x"}),
        INVALID,
        "the name of a property must be a string, not 5",
    ),
    "location that is none": (lambda t: t.update_location(5), INVALID, "location must be a string, not 5"),
    "version that is a text": (lambda t: t.upgrade("3"), INVALID, "format_version is '3', expected an integer"),
    "version beyond all": (lambda t: t.upgrade(300), INVALID, None),
    "schema by case or not": (lambda t: t.update_schema(case_sensitive=1), INVALID, "case_sensitive must be True or"),
    "schema that may break or not": (
        lambda t: t.update_schema(allow_incompatible_changes="no"),
        INVALID,
        "allow_incompatible_changes must be True or",
    ),
    "column to no name": (
        lambda t: t.update_schema().rename_column("n", b"m"),
        INVALID,
        "new_name must be a string, not b'm'",
    ),
    "column of no doc": (
        lambda t: t.update_schema().add_column("q", "int", doc=5),
        INVALID,
        "doc must be a string, not 5",
    ),
    "column that is required or not": (
        lambda t: t.update_schema().add_column("q", "int", required="no"),
        INVALID,
        "required must be True or",
    ),
    "partition by a number": (lambda t: t.update_spec().add_field(5), INVALID, "source_column_name must be a string"),
    "partition of no name": (
        lambda t: t.update_spec().add_field("n", "identity", 5),
        INVALID,
        "partition_field_name must be a string",
    ),
    "partition to no name": (lambda t: t.update_spec().rename_field("p", 5), INVALID, "new_name must be a string"),
    "partition without a name": (lambda t: t.update_spec().remove_field(5), INVALID, "name must be a string"),
    "spec by case or not": (lambda t: t.update_spec(case_sensitive=None), INVALID, "case_sensitive must be True or"),
    "order by a number": (lambda t: t.update_sort_order().asc(5), INVALID, "source_column_name must be a string"),
    "order of NULLs": (
        lambda t: t.update_sort_order().desc("n", nulls_first="no"),
        INVALID,
        "nulls_first must be True or",
    ),
    "branch without a name": (
        lambda t: t.manage_snapshots().remove_branch(5),
        INVALID,
        "branch or a tag must be a string",
    ),
    "branch to no name": (lambda t: t.manage_snapshots().rename_branch("x", 5), INVALID, "new_name must be a string"),
    "forward to nothing": (lambda t: t.manage_snapshots().fast_forward("main", None), INVALID, "to must be a string"),
    "stage of no id": (lambda t: t.manage_snapshots().publish_changes(5), INVALID, "wap_id must be a string"),
    "snapshot of no name": (
        lambda t: t.manage_snapshots().set_current_snapshot(ref_name=5),
        INVALID,
        "ref_name must be a string",
    ),
    "version back": (lambda t: t.upgrade(2), INVALID, None),
    "transaction that fails": (fail_in_a_transaction, RuntimeError, "enough"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", BAD)
def test_invalid_writes_are_rejected_and_change_nothing(tmp_path: Path, case: str, mode: str) -> None:
    act, expected, words = BAD[case]
    table = made(tmp_path, **{f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")})
    location = table.metadata_location
    with untouched(tmp_path), pytest.raises(expected, match=words) as caught:
        act(table)
    assert str(caught.value)
    assert table.metadata_location == location
    table.append(ROWS)
    assert table.scan().count() == 2 * len(ROWS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"location": 5}, "location must be a string, not 5"),
        ({"schema": 5}, "a schema must be an Arrow schema"),
        ({"partition_by": 5}, "partition_by must be a sequence of names, not 5"),
        ({"partition_by": "p"}, "partition_by must be a sequence of names, not the string 'p'"),
        ({"partition_by": ["p", None]}, "partition_by must be a sequence of names, not None"),
        ({"format_version": "2"}, "format_version is '2', expected an integer"),
        ({"format_version": -1}, "format_version is -1, expected 1, 2 or 3"),
        ({"format_version": 300}, "format_version is 300, expected 1, 2 or 3"),
        ({"properties": ["a"]}, "properties must be a mapping of names"),
        ({"properties": 0}, "properties must be a mapping of names"),
        ({"properties": {5: "a"}}, "the name of a property must be a string, not 5"),
        ({"storage": ["a"]}, "storage must be a mapping of names"),
    ],
)
def test_a_table_is_not_made_of_wrong_arguments(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    with untouched(tmp_path), pytest.raises(INVALID, match=words):
        frazil.create_table(**{"location": tmp_path / "t", "schema": SCHEMA, **arguments})


@pytest.mark.parametrize("case", sorted(BAD.keys() - {"transaction that fails"}))
def test_rejected_writes_in_a_transaction_stage_nothing(tmp_path: Path, case: str) -> None:
    act, expected, words = BAD[case]
    table = made(tmp_path)
    with table.transaction() as changes:
        with untouched(tmp_path), pytest.raises(expected, match=words):
            act(changes)
        changes.append(ROWS)
    assert table.scan().count() == 2 * len(ROWS)


@pytest.mark.parametrize("index", [pa.int8(), pa.uint32(), pa.int64()])
def test_dictionaries_are_accepted_in_any_order(tmp_path: Path, index: Any) -> None:
    table = made(tmp_path)
    values = [*(f"v{i:03}" for i in reversed(range(100))), "a", "b" * (1 << 20)]
    table.append(dictionary(index, values))
    assert table.scan("p = 'v099'").count() == table.scan("p = 'v098'").count() == 1
    assert not list((tmp_path / "t" / "data").glob("p=v097*"))


def failing(count: int, *, error: BaseException) -> pa.RecordBatchReader:
    """Return a reader of `count` batches that then raises an error."""

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(count):
            yield pa.RecordBatch.from_pylist([{"id": number * 10 + i, "p": "ab"[i % 2]} for i in range(10)], SCHEMA)
        raise error

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


READERS: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda table, data: table.append(data),
    "overwrite": lambda table, data: table.overwrite(data),
    "overwrite by filter": lambda table, data: table.overwrite(data, "id = 1"),
    "dynamic overwrite": lambda table, data: table.dynamic_partition_overwrite(data),
    "upsert": lambda table, data: table.upsert(data, ["id"]),
    "merge": lambda table, data: table.merge(data, ["id"]).when_not_matched_insert_all().execute(),
}


@pytest.mark.parametrize("write_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("verb", READERS)
def test_a_reader_that_fails_in_the_middle_is_heard(tmp_path: Path, verb: str, write_format: str) -> None:
    table = made(tmp_path, **{"write.format.default": write_format, "write.target-file-size-bytes": "1"})
    with untouched(tmp_path), pytest.raises(Exception, match="the source is gone"):
        READERS[verb](table, failing(3, error=RuntimeError("the source is gone")))


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("part", ["data", "metadata"])
def test_a_file_in_place_of_a_folder_is_an_error_of_storage(tmp_path: Path, verb: str, part: str) -> None:
    table = made(tmp_path)
    shutil.move(tmp_path / "t" / part, tmp_path / "kept")
    (tmp_path / "t" / part).write_text("in the way")
    with untouched(tmp_path), pytest.raises(errors.FrazilError) as caught:
        READERS[verb](table, pa.Table.from_pylist(ROWS, schema=SCHEMA))
    assert str(tmp_path / "t" / part) in str(caught.value) + str(caught.value.context)
    (tmp_path / "t" / part).unlink()
    shutil.move(tmp_path / "kept", tmp_path / "t" / part)
    table.append(ROWS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_an_error_of_storage(tmp_path: Path) -> None:
    table = made(tmp_path)
    folder = tmp_path / "t" / "metadata"
    folder.chmod(0o500)
    try:
        with untouched(tmp_path), pytest.raises(errors.FrazilError):
            table.append(ROWS)
    finally:
        folder.chmod(0o700)


LIMITED = """
import resource, sys
import pyarrow as pa
import frazil
from frazil import errors
path, what, number, verb = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
rows = pa.table({"id": pa.array(range(1000)), "p": ["ab"[i % 2] for i in range(1000)]})
table = frazil.load_table(path)
table.scan().to_arrow()  # imports what there is to import
with table.transaction() as changes:
    changes.append(rows)
    changes.delete("id = 2")
    changes.abort()
import os
limit = number if what == "RLIMIT_FSIZE" else len(os.listdir("/proc/self/fd")) - 1 + number
resource.setrlimit(getattr(resource, what), (limit, limit))
try:
    table.append(rows) if verb == "append" else table.delete("id = 2")
    print("done")
except errors.CommitStateUnknownError as error:
    print("unknown", error)
except errors.FrazilError as error:
    print("refused", error)
"""


def limited(table: Path, what: str, number: int, verb: str) -> str:
    command = [sys.executable, "-c", LIMITED, str(table), what, str(number), verb]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own text
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.sampled(2)
@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
@pytest.mark.parametrize("verb", ["append", "delete"])
@pytest.mark.parametrize("what", ["RLIMIT_FSIZE", "RLIMIT_NOFILE"])
def test_a_full_disk_and_too_many_open_files_leave_nothing(tmp_path: Path, what: str, verb: str) -> None:
    made(tmp_path, **{"write.delete.mode": "merge-on-read"})
    before = tree(tmp_path)
    outcomes = set()
    for number in (0, 100, 2_000, 3_000, 1 << 20) if what == "RLIMIT_FSIZE" else (0, 1, 2, 3, 40):
        words = limited(tmp_path / "t", what, number, verb)
        outcomes.add(words.split()[0])
        if words.startswith("done"):
            continue
        assert words.startswith("refused"), words
        assert tree(tmp_path) == before, (number, words)
    assert outcomes == {"refused", "done"}


def replaced(folder: Path) -> None:
    shutil.rmtree(folder / "t")
    frazil.create_table(folder / "t", SCHEMA).append(ROWS[:1])


def opened(folder: Path) -> Any:
    return frazil.load_table(folder / "t")


def changed_schema(folder: Path) -> None:
    with opened(folder).update_schema() as update:
        update.delete_column("n")


MEANWHILE: dict[str, tuple[Callable[[Path], Any], type[Exception] | None]] = {
    "dropped": (lambda folder: shutil.rmtree(folder / "t"), errors.FrazilError),
    "replaced by another": (replaced, errors.FrazilError),
    "schema": (changed_schema, None),
    "spec": (lambda folder: opened(folder).update_spec().remove_field("p").commit(), None),
    "row that matches": (lambda folder: opened(folder).delete("id = 1"), None),
}


@pytest.mark.parametrize("verb", ["append", "delete", "update"])
@pytest.mark.parametrize("what", MEANWHILE)
def test_concurrently_changed_table(tmp_path: Path, what: str, verb: str) -> None:
    change, expected = MEANWHILE[what]
    table = made(tmp_path)
    act: dict[str, Callable[[], Any]] = {
        "append": lambda: table.append([{"id": 100, "p": "a"}]),
        "delete": lambda: table.delete("id <= 1"),
        "update": lambda: table.update({"p": "'z'"}, "id = 3"),
    }
    change(tmp_path)
    if expected is not None:
        with untouched(tmp_path), pytest.raises(expected):
            act[verb]()
        return
    count = frazil.load_table(tmp_path / "t").scan().count()
    left = {"append": count + 1, "delete": frazil.load_table(tmp_path / "t").scan("id > 1").count(), "update": count}
    act[verb]()
    found = frazil.load_table(tmp_path / "t").scan()
    assert found.count() == left[verb]
    assert frazil.load_table(tmp_path / "t").scan("p = 'z'").count() == (verb == "update")


SLOW = """
import sys, time
import pyarrow as pa
import frazil
table = frazil.load_table(sys.argv[1])
schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())])
def batches():
    for number in range(1000):
        yield pa.RecordBatch.from_pylist([{"id": number * 2 + i, "p": "ab"[i]} for i in range(2)], schema)
        if number == 3:
            print("ready", flush=True)
        time.sleep(0.05)
table.append(pa.RecordBatchReader.from_batches(schema, batches()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT between processes")
def test_ctrl_c_in_a_write_is_heard_and_leaves_nothing(tmp_path: Path) -> None:
    made(tmp_path, **{"write.target-file-size-bytes": "1"})
    with (
        untouched(tmp_path),
        subprocess.Popen(  # noqa: S603 - our own text
            [sys.executable, "-c", SLOW, str(tmp_path / "t")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=20)
            assert "KeyboardInterrupt" in output
        finally:
            process.kill()


def interrupting(row: Any, *, commits: bool) -> Callable[..., bool]:
    """Return a swap that is interrupted before it takes effect."""
    original = row.replace

    def replace(self: Any, expected: str | None, new: str) -> bool:
        threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(0.4)
        if not commits:
            raise errors.CatalogError("the catalog refused")
        return bool(original(self, expected, new))

    return replace


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT")
@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("verb", ["append", "overwrite", "delete"])
def test_ctrl_c_during_a_commit_deletes_nothing_that_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, *, commits: bool
) -> None:
    catalog = frazil.load_catalog("local", path=str(tmp_path / "lake"))
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", SCHEMA, properties={"write.delete.mode": "merge-on-read"}, format_version=3)
    table.append(ROWS)
    before = {name for name in tree(tmp_path) if "catalog.db" not in name}
    act: dict[str, Callable[[], Any]] = {
        "append": lambda: table.append([{"id": 100}]),
        "overwrite": lambda: table.overwrite([{"id": 100}], "id = 1"),
        "delete": lambda: table.delete("id = 1"),
    }
    row = type(catalog.row(("ns", "t")))
    with monkeypatch.context() as patch:
        patch.setattr(row, "replace", interrupting(row, commits=commits))
        with pytest.raises(KeyboardInterrupt):
            act[verb]()
    ids = {line["id"] for line in catalog.load_table("ns.t").scan().to_arrow().to_pylist()}
    after = {"append": {*range(6), 100}, "overwrite": {0, 2, 3, 4, 5, 100}, "delete": {0, 2, 3, 4, 5}}
    assert ids == (after[verb] if commits else set(range(6)))
    if not commits:
        assert {name for name in tree(tmp_path) if "catalog.db" not in name} == before


NESTED = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("s", pa.struct([pa.field("x", pa.int32(), nullable=False)])),
        pa.field("l", pa.list_(pa.field("element", pa.int32(), nullable=False))),
    ]
)


@pytest.mark.parametrize(
    ("row", "column"),
    [({"id": None}, "id"), ({"id": 1, "s": {"x": None}}, "s.x"), ({"id": 1, "l": [None]}, "l.element")],
)
def test_a_null_of_a_dictionary_in_a_required_column_is_named(tmp_path: Path, row: dict[str, Any], column: str) -> None:
    table = frazil.create_table(tmp_path / "t", NESTED)
    with (
        untouched(tmp_path),
        pytest.raises(errors.InvalidArgumentError, match=rf"`{column}` is required, but NULL in row 0"),
    ):
        table.append([row])


def test_rows_that_break_their_own_schema_are_refused(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", NESTED)
    broken = pa.RecordBatch.from_arrays(
        [pa.array([None], pa.int64())], schema=NESTED.empty_table().select(["id"]).schema
    )
    with untouched(tmp_path), pytest.raises(errors.InvalidArgumentError, match="not valid Arrow data"):
        table.append(broken)
