"""Parsing of properties: the keys and values of TBLPROPERTIES, OPTIONS, DBPROPERTIES and WITH."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frazil.sql._reader import Reader


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
        reader.accept("=")
        found[key] = _property_value(reader)
        if not reader.accept(","):
            break
    reader.expect(")")
    return found


def _property_value(reader: Reader) -> str:
    token = reader.peek()
    if token is not None and (token.kind in ("string", "number") or token.is_word("TRUE", "FALSE")):
        reader.take("a value")
        return token.text.lower() if token.kind == "name" else token.value
    return reader.fail("expected a value as a string, a number or a boolean")
