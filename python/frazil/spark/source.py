"""The data source `frazil` of PySpark: tables by `spark.read.format("frazil").load(path)`.

Spark runs the constructor and `schema`, then `reader` and `partitions`, each in a Python process of its own on the
driver's host, then `read` in the executors; the objects travel between them as pickles. So the constructor notes which
metadata file is the table's newest, and everything after it reads that file: schema and rows belong to one state, and
a DataFrame gives the same rows however often it is run.

A partition is the wire form of a group of tasks and holds no secret. Options such as `s3.secret-access-key` reach the
executors inside the pickled reader, and Spark may show options in its plans: better leave the credentials to the
environment of driver and executors.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from frazil.errors import InvalidArgument
from frazil.spark import options as read_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from frazil.iceberg import Scan, Table
    from frazil.spark.options import ReadOptions

SPLIT_BYTES = 128 << 20
"""How many bytes of files a partition reads where neither option nor table says it."""

OPEN_COST_BYTES = 4 << 20
"""What a file counts at least where neither option nor table says it."""

BATCH_BYTES = 16 << 20
"""A batch above this is handed to Spark in parts, to bound the memory that both sides hold."""

ONE_PARTITION_ROWS = 1 << 20
"""Up to so many rows a pushed limit is kept exactly, by reading in one partition."""

_EVERYTHING_BYTES = (1 << 63) - 1


class FrazilDataSource(DataSource):
    """Tables as a data source of Spark; see `frazil.spark.options` for the options.

    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> spark.read.format("frazil").option("tag", "q1").load("/path/of/table")  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        """Give the name for `format` and `USING`."""
        return "frazil"

    def __init__(self, options: dict[str, str]) -> None:
        """Check the options, open the table and pin its state.

        Raises:
            InvalidArgument: An option that is unknown, has no meaning, or contradicts another one.
            NoSuchTable: There is no table.
        """
        super().__init__(options)
        self._asked = read_options.parse(options)
        self._metadata_file = _open(self._asked.path, self._asked).metadata_location

    def schema(self) -> StructType:
        """Give the schema of the rows.

        Raises:
            Unsupported: Spark lacks the type of a column, which the error names.
        """
        return _Request(self._metadata_file, self._asked).spark_schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Give the reader of the columns in `schema`."""
        kind = PushingReader if self._asked.pushdown else FrazilReader
        return kind(_Request(self._metadata_file, self._asked), schema)


class TaskGroup(InputPartition):
    """A partition: tasks in their wire form, which holds no credentials."""

    def __init__(self, content: bytes) -> None:
        """Keep the bytes."""
        super().__init__(content)


class FrazilReader(DataSourceReader):
    """Plans the partitions on the driver and reads them in the executors."""

    def __init__(self, request: _Request, schema: StructType) -> None:
        """Check that the table has the columns of `schema`."""
        self._request = request
        self._schema = request.narrow(schema)
        self._asked = request.asked

    def partitions(self) -> list[InputPartition]:
        """Plan the read: groups of files of about equal size."""
        return [TaskGroup(content) for content in self._request.groups()]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a partition."""
        if not isinstance(partition, TaskGroup):
            return  # a plan without partitions: Spark 4.3 sends one without a value, earlier releases None
        from frazil import _native
        from frazil.iceberg.read import read_tasks
        from frazil.spark.types import Conversion

        files = _native.Files("/", [], [], self._asked.properties)
        tasks = _native.FileScanTask.from_bytes(partition.value, files)
        if not tasks:
            return
        conversion = Conversion(tasks[0].schema(), self._schema)
        # One thread: Spark gives a task one core.
        for batch in read_tasks(tasks, workers=1, limit=self._request.limit):
            for part in _parts(batch, self._asked.batch_rows):
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
    """What a reader was asked for so far: the options, and what Spark pushed since. Pickles without the open table."""

    def __init__(self, metadata_file: str, asked: ReadOptions) -> None:
        self.asked = asked
        self.limit = asked.limit
        self._metadata_file = metadata_file
        self._columns: tuple[str, ...] = asked.columns
        self._filters = [asked.row_filter] if asked.row_filter else []
        self._table: Table | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    def spark_schema(self) -> StructType:
        """Give the schema of all columns that the options name, and check the filter."""
        from frazil.spark.types import spark_schema

        scan = self._scan(self.asked.columns, self.asked.row_filter)
        return spark_schema(scan.schema(), self.asked.timestamp_ns)

    def narrow(self, schema: StructType) -> StructType:
        """Read only the columns of `schema`, and give it back."""
        from frazil.spark.types import check_schema, spark_schema

        names = [field.name for field in schema]
        offered = self._scan(self.asked.columns).schema()
        if set(names) < set(offered.names) and set(self.asked.columns) <= {"*", *offered.names}:
            self._columns = tuple(names)
            offered = self._scan(self._columns).schema()
        elif not set(names) <= set(offered.names):
            # A schema may name what no option did: metadata columns.
            self._columns = tuple(names)
            offered = self._scan(self._columns).schema()
        check_schema(schema, spark_schema(offered, self.asked.timestamp_ns))
        return schema

    def push(self, filters: list[Filter]) -> None:
        """Keep the filters that fit the columns; Spark applies the others."""
        from frazil.spark.filters import column_of, sql

        if self.limit is not None:
            return  # the filter is meant for the rows that the limit leaves
        plain = self._plain_columns()
        for text in (sql(pushed) for pushed in filters if column_of(pushed) in plain):
            if text is not None:
                with contextlib.suppress(InvalidArgument):
                    self._scan((), text)
                    self._filters.append(text)

    def limit_rows(self, limit: int) -> bool:
        """Read at most so many rows; whether that is done exactly."""
        if limit > ONE_PARTITION_ROWS:
            return False
        self.limit = limit if self.limit is None else min(self.limit, limit)
        return True

    def groups(self) -> list[bytes]:
        """Plan, and give the partitions as wire forms."""
        text = " and ".join(f"({text})" for text in self._filters)
        scan = self._scan(self._columns, text, self.limit)
        split, cost = self._sizes()
        plan = scan.plan()._native  # noqa: SLF001 - one package
        groups: list[bytes] = plan.groups(_EVERYTHING_BYTES if self.limit is not None else split, cost)
        return groups

    def _sizes(self) -> tuple[int, int]:
        properties = self._opened().properties
        split = self.asked.split_bytes or _property(properties, "read.split.target-size", SPLIT_BYTES)
        cost = self.asked.open_cost_bytes
        return split, _property(properties, "read.split.open-file-cost", OPEN_COST_BYTES) if cost is None else cost

    def _plain_columns(self) -> set[str]:
        """Give the columns that are the same in Spark and in the table."""
        from frazil.spark.types import is_plain

        return {field.name for field in self._scan(("*",)).schema() if is_plain(field)}

    def _scan(self, columns: tuple[str, ...], row_filter: str = "", limit: int | None = None) -> Scan:
        asked = self.asked
        common: dict[str, Any] = {"case_sensitive": asked.case_sensitive, "limit": limit}
        if asked.append is not None:
            start, end = asked.append
            common |= {"from_snapshot_id_exclusive": start, "to_snapshot_id_inclusive": end}
            return self._opened().incremental_append_scan(row_filter or True, columns, **common)
        if asked.snapshot is not None:
            kind, value = asked.snapshot
            common[{"id": "snapshot_id"}.get(kind, kind)] = value
        return self._opened().scan(row_filter or True, columns, **common)

    def _opened(self) -> Table:
        if self._table is None:
            self._table = _open(self._metadata_file, self.asked)
        return self._table


def _open(location: str, asked: ReadOptions) -> Table:
    from frazil.table import load_table

    return load_table(location, format="iceberg", relocate=asked.relocate, properties=asked.properties)


def _property(properties: dict[str, str], name: str, default: int) -> int:
    text = properties.get(name, "")
    return int(text) if text.isdecimal() and int(text) > 0 else default


def _parts(batch: pa.RecordBatch, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
    """Give the batch in parts of at most `batch_rows` rows and about `BATCH_BYTES`."""
    count = max(1, -(-batch.nbytes // BATCH_BYTES))
    rows = max(1, -(-batch.num_rows // count))
    if batch_rows is not None:
        rows = min(rows, batch_rows)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


__all__ = ["FrazilDataSource", "FrazilReader", "PushingReader", "TaskGroup"]
