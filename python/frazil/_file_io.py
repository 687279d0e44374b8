"""Access to single files of a table, under the names that PyIceberg uses."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from frazil._arguments import flag, path_text
from frazil.errors import AlreadyExistsError, MissingFileError, PathNotAllowedError, UnsupportedError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pyarrow as pa

    from frazil import _native

__all__ = ["FileIO", "InputFile", "OutputFile", "OutputStream"]


class FileIO:
    """The storage of a table. Only locations that the table may access can be read and written."""

    def __init__(self, files: _native.Files, properties: Mapping[str, str]) -> None:
        """Not for direct use; use `table.io`."""
        self._files = files
        self.properties = dict(properties)
        """The storage options, including credentials; they may be secret."""

    def new_input(self, location: str | os.PathLike[str]) -> InputFile:
        """Return a file to read; nothing is read yet."""
        return InputFile(self._files, path_text("location", location))

    def new_output(self, location: str | os.PathLike[str]) -> OutputFile:
        """Return a file to write; nothing is written yet."""
        return OutputFile(self._files, path_text("location", location))


class _File:
    """A location in the storage of a table."""

    def __init__(self, files: _native.Files, location: str) -> None:
        """Not for direct use; use `FileIO`."""
        self._files = files
        self.location = location
        """The location of the file."""

    def exists(self) -> bool:
        """Return whether the file exists.

        Raises:
            PathNotAllowedError: The table may not access the location.
        """
        try:
            self._files.size(self.location)
        except PathNotAllowedError:
            raise
        except MissingFileError:
            return False
        return True

    def __len__(self) -> int:
        """Return the length of the file in bytes.

        Raises:
            MissingFileError: The file does not exist.
        """
        return self._files.size(self.location)

    def __bool__(self) -> bool:
        """Return True, also for an empty or missing file."""
        return True

    def __repr__(self) -> str:
        """Return a representation with the location."""
        return f"<frazil.{type(self).__name__} {self.location!r}>"


class InputFile(_File):
    """A file to read."""

    def open(self, seekable: bool = True) -> pa.NativeFile:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Open the file; the stream is always seekable.

        Raises:
            MissingFileError: The file does not exist.
            PathNotAllowedError: The table may not access the location.
        """
        from frazil.files.read.remote import source

        flag("seekable", seekable)
        self._files.size(self.location)
        return source(self._files, self.location)


class OutputFile(_File):
    """A file to write."""

    def to_input_file(self) -> InputFile:
        """Return the file as a file to read."""
        return InputFile(self._files, self.location)

    def create(self, overwrite: bool = False) -> OutputStream:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Open a stream, which writes the file when it is closed; the content is kept in memory until then.

        Args:
            overwrite: Only False is supported, because files of a table never change.

        Raises:
            AlreadyExistsError: The file exists. The stream raises this error if a concurrent writer created it first.
            PathNotAllowedError: The table may not access the location.
            UnsupportedError: `overwrite` is True.
        """
        if flag("overwrite", overwrite):
            message = f"files of a table cannot be overwritten: {self.location}"
            raise UnsupportedError(message, context={"file": self.location}, hint="write a file with another name")
        if self.exists():
            message = f"the file already exists (file: {self.location})"
            raise AlreadyExistsError(message, context={"file": self.location}, hint="write a file with another name")
        return OutputStream(self._files, self.location)


class OutputStream(io.BytesIO):
    """The content of a new file. The end of a `with` block writes the file, unless the block raises."""

    def __init__(self, files: _native.Files, location: str) -> None:
        """Not for direct use; use `OutputFile.create`."""
        super().__init__()
        self._files, self._location = files, location

    def close(self) -> None:
        """Write the file.

        Raises:
            AlreadyExistsError: A concurrent writer created the file first.
        """
        if not self.closed:
            content = self.getvalue()
            super().close()
            self._files.put(self._location, content)

    def discard(self) -> None:
        """Close the stream without writing the file."""
        super().close()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Write the file unless the block raised."""
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        """Discard the content of a stream that was not closed."""
        self.discard()
