"""The supported table formats: how each is detected, opened and created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.iceberg._table import Table as IcebergTable
    from frazil.paimon._table import Table as PaimonTable

__all__ = ["FORMATS", "Format", "format_named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The definition of a table format, used to open tables by location."""

    name: str
    table_class: Callable[[], type[Any]]
    """A function that imports and returns the table class, which has `open` and `create`."""
    metadata_table: Callable[[Any, str], Any]
    """A function that returns a metadata table or system table by name."""
    create_arguments: tuple[str, ...]
    """The arguments of `create_table` that apply only to this format."""
    folder: str
    """The folder in a table whose files identify the format."""
    recognizes: Callable[[str], bool]
    """A function that returns whether a file name in `folder` identifies a table of this format."""


def _iceberg_table() -> type[IcebergTable]:
    from frazil.iceberg._table import Table

    return Table


def _paimon_table() -> type[PaimonTable]:
    from frazil.paimon._table import Table

    return Table


def _iceberg_metadata_table(table: IcebergTable, name: str) -> Any:
    return table.inspect[name]


def _paimon_system_table(table: PaimonTable, name: str) -> Any:
    from frazil.paimon._table import system_table

    return system_table(table, name)


FORMATS = {
    "iceberg": Format(
        name="iceberg",
        table_class=_iceberg_table,
        metadata_table=_iceberg_metadata_table,
        create_arguments=("partition_by", "sort_order", "format_version", "properties"),
        folder="metadata",
        recognizes=lambda name: name.endswith(".metadata.json"),
    ),
    "paimon": Format(
        name="paimon",
        table_class=_paimon_table,
        metadata_table=_paimon_system_table,
        create_arguments=("partition_keys", "primary_keys", "options", "comment"),
        folder="schema",
        recognizes=lambda name: name.startswith("schema-") and name.removeprefix("schema-").isdecimal(),
    ),
}
"""The formats by name."""


def format_named(name: str) -> Format:
    """Return the format with the given name.

    Raises:
        InvalidArgumentError: The format is unknown.
    """
    if name not in FORMATS:
        message = f"unknown table format {name!r}, expected one of {', '.join(FORMATS)}"
        raise InvalidArgumentError(message)
    return FORMATS[name]
