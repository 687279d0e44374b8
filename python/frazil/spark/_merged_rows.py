"""The rows that the query of a MERGE returns, by clause."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import InvalidArgumentError
from frazil.files.rows.batches import no_rows
from frazil.iceberg.operations.addressed import MergedRows
from frazil.spark._assignment import assigned_values
from frazil.spark._input import collected
from frazil.spark._taking import Taking
from frazil.spark._type_conversion import spark_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from frazil.iceberg import Table
    from frazil.iceberg._state import TableState
    from frazil.sql._row_change import ClauseChange

__all__ = ["merged_rows"]

_FIRST_VALUE = 4
"""The columns before the values: data file, position, whether a source row exists, and number of the clause."""


def merged_rows(
    frame: DataFrame, table: Table, clauses: Sequence[ClauseChange], *, checks_matches: bool
) -> CollectedMerge:
    """Return the result of the query of a MERGE, with the values in the types of their columns.

    Raises:
        InvalidArgumentError: Spark does not assign values of a type to a column.
    """
    own = table.scan().schema()
    names = sorted({name for clause in clauses for name in clause.columns})
    fields = {field.name: field for field in spark_schema(pa.schema([own.field(name) for name in names]), "error")}
    targets = [fields[name] for clause in clauses for name in clause.columns]
    frame = assigned_values(frame, [*(None,) * _FIRST_VALUE, *targets])
    file, _, has_source, clause = (frame[f"`{name}`"] for name in frame.columns[:_FIRST_VALUE])
    is_needed = clause.isNotNull()
    if checks_matches:
        is_needed |= file.isNotNull() & has_source.isNotNull()
    return CollectedMerge(frame.where(is_needed), clauses, checks_matches=checks_matches)


class CollectedMerge:
    """The result of the query of a MERGE, collected in this process."""

    def __init__(self, frame: DataFrame, clauses: Sequence[ClauseChange], *, checks_matches: bool) -> None:
        """Keep the query; its rows are collected when needed."""
        self._frame, self._clauses, self._checks_matches = frame, clauses, checks_matches

    def read(self, state: TableState, limit_bytes: int) -> MergedRows:
        """Collect all rows, and convert the values to the types of the columns of `state`.

        Raises:
            InvalidArgumentError: Several rows of the source match a row of the table, or a value does not fit its
                column.
            LimitExceededError: The rows have more than `limit_bytes` bytes.
        """
        rows = collected(self._frame, limit_bytes)
        if self._checks_matches:
            _check_matches(rows)
        changed, inserted = [], []
        clauses = self._clauses
        begins = accumulate((len(clause.columns) for clause in clauses), initial=_FIRST_VALUE)
        for number, (clause, begin) in enumerate(zip(clauses, begins, strict=False)):
            own = rows.filter(pc.equal(rows.column(_FIRST_VALUE - 1), number))
            places = range(begin, begin + len(clause.columns))
            if clause.action == "insert":
                inserted.append(_taken(own.select(places), clause.columns, state))
                continue
            address = own.select([0, 1]).rename_columns(["file", "position"])
            if clause.action == "delete":
                # A row can be deleted by several rows of the source.
                address = address.group_by(["file", "position"]).aggregate([])
            else:
                values = _taken(own.select(places), clause.columns, state)
                for name, column in zip(clause.columns, values.columns, strict=True):
                    address = address.append_column(name, column)
            changed.append(address)
        return MergedRows(changed, inserted)


def _taken(values: pa.Table, names: tuple[str, ...], state: TableState) -> pa.Table:
    """Return values as those of columns of the table."""
    values, taking = values.rename_columns(list(names)), Taking(state.arrow_schema())
    return pa.Table.from_batches([taking.apply(part) for part in values.to_batches() or [no_rows(values.schema)]])


def _check_matches(rows: pa.Table) -> None:
    """Check that at most one row of the source matches each row of the table."""
    matched = rows.filter(pc.and_(rows.column(0).is_valid(), rows.column(2).is_valid())).select([0, 1])
    counts = matched.rename_columns(["file", "position"]).group_by(["file", "position"]).aggregate([([], "count_all")])
    most = pc.max(counts.column("count_all")).as_py() or 0
    if most > 1:
        message = f"{most} rows of the source match a row of the table"
        hint = "remove duplicates from the source, or make the ON condition more specific"
        raise InvalidArgumentError(message, hint=hint)
