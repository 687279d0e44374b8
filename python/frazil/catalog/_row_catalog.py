"""Catalogs with a row for each table, which holds the location of its latest metadata file."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from frazil import errors
from frazil.catalog._base import Catalog
from frazil.catalog._identifiers import dotted
from frazil.catalog._table import CatalogTable

if TYPE_CHECKING:
    from frazil import _native
    from frazil.catalog._identifiers import Levels
    from frazil.catalog._purge import PurgePlan
    from frazil.iceberg._new_table import NewTable
    from frazil.iceberg._pointer import CatalogRow


class RowCatalog(Catalog[CatalogTable]):
    """The common parts of catalogs with rows: a change of a table is one change of its row."""

    _lists_fast = True

    @abstractmethod
    def row(self, levels: Levels) -> CatalogRow:
        """Return the catalog row of a table; the table may not exist yet."""

    @abstractmethod
    def _others(self, levels: Levels) -> list[tuple[str, str]]:
        """Return the name and the metadata file of each table in the catalog except the given one."""

    def _load(self, levels: Levels, recorded: str) -> CatalogTable:
        place = self._relocated(recorded)
        return CatalogTable.load(self, levels, place, relocate=self._readable(), recorded=recorded)

    def _staged(
        self, levels: Levels, native: _native.Table, files: _native.Files, location: str, options: dict[str, Any]
    ) -> CatalogTable:
        return CatalogTable.of_state(self, levels, native, files, location, options)

    def _check_new(self, levels: Levels, new: NewTable) -> None:  # noqa: ARG002 - any folder will do
        if self._has_table(levels):
            raise self._exists_already(levels)

    def _register(self, levels: Levels, metadata_location: str) -> None:
        if not metadata_location.endswith((".metadata.json", ".metadata.json.gz")):
            message = f"{metadata_location!r} is not a metadata file, such as 00003-<uuid>.metadata.json"
            raise errors.InvalidArgumentError(message)
        self._load(levels, metadata_location)
        if not self.row(levels).replace(None, metadata_location):
            raise self._exists_already(levels)

    def _purge(self, plan: PurgePlan) -> None:
        self.check_shares_nothing(plan.identifier, plan.metadata_location)
        self._drop(plan.identifier, plan.metadata_location)
        plan.delete()

    def _is_taken(self, levels: Levels, location: str) -> bool:
        folder = _folder(f"{location}/metadata/0.metadata.json")
        return any(_folder(place) == folder for _, place in self._others(levels))

    def check_shares_nothing(self, levels: Levels, metadata_location: str) -> None:
        """Raise an error if another table keeps its metadata in the same folder.

        Raises:
            CommitValidationError: Another table keeps its metadata in the same folder.
        """
        folder = _folder(metadata_location)
        for other, place in self._others(levels):
            if _folder(place) == folder:
                message = f"table {dotted(levels)!r} shares its folder with table {other!r}"
                context = {"catalog": self.name, "table": dotted(levels), "folder": folder}
                hint = "nothing was deleted, because the files of the two tables cannot be distinguished"
                raise errors.CommitValidationError(message, context=context, hint=hint)


def _folder(metadata_location: str) -> str:
    """Return the folder of a metadata file without its scheme, because several schemes can refer to one location."""
    head, colon, rest = metadata_location.rpartition("/")[0].partition(":")
    return (rest if colon and "/" not in head else metadata_location.rpartition("/")[0]).strip("/")
