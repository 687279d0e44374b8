"""The files of a folder and of the folders in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.errors import MissingFile, NoSuchTable, Storage, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        NoSuchTable: There is no such folder.
        Storage: A folder cannot be listed.
        Unsupported: The folder is remote.
    """
    try:
        actual = files.openable(folder)
    except MissingFile as error:
        message = f"there is no folder at the location (location: {folder})"
        raise NoSuchTable(message, context={"location": folder}) from error
    if not actual.startswith("/"):
        message = "this release reads format tables and object tables only of local folders"
        raise Unsupported(message, context={"location": folder})
    if not os.path.isdir(actual):  # noqa: PTH112 - as plain as the rest
        message = f"the location is no folder (location: {folder})"
        raise NoSuchTable(message, context={"location": folder})
    return sorted(_walk(actual, folder.rstrip("/"), ""), key=lambda found: found.relative)


def _walk(actual: str, folder: str, below: str) -> Iterator[FoundFile]:
    inner = []
    try:
        with os.scandir(os.path.join(actual, below)) as entries:  # noqa: PTH118 - `below` may be empty
            for entry in entries:
                relative = f"{below}/{entry.name}" if below else entry.name
                if entry.is_dir(follow_symlinks=False):
                    inner.append(relative)
                elif entry.is_file():
                    status = entry.stat()
                    yield FoundFile(f"{folder}/{relative}", relative, status.st_size, status.st_mtime_ns // 1_000_000)
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror}"
        raise Storage(message, context={"folder": f"{folder}/{below}"}) from error
    for relative in inner:
        yield from _walk(actual, folder, relative)
