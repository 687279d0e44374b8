"""Spark as the engine of `frazil.sql`."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, Literal

from frazil._virtual_table import VirtualTable
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon import Table as PaimonTable
from frazil.spark import _sql_paimon_changes, _sql_row_changes
from frazil.spark._char import char_lengths, padded_frame
from frazil.spark._errors import clarify, syntax_error_of
from frazil.spark._formats import format_of
from frazil.spark._insert import insert
from frazil.spark._matching_rows import comparable_columns
from frazil.spark._persisted import checkpointed, size_bytes
from frazil.spark._placeholders import Placeholders, with_placeholders
from frazil.spark._plain import PlainSql, own_sql
from frazil.spark._plain_tables import PLAIN_TABLES, read_plain_table
from frazil.spark._read import relation
from frazil.spark._session_options import (
    check_paimon_change,
    iceberg_read_options,
    session_option,
    session_values,
)
from frazil.spark._settings import PAIMON_PREFIX
from frazil.spark._sql_types import sql_columns
from frazil.spark._type_conversion import spark_schema
from frazil.spark._watched_views import watch_views
from frazil.spark._write_audit import is_enabled, session_audit
from frazil.spark.functions import register_transform
from frazil.sql._engine import Held
from frazil.sql._metadata_columns import PLACES
from frazil.sql._moments import Moments
from frazil.sql._reader import quoted
from frazil.sql._row_queries import ADDRESS_COLUMNS
from frazil.sql._sources import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from frazil._literal import Lit
    from frazil._write_result import WriteResult
    from frazil.sql import Lake
    from frazil.sql._column_types import Column
    from frazil.sql._insert import Insertion
    from frazil.sql._lexer import Lexed
    from frazil.sql._metadata_columns import Place
    from frazil.sql._row_change import Change
    from frazil.sql._sources import Source

BROADCAST_LIMIT_BYTES = 32 << 20
"""The size of the source of a MERGE up to which it is sent to all workers, to find the rows that match."""

_OPTIONS = {
    "as_of": "as-of-timestamp",
    "branch": "branch",
    "id": "snapshot-id",
    "tag": "tag",
    "version": "versionAsOf",
}
"""The read options that select a state."""


_ADDRESS: tuple[Place, ...] = ("file", "position")


def _places(source: Source) -> dict[str, Place]:
    """Return the additional columns of a Paimon table with the places of its rows."""
    if source.address is not None:
        return {} if key_of(source.table) else dict(zip(source.address, _ADDRESS, strict=True))
    places: dict[str, Place] = {name: PLACES[name] for name in source.metadata if name in PLACES}
    if places and (key_of(source.table) or len(places) < len(source.metadata)):
        message = f"the columns {', '.join(source.metadata)} of a table with a primary key are not supported"
        if not key_of(source.table):
            message = f"the columns {', '.join(source.metadata)} cannot be read together"
        raise UnsupportedError(message, context={"table": source.table.location})
    return places


class SparkEngine:
    """Runs queries in a session."""

    def __init__(self, spark: SparkSession) -> None:
        """Use this session."""
        self._spark = spark
        # Not `spark.sql`, which would run in the lake again after `connect(…, plain=True)`.
        self._sql = own_sql(spark)
        self._plain: PlainSql | None = None
        self._frames: Mapping[str, DataFrame] = {}
        self._user: str | None = None
        self._empty: DataFrame | None = None

    def query(self, text: str, sources: Sequence[Source], args: Any = None) -> DataFrame:
        """Run a query over loaded tables."""
        # All references to one table read the same state.
        states: dict[str, dict[str, str | None]] = {}
        moments = Moments(self.values, timestamp_has_zone=self.timestamp_has_zone())
        frames: dict[str, Any] = {
            f"t{index}": self._frame(source, states, moments) for index, source in enumerate(sources)
        }
        if self._frames:
            text = with_placeholders(text, self._frames, is_template=bool(sources))
        return self._sql(text, args, **frames, **self._frames)

    def syntax_error(self, text: str) -> InvalidArgumentError | None:
        """Return the error for a statement that Spark cannot parse; None if it can."""
        return syntax_error_of(self._sql, text)

    def clarify(self, error: Exception, sql: Lexed, columns: Sequence[str], catalogs: Sequence[str]) -> None:
        """Rewrite the text of an error of Spark in the words of a statement."""
        clarify(error, sql, columns, catalogs)

    def inserted(self, text: str, values: Mapping[str, Any]) -> tuple[str, dict[str, DataFrame]]:
        """Insert values into the placeholders of a text; return it, and the DataFrames by their names in it."""
        placeholders = Placeholders(self._spark)
        return placeholders.format(text, **values), placeholders.frames

    def with_frames(self, frames: Mapping[str, DataFrame]) -> SparkEngine:
        """Return this engine with DataFrames that queries can reference by name."""
        engine = copy.copy(self)
        engine._frames = frames  # noqa: SLF001 - of this class
        return engine

    def held(self, frame: DataFrame, name: str) -> Held[DataFrame]:
        """Run a query and keep its rows in the workers under a name that no statement uses."""
        held, release = checkpointed(frame)
        try:
            is_small = size_bytes(held) <= BROADCAST_LIMIT_BYTES
        except BaseException:
            release()
            raise
        return Held(self.with_frames({**self._frames, name: held}), is_small, release)

    def comparable_columns(self, table: Any, frame: DataFrame) -> list[str]:
        """Return the columns of a query that frazil compares with those of a table as Spark does."""
        return comparable_columns(table.scan().schema(), frame.schema)

    def replace_sql(self, lake: Lake[DataFrame]) -> None:
        """Run the statements of `spark.sql` in a lake."""
        self._plain = PlainSql(self._spark, lake)

    def disconnect(self) -> None:
        """Restore `spark.sql`, if this engine replaced it."""
        if self._plain is not None:
            self._plain.restore()
            self._plain = None

    def transform_function(self, name: str) -> str:
        """Return the name of a temporary function that computes a partition value."""
        return register_transform(self._spark, name)

    def value(self, frame: DataFrame) -> Any:
        """Return the first column of the first row of a query; None without rows."""
        row = frame.first()
        return None if row is None else row[0]

    def _frame(self, source: Source, states: dict[str, dict[str, str | None]], moments: Moments) -> DataFrame:
        if isinstance(source.table, PLAIN_TABLES):
            return read_plain_table(self._spark, source)
        if isinstance(source.table, VirtualTable):
            return self._spark.createDataFrame(source.table.scan().to_arrow())
        options = dict(source.options)
        if source.metadata_table is not None:
            options["inspect"] = source.metadata_table
        if source.state is not None:
            kind, value = source.state
            options[_OPTIONS[kind]] = str(value)

        def narrowed(schema: pa.Schema) -> tuple[tuple[str, ...], list[str]]:
            columns, filters = source.narrowed(schema, moments)
            extra = ADDRESS_COLUMNS if source.address is not None and not key else source.metadata
            return (*columns, *extra), filters

        key = key_of(source.table)
        if source.table.format == "paimon" and (places := _places(source)):
            return self._paimon_rows(source, places, moments)
        options = self._session_options(source) | options
        # The address of a row is its key as it is stored.
        pads = source.address is None
        frame = relation(self._spark, source.table, options, narrowed, states, source.keys, pads=pads)
        if source.address is None:
            return frame
        if key:
            copies = {name: frame[quoted(one)] for name, one in zip(source.address, key, strict=True)}
            return padded_frame(frame.withColumns(copies), char_lengths(source.table))
        return frame.withColumnsRenamed(dict(zip(ADDRESS_COLUMNS, source.address, strict=True)))

    def _paimon_rows(self, source: Source, places: Mapping[str, Place], moments: Moments) -> DataFrame:
        """Return the latest rows of a table without a primary key, with their places."""
        from frazil.spark._paimon_addresses import addressed_rows

        kind, value = source.state or ("branch", source.table.branch)
        if kind != "branch" or source.options or session_option(self._spark, source.name):
            message = f"the columns {', '.join(places)} are only supported for the latest rows of a table"
            raise UnsupportedError(message, context={"table": source.table.location})
        table = source.table if value == source.table.branch else source.table.with_branch(value)
        columns, texts = source.narrowed(table.scan().schema(), moments)
        rows = addressed_rows(self._spark, table, columns, " and ".join(texts), places)
        return padded_frame(rows, char_lengths(table))

    def _session_options(self, source: Source) -> dict[str, str]:
        if source.table.format == "iceberg":
            return iceberg_read_options(self._spark)
        return session_option(self._spark, source.name)

    def constants(self, texts: Sequence[str]) -> list[str | None]:
        """Return the values of literals as strings, in the form of Spark's partition values."""
        row = self._sql(f"SELECT {', '.join(f'CAST({text} AS STRING)' for text in texts)}").first()
        return [] if row is None else list(row)

    def values(self, texts: Sequence[str]) -> list[Any]:
        """Return the values of expressions that do not use columns."""
        row = self._sql(f"SELECT {', '.join(texts)}").first() if texts else None
        return [] if row is None else list(row)

    def overwrites_partitions(self) -> bool:
        """Return whether `spark.sql.sources.partitionOverwriteMode` is dynamic."""
        return str(self._spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static")).lower() == "dynamic"

    def create_view(
        self, frame: DataFrame, name: str, columns: Sequence[str] | None, *, replaces: bool, is_global: bool
    ) -> None:
        """Create a temporary view of a query.

        Raises:
            InvalidArgumentError: The number of columns differs from the query.
        """
        if columns is not None:
            if len(columns) != len(frame.columns):
                message = f"view `{name}` has {len(columns)} columns, but its query has {len(frame.columns)}"
                raise InvalidArgumentError(message)
            frame = frame.toDF(*columns)
        quoted = f"`{name.replace('`', '``')}`"
        if is_global:
            (frame.createOrReplaceGlobalTempView if replaces else frame.createGlobalTempView)(quoted)
        else:
            (frame.createOrReplaceTempView if replaces else frame.createTempView)(quoted)

    def is_view_of(self, name: str, frame: DataFrame) -> bool:
        """Return whether a temporary view of this name exists and reads these rows."""
        if not self.has_temporary_view(name):
            return False
        return self._spark.table(f"`{name.replace('`', '``')}`").sameSemantics(frame)

    def watch_views(self, frame: DataFrame, created: Callable[[str], None]) -> None:
        """Call a function with the name of each temporary view that a user creates of a DataFrame."""
        watch_views(frame, created)

    def columns_of(self, frame: DataFrame) -> list[Column]:
        """Return the columns of a query as columns of a new table."""
        return sql_columns(frame.schema)

    def column_names(self, frame: DataFrame) -> list[str]:
        """Return the names of the columns of a query."""
        return list(frame.columns)

    def insert(self, frame: DataFrame, table: Any, insertion: Insertion) -> WriteResult:
        """Write the rows of a query into a table, assigned to its columns by Spark's rules for INSERT."""
        return insert(frame, table, insertion, self.snapshot_properties())

    def delete(self, table: Any, row_filter: str | None, branch: str) -> WriteResult:
        """Delete the rows of an Iceberg table that match a filter; None for all rows."""
        return _sql_row_changes.delete(self._spark, table, row_filter, branch, self.snapshot_properties())

    def update(self, table: Any, values: Mapping[str, str], row_filter: str | None, branch: str) -> WriteResult:
        """Set columns of the matching rows to constants, given as SQL, by Spark's rules for assignments."""
        properties = self.snapshot_properties()
        return _sql_row_changes.update(self._spark, table, values, row_filter, branch, properties)

    def assigned_constants(self, table: Any, values: Mapping[str, str]) -> dict[str, Lit]:
        """Evaluate constants, given as SQL, and assign them to the types of their columns."""
        return _sql_row_changes.assigned_constants(self._spark, table, values)

    def change(self, table: Any, change: Change[DataFrame]) -> WriteResult:
        """Change the rows whose addresses are the first columns of a query, and insert rows."""
        if table.format == "paimon":
            return _sql_paimon_changes.change(table, change, self.snapshot_properties())
        return _sql_row_changes.change(self._spark, table, change, self.snapshot_properties())

    def changes_in_workers(self, table: Any, branch: str) -> bool:
        """Return whether the files of a branch are too large for a change in this process."""
        return not _sql_row_changes.is_small(table, branch)

    def joins_few_rows(self, table: Any, branch: str) -> bool:
        """Return whether the files of a branch are so small that Spark joins all of its rows."""
        return _sql_row_changes.is_small(table, branch, _sql_row_changes.JOIN_LIMIT_BYTES)

    def session_branch(
        self, table: Any, name: tuple[str, ...], change: Literal["insert", "rows"] | None = None
    ) -> str | None:
        """Return the branch that statements read and change instead of `main`; None for `main`.

        Raises:
            InvalidArgumentError: Settings contradict each other.
            UnsupportedError: A setting would affect the change, and is not supported.
        """
        if isinstance(table, PaimonTable):
            if change is None:
                return None  # Options select the branch of a read, with its snapshot.
            values = session_values(self._spark, PAIMON_PREFIX)
            branch = check_paimon_change(values, name, reads=change == "rows")
            return branch if table.branch == "main" else None
        return session_audit(self._spark).branch_of(table) if is_enabled(table) else None

    def is_case_sensitive(self) -> bool:
        """Return whether `spark.sql.caseSensitive` is set."""
        return str(self._spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"

    def frame(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        """Return rows as a DataFrame; a column is a name for strings, or a name and a type such as `count bigint`."""
        from pyspark.sql.types import StructType

        if not columns:
            # The empty result is reused, because most statements return it.
            if self._empty is None:
                self._empty = self._spark.createDataFrame([], StructType([]))
            return self._empty
        parts = [column.partition(" ") for column in columns]
        fields = ", ".join(f"`{name}` {kind or 'string NOT NULL'}" for name, _, kind in parts)
        return self._spark.createDataFrame(list(rows), fields)

    def columns(self, table: Any) -> list[tuple[str, ...]]:
        """Return the name, type and comment of each column."""
        if isinstance(table, PLAIN_TABLES):
            comments = {field.name: field.description for field in table.schema().fields}
        else:
            comments = format_of(table).comments(table)
        fields = spark_schema(table.scan().schema(), "micros")
        return [(field.name, field.dataType.simpleString(), comments.get(field.name) or "") for field in fields]

    def tree(self, table: Any) -> str:
        """Return the schema of a table as a tree, one line for each column and field."""
        return spark_schema(table.scan().schema(), "micros").treeString()

    def has_temporary_view(self, name: str) -> bool:
        """Return whether a temporary view or an inserted DataFrame of this name exists."""
        if name in self._frames:
            return True
        from pyspark.errors import PySparkException

        with contextlib.suppress(PySparkException):
            return bool(self._spark.catalog.getTable(f"`{name.replace('`', '``')}`").isTemporary)
        return False

    def timestamp_has_zone(self) -> bool:
        """Return whether TIMESTAMP has a time zone in this session."""
        return str(self._spark.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ")).upper() != "TIMESTAMP_NTZ"

    def user(self) -> str:
        """Return the user of the session."""
        if self._user is None:
            row = self._sql("SELECT current_user()").first()
            if row is None:
                message = "the session has no user"
                raise InvalidArgumentError(message)
            self._user = str(row[0])
        return self._user

    def snapshot_properties(self) -> dict[str, str]:
        """Return the application id as a snapshot property, which the Java connector records, too."""
        found = self._spark.conf.get("spark.app.id", None)
        return {} if not found else {"spark.app.id": str(found)}
