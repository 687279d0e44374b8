"""Warehouses in a folder, local or in an object store."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from frazil._arguments import table_files
from frazil._folders import removed_on_failure
from frazil.catalog._properties import masked, of_storage
from frazil.config import config
from frazil.errors import InvalidArgumentError, MissingFileError, PathNotAllowedError, StorageError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from frazil import _native
    from frazil.catalog._identifiers import Levels


class Warehouse:
    """The root folder of a catalog. Nothing outside it is accessed; listings skip links to folders."""

    def __init__(
        self, catalog: str, catalog_type: str, properties: Mapping[str, str], *, may_be_new: bool = False
    ) -> None:
        """Read `warehouse`, a path or a URI, from the properties of a catalog.

        With `may_be_new`, a local folder that does not exist is treated as empty until something is created in it.

        Raises:
            InvalidArgumentError: The property is missing.
            MissingFileError: The local folder does not exist.
        """
        warehouse = properties.get("warehouse")
        if not warehouse:
            message = f"catalog {catalog!r} of type {catalog_type} needs the property 'warehouse'"
            raise InvalidArgumentError(message)
        root = _local_path(warehouse)
        if root is not None and not root.is_dir() and (root.exists() or not may_be_new):
            what = "is not a folder" if root.exists() else "does not exist"
            message = f"the warehouse {root} of catalog {catalog!r} {what}"
            hint = "correct the property 'warehouse'"
            raise MissingFileError(message, context={"catalog": catalog, "file": str(root)}, hint=hint)
        self._catalog = catalog
        self._properties = of_storage(properties)
        self.location = warehouse.rstrip("/") if root is None else str(root)

    def check_exists(self) -> None:
        """Raise `MissingFileError` if the warehouse is a local folder that does not exist."""
        root = _local_path(self.location)
        if root is not None and not root.is_dir():
            raise missing_folder(self._catalog, root)

    @property
    def is_new(self) -> bool:
        """Whether the warehouse is a local folder that does not exist yet."""
        root = _local_path(self.location)
        return root is not None and not root.exists()

    def place(self, *names: str) -> str:
        """Return the location of a folder below the warehouse."""
        return "/".join((self.location.rstrip("/"), *names))

    def table(self, levels: Levels) -> str:
        """Return the location of a table's folder.

        Raises:
            PathNotAllowedError: A symbolic link points outside the warehouse.
        """
        place = self.place(*levels)
        files = self._files
        try:
            files.openable(place)
        except PathNotAllowedError:
            raise
        except MissingFileError:
            # Opening the table gives a better error if it does not exist.
            return place
        return place

    def folders(self, levels: Levels) -> list[str]:
        """Return the sorted names of the subfolders, without hidden ones; empty if the folder does not exist.

        Raises:
            StorageError: The folder cannot be listed, or another storage error occurred.
        """
        place = self.place(*levels)
        names = self._files.folders(place) if self._may_look(place) else []
        return sorted(name for name in names if not name.startswith("."))

    def folders_where(self, levels: Levels, holds: Callable[[Levels], bool]) -> list[str]:
        """Return the names of the subfolders for which `holds` is true; several are checked concurrently.

        Raises:
            StorageError: As in `folders`.
        """
        names = self.folders(levels)
        with ThreadPoolExecutor(max_workers=config.max_workers, thread_name_prefix="frazil-list") as pool:
            answers = list(pool.map(lambda name: holds((*levels, name)), names))
        return [name for name, answer in zip(names, answers, strict=True) if answer]

    def has_folder(self, levels: Levels) -> bool:
        """Return whether a folder exists; in an object store, whether it contains any objects.

        Raises:
            StorageError: As in `folders`.
        """
        return not levels or levels[-1] in self.folders(levels[:-1])

    def file_names(self, levels: Levels) -> list[str]:
        """Return the names of the files in a folder; empty if the folder does not exist.

        Raises:
            StorageError: As in `folders`.
        """
        place = self.place(*levels)
        found = self._files.list(place) if self._may_look(place) else []
        return [location.rpartition("/")[2] for location, _, _ in found]

    @property
    def is_local(self) -> bool:
        """Whether the warehouse is a local folder."""
        return _local_path(self.location) is not None

    def make_folder(self, levels: Levels) -> bool:
        """Create a folder and its missing parents, and return whether it was created.

        Raises:
            StorageError: The folder cannot be created.
            UnsupportedError: The warehouse is in an object store, which has no empty folders.
        """
        with _changing(self.place(*levels)) as path, removed_on_failure(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                path.mkdir()
            except FileExistsError:
                return False
            return True

    def remove_empty_folder(self, levels: Levels) -> bool:
        """Remove a folder if it is empty, and return whether it was removed.

        Raises:
            StorageError: The folder cannot be removed.
            UnsupportedError: The warehouse is in an object store, which has no empty folders.
        """
        with _changing(self.place(*levels)) as path:
            if any(path.iterdir()):
                return False
            path.rmdir()
            return True

    def remove_empty_folders(self, levels: Levels) -> None:
        """Remove a folder and its subfolders that contain no files; folders that cannot be removed stay.

        The folder that marks a table, such as `metadata`, is removed last. Without this folder, the remaining folder
        would be a namespace.
        """
        root = _local_path(self.place(*levels))
        if root is None:
            return
        with contextlib.suppress(OSError):
            if any(files for _, _, files in os.walk(root)):
                return
            for folder, _, _ in os.walk(root, topdown=False):
                Path(folder).rmdir()

    def _may_look(self, place: str) -> bool:
        """Return whether a folder may be accessed; False if a symbolic link leads out of the warehouse."""
        files = self._files
        try:
            files.openable(place)
        except MissingFileError:
            return False
        return True

    @cached_property
    def _files(self) -> _native.Files:
        return table_files(self.location, {}, self._properties)


def missing_folder(catalog: str, folder: str | Path) -> MissingFileError:
    """Return the error for reading a catalog whose folder does not exist."""
    if Path(folder).exists():
        what, hint = "is not a folder", "correct the path"
    else:
        what = "does not exist"
        hint = "correct the path; in a new catalog, create_namespace or create_table creates the folder"
    message = f"the folder {folder} of catalog {catalog!r} {what}"
    return MissingFileError(message, context={"catalog": catalog, "file": str(folder)}, hint=hint)


@contextmanager
def _changing(place: str) -> Iterator[Path]:
    path = _local_path(place)
    if path is None:
        message = "an object store has no empty folders, so a namespace exists there only as long as it contains tables"
        raise UnsupportedError(message, context={"warehouse": masked(place)})
    try:
        yield path
    except OSError as error:
        message = f"a folder of the warehouse cannot be changed: {error}"
        raise StorageError(message, context={"file": str(path)}) from error


def _local_path(warehouse: str) -> Path | None:
    """Return the absolute path of a local warehouse; None for a remote one."""
    scheme, colon, rest = warehouse.partition(":")
    if colon and scheme.lower() == "file":
        path = rest if not rest.startswith("//") else "/" + rest.lstrip("/")
        if rest.startswith("//") and not rest.startswith("///"):
            message = "the warehouse is a file: URI with a host"
            raise PathNotAllowedError(message, context={"warehouse": masked(warehouse)}, hint="use file:///path")
        return Path(path)
    if "://" in warehouse:
        return None
    return Path(os.path.abspath(warehouse))  # noqa: PTH100 - resolve() would follow links
