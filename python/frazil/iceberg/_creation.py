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
    """Changes of a table that their commit creates. Use `Catalog.create_table_transaction` to begin one."""

    def __init__(
        self,
        table: Table,
        begun: _native.Transaction,
        *,
        created: Callable[[], None],
        exists_already: Callable[[], AlreadyExistsError],
    ) -> None:
        """Use `Catalog.create_table_transaction` instead.

        `created` is called after the commit. `exists_already` returns the error if another writer was first.
        """
        staged = StagedTable(begun, table._options, table.location)  # noqa: SLF001 - of one package, as below
        super().__init__(staged, table._at, table._adopt)  # noqa: SLF001
        self._created, self._exists_already = created, exists_already
        folder = local_path(table.location)
        staged.folder = None if folder is None else NewFolder(folder)
        # The table is a change, even without rows.
        staged.changed()
        if staged.folder is not None and table._row is None:  # noqa: SLF001
            # A folder without it is a namespace of a `hadoop` catalog.
            staged.folder.make("metadata")

    def commit_transaction(self) -> Table:
        """Create the table with its changes now; the `with` block does it when it ends.

        Raises:
            AlreadyExistsError: Another writer created the table first. Nothing is left of this transaction.
            CommitStateUnknownError: It is not known whether the table was created; nothing was deleted.
        """
        try:
            table = super().commit_transaction()
        except AlreadyExistsError:
            raise self._exists_already() from None
        self._created()
        return table
