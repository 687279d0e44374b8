"""Planned deletion of all files of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._deletion import DeletionPlan
from frazil.catalog._identifiers import dotted
from frazil.config import config
from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from frazil.catalog._identifiers import Levels
    from frazil.iceberg._table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan(DeletionPlan):
    """The plan for deleting a table. `batch` has a row for each file: `kind`, `location`, `size_bytes`."""

    identifier: Levels
    metadata_location: str
    """The catalog's identifier of the table state for which the deletion was planned."""

    @classmethod
    def of(cls, levels: Levels, table: Any) -> PurgePlan:
        """Plan the deletion of a table."""
        if table.format != "iceberg":
            message = "this release deletes only the files of Iceberg tables"
            raise UnsupportedError(message, context={"table": dotted(levels)})
        native = table._native  # noqa: SLF001 - the two halves of one package
        batch = _native.owned_files(native, config.max_workers)
        return cls(identifier=levels, metadata_location=cls.state_of(table), batch=batch, files=native.files)

    @staticmethod
    def state_of(table: Table) -> str:
        """Return the catalog's identifier of the current state of a table."""
        return table._native.recorded_location  # noqa: SLF001

    def delete(self, *, keep: frozenset[str] = frozenset()) -> None:
        """Delete the files except those to `keep`; referenced files are deleted before the files that reference them.

        Raises:
            StorageError: Some files could not be deleted; the other files were deleted.
        """
        self.delete_files("the table was dropped", {"table": dotted(self.identifier)}, keep=keep)

    def __repr__(self) -> str:
        """Return a representation with the number of files by type."""
        kinds = ", ".join(f"{count} {kind}" for kind, (count, _) in self.by_kind().items())
        return f"<frazil.catalog.PurgePlan {dotted(self.identifier)!r}: {kinds}; {self.size_bytes} bytes>"
