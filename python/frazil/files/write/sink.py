"""Where the bytes of new files go."""

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
    """Where the bytes of a new file go: into it on this machine, part by part to an object store."""

    def __init__(self, files: _native.Files, path: str) -> None:
        """Make the file, with the folders around it; in an object store there is none before its end."""
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
        """Give how many bytes came."""
        return int(self.stream.tell())

    def end(self) -> None:
        """End the file."""
        with named(self._path):
            self.stream.close()
            if self._parts is not None:
                self._parts.end()

    def discard(self) -> None:
        """Give up the file, of which there may be a part."""
        with contextlib.suppress(OSError):
            self.stream.close()
        if self._parts is not None:
            self._parts.discard()


class _Parts:
    """A file of an object store, as pyarrow takes files: it is sent in parts, or at once if it has but one."""

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
        """Nothing is sent before there is a part of it."""

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
        """Give up what was sent; what cannot be given up is seen by nobody."""
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
    """Turn what pyarrow raises into errors that name the file."""
    try:
        yield
    except FrazilError:
        raise
    except (pa.ArrowException, OSError) as error:
        message = f"a data file cannot be written: {error} (file: {path})"
        raise StorageError(message, context={"file": path}) from error
