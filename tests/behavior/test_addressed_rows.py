"""Tests of changes to rows that are given by data file and position."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import frazil
from frazil.errors import CommitConflictError, FrazilError, InvalidArgumentError
from frazil.iceberg._table import at_state, state_of
from frazil.iceberg._verbs import carry_out
from frazil.iceberg.operations.addressed import Addresses, ChangeRows, SelectedRows
from frazil.iceberg.operations.packed_addresses import PackedAddresses, pack_addresses
from frazil.iceberg.operations.values import Filter, SnapshotOptions
from support.addresses import ADDRESS, change, selected

if TYPE_CHECKING:
    from pathlib import Path

CASES = [(version, mode) for version in (1, 2, 3) for mode in ("copy-on-write", "merge-on-read")]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("p", pa.int32()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("_file_name", pa.string()),
    ]
)

each_case = pytest.mark.parametrize(("version", "mode"), CASES)


def row(key: int, name: str | None = "a") -> dict[str, Any]:
    struct = None if key % 5 == 0 else {"x": key, "y": name}
    return {"id": key, "name": name, "p": key % 3, "s": struct, "_file_name": name}


def make(folder: Path, version: int, mode: str, *, partition_by: tuple[str, ...] = (), **properties: str) -> Any:
    modes = {f"write.{kind}.mode": mode for kind in ("delete", "update")}
    return frazil.create_table(
        folder, SCHEMA, format_version=version, partition_by=partition_by, properties={**modes, **properties}
    )


def filled(folder: Path, version: int, mode: str, **options: Any) -> Any:
    """Return a table with three files, each with some deleted rows."""
    table = make(folder, version, mode, **options)
    for first in (0, 10, 20):
        table.append(pa.Table.from_pylist([row(key) for key in range(first, first + 10)], SCHEMA))
    # Rows of several files that are rewritten at once would be written into one file.
    for row_filter in ("id = 3", "id in (13, 14)", "id = 29"):
        table.delete(row_filter)
    return table


def rows(table: Any, branch: str = "main") -> dict[int, Any]:
    found = table.scan(ref=branch).to_arrow().to_pylist()
    assert len({one["id"] for one in found}) == len(found)
    return {one["id"]: one for one in found}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def row_ids(table: Any) -> dict[int, int]:
    found = table.scan(selected_fields=["id", "_row_id"]).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["_row_id"].to_pylist(), strict=True))


@pytest.mark.sampled(9)
@each_case
@pytest.mark.parametrize("seed", range(3))
def test_random_changes_match_a_model(tmp_path: Path, version: int, mode: str, seed: int) -> None:
    chooser = random.Random(f"{seed} {version} {mode}")  # noqa: S311 - not for secrets
    granularity = chooser.choice(["file", "partition"])
    properties = {"write.delete.granularity": granularity, "write.parquet.row-group-limit": "7"}
    table = make(tmp_path / "t", version, mode, partition_by=chooser.choice([(), ("p",)]), **properties)
    model: dict[int, Any] = {}
    next_id = 0
    ids: dict[int, int] = {}
    for _ in range(12):
        if len(model) < 10:
            new = [
                row(key, chooser.choice(["a", "b", None])) for key in range(next_id, next_id + chooser.randint(5, 40))
            ]
            next_id += len(new)
            table.append(pa.Table.from_pylist(new, SCHEMA))
            model |= {one["id"]: one for one in new}
        addresses = selected(table)
        count = chooser.randint(0, len(model))
        taken = addresses.take(pa.array(chooser.sample(range(len(model)), count), pa.int64()))
        if version > 2:
            before = row_ids(table)
            assert all(before[key] == given for key, given in ids.items() if key in before)
            ids |= before
        keys = taken["id"].to_pylist()
        if chooser.random() < 0.4:
            result = change(table, "delete", taken)
            assert (result.deleted_rows, result.updated_rows) == (count, 0)
            for key in keys:
                del model[key]
        else:
            values: dict[str, Any] = {}
            if chooser.random() < 0.8:
                values["name"] = pa.array([f"n{key}" if key % 4 else None for key in keys], pa.string())
            if chooser.random() < 0.5:
                values["p"] = pa.array([chooser.randint(0, 4) for _ in range(count)], pa.int32())
            if chooser.random() < 0.5:
                values["s"] = pa.array([{"x": key, "y": "new"} for key in keys], SCHEMA.field("s").type)
            result = change(table, "update", taken, **values)
            assert (result.deleted_rows, result.updated_rows) == (0, count)
            for place, key in enumerate(keys):
                model[key] = model[key] | {name: column[place].as_py() for name, column in values.items()}
        assert rows(table) == model
        assert rows(frazil.load_table(tmp_path / "t")) == model


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_keep_their_lineage(tmp_path: Path, mode: str) -> None:
    table = filled(tmp_path / "t", 3, mode)
    before = row_ids(table)
    found = selected(table, "id in (1, 2, 11, 25)")
    change(table, "update", found, name=pa.array(["x"] * 4))
    change(table, "delete", selected(table, "id in (0, 26)"))
    assert row_ids(table) == {key: given for key, given in before.items() if key not in (0, 26)}
    numbers = table.scan("name = 'x'", ["_last_updated_sequence_number"]).to_arrow()
    assert set(numbers.column(0).to_pylist()) == {table.snapshots()[-2].sequence_number}


@each_case
def test_only_files_with_addresses_change(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    writes_deletes = mode == "merge-on-read" and version > 1
    result = change(table, "delete", selected(table, "id in (11, 12)"), "id < 20")
    assert (result.removed_files, result.added_delete_files) == ((0, 1) if writes_deletes else (1, 0))
    result = change(table, "update", selected(table, "id = 21"), name=pa.array(["x"]))
    assert (result.removed_files, result.added_delete_files) == ((0, 1) if writes_deletes else (1, 0))
    result = change(table, "delete", selected(table, "id >= 10 and id < 20"))
    assert (result.removed_files, result.added_files, result.added_delete_files) == (1, 0, 0)
    assert change(table, "delete", selected(table, "id = 1000")).snapshot_id is None


@each_case
def test_branches(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    main = rows(table)
    table.manage_snapshots().create_branch(None, "b").commit()
    change(table, "delete", selected(table, "id < 5", branch="b"), branch="b")
    change(table, "update", selected(table, "id = 7", branch="b"), branch="b", p=pa.array([99], pa.int32()))
    assert rows(table) == main
    assert rows(table, "b") == {key: one | ({"p": 99} if key == 7 else {}) for key, one in main.items() if key >= 5}


@each_case
def test_relocated_tables(tmp_path: Path, version: int, mode: str) -> None:
    filled(tmp_path / "old", version, mode)
    shutil.move(tmp_path / "old", tmp_path / "new")
    table = frazil.load_table(tmp_path / "new", relocate={str(tmp_path / "old"): str(tmp_path / "new")})
    before = rows(table)
    change(table, "update", selected(table, "id = 7"), name=pa.array(["x"]))
    change(table, "delete", selected(table, "id = 8"))
    assert rows(table) == {key: one | ({"name": "x"} if key == 7 else {}) for key, one in before.items() if key != 8}


@each_case
@pytest.mark.parametrize("kind", ["delete", "update"])
@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
def test_concurrent_writers(tmp_path: Path, version: int, mode: str, kind: Any, isolation: str) -> None:
    table = filled(tmp_path / "t", version, mode, **{f"write.{kind}.isolation-level": isolation})
    name = {} if kind == "delete" else {"name": pa.array(["x"])}

    def run(row_filter: str, other: Any) -> bool:
        """Change the row 5 after another writer; return whether there was no conflict."""
        own = frazil.load_table(tmp_path / "t")
        found = selected(own, "id = 5")
        other(frazil.load_table(tmp_path / "t"))
        before = contents(tmp_path)
        try:
            change(own, kind, found, row_filter, **name)
        except CommitConflictError:
            assert contents(tmp_path) == before
            # The handle keeps its state, so that the next attempt is a conflict, too.
            with pytest.raises(CommitConflictError):
                change(own, kind, found, row_filter, **name)
            return False
        return True

    def append(other: Any) -> None:
        other.append(pa.Table.from_pylist([row(100 + len(other.snapshots()))], SCHEMA))

    is_serializable = isolation == "serializable"
    assert run("", append) is not is_serializable
    change_again = frazil.load_table(tmp_path / "t")
    if 5 not in rows(change_again):
        change_again.append(pa.Table.from_pylist([row(5)], SCHEMA))
    assert run("id < 100", append)
    if 5 not in rows(change_again.refresh()):
        change_again.append(pa.Table.from_pylist([row(5)], SCHEMA))
    for other in (
        lambda other: other.update({"name": "'other'"}, "id = 5"),
        lambda other: other.delete("id = 5"),
    ):
        before = frazil.load_table(tmp_path / "t")
        assert not run("id < 100", other)
        assert rows(before.refresh()).get(5, {}).get("name") in (None, "other")
    assert 5 not in rows(table.refresh())


@each_case
def test_addresses_of_an_older_state_are_not_used(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    state = state_of(table)
    addresses = Addresses(SelectedRows(selected(table, "id = 5").select(ADDRESS), Filter()), state)
    assert addresses.fit(state) is addresses
    table.append(pa.Table.from_pylist([row(100)], SCHEMA))
    with pytest.raises(CommitConflictError, match="the table changed after"):
        addresses.fit(state_of(table))


@each_case
def test_transactions(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    before = rows(table)
    with table.transaction() as changes:
        change(changes, "delete", selected(table, "id in (5, 11)"))
        changes.append(pa.Table.from_pylist([row(100)], SCHEMA))
    assert rows(table) == {key: one for key, one in before.items() if key not in (5, 11)} | {100: row(100)}


def address(table: Any, position: int, path: str | None = None) -> pa.Table:
    path = path or selected(table, "id = 5")["_file"][0].as_py()
    return pa.table({"_file": pa.array([path], pa.string()), "_pos": pa.array([position], pa.int64())})


@each_case
@pytest.mark.parametrize("kind", ["delete", "update"])
def test_invalid_addresses_are_named_and_change_no_file(tmp_path: Path, version: int, mode: str, kind: Any) -> None:
    table = filled(tmp_path / "t", version, mode)
    path = selected(table, "id = 5")["_file"][0].as_py()
    count = 9 if version == 1 or mode == "copy-on-write" else 10
    good = address(table, 5)
    null = pa.table({"_file": pa.array([path]), "_pos": pa.array([None], pa.int64())})
    invalid = {
        f"the snapshot has no data file '{path}x'": pa.concat_tables([good, address(table, 0, path + "x")]),
        f"position {count} is not in the data file '{path}', which has {count} rows": address(table, count),
        f"position -1 is not in the data file '{path}'": pa.concat_tables([address(table, -1), good]),
        f"position 5 of the data file '{path}' is addressed twice": pa.concat_tables([good, address(table, 4), good]),
        "the address of a row is NULL": null,
    }
    before = contents(tmp_path)
    for problem, given in invalid.items():
        values = {} if kind == "delete" else {"name": pa.array(["x"] * len(given))}
        with pytest.raises(InvalidArgumentError) as error:
            change(table, kind, given, **values)
        assert problem in str(error.value)
    with pytest.raises(InvalidArgumentError, match=r"the snapshot has no data file .* that match the filter"):
        change(table, kind, good, "id > 25")
    assert contents(tmp_path) == before


@each_case
def test_invalid_values_change_no_file(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode)
    found = selected(table, "id in (5, 11)")
    before = contents(tmp_path)
    for values, problem in (
        ({"id": pa.array([1, None], pa.int64())}, "id"),
        ({"p": pa.array(["x", "y"])}, "p"),
        ({"nope": pa.array([1, 2])}, "nope"),
    ):
        with pytest.raises(FrazilError) as error:
            change(table, "update", found, **values)
        assert problem in str(error.value)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("version", [2, 3])
def test_updates_of_deleted_rows_are_refused(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path / "t", version, "merge-on-read")
    before = contents(tmp_path)
    with pytest.raises(InvalidArgumentError, match="only 1 of 2 addressed rows exist"):
        change(table, "update", pa.concat_tables([address(table, 3), address(table, 4)]), name=pa.array(["x", "y"]))
    assert contents(tmp_path) == before


def test_long_files(tmp_path: Path) -> None:
    table = make(tmp_path / "t", 2, "merge-on-read", **{"write.parquet.row-group-limit": "5000"})
    count = 50_000
    ids = pa.array(range(count), pa.int64())
    table.append(pa.table({"id": ids, "name": pa.array(["a"] * count)}))
    found = selected(table, fields=["id"])
    found = found.filter(pc.equal(pc.bit_wise_and(found["id"], 1023), 7))
    change(table, "update", found, "id > 5", name=pc.cast(found["id"], pa.string()))
    after = table.scan("name <> 'a'").to_arrow().to_pylist()
    assert {one["id"]: one["name"] for one in after} == {key: str(key) for key in range(7, count, 1024)}
    assert table.scan().count() == count


class Selecting:
    """Selects rows by a filter, as packed addresses; after the first call another writer commits."""

    def __init__(self, table: Any, row_filter: str, other: Any = None, *, repeats: bool = False) -> None:
        self._table, self._filter, self._other, self._repeats = table, row_filter, other, repeats
        self.calls = 0

    def read(self, state: Any) -> SelectedRows:
        self.calls += 1
        found = selected(at_state(self._table, state), self._filter).select(ADDRESS)
        if self._other is not None and self.calls == 1:
            self._other(self._table.refresh())
        parts = list(pack_addresses(iter(found.to_batches())))
        packed = PackedAddresses(pa.Table.from_batches(parts * (2 if self._repeats else 1), parts[0].schema))
        return SelectedRows(packed, Filter())


@each_case
def test_packed_addresses_are_selected_again_after_a_conflict(tmp_path: Path, version: int, mode: str) -> None:
    table = filled(tmp_path / "t", version, mode, **{"commit.retry.min-wait-ms": "1"})
    operation = ChangeRows(options=SnapshotOptions(), kind="delete")
    twice = Selecting(table, "id in (5, 11)", repeats=True)
    with pytest.raises(InvalidArgumentError, match="is addressed twice"):
        carry_out(table, operation, twice)

    def append(other: Any) -> None:
        other.append(pa.Table.from_pylist([row(5, "new"), row(100)], SCHEMA))

    for row_filter, other in (("id in (5, 11)", append), ("id in (6, 12)", lambda other: other.delete("id = 6"))):
        rows_of = Selecting(table, row_filter, other)
        result = carry_out(table, operation, rows_of)
        assert (rows_of.calls, result.attempts) == (2, 2)
        assert result.deleted_rows == (3 if other is append else 1)
    assert set(rows(table)) == {*range(30), 100} - {3, 5, 6, 11, 12, 13, 14, 29}
