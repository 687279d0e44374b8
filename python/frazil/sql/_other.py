"""Statements that are not supported for tables in frazil catalogs, and their Python alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from frazil.sql._statements import Other

if TYPE_CHECKING:
    from frazil.sql._reader import Name, Reader

_INSERT = 'frazil.spark.write(lake.sql("SELECT …"), lake.table(…))'
_OVERWRITE = 'frazil.spark.write(lake.sql("SELECT …"), lake.table(…), "overwrite")'
_VIEW = 'lake.sql("SELECT …").createOrReplaceTempView("name")'


class _Form(NamedTuple):
    """The first words of a statement, and the alternatives for a table of either format.

    `before_table` holds the words, each of them optional, between the first words and the name of the table that the
    statement refers to; None if it does not refer to a table.
    """

    words: tuple[str, ...]
    before_table: tuple[str, ...] | None
    iceberg: str | None
    paimon: str | None


_FORMS = (
    _Form(("INSERT",), None, _INSERT, None),
    _Form(("DELETE",), ("FROM",), 'lake.table(…).delete("id = 1")', None),
    _Form(("UPDATE",), (), 'lake.table(…).update({"name": "upper(name)"}, "id = 1")', None),
    _Form(("MERGE",), ("INTO",), 'frazil.spark.merge(frame, lake.table(…), ["id"])', None),
    _Form(("TRUNCATE",), ("TABLE",), "lake.table(…).delete()", "lake.table(…).truncate()"),
    _Form(("ALTER", "VIEW"), None, None, None),
    _Form(("ALTER",), None, None, None),
    _Form(("CREATE", "VIEW"), None, _VIEW, None),
    _Form(("CREATE", "OR", "REPLACE"), None, _VIEW, None),
    _Form(("CREATE", "TEMPORARY"), None, _VIEW, None),
    _Form(("CREATE", "TEMP"), None, _VIEW, None),
    _Form(("CREATE", "GLOBAL"), None, 'lake.sql("SELECT …").createOrReplaceGlobalTempView("name")', None),
    _Form(("CREATE", "MATERIALIZED"), None, _OVERWRITE, None),
    _Form(("DROP", "VIEW"), None, None, None),
    _Form(("SHOW", "VIEWS"), None, None, None),
    _Form(("SHOW",), None, None, None),
    _Form(("DESCRIBE",), None, "DESCRIBE with the name of a table", None),
    _Form(("DESC",), None, "DESCRIBE with the name of a table", None),
    _Form(("EXPLAIN",), None, "EXPLAIN with a query", None),
    _Form(("COMMENT", "ON"), None, None, None),
    _Form(("CACHE",), None, 'lake.sql("SELECT …").cache()', None),
    _Form(("UNCACHE",), None, "the method unpersist of the DataFrame", None),
    _Form(("REFRESH",), None, 'lake.sql("SELECT …"), which reads the latest snapshot', None),
    _Form(("ANALYZE",), None, None, None),
    _Form(("LOAD", "DATA"), None, 'frazil.spark.write(spark.read.parquet("…"), lake.table(…))', None),
)
_BY_NAME = {" ".join(form.words): form for form in _FORMS}

_SESSION = (
    ("SET",),
    ("RESET",),
    ("ADD",),
    ("LIST",),
    ("CLEAR", "CACHE"),
    ("SHOW", "FUNCTIONS"),
    ("DESCRIBE", "FUNCTION"),
    ("DESC", "FUNCTION"),
    ("CREATE", "TEMPORARY", "FUNCTION"),
    ("DROP", "TEMPORARY", "FUNCTION"),
)
_AFTER_TABLE = ("SELECT", "WITH", "VALUES", "FROM", "WHERE", "SET", "USING", "AS", "PARTITION")


def other(reader: Reader) -> Other:
    """Return the statement according to its first words, and consume all of it.

    >>> from frazil.sql._reader import Reader
    >>> found = other(Reader("merge into a.t using s on true"))
    >>> found.what, str(found.table)
    ('MERGE', 'a.t')
    """
    first = reader.peek()
    start = first.start if first else 0
    is_of_session = any(reader.at(*words) for words in _SESSION)
    form = next((form for form in _FORMS if reader.at(*form.words)), None)
    if form is None:
        what, table = first.text.upper() if first else "the statement", None
    else:
        reader.expect(*form.words)
        what, table = " ".join(form.words), _table(reader, form.before_table)
    if not reader.at_end:
        reader.rest()
    return Other(what, start, table, is_of_session)


def instead(what: str, table_format: str) -> str | None:
    """Return the Python alternative to a statement on a table of a format, with `lake.table(…)` for the table.

    >>> instead("TRUNCATE", "paimon")
    'lake.table(…).truncate()'
    """
    form = _BY_NAME.get(what)
    if form is None:
        return None
    return form.paimon if table_format == "paimon" and form.before_table is not None else form.iceberg


def _table(reader: Reader, before: tuple[str, ...] | None) -> Name | None:
    if before is None:
        return None
    for word in before:
        following = reader.peek(1)
        # The word is optional only if a table name follows; otherwise the word itself is the name of the table.
        if following is not None and following.is_name and not following.is_word(*_AFTER_TABLE):
            reader.accept(word)
    token = reader.peek()
    following = reader.peek(1)
    is_name = token is not None and token.is_name and token.text != "``"
    if not is_name or (following is not None and following.text == "." and not _is_name_at(reader, 2)):
        return None
    return reader.name("the name of a table")


def _is_name_at(reader: Reader, ahead: int) -> bool:
    token = reader.peek(ahead)
    return token is not None and token.is_name and token.text != "``"
