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
from frazil.catalog.warehouse import Warehouse, file_names
from frazil.errors import NoSuchTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from frazil.catalog.identifiers import Levels

_METADATA_FILES = (".metadata.json", ".metadata.json.gz")


class HadoopCatalog(Catalog[CatalogTable]):
    """The tables of a warehouse folder, as Java's `HadoopCatalog` lays them out."""

    type: ClassVar[str] = "hadoop"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `warehouse`, a path or a URI, from the properties."""
        self._warehouse = Warehouse(name, self.type, properties)
        super().__init__(name, {**properties, "warehouse": self._warehouse.location}, relocate)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        folders = self._warehouse.folders(levels)
        return {(*levels, folder.name) for folder in folders if not (folder / "metadata").is_dir()}

    def _tables(self, levels: Levels) -> set[Levels]:
        return {(*levels, folder.name) for folder in self._warehouse.folders(levels) if _is_table(folder)}

    def _has_table(self, levels: Levels) -> bool:
        if self._warehouse.is_local:
            return _is_table(self._warehouse.folder(levels))
        try:
            self.load_table(levels)
        except NoSuchTable:
            return False
        return True

    def _has_namespace(self, levels: Levels) -> bool:
        folder = self._warehouse.folder(levels)
        return folder.is_dir() and not (folder / "metadata").is_dir()

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        return {"location": self._warehouse.place(*levels)}

    def _open(self, levels: Levels) -> CatalogTable:
        return CatalogTable.load(self, levels, self._warehouse.place(*levels), relocate=self._readable())


def _is_table(folder: Path) -> bool:
    return any(name.endswith(_METADATA_FILES) for name in file_names(folder / "metadata"))
