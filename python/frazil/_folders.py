"""Folders of this machine that are made for something and removed if that fails."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def local_path(location: str) -> Path | None:
    """Return the path of a location; None if it is not on this machine."""
    scheme, colon, rest = location.partition(":")
    if colon and scheme.lower() == "file":
        return Path("/" + rest.lstrip("/"))
    return None if "://" in location else Path(location)


@contextmanager
def removed_on_failure(folder: Path | None) -> Iterator[None]:
    """If the block raises, remove the folder and those around it that did not exist before and are empty."""
    new = [] if folder is None else [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        for path in new:
            with suppress(OSError):
                path.rmdir()
        raise
