"""Tables that are to be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import field_names, property_texts, whole_number
from frazil._folders import local_path, removed_on_failure
from frazil._operation import operation
from frazil.errors import InvalidArgumentError
from frazil.iceberg._property_names import warn_of_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil.iceberg._row import CatalogRow


_OWN_LOCATIONS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")


FORMAT_VERSIONS = (1, 2, 3)

_SCHEMA_HINT = 'such as pyarrow.schema([("id", pyarrow.int64()), ("name", pyarrow.string())])'


def own_locations(properties: Mapping[str, str]) -> list[str]:
    """Return the locations of files in properties that the caller sets. What metadata records is never trusted so."""
    return [properties[key] for key in _OWN_LOCATIONS if properties.get(key)]


@dataclass(frozen=True, slots=True)
class NewTable:
    """What a table is made of."""

    location: str
    schema: Any
    partition_by: Sequence[str]
    format_version: int
    properties: Mapping[str, str] | None

    def own_locations(self) -> list[str]:
        """Return the locations that the caller names for files of the table, inside or outside its folder."""
        return own_locations(property_texts(self.properties))

    def make(self, files: _native.Files, row: CatalogRow | None) -> _native.Table:
        """Make the table in its folder, where `row` of a catalog, or the folder without one, has none yet."""
        fields, properties = field_names(self.partition_by, "partition_by"), property_texts(self.properties)
        version = whole_number("format_version", self.format_version)
        if version not in FORMAT_VERSIONS:
            message = f"format_version is {version}, expected 1, 2 or 3"
            raise InvalidArgumentError(message)
        if not hasattr(self.schema, "__arrow_c_schema__"):
            message = f"the schema of a table is an Arrow schema, not {type(self.schema).__name__}"
            own = hasattr(self.schema, "__arrow_c_stream__") or hasattr(self.schema, "dtypes")
            hint = "pass the schema of the rows: pyarrow.table(rows).schema" if own else _SCHEMA_HINT
            raise InvalidArgumentError(message, hint=hint)
        folder = local_path(self.location)
        if self.location.endswith((".json", ".json.gz")) or (folder is not None and folder.is_file()):
            message = f"the location of a table is a folder, not a file: {self.location}"
            raise InvalidArgumentError(message, context={"table": self.location})
        warn_of_unknown(properties)
        with (
            operation("create_table", lambda: self.location),
            removed_on_failure(None if folder is None else folder / "metadata"),
        ):
            return _native.create_table(files, self.location, self.schema, fields, version, properties, row)
