"""Parsing of statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql import _parse_show as show
from frazil.sql._other import other
from frazil.sql._parse_alter import alter_namespace, alter_table, comment_on
from frazil.sql._parse_catalog import catalog_statement
from frazil.sql._parse_create import create_table, reject_materialized_table
from frazil.sql._parse_insert import QUERY, column_list, insert, partition_values, word_after_common_tables
from frazil.sql._parse_parts import properties
from frazil.sql._parse_rows import delete, merge, truncate, update
from frazil.sql._reader import Reader
from frazil.sql._statements import (
    Analyze,
    Argument,
    CacheTable,
    Call,
    CreateNamespace,
    CreateView,
    DropNamespace,
    DropTable,
    DropView,
    Explain,
    Query,
    RefreshTable,
    UncacheTable,
    Use,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.sql._lexer import Lexed
    from frazil.sql._statements import Statement

_NAMESPACE = ("NAMESPACE", "DATABASE", "SCHEMA")
_NAMESPACES = ("NAMESPACES", "DATABASES", "SCHEMAS")

_CHANGES = ("DELETE", "UPDATE", "MERGE", "TRUNCATE")
"""The first words of statements that change rows, and that EXPLAIN accepts."""

_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL")


def parse(text: str | Lexed) -> Statement:
    """Parse one statement.

    Raises:
        InvalidArgumentError: The statement cannot be parsed; the error contains the line and the column.
        UnsupportedError: A clause is not supported.

    >>> parse("DROP TABLE IF EXISTS local.db.t").name.parts
    ('local', 'db', 't')
    """
    reader = Reader(text)
    if reader.at_end:
        reader.fail("expected a statement")
    reader.check_one_statement()
    if any(reader.at(word) for word in QUERY) and not _changes_rows(reader):
        return Query(reader.text)
    try:
        found = _known(reader)
    except RecursionError:
        reader.reject("types with such deep nesting are not supported")
    if found is None:
        return other(reader)
    reader.end()
    return found


def _changes_rows(reader: Reader) -> bool:
    return reader.at("WITH") and word_after_common_tables(reader, *_AFTER_COMMON_TABLES) is not None


def _known(reader: Reader) -> Statement | None:
    """Parse a statement that frazil executes; return None, without consuming tokens, for any other statement."""
    if (found := catalog_statement(reader)) is not None:
        return found
    for words, read in _STATEMENTS:
        if reader.at(*words):
            return read(reader)
    return None


def _drop_table(reader: Reader) -> DropTable:
    reader.expect("DROP", "TABLE")
    if_exists = reader.accept("IF", "EXISTS")
    return DropTable(reader.name("the name of a table"), if_exists, reader.accept("PURGE"))


def _drop_namespace(reader: Reader) -> DropNamespace:
    reader.expect("DROP")
    reader.take("NAMESPACE")
    if_exists, name = reader.accept("IF", "EXISTS"), reader.name("the name of a namespace")
    cascade = reader.accept("CASCADE")
    reader.accept("RESTRICT")
    return DropNamespace(name, if_exists, cascade)


def _create_namespace(reader: Reader) -> CreateNamespace:
    reader.expect("CREATE")
    reader.take("NAMESPACE")
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    name = reader.name("the name of a namespace")
    found: dict[str, str] = {}
    while True:
        if reader.accept("COMMENT"):
            found["comment"] = reader.string("the comment")
        elif reader.accept("LOCATION"):
            found["location"] = reader.string("the location")
        elif reader.accept("WITH", "DBPROPERTIES") or reader.accept("WITH", "PROPERTIES"):
            found |= properties(reader)
        else:
            return CreateNamespace(name, found, if_not_exists)


def _use(reader: Reader) -> Use:
    reader.expect("USE")
    following = reader.peek(1)
    is_namespace = following is not None and reader.accept_any(*_NAMESPACE) is not None
    return Use(reader.name("a catalog or a namespace"), is_namespace=is_namespace)


def _use_catalog(reader: Reader) -> Use:
    reader.expect("SET", "CATALOG")
    return Use(reader.name("the name of a catalog"), is_catalog=True)


def _explain(reader: Reader) -> Statement | None:
    """Parse EXPLAIN of a query or of a statement that changes rows; None for other statements."""
    begin, first = reader.mark(), reader.peek()
    reader.expect("EXPLAIN")
    reader.accept_any(*_MODES)
    word = word_after_common_tables(reader, *_AFTER_COMMON_TABLES) if reader.at("WITH") else None
    changes_rows = word not in (None, "INSERT") or any(reader.at(one) for one in _CHANGES)
    is_query = word is None and any(reader.at(one) for one in QUERY)
    if first is None or not (changes_rows or is_query):
        reader.back_to(begin)
        return None
    return Explain(reader.since(first).text, reader.rest(), changes_rows)


def _create_view(reader: Reader) -> Statement | None:
    """Parse CREATE TEMPORARY VIEW of a query; None for other views."""
    begin = reader.mark()
    reader.expect("CREATE")
    replaces, is_global = reader.accept("OR", "REPLACE"), reader.accept("GLOBAL")
    if reader.accept_any("TEMPORARY", "TEMP") is None or not reader.accept("VIEW"):
        reader.back_to(begin)
        return None
    name = reader.name("the name of a view")
    columns = tuple(column_list(reader)) if reader.at("(") else None
    if not reader.accept("AS"):
        reader.back_to(begin)
        return None
    return CreateView(name, reader.rest(), columns, replaces, is_global)


def _analyze(reader: Reader) -> Analyze:
    """Parse `ANALYZE TABLE`.

    >>> from frazil.sql._reader import Reader
    >>> _analyze(Reader("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, b")).columns
    ('a', 'b')
    """
    reader.expect("ANALYZE", "TABLE")
    name = reader.name("the name of a table")
    refused = []
    if reader.at("PARTITION"):
        refused.append(("PARTITION", reader.take("PARTITION").start))
        tuple(partition_values(reader))
    reader.expect("COMPUTE", "STATISTICS")
    if reader.at("NOSCAN"):
        refused.append(("NOSCAN", reader.take("NOSCAN").start))
    columns: list[str] | None = []
    if reader.accept("FOR", "ALL", "COLUMNS"):
        columns = None
    elif reader.accept("FOR", "COLUMNS"):
        columns = [reader.identifier("a column")]
        while reader.accept(","):
            columns.append(reader.identifier("a column"))
    return Analyze(name, None if columns is None else tuple(columns), tuple(refused))


def _call(reader: Reader) -> Call:
    """Parse CALL.

    >>> found = _call(Reader("CALL c.system.expire_snapshots(table => 'db.t', retain_last => 5)"))
    >>> str(found.procedure), [(one.name, one.value.text) for one in found.arguments]
    ('c.system.expire_snapshots', [('table', "'db.t'"), ('retain_last', '5')])
    """
    reader.expect("CALL")
    procedure = reader.name("the name of a procedure")
    reader.expect("(")
    arguments = [] if reader.at(")") else list(_arguments(reader))
    reader.expect(")")
    return Call(procedure, tuple(arguments))


def _arguments(reader: Reader) -> Iterator[Argument]:
    while True:
        name = None
        if (following := reader.peek(1)) is not None and following.text in ("=>", "="):
            name = reader.identifier("the name of an argument")
            if not reader.accept("=>"):
                reader.expect("=", ">")
        yield Argument(name, reader.until(what="a value"))
        if not reader.accept(","):
            return


def _drop_view(reader: Reader) -> DropView:
    reader.expect("DROP", "VIEW")
    reader.accept("IF", "EXISTS")
    return DropView(reader.name("the name of a view"))


def _refresh(reader: Reader) -> RefreshTable:
    reader.expect("REFRESH", "TABLE")
    return RefreshTable(reader.name("the name of a table"))


def _cache(reader: Reader) -> CacheTable:
    """Parse `CACHE TABLE`.

    >>> found = _cache(Reader("CACHE LAZY TABLE v OPTIONS ('storageLevel' = 'DISK_ONLY') AS SELECT 1"))
    >>> found.head, found.query.text
    ("CACHE LAZY TABLE v OPTIONS ('storageLevel' = 'DISK_ONLY')", 'SELECT 1')
    """
    first = reader.peek()
    assert first is not None  # noqa: S101 - the caller has seen the keyword
    reader.expect("CACHE")
    reader.accept("LAZY")
    reader.expect("TABLE")
    name = reader.name("the name of a table")
    if reader.accept("OPTIONS"):
        reader.skip_parentheses()
    head = reader.since(first).text
    has_query = reader.accept("AS") or not reader.at_end
    return CacheTable(name, head, reader.rest() if has_query else None)


def _uncache(reader: Reader) -> UncacheTable:
    reader.expect("UNCACHE", "TABLE")
    if_exists = reader.accept("IF", "EXISTS")
    return UncacheTable(reader.name("the name of a table"), if_exists)


_AFTER_COMMON_TABLES = {"INSERT": insert, "DELETE": delete, "UPDATE": update, "MERGE": merge}
"""The keywords of statements that can follow a WITH clause, and their parsers."""


def _with(reader: Reader) -> Statement:
    word = word_after_common_tables(reader, *_AFTER_COMMON_TABLES)
    return _AFTER_COMMON_TABLES[word or "INSERT"](reader)


_STATEMENTS: tuple[tuple[tuple[str, ...], Callable[[Reader], Statement | None]], ...] = (
    (("CREATE", "TABLE"), create_table),
    (("CREATE", "OR", "REPLACE", "TABLE"), create_table),
    (("REPLACE", "TABLE"), create_table),
    (("CREATE", "MATERIALIZED", "TABLE"), reject_materialized_table),
    (("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE"), reject_materialized_table),
    (("DROP", "TABLE"), _drop_table),
    (("ALTER", "TABLE"), alter_table),
    *((("ALTER", word), alter_namespace) for word in _NAMESPACE),
    (("COMMENT", "ON"), comment_on),
    *((("CREATE", word), _create_namespace) for word in _NAMESPACE),
    *((("DROP", word), _drop_namespace) for word in _NAMESPACE),
    (("USE",), _use),
    (("SET", "CATALOG"), _use_catalog),
    (("SHOW", "TABLES"), show.show_tables),
    (("SHOW", "TABLE", "EXTENDED"), show.show_table_extended),
    *((("SHOW", word), show.show_namespaces) for word in _NAMESPACES),
    (("SHOW", "CATALOGS"), show.show_catalogs),
    (("SHOW", "CURRENT", "NAMESPACE"), show.show_current),
    (("SHOW", "CREATE", "TABLE"), show.show_create),
    (("SHOW", "TAGS"), show.show_tags),
    (("SHOW", "TBLPROPERTIES"), show.show_properties),
    (("SHOW", "COLUMNS"), show.show_columns),
    (("SHOW", "PARTITIONS"), show.show_partitions),
    (("DESCRIBE",), show.describe),
    (("DESC",), show.describe),
    *((("CREATE", *words), _create_view) for words in (("TEMPORARY",), ("TEMP",), ("GLOBAL",), ("OR", "REPLACE"))),
    (("EXPLAIN",), _explain),
    (("ANALYZE", "TABLE"), _analyze),
    (("DROP", "VIEW"), _drop_view),
    (("CACHE",), _cache),
    (("UNCACHE",), _uncache),
    (("REFRESH", "TABLE"), _refresh),
    (("CALL",), _call),
    (("INSERT", "INTO"), insert),
    (("INSERT", "OVERWRITE"), insert),
    (("WITH",), _with),
    (("DELETE",), delete),
    (("UPDATE",), update),
    (("MERGE",), merge),
    (("TRUNCATE",), truncate),
)
"""The first words of statements, and their parsers."""
