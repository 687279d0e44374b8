"""Tables that were loaded from a catalog by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from frazil.catalog._identifiers import dotted
from frazil.catalog._recipe import Recipe
from frazil.errors import CorruptMetadataError
from frazil.iceberg._table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil import _native
    from frazil.catalog._base import Catalog
    from frazil.catalog._identifiers import Levels
    from frazil.iceberg._pointer import CatalogRow, ServerRow
    from frazil.iceberg._state import TableState


class NamedTable:
    """A table that was loaded by name."""

    catalog: Catalog[Any]
    """The catalog that the table was loaded from."""

    levels: Levels
    """The levels of the name in the catalog, without the name of the catalog itself."""

    def name(self) -> tuple[str, ...]:
        """Return the levels of the name in the catalog, without the name of the catalog itself."""
        return self.levels

    def __getattr__(self, name: str) -> Any:
        """Recreate the catalog of an unpickled table on first use of `catalog`, which reading does not need."""
        if name != "catalog" or "_recipe" not in self.__dict__:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)
        make, arguments = self.__dict__["_recipe"]
        self.catalog = make(*arguments)
        return self.catalog


class CatalogTable(NamedTable, Table):
    """An Iceberg table that was loaded by name. Its writes go through the catalog, also after pickling."""

    @classmethod
    def load(
        cls,
        catalog: Catalog[CatalogTable],
        levels: Levels,
        location: str,
        *,
        relocate: Mapping[str, str],
        recorded: str | None = None,
    ) -> CatalogTable:
        """Open the table at `location`, which the catalog recorded as `recorded`."""
        opened = cls.open(
            location,
            relocate=relocate,
            storage=catalog.storage_properties,
            allowed_locations=catalog.allowed_for(levels),
            recorded=recorded,
        )
        table = cast("CatalogTable", opened)
        table.catalog = catalog
        table.levels = levels
        return table

    @classmethod
    def of_state(
        cls,
        catalog: Catalog[CatalogTable],
        levels: Levels,
        native: _native.Table,
        files: _native.Files,
        location: str,
        options: dict[str, Any],
    ) -> CatalogTable:
        """Return the table in a state given by a server, or in the uncommitted state of a transaction."""
        table = cls(native, files, location, options)
        table.catalog, table.levels = catalog, levels
        return table

    @property
    def _row(self) -> CatalogRow | ServerRow | None:
        return self.catalog.row(self.levels)

    def refresh(self) -> CatalogTable:
        """Return the table at the metadata file that the catalog currently references.

        Raises:
            CorruptMetadataError: The name now belongs to another table.
            NoSuchTableError: The catalog no longer contains the table.
        """
        newest: CatalogTable = self.catalog.load_table(self.levels)
        ours, theirs = self.uuid, newest.uuid
        if ours and theirs and ours.lower() != theirs.lower():
            message = f"table {ours} was replaced by table {theirs}"
            context = {"table": dotted(self.levels), "file": newest.metadata_location}
            raise CorruptMetadataError(message, context=context, hint="if this is intended, reload the table")
        return newest

    def _check_folder(self) -> None:
        self.catalog.check_shares_nothing(self.levels, self._native.recorded_location)

    def _allow(self, own: list[str]) -> None:
        """Allow this table, whenever it is loaded by name, to access locations that the user specified."""
        self.catalog.allow(self.levels, own)
        newest = self.refresh()
        self._native, self._files, self._options = newest._native, newest._files, newest._options  # noqa: SLF001

    def _at(self, state: TableState) -> CatalogTable:
        """Return this table in another state."""
        table = CatalogTable(state.native, self._files, self._opened, self._options, is_staged=state.is_staged)
        table.catalog, table.levels = self.catalog, self.levels
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the metadata file and the recipe that recreates the catalog."""
        recipe = self.__dict__.get("_recipe") or self.catalog.recipe()
        return _reopen, (self._state, self.levels, Recipe(recipe))


def _reopen(state: TableState, levels: Levels, recipe: Recipe) -> CatalogTable:
    native, options = state.native, dict(state.options)
    table = CatalogTable(native, state.files, native.metadata_location, options, is_staged=state.is_staged)
    table.levels = levels
    table.__dict__["_recipe"] = recipe
    return table
