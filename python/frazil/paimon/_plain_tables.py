"""Tables of a catalog that consist of a schema file and a folder of files: format tables and object tables.

    warehouse/sales.db/logs/schema/schema-0      the definition, with the option `type`
    warehouse/sales.db/logs/day=2024-05-14/…     the files of a format table, unless the option `path` is set

The files of a format table are in the folder of the table, or in the folder that the option `path` names. An object
table lists the folder in the option `object-location`, which release 1.2 renamed to `path`.

Java (release 1.4.2, `AbstractCatalog`) opens both types in catalogs that store schemas in files, but does not create
them: `createTable` raises an error. When it opens a table, it sets `path` to the folder of the table. It therefore
ignores both options, and an object table lists its own folder with the schema file. Without partition keys, or with
`format-table.partition-path-only-value`, Java reads the schema file of a format table as data. An overwrite without
partition keys deletes the schema file.
"""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import table_files
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._format_file import FORMATS
from frazil.paimon._format_table import FormatTable
from frazil.paimon._object_table import SCHEMA, ObjectTable
from frazil.paimon._schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT_TABLE, OBJECT_TABLE = "format-table", "object-table"
PLAIN_TYPES = frozenset({FORMAT_TABLE, OBJECT_TABLE})

_TABLE_FILES = {"schema": re.compile(r"schema-\d+"), "metadata": re.compile(r".*\.metadata\.json(\.gz)?")}
"""The names of the files that define Paimon and Iceberg tables, by folder."""

_IMPLEMENTATIONS = ("paimon", "engine")


def plain_location(options: Mapping[str, str]) -> str | None:
    """Return the folder that the options of a plain table name; None for the folder of the table itself."""
    names = ("object-location", "path") if options.get("type") == OBJECT_TABLE else ("path",)
    return next((options[name].rstrip("/") or "/" for name in names if options.get(name)), None)


def check_no_table(location: str, files: _native.Files) -> None:
    """Check that the folder that a new format table names is not the folder of a Paimon or Iceberg table.

    Raises:
        InvalidArgumentError: The folder contains a table, whose files the format table would read and overwrite.
    """
    for folder, name in _TABLE_FILES.items():
        if any(name.fullmatch(path.rpartition("/")[2]) for path, *_ in files.list(f"{location}/{folder}")):
            message = f"the option `path` is {location!r}, which is the folder of another table"
            raise InvalidArgumentError(
                message, hint="set `path` to a folder that contains only the files of this table"
            )


def plain_schema(definition: dict[str, Any], location: str) -> dict[str, Any]:
    """Return the JSON of the first schema file of a format table or an object table.

    Args:
        definition: As for `_native.paimon_create`.
        location: The folder of the table, for error messages.

    Raises:
        InvalidArgumentError: The definition is invalid.
        UnsupportedError: The table could not be written, or Java could not open it.
    """
    from frazil.paimon._format_write import check_writable

    options: dict[str, str] = definition["options"]
    check = _check_format_table if options["type"] == FORMAT_TABLE else _check_object_table
    check(definition, {"table": location})
    if options["type"] == OBJECT_TABLE:
        definition = definition | {"fields": SCHEMA.to_json()["fields"]}
    with tempfile.TemporaryDirectory(prefix="frazil-") as scratch:
        files = table_files(scratch, {}, {})
        table = _native.paimon_create(files, f"{scratch}/t", json.dumps(definition | {"options": {}}))
        schema: dict[str, Any] = json.loads(table.schema_json(None)) | {"options": options}
    if options["type"] == FORMAT_TABLE:
        check_writable(Schema.from_json(schema))
    return schema


def open_plain_table(schema: Schema, folder: str, arguments: Mapping[str, Any]) -> FormatTable | ObjectTable:
    """Open a format table or an object table from its schema; without a location, its files are in its own folder.

    Args:
        schema: The latest schema.
        folder: The folder of the table, which contains the schema.
        arguments: The arguments of `table_files` that follow the folder, by name.
    """
    location = plain_location(schema.options)
    if schema.options["type"] == OBJECT_TABLE:
        return ObjectTable(location or folder, {"root": folder, **arguments}, schema)
    return FormatTable(location or folder, schema, {"root": folder, **arguments}, in_catalog=True)


def _check_format_table(definition: dict[str, Any], context: dict[str, str]) -> None:
    options: dict[str, str] = definition["options"]
    keys = definition["partitionKeys"]
    names = [field["name"] for field in definition["fields"]]
    given = options.get("file.format", options.get("format", "parquet")).strip().lower()
    formats = [name.lower() for name in FORMATS]
    if given not in formats:
        near = difflib.get_close_matches(given, formats, 1)
        message = f"the option `file.format` of a format table is {given!r}, expected one of {', '.join(formats)}"
        raise InvalidArgumentError(message, context=context, hint=f"did you mean `{near[0]}`?" if near else None)
    if given == "avro":
        message = "format tables of format avro in catalogs are not supported, because Java cannot open them"
        hint = "set the option `file.format` to parquet or orc, or open the folder with frazil.paimon.format_table"
        raise UnsupportedError(message, context=context, hint=hint)
    implementation = options.get("format-table.implementation", "paimon").lower()
    if implementation not in _IMPLEMENTATIONS:
        message = f"the option `format-table.implementation` is {implementation!r}, expected paimon or engine"
        raise InvalidArgumentError(message, context=context)
    if definition["primaryKeys"] or options.get("primary-key"):
        message = "format tables do not support primary keys"
        raise InvalidArgumentError(message, context=context, hint="omit primary_keys, or create a table without `type`")
    if set(keys) >= set(names):
        message = "a format table needs at least one column that is not a partition key"
        raise InvalidArgumentError(message, context=context)
    stored = [field for field in definition["fields"] if field["name"] not in keys]
    if given == "text" and (
        len(stored) != 1 or Schema.from_json({"fields": stored}).fields[0].data_type.name not in {"VARCHAR", "CHAR"}
    ):
        message = "a format table of format text needs exactly one STRING column in addition to its partition keys"
        raise InvalidArgumentError(message, context=context)


def _check_object_table(definition: dict[str, Any], context: dict[str, str]) -> None:
    if plain_location(definition["options"]) is None:
        message = "an object table needs the option `object-location`"
        hint = 'set it to the folder of the files, as in options={"object-location": "s3://bucket/folder"}'
        raise InvalidArgumentError(message, context=context, hint=hint)
    names = [field["name"] for field in definition["fields"]]
    if names not in ([], SCHEMA.column_names) or definition["partitionKeys"] or definition["primaryKeys"]:
        message = f"an object table always has the columns {', '.join(SCHEMA.column_names)}, and no keys"
        raise InvalidArgumentError(message, context=context, hint="omit the columns and the keys")
