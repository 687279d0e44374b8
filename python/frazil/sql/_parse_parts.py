"""Parsing of parts that several kinds of statements contain: transforms, sort orders and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.catalog._properties import is_secret
from frazil.sql._lexer import invalid
from frazil.sql._parts import PartitionField, SortKey
from frazil.sql._reader import REDACTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from frazil.sql._reader import Name, Reader

    T = TypeVar("T")

_TRANSFORMS = {
    "bucket": "bucket",
    "date": "day",
    "date_hour": "hour",
    "day": "day",
    "days": "day",
    "hour": "hour",
    "hours": "hour",
    "identity": "identity",
    "month": "month",
    "months": "month",
    "truncate": "truncate",
    "year": "year",
    "years": "year",
}
"""The names of transforms in Spark SQL, with those in the specification."""

_WITH_NUMBER = ("bucket", "truncate")


def partition_field(reader: Reader) -> PartitionField:
    """Parse a column or a transform of a column.

    >>> from frazil.sql._reader import Reader
    >>> partition_field(Reader("days(ts)")).transform
    'day'
    """
    following = reader.peek(1)
    if following is None or following.text != "(":
        return PartitionField("identity", reader.name("a column"))
    written = reader.peek()
    transform = _TRANSFORMS.get(reader.identifier("a transform").lower())
    if transform is None:
        reader.fail(f"`{written.text if written else ''}` is not a partition transform")
    reader.expect("(")
    number: int | None = None
    if transform in _WITH_NUMBER:
        column, number = _numbered(reader)
    else:
        column = reader.name("a column")
    reader.expect(")")
    return PartitionField(transform, column, number)


def _numbered(reader: Reader) -> tuple[Name, int]:
    """Parse the two arguments of a transform, a number and a column, in either order."""
    token = reader.peek()
    if token is not None and token.kind == "number":
        number = reader.whole_number("a number")
        reader.expect(",")
        return reader.name("a column"), number
    column = reader.name("a column")
    reader.expect(",")
    return column, reader.whole_number("a number")


def sort_keys(reader: Reader) -> Iterator[SortKey]:
    """Parse the keys of a sort order, with or without parentheses."""
    is_list = reader.accept("(")
    yield from separated(reader, _sort_key)
    if is_list:
        reader.expect(")")


def _sort_key(reader: Reader) -> SortKey:
    found = partition_field(reader)
    descending = reader.accept_any("ASC", "DESC") == "DESC"
    nulls_first = not descending
    if reader.accept("NULLS"):
        word = reader.accept_any("FIRST", "LAST")
        if word is None:
            reader.fail("expected FIRST or LAST")
        nulls_first = word == "FIRST"
    return SortKey(found, descending, nulls_first)


def separated(reader: Reader, read: Callable[[Reader], T]) -> Iterator[T]:
    """Parse a comma-separated list."""
    yield read(reader)
    while reader.accept(","):
        yield read(reader)


def properties(reader: Reader) -> dict[str, str]:
    """Parse properties in parentheses: keys as strings or names, and values as strings, numbers or booleans.

    >>> from frazil.sql._reader import Reader
    >>> properties(Reader("('format-version' = '2', write.x 5, y=true)"))
    {'format-version': '2', 'write.x': '5', 'y': 'true'}
    """
    reader.expect("(")
    found: dict[str, str] = {}
    while True:
        token = reader.peek()
        is_string = token is not None and token.kind == "string"
        key = reader.string("a key") if is_string else ".".join(reader.name("a key").parts)
        if key in found:
            reader.fail(f"the key {key!r} is specified twice")
        reader.at_secret = is_secret(key)
        reader.accept("=")
        found[key] = _property_value(reader, key)
        if not reader.accept(","):
            break
    reader.expect(")")
    reader.at_secret = False
    return found


def _property_value(reader: Reader, key: str) -> str:
    token = reader.peek()
    if token is not None and token.kind == "string" and token.value == REDACTED:
        problem = f"the value of property {key!r} is a redacted secret"
        raise invalid(reader.text, token.start, problem, "replace it with the real value, or omit the property")
    if token is not None and (token.kind in ("string", "number") or token.is_word("TRUE", "FALSE")):
        reader.take("a value")
        return token.text.lower() if token.kind == "name" else token.value
    return reader.fail("expected a value as a string, a number or a boolean")
