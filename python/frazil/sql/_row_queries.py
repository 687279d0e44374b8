"""Queries that select the rows to change: their addresses and new values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.sql._lexer import Lexed, blank, unsupported
from frazil.sql._moments import Moments
from frazil.sql._new_values import old_columns, path_sql, value_sql
from frazil.sql._references import replaced
from frazil.sql._sources import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil.sql._lexer import Token
    from frazil.sql._new_values import Value
    from frazil.sql._reader import Text
    from frazil.sql._references import Reference
    from frazil.sql._run import Run
    from frazil.sql._sources import Source
    from frazil.sql._statements import Delete, Target, Update

__all__ = [
    "ADDRESS_COLUMNS",
    "RowQuery",
    "address_names",
    "check_metadata_columns",
    "keyword_before",
    "place_of_target",
    "rows_to_delete",
    "rows_to_update",
    "unused_prefix",
]

ADDRESS_COLUMNS = ("_file", "_pos")
"""The metadata columns that contain the address of a row, in tables without a primary key."""


class RowQuery(NamedTuple):
    """A query that selects rows to change; its first columns are their addresses."""

    text: str
    sources: list[Source]
    row_filter: str
    """A filter that all selected rows match."""
    reads_others: bool
    """Whether the result also depends on rows of the table that do not change."""


def rows_to_delete(statement: Delete, condition: Text, run: Run[Any]) -> RowQuery:
    """Return the query that selects the rows of a DELETE.

    Raises:
        UnsupportedError: The table has a column with the name of a metadata column, or the query cannot be parsed.
    """
    sql, target = run.sql, statement.target
    verb = keyword_before(sql, "DELETE", target.name.start)
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


def rows_to_update(statement: Update, values: Mapping[str, Value], run: Run[Any]) -> RowQuery:
    """Return the query that selects the rows of an UPDATE, and their new values in the given order.

    Raises:
        UnsupportedError: As in `rows_to_delete`.
    """
    sql, target = run.sql, statement.target
    address = _address(target, run)
    expressions = [one.value for one in statement.assignments if one.value is not None]
    names = {one.start: f"{address[0]}_{place}" for place, one in enumerate(expressions)}
    used = sorted({column for value in values.values() for column in old_columns(value)})
    old = {column: f"{address[0]}_old_{place}" for place, column in enumerate(used)}
    present = [f"{path_sql(target.qualifier[-1], column)} AS {name}" for column, name in old.items()]
    columns = ", ".join([*address, *present])
    verb = keyword_before(sql, "UPDATE", target.name.start)
    begin = keyword_before(sql, "SET", statement.assignments[0].start).start
    # `FROM table SELECT values WHERE condition` has the order of UPDATE, so that the positions in the text do not
    # change, unless there is no space for SELECT.
    text = f"{sql.text[: verb.start]}{'FROM':6}{sql.text[verb.end : begin]}"
    keyword, edits = "SELECT", [(len(text), len(text) + len("SELECT"), f"SELECT {columns}")]
    for value in expressions:
        between = blank(sql.text[begin + len(keyword) : value.start])
        text += keyword + (between or " ")
        comma = ", (" if keyword == "SELECT" else "("
        edits.append((len(text), len(text), comma))
        text += value.text
        edits.append((len(text), len(text), f"\n) AS {names[value.start]}"))
        keyword, begin = ",", value.end
    if keyword == "SELECT":
        text += "SELECT 1"
        edits[0] = (edits[0][0], len(text), edits[0][2])
        begin += len("SELECT 1")
    condition = statement.condition
    if condition is not None:
        text += blank(sql.text[begin : condition.start])[: -len(" WHERE ")] + " WHERE "
        edits.append((len(text), len(text), "("))
        text += condition.text
        edits.append((len(text), len(text), "\n)"))
    found = _row_query("UPDATE", Lexed(text), edits, target, address, run)
    results = (value_sql(value, lambda one: names[one.start], old.__getitem__) for value in values.values())
    named = [f"{result} AS {address[0]}_value_{place}" for place, result in enumerate(results)]
    text = f"SELECT {', '.join([*address, *named])} FROM ({found.text}\n)"  # noqa: S608 - of the statement
    return found._replace(
        text=text,
        sources=[one if one.address is None else one.with_address(one.address, used) for one in found.sources],
    )


def keyword_before(sql: Lexed, word: str, before: int) -> Token:
    """Return the last keyword before a position."""
    return next(token for token in reversed(sql.significant) if token.end <= before and token.is_word(word))


def _row_query(
    what: str,
    query: Lexed,
    edits: Sequence[tuple[int, int, str]],
    target: Target,
    address: tuple[str, ...],
    run: Run[Any],
) -> RowQuery:
    """Return a query that reads the table of `target` with addresses."""
    found = run.references(query)
    place = place_of_target(what, target, found, run)
    sources = [run.source(one) for one in found]
    own = sources[place]
    schema = own.table.scan().schema()
    check_metadata_columns(f"this {what}", target, own.table, run)
    row_filter = ""
    # If the statement reads the table again, rows that do not match the filter may also affect its result.
    reads_others = any(one.reads(own) for one in sources if one is not own)
    if not reads_others:
        moments = Moments(run.engine.values, timestamp_has_zone=run.engine.timestamp_has_zone())
        row_filter = " and ".join(own.narrowed(schema, moments)[1])
    sources[place] = own.with_address(address)
    return RowQuery(replaced(query.text, found, edits), sources, row_filter, reads_others)


def place_of_target(what: str, target: Target, found: Sequence[Reference], run: Run[Any]) -> int:
    """Return the place of the table of `target` among the references of a query.

    Raises:
        UnsupportedError: The name of the table is that of a common table expression.
    """
    place = next((place for place, one in enumerate(found) if one.name.start == target.name.start), None)
    if place is None:
        problem = f"{what} is not supported for a table with the name of a common table expression"
        hint = "rename the common table expression"
        raise unsupported(run.text, target.name.start, problem, hint)
    return place


def check_metadata_columns(what: str, target: Target, table: Any, run: Run[Any]) -> None:
    """Check that no column of an Iceberg table has the name of a metadata column, by which its rows are addressed.

    Raises:
        UnsupportedError: A column has such a name.
    """
    columns = () if table.format == "paimon" else table.scan().schema().names
    taken = next((name for name in columns if name.lower() in ADDRESS_COLUMNS), None)
    if taken is not None:
        problem = f"{what} is not supported for a table with a column `{taken}`, which is also a metadata column"
        raise unsupported(run.text, target.name.start, problem, "rename the column")


def _address(target: Target, run: Run[Any]) -> tuple[str, ...]:
    """Return names for the address columns that occur neither in the statement nor in the table."""
    table = run.tables.source(target.name.parts).table
    return address_names(table, unused_prefix([run.text, *table.scan().schema().names]))


def address_names(table: Any, prefix: str) -> tuple[str, ...]:
    """Return the names of the address columns of a table."""
    names = [f"key_{place}" for place, _ in enumerate(key_of(table))] or ["file", "pos"]
    return tuple(f"{prefix}_{name}" for name in names)


def unused_prefix(texts: Sequence[str]) -> str:
    """Return a prefix for names that does not occur in the texts."""
    text = " ".join(texts).lower()
    prefix = "__frazil"
    while prefix in text:
        prefix += "_"
    return prefix
