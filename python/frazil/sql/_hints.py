"""Hints that give a table read options, in Flink's notation: `t /*+ OPTIONS('scan.snapshot-id' = '1') */`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from frazil.sql._lexer import Lexed
from frazil.sql._parse_parts import properties
from frazil.sql._reader import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS = re.compile(r"/\*\+(\s*OPTIONS\s*\()", re.IGNORECASE)
_END = "*/"


class OptionsHint(NamedTuple):
    """A hint with read options, and its position."""

    options: Mapping[str, str]
    start: int
    end: int


def options_hints(sql: Lexed) -> list[OptionsHint]:
    """Return the OPTIONS hints of a text, in order; other hints are for Spark.

    Raises:
        InvalidArgumentError: The hint is not a list of keys and values.

    >>> options_hints(Lexed("SELECT /*+ BROADCAST(t) */ * FROM t /*+ OPTIONS('a' = '1') */ x"))
    [OptionsHint(options={'a': '1'}, start=36, end=61)]
    """
    found = []
    for token in sql.tokens:
        hint = _OPTIONS.match(token.text) if token.kind == "comment" else None
        if hint is not None:
            # The text before the parenthesis is blank, so that errors have their place in the statement.
            part = sql.only(token.text[: -len(_END)], token.start).text
            begin = token.start + hint.end(1) - 1
            reader = Reader(Lexed(" " * begin + part[begin:]))
            options = properties(reader)
            reader.end()
            found.append(OptionsHint(options, token.start, token.end))
    return found
