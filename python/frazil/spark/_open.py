"""Opening what a read of Spark names: a table of either format, or a metadata table or system table."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from frazil._table import load_table, open_named
from frazil._virtual_table import split_metadata_table
from frazil.paimon._table import Table as PaimonTable
from frazil.paimon._table import view_of
from frazil.paimon._views import VIEWS
from frazil.spark._changes import CHANGES, IcebergChanges, PaimonChanges
from frazil.spark._iceberg import IcebergState
from frazil.spark._inspect import InspectState
from frazil.spark._paimon import PaimonState

if TYPE_CHECKING:
    from frazil.spark._options import ReadOptions
    from frazil.spark._state import ReadState

__all__ = ["open_state"]


def open_state(asked: ReadOptions) -> ReadState:
    """Open the table and note its state.

    Raises:
        InvalidArgumentError: An option that the format does not have, or that contradicts another one.
        NoSuchTableError: There is no table.
        NoSuchSnapshotError: The table does not have the state.
    """
    path, dollar, last = asked.path.rstrip("/").rpartition("$")
    if CHANGES in (asked.metadata_table, dollar and last):
        return _changes(dataclasses.replace(asked, path=path if dollar and last == CHANGES else asked.path))
    table, name = open_named(asked.path, asked.format, **asked.opening)
    if name is not None:
        asked = dataclasses.replace(asked, path=split_metadata_table(asked.path)[0])
    name = asked.metadata_table or name
    if name in VIEWS and isinstance(table, PaimonTable):
        return PaimonState(view_of(table, name), dataclasses.replace(asked, metadata_table=name))
    if name is not None:
        return InspectState(table, name, asked)
    return PaimonState(table, asked) if isinstance(table, PaimonTable) else IcebergState(table, asked)


def _changes(asked: ReadOptions) -> ReadState:
    table = load_table(asked.path, format=asked.format, **asked.opening)
    return PaimonChanges(table, asked) if isinstance(table, PaimonTable) else IcebergChanges(table, asked)
