"""Tests of transactions that are neither committed nor aborted: they warn and leave no files."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table, Transaction

SCHEMA = pa.schema([("id", pa.int64())])

CHANGES: dict[str, Callable[[Transaction], Any]] = {
    "append": lambda tx: tx.append([{"id": 3}]),
    "overwrite": lambda tx: tx.overwrite([{"id": 3}]),
    "delete": lambda tx: tx.delete("id = 1"),
    "update": lambda tx: tx.update({"id": "5"}, "id = 1"),
    "upsert": lambda tx: tx.upsert([{"id": 1}], ["id"], when_matched_update_all=True),
    "merge": lambda tx: tx.merge([{"id": 4}], ["id"]).when_not_matched_insert_all().execute(),
    "update_schema": lambda tx: tx.update_schema().add_column("a", "string").commit(),
    "set_properties": lambda tx: tx.set_properties(owner="me"),
}


@pytest.fixture(params=["copy-on-write", "merge-on-read"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    modes = {f"write.{operation}.mode": request.param for operation in ("delete", "update", "merge")}
    made = frazil.create_table(tmp_path / "t", SCHEMA, properties=modes)
    made.append([{"id": 1}, {"id": 2}])
    return made


def data_files(table: Table) -> set[str]:
    folder = f"{table.location}/data"
    return {name for name in os.listdir(folder) if name.endswith(".parquet")}  # noqa: PTH208


def collect(open_transactions: list[Transaction]) -> None:
    open_transactions.clear()
    gc.collect()


@pytest.mark.parametrize("change", CHANGES)
def test_a_transaction_that_is_collected_warns_and_deletes_its_files(table: Table, change: str) -> None:
    before = data_files(table)
    open_transactions = [table.transaction()]
    CHANGES[change](open_transactions[0])
    message = r"was not committed.*commit_transaction\(\), or use `with table\.transaction\(\) as tx:`"
    with pytest.warns(ResourceWarning, match=message) as caught:
        collect(open_transactions)
    assert str(table.location) in str(caught[0].message)
    assert data_files(table) == before
    assert table.refresh().scan().count() == 2


@pytest.mark.parametrize("end", ["commit", "abort", "with", "nothing", "error"])
def test_a_transaction_that_ended_or_changed_nothing_does_not_warn(table: Table, end: str) -> None:
    before = data_files(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tx = table.transaction()
        if end == "with":
            with tx:
                tx.append([{"id": 3}])
        elif end == "error":
            with pytest.raises(InvalidArgumentError):
                tx.append([{"no": 3}])
        elif end != "nothing":
            tx.append([{"id": 3}])
        if end == "commit":
            tx.commit_transaction()
        elif end == "abort":
            tx.abort()
        del tx
        gc.collect()
    committed = end in {"commit", "with"}
    assert len(data_files(table) - before) == int(committed)
    assert frazil.load_table(table.location).scan().count() == 2 + committed


SCRIPT = """
import os, sys, frazil
table = frazil.load_table(sys.argv[1])
tx = table.transaction()
tx.append([{"id": 3}])
if sys.argv[2] == "fork" and os.fork() == 0:
    sys.exit()  # the copy of the child deletes nothing
if sys.argv[2] == "fork":
    os.wait()
    tx.commit_transaction()
"""


def run(table: Table, how: str) -> str:
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", SCRIPT, table.location, how]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - made here
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def test_a_transaction_that_is_open_when_the_interpreter_exits_warns_and_deletes_its_files(table: Table) -> None:
    before = data_files(table)
    assert "ResourceWarning: a transaction of table" in run(table, "exit")
    assert data_files(table) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_deletes_no_files_of_its_parent(table: Table) -> None:
    assert "a transaction of table" not in run(table, "fork")
    assert table.refresh().scan().count() == 3


def test_a_transaction_shows_only_its_api(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA)
    with table.transaction() as changes:
        shown = {name for name in dir(changes) if not name.startswith("_")}
    of_tables = {name for name in dir(table) if not name.startswith("_")}
    assert shown - of_tables == {"abort", "attempts", "commit_transaction", "table"}


BUILDERS: dict[str, Callable[[Table], Any]] = {
    "update_schema": lambda table: table.update_schema().add_column("a", "string"),
    "update_sort_order": lambda table: table.update_sort_order().asc("id"),
    "manage_snapshots": lambda table: table.manage_snapshots().create_branch(None, "b"),
    "merge": lambda table: table.merge([{"id": 4}], ["id"]).when_not_matched_insert_all().when_matched_delete(),
}


def drop(_: object) -> None:
    """Release the last reference to a builder."""


@pytest.mark.parametrize("name", BUILDERS)
def test_a_builder_that_is_collected_warns_once(table: Table, name: str) -> None:
    with pytest.warns(ResourceWarning, match="was not executed|not committed") as raised:
        drop(BUILDERS[name](table))
    assert len(raised) == 1
    assert "1 operation of UpdateSchema" in str(raised[0].message) or name != "update_schema"


@pytest.mark.parametrize("name", BUILDERS)
def test_a_builder_that_is_finished_or_fails_does_not_warn(table: Table, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder = BUILDERS[name](table)
        builder.execute() if name == "merge" else builder.commit()
        with pytest.raises(InvalidArgumentError), table.update_schema() as update:
            update.add_column("id", "string")
        with pytest.raises(InvalidArgumentError), table.update_schema() as update:
            update.add_column("c", "string").add_column("", "string")
        del builder, update
        gc.collect()


def test_plans_and_builders_show_themselves(table: Table) -> None:
    plan = table.rewrite_data_files(rewrite_all=True)
    assert "print it to plan, or call apply()" in repr(plan)
    assert "not planned yet" not in str(plan)
    merge = table.merge([{"id": 4}], ["id"]).when_not_matched_insert_all()
    assert repr(merge) == "<merge on ['id'], not_matched insert_all; not executed yet, call execute()>"
    merge.execute()
