"""Warehouses that are a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.catalog.properties import masked
from frazil.errors import InvalidArgument, MissingFile, PathNotAllowed, Storage, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog.identifiers import Levels


class Warehouse:
    """The folder of a catalog. Its folders are listed where it is local."""

    def __init__(self, catalog: str, catalog_type: str, properties: Mapping[str, str]) -> None:
        """Take `warehouse`, a path or a URI, from the properties of a catalog.

        Raises:
            InvalidArgument: There is no such property.
            MissingFile: There is no such folder.
        """
        warehouse = properties.get("warehouse")
        if not warehouse:
            message = f"catalog {catalog!r} of type {catalog_type} needs the property 'warehouse'"
            raise InvalidArgument(message)
        root = _local_path(warehouse)
        if root is not None and not root.is_dir():
            message = f"the warehouse of catalog {catalog!r} is no folder"
            raise MissingFile(message, context={"catalog": catalog, "file": str(root)})
        self._catalog = catalog
        self._root = root
        self.location = warehouse.rstrip("/") if root is None else str(root)

    @property
    def is_local(self) -> bool:
        """Whether it can be listed."""
        return self._root is not None

    def place(self, *names: str) -> str:
        """Give the location of a folder below it."""
        return "/".join((self.location.rstrip("/"), *names))

    def folder(self, levels: Levels) -> Path:
        """Give a folder below it.

        Raises:
            Unsupported: The warehouse is remote.
        """
        return self._local().joinpath(*levels)

    def folders(self, levels: Levels) -> list[Path]:
        """Give the folders in one, by name; links that lead out of the warehouse are none.

        Raises:
            Storage: The folder cannot be listed.
            Unsupported: The warehouse is remote.
        """
        root, parent = self._local(), self.folder(levels)
        try:
            return [
                entry
                for entry in sorted(parent.iterdir())
                if not entry.name.startswith(".") and entry.is_dir() and _is_below(entry, root)
            ]
        except OSError as error:
            message = f"the folder cannot be listed: {error.strerror}"
            raise Storage(message, context={"catalog": self._catalog, "file": str(parent)}) from error

    def _local(self) -> Path:
        if self._root is None:
            message = f"this release lists only local warehouses, and that of catalog {self._catalog!r} is remote"
            context = {"catalog": self._catalog, "warehouse": masked(self.location)}
            raise Unsupported(message, context=context, hint="load_table works by name")
        return self._root


def file_names(folder: Path) -> list[str]:
    """Give the names in a folder; none where there is no such folder.

    Raises:
        Storage: The folder cannot be listed.
    """
    try:
        return [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror}"
        raise Storage(message, context={"file": str(folder)}) from error


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


def _is_below(entry: Path, root: Path) -> bool:
    return not entry.is_symlink() or entry.resolve().is_relative_to(root.resolve())
