"""Catalogs that are a folder: namespaces are its folders, tables are folders with `metadata/` inside.

warehouse/
  sales/                        namespace sales
    eu/                         namespace sales.eu
      orders/metadata/v1.metadata.json    table sales.eu.orders
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from frazil.catalog.base import Catalog
from frazil.catalog.table import CatalogTable
from frazil.catalog.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog.identifiers import Levels

METADATA = "metadata"
_METADATA_FILES = (".metadata.json", ".metadata.json.gz")


class HadoopCatalog(Catalog[CatalogTable]):
    """The tables of a warehouse folder, as Java's `HadoopCatalog` lays them out."""

    type: ClassVar[str] = "hadoop"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `warehouse`, a path or a URI, from the properties."""
        self._warehouse = Warehouse(name, self.type, properties)
        super().__init__(name, {**properties, "warehouse": self._warehouse.location}, relocate)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        found = self._warehouse.folders_where(levels, lambda folder: METADATA not in self._warehouse.folders(folder))
        return {(*levels, name) for name in found}

    def _tables(self, levels: Levels) -> set[Levels]:
        return {(*levels, name) for name in self._warehouse.folders_where(levels, self._has_table)}

    def _has_table(self, levels: Levels) -> bool:
        return any(name.endswith(_METADATA_FILES) for name in self._warehouse.file_names((*levels, METADATA)))

    def _has_namespace(self, levels: Levels) -> bool:
        return self._warehouse.has_folder(levels) and METADATA not in self._warehouse.folders(levels)

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        return {"location": self._warehouse.place(*levels)}

    def _open(self, levels: Levels) -> CatalogTable:
        return CatalogTable.load(self, levels, self._warehouse.table(levels), relocate=self._readable())
