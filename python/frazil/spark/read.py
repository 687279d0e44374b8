"""Reading a table as a DataFrame, with columns and rows chosen before Spark sees any."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from frazil.arguments import field_names, filter_text, milliseconds
from frazil.spark.options import quote_name

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil.iceberg import Table


def register(spark: SparkSession) -> None:
    """Register the data source `frazil` in a session.

    Spark finds the data source by itself where the wheel is installed for the driver's Python; this is for a session
    that looked before the wheel was there, and for a Spark Connect server that has it elsewhere.
    """
    from frazil.spark.source import FrazilDataSource

    spark.dataSource.register(FrazilDataSource)


def read(  # noqa: PLR0913 - the arguments of `Table.scan`
    spark: SparkSession,
    table: str | Table,
    row_filter: str | bool = True,  # noqa: FBT001, FBT002 - as in `Table.scan`
    selected_fields: Sequence[str] = ("*",),
    *,
    case_sensitive: bool = True,
    snapshot_id: int | None = None,
    ref: str | None = None,
    as_of: int | dt.datetime | None = None,
    limit: int | None = None,
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Read a table in the executors of Spark; only the chosen columns and rows reach Spark.

    The state of the table is pinned here: a `Table` is read as it is, a location as of now. What `row_filter` and
    `selected_fields` leave out is never read; a later `where` or `select` is applied by Spark to what was read.

    Args:
        spark: The session.
        table: A folder or metadata file, or a table that was loaded, with its relocations and storage options.
        row_filter: SQL such as `id > 10 and name like 'a%'`; True for all rows.
        selected_fields: Column names, `s.x` for a field of a struct, `*` for all, and metadata columns.
        case_sensitive: Whether `ID` is another column than `id`.
        snapshot_id: A snapshot to read, with its own schema.
        ref: A branch or a tag to read.
        as_of: Read what was current then: milliseconds since the epoch or an aware datetime, inclusive.
        limit: At most so many rows, which are then read in one partition.
        relocate: As in `frazil.load_table`, for a table given by its location.
        properties: Options of the storage. They travel in Spark's plans; prefer the environment for credentials.
        options: Further options of the data source, such as `split-size`.

    Raises:
        InvalidArgument: An argument that does not fit.
        pyspark.errors.AnalysisException: The table cannot be read; the text names the error of frazil.
    """
    given: dict[str, str] = {"case-sensitive": str(case_sensitive).lower()}
    if isinstance(table, str | os.PathLike):
        location = str(table)
    else:
        location = table.metadata_location
        relocate = table._options["relocate"] | dict(relocate or {})  # noqa: SLF001 - one package
        properties = table._options["properties"] | dict(properties or {})  # noqa: SLF001
    chosen = {
        "row-filter": filter_text(row_filter) or None,
        "columns": ", ".join(quote_name(name) for name in field_names(selected_fields)),
        "snapshot-id": snapshot_id,
        "ref": ref,
        "as-of-timestamp": None if as_of is None else milliseconds(as_of),
        "limit": limit,
        "relocate": json.dumps(dict(relocate)) if relocate else None,
    }
    given |= {name: str(value) for name, value in chosen.items() if value is not None}
    return spark.read.format("frazil").options(**given | dict(properties or {}) | dict(options or {})).load(location)
