"""Tables that a catalog knows by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from frazil.errors import CorruptMetadata
from frazil.iceberg.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog.base import Catalog
    from frazil.catalog.identifiers import Levels


class NamedTable:
    """A table that was loaded by its name."""

    catalog: Catalog[Any]
    """The catalog that the table was loaded from."""

    levels: Levels
    """The name in the catalog, without the catalog's own."""

    def name(self) -> tuple[str, ...]:
        """Give the name in the catalog, without the catalog's own."""
        return self.levels


class CatalogTable(NamedTable, Table):
    """An Iceberg table that was loaded by its name. Pickles without the catalog, as the state of its metadata file."""

    @classmethod
    def load(
        cls, catalog: Catalog[CatalogTable], levels: Levels, location: str, *, relocate: Mapping[str, str]
    ) -> CatalogTable:
        """Open the table that `catalog` keeps at `location`."""
        table = cast("CatalogTable", cls.open(location, relocate=relocate, properties=catalog.storage_properties))
        table.catalog = catalog
        table.levels = levels
        return table

    def refresh(self) -> CatalogTable:
        """Give the table at the metadata that the catalog names now.

        Raises:
            CorruptMetadata: The name belongs to another table now.
            NoSuchTable: The catalog does not have the table any more.
        """
        newest: CatalogTable = self.catalog.load_table(self.levels)
        ours, theirs = self.uuid, newest.uuid
        if ours and theirs and ours.lower() != theirs.lower():
            message = f"table {ours} was replaced by table {theirs}"
            context = {"table": ".".join(self.levels), "file": newest.metadata_location}
            raise CorruptMetadata(message, context=context, hint="load the table anew if that was meant")
        return newest
