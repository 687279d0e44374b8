"""Opens the target of a Spark read: a table, its changes, or one of its metadata tables or system tables."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from frazil._table import load_table, open_named
from frazil._virtual_table import split_metadata_table
from frazil.spark._changes import CHANGES
from frazil.spark._formats import format_of

if TYPE_CHECKING:
    from frazil.spark._options import ReadOptions
    from frazil.spark._state import ReadState

__all__ = ["open_state"]


def open_state(asked: ReadOptions) -> ReadState:
    """Open the table and record its state.

    Raises:
        InvalidArgumentError: The format does not have an option, or it contradicts another option.
        NoSuchTableError: The table does not exist.
        NoSuchSnapshotError: The table does not have the selected state.
    """
    path, dollar, last = asked.path.rstrip("/").rpartition("$")
    if CHANGES in (asked.metadata_table, dollar and last):
        asked = dataclasses.replace(asked, path=path if dollar and last == CHANGES else asked.path)
        table = load_table(asked.path, format=asked.format, **asked.opening)
        return format_of(table).changes(table, asked)
    table, name = open_named(asked.path, asked.format, **asked.opening)
    if name is not None:
        asked = dataclasses.replace(asked, path=split_metadata_table(asked.path)[0])
    name = asked.metadata_table or name
    found = format_of(table)
    return found.rows(table, asked) if name is None else found.metadata_table(table, name, asked)
