"""Lazy data frames of tables in other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from frazil._extras import imported

if TYPE_CHECKING:
    from collections.abc import Iterator

    import daft
    import polars as pl


class Scannable(Protocol):
    """A table that can be read completely."""

    def scan(self) -> Any:
        """Return a scan of all rows."""


class Frames:
    """A table with conversions to lazy data frames."""

    def to_polars(self: Scannable) -> pl.LazyFrame:
        """Return the rows of the table, at the state of this handle, as a Polars LazyFrame.

        `collect` reads only the columns and the number of rows that the query needs. Filters of the query are applied
        to the rows after reading; `scan(row_filter).to_polars()` returns a DataFrame and skips files.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
        >>> table.to_polars().select("k").head(1).collect().shape
        (1, 1)
        """
        polars = imported("polars", "to_polars")
        scan = self.scan()

        def rows(
            columns: list[str] | None, predicate: pl.Expr | None, row_count: int | None, _batch_rows: int | None
        ) -> Iterator[pl.DataFrame]:
            chosen = scan if columns is None else scan.select(*columns)
            if row_count is not None:
                chosen = chosen._with(limit=row_count)  # noqa: SLF001 - of the same package
            for batch in chosen.to_arrow_batch_reader():
                frame = polars.from_arrow(batch)
                frame = frame if columns is None else frame.select(columns)
                yield frame if predicate is None else frame.filter(predicate)

        schema = polars.from_arrow(scan.schema().empty_table()).schema
        frame: pl.LazyFrame = polars.io.plugins.register_io_source(rows, schema=schema)
        return frame

    def to_daft(self: Scannable) -> daft.DataFrame:
        """Return the rows of the table, at the state of this handle, as a lazy Daft DataFrame.

        Daft reads only the columns and the number of rows that a query needs, in the process that runs the query.
        Filters of the query are applied to the rows after reading.

        Raises:
            UnsupportedError: Daft is not installed.
        """
        from frazil._daft import daft_frame

        return daft_frame(self.scan())
