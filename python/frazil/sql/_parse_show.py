"""Parsing of SHOW and DESCRIBE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql import _statements as st
from frazil.sql._parse_insert import QUERY, partition_values
from frazil.sql._reader import Name

if TYPE_CHECKING:
    from frazil.sql._reader import Reader
    from frazil.sql._statements import Statement

_NAMESPACE = ("NAMESPACE", "DATABASE", "SCHEMA")
_OF_SPARK = ("FUNCTION", "CATALOG", "PROCEDURE")
_DETAILED = ("EXTENDED", "FORMATTED")


def show_tables(reader: Reader) -> st.ShowTables:
    """Parse `SHOW TABLES IN namespace LIKE pattern`."""
    reader.expect("SHOW", "TABLES")
    return st.ShowTables(_in(reader), _like(reader))


def show_table_extended(reader: Reader) -> st.ShowTableExtended:
    """Parse `SHOW TABLE EXTENDED IN namespace LIKE pattern`."""
    reader.expect("SHOW", "TABLE", "EXTENDED")
    namespace = _in(reader)
    reader.expect("LIKE")
    pattern = reader.string("the pattern")
    if reader.at("PARTITION"):
        reader.reject("PARTITION in SHOW TABLE EXTENDED is not supported", "use SHOW PARTITIONS, or t.partitions")
    return st.ShowTableExtended(namespace, pattern)


def show_namespaces(reader: Reader) -> st.ShowNamespaces:
    """Parse `SHOW NAMESPACES IN parent LIKE pattern`."""
    reader.expect("SHOW")
    reader.take("NAMESPACES")
    return st.ShowNamespaces(_in(reader), _like(reader))


def show_catalogs(reader: Reader) -> st.ShowCatalogs:
    """Parse `SHOW CATALOGS LIKE pattern`."""
    reader.expect("SHOW", "CATALOGS")
    return st.ShowCatalogs(_like(reader))


def show_current(reader: Reader) -> st.ShowCurrent:
    """Parse SHOW CURRENT NAMESPACE."""
    reader.expect("SHOW", "CURRENT", "NAMESPACE")
    return st.ShowCurrent()


def show_tags(reader: Reader) -> st.ShowTags:
    """Parse `SHOW TAGS FROM name`."""
    reader.expect("SHOW", "TAGS")
    reader.accept_any("FROM", "IN")
    return st.ShowTags(reader.name("the name of a table"))


def show_create(reader: Reader) -> st.ShowCreate:
    """Parse SHOW CREATE TABLE."""
    reader.expect("SHOW", "CREATE", "TABLE")
    name = reader.name("the name of a table")
    if reader.at("AS", "SERDE"):
        reader.reject("AS SERDE is not supported", "use SHOW CREATE TABLE without it")
    return st.ShowCreate(name)


def show_properties(reader: Reader) -> st.ShowProperties:
    """Parse `SHOW TBLPROPERTIES name (key)`."""
    reader.expect("SHOW", "TBLPROPERTIES")
    name, key = reader.name("the name of a table"), None
    if reader.accept("("):
        token = reader.peek()
        is_string = token is not None and token.kind == "string"
        key = reader.string("a key") if is_string else ".".join(reader.name("a key").parts)
        reader.expect(")")
    return st.ShowProperties(name, key)


def show_columns(reader: Reader) -> st.ShowColumns:
    """Parse `SHOW COLUMNS IN name`, optionally followed by `IN` and the namespace of the table."""
    reader.expect("SHOW", "COLUMNS")
    if reader.accept_any("IN", "FROM") is None:
        reader.fail("expected IN or FROM")
    name, namespace = reader.name("the name of a table"), _in(reader)
    if namespace is not None:
        if len(name.parts) > 1 and namespace.parts[-len(name.parts) + 1 :] != name.parts[:-1]:
            reader.fail(f"the namespaces of {name} and {namespace} differ")
        name = Name((*namespace.parts, name.parts[-1]), name.start, namespace.end)
    return st.ShowColumns(name)


def show_partitions(reader: Reader) -> st.ShowPartitions:
    """Parse `SHOW PARTITIONS name PARTITION (column = constant)`."""
    reader.expect("SHOW", "PARTITIONS")
    name = reader.name("the name of a table")
    return st.ShowPartitions(name, tuple(partition_values(reader)) if reader.accept("PARTITION") else ())


def describe(reader: Reader) -> Statement | None:
    """Parse DESCRIBE of a table, a column, a namespace or a query; None for Spark objects, such as functions."""
    following, after = reader.peek(1), reader.peek(2)
    is_word = after is not None and after.text != "."
    if following is not None and following.is_word(*_OF_SPARK) and is_word:
        return None
    first = reader.take("DESCRIBE")
    if following is not None and following.is_word(*_NAMESPACE) and is_word:
        reader.take("NAMESPACE")
        return _describe_namespace(reader)
    if (reader.at("QUERY") and is_word) or any(reader.at(word) for word in QUERY if word != "TABLE"):
        reader.accept("QUERY")
        return st.DescribeQuery(reader.since(first).text, reader.rest())
    if is_word:
        reader.accept("TABLE")
    extended = _is_followed(reader) and reader.accept_any(*_DETAILED) is not None
    name = reader.name("the name of a table")
    if reader.at("PARTITION", "("):
        reader.reject("DESCRIBE of a partition is not supported", "use SHOW PARTITIONS, or t.partitions")
    if reader.at("AS", "JSON"):
        reader.reject("DESCRIBE … AS JSON is not supported", "use DESCRIBE without it")
    return st.Describe(name, extended, None if reader.at_end else reader.name("a column"))


def _describe_namespace(reader: Reader) -> st.DescribeNamespace:
    extended = _is_followed(reader) and reader.accept("EXTENDED")
    return st.DescribeNamespace(reader.name("the name of a namespace"), extended)


def _is_followed(reader: Reader) -> bool:
    """Return whether a name follows the next word, so that the word is a keyword and not the name itself."""
    following = reader.peek(1)
    return following is not None and following.text != "."


def _in(reader: Reader) -> Name | None:
    return reader.name("the name of a namespace") if reader.accept_any("IN", "FROM") else None


def _like(reader: Reader) -> str | None:
    token = reader.peek()
    if reader.accept("LIKE") or (token is not None and token.kind == "string"):
        return reader.string("the pattern")
    return None
