"""Lists the files in a folder and its subfolders."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.config import config
from frazil.errors import MissingFileError, NoSuchTableError, PathNotAllowedError

if TYPE_CHECKING:
    from frazil import _native


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file; its path is the folder followed by a slash and `relative`."""

    path: str
    relative: str
    size_bytes: int
    modified_ms: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.relative.rpartition("/")[2]


def files_below(files: _native.Files, folder: str) -> list[FoundFile]:
    """Return the files below a folder, sorted by path. Links to files are followed, links to folders are not.

    Raises:
        PathNotAllowedError: The table may not access the folder.
        NoSuchTableError: The folder does not exist; in an object store, a folder without files does not exist.
        StorageError: A folder cannot be listed, or another storage error occurred.
    """
    try:
        is_local = files.openable(folder).startswith("/")
    except PathNotAllowedError:
        raise
    except MissingFileError as error:
        message = f"the location does not exist (location: {folder})"
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
        message = f"the location is not a folder (location: {folder})"
        raise NoSuchTableError(message, context={"location": folder})
    return sorted(found, key=lambda file: file.relative)


def _content(files: _native.Files, root: str, below: str) -> tuple[list[FoundFile], list[str]]:
    """Return the files and the subfolders of a folder."""
    place, prefix = (f"{root}/{below}", f"{below}/") if below else (root or "/", "")
    found = []
    for location, size_bytes, modified_ms in files.list(place):
        relative = prefix + location.rpartition("/")[2]
        found.append(FoundFile(f"{root}/{relative}", relative, size_bytes, modified_ms))
    return found, [prefix + name for name in files.folders(place)]


def _is_folder(files: _native.Files, place: str) -> bool:
    """Return whether a location is a folder, that is, not a file."""
    try:
        files.size(place)
    except MissingFileError:
        return True
    return False
