"""Definitions of new tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import field_names, optional_text, property_texts
from frazil._boundary import operation
from frazil._folders import local_path, removed_on_failure
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._default_values import check_defaults
from frazil.paimon._option_names import check_options
from frazil.paimon._plain_tables import PLAIN_TYPES, plain_location, plain_schema
from frazil.paimon._schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NewTable"]

_EXTERNAL_PATHS = "data-file.external-paths"


@dataclass(frozen=True, slots=True)
class NewTable:
    """The definition of a new table."""

    location: str
    schema: Any
    partition_keys: Sequence[str] = ()
    primary_keys: Sequence[str] = ()
    options: Mapping[str, object] | None = None
    comment: str | None = None

    def table_type(self) -> str | None:
        """Return the option `type`."""
        return self._options().get("type")

    def own_locations(self) -> list[str]:
        """Return the external paths that the caller set for data files (`data-file.external-paths`)."""
        options = self._options()
        if options.get("type") in PLAIN_TYPES:
            place = plain_location(options)
            return [] if place is None else [place]
        if options.get(f"{_EXTERNAL_PATHS}.strategy", "none").strip().lower() == "none":
            return []
        return [path.strip() for path in options.get(_EXTERNAL_PATHS, "").split(",") if path.strip()]

    def check_connector(self) -> None:
        """Check the option `connector`, by which Flink selects the type of a table.

        Raises:
            UnsupportedError: It is not `paimon`.
        """
        connector = self._options().get("connector", "paimon")
        if connector != "paimon":
            message = f"a Paimon catalog contains only Paimon tables, not tables of the connector {connector!r}"
            raise UnsupportedError(message, hint="omit the option `connector`")

    def create(self, files: _native.Files) -> _native.PaimonTable:
        """Create the table in its folder, which must not contain a table yet."""
        definition = self._definition()
        folder = local_path(self.location)
        if folder is not None and folder.is_file():
            message = f"the location of a table must be a folder, not a file: {self.location}"
            raise InvalidArgumentError(message, context={"table": self.location})
        with (
            operation("create_table", lambda: self.location),
            removed_on_failure(None if folder is None else folder / "schema"),
        ):
            return _native.paimon_create(files, self.location, json.dumps(definition))

    def publish(self, files: _native.Files) -> Schema:
        """Create a table in a catalog, which may be a format table or an object table; return its schema."""
        definition = self._definition()
        if definition["options"].get("type") not in PLAIN_TYPES:
            return Schema.from_json(json.loads(self.create(files).schema_json(None)))
        schema = plain_schema(definition, self.location)
        folder = local_path(self.location)
        with removed_on_failure(None if folder is None else folder / "schema"):
            text = json.dumps(schema, indent=2, ensure_ascii=False)
            files.put(f"{self.location}/schema/schema-0", text.encode())
        return Schema.from_json(schema)

    def _options(self) -> dict[str, str]:
        return dict(Schema.of(self.schema).options) | property_texts(self.options, "options")

    def _definition(self) -> dict[str, Any]:
        schema = Schema.of(self.schema)
        options = dict(schema.options) | property_texts(self.options, "options")
        check_options(options)
        comment = optional_text("comment", self.comment)
        check_defaults(schema.fields, self.location)
        return {
            "fields": schema.to_json()["fields"],
            "partitionKeys": field_names(self.partition_keys, "partition_keys") or list(schema.partition_keys),
            "primaryKeys": field_names(self.primary_keys, "primary_keys") or list(schema.primary_keys),
            "options": options,
        } | ({} if (comment := comment or schema.comment) is None else {"comment": comment})
