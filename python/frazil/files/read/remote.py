"""Files at recorded locations, as Python file objects for pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from frazil import _native

__all__ = ["RemoteFile", "source"]

WHOLE_FILE_BYTES = 2 << 20
"""The maximum length of a remote file that is read with one request instead of one request per part."""


class RemoteFile:
    """A file of the native storage as a Python file object. A small file is fetched completely on the first read."""

    def __init__(self, files: _native.Files, path: str) -> None:
        self._files, self._path = files, path
        self._size = files.size(path)
        self._whole: bytes | None = None
        self._at = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes, or all remaining bytes."""
        end = self._size if size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        if self._whole is None and self._size <= WHOLE_FILE_BYTES:
            self._whole = self._files.read_range(self._path, 0, self._size)
        if self._whole is None:
            content = self._files.read_range(self._path, self._at, end)
        else:
            content = self._whole[self._at : end]
        self._at = end
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to an offset from the start, the position or the end."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        """Return the current position."""
        return self._at

    def size(self) -> int:
        """Return the length of the file."""
        return self._size

    def readable(self) -> bool:
        """Return True: the file is readable."""
        return True

    def seekable(self) -> bool:
        """Return True: the file is seekable."""
        return True

    def writable(self) -> bool:
        """Return False: the file is not writable."""
        return False

    def close(self) -> None:
        """Close the file; no resources are held."""
        self.closed = True


def source(files: _native.Files, path: str) -> pa.NativeFile:
    """Open a file at a recorded location; pyarrow opens local files itself."""
    location = files.openable(path)
    if location.startswith("/"):
        return pa.OSFile(location)
    return pa.PythonFile(RemoteFile(files, path), mode="r")
