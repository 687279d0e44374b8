"""The data source `frazil` of PySpark: tables by `spark.read.format("frazil").load(path)`.

Spark runs the constructor and `schema`, then `reader` and `partitions`, each in a Python process of its own on the
driver's host, then `read` in the executors; the objects travel between them as pickles. So the constructor notes which
state the table has, and everything after it reads that: schema and rows belong to one state, and a DataFrame gives the
same rows however often it is run.

A partition is the wire form of a group of tasks or splits and holds no secret. Options such as `s3.secret-access-key`
reach the executors inside the pickled reader, and Spark may show options in its plans: better leave the credentials to
the environment of driver and executors.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark import _catalog_table as catalog_table
from frazil.spark import _options as read_options
from frazil.spark._version import check_spark

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from frazil.spark._state import ReadState

BATCH_BYTES = 16 << 20
"""A batch above this is handed to Spark in parts, to bound the memory that both sides hold."""

ONE_PARTITION_ROWS = 1 << 20
"""Up to so many rows a pushed limit is kept exactly, by reading in one partition."""


class FrazilDataSource(DataSource):
    """Tables as a data source of Spark; see `frazil.spark.options` for the options of all formats.

    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> spark.read.format("frazil").option("tag", "q1").load("/path/of/table")  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        """Give the name for `format` and `USING`."""
        return "frazil"

    def __init__(self, options: dict[str, str]) -> None:
        """Check the options, open the table and pin its state; a table of Spark's catalog comes with the schema.

        Raises:
            InvalidArgumentError: An option that is unknown, has no meaning, or contradicts another one.
            NoSuchTableError: There is no table.
            NoSuchSnapshotError: The table does not have the state that the options choose.
            UnsupportedError: A release of Spark before 4.1.
        """
        check_spark()
        super().__init__(options)
        self._given, self._is_created = catalog_table.options_of(options)
        self._state = _state(self._given) if self._given else None

    def schema(self) -> StructType:
        """Give the schema of the rows.

        Raises:
            InvalidArgumentError: Without options.
            UnsupportedError: Spark lacks the type of a column, which the error names.
        """
        schema = _Request(self._state or _state({})).spark_schema()
        return catalog_table.keep(schema, self._given) if self._is_created else schema

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - Spark's signature
        """Give the writer of rows with this schema.

        Raises:
            InvalidArgumentError: An option that is unknown or has no meaning, or a column that does not fit the table.
            UnsupportedError: An INSERT into a table of Spark's catalog.
        """
        from frazil.spark._writer import FrazilWriter

        if not self._given:
            # The schema is that of the rows, with what other tables keep in their columns.
            message = (
                "the table is not named: Spark tells no data source of Python which of its catalog's tables is written"
            )
            hint = "INSERT into a temporary view, CREATE TEMPORARY VIEW … USING frazil OPTIONS (path '…')"
            raise UnsupportedError(message, hint=f"{hint}, or use `frazil.spark.write`")
        made: DataSourceWriter = FrazilWriter(self._given, schema, overwrite=overwrite)
        return made

    def reader(self, schema: StructType) -> DataSourceReader:
        """Give the reader of the columns in `schema`; without options they are of a table of Spark's catalog."""
        state = self._state or _state(catalog_table.kept(schema))
        kind = PushingReader if state.asked.pushdown else FrazilReader
        return kind(_Request(state), schema)


class TaskGroup(InputPartition):
    """A partition: tasks or splits in their wire form, which holds no credentials."""

    def __init__(self, contents: list[bytes]) -> None:
        """Keep the bytes of one group or more."""
        super().__init__(contents)


