"""Reads a table as a DataFrame, with columns and rows selected before Spark receives them."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Literal

from frazil._arguments import field_names, filter_text, row_limit, snapshot_choice
from frazil.errors import FrazilError, InvalidArgumentError
from frazil.spark._connected import named_table
from frazil.spark._options import AUDIT_OPTIONS, NATIVE_FILES, READ_LANES, READ_SNAPSHOT, parse, quote_name
from frazil.spark._worker_python import check_session

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from frazil import iceberg, paimon
    from frazil._arguments import RowFilter
    from frazil.spark._state import ReadState


_SNAPSHOT_OPTIONS = {"id": "snapshot-id", "ref": "ref", "as_of": "as-of-timestamp"}


def register(spark: SparkSession) -> None:
    """Register the data source `frazil` in a session.

    Spark finds the data source itself if the wheel is installed for the driver's Python. This function is for sessions
    that looked for data sources before the wheel was installed, and for Spark Connect servers with a different Python.
    """
    from frazil.spark._source import FrazilDataSource

    check_session(spark)
    spark.dataSource.register(FrazilDataSource)


def read(  # noqa: PLR0913 - the arguments of `Table.scan`
    spark: SparkSession,
    table: str | os.PathLike[str] | iceberg.Table | paimon.Table,
    row_filter: RowFilter = True,  # noqa: FBT002 - as in `Table.scan`
    selected_fields: Sequence[str] = ("*",),
    *,
    case_sensitive: bool = True,
    snapshot_id: int | None = None,
    ref: str | None = None,
    as_of: int | str | dt.datetime | None = None,
    limit: int | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    read_lane: Literal["auto", "arrow", "native"] = "auto",
) -> DataFrame:
    """Read a table in Spark's executors; only the selected columns and rows are passed to Spark.

    This call fixes the table state: an Iceberg `Table` is read at its own state, a Paimon `Table` or a location at its
    current state. Data excluded by `row_filter` and `selected_fields` is never read; Spark applies a later `where` or
    `select` to the rows that were read.

    Args:
        spark: The session.
        table: A folder or metadata file, or a loaded table, including its relocations and storage options. A name such
            as `cat.db.t` is that of a table in a lake that is connected to the session.
        row_filter: An SQL expression such as `id > 10 and name like 'a%'`; True for all rows.
        selected_fields: Column names, `s.x` for a field of a struct, `*` for all, and metadata columns.
        case_sensitive: Whether column names are case-sensitive.
        snapshot_id: A snapshot to read, with its own schema.
        ref: A branch or a tag to read; by default `main`, or the branch `spark.wap.branch` of the session.
        as_of: The time whose current snapshot is read, inclusive: milliseconds since the epoch, a datetime or an ISO
            8601 string such as `2024-01-31T12:00:00Z`.
        limit: The maximum number of rows, which are then read in one partition.
        relocate: As in `frazil.load_table`, for a table given by its location.
        storage: Storage options. They are part of Spark's plans; prefer the environment for credentials.
        options: Further data source options, such as `split-size`; for a Paimon table also Paimon's own, such as
            `incremental-between`.
        read_lane: The reader of an Iceberg table's data files. `arrow`: frazil. `auto`: Spark's own Parquet reader
            reads local files for which it returns the same rows, because such rows do not pass through Python. frazil
            reads all other files, including
        files with deletes. `native`: as `auto`, but also for tables with required columns, which Spark then reports as
            nullable. Over Spark Connect frazil reads everything.

    Raises:
        InvalidArgumentError: An argument is invalid.
        pyspark.errors.AnalysisException: The table cannot be read; the message contains the frazil error.
    """
    check_session(spark)
    table = named_table(spark, table)
    limit = row_limit(limit)
    given: dict[str, Any] = {
        "case-sensitive": str(case_sensitive).lower(),
        "row-filter": filter_text(row_filter) or None,
        "columns": ", ".join(quote_name(name) for name in field_names(selected_fields)),
        "limit": limit,
    }
    chosen = snapshot_choice(snapshot_id, ref, as_of)
    if chosen is not None:
        given[_SNAPSHOT_OPTIONS[chosen[0]]] = chosen[1]
    given = _place(given, table, relocate, storage) | _session_options(spark, table) | dict(options or {})
    given = {
        name: value if isinstance(value, str) else str(value) for name, value in given.items() if value is not None
    }
    if read_lane not in READ_LANES:
        message = f"read_lane is {read_lane!r}, expected one of {', '.join(READ_LANES)}"
        raise InvalidArgumentError(message)
    from pyspark.sql.utils import is_remote

    if is_remote():
        return spark.read.format("frazil").options(**given).load()
    return _by_lanes(spark, given, read_lane)


def relation(  # noqa: PLR0913 - the parts of a source
    spark: SparkSession,
    table: iceberg.Table | paimon.Table,
    options: Mapping[str, str],
    narrowed: Callable[[pa.Schema], tuple[Sequence[str], Sequence[str]]],
    states: dict[str, dict[str, str | None]],
    keys: DataFrame | None = None,
    *,
    pads: bool = True,
) -> DataFrame:
    """Return a DataFrame of an opened table at the state selected by options.

    The schema is passed to Spark, so that Spark does not start Python to ask for it.

    Args:
        spark: The session.
        table: The table.
        options: The state to read, and the metadata table or system table.
        narrowed: A function that selects columns and filters for a schema. The DataFrame may contain excluded rows.
        states: The states of earlier calls by options. A state in this mapping is used again.
        keys: As in `matching_rows`; None to read all rows.
        pads: Whether Spark pads values of CHAR columns of Paimon tables.

    Raises:
        FrazilError: An option is invalid, or the table does not have the state.
    """
    from pyspark.sql.utils import is_remote

    from frazil.spark._open import open_state

    given = {name: str(value) for name, value in _place({}, table, None, None).items() if value is not None}
    given |= options
    key = json.dumps(given, sort_keys=True)
    chosen = _with(given, states.get(key, {}))
    state = open_state(parse(chosen))
    # The options select the recorded state, as if the user had selected it.
    given |= _marks(chosen, state)
    if (lasting := state.lasting_options()) is not None:
        states[key] = {**lasting, **_marks(chosen, state)}
        given = _with(given, lasting)
    columns, filters = narrowed(state.scan(("*",)).schema())
    given["columns"] = ", ".join(quote_name(name) for name in columns)
    text = " and ".join(f"({one})" for one in filters if _fits(state, one))
    given |= {"row-filter": text} if text else {}
    state.asked = parse(given)
    if keys is not None:
        from frazil.spark._matching_rows import matching_rows

        return matching_rows(spark, state, keys)
    nullable = None if is_remote() else False
    return _opened(spark, given, state, nullable=nullable, is_filtered_later=True, pads=pads)


def _session_options(spark: SparkSession, table: Any) -> dict[str, str | None]:
    """Return the settings of the session as options; those that select a state yield to other options."""
    from frazil.spark._session_options import iceberg_read_options, session_option
    from frazil.spark._write_audit import session_audit

    table_format = getattr(table, "format", None)
    found: dict[str, str | None] = {}
    if table_format != "paimon":
        audit = session_audit(spark)
        if audit.branch is not None:
            found |= zip(AUDIT_OPTIONS, (audit.branch, audit.wap_id), strict=True)
    if table_format == "iceberg":
        return found | iceberg_read_options(spark)
    return found | session_option(spark)


def _with(given: Mapping[str, str], others: Mapping[str, str | None]) -> dict[str, str]:
    """Return the options updated with `others`; a value of None removes the option."""
    kept = {name: value for name, value in given.items() if name.lower() not in others}
    return kept | {name: value for name, value in others.items() if value is not None}


def _fits(state: ReadState, row_filter: str) -> bool:
    """Return whether frazil supports this filter for the columns of a table."""
    with contextlib.suppress(FrazilError):
        state.scan((), row_filter)
        return True
    return False


def _place(
    given: dict[str, Any],
    table: str | os.PathLike[str] | iceberg.Table | paimon.Table,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Return the options with the path, relocations, locations and storage options of the table added."""
    from frazil.spark._formats import format_of

    if not isinstance(table, str | os.PathLike):
        given |= format_of(table).options(table)
        relocate = table.relocations | dict(relocate or {})
        given["allowed-locations"] = json.dumps(table.allowed_locations) if table.allowed_locations else None
        storage = table.storage_properties | dict(storage or {})
    else:
        given["path"] = os.fspath(table)
    if relocate:
        given["relocate"] = json.dumps(dict(relocate))
    return given | dict(storage or {})


