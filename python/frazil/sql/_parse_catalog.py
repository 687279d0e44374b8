"""Parsing of statements about catalogs: CREATE, DROP, DESCRIBE, USE and SHOW CURRENT CATALOG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._parse_parts import properties
from frazil.sql._reader import Reader
from frazil.sql._statements import CreateCatalog, DescribeCatalog, DropCatalog, ShowCurrent, Use

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.sql._lexer import Lexed
    from frazil.sql._reader import Name


def _create(reader: Reader) -> CreateCatalog:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    name = _name(reader)
    comment = reader.string("the comment") if reader.accept("COMMENT") else None
    if not reader.accept("WITH"):
        reader.fail("expected WITH and the properties of the catalog, such as 'type' and 'warehouse'")
    return CreateCatalog(name, properties(reader), if_not_exists, comment)


def _drop(reader: Reader) -> DropCatalog:
    if_exists = reader.accept("IF", "EXISTS")
    return DropCatalog(_name(reader), if_exists)


def _describe(reader: Reader) -> DescribeCatalog:
    extended = reader.peek(1) is not None and reader.accept("EXTENDED")
    return DescribeCatalog(_name(reader), extended)


def _use(reader: Reader) -> Use:
    return Use(_name(reader), is_catalog=True)


def _show_current(reader: Reader) -> ShowCurrent:
    del reader
    return ShowCurrent(is_catalog=True)


def _name(reader: Reader) -> Name:
    name = reader.name("the name of a catalog")
    if len(name.parts) > 1:
        reader.fail(f"the name of a catalog must have one part, not {len(name.parts)}")
    return name


_Found = CreateCatalog | DropCatalog | DescribeCatalog | Use | ShowCurrent

_FORMS: dict[tuple[str, ...], Callable[[Reader], _Found]] = {
    ("CREATE", "CATALOG"): _create,
    ("DROP", "CATALOG"): _drop,
    ("DESCRIBE", "CATALOG"): _describe,
    ("DESC", "CATALOG"): _describe,
    ("USE", "CATALOG"): _use,
    ("SHOW", "CURRENT", "CATALOG"): _show_current,
}


_OF_OBJECTS = ("DESC", "DESCRIBE", "USE")


def catalog_statement(reader: Reader) -> _Found | None:
    """Parse a statement about catalogs; None, without consuming tokens, for any other statement.

    >>> catalog_statement(Reader("USE CATALOG c"))
    Use(name=Name(parts=('c',), start=12, end=13), is_catalog=True, is_namespace=False)
    """
    for words, parse in _FORMS.items():
        if reader.at(*words):
            if words[0] in _OF_OBJECTS and not _names_object(reader):
                return None  # a namespace or a table named `catalog`
            reader.expect(*words)
            return parse(reader)
    return None


def _names_object(reader: Reader) -> bool:
    """Return whether a name follows the second word, which is then not a name itself."""
    following = reader.peek(2)
    return following is not None and following.is_name


def is_catalog_statement(sql: Lexed) -> bool:
    """Return whether a text begins like a statement about catalogs, which Spark does not support.

    >>> from frazil.sql._lexer import Lexed
    >>> is_catalog_statement(Lexed("create catalog c with (")), is_catalog_statement(Lexed("SHOW CATALOGS"))
    (True, False)
    """
    reader = Reader(sql)
    return any(reader.at(*words) and words[0] not in ("DESC", "DESCRIBE") for words in _FORMS)
