"""What a command is about: a table by its place or by its name, and what its user wrote as text."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import frazil
from frazil.catalog._identifiers import table_levels
from frazil.catalog._settings import configured_names
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["moment", "of_table", "open_catalog", "open_table", "pairs", "size"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_AGO = re.compile(r"(\d+)\s*([dhm])", re.IGNORECASE)
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def of_table(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument TABLE to a command, and the options that locate it."""
    for add in (
        click.option("--storage", "-s", multiple=True, metavar="KEY=VALUE", help="An option of the storage, by path."),
        click.option(
            "--property", "-p", "properties", multiple=True, metavar="KEY=VALUE", help="A property of the catalog."
        ),
        click.option("--catalog", metavar="NAME", help="The catalog of the table, instead of its first level."),
        click.argument("table"),
    ):
        command = add(command)
    return command


def open_table(table: str, catalog: str | None, properties: Iterable[str], storage: Iterable[str]) -> Any:
    """Open a table: by its place if it looks like one, else by its name."""
    given, options = pairs("--property", properties), pairs("--storage", storage)
    if catalog is not None or given:
        if options:
            message = "--storage is for tables by path; options of a catalog's storage are properties: -p KEY=VALUE"
            raise InvalidArgumentError(message)
        return frazil.load_catalog(catalog or "default", **given).load_table(table)
    if "/" in table or Path(table.partition("$")[0]).exists():
        return frazil.load_table(table, storage=options)
    first, _, rest = table.partition(".")
    names = configured_names()
    if rest and first.lower().replace("_", "-") in names:
        table_levels(rest)
        return frazil.load_catalog(first).load_table(rest)
    message = f"{table!r} is neither a path that exists nor a name in a configured catalog"
    shown = ", ".join(names) or "none"
    hint = f"configured are {shown}; --catalog and -p name another one, and ./{table} is a path"
    raise InvalidArgumentError(message, hint=hint)


def open_catalog(name: str, properties: Iterable[str]) -> Any:
    """Open a catalog."""
    return frazil.load_catalog(name, **pairs("--property", properties))


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """Return what `KEY=VALUE` stands for."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            message = f"{option} is KEY=VALUE, not {text!r}"
            raise InvalidArgumentError(message)
        found[key] = value
    return found


def moment(text: str | None) -> int | str | None:
    """Return a time as methods take it: `7d`, `36h` and `90m` are so long ago.

    >>> moment("2024-02-29T00:00:00Z"), moment("1700000000000")
    ('2024-02-29T00:00:00Z', 1700000000000)
    """
    if text is None:
        return None
    if found := _AGO.fullmatch(text.strip()):
        ago = dt.timedelta(**{_UNITS[found[2].lower()]: int(found[1])})
        return int((dt.datetime.now(dt.UTC) - ago).timestamp() * 1000)
    return int(text) if text.isdigit() else text


def size(option: str, text: str | None) -> int | None:
    """Return a number of bytes: `512MB`, `1.5GiB`, `1000`. Units are those of computers: 1 MB is 1,048,576 bytes.

    >>> size("--target-size", "128MB"), size("--target-size", None)
    (134217728, None)
    """
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        message = f"{option} is a number of bytes such as 512MB, not {text!r}"
        raise InvalidArgumentError(message)
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))
