"""The rows that the query of a MERGE returns, by clause."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from frazil.sql._row_change import ClauseChange

__all__ = ["FIRST_VALUE", "ClauseRows", "check_matches", "rows_by_clause", "value_places"]

FIRST_VALUE = 4
"""The columns before the values: data file, position, whether a source row exists, and number of the clause."""


class ClauseRows(NamedTuple):
    """The rows that the clauses of a MERGE apply to, with one table for each clause."""

    changed: list[pa.Table]
    """Data files, positions and new values; rows of a table without values are deleted."""
    inserted: list[pa.Table]
    """The values of new rows."""


def value_places(clauses: Sequence[ClauseChange]) -> list[range]:
    """Return the places of the values of each clause among the columns of the query."""
    begins = accumulate((len(clause.columns) for clause in clauses), initial=FIRST_VALUE)
    return [range(begin, begin + len(one.columns)) for one, begin in zip(clauses, begins, strict=False)]


def rows_by_clause(
    rows: pa.Table, clauses: Sequence[ClauseChange], fitted: Callable[[pa.Table], pa.Table]
) -> ClauseRows:
    """Return the rows of each clause, with the names of its columns.

    Args:
        rows: The rows of the query of a MERGE of a table whose addresses are files and positions.
        clauses: The clauses.
        fitted: Converts values to the types of their columns.
    """
    changed, inserted = [], []
    for number, (clause, places) in enumerate(zip(clauses, value_places(clauses), strict=True)):
        own = rows.filter(pc.equal(rows.column(FIRST_VALUE - 1), number))
        address = own.select([0, 1]).rename_columns(["file", "position"])
        if clause.action == "delete":
            # A row can be deleted by several rows of the source.
            changed.append(address.group_by(["file", "position"]).aggregate([]))
            continue
        values = fitted(own.select(places).rename_columns(list(clause.columns)))
        if clause.action == "insert":
            inserted.append(values)
            continue
        for name, column in zip(clause.columns, values.columns, strict=True):
            address = address.append_column(name, column)
        changed.append(address)
    return ClauseRows(changed, inserted)


def check_matches(rows: pa.Table, address: int) -> None:
    """Check that at most one row of the source matches each row of the table.

    The first columns of the rows are the address of a row, `address` of them, and whether a source row exists.

    Raises:
        InvalidArgumentError: Several rows match.
    """
    is_matched = pc.and_(rows.column(0).is_valid(), rows.column(address).is_valid())
    matched = rows.filter(is_matched).select(range(address))
    counts = matched.group_by(matched.column_names).aggregate([([], "count_all")])
    most = pc.max(counts.column("count_all")).as_py() or 0
    if most > 1:
        message = f"{most} rows of the source match a row of the table"
        hint = "remove duplicates from the source, or make the ON condition more specific"
        raise InvalidArgumentError(message, hint=hint)
