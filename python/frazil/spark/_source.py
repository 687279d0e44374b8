"""The PySpark data source `frazil`, which reads tables with `spark.read.format("frazil").load(path)`.

Spark runs the constructor and `schema`, then `reader` and `partitions`, each in a separate Python process on the
driver's host, and then `read` in the executors; the objects are passed between them as pickles. The constructor
therefore records the state of the table, which all later steps read: schema and rows belong to one state, and a
DataFrame returns the same rows each time it is run.

A partition is the serialized form of a group of tasks or splits and contains no secrets. Options such as
`s3.secret-access-key` reach the executors in the pickled reader, and Spark may show options in its plans. It is better
to set credentials in the environment of driver and executors.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark import _catalog_table as catalog_table
from frazil.spark import _options as read_options
from frazil.spark._short_errors import short_errors
from frazil.spark._version import check_spark

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from frazil.spark._state import ReadState

BATCH_BYTES = 16 << 20
"""The batch size above which a batch is passed to Spark in parts, to limit the memory on both sides."""

ONE_PARTITION_ROWS = 1 << 20
"""The maximum value of a pushed limit that is applied exactly, by reading all rows in one partition."""


class FrazilDataSource(DataSource):
    """Tables as a Spark data source; see `frazil.spark.options` for the options of all formats.

    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> spark.read.format("frazil").option("tag", "q1").load("/path/of/table")  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for `format` and `USING`."""
        return "frazil"

    @short_errors
    def __init__(self, options: dict[str, str]) -> None:
        """Check the options, open the table and pin its state; a table of Spark's catalog is known only by its schema.

        Raises:
            InvalidArgumentError: An option is unknown, does not apply, or contradicts another option.
            NoSuchTableError: The table does not exist.
            NoSuchSnapshotError: The table does not have the state selected by the options.
            UnsupportedError: The Spark release is older than 4.1.
        """
        check_spark()
        super().__init__(options)
        self._given, self._is_created = catalog_table.options_of(options)
        self._state = _state(self._given) if self._given else None

    @short_errors
    def schema(self) -> StructType:
        """Return the schema of the rows.

        Raises:
            InvalidArgumentError: No options are set.
            UnsupportedError: Spark does not support the type of a column; the error contains the column.
        """
        schema = _Request(self._state or _state({})).spark_schema()
        return catalog_table.keep(schema, self._given) if self._is_created else schema

    @short_errors
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - Spark's signature
        """Return the writer for rows with this schema.

        Raises:
            InvalidArgumentError: An option is unknown or does not apply, or a column does not fit the table.
            UnsupportedError: The write is an INSERT into a table of Spark's catalog.
        """
        from frazil.spark._writer import FrazilWriter

        if not self._given:
            # The schema belongs to the rows and may include metadata from the columns of other tables, so it does not
            # identify the target.
            message = (
                "the target table is unknown: Spark does not pass the name of its catalog's table to a Python data "
                "source"
            )
            hint = "INSERT into a temporary view, CREATE TEMPORARY VIEW … USING frazil OPTIONS (path '…')"
            raise UnsupportedError(message, hint=f"{hint}, or use `frazil.spark.write`")
        made: DataSourceWriter = FrazilWriter(self._given, schema, overwrite=overwrite)
        return made

    @short_errors
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the columns in `schema`; without options the table is one of Spark's catalog."""
        state = self._state or _state(catalog_table.kept(schema))
        kind = PushingReader if state.asked.pushdown else FrazilReader
        return kind(_Request(state), schema)


class TaskGroup(InputPartition):
    """A partition: tasks or splits in serialized form, without credentials."""

    def __init__(self, contents: list[bytes]) -> None:
        """Keep the serialized form of one or more groups."""
        super().__init__(contents)


