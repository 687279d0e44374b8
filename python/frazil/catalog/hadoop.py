"""Catalogs that are a folder: namespaces are its folders, tables are folders with `metadata/` inside.

warehouse/
  sales/                        namespace sales
    eu/                         namespace sales.eu
      orders/metadata/v1.metadata.json    table sales.eu.orders
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from frazil.catalog.base import Catalog
from frazil.catalog.properties import masked
from frazil.errors import InvalidArgument, MissingFile, NoSuchTable, PathNotAllowed, Storage, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from frazil.catalog.identifiers import Levels

_METADATA_FILES = (".metadata.json", ".metadata.json.gz")


class HadoopCatalog(Catalog):
    """The tables of a warehouse folder, as Java's `HadoopCatalog` lays them out."""

    type: ClassVar[str] = "hadoop"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `warehouse`, a path or a URI, from the properties."""
        warehouse = properties.get("warehouse")
        if not warehouse:
            message = f"catalog {name!r} of type hadoop needs the property 'warehouse'"
            raise InvalidArgument(message)
        root = _local_path(warehouse)
        if root is not None and not root.is_dir():
            message = f"the warehouse of catalog {name!r} is no folder"
            raise MissingFile(message, context={"catalog": name, "file": str(root)})
        self._root = root
        self._warehouse = warehouse.rstrip("/") if root is None else str(root)
        super().__init__(name, {**properties, "warehouse": self._warehouse}, relocate)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        return {(*levels, folder.name) for folder in self._folders(levels) if not (folder / "metadata").is_dir()}

    def _tables(self, levels: Levels) -> set[Levels]:
        return {(*levels, folder.name) for folder in self._folders(levels) if _is_table(folder)}

    def _has_table(self, levels: Levels) -> bool:
        if self._root is not None:
            return _is_table(self._root.joinpath(*levels))
        try:
            self.load_table(levels)
        except NoSuchTable:
            return False
        return True

    def _has_namespace(self, levels: Levels) -> bool:
        folder = self._local().joinpath(*levels)
        return folder.is_dir() and not (folder / "metadata").is_dir()

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        return {"location": "/".join((self._warehouse, *levels))}

    def _location(self, levels: Levels) -> str:
        return "/".join((self._warehouse.rstrip("/"), *levels))

    def _folders(self, levels: Levels) -> Iterator[Path]:
        """Give the folders in one that may be namespaces or tables; links that lead out of the warehouse are none."""
        root = self._local()
        parent = root.joinpath(*levels)
        try:
            entries = sorted(parent.iterdir())
            for entry in entries:
                if not entry.name.startswith(".") and entry.is_dir() and _is_below(entry, root):
                    yield entry
        except OSError as error:
            message = f"the folder cannot be listed: {error.strerror}"
            raise Storage(message, context={"catalog": self.name, "file": str(parent)}) from error

    def _local(self) -> Path:
        if self._root is None:
            message = f"this release lists only local warehouses, and that of catalog {self.name!r} is remote"
            context = {"catalog": self.name, "warehouse": masked(self._warehouse)}
            raise Unsupported(message, context=context, hint="load_table works by name")
        return self._root


def _local_path(warehouse: str) -> Path | None:
    """Give the absolute path of a local warehouse; None for a remote one."""
    scheme, colon, rest = warehouse.partition(":")
    if colon and scheme.lower() == "file":
        path = rest if not rest.startswith("//") else "/" + rest.lstrip("/")
        if rest.startswith("//") and not rest.startswith("///"):
            message = "the warehouse is a file: URI with a host"
            raise PathNotAllowed(message, context={"warehouse": warehouse}, hint="write file:///path")
        return Path(path)
    if "://" in warehouse:
        return None
    return Path(os.path.abspath(warehouse))  # noqa: PTH100 - resolve() would follow links


def _is_table(folder: Path) -> bool:
    try:
        return any(entry.name.endswith(_METADATA_FILES) for entry in (folder / "metadata").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror}"
        raise Storage(message, context={"file": str(folder / "metadata")}) from error


def _is_below(entry: Path, root: Path) -> bool:
    return not entry.is_symlink() or entry.resolve().is_relative_to(root.resolve())
