"""Parsing of INSERT statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._lexer import blank
from frazil.sql._parts import PartitionValue
from frazil.sql._reader import Text
from frazil.sql._statements import Insert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.sql._reader import Reader
    from frazil.sql._statements import Statement

QUERY = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
"""The keywords that a query can begin with."""

_SETS = ("EXCEPT", "INTERSECT", "MINUS", "UNION")
_AFTER_VALUES = (*_SETS, "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "ORDER", "SORT", "WHERE")
"""The first keywords of clauses after VALUES that turn a list of rows into a larger query."""

_OTHER_FORMS = {
    "WITH": "INSERT WITH SCHEMA EVOLUTION is not supported",
    "LOCAL": "INSERT OVERWRITE DIRECTORY is not supported",
    "DIRECTORY": "INSERT OVERWRITE DIRECTORY is not supported",
}


def insert(reader: Reader) -> Statement:
    """Parse `INSERT INTO` or `INSERT OVERWRITE`.

    >>> from frazil.sql._reader import Reader
    >>> found = insert(Reader("INSERT OVERWRITE t PARTITION (day = '2024-02-29', hour) SELECT 1, 2"))
    >>> found.overwrite, [(one.column, one.constant and one.constant.text) for one in found.partition]
    (True, [('day', "'2024-02-29'"), ('hour', None)])
    """
    kept = common_tables(reader)
    reader.expect("INSERT")
    _refuse_other_forms(reader)
    overwrite = reader.accept_any("INTO", "OVERWRITE") == "OVERWRITE"
    _refuse_other_forms(reader)
    following = reader.peek(1)
    if following is not None and following.is_name and not following.is_word(*QUERY, "PARTITION", "BY", "REPLACE"):
        reader.accept("TABLE")
    name = reader.name("the name of a table")
    if reader.at("WITH", "("):
        reader.reject("table options in INSERT are not supported")
    condition = None
    if not overwrite and reader.accept("REPLACE"):
        condition = _condition(reader)
    partition = tuple(partition_values(reader)) if condition is None and reader.accept("PARTITION") else ()
    if reader.at("IF", "NOT", "EXISTS"):
        reader.reject("IF NOT EXISTS of a partition is not supported", "remove these words")
    by_name = condition is None and reader.accept("BY", "NAME")
    has_list = condition is None and not by_name and reader.at("(") and not _is_query_in_parentheses(reader)
    columns = tuple(column_list(reader)) if has_list else None
    is_values = _is_only_values(reader)
    if not any(reader.at(word) for word in QUERY):
        reader.fail("expected VALUES or a query")
    if kept is not None and reader.at("WITH"):
        reader.reject("WITH both before INSERT and before its query is not supported", "use one WITH")
    query = reader.rest()
    if kept is not None:
        query = Text(kept.text + blank(reader.text[kept.end : query.start]) + query.text, kept.start)
    return Insert(name, query, columns, by_name, partition, overwrite, condition, is_values)


def word_after_common_tables(reader: Reader, *words: str) -> str | None:
    """Return which of these keywords follows the WITH clause; None if none does. No tokens are consumed."""
    begin = reader.mark()
    found = next((word for word in words if reader.at(word)), None) if _skip_common_tables(reader) else None
    reader.back_to(begin)
    return found


def common_tables(reader: Reader) -> Text | None:
    """Parse the WITH clause at the start of a statement; return None if there is none."""
    first = reader.peek()
    if first is None or not reader.at("WITH"):
        return None
    _skip_common_tables(reader)
    return reader.since(first)


def _skip_common_tables(reader: Reader) -> bool:
    """Skip `WITH name (columns) AS (query), …`; return False if the tokens do not have this form."""
    reader.expect("WITH")
    following = reader.peek(1)
    if following is not None and following.is_name and not following.is_word("AS"):
        reader.accept("RECURSIVE")
    while True:
        token = reader.peek()
        if token is None or not token.is_name:
            return False
        reader.take("a name")
        following = reader.peek(1)
        if reader.at("(") and following is not None and following.is_name and not following.is_word(*QUERY):
            reader.skip_parentheses()
        reader.accept("AS")
        if not reader.at("("):
            return False
        reader.skip_parentheses()
        if not reader.accept(","):
            return True


def _refuse_other_forms(reader: Reader) -> None:
    following = reader.peek(1)
    if following is None or following.text in (".", "("):
        return
    for word, problem in _OTHER_FORMS.items():
        if reader.at(word) and not following.is_word("PARTITION", *QUERY):
            reader.reject(problem)


def _condition(reader: Reader) -> Text:
    """Parse the condition of REPLACE WHERE, which ends at the start of the query."""
    reader.expect("WHERE")
    first = reader.peek()
    if first is None:
        reader.fail("expected a condition")
    while not reader.at_end and not any(reader.at(word) for word in QUERY if word != "("):
        if reader.at("("):
            reader.skip_parentheses()
        elif not reader.accept("DISTINCT", "FROM"):
            reader.take("a condition")
    return reader.since(first)


def partition_values(reader: Reader) -> Iterator[PartitionValue]:
    """Parse the columns of a PARTITION clause in parentheses, each with or without a constant."""
    reader.expect("(")
    while True:
        first = reader.peek()
        column = reader.identifier("a partition column")
        constant = None
        if reader.accept("=", "=") or reader.accept("="):
            constant = _constant(reader)
        yield PartitionValue(column, constant, first.start if first else 0)
        if not reader.accept(","):
            break
    reader.expect(")")


def _constant(reader: Reader) -> Text:
    """Parse a literal, with its preceding type or sign."""
    first = reader.peek()
    if first is None:
        reader.fail("expected a constant")
    while not (reader.at_end or reader.at(",") or reader.at(")")):
        token = reader.peek()
        if token is not None and token.text == "(":
            reader.reject("the value of a partition must be a constant", "use a literal")
        reader.take("a constant")
    found = reader.since(first)
    if not found.text:
        reader.fail("expected a constant")
    return found


def _is_query_in_parentheses(reader: Reader) -> bool:
    following = reader.peek(1)
    return following is not None and (following.text == "(" or following.is_word("SELECT", "WITH", "FROM", "VALUES"))


def _is_only_values(reader: Reader) -> bool:
    """Return whether the query is a plain list of rows after VALUES, without consuming it."""
    if not reader.at("VALUES"):
        return False
    begin, found = reader.mark(), True
    while found and not reader.at_end:
        if reader.at("("):
            reader.skip_parentheses()
        else:
            found = not reader.at("|", ">") and not reader.take("a row").is_word(*_AFTER_VALUES)
    reader.back_to(begin)
    return found


def column_list(reader: Reader) -> Iterator[str]:
    """Parse column names in parentheses."""
    reader.expect("(")
    while True:
        yield reader.identifier("the name of a column")
        if not reader.accept(","):
            break
    reader.expect(")")
