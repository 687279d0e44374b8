"""Opening what a read of Spark names: a table of either format, or a metadata table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._table import load_table
from frazil.errors import UnsupportedError
from frazil.paimon._table import Table as PaimonTable
from frazil.spark._iceberg import IcebergState
from frazil.spark._inspect import InspectState
from frazil.spark._paimon import PaimonState

if TYPE_CHECKING:
    from frazil.spark._options import ReadOptions
    from frazil.spark._state import TableState

__all__ = ["open_state"]


def open_state(asked: ReadOptions) -> TableState:
    """Open the table and note its state.

    Raises:
        InvalidArgumentError: An option that the format does not have, or that contradicts another one.
        NoSuchTableError: There is no table.
        NoSuchSnapshotError: The table does not have the state.
    """
    table = load_table(asked.path, format=asked.format, **asked.opening)
    if asked.metadata_table is not None:
        if isinstance(table, PaimonTable):
            message = f"Spark does not read the system table `{asked.metadata_table}` of a Paimon table yet"
            raise UnsupportedError(message, hint=f"read it with table.inspect[{asked.metadata_table!r}]")
        return InspectState(table, asked.metadata_table, asked)
    return PaimonState(table, asked) if isinstance(table, PaimonTable) else IcebergState(table, asked)
