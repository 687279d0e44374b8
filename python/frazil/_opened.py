"""The options that a table was opened with, for all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._arguments import locations, relocations, storage_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from frazil import _native
    from frazil._credentials import Credentials
    from frazil._file_io import FileIO


def opened_with(
    relocate: Mapping[str, str],
    storage: Mapping[str, str],
    allowed_locations: Iterable[str],
    credentials: Credentials | None = None,
) -> dict[str, Any]:
    """Return the arguments that a table was opened with, in the form stored in its pickle."""
    options = {"relocate": dict(relocate), "storage": dict(storage), "allowed_locations": list(allowed_locations)}
    return options if credentials is None else {**options, "credentials": credentials}


def storage_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the storage properties in a table's options, with currently valid credentials."""
    credentials = options.get("credentials")
    return {**options["storage"], **({} if credentials is None else credentials.current()[0])}


def opening(
    relocate: Mapping[str, str] | None, storage: Mapping[str, str] | None, allowed_locations: Iterable[str] | None
) -> dict[str, Any]:
    """Validate arguments passed by a user and return them in the form of `opened_with`."""
    return opened_with(relocations(relocate), storage_options(storage), locations(allowed_locations))


class Opened:
    """A table that keeps the options it was opened with."""

    _options: dict[str, Any]
    _files: _native.Files

    @property
    def relocations(self) -> dict[str, str]:
        """The mapping of recorded prefixes to current locations that the table was opened with."""
        return dict(self._options["relocate"])

    @property
    def allowed_locations(self) -> list[str]:
        """The locations that this table handle may access in addition to the table's folder."""
        return list(self._options["allowed_locations"])

    @property
    def storage_properties(self) -> dict[str, str]:
        """The storage options, including credentials vended by the table's catalog; they may be secret."""
        return storage_of(self._options)

    @property
    def io(self) -> FileIO:
        """The storage of the table, for reading and writing single files.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/iceberg/inc_mor")
        >>> file = table.io.new_input(table.metadata_location)
        >>> with file.open() as stream:
        ...     len(stream.read()) == len(file), file.exists()
        (True, True)
        """
        from frazil._file_io import FileIO

        return FileIO(self._files, self.storage_properties)
