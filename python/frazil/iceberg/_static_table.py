"""Read-only tables at a fixed metadata file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from frazil._arguments import path_text, storage_options
from frazil.errors import UnsupportedError
from frazil.iceberg._table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class StaticTable(Table):
    """A read-only Iceberg table at a fixed metadata file. Later metadata does not affect it."""

    @classmethod
    def from_metadata(
        cls, metadata_location: str | os.PathLike[str], properties: Mapping[str, str] | None = None
    ) -> StaticTable:
        """Open a metadata file.

        Args:
            metadata_location: A `metadata.json`, as a path or a URI; for a folder, its latest metadata file is used.
            properties: Storage options, such as `s3.endpoint`.

        Raises:
            NoSuchTableError: The metadata file does not exist.
            CorruptMetadataError: The file violates the specification.
        """
        location = path_text("metadata_location", metadata_location)
        return cast("StaticTable", cls.open(location, relocate={}, storage=storage_options(properties)))

    def refresh(self) -> StaticTable:
        """Return the table itself, because its metadata file is fixed."""
        return self

    @property
    def _row(self) -> NoReturn:
        message = "a static table is read-only"
        hint = "open the table with load_table to change it"
        raise UnsupportedError(message, context={"table": str(self.location)}, hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the metadata file."""
        return _reopen, (self.metadata_location, self._options)


def _reopen(location: str, options: dict[str, Any]) -> StaticTable:
    return cast("StaticTable", StaticTable.open(location, **options))
