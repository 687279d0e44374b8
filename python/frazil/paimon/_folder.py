"""The files of a folder and of the folders in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.config import config
from frazil.errors import MissingFileError, NoSuchTableError

if TYPE_CHECKING:
    from frazil import _native


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file; its path is that of the folder and, after a slash, `relative`."""

    path: str
    relative: str
    size_bytes: int
    modified_ms: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.relative.rpartition("/")[2]


def files_below(files: _native.Files, folder: str) -> list[FoundFile]:
    """Give the files below a folder, by path. Links to files are followed, links to folders are not.

    Raises:
        NoSuchTableError: There is no such folder; in an object store, one without files is none.
        StorageError: A folder cannot be listed, or another error of the storage.
    """
    try:
        is_local = files.openable(folder).startswith("/")
    except MissingFileError as error:
        message = f"there is no folder at the location (location: {folder})"
        raise NoSuchTableError(message, context={"location": folder}) from error
    root = folder.rstrip("/")
    found: list[FoundFile] = []
    below = [""]
    with ThreadPoolExecutor(max_workers=config.max_workers, thread_name_prefix="frazil-list") as pool:
        while below:
            inner: list[str] = []
            for here, folders in pool.map(lambda relative: _content(files, root, relative), below):
                found += here
                inner += folders
            below = inner
    if not found and not (is_local and _is_folder(files, folder)):
        message = f"the location is no folder (location: {folder})"
        raise NoSuchTableError(message, context={"location": folder})
    return sorted(found, key=lambda file: file.relative)


def _content(files: _native.Files, root: str, below: str) -> tuple[list[FoundFile], list[str]]:
    """Give the files and the folders of one folder."""
    place, prefix = (f"{root}/{below}", f"{below}/") if below else (root or "/", "")
    found = []
    for location, size_bytes, modified_ms in files.list(place):
        relative = prefix + location.rpartition("/")[2]
        found.append(FoundFile(f"{root}/{relative}", relative, size_bytes, modified_ms))
    return found, [prefix + name for name in files.folders(place)]


def _is_folder(files: _native.Files, place: str) -> bool:
    """Whether what is at a place is no file."""
    try:
        files.size(place)
    except MissingFileError:
        return True
    return False
