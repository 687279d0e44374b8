"""The procedures that write the files of Paimon tables again."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.paimon import Table
from frazil.sql._paimon_maintenance import partitions_of, table_of
from frazil.sql._procedure_filters import file_filter
from frazil.sql._reader import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._procedure_types import Context, Rows

__all__ = ["compact", "compact_database", "compact_manifest", "rescale"]

_LOGGER = logging.getLogger(__name__)
_STRATEGIES = ("full", "minor")


def compact(context: Context, given: Mapping[str, Any]) -> Rows:
    """Compact a table."""
    strategy = given["compact_strategy"].lower()
    if strategy not in _STRATEGIES:
        message = f"compact: invalid compact_strategy {given['compact_strategy']!r}"
        raise InvalidArgumentError(message, hint=f"use {' or '.join(_STRATEGIES)}")
    if "partitions" in given and "where" in given:
        message = "compact: partitions and where cannot be combined"
        raise InvalidArgumentError(message, hint="add the conditions on partitions to where")
    table = context.table(given["table"])
    if not isinstance(table, Table):
        message = f"compact: {given['table']} is not a table with data files"
        raise UnsupportedError(message, hint="pass the name of a table, not of a system table")
    where: str | bool = _where(given["partitions"]) if "partitions" in given else True
    if "where" in given:
        where = file_filter(given["where"], table.scan().schema(), context)
    table.compact(full=strategy == "full", where=where)
    return [(True,)]


def compact_database(context: Context, given: Mapping[str, Any]) -> Rows:
    """Compact the tables whose names match; count the tables that cannot be compacted, and log a warning for each."""
    databases = _pattern(given, "including_databases")
    included = _pattern(given, "including_tables")
    excluded = _pattern(given, "excluding_tables") if given.get("excluding_tables", "").strip() else None
    catalog = context.catalog.catalog
    compacted = failed = 0
    for namespace in catalog.list_namespaces():
        if not databases.fullmatch(namespace[-1]):
            continue
        for levels in catalog.list_tables(namespace):
            name = ".".join(levels)
            if not included.fullmatch(name) or (excluded is not None and excluded.fullmatch(name)):
                continue
            try:
                table = catalog.load_table(levels)
                if not hasattr(table, "compact"):
                    continue
                table.compact()
                compacted += 1
            except FrazilError as error:
                failed += 1
                _LOGGER.warning("compact_database: table %s was not compacted: %s", name, error)
    return [(f"Compact database finished. Success: {compacted}, Failed: {failed}",)]


def compact_manifest(context: Context, given: Mapping[str, Any]) -> Rows:
    """Merge the manifests of a table."""
    table_of(context, given).compact_manifests()
    return [(True,)]


def rescale(context: Context, given: Mapping[str, Any]) -> Rows:
    """Write the rows of partitions again, with another number of buckets."""
    partitions = partitions_of(given.get("partitions", "")) or None
    table_of(context, given).rescale(given.get("bucket_num"), partitions=partitions)
    return [(True,)]


def _pattern(given: Mapping[str, Any], name: str) -> re.Pattern[str]:
    try:
        return re.compile(given[name])
    except re.error as error:
        message = f"compact_database: {name} {given[name]!r} is not a regular expression: {error}"
        raise InvalidArgumentError(message) from None


def _where(partitions: str) -> str:
    """Return the SQL condition for partitions in Java's syntax.

    >>> _where("day=2024-02-29,hour=1; day='2024-03-01'")
    "(day = '2024-02-29' AND hour = '1') OR (day = '2024-03-01')"
    """
    return " OR ".join(
        f"({' AND '.join(map(_equality, partition.items()))})" for partition in partitions_of(partitions)
    )


def _equality(pair: tuple[str, str]) -> str:
    name, value = pair
    value = value.replace("'", "''")
    return f"{quoted(name)} = '{value}'"
