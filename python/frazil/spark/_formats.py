"""The table formats as Spark reads them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.paimon._table import view_of
from frazil.paimon._views import VIEWS
from frazil.spark._changes import IcebergChanges, PaimonChanges
from frazil.spark._iceberg import IcebergState
from frazil.spark._inspect import IcebergInspect, PaimonInspect
from frazil.spark._paimon import PaimonState

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.iceberg import Table as IcebergTable
    from frazil.paimon import Table as PaimonTable
    from frazil.spark._options import ReadOptions
    from frazil.spark._state import ReadState

__all__ = ["SparkFormat", "format_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFormat:
    """The functions for reading tables of a format in Spark."""

    rows: Callable[[Any, ReadOptions], ReadState]
    """A function that returns the state of a table's rows."""
    changes: Callable[[Any, ReadOptions], ReadState]
    """A function that returns the state of a table's changes."""
    metadata_table: Callable[[Any, str, ReadOptions], ReadState]
    """A function that returns the state of a metadata table or system table by name."""
    options: Callable[[Any], dict[str, str]]
    """A function that returns the options by which the data source opens a loaded table."""
    comments: Callable[[Any], dict[str, str | None]]
    """A function that returns the column comments of a table."""


def format_of(table: object) -> SparkFormat:
    """Return the format of a table.

    Raises:
        InvalidArgumentError: Spark cannot read the data files of this object.
    """
    name = getattr(table, "format", None)
    if not isinstance(name, str) or name not in _FORMATS:
        message = f"a table must be a location or a loaded table, not {type(table).__name__}"
        raise InvalidArgumentError(message)
    return _FORMATS[name]


def _iceberg_options(table: IcebergTable) -> dict[str, str]:
    return {"format": "iceberg", "path": table.metadata_location}


def _iceberg_comments(table: IcebergTable) -> dict[str, str | None]:
    return {field.name: field.doc for field in table.schema().fields}


def _paimon_options(table: PaimonTable) -> dict[str, str]:
    branch = {} if table.branch == "main" else {"branch": table.branch}
    view = {} if table.system_table is None else {"inspect": table.system_table}
    return {"format": "paimon", "path": table.location} | branch | view


def _paimon_comments(table: PaimonTable) -> dict[str, str | None]:
    return {field.name: field.description for field in table.schema().fields}


def _paimon_system_table(table: PaimonTable, name: str, asked: ReadOptions) -> ReadState:
    if name in VIEWS:
        return PaimonState(view_of(table, name), dataclasses.replace(asked, metadata_table=name))
    return PaimonInspect(table, name, asked)


_FORMATS = {
    "iceberg": SparkFormat(
        rows=IcebergState,
        changes=IcebergChanges,
        metadata_table=IcebergInspect,
        options=_iceberg_options,
        comments=_iceberg_comments,
    ),
    "paimon": SparkFormat(
        rows=PaimonState,
        changes=PaimonChanges,
        metadata_table=_paimon_system_table,
        options=_paimon_options,
        comments=_paimon_comments,
    ),
}
