"""DuckDB as the engine of `frazil.sql`, for tests of random statements: no statement takes longer than milliseconds.

sqlglot translates the queries. Frames are Arrow tables, because queries run at once. Rows are changed in this process.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import sqlglot

from frazil._literal import Lit, lit
from frazil._virtual_table import VirtualTable
from frazil.iceberg._table import at_state
from frazil.iceberg._verbs import carry_out, snapshot_options
from frazil.iceberg.operations.addressed import ChangeRows, MergedRows, SelectedRows
from frazil.iceberg.operations.values import Filter
from frazil.sql._engine import Held
from frazil.sql._merged_rows import FIRST_VALUE, check_matches, rows_by_clause
from frazil.sql._moments import Moments
from frazil.sql._row_queries import ADDRESS_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil._write_result import WriteResult
    from frazil.iceberg import Table
    from frazil.iceberg._state import TableState
    from frazil.sql._engine import Args, Cells, Engine
    from frazil.sql._insert import Insertion
    from frazil.sql._lexer import Lexed
    from frazil.sql._row_change import Change, Selection
    from frazil.sql._sources import Source

_STATES = {"as_of": "as_of", "branch": "ref", "id": "snapshot_id", "tag": "ref", "version": "ref"}
"""The arguments of `Table.scan` that select a state."""


class DuckDbEngine:
    """Runs queries in a new connection."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._frames: Mapping[str, pa.Table] = {}
        self.joins_all_rows = True
        """Whether a MERGE joins all rows of its table; otherwise it keeps the rows of its source."""
        self.source_is_small = True
        """Whether the kept rows of a source select the rows of the table that are read."""

    def query(self, text: str, sources: Sequence[Source], args: Args = None) -> pa.Table:
        frames = {f"frazil_source_{place}": self._rows(source) for place, source in enumerate(sources)}
        if sources:
            text = text.format(**{f"t{place}": name for place, name in enumerate(frames)})
        return self._run(text, {**self._frames, **frames}, args)

    def _run(self, text: str, frames: Mapping[str, pa.Table], args: Args = None) -> pa.Table:
        # Hints have no meaning in DuckDB.
        ignore = sqlglot.ErrorLevel.IGNORE
        [translated] = sqlglot.transpile(text, read="spark", write="duckdb", unsupported_level=ignore)
        for name, frame in frames.items():
            self._connection.register(name, frame)
        try:
            found = self._connection.sql(translated, params=args or None)
            return pa.table({}) if found is None else found.to_arrow_table()
        finally:
            for name in frames:
                self._connection.unregister(name)

    def _rows(self, source: Source) -> pa.Table:
        """Read the columns and rows of a source that the query needs."""
        table = source.table
        if isinstance(table, VirtualTable):
            return table.scan().to_arrow()
        state = {} if source.state is None else {_STATES[source.state[0]]: source.state[1]}
        moments = Moments(self.values, timestamp_has_zone=self.timestamp_has_zone())
        columns, filters = source.narrowed(table.scan(**state).schema(), moments)
        address = () if source.address is None else ADDRESS_COLUMNS
        rows = table.scan(" and ".join(filters) or True, [*columns, *address], **state).to_arrow()
        if source.keys is not None:
            rows = rows.join(source.keys, source.keys.column_names, join_type="left semi")
        return rows.rename_columns([*columns, *(source.address or ())])

    def syntax_error(self, text: str) -> None:
        """Return no error, because DuckDB has another SQL."""

    def clarify(self, error: Exception, sql: Lexed, columns: Sequence[str], catalogs: Sequence[str]) -> None:
        """Keep the text of an error."""

    def inserted(self, text: str, values: Mapping[str, Any]) -> tuple[str, Mapping[str, pa.Table]]:
        frames = {f"frazil_frame_{name}": one for name, one in values.items() if isinstance(one, pa.Table)}
        others = {name: one for name, one in values.items() if not isinstance(one, pa.Table)}
        return text.format(**others, **{name.removeprefix("frazil_frame_"): name for name in frames}), frames

    def with_frames(self, frames: Mapping[str, pa.Table]) -> DuckDbEngine:
        engine = copy.copy(self)
        engine._frames = frames
        return engine

    def held(self, frame: pa.Table, name: str) -> Held[pa.Table]:
        return Held(self.with_frames({**self._frames, name: frame}), self.source_is_small, lambda: None)

    def comparable_columns(self, table: Any, frame: pa.Table) -> list[str]:
        own = table.scan().schema()
        return [field.name for field in frame.schema if field.type == own.field(field.name).type]

    def transform_function(self, name: str) -> str:
        """Return the name of the transform."""
        return name

    def disconnect(self) -> None:
        self._connection.close()

    def value(self, frame: pa.Table) -> Any:
        return frame.column(0)[0].as_py() if frame.num_rows else None

    def constants(self, texts: Sequence[str]) -> list[str | None]:
        return self.values([f"CAST({text} AS STRING)" for text in texts])

    def values(self, texts: Sequence[str]) -> list[Any]:
        if not texts:
            return []
        return [column[0].as_py() for column in self._run(f"SELECT {', '.join(texts)}", {}).columns]

    def overwrites_partitions(self) -> bool:
        return False

    def create_view(
        self, frame: pa.Table, name: str, columns: Sequence[str] | None, *, replaces: bool, is_global: bool
    ) -> None:
        if is_global or (not replaces and self.has_temporary_view(name)):
            raise NotImplementedError
        self._connection.register(name, frame if columns is None else frame.rename_columns(list(columns)))

    def is_view_of(self, name: str, frame: Any) -> bool:
        """Return False, because views are not kept."""
        del name, frame
        return False

    def watch_views(self, frame: Any, created: Any) -> None:
        """Create no views."""

    def columns_of(self, frame: pa.Table) -> Iterator[Any]:
        raise NotImplementedError

    def column_names(self, frame: pa.Table) -> list[str]:
        names: list[str] = frame.column_names
        return names

    def insert(self, frame: pa.Table, table: Any, insertion: Insertion) -> WriteResult:
        if insertion.mode != "append" or insertion.constants or insertion.by_name:
            raise NotImplementedError
        schema = table.scan().schema()
        rows = _fitted(frame.rename_columns(list(insertion.columns or schema.names)), schema)
        result: WriteResult = table.append(rows, branch=insertion.branch)
        return result

    def delete(self, table: Any, row_filter: str | None, branch: str) -> WriteResult:
        result: WriteResult = table.delete(True if row_filter is None else row_filter, branch=branch)
        return result

    def update(self, table: Any, values: Mapping[str, str], row_filter: str | None, branch: str) -> WriteResult:
        where = True if row_filter is None else row_filter
        result: WriteResult = table.update(self.assigned_constants(table, values), where, branch=branch)
        return result

    def assigned_constants(self, table: Any, values: Mapping[str, str]) -> dict[str, Lit]:
        rows = self._run(f"SELECT {', '.join(values.values())}", {}).rename_columns(list(values))
        [found] = _fitted(rows, table.scan().schema()).to_pylist()
        return {name: lit(value) for name, value in found.items()}

    def change(self, table: Any, change: Change[pa.Table]) -> WriteResult:
        operation = ChangeRows(options=snapshot_options(change.branch, {}), kind=change.kind)
        result: WriteResult = carry_out(table, operation, _QueriedRows(table, change))
        return result

    def changes_in_workers(self, table: Any, branch: str) -> bool:  # noqa: ARG002
        return False

    def joins_few_rows(self, table: Any, branch: str) -> bool:  # noqa: ARG002
        return self.joins_all_rows

    def session_branch(self, table: Any, name: tuple[str, ...], change: str | None = None) -> None:
        """Return None: statements change `main`."""

    def is_case_sensitive(self) -> bool:
        return False

    def frame(self, columns: Sequence[str], rows: Sequence[Cells]) -> pa.Table:
        names = [column.partition(" ")[0] for column in columns]
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]) if rows else pa.table({})

    def columns(self, table: Any) -> list[Cells]:
        return [(field.name, str(field.type), "") for field in table.scan().schema()]

    def tree(self, table: Any) -> str:
        return str(table.scan().schema())

    def has_temporary_view(self, name: str) -> bool:
        if name in self._frames:
            return True
        query = "SELECT 1 FROM duckdb_views() WHERE temporary AND lower(view_name) = lower(?)"
        return self._connection.execute(query, [name]).fetchone() is not None

    def timestamp_has_zone(self) -> bool:
        return True

    def user(self) -> str:
        return "duckdb"

    def snapshot_properties(self) -> dict[str, str]:
        return {}


