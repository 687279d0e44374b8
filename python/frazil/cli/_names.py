"""Parsing of command arguments: a table given by location or by name, times, sizes and filters."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import frazil
from frazil._arguments import milliseconds
from frazil._virtual_table import VirtualTable
from frazil.catalog._identifiers import table_levels
from frazil.catalog._load import catalog_of
from frazil.catalog._settings import configured_names
from frazil.catalog._system_tables import SYSTEM_DATABASE
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from frazil.catalog import Catalog
    from frazil.iceberg import Table as IcebergTable
    from frazil.paimon import Table as PaimonTable

__all__ = ["moment", "of_table", "open_catalog", "open_named", "open_table", "pairs", "row_filter_of", "size"]

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_AGO = re.compile(r"([0-9]+)\s*([dhm])", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_TIMES = "a time such as 2024-02-29T12:00:00Z, an age such as 7d, 36h or 90m, or milliseconds since the epoch"
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def of_table(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument TABLE to a command, and the options that locate it."""
    for add in (
        click.option(
            "--storage", "-s", multiple=True, metavar="KEY=VALUE", help=("A storage option, for tables by path.")
        ),
        click.option("--property", "-p", "properties", multiple=True, metavar="KEY=VALUE", help="A catalog property."),
        click.option("--catalog", metavar="NAME", help="The catalog of the table, instead of its first level."),
        click.argument("table"),
    ):
        command = add(command)
    return command


def open_named(
    table: str, catalog: str | None, properties: Iterable[str], storage: Iterable[str]
) -> IcebergTable | PaimonTable | VirtualTable:
    """Open a table or a metadata table, by location if the argument looks like one, else by name."""
    if not table:
        message = "TABLE is empty"
        raise InvalidArgumentError(message, hint="pass a path, a URI, or a name in a catalog")
    given, options = pairs("--property", properties), pairs("--storage", storage)
    if catalog is not None or given:
        if options:
            message = (
                "--storage applies to tables by path; pass storage options of a catalog as properties: -p KEY=VALUE"
            )
            raise InvalidArgumentError(message)
        return _of_catalog(catalog, given, table)
    if "/" in table or Path(table.partition("$")[0]).exists():
        opened: IcebergTable | PaimonTable | VirtualTable = frazil.load_table(table, storage=options)
        return opened
    first, _, rest = table.partition(".")
    names = configured_names()
    if rest and first.lower().replace("_", "-") in names:
        table_levels(rest)
        return _of_catalog(first, {}, rest)
    message = f"{table!r} is neither an existing path nor a name in a configured catalog"
    shown = f"the configured catalogs are {', '.join(names)}" if names else "no catalog is configured"
    hint = f"{shown}; select another one with --catalog and -p, or pass a path as ./{table}"
    raise InvalidArgumentError(message, hint=hint)


def _of_catalog(
    catalog: str | None, properties: dict[str, str], table: str
) -> IcebergTable | PaimonTable | VirtualTable:
    opened: IcebergTable | PaimonTable | VirtualTable = catalog_of(catalog, properties).load_table(table)
    return opened


def open_table(
    table: str, catalog: str | None, properties: Iterable[str], storage: Iterable[str]
) -> IcebergTable | PaimonTable:
    """Open a table as `open_named` does.

    Raises:
        UnsupportedError: The argument is a metadata table.
    """
    opened = open_named(table, catalog, properties, storage)
    if isinstance(opened, VirtualTable):
        raise _is_metadata_table(table, opened.name)
    if opened.format == "paimon" and opened.system_table is not None:
        raise _is_metadata_table(table, opened.system_table)
    return opened


def _is_metadata_table(table: str, name: str) -> UnsupportedError:
    message = f"{table!r} is a metadata table, which is read-only"
    owner = _owner(table, name)
    itself = "" if owner is None else f", or use the table itself: {owner}"
    return UnsupportedError(message, context={"table": table}, hint=f"use `frazil scan`{itself}")


def _owner(table: str, name: str) -> str | None:
    """Return the name of the table that a metadata table belongs to; None if it belongs to a catalog."""
    owner = table.rstrip("/").removesuffix(name)[:-1]
    return None if owner.rpartition(".")[2] == SYSTEM_DATABASE else owner


def open_catalog(name: str | None, properties: Iterable[str]) -> Catalog[Any]:
    """Open a catalog by name; the default name is `default`."""
    return catalog_of(name, pairs("--property", properties))


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """Parse `KEY=VALUE` arguments."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            message = f"{option} must be KEY=VALUE, not {text!r}"
            raise InvalidArgumentError(message)
        found[key] = value
    return found


def moment(option: str, text: str | None) -> int | None:
    """Parse a time as milliseconds since the epoch; ages such as `7d`, `36h` and `90m` count back from now.

    >>> moment("--as-of", "2024-02-29T00:00:00Z"), moment("--as-of", "1700000000000")
    (1709164800000, 1700000000000)
    """
    if text is None:
        return None
    given = text.strip()
    try:
        if found := _AGO.fullmatch(given):
            ago = dt.timedelta(**{_UNITS[found[2].lower()]: int(found[1])})
            return int((dt.datetime.now(dt.UTC) - ago).timestamp() * 1000)
        if _DIGITS.fullmatch(given):
            return milliseconds(int(given), option)
        dt.datetime.fromisoformat(given)
    except (OverflowError, ValueError):
        message = f"{option} is {text!r}, expected {_TIMES}"
        raise InvalidArgumentError(message) from None
    return milliseconds(given, option)


def size(option: str, text: str | None) -> int | None:
    """Parse a number of bytes such as `512MB`, `1.5GiB` or `1000`; all units are binary: 1 MB is 1,048,576 bytes.

    >>> size("--target-size", "128MB"), size("--target-size", None)
    (134217728, None)
    """
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        message = f"{option} must be a number of bytes such as 512MB, not {text!r}"
        raise InvalidArgumentError(message)
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


def row_filter_of(text: str | None) -> str | bool:
    """Convert a filter option to a filter argument; without the option, all rows match.

    Raises:
        InvalidArgumentError: The filter is blank, for example because a shell variable is not set.
    """
    if text is None:
        return True
    if not text.strip():
        message = "the filter is empty"
        raise InvalidArgumentError(message, hint="use `true` for all rows")
    return text
