"""Tables as data sources of Daft, which reads them lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._extras import imported

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import daft
    from daft.io.source import DataSourceTask
    from daft.recordbatch import RecordBatch


def daft_frame(scan: Any) -> daft.DataFrame:
    """Return the rows of a scan as a Daft DataFrame. Daft requests columns and a number of rows, and filters the rows.

    Raises:
        UnsupportedError: Daft is not installed.
    """
    schemas = imported("daft", "to_daft").Schema
    source, batches = imported("daft.io.source", "to_daft"), imported("daft.recordbatch", "to_daft").RecordBatch

    class ScanTask(source.DataSourceTask):  # type: ignore[misc, name-defined]
        """The execution of a scan."""

        def __init__(self, scan: Any) -> None:
            self._scan = scan

        @property
        def schema(self) -> daft.Schema:
            return schemas.from_pyarrow_schema(self._scan.schema())

        async def read(self) -> AsyncIterator[RecordBatch]:
            for batch in self._scan.to_arrow_batch_reader():
                yield batches.from_arrow_record_batches([batch], batch.schema)

    class ScanSource(source.DataSource):  # type: ignore[misc, name-defined]
        """A scan as a data source with one task."""

        @property
        def name(self) -> str:
            return "frazil"

        @property
        def schema(self) -> daft.Schema:
            return schemas.from_pyarrow_schema(scan.schema())

        async def get_tasks(self, pushdowns: Any) -> AsyncIterator[DataSourceTask]:
            chosen = scan
            if pushdowns.columns is not None:
                # Daft filters the rows by columns that it may not request.
                names = [*pushdowns.columns, *sorted(pushdowns.filter_required_column_names())]
                chosen = chosen.select(*dict.fromkeys(names))
            if pushdowns.limit is not None and pushdowns.filters is None:
                chosen = chosen._with(limit=pushdowns.limit)  # noqa: SLF001 - of the same package
            yield ScanTask(chosen)

    frame: daft.DataFrame = ScanSource().read()
    return frame
