"""Queries that select the rows to change, by their addresses: data file and position."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.sql._lexer import Lexed, unsupported
from frazil.sql._moments import Moments
from frazil.sql._references import replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._reader import Text
    from frazil.sql._references import Reference
    from frazil.sql._run import Run
    from frazil.sql._sources import Source
    from frazil.sql._statements import Delete, Target

__all__ = ["RowQuery", "rows_to_delete"]

_METADATA_COLUMNS = ("_file", "_pos")


class RowQuery(NamedTuple):
    """A query that selects rows to change; its first two columns are the data file and the position."""

    text: str
    sources: list[Source]
    row_filter: str
    """A filter that all selected rows match."""


def rows_to_delete(statement: Delete, condition: Text, run: Run[Any]) -> RowQuery:
    """Return the query that selects the rows of a DELETE.

    Raises:
        UnsupportedError: The table has a column with the name of a metadata column, or the query cannot be parsed.
    """
    sql, target = run.sql, statement.target
    verb = next(
        token for token in reversed(sql.significant) if token.end <= target.name.start and token.is_word("DELETE")
    )
    # Both keywords have the same length, so that the positions in the text do not change.
    query = Lexed(f"{sql.text[: verb.start]}SELECT{sql.text[verb.end : condition.end]}")
    address = _address(target, run)
    edits = [
        (verb.start, verb.end, f"SELECT {', '.join(address)}"),
        (condition.start, condition.start, "("),
        # The condition may end with a comment.
        (condition.end, condition.end, "\n)"),
    ]
    return _row_query("DELETE", query, edits, target, address, run)


def _row_query(
    what: str,
    query: Lexed,
    edits: Sequence[tuple[int, int, str]],
    target: Target,
    address: tuple[str, str],
    run: Run[Any],
) -> RowQuery:
    """Return a query that reads the table of `target` with addresses."""
    found = run.references(query)
    place = _place_of(what, target, found, run)
    sources = [run.source(one) for one in found]
    own = sources[place]
    schema = own.table.scan().schema()
    taken = next((name for name in schema.names if name.lower() in _METADATA_COLUMNS), None)
    if taken is not None:
        problem = f"this {what} is not supported for a table with a column `{taken}`, which is also a metadata column"
        raise unsupported(run.text, target.name.start, problem, "rename the column")
    row_filter = ""
    # If the statement reads the table again, rows that do not match the filter may also affect its result.
    if not any(one.reads(own) for one in sources if one is not own):
        moments = Moments(run.engine.values, timestamp_has_zone=run.engine.timestamp_has_zone())
        row_filter = " and ".join(f"({one})" for one in own.narrowed(schema, moments)[1])
    sources[place] = replace(own, address=address)
    return RowQuery(replaced(query.text, found, edits), sources, row_filter)


def _place_of(what: str, target: Target, found: Sequence[Reference], run: Run[Any]) -> int:
    place = next((place for place, one in enumerate(found) if one.name.start == target.name.start), None)
    if place is None:
        problem = f"{what} is not supported for a table with the name of a common table expression"
        hint = "rename the common table expression"
        raise unsupported(run.text, target.name.start, problem, hint)
    return place


def _address(target: Target, run: Run[Any]) -> tuple[str, str]:
    """Return names for the address columns that occur neither in the statement nor in the table."""
    columns = run.tables.source(target.name.parts).table.scan().schema().names
    text = " ".join([run.text, *columns]).lower()
    prefix = "__frazil"
    while prefix in text:
        prefix += "_"
    return f"{prefix}_file", f"{prefix}_pos"
