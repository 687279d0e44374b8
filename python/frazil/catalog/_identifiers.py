"""Names of tables and namespaces: `"ns.t"`, or a tuple for names that hold dots."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, TypeAlias

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

Identifier: TypeAlias = "str | Iterable[str]"
"""A name as users give it."""

Levels: TypeAlias = "tuple[str, ...]"
"""A name by its levels."""


def table_levels(identifier: Identifier) -> Levels:
    """Give the levels of a table's name, the last of which is the table's own.

    Raises:
        InvalidArgumentError: The name is empty or cannot be the name of anything.

    >>> table_levels("sales.eu.orders"), table_levels(("sales", "v1.orders"))
    (('sales', 'eu', 'orders'), ('sales', 'v1.orders'))
    >>> table_levels("sales..orders")
    Traceback (most recent call last):
      ...
    frazil.errors.InvalidArgumentError: 'sales..orders' has an empty level
    """
    levels = namespace_levels(identifier)
    if not levels:
        message = "the name of a table is empty"
        raise InvalidArgumentError(message)
    return levels


def namespace_levels(namespace: Identifier) -> Levels:
    """Give the levels of a namespace; none for the root of the catalog.

    Raises:
        InvalidArgumentError: The name cannot be the name of anything.

    >>> namespace_levels("sales.eu"), namespace_levels(()), namespace_levels("")
    (('sales', 'eu'), (), ())
    """
    if isinstance(namespace, str):
        levels = tuple(namespace.split(".")) if namespace else ()
    else:
        try:
            levels = tuple(namespace)
        except TypeError:
            message = f"a name is text or a tuple of texts, not {type(namespace).__name__}"
            raise InvalidArgumentError(message) from None
    for level in levels:
        _check_level(level, namespace)
    return levels


def dotted(levels: Levels) -> str:
    """Give a name as one text, for messages and for catalogs that store it so."""
    return ".".join(levels)


def _check_level(level: object, whole: Identifier) -> None:
    """Refuse what would be another place as part of a path, or another name as part of a message."""
    problem = None
    if not isinstance(level, str):
        problem = f"has a level that is no text but {type(level).__name__}"
    elif not level:
        problem = "has an empty level"
    elif level in {".", ".."}:
        problem = f"has the level {level!r}, which stands for another folder"
    elif "/" in level or "\\" in level:
        problem = "holds a slash"
    elif any(unicodedata.category(character) in {"Cc", "Cs"} for character in level):
        problem = "holds a control character"
    if problem is not None:
        message = f"{whole!r} {problem}"
        raise InvalidArgumentError(message)
