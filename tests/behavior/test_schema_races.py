"""Tests of writers with a stale schema: their commits are readable or rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitConflictError, CommitValidationError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table

INNER = pa.struct([("x", pa.int32()), ("y", pa.string())])
SCHEMA = pa.schema([("id", pa.int64()), ("m", pa.int32()), ("s", INNER), ("l", pa.list_(pa.int32()))])


def rows(*values: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(values), SCHEMA)


FULL: dict[str, Any] = {"id": 2, "m": 5, "s": {"x": 1, "y": "b"}, "l": [1]}


def evolved(change: Callable[[Any], Any]) -> Callable[[Table], None]:
    def evolve(table: Table) -> None:
        with table.update_schema(allow_incompatible_changes=True) as update:
            change(update)

    return evolve


def added_again(column: str) -> Callable[[Table], None]:
    def evolve(table: Table) -> None:
        table.update_schema().delete_column(column).commit()
        table.update_schema().add_column(column, "int").commit()

    return evolve


# The change by another writer, the row that is then written with the old schema, and whether the table accepts it.
RACES: dict[str, tuple[Callable[[Table], None], dict[str, Any], bool]] = {
    "required, NULL": (evolved(lambda u: u.update_column("m", required=True)), {"m": None}, False),
    "required, no NULL": (evolved(lambda u: u.update_column("m", required=True)), {}, True),
    "field required, NULL": (evolved(lambda u: u.update_column("s.x", required=True)), {"s": {"x": None}}, False),
    "field required, struct NULL": (evolved(lambda u: u.update_column("s.x", required=True)), {"s": None}, True),
    "element required, NULL": (
        evolved(lambda u: u.update_column("l.element", required=True)),
        {"l": [1, None]},
        False,
    ),
    "element required, list NULL": (
        evolved(lambda u: u.update_column("l.element", required=True)),
        {"l": None},
        True,
    ),
    "dropped, value": (evolved(lambda u: u.delete_column("m")), {}, False),
    "field dropped, value": (evolved(lambda u: u.delete_column("s.y")), {}, False),
    "dropped and added again, value": (added_again("m"), {}, True),
    "promoted": (evolved(lambda u: u.update_column("m", "long")), {}, True),
    "field promoted": (evolved(lambda u: u.update_column("s.x", "long")), {}, True),
    "renamed": (evolved(lambda u: u.rename_column("m", "n")), {}, False),
    "optional column": (evolved(lambda u: u.add_column("n", "string")), {}, True),
    "new spec": (lambda t: t.update_spec().add_field("bucket(4, id)").commit(), {}, True),
    "new sort order": (lambda t: t.update_sort_order().desc("id").commit(), {}, True),
    "properties": (lambda t: t.set_properties(a="b"), {}, True),
}


def in_transaction(table: Table, data: pa.Table) -> None:
    with table.transaction() as changes:
        changes.append(data)


WRITES: dict[str, Callable[[Table, pa.Table], Any]] = {
    "append": lambda t, data: t.append(data),
    "append a stream": lambda t, data: t.append(data.to_reader()),
    "overwrite": lambda t, data: t.overwrite(data, "id = 2"),
    "overwrite everything": lambda t, data: t.overwrite(data),
    "overwrite partitions": lambda t, data: t.dynamic_partition_overwrite(data),
    "upsert": lambda t, data: t.upsert(data, ["id"]),
    "merge": lambda t, data: t.merge(data, ["id"]).when_not_matched_insert_all().execute(),
    "transaction": in_transaction,
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = frazil.create_table(tmp_path / "t", SCHEMA, properties={"commit.retry.min-wait-ms": "1"})
    made.append(rows(FULL | {"id": 1}))
    return made


def read(table: Table) -> list[dict[str, Any]]:
    return frazil.load_table(table.location).scan().to_arrow().sort_by("id").to_pylist()


@pytest.mark.parametrize("race", RACES)
@pytest.mark.parametrize("write", WRITES)
def test_commits_from_a_stale_handle_are_readable(table: Table, write: str, race: str) -> None:
    """The handle is stale when it writes."""
    change, row, _ = RACES[race]
    stale = frazil.load_table(table.location)
    change(table)
    if (write, race) == ("overwrite partitions", "new spec"):
        # The row may replace rows of a file of the earlier spec.
        with pytest.raises(CommitValidationError, match="of partition spec 0 may have rows of the replaced partitions"):
            WRITES[write](stale, rows(FULL | row))
        return
    check(table, race, lambda: WRITES[write](stale, rows(FULL | row)), new_ids=write != "append a stream")


@pytest.mark.parametrize("race", RACES)
@pytest.mark.parametrize("write", ["append", "append a stream", "overwrite", "upsert", "merge"])
def test_writes_overtaken_before_commit_are_readable(
    table: Table, monkeypatch: pytest.MonkeyPatch, write: str, race: str
) -> None:
    """Other writers commit between the rows and the commit of a writer."""
    change, row, _ = RACES[race]
    waiting = [lambda: change(frazil.load_table(table.location))]
    real = frazil._native.Transaction

    class Overtaken:
        def __init__(self, *arguments: Any) -> None:
            self._native = real(*arguments)

        def commit(self, attempts: Any) -> Any:
            if waiting:
                monkeypatch.setattr(frazil._native, "Transaction", real)
                waiting.pop()()
            return self._native.commit(attempts)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._native, name)

    monkeypatch.setattr(frazil._native, "Transaction", Overtaken)
    check(table, race, lambda: WRITES[write](table, rows(FULL | row)), new_ids=write != "append a stream")
    assert not waiting


def check(table: Table, race: str, write: Callable[[], Any], *, new_ids: bool) -> None:
    """Write, and check that the write is rejected or its rows are in the table."""
    _, row, is_taken = RACES[race]
    if race == "dropped and added again, value" and not new_ids:
        is_taken = False
    if race == "renamed":
        # A removed name is rejected; rows that were already written are read by their ids.
        try:
            write()
        except InvalidArgumentError:
            return
        assert read(table)[-1]["n"] == 5
        return
    try:
        write()
    except (CommitConflictError, InvalidArgumentError):
        is_written = False
    else:
        is_written = True
    found = read(table)
    assert is_written == is_taken
    if not is_written:
        assert [entry["id"] for entry in found] == [1]
        return
    written = next(entry for entry in found if entry["id"] == 2)
    expected = FULL | row
    names = [name for name in written if name in expected]
    assert {name: written[name] for name in names} == {name: expected[name] for name in names}


def test_column_without_values_may_be_dropped_concurrently(table: Table) -> None:
    stale = frazil.load_table(table.location)
    table.update_schema().delete_column("m").commit()
    assert stale.append(iter([[{"id": 7}]])).attempts == 2
    assert frazil.load_table(table.location).scan().count() == 2


def test_an_update_of_a_stale_handle_leaves_no_null_in_a_required_column(table: Table) -> None:
    stale = frazil.load_table(table.location)
    table.update_schema(allow_incompatible_changes=True).update_column("m", required=True).commit()
    with pytest.raises(InvalidArgumentError, match="required"):
        stale.update({"m": None}, "id = 1")
    assert read(table)[0]["m"] == 5
