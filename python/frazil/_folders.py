"""Local folders that are created for an operation and removed if it fails."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator


def local_path(location: str) -> Path | None:
    """Return the path of a local location; None for a remote location."""
    scheme, colon, rest = location.partition(":")
    if colon and scheme.lower() == "file":
        return Path("/" + rest.lstrip("/"))
    return None if "://" in location else Path(location)


class NewFolder:
    """A folder that is created for an operation, with its missing parents."""

    def __init__(self, folder: Path) -> None:
        """Record the folder before anything is written to it."""
        self._folder = folder
        self._new_parents = [path for path in folder.parents if not path.exists()]

    def make(self, name: str) -> None:
        """Create the folder together with the subfolder `name`; other processes ignore a folder without it."""
        path = self._folder / name
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".frazil-", dir=self._folder.parent) as hidden:
                made = Path(hidden, self._folder.name)
                (made / name).mkdir(parents=True)
                with suppress(OSError):
                    made.rename(self._folder)
            path.mkdir(exist_ok=True)
        except OSError as error:
            message = f"the folder cannot be created: {error}"
            raise StorageError(message, context={"file": str(path)}) from error

    def remove_if_empty(self) -> None:
        """Remove the folder and its subfolders if they contain no files, and empty parents that were created."""
        if remove_if_empty(self._folder):
            with suppress(OSError):
                for path in self._new_parents:
                    path.rmdir()


def remove_if_empty(folder: Path) -> bool:
    """Remove a folder and its subfolders if they contain no files; return whether they did not."""
    if any(files for _, _, files in os.walk(folder)):
        return False
    with suppress(OSError):
        for inner, _, _ in os.walk(folder, topdown=False):
            Path(inner).rmdir()
    return True


@contextmanager
def removed_on_failure(folder: Path | None) -> Iterator[None]:
    """If the block raises, remove the folder and its parents that the block created, if they are empty."""
    new = [] if folder is None else [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        for path in new:
            with suppress(OSError):
                path.rmdir()
        raise
