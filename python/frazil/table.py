"""Opening a table by its location, whatever its format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, overload

from frazil.errors import FrazilError, InvalidArgument, NoSuchTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil.iceberg.table import Table as IcebergTable
    from frazil.paimon.table import Table as PaimonTable

FORMATS = ("iceberg", "paimon")


@overload
def load_table(
    location: str | os.PathLike[str],
    *,
    format: Literal["iceberg"],
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> IcebergTable: ...
@overload
def load_table(
    location: str | os.PathLike[str],
    *,
    format: Literal["paimon"],
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> PaimonTable: ...
@overload
def load_table(
    location: str | os.PathLike[str],
    *,
    format: str | None = None,
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> IcebergTable | PaimonTable: ...
def load_table(
    location: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that users of Spark type
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> IcebergTable | PaimonTable:
    """Open the table in a folder, or an Iceberg table by one of its metadata files.

    Args:
        location: A folder or a `metadata.json`, as a path or a URI (`s3://`, `gs://`, `abfss://`, `https://`).
        format: `iceberg` or `paimon`; found by looking when not given. A Paimon table that keeps Iceberg metadata
            beside its own is a Paimon table unless this says otherwise.
        relocate: Recorded prefixes to where the files lie now, for tables that were moved or copied. A table that
            is opened in another folder than it records needs none.
        properties: Options of the storage, such as `s3.endpoint` or `s3.access-key-id`.

    Raises:
        NoSuchTable: There is no table at the location.
        CorruptMetadata: The table's metadata contradicts its specification.
        Unsupported: The table is of a format or version that this release does not read.

    >>> load_table("tests/golden/iceberg/del_pos_file_parquet_part").location
    '/golden/iceberg/del_pos_file_parquet_part'
    """
    location = os.fspath(location)
    relocate, properties = relocate or {}, properties or {}
    if format is not None and format not in FORMATS:
        message = f"unknown table format {format!r}, expected one of {', '.join(FORMATS)}"
        raise InvalidArgument(message)
    if (format or _format_of(location, relocate, properties)) == "paimon":
        from frazil.paimon.table import Table as PaimonTable

        return PaimonTable.open(location, relocate=relocate, properties=properties)
    from frazil.iceberg.table import Table as IcebergTable

    try:
        return IcebergTable.open(location, relocate=relocate, properties=properties)
    except NoSuchTable as error:
        if format is not None or error.hint is not None:
            raise
        hint = "no schema/schema-<N>, which a Paimon table has, was found either"
        raise NoSuchTable(error.message, context=error.context, hint=hint) from None


def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    partition_by: Sequence[str] = (),
    format_version: int = 2,
    properties: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> IcebergTable:
    """Make an Iceberg table in a folder, without a catalog.

    Args:
        location: The folder, as a path or a URI. There may be no table in it.
        schema: An Arrow schema: names, types and what may be NULL.
        partition_by: Partition fields: `region`, `day(ts)`, `bucket(16, id)`, `truncate(4, name)`.
        format_version: 1, 2 or 3.
        properties: Properties of the table, such as `write.parquet.compression-codec`.
        storage: Options of the storage, such as `s3.endpoint`.

    Raises:
        AlreadyExists: There is a table in the folder.
        InvalidArgument: A type that Iceberg does not have, or a partition field that is none.

    >>> import tempfile, pyarrow as pa
    >>> schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us"))])
    >>> table = create_table(tempfile.mkdtemp() + "/events", schema, partition_by=["bucket(4, id)"])
    >>> table.append([{"id": 1}, {"id": 2}, {"id": 3}]).added_records
    3
    >>> sorted(table.scan().to_arrow()["id"].to_pylist())
    [1, 2, 3]
    """
    from frazil.iceberg.table import Table as IcebergTable

    return IcebergTable.create(
        location,
        schema,
        partition_by=partition_by,
        format_version=format_version,
        properties=properties,
        storage=storage,
    )


def _format_of(location: str, relocate: Mapping[str, str], properties: Mapping[str, str]) -> str:
    """Look: a Paimon table has files `schema/schema-<number>`. What cannot be looked at is left to the opening."""
    from frazil.arguments import table_files

    folder = location.rstrip("/")
    if not folder or folder.endswith((".json", ".json.gz")):
        return "iceberg"
    try:
        found = table_files(folder, relocate, properties).list(f"{folder}/schema")
    except FrazilError:
        return "iceberg"
    names = (place.rpartition("/")[2] for place, _, _ in found)
    return "paimon" if any(_is_schema_file(name) for name in names) else "iceberg"


def _is_schema_file(name: str) -> bool:
    return name.startswith("schema-") and name.removeprefix("schema-").isdecimal()