def _marks(given: Mapping[str, str], state: ReadState) -> dict[str, str]:
    """Return the option that records the snapshot read, so that a later write can detect conflicts."""
    if READ_SNAPSHOT in given:
        return {READ_SNAPSHOT: given[READ_SNAPSHOT]}
    read = state.newest_of()
    return {} if read is None else {READ_SNAPSHOT: read.option()}


def _by_lanes(spark: SparkSession, given: dict[str, str], lane: str) -> DataFrame:
    """Read files with Spark if the result is the same, all other files with frazil, both at one table state."""
    from frazil.spark._open import open_state

    # Errors are ignored here, because the data source raises them again as for every other read.
    with contextlib.suppress(FrazilError):
        asked = parse(given)
        state = open_state(asked)
        if lane != "arrow" and asked.limit is None and not asked.pushdown and state.has_native_files:
            return _opened(spark, given, state, nullable=lane == "native")
        given = _with(given, state.lasting_options() or {}) | _marks(given, state)
    return spark.read.format("frazil").options(**given).load()


def _opened(
    spark: SparkSession,
    given: dict[str, str],
    state: ReadState,
    *,
    nullable: bool | None,
    is_filtered_later: bool = False,
    pads: bool = True,
) -> DataFrame:
    """Read a state; `nullable` is as in `ReadState.native_files`, or None if frazil must read all files.

    `pads` is whether Spark pads values of CHAR columns.
    """
    from frazil.spark._char import with_lengths
    from frazil.spark._type_conversion import spark_schema

    source, asked, lasting = spark.read.format("frazil"), state.asked, state.lasting_options()
    marks = _marks(given, state)
    given = {**given, **marks}
    if lasting is None:
        # Spark must open the table now, because a later read might find a different state.
        return source.options(**given).load()
    given = _with(given, lasting)
    schema = spark_schema(state.scan(asked.columns, asked.row_filter).schema(), asked.timestamp_ns)
    if pads:
        schema = with_lengths(schema, state.char_lengths())
    source, files = source.schema(schema), None
    if nullable is not None:
        files = state.native_files(nullable=nullable, is_filtered_later=is_filtered_later)
    if files is None:
        return source.options(**given).load()
    frame = files.frame(spark, schema, marks)
    if files.are_all:
        return frame
    return frame.unionByName(source.options(**given, **{NATIVE_FILES: files.option()}).load())
