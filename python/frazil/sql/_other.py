"""Statements that are not supported for tables in frazil catalogs, and their Python alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from frazil.sql._statements import Other

if TYPE_CHECKING:
    from frazil.sql._reader import Reader

_INSERT = 'frazil.spark.write(lake.sql("SELECT …"), lake.table(…))'
_OVERWRITE = 'frazil.spark.write(lake.sql("SELECT …"), lake.table(…), "overwrite")'
_VIEW = 'lake.sql("SELECT …").createOrReplaceTempView("name")'


class _Form(NamedTuple):
    """The first words of a statement, and its Python alternative."""

    words: tuple[str, ...]
    alternative: str | None = None


_FORMS = (
    _Form(("INSERT",), _INSERT),
    _Form(("ALTER", "VIEW")),
    _Form(("ALTER",)),
    _Form(("CREATE", "VIEW"), _VIEW),
    _Form(("CREATE", "OR", "REPLACE"), _VIEW),
    _Form(("CREATE", "TEMPORARY"), _VIEW),
    _Form(("CREATE", "TEMP"), _VIEW),
    _Form(("CREATE", "GLOBAL"), 'lake.sql("SELECT …").createOrReplaceGlobalTempView("name")'),
    _Form(("CREATE", "MATERIALIZED"), _OVERWRITE),
    _Form(("SHOW", "VIEWS")),
    _Form(("SHOW",)),
    _Form(("DESCRIBE",), "DESCRIBE with the name of a table"),
    _Form(("DESC",), "DESCRIBE with the name of a table"),
    _Form(("EXPLAIN",), "EXPLAIN with a query, DELETE, UPDATE, MERGE or TRUNCATE"),
    _Form(("COMMENT", "ON")),
    _Form(("REFRESH",), 'lake.sql("SELECT …"), which reads the latest snapshot'),
    _Form(("ANALYZE",)),
    _Form(("LOAD", "DATA"), 'frazil.spark.write(spark.read.parquet("…"), lake.table(…))'),
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


def other(reader: Reader) -> Other:
    """Return the statement according to its first words, and consume all of it.

    >>> from frazil.sql._reader import Reader
    >>> other(Reader("refresh table a.t")).what
    'REFRESH'
    """
    first = reader.peek()
    start = first.start if first else 0
    is_of_session = any(reader.at(*words) for words in _SESSION)
    form = next((form for form in _FORMS if reader.at(*form.words)), None)
    words = [first.text.upper() if first else "the statement"] if form is None else form.words
    if not reader.at_end:
        reader.rest()
    return Other(" ".join(words), start, is_of_session)


def is_statement(what: str) -> bool:
    """Return whether the first words of a text are those of a statement of Spark SQL.

    >>> is_statement("SHOW"), is_statement("SELEC")
    (True, False)
    """
    return what in _BY_NAME


def instead(what: str) -> str | None:
    """Return the Python alternative to a statement, with `lake.table(…)` for its table.

    >>> instead("CREATE VIEW")
    'lake.sql("SELECT …").createOrReplaceTempView("name")'
    """
    form = _BY_NAME.get(what)
    return None if form is None else form.alternative
