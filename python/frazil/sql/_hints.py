"""Hints that set the read options of a table, in Flink syntax: `t /*+ OPTIONS('scan.snapshot-id' = '1') */`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from frazil.sql._lexer import Lexed, invalid
from frazil.sql._parse_parts import properties
from frazil.sql._reader import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._reader import Text

_OPTIONS = re.compile(r"/\*\+(\s*OPTIONS\s*\()", re.IGNORECASE)
_END = "*/"


class OptionsHint(NamedTuple):
    """An OPTIONS hint: the read options, and the position of the hint."""

    options: Mapping[str, str]
    start: int
    end: int


def check_hints(sql: Lexed, query: Text | None) -> None:
    """Check that each OPTIONS hint of a statement is in its query.

    Raises:
        InvalidArgumentError: A hint is at another place, where it would have no effect.
    """
    for hint in options_hints(sql):
        place = -1 if query is None else hint.start - query.start
        if place < 0 or query is None or not query.text.startswith("/*+", place):
            problem = "OPTIONS is accepted only after the table names of a query"
            raise invalid(sql.text, hint.start, problem, "remove the hint")


def options_hints(sql: Lexed) -> list[OptionsHint]:
    """Return the OPTIONS hints of a statement, in order; other hints are left to Spark.

    Raises:
        InvalidArgumentError: The hint is not a list of keys and values.

    >>> options_hints(Lexed("SELECT /*+ BROADCAST(t) */ * FROM t /*+ OPTIONS('a' = '1') */ x"))
    [OptionsHint(options={'a': '1'}, start=36, end=61)]
    """
    found = []
    for token in sql.tokens:
        hint = _OPTIONS.match(token.text) if token.kind == "comment" else None
        if hint is not None:
            # Blanks replace the text before the parenthesis, so that errors report positions in the statement.
            part = sql.only(token.text[: -len(_END)], token.start).text
            begin = token.start + hint.end(1) - 1
            reader = Reader(Lexed(" " * begin + part[begin:]))
            options = properties(reader)
            reader.end()
            found.append(OptionsHint(options, token.start, token.end))
    return found
