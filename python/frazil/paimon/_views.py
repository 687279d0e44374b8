"""System tables that are views of a table's rows: `t$audit_log`, `t$binlog`, `t$ro`, `t$row_tracking`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from frazil._arguments import field_names, filter_text, flag, row_limit
from frazil._virtual_table import VirtualTable
from frazil.paimon._scan import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from frazil import _native
    from frazil._arguments import RowFilter

View: TypeAlias = Literal["rows", "read-optimized", "audit-log", "binlog", "row-tracking"]

VIEWS: dict[str, View] = {
    "audit_log": "audit-log",
    "binlog": "binlog",
    "ro": "read-optimized",
    "row_tracking": "row-tracking",
}
"""The views by system table name."""


class ViewTable(VirtualTable):
    """A system table that reads the data files of its table; each scan reads the snapshot current at that time."""

    def __init__(self, table: _native.PaimonTable, name: str, snapshot: tuple[str, Any] | None) -> None:
        """Not for direct use; use `Table.inspect`."""
        self.name = name
        self._place = table.location
        self._table = table
        self._snapshot = snapshot
        self._schema = self.scan().schema()

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return self._schema

    def scan(
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as the scans of tables have it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        limit: int | None = None,
    ) -> Scan:
        """Define a read; no data is read until rows are requested.

        Args:
            row_filter: An SQL expression such as `id > 10`, on the columns of the table itself; True for all rows.
            selected_fields: Column names; `*` selects all columns.
            case_sensitive: Whether column names are case-sensitive.
            limit: The maximum number of rows.

        Raises:
            InvalidArgumentError: A column, literal or option is invalid.
        """
        arguments: dict[str, Any] = {
            "view": VIEWS[self.name],
            "row_filter": filter_text(row_filter),
            "selected_fields": field_names(selected_fields),
            "snapshot": self._snapshot,
            "options": {},
            "limit": row_limit(limit),
            "case_sensitive": flag("case_sensitive", case_sensitive),
        }
        return Scan(self._table, arguments)
