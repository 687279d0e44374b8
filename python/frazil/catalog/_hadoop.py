"""Catalogs in a folder: namespaces are subfolders, and tables are folders that contain `metadata/`.

warehouse/
  sales/                        namespace sales
    eu/                         namespace sales.eu
      orders/metadata/v1.metadata.json    table sales.eu.orders
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from frazil.catalog._base import Catalog
from frazil.catalog._identifiers import dotted
from frazil.catalog._purge import PurgePlan
from frazil.catalog._table import CatalogTable
from frazil.catalog._warehouse import Warehouse
from frazil.errors import AlreadyExistsError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil import _native
    from frazil.catalog._identifiers import Levels
    from frazil.iceberg._new_table import NewTable

METADATA = "metadata"
_METADATA_FILES = (".metadata.json", ".metadata.json.gz")


class HadoopCatalog(Catalog[CatalogTable]):
    """The tables of a warehouse folder, in the layout of Java's `HadoopCatalog`."""

    type: ClassVar[str] = "hadoop"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Read `warehouse`, a path or a URI, from the properties; the first write creates a local folder."""
        self._warehouse = Warehouse(name, self.type, properties, may_be_new=True)
        super().__init__(name, {**properties, "warehouse": self._warehouse.location}, relocate)

    def _check_folder(self) -> None:
        self._warehouse.check_exists()

    def _is_new(self) -> bool:
        return self._warehouse.is_new

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

    def row(self, levels: Levels) -> None:
        """Return None: the latest state is the latest metadata file in the folder of the table."""

    def _staged(
        self, levels: Levels, native: _native.Table, files: _native.Files, location: str, options: dict[str, Any]
    ) -> CatalogTable:
        return CatalogTable.of_state(self, levels, native, files, location, options)

    def _check_new(self, levels: Levels, new: NewTable) -> None:
        if new.location != self._warehouse.place(*levels):
            self._refuse("place a table outside its folder in the warehouse", "omit the location")
        if self._has_table(levels):
            raise self._exists_already(levels)
        _check_names(levels)
        if self._has_namespace(levels):
            message = f"catalog {self.name!r} has a namespace {dotted(levels)!r} in the folder that the table would use"
            raise AlreadyExistsError(message, context={"catalog": self.name, "namespace": dotted(levels)})
        self._warehouse.table(levels)

    def _drop(self, levels: Levels, expected: str | None) -> None:  # noqa: ARG002 - there is no row to compare
        if not self._has_table(levels):
            raise self._no_such_table(levels)
        hint = "use purge_table, or move the folder of the table out of the warehouse"
        self._refuse("drop a table and keep its files", hint)

    def _purge(self, plan: PurgePlan) -> None:
        """Delete a table that is identified by its folder.

        First an empty file, which readers ignore, reserves the name of the next metadata file, so that concurrent
        commits fail. Then the metadata files are deleted, the latest one last, followed by the files that they
        referenced.
        """
        folder = plan.metadata_location.rpartition("/")[0]
        barrier = self._next_state(plan)
        if PurgePlan.state_of(self.load_table(plan.identifier)) != plan.metadata_location:
            raise self._changed_meanwhile(plan.identifier)
        try:
            plan.files.put(barrier, b"")
        except AlreadyExistsError:
            raise self._changed_meanwhile(plan.identifier) from None
        try:
            metadata = plan.of_kind("metadata")
            for location in (*metadata, f"{folder}/version-hint.text"):
                plan.files.delete(location)
            plan.delete(keep=frozenset(metadata))
        finally:
            plan.files.delete(barrier)
        self._warehouse.remove_empty_folders(plan.identifier)

    def _next_state(self, plan: PurgePlan) -> str:
        folder, _, name = plan.metadata_location.rpartition("/")
        version, _, ending = name.removeprefix("v").partition(".")
        if not name.startswith("v") or not version.isdecimal():
            self._refuse("delete a table that belongs to another catalog", "delete it through that catalog")
        return f"{folder}/v{int(version) + 1}.{ending}"

    def _check_namespace_of_new(self, namespace: Levels) -> None:
        # As in Java, creating a table creates the folders of its namespace.
        self._check_new_folders(namespace)

    def _folder_of(self, namespace: Levels) -> str:
        return self._warehouse.place(*namespace)

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        if properties:
            self._refuse("store namespace properties")
        self._check_new_folders(levels[:-1])
        _check_names(levels)
        if self._warehouse.folders(levels) or self._has_table(levels):
            return False
        return self._warehouse.make_folder(levels)

    def _check_new_folders(self, levels: Levels) -> None:
        """Raise `InvalidArgumentError` if a namespace folder is inside a table or cannot be created."""
        for end in range(1, len(levels) + 1):
            folders = self._warehouse.folders(levels[:end])
            if METADATA in folders:
                message = f"{dotted(levels[:end])!r} is a table, and a table cannot contain tables or namespaces"
                raise InvalidArgumentError(message, context={"catalog": self.name, "namespace": dotted(levels)})
            if not folders and not self._warehouse.has_folder(levels[:end]):
                for new in range(end, len(levels) + 1):
                    _check_names(levels[:new])
                return

    def _drop_namespace(self, levels: Levels) -> bool:
        return self._warehouse.remove_empty_folder(levels)


def _check_names(levels: Levels) -> None:
    """Reject names that Iceberg tables or hidden folders use in a warehouse, such as `metadata`."""
    if levels[-1] == METADATA or levels[-1].startswith((".", "_")):
        message = (
            f"{levels[-1]!r} is reserved for a folder inside tables or a hidden folder and cannot be used as a name"
        )
        raise InvalidArgumentError(message)
