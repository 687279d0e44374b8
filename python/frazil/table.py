"""Opening a table by its location, whatever its format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from frazil.errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.iceberg.table import Table

FORMATS = ("iceberg",)


def load_table(
    location: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that users of Spark type
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """Open the table in a folder, or by one of its metadata files.

    Args:
        location: A folder or a `metadata.json`, as a path or a URI (`s3://`, `gs://`, `abfss://`, `https://`).
        format: `iceberg`; found by looking when not given.
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
    if format is not None and format not in FORMATS:
        if format == "paimon":
            message = "this release does not read Paimon tables yet"
            raise Unsupported(message)
        message = f"unknown table format {format!r}, expected one of {', '.join(FORMATS)}"
        raise InvalidArgument(message)
    from frazil.iceberg.table import Table

    return Table.open(location, relocate=relocate or {}, properties=properties or {})
