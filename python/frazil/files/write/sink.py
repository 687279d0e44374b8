"""Sinks for the bytes of new files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil.errors import FrazilError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Sink", "named"]

_BUFFER_BYTES = 1 << 20


class Sink:
    """A sink for the bytes of a new file, either a local file or a multipart upload to an object store."""

    def __init__(self, files: _native.Files, path: str) -> None:
        """Create the file and its folders; in an object store, the file appears only when it is finished."""
        self._path = path
        location = files.writable(path)
        self._parts: _Parts | None = None
        with named(path):
            if location.startswith("/"):
                Path(location).parent.mkdir(parents=True, exist_ok=True)
                self.stream: Any = pa.OSFile(location, mode="wb")
            else:
                self._parts = _Parts(files, path)
                self.stream = pa.BufferedOutputStream(pa.PythonFile(self._parts, mode="w"), _BUFFER_BYTES)

    def tell(self) -> int:
        """Return the number of bytes received."""
        return int(self.stream.tell())

    def end(self) -> None:
        """Finish the file."""
        with named(self._path):
            self.stream.close()
            if self._parts is not None:
                self._parts.end()

    def discard(self) -> None:
        """Discard the file, which may have been partly written."""
        with contextlib.suppress(OSError):
            self.stream.close()
        if self._parts is not None:
            self._parts.discard()


class _Parts:
    """A pyarrow sink for an object store file, which is sent in parts, or in one request if it is small."""

    def __init__(self, files: _native.Files, path: str) -> None:
        self._files, self._path = files, path
        self._waiting: list[bytes] = []
        self._waiting_bytes = self._position = 0
        self._upload: _native.Upload | None = None
        self._takes_parts = True
        self.closed = False

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._waiting.append(content)
        self._waiting_bytes += len(content)
        self._position += len(content)
        while self._takes_parts and self._waiting_bytes > _native.Upload.PART_BYTES:
            self._send_part()
        return len(content)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        """Do nothing: bytes are sent only when a part is complete."""

    def close(self) -> None:
        self.closed = True

    def end(self) -> None:
        if self._upload is None:
            self._files.put(self._path, b"".join(self._waiting))
        else:
            self._upload.part(b"".join(self._waiting))
            self._upload.finish()
            self._upload = None
        self._waiting = []

    def discard(self) -> None:
        """Abort the upload; parts that cannot be removed remain invisible to readers."""
        if self._upload is not None:
            with contextlib.suppress(FrazilError):
                self._upload.abort()
            self._upload = None

    def _send_part(self) -> None:
        if self._upload is None:
            self._upload = self._files.upload(self._path)
        if self._upload is None:
            self._takes_parts = False
            return
        content = b"".join(self._waiting)
        part, rest = content[: self._upload.PART_BYTES], content[self._upload.PART_BYTES :]
        self._waiting, self._waiting_bytes = [rest], len(rest)
        self._upload.part(part)


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Convert pyarrow exceptions to errors that include the file path."""
    try:
        yield
    except FrazilError:
        raise
    except (pa.ArrowException, OSError) as error:
        message = f"a data file cannot be written: {error} (file: {path})"
        raise StorageError(message, context={"file": path}) from error
