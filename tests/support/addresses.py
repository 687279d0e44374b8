"""Changes of rows by their addresses, as a query engine requests them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frazil.iceberg._verbs import carry_out
from frazil.iceberg.operations.addressed import ChangeRows
from frazil.iceberg.operations.values import Filter, SnapshotOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.addressed import MergedRows

ADDRESS = ("_file", "_pos")


class GivenAddresses:
    """Addresses that were computed before."""

    def __init__(self, rows: pa.Table | MergedRows) -> None:
        """Keep the rows."""
        self._rows = rows

    def read(self, state: TableState) -> pa.Table | MergedRows:
        """Return the rows."""
        del state
        return self._rows


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
    operation = ChangeRows(options=SnapshotOptions(branch=branch), filter=Filter(text=row_filter), kind=kind)
    return carry_out(table, operation, GivenAddresses(given))