class FrazilReader(DataSourceReader):
    """Plans the partitions on the driver and reads them in the executors."""

    def __init__(self, request: _Request, schema: StructType) -> None:
        """Check that the table has the columns of `schema`."""
        self._request = request
        self._schema = request.narrow(schema)

    def partitions(self) -> list[InputPartition]:
        """Plan the read: groups of files of about equal size."""
        return [TaskGroup(contents) for contents in self._request.groups()]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a partition."""
        if not isinstance(partition, TaskGroup):
            return  # a plan without partitions: Spark 4.3 sends one without a value, earlier releases None
        from frazil.spark._types import Conversion

        schema, batches = self._request.state.read(partition.value, self._request.limit)
        conversion = Conversion(schema, self._schema)
        for batch in batches:
            for part in _parts(batch, self._request.state.asked.batch_rows):
                yield conversion.apply(part)


class PushingReader(FrazilReader):
    """A reader that lets Spark push filters, columns and limits into it; by the option `pushdown` only.

    Spark 4.1 to 4.3 keep the pushed filters with the relation, not with the query: where a DataFrame is filtered twice,
    in two queries or in one, the second may be given the files of the first, and rows are lost in silence. So this is
    for a DataFrame that serves one query. The options `row-filter` and `columns`, and `frazil.spark.read`, leave out as
    much without that danger.
    """

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 - Spark's name
        """Leave out files and rows that the filters exclude, and give all filters back: Spark applies them again.

        Values beyond what Python holds, such as dates after the year 9999, cannot be shown to compare alike from here.
        """
        self._request.push(filters)
        return filters

    def pruneColumns(self, requiredSchema: StructType) -> StructType:  # noqa: N802, N803 - Spark's names
        """Read only these columns; for releases of Spark that ask."""
        # Rows without columns cannot be handed over.
        schema = requiredSchema if len(requiredSchema) else type(requiredSchema)(self._schema.fields[:1])
        self._schema = self._request.narrow(schema)
        return self._schema

    def pushLimit(self, limit: int) -> bool:  # noqa: N802 - Spark's name
        """Read at most so many rows in all; for releases of Spark that ask."""
        return self._request.limit_rows(limit)


class _Request:
    """What a reader was asked for so far: the options, and what Spark pushed since."""

    def __init__(self, state: ReadState) -> None:
        asked = state.asked
        self.state = state
        self.limit = asked.limit
        self._columns: tuple[str, ...] = asked.columns
        self._filters = [asked.row_filter] if asked.row_filter else []

    def spark_schema(self) -> StructType:
        """Give the schema of all columns that the options name, and check the filter."""
        from frazil.spark._types import spark_schema

        asked = self.state.asked
        return spark_schema(self.state.scan(asked.columns, asked.row_filter).schema(), asked.timestamp_ns)

    def narrow(self, schema: StructType) -> StructType:
        """Read only the columns of `schema`, and give it back."""
        from frazil.spark._types import check_schema, spark_schema

        asked = self.state.asked
        names = [field.name for field in schema]
        offered = self.state.scan(asked.columns).schema()
        if set(names) < set(offered.names) and set(asked.columns) <= {"*", *offered.names}:
            self._columns = tuple(names)
            offered = self.state.scan(self._columns).schema()
        elif not set(names) <= set(offered.names):
            # A schema may name what no option did: metadata columns.
            self._columns = tuple(names)
            offered = self.state.scan(self._columns).schema()
        check_schema(schema, spark_schema(offered, asked.timestamp_ns))
        return schema

    def push(self, filters: list[Filter]) -> None:
        """Keep the filters that fit the columns; Spark applies the others."""
        from frazil.spark._filters import column_of, sql

        if self.limit is not None:
            return  # the filter is meant for the rows that the limit leaves
        plain = self._plain_columns()
        for text in (sql(pushed) for pushed in filters if column_of(pushed) in plain):
            if text is not None:
                with contextlib.suppress(InvalidArgumentError):
                    self.state.scan((), text)
                    self._filters.append(text)

    def limit_rows(self, limit: int) -> bool:
        """Read at most so many rows; whether that is done exactly."""
        if limit > ONE_PARTITION_ROWS:
            return False
        self.limit = limit if self.limit is None else min(self.limit, limit)
        return True

    def groups(self) -> list[list[bytes]]:
        """Plan, and give the partitions as wire forms."""
        text = " and ".join(f"({text})" for text in self._filters)
        return self.state.groups(self._columns, text, self.limit)

    def _plain_columns(self) -> set[str]:
        """Give the columns that are the same in Spark and in the table."""
        from frazil.spark._types import is_plain

        return {field.name for field in self.state.scan(("*",)).schema() if is_plain(field)}


def _state(options: dict[str, str]) -> ReadState:
    """Open the table that options name, as it is now or as they say."""
    from frazil.spark._open import open_state
    from frazil.spark._writer import of_reads

    return open_state(read_options.parse(of_reads(options)))


def _parts(batch: pa.RecordBatch, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Give the batch in parts of at most `batch_rows` rows and about `BATCH_BYTES`."""
    count = max(1, -(-batch.nbytes // BATCH_BYTES))
    rows = max(1, -(-batch.num_rows // count))
    if batch_rows is not None:
        rows = min(rows, batch_rows)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


__all__ = ["FrazilDataSource", "FrazilReader", "PushingReader", "TaskGroup"]
