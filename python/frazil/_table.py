"""Opens a table by its location, in any supported format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from frazil._arguments import path_text, table_files
from frazil._folders import local_path
from frazil._formats import FORMATS, format_named
from frazil._opened import opening
from frazil._virtual_table import split_metadata_table
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchTableError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from frazil._formats import Format
    from frazil.iceberg._table import Table as IcebergTable
    from frazil.paimon._table import Table as PaimonTable

_SHOWN_TABLES = 3
_OTHER_FORMATS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}
_INNER_FOLDERS = ("data", "manifest", "metadata", "schema", "snapshot")
_EXPECTED = (
    "a table is a folder with metadata/*.metadata.json (Iceberg) or schema/schema-<N> (Paimon), "
    "or the path of an Iceberg metadata file"
)


@overload
def load_table(
    location: str | os.PathLike[str],
    *,
    format: Literal["iceberg"],
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    allowed_locations: Sequence[str] = (),
) -> IcebergTable | Any: ...
@overload
def load_table(
    location: str | os.PathLike[str],
    *,
    format: Literal["paimon"],
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    allowed_locations: Sequence[str] = (),
) -> PaimonTable | Any: ...
@overload
def load_table(
    location: str | os.PathLike[str],
    *,
    format: str | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    allowed_locations: Sequence[str] = (),
) -> IcebergTable | PaimonTable | Any: ...
def load_table(
    location: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that users of Spark type
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    allowed_locations: Sequence[str] = (),
) -> IcebergTable | PaimonTable | Any:
    """Open the table in a folder, or an Iceberg table from one of its metadata files.

    `/lake/events$files` opens the metadata table or system table `files` of the table in `/lake/events`, as a
    `frazil.VirtualTable`. A table in a folder of that name takes precedence.
    `load_table("/lake/events").inspect["files"]` opens the same table, with a type that type checkers know.

    Args:
        location: A folder or a `metadata.json`, as a path or a URI (`s3://`, `gs://`, `abfss://`, `https://`),
            optionally followed by `$` and the name of a metadata table.
        format: `iceberg` or `paimon`; detected from the files if omitted. A Paimon table that also keeps Iceberg
            metadata is opened as a Paimon table unless this argument is `iceberg`.
        relocate: A mapping of recorded prefixes to their current locations, for tables that were moved or copied. It is
            not needed for a table that is opened in a different folder from the one it records.
        storage: Storage options, such as `s3.endpoint` or `s3.access-key-id`.
        allowed_locations: Paths or URIs that this table may access in addition to its own folder and those in
            `frazil.config.allowed_locations`.

    Raises:
        InvalidArgumentError: The table does not have this metadata table.
        NoSuchTableError: The location does not contain a table.
        CorruptMetadataError: The table's metadata violates the specification.
        UnsupportedError: This release does not read the table's format or version.

    >>> load_table("tests/golden/iceberg/del_pos_file_parquet_part").location
    '/golden/iceberg/del_pos_file_parquet_part'
    >>> load_table("tests/golden/iceberg/del_pos_file_parquet_part$files").scan("content = 0").count()
    13
    """
    table, name = open_named(location, format, relocate=relocate, storage=storage, allowed_locations=allowed_locations)
    return table if name is None else FORMATS[table.format].metadata_table(table, name)


def open_named(
    location: str | os.PathLike[str],
    table_format: str | None,
    *,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
    allowed_locations: Sequence[str],
) -> tuple[IcebergTable | PaimonTable, str | None]:
    """Open a table and return it with the name of its metadata table, if the location has one (`/lake/t$files`).

    Raises:
        InvalidArgumentError: The format is unknown.
        NoSuchTableError: The location does not contain a table.
    """
    location = path_text("location", location)
    if table_format is not None:
        format_named(table_format)
    options = opening(relocate, storage, allowed_locations)
    folder, name = split_metadata_table(location)
    try:
        return _open(location, table_format, options), None
    except NoSuchTableError as error:
        if name is None:
            raise
        try:
            return _open(folder, table_format, options), name
        except NoSuchTableError:
            raise error from None


def _open(location: str, table_format: str | None, options: Mapping[str, Any]) -> IcebergTable | PaimonTable:
    try:
        table: IcebergTable | PaimonTable = (
            FORMATS[table_format or _format_of(location, options)].table_class().open(location, **options)
        )
    except NoSuchTableError as error:
        if table_format is not None or error.hint is not None:
            raise
        raise NoSuchTableError(error.message, context=error.context, hint=_what_is_there(location, options)) from None
    return table


@overload
def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    format: Literal["iceberg"] = "iceberg",
    partition_by: Any = (),
    sort_order: Any = (),
    format_version: int = 2,
    properties: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> IcebergTable: ...
@overload
def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    format: Literal["paimon"],
    partition_keys: Sequence[str] = (),
    primary_keys: Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    comment: str | None = None,
    storage: Mapping[str, str] | None = None,
) -> PaimonTable: ...
def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    format: Literal["iceberg", "paimon"] = "iceberg",  # noqa: A002 - as in `load_table`
    storage: Mapping[str, str] | None = None,
    **arguments: Any,
) -> IcebergTable | PaimonTable:
    """Create a table in a folder, without a catalog.

    Args:
        location: The folder, as a path or a URI. It must not contain a table.
        schema: An Arrow schema, a data frame, a mapping of names to types such as `{"id": "long"}`, or a PyIceberg
            schema.
            Paimon types are written in its SQL: `{"id": "BIGINT NOT NULL"}`.
        format: `iceberg` or `paimon`.
        partition_by: Partition fields: `region`, `day(ts)`, `bucket(16, id)`, `truncate(4, name)`; or a PyIceberg
            partition spec.
        sort_order: Sort keys: `id`, `day(ts) desc`, `name asc nulls last`; or a PyIceberg sort order.
        format_version: 1, 2 or 3.
        properties: Table properties, such as `write.parquet.compression-codec`. A `write.data.path` or
            `write.metadata.path` outside the folder is allowed for this handle only; to allow it later, see
            `load_table`.
        partition_keys: Paimon: the partition columns, outermost first.
        primary_keys: Paimon: the columns of the primary key.
        options: Paimon: table options, such as `file.compression`. A folder in `data-file.external-paths` is allowed
            for this handle only; to allow it later, see `load_table`.
        comment: Paimon: a comment on the table.
        storage: Storage options, such as `s3.endpoint`. They are not written to the table.
        **arguments: The arguments of the format, as listed in the signatures above.

    Raises:
        AlreadyExistsError: The folder already contains a table.
        InvalidArgumentError: A type is not supported by the format, a partition field is invalid, or an argument
            belongs to the other format.
        UnsupportedError: frazil cannot write this type of table yet; the message identifies the unsupported feature.

    >>> import tempfile, pyarrow as pa
    >>> schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us"))])
    >>> table = create_table(tempfile.mkdtemp() + "/events", schema, partition_by=["bucket(4, id)"])
    >>> table.append([{"id": 1}, {"id": 2}, {"id": 3}]).added_records
    3
    >>> sorted(table.scan().to_arrow()["id"].to_pylist())
    [1, 2, 3]
    """
    chosen = format_named(format)
    known = chosen.create_arguments
    wrong = next((name for name in arguments if name not in known), None)
    if wrong is not None:
        message = f"create_table has no argument `{wrong}` for {format} tables"
        raise InvalidArgumentError(message, hint=f"the accepted arguments are {', '.join(known)}")
    table: IcebergTable | PaimonTable = chosen.table_class().create(location, schema, storage=storage, **arguments)
    return table


def _format_of(location: str, options: Mapping[str, Any]) -> str:
    """Detect a Paimon table by its files; a location that cannot be listed is left to the Iceberg reader."""
    folder = location.rstrip("/")
    if not folder or folder.endswith((".json", ".json.gz")):
        return "iceberg"
    return "paimon" if _has_files_of(FORMATS["paimon"], folder, options) else "iceberg"


def _what_is_there(location: str, options: Mapping[str, Any]) -> str:
    """Describe the contents of a location that does not contain a table, for users who pass the wrong one."""
    folder = location.rstrip("/") or "/"
    local = local_path(location)
    if local is not None and not local.exists():
        return "the folder does not exist"
    if local is not None and local.is_file():
        return "the location is a file; pass the folder of the table, or a *.metadata.json"
    if folder.rpartition("/")[2] in _INNER_FOLDERS:
        return f"pass the folder of the table, perhaps {folder.rpartition('/')[0]!r}"
    for inner, name in _OTHER_FORMATS.items():
        if _file_names(f"{folder}/{inner}", folder, options):
            return f"the location is a {name} table, which frazil does not read"
    return _tables_in(folder, options) or _EXPECTED


def _tables_in(folder: str, options: Mapping[str, Any]) -> str | None:
    """Return a message that lists some tables in the subfolders of a folder; None if there are none."""
    try:
        inside = sorted(table_files(folder, **options).folders(folder))
    except FrazilError:
        inside = []
    tables = [name for name in inside if _has_table(f"{folder}/{name}", options)][:_SHOWN_TABLES]
    return f"its subfolders contain tables, such as {', '.join(repr(name) for name in tables)}" if tables else None


def _has_table(folder: str, options: Mapping[str, Any]) -> bool:
    return any(_has_files_of(known, folder, options) for known in FORMATS.values())


def _has_files_of(table_format: Format, folder: str, options: Mapping[str, Any]) -> bool:
    names = _file_names(f"{folder}/{table_format.folder}", folder, options)
    return any(table_format.recognizes(name) for name in names)


def _file_names(folder: str, root: str, options: Mapping[str, Any]) -> list[str]:
    """Return the names of the files in a folder; an empty list if the folder cannot be listed."""
    try:
        return [place.rpartition("/")[2] for place, _, _ in table_files(root, **options).list(folder)]
    except FrazilError:
        return []
