"""Names of tables and namespaces: `"ns.t"`, or a tuple for names that contain dots."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, TypeAlias

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

Identifier: TypeAlias = "str | Iterable[str]"
"""A name as passed by users."""

Levels: TypeAlias = "tuple[str, ...]"
"""A name as a tuple of its levels."""


def table_levels(identifier: Identifier) -> Levels:
    """Return the levels of a table's name; the last level is the table itself.

    Raises:
        InvalidArgumentError: The name is empty or invalid.

    >>> table_levels("sales.eu.orders"), table_levels(("sales", "v1.orders"))
    (('sales', 'eu', 'orders'), ('sales', 'v1.orders'))
    >>> table_levels("sales..orders")
    Traceback (most recent call last):
      ...
    frazil.errors.InvalidArgumentError: 'sales..orders' has an empty level
    """
    levels = namespace_levels(identifier)
    if not levels:
        message = "the table name is empty"
        raise InvalidArgumentError(message)
    return levels


def namespace_levels(namespace: Identifier) -> Levels:
    """Return the levels of a namespace; an empty tuple for the root of the catalog.

    Raises:
        InvalidArgumentError: The name is invalid.

    >>> namespace_levels("sales.eu"), namespace_levels(()), namespace_levels("")
    (('sales', 'eu'), (), ())
    """
    if isinstance(namespace, str):
        levels = tuple(namespace.split(".")) if namespace else ()
    else:
        try:
            levels = tuple(namespace)
        except TypeError:
            message = f"a name must be a string or a tuple of strings, not {type(namespace).__name__}"
            raise InvalidArgumentError(message) from None
    for level in levels:
        _check_level(level, namespace)
    return levels


def dotted(levels: Levels) -> str:
    """Return a name as one string, for messages and for catalogs that store names in this form."""
    return ".".join(levels)


def _check_level(level: object, whole: Identifier) -> None:
    """Reject a level that cannot be a folder name, or that contains control characters."""
    problem = None
    if not isinstance(level, str):
        problem = f"has a level of type {type(level).__name__}, not a string"
    elif not level:
        problem = "has an empty level"
    elif level in {".", ".."}:
        problem = f"has the level {level!r}, which refers to another folder"
    elif "/" in level or "\\" in level:
        problem = "contains a slash"
    elif any(unicodedata.category(character) in {"Cc", "Cs"} for character in level):
        problem = "contains a control character"
    if problem is not None:
        message = f"{whole!r} {problem}"
        raise InvalidArgumentError(message)
