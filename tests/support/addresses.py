"""Changes of rows by their addresses, as a query engine requests them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frazil.iceberg._verbs import carry_out
from frazil.iceberg.operations.addressed import Addresses, ChangeRows, SelectedRows
from frazil.iceberg.operations.values import Filter, SnapshotOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from frazil._run import States
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.addressed import MergedRows

ADDRESS = ("_file", "_pos")


class ChangeGivenRows(ChangeRows):
    """Changes rows by addresses that were computed before, in the state of the handle."""

    replans = False

    def prepare(self, table: States[TableState], rows: Any) -> Addresses:
        """Sort the addresses. The state is that in which the rows were selected, not the latest one."""
        return Addresses(rows, table.state(), updates=self.kind == "update")


def selected(table: Any, row_filter: str = "", fields: Sequence[str] = ("*",), branch: str = "main") -> pa.Table:
    """Return matching rows with their addresses."""
    found: pa.Table = table.scan(row_filter or True, [*fields, *ADDRESS], ref=branch).to_arrow()
    return found


def change(
    table: Any,
    kind: Literal["delete", "update"],
    rows: pa.Table,
    row_filter: str = "",
    branch: str = "main",
    **values: pa.Array,
) -> Any:
    """Delete or update rows by their addresses, which are columns of `rows`."""
    given = rows.select(ADDRESS)
    for name, column in values.items():
        given = given.append_column(name, column)
    return change_given(table, kind, given, row_filter, branch)


def change_given(table: Any, kind: Any, rows: pa.Table | MergedRows, row_filter: str = "", branch: str = "main") -> Any:
    """Change rows whose addresses are the first two columns."""
    operation = ChangeGivenRows(options=SnapshotOptions(branch=branch), kind=kind)
    return carry_out(table, operation, SelectedRows(rows, Filter(text=row_filter)))
