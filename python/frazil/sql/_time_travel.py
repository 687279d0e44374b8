"""`VERSION AS OF` and `TIMESTAMP AS OF` after table names, found by tokens.

The clauses are replaced with blanks before sqlglot parses the text, so that positions are kept. Each clause is then
assigned to the preceding table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from frazil.sql._lexer import lexed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._lexer import Lexed, Token

_VERSION = ("VERSION", "SYSTEM_VERSION")
_TIMESTAMP = ("TIMESTAMP", "SYSTEM_TIME")
_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_WITHOUT_PARENTHESES = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")
# In `VERSION AS of`, `of` may be a column alias; one of these words then follows.
_AFTER_ALIAS = ("FROM", "WHERE", "HAVING", "UNION", "EXCEPT", "MINUS", "INTERSECT", "LIMIT", "OFFSET", "LATERAL")


class AsOf(NamedTuple):
    """A time travel clause: a snapshot id, the name of a branch or tag, or an expression for a time."""

    kind: Literal["version", "timestamp"]
    value: str
    start: int
    end: int


def time_travel(sql: str | Lexed) -> list[AsOf]:
    """Return the time travel clauses of a text, in order.

    >>> time_travel("SELECT * FROM t FOR VERSION AS OF 'v1' x")
    [AsOf(kind='version', value='v1', start=16, end=38)]
    >>> time_travel("SELECT version AS of FROM t TIMESTAMP AS OF now() - INTERVAL 1 DAY")[0].value
    'now() - INTERVAL 1 DAY'
    """
    sql = lexed(sql)
    text, found = sql.text, sql.significant
    clauses = []
    for index, token in enumerate(found):
        if not token.is_word(*_VERSION, *_TIMESTAMP) or not _are_words(found[index + 1 : index + 3], "AS", "OF"):
            continue
        has_for = index > 0 and found[index - 1].is_word("FOR")
        start = found[index - has_for].start
        place = index + 3
        if token.is_word(*_VERSION):
            value = found[place] if place < len(found) else None
            if value is not None and (value.kind == "string" or value.text.isdecimal()):
                clauses.append(AsOf("version", value.value, start, value.end))
        elif (end := _end_of_expression(found, place)) is not None:
            last = found[end - 1].end
            clauses.append(AsOf("timestamp", text[found[place].start : last], start, last))
    return clauses


def _are_words(found: Sequence[Token], *words: str) -> bool:
    return len(found) == len(words) and all(token.is_word(word) for token, word in zip(found, words, strict=True))


def _end_of_expression(found: Sequence[Token], place: int) -> int | None:
    """Return the index after terms joined by `+` and `-`; None if the tokens are another type of expression."""
    end = _end_of_term(found, place)
    while end is not None and end < len(found) and found[end].text in ("+", "-"):
        end = _end_of_term(found, end + 1)
    return end


def _end_of_term(found: Sequence[Token], place: int) -> int | None:
    if place >= len(found):
        return None
    token, following = found[place], found[place + 1] if place + 1 < len(found) else None
    end = None
    if token.kind == "string":
        # Adjacent strings form one literal.
        end = next((end for end in range(place, len(found)) if found[end].kind != "string"), len(found))
    elif token.kind == "number" or token.is_word(*_WITHOUT_PARENTHESES):
        end = place + 1
    elif token.is_word("INTERVAL"):
        end = _end_of_interval(found, place + 1)
    elif token.text == "(":
        end = _end_of_parentheses(found, place)
    elif following is not None and (
        (token.text == ":" and following.kind == "name") or (token.is_word(*_TYPES) and following.kind == "string")
    ):
        end = place + 2
    elif token.is_name and not token.is_word(*_AFTER_ALIAS) and following is not None and following.text == "(":
        end = _end_of_parentheses(found, place + 1)
    if end == place + 1 and token.is_name and following is not None and following.text == "(":
        end = _end_of_parentheses(found, place + 1)  # current_timestamp()
    return end


def _end_of_interval(found: Sequence[Token], place: int) -> int | None:
    place += place < len(found) and found[place].text == "-"
    following = found[place : place + 4]
    if not following or following[0].kind not in ("string", "number"):
        return None
    if len(following) == 1 or following[1].kind != "name":
        return place + 1  # INTERVAL '1 day'
    has_two = len(following) == 4 and following[2].is_word("TO")  # noqa: PLR2004 - value, unit, TO, unit
    return place + (4 if has_two else 2)


def _end_of_parentheses(found: Sequence[Token], place: int) -> int | None:
    depth = 0
    for index in range(place, len(found)):
        depth += (found[index].text == "(") - (found[index].text == ")")
        if depth == 0:
            return index + 1
    return None