class FrazilReader(DataSourceReader):
    """A reader that plans the partitions on the driver and reads them in the executors."""

    def __init__(self, request: _Request, schema: StructType) -> None:
        """Check that the table has the columns of `schema`."""
        self._request = request
        self._schema = request.narrow(schema)

    @short_errors
    def partitions(self) -> list[InputPartition]:
        """Plan the read as groups of files of about equal size."""
        return [TaskGroup(contents) for contents in self._request.groups()]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a partition."""
        if not isinstance(partition, TaskGroup):
            return  # a plan without partitions: Spark 4.3 sends one without a value, earlier releases None
        from frazil.spark._type_conversion import Conversion
        from frazil.spark._write_audit import task_setting

        self._request.state.check_session(task_setting)
        schema, batches = self._request.state.read(partition.value, self._request.limit)
        conversion = Conversion(schema, self._schema)
        for batch in batches:
            for part in _parts(batch, self._request.state.asked.batch_rows):
                yield conversion.apply(part)


class PushingReader(FrazilReader):
    """A reader that accepts pushed filters, columns and limits from Spark, only with the option `pushdown`.

    Spark 4.1 to 4.3 store pushed filters with the relation, not with the query. If a DataFrame is filtered twice, in
    one query or in two, the second filter may get the files of the first, and rows are lost silently. Use this option
    only for a DataFrame that is used in a single query. The options `row-filter` and `columns`, and
    `frazil.spark.read`, skip as much data without this risk.
    """

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 - Spark's name
        """Skip files and rows that the filters exclude, and return all filters, because Spark applies them again.

        Values outside Python's range, such as dates after the year 9999, cannot be verified to compare identically.
        """
        self._request.push(filters)
        return filters

    def pruneColumns(self, requiredSchema: StructType) -> StructType:  # noqa: N802, N803 - Spark's names
        """Read only these columns, in Spark releases that request it."""
        # Rows without columns cannot be passed to Spark.
        schema = requiredSchema if len(requiredSchema) else type(requiredSchema)(self._schema.fields[:1])
        self._schema = self._request.narrow(schema)
        return self._schema

    def pushLimit(self, limit: int) -> bool:  # noqa: N802 - Spark's name
        """Limit the total number of rows, in Spark releases that request it."""
        return self._request.limit_rows(limit)


class _Request:
    """The read requested so far: the options, and everything that Spark has pushed down."""

    def __init__(self, state: ReadState) -> None:
        asked = state.asked
        self.state = state
        self.limit = asked.limit
        self._columns: tuple[str, ...] = asked.columns
        self._filters = [asked.row_filter] if asked.row_filter else []

    def spark_schema(self) -> StructType:
        """Return the schema of all columns selected by the options, and check the filter."""
        from frazil.spark._char import with_lengths
        from frazil.spark._type_conversion import spark_schema

        asked = self.state.asked
        schema = spark_schema(self.state.scan(asked.columns, asked.row_filter).schema(), asked.timestamp_ns)
        return with_lengths(schema, self.state.char_lengths())

    def narrow(self, schema: StructType) -> StructType:
        """Read only the columns of `schema`, and return it."""
        from frazil.spark._type_conversion import check_schema, spark_schema

        asked = self.state.asked
        names = [field.name for field in schema]
        offered = self.state.scan(asked.columns).schema()
        if set(names) < set(offered.names) and set(asked.columns) <= {"*", *offered.names}:
            self._columns = tuple(names)
            offered = self.state.scan(self._columns).schema()
        elif not set(names) <= set(offered.names):
            # A schema may contain metadata columns that no option selected.
            self._columns = tuple(names)
            offered = self.state.scan(self._columns).schema()
        check_schema(schema, spark_schema(offered, asked.timestamp_ns))
        return schema

    def push(self, filters: list[Filter]) -> None:
        """Keep the filters that fit the columns; Spark applies the others."""
        from frazil.spark._filters import column_of, sql

        if self.limit is not None:
            return  # A filter pushed after a limit applies to the limited rows, so it cannot be used for skipping.
        plain = self._plain_columns()
        for text in (sql(pushed) for pushed in filters if column_of(pushed) in plain):
            if text is not None:
                with contextlib.suppress(InvalidArgumentError):
                    self.state.scan((), text)
                    self._filters.append(text)

    def limit_rows(self, limit: int) -> bool:
        """Limit the number of rows, and return whether the limit is exact."""
        if limit > ONE_PARTITION_ROWS:
            return False
        self.limit = limit if self.limit is None else min(self.limit, limit)
        return True

    def groups(self) -> list[list[bytes]]:
        """Plan the read and return its partitions in serialized form."""
        text = " and ".join(f"({text})" for text in self._filters)
        return self.state.groups(self._columns, text, self.limit)

    def _plain_columns(self) -> set[str]:
        """Return the columns whose values are the same in Spark and in the table."""
        from frazil.spark._type_conversion import is_plain

        names = {field.name for field in self.state.scan(("*",)).schema() if is_plain(field)}
        return names - self.state.char_lengths().keys()


def _state(options: dict[str, str]) -> ReadState:
    """Open the table given by options, at its current state or the one they select."""
    from frazil.spark._open import open_state
    from frazil.spark._writer import of_reads

    return open_state(read_options.parse(of_reads(options)))


def _parts(batch: pa.RecordBatch, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the batch in parts of at most `batch_rows` rows and about `BATCH_BYTES`."""
    count = max(1, -(-batch.nbytes // BATCH_BYTES))
    rows = max(1, -(-batch.num_rows // count))
    if batch_rows is not None:
        rows = min(rows, batch_rows)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


__all__ = ["FrazilDataSource", "FrazilReader", "PushingReader", "TaskGroup"]
