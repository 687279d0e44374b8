"""The keyword DEFAULT in the rows of `INSERT … VALUES`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.sql._row_targets import default_sql, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.sql._insert import Insertion
    from frazil.sql._lexer import Token
    from frazil.sql._run import Run
    from frazil.sql._statements import Insert

__all__ = ["defaults_in_values"]


def defaults_in_values(statement: Insert, how: Insertion, table: Any, run: Run[Any]) -> Iterator[tuple[int, int, str]]:
    """Yield the edits of the query that replace each value DEFAULT by the default of its column.

    Raises:
        UnsupportedError: A default cannot be written as SQL.
    """
    if not statement.is_values:
        return
    columns = statement.columns
    if columns is None:
        columns = tuple(name for name in table.scan().schema().names if name not in how.constants)
    sql = run.sql.only(statement.query.text, statement.query.start)
    for place, token in _defaults(sql.significant):
        found = named(table.scan().schema().names, columns[place], run.engine) if place < len(columns) else []
        # Spark reports values without a column, and unknown columns.
        if found:
            yield token.start, token.end, default_sql(found[0], table, run, token.start)


def _defaults(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Yield each value that is the word DEFAULT, with its place in its row.

    >>> from frazil.sql._lexer import Lexed
    >>> [place for place, _ in _defaults(Lexed("VALUES (1, DEFAULT, f(DEFAULT, 2)), (default, 3, 4)").significant)]
    [1, 0]
    """
    place = depth = 0
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.text == "(":
            depth += 1
            place = 0 if depth == 1 else place
        elif token.text == ")":
            depth -= 1
        elif token.text == "," and depth == 1:
            place += 1
        elif depth == 1 and token.is_word("DEFAULT") and _is_edge(before) and _is_edge(after):
            yield place, token


def _is_edge(token: Token | None) -> bool:
    return token is not None and token.text in ("(", ",", ")")
