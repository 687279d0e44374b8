"""Expressions whose value does not depend on rows, recognized by their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.errors import InvalidArgumentError
from frazil.sql._reader import Reader

if TYPE_CHECKING:
    from frazil.sql._lexer import Token

_WORDS = ("NULL", "TRUE", "FALSE")
_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "X")
_FUNCTIONS = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "NOW")
_CASTS = ("CAST", "TRY_CAST")


def is_literal(text: str) -> bool:
    """Return whether an expression is a literal, a cast of a literal, or the time of the statement.

    >>> is_literal("CAST('1' AS DECIMAL(9, 2))"), is_literal("-1.5"), is_literal("DATE '2024-02-29'")
    (True, True, True)
    >>> is_literal("id"), is_literal("1 + id"), is_literal("CAST(id AS INT)")
    (False, False, False)
    """
    try:
        reader = Reader(text)
        return _literal(reader) and reader.at_end
    except (InvalidArgumentError, RecursionError):
        return False


def _literal(reader: Reader) -> bool:
    """Consume a literal; return False if there is none."""
    if reader.accept("("):
        return _literal(reader) and reader.accept(")")
    if reader.accept_any(*_CASTS) is not None:
        return reader.accept("(") and _literal(reader) and _cast_end(reader)
    if reader.accept_any("+", "-") is not None:
        return reader.take("a number").kind == "number"
    token = reader.take("a literal")
    if token.is_word(*_FUNCTIONS):
        return reader.accept("(", ")")
    is_typed = token.is_word(*_TYPES)
    if is_typed:
        token = reader.take("a string")
    while _is_string(token) and (following := reader.peek()) is not None and _is_string(following):
        reader.take("a string")
    return _is_string(token) or (not is_typed and (token.kind == "number" or token.is_word(*_WORDS)))


def _cast_end(reader: Reader) -> bool:
    """Consume `AS type)`."""
    reader.expect("AS")
    reader.until(what="a type")
    return reader.accept(")")


def _is_string(token: Token) -> bool:
    # A string in double quotes may be a name, depending on a session setting.
    return token.kind == "string" and not token.text.endswith('"')
