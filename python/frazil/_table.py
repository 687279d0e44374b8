"""Opening a table by its location, whatever its format."""

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
    """Open the table in a folder, or an Iceberg table by one of its metadata files.

    `/lake/events$files` opens the metadata table or system table `files` of the table in `/lake/events`, which is a
    `frazil.VirtualTable`. A table in a folder of that name takes precedence.
    `load_table("/lake/events").inspect["files"]` is the same, with its type known to type checkers.

    Args:
        location: A folder or a `metadata.json`, as a path or a URI (`s3://`, `gs://`, `abfss://`, `https://`),
            perhaps with `$` and the name of a metadata table.
        format: `iceberg` or `paimon`; found by looking when not given. A Paimon table that keeps Iceberg metadata
            beside its own is a Paimon table unless this says otherwise.
        relocate: Recorded prefixes to where the files lie now, for tables that were moved or copied. A table that
            is opened in another folder than it records needs none.
        storage: Options of the storage, such as `s3.endpoint` or `s3.access-key-id`.
        allowed_locations: Paths or URIs that this table may access besides its own folder and those in
            `frazil.config.allowed_locations`.

    Raises:
        InvalidArgumentError: The table does not have this metadata table.
        NoSuchTableError: There is no table at the location.
        CorruptMetadataError: The table's metadata contradicts its specification.
        UnsupportedError: The table is of a format or version that this release does not read.

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
    """Open a table; also return the name of its metadata table if the location is one, such as `/lake/t$files`.

    Raises:
        InvalidArgumentError: There is no such format.
        NoSuchTableError: There is no table at the location.
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
    """Make a table in a folder, without a catalog.

    Args:
        location: The folder, as a path or a URI. There may be no table in it.
        schema: An Arrow schema, a data frame, types by name such as `{"id": "long"}`, or a schema of PyIceberg. Types
            of Paimon are those of its SQL: `{"id": "BIGINT NOT NULL"}`.
        format: `iceberg` or `paimon`.
        partition_by: Partition fields: `region`, `day(ts)`, `bucket(16, id)`, `truncate(4, name)`; or a partition spec
            of PyIceberg.
        sort_order: Sort keys: `id`, `day(ts) desc`, `name asc nulls last`; or a sort order of PyIceberg.
        format_version: 1, 2 or 3.
        properties: Properties of the table, such as `write.parquet.compression-codec`. A `write.data.path` or
            `write.metadata.path` outside the folder is allowed for this handle; see `load_table` for later ones.
        partition_keys: Paimon: the columns whose values are equal in a partition, outermost first.
        primary_keys: Paimon: the columns that name a row.
        options: Paimon: options of the table, such as `file.compression`. A folder in `data-file.external-paths` is
            allowed for this handle; see `load_table` for later ones.
        comment: Paimon: a comment on the table.
        storage: Options of the storage, such as `s3.endpoint`. They are not written into the table.
        **arguments: Those of the format, as the signatures above name them.

    Raises:
        AlreadyExistsError: There is a table in the folder.
        InvalidArgumentError: A type that the format does not have, a partition field that is none, or an argument of
            the other format.
        UnsupportedError: The table is of a kind that is not written yet; the message names it.

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
        message = f"create_table has no argument `{wrong}` for tables of the format {format}"
        raise InvalidArgumentError(message, hint=f"its arguments are {', '.join(known)}")
    table: IcebergTable | PaimonTable = chosen.table_class().create(location, schema, storage=storage, **arguments)
    return table


def _format_of(location: str, options: Mapping[str, Any]) -> str:
    """Look for the files of a Paimon table; what cannot be looked at is left to the opening of an Iceberg table."""
    folder = location.rstrip("/")
    if not folder or folder.endswith((".json", ".json.gz")):
        return "iceberg"
    return "paimon" if _has_files_of(FORMATS["paimon"], folder, options) else "iceberg"


def _what_is_there(location: str, options: Mapping[str, Any]) -> str:
    """Say what a location without a table holds, for users who pass the wrong one."""
    folder = location.rstrip("/") or "/"
    local = local_path(location)
    if local is not None and not local.exists():
        return "the folder does not exist"
    if local is not None and local.is_file():
        return "this is a file; pass the folder of the table, or a *.metadata.json"
    if folder.rpartition("/")[2] in _INNER_FOLDERS:
        return f"pass the folder of the table, perhaps {folder.rpartition('/')[0]!r}"
    for inner, name in _OTHER_FORMATS.items():
        if _file_names(f"{folder}/{inner}", folder, options):
            return f"this is a {name} table, which frazil does not read"
    return _tables_in(folder, options) or _EXPECTED


def _tables_in(folder: str, options: Mapping[str, Any]) -> str | None:
    """Name some tables in the folders of a folder; None if there are none."""
    try:
        inside = sorted(table_files(folder, **options).folders(folder))
    except FrazilError:
        inside = []
    tables = [name for name in inside if _has_table(f"{folder}/{name}", options)][:_SHOWN_TABLES]
    return f"tables are in its folders, such as {', '.join(repr(name) for name in tables)}" if tables else None


def _has_table(folder: str, options: Mapping[str, Any]) -> bool:
    return any(_has_files_of(known, folder, options) for known in FORMATS.values())


def _has_files_of(table_format: Format, folder: str, options: Mapping[str, Any]) -> bool:
    names = _file_names(f"{folder}/{table_format.folder}", folder, options)
    return any(table_format.recognizes(name) for name in names)


def _file_names(folder: str, root: str, options: Mapping[str, Any]) -> list[str]:
    """Return the names of the files in a folder; none if it cannot be listed."""
    try:
        return [place.rpartition("/")[2] for place, _, _ in table_files(root, **options).list(folder)]
    except FrazilError:
        return []