class _QueriedRows:
    """The rows that the query of a statement selects in a state of a table."""

    def __init__(self, table: Table, asked: Change[pa.Table]) -> None:
        self._table, self._asked = table, asked

    def read(self, state: TableState) -> SelectedRows:
        found = self._asked.select(at_state(self._table, state))
        try:
            return SelectedRows(self._rows(found, state), Filter(text=found.row_filter), found.reads_others)
        finally:
            found.release()

    def _rows(self, found: Selection[pa.Table], state: TableState) -> pa.Table | MergedRows:
        rows, schema = found.frame, state.arrow_schema()
        if self._asked.kind == "merge":
            if self._asked.checks_matches:
                check_matches(rows, FIRST_VALUE - 2)
            return MergedRows(*rows_by_clause(rows, found.clauses, lambda values: _fitted(values, schema)))
        address = rows.select([0, 1]).rename_columns(["file", "position"])
        values = _fitted(rows.select(range(2, rows.num_columns)).rename_columns(list(found.columns)), schema)
        for name, column in zip(found.columns, values.columns, strict=True):
            address = address.append_column(name, column)
        return address


def _fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in the types of the columns of a table; a value that does not fit is an error."""
    return rows.cast(pa.schema([schema.field(name).remove_metadata() for name in rows.column_names]))


def _check(engine: DuckDbEngine) -> Engine[pa.Table]:
    """Let the type checker compare the engine with the protocol."""
    return engine
