"""Transactions that create a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._folders import NewFolder, local_path
from frazil.errors import AlreadyExistsError
from frazil.iceberg._staged import StagedTable
from frazil.iceberg._table import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil import _native
    from frazil.iceberg._table import Table

__all__ = ["CreateTableTransaction"]


class CreateTableTransaction(Transaction):
    """The changes to a table that is created by their commit. Begin one with `Catalog.create_table_transaction`."""

    def __init__(
        self,
        table: Table,
        begun: _native.Transaction,
        *,
        created: Callable[[], None],
        exists_already: Callable[[], AlreadyExistsError],
    ) -> None:
        """Not for direct use; use `Catalog.create_table_transaction`.

        `created` is called after the commit. `exists_already` returns the error for a table that a concurrent writer
        created first.
        """
        staged = StagedTable(begun, table._options, table.location)  # noqa: SLF001 - of one package, as below
        super().__init__(staged, table._at, table._adopt)  # noqa: SLF001
        self._created, self._exists_already = created, exists_already
        folder = local_path(table.location)
        staged.folder = None if folder is None else NewFolder(folder)
        # Creating the table is itself a change, even without rows.
        staged.changed()
        if staged.folder is not None and table._row is None:  # noqa: SLF001
            # Without `metadata`, the folder would be a namespace in a `hadoop` catalog.
            staged.folder.make("metadata")

    def commit_transaction(self) -> Table:
        """Create the table with its changes now; the end of the `with` block does this automatically.

        Raises:
            AlreadyExistsError: A concurrent writer created the table first. All files of this transaction were deleted.
            CommitStateUnknownError: It is unknown whether the table was created; nothing was deleted.
        """
        try:
            table = super().commit_transaction()
        except AlreadyExistsError:
            raise self._exists_already() from None
        self._created()
        return table
