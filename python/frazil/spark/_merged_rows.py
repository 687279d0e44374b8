"""The rows that the query of a MERGE returns, by clause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil.files.rows.batches import no_rows
from frazil.iceberg.operations.addressed import MergedRows
from frazil.spark._assignment import assigned_values
from frazil.spark._iceberg_write import check_columns
from frazil.spark._input import WrittenFrame, collected
from frazil.spark._persisted import persisted, row_size, size_bytes
from frazil.spark._taking import Taking
from frazil.spark._type_conversion import spark_schema
from frazil.sql._merged_rows import FIRST_VALUE, check_matches, rows_by_clause, value_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from frazil.iceberg import Table
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.rows import WrittenRows
    from frazil.sql._row_change import ClauseChange

__all__ = ["merged_rows", "needed_rows"]

INSERT_LIMIT_BYTES = 64 << 20
"""The size of the inserted rows up to which they are written in this process."""


def merged_rows(frame: DataFrame, table: Table, clauses: Sequence[ClauseChange], *, checks_matches: bool) -> Merged:
    """Return the result of the query of a MERGE, with the values in the types of their columns.

    Raises:
        InvalidArgumentError: Spark does not assign values of a type to a column.
    """
    own = table.scan().schema()
    names = sorted({name for clause in clauses for name in clause.columns})
    fields = {field.name: field for field in spark_schema(pa.schema([own.field(name) for name in names]), "error")}
    targets = [fields[name] for clause in clauses for name in clause.columns]
    frame = assigned_values(frame, [*(None,) * FIRST_VALUE, *targets])
    frame = needed_rows(frame, FIRST_VALUE - 2, checks_matches=checks_matches)
    return Merged(frame, table, clauses, checks_matches=checks_matches)


def needed_rows(frame: DataFrame, address: int, *, checks_matches: bool) -> DataFrame:
    """Return the rows that a clause applies to, and those whose matches are counted.

    The columns are the address of a row, `address` of them, whether a source row exists, and the number of the clause.
    """
    place, has_source, clause = (frame[f"`{frame.columns[at]}`"] for at in (0, address, address + 1))
    is_needed = clause.isNotNull()
    if checks_matches:
        is_needed |= place.isNotNull() & has_source.isNotNull()
    return frame.where(is_needed)


class Merged:
    """The result of the query of a MERGE."""

    def __init__(
        self, frame: DataFrame, table: Table, clauses: Sequence[ClauseChange], *, checks_matches: bool
    ) -> None:
        """Keep the query, which runs once."""
        self._frame, self._table, self._clauses, self._checks_matches = frame, table, clauses, checks_matches
        self._places = value_places(clauses)
        self._inserts = [number for number, clause in enumerate(clauses) if clause.action == "insert"]

    def read(self, state: TableState, limit_bytes: int) -> MergedRows:
        """Collect the rows, and convert the values to the types of the columns of `state`.

        If the inserted rows have more than `INSERT_LIMIT_BYTES` bytes, workers write them into data files.

        Raises:
            InvalidArgumentError: Several rows of the source match a row of the table, or a value does not fit its
                column.
            LimitExceededError: The rows have more than `limit_bytes` bytes.
        """
        if not self._inserts:
            return self._merged(collected(self._frame, limit_bytes), state)
        # The rows are kept, so that the source is read once, and random values are the same for all reads.
        frame, release = persisted(self._frame)
        try:
            if self._inserted_bytes(frame) <= INSERT_LIMIT_BYTES:
                return self._merged(collected(frame, limit_bytes), state)
            clause = self._clause_of(frame)
            merged = self._merged(
                collected(frame.where(clause.isNull() | ~clause.isin(self._inserts)), limit_bytes), state
            )
            return MergedRows(merged.changed, [], self._written(frame, state))
        finally:
            release()

    def _merged(self, rows: pa.Table, state: TableState) -> MergedRows:
        """Return collected rows by clause."""
        if self._checks_matches:
            check_matches(rows, FIRST_VALUE - 2)
        return MergedRows(*rows_by_clause(rows, self._clauses, lambda values: _taken(values, state)))

    def _clause_of(self, frame: DataFrame) -> Column:
        """Return the column with the number of the clause."""
        return frame[f"`{frame.columns[FIRST_VALUE - 1]}`"]

    def _inserted_bytes(self, frame: DataFrame) -> int:
        """Return about how many bytes the inserted rows have in memory."""
        from pyspark.sql import functions

        sizes = functions.lit(0)
        for number in self._inserts:
            size = row_size(frame.schema[place] for place in self._places[number])
            sizes = functions.when(self._clause_of(frame) == number, size).otherwise(sizes)
        return size_bytes(frame, sizes)

    def _written(self, frame: DataFrame, state: TableState) -> list[WrittenRows]:
        """Write the inserted rows in the workers; if a task fails, all files are deleted."""
        written: list[WrittenRows] = []
        try:
            for number in self._inserts:
                names = zip(self._places[number], self._clauses[number].columns, strict=True)
                rows = frame.where(self._clause_of(frame) == number).select(
                    *(frame[f"`{frame.columns[place]}`"].alias(name) for place, name in names)
                )
                check_columns(self._table, rows.schema)
                written.append(WrittenFrame(rows).write(state))
        except BaseException:
            for one in written:
                one.abort()
            raise
        return written


def _taken(values: pa.Table, state: TableState) -> pa.Table:
    """Return values as those of columns of the table."""
    taking = Taking(state.arrow_schema())
    return pa.Table.from_batches([taking.apply(part) for part in values.to_batches() or [no_rows(values.schema)]])
