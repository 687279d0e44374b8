"""Random histories of MERGE, UPDATE, DELETE and INSERT in SQL on DuckDB, compared with a model."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError
from frazil.sql import Lake
from support.duckdb_engine import DuckDbEngine
from support.sizes import size
from support.sql_merge_model import (
    COLUMNS,
    SeveralMatchesError,
    Statement,
    query_of,
    random_change,
    random_rows,
    random_statement,
)
from support.sql_row_tables import CASES

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("name", pa.string()), ("v", pa.int32())])
LENGTH = 5
"""The number of statements of a history."""
HISTORIES = size("FRAZIL_SQL_MERGES") // len(CASES)
"""The number of histories for each format version and mode, so that there are five times as many statements."""

Rows = Counter[tuple[Any, ...]]


class History:
    """Statements on one branch of a table, and the rows that it must have."""

    def __init__(self, lake: Lake[pa.Table], engine: DuckDbEngine, branch: str, chooser: Random) -> None:
        self._lake, self._engine, self._chooser = lake, engine, chooser
        self._branch, self._name = branch, f"lake.db.t.branch_{branch}"
        self.texts: list[str] = []
        self.rows = self.found()

    def found(self) -> Rows:
        rows = self._lake.table("lake.db.t").scan(ref=self._branch).to_arrow()
        return Counter(tuple(row.values()) for row in rows.to_pylist())

    def step(self) -> None:
        """Run a statement, and compare the table and the numbers of changed rows with the model."""
        kind = self._chooser.choice(["merge", "merge", "merge", "change", "insert"])
        source = random_rows(self._chooser, self._chooser.randint(0, 5))
        if kind == "insert":
            self._run(f"INSERT INTO {self._name} {query_of(source)}")
            self.rows += Counter(tuple(row.values()) for row in source)
            assert self._lake.last is not None
            assert (self.found(), self._lake.last.added_records) == (self.rows, len(source))
            return
        if kind == "change":
            self._compare(*random_change(self._chooser, self._name), [])
            return
        # Large tables are joined with a source that is kept, and only their matching rows are read if it is small.
        self._engine.joins_all_rows = self._chooser.random() < 0.3
        self._engine.source_is_small = self._chooser.random() < 0.7
        statement = random_statement(self._chooser)
        clauses = " ".join(clause.text() for clause in statement.clauses)
        text = f"MERGE INTO {self._name} AS t USING ({query_of(source)}) AS s ON {statement.on[0]} {clauses}"
        self._compare(text, statement, source)

    def _compare(self, text: str, statement: Statement, source: list[dict[str, Any]]) -> None:
        before = [dict(zip(COLUMNS, row, strict=True)) for row in self.rows.elements()]
        try:
            self.rows, expected = statement.run(before, source)
        except SeveralMatchesError as error:
            with pytest.raises(InvalidArgumentError, match=f"{error.args[0]} rows of the source match a row of"):
                self._run(text)
        else:
            self._run(text)
            last = self._lake.last
            assert last is not None
            assert (last.inserted_rows, last.updated_rows, last.deleted_rows) == expected
        assert self.found() == self.rows

    def _run(self, text: str) -> None:
        self.texts.append(text)
        assert self._lake.sql(text).column_names == []


@pytest.mark.parametrize(("version", "mode"), CASES)
def test_tables_have_the_rows_of_the_model(tmp_path: Path, version: int, mode: str) -> None:
    catalog = frazil.load_catalog("lake", type="memory", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "merge", "update")}
    table = catalog.create_table("db.t", SCHEMA, format_version=version, properties=modes)
    chooser = Random(f"{version} {mode}")  # noqa: S311 - of a test
    for _ in range(2):
        # Each file has a row that is already deleted.
        table.append(pa.Table.from_pylist([*random_rows(chooser, 5), {"id": 1000}], SCHEMA))
    table.delete("id = 1000")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    engine = DuckDbEngine()
    lake = Lake({"lake": catalog}, engine)
    for number in range(HISTORIES):
        table.manage_snapshots().create_branch(snapshot.snapshot_id, f"c{number}").commit()
        history = History(lake, engine, f"c{number}", chooser)
        try:
            for _ in range(LENGTH):
                history.step()
        except BaseException as error:
            error.add_note("\n".join(["the statements of the history:", *history.texts]))
            raise
