"""Definitions of new tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import property_texts, whole_number
from frazil._boundary import operation
from frazil._folders import local_path, removed_on_failure
from frazil.errors import InvalidArgumentError
from frazil.iceberg._layout import partition_terms, sort_terms
from frazil.iceberg._property_names import warn_of_unknown
from frazil.iceberg._schema import Schema
from frazil.iceberg._schema_input import schema_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.iceberg._pointer import CatalogRow, ServerRow


_OWN_LOCATIONS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")


FORMAT_VERSIONS = (1, 2, 3)
_DEFAULT_VERSION = 2
_VERSION = "format-version"


def own_locations(properties: Mapping[str, str]) -> list[str]:
    """Return the file locations in properties set by the caller.

    Do not pass recorded metadata, which is not trusted to allow access to locations.
    """
    return [properties[key] for key in _OWN_LOCATIONS if properties.get(key)]


@dataclass(frozen=True, slots=True)
class NewTable:
    """The definition of a new table."""

    location: str
    schema: Any
    partition_by: Any
    format_version: int | None
    properties: Mapping[str, str] | None
    sort_order: Any = ()

    def own_locations(self) -> list[str]:
        """Return the locations that the caller specified for files of the table, inside or outside its folder."""
        return own_locations(property_texts(self.properties))

    def make(self, files: _native.Files, row: CatalogRow | ServerRow | None) -> _native.Table:
        """Create the table in its folder, if neither the catalog's `row` nor the folder has a table yet."""
        folder = local_path(self.location)
        with (
            operation("create_table", lambda: self.location),
            removed_on_failure(None if folder is None else folder / "metadata"),
        ):
            return _native.create_table(files, self.location, *self._parts(), row)

    def begin(self, files: _native.Files, row: CatalogRow | ServerRow | None) -> _native.Transaction:
        """Begin a transaction that creates the table on commit, unless the table exists by then."""
        with operation("create_table_transaction", lambda: self.location):
            return _native.Transaction.creating(files, self.location, *self._parts(), row)

    def replace(self, changes: _native.Transaction, *, keep_location: bool) -> None:
        """Replace the definition of a transaction's table; a format version of None keeps the current one."""
        schema, fields, order, version, properties = self._definition()
        with operation("replace_table_transaction", lambda: self.location):
            changes.replace(None if keep_location else self.location, schema, fields, order, version, properties)

    def _parts(self) -> tuple[str, list[tuple[str, str | None]], str, int, dict[str, str]]:
        folder = local_path(self.location)
        if self.location.endswith((".json", ".json.gz")) or (folder is not None and folder.is_file()):
            message = f"the location of a table must be a folder, not a file: {self.location}"
            raise InvalidArgumentError(message, context={"table": self.location})
        schema, fields, order, version, properties = self._definition()
        return schema, fields, order, version or _DEFAULT_VERSION, properties

    def _definition(self) -> tuple[str, list[tuple[str, str | None]], str, int | None, dict[str, str]]:
        """Return the schema, partition fields, sort order, version and properties as the native module expects them."""
        properties = property_texts(self.properties)
        version = self._version(properties.pop(_VERSION, None))
        warn_of_unknown(properties)
        schema = schema_json(self.schema)
        known = Schema.from_json(json.loads(schema))
        fields = partition_terms(self.partition_by, known, "partition_by")
        order = json.dumps({"terms": sort_terms(self.sort_order, known)})
        return schema, fields, order, version, properties

    def _version(self, recorded: str | None) -> int | None:
        """Return the format version, which is an argument or a property; None if neither is given."""
        given = None if self.format_version is None else _checked_version(self.format_version)
        if recorded is None:
            return given
        version = _checked_version(int(recorded) if recorded.strip().isdecimal() else recorded)
        if given not in (None, version):
            message = f"format_version is {given}, but the property `{_VERSION}` is {version}"
            raise InvalidArgumentError(message, hint="omit one of them")
        return version


def _checked_version(given: Any) -> int:
    version = whole_number("format_version", given)
    if version not in FORMAT_VERSIONS:
        message = f"format_version is {version}, expected 1, 2 or 3"
        raise InvalidArgumentError(message)
    return version
