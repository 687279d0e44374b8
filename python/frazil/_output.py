"""Conversion of rows to Arrow batches and to the types of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from frazil._arguments import text
from frazil._extras import imported
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Batches(ABC):
    """Columns that are produced in batches.

    Any library that supports the Arrow PyCapsule interface can read them: `pyarrow.table(x)`, `polars.DataFrame(x)`.
    """

    @abstractmethod
    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as Arrow record batches."""

    def to_arrow(self) -> pa.Table:
        """Return all rows as a `pyarrow.Table`."""
        return self.to_arrow_batch_reader().read_all()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows through the Arrow PyCapsule interface."""
        return self.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)


class Rows(Batches):
    """The rows of a table, with conversions to pandas, Polars and DuckDB."""

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Return all rows as a pandas DataFrame; `options` are passed to `pyarrow.Table.to_pandas`."""
        imported("pandas", "to_pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas(**options)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a Polars DataFrame."""
        polars = imported("polars", "to_polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def to_duckdb(
        self, table_name: str, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Register all rows as a view in a DuckDB connection, by default a new in-memory connection."""
        duckdb = imported("duckdb", "to_duckdb")
        text("table_name", table_name)
        if connection is not None and not isinstance(connection, duckdb.DuckDBPyConnection):
            message = f"connection must be a DuckDB connection, not {type(connection).__name__}"
            raise InvalidArgumentError(message)
        connection = connection or duckdb.connect()
        connection.register(table_name, self.to_arrow())
        return connection
