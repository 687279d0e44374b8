"""Rows given to an operation by a user: written into new files, or held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa

from frazil import _native
from frazil.errors import CommitConflictError
from frazil.files.rows.batches import source_parts
from frazil.files.rows.places import TypeNames
from frazil.iceberg._scan import Scan
from frazil.iceberg._type_name import type_name
from frazil.iceberg._write import write_rows

if TYPE_CHECKING:
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.values import NewFiles

__all__ = ["NOTHING", "ArrowInput", "RowInput", "Source", "SourceInput", "Written", "WrittenRows"]


class Written(Protocol):
    """The files written by a change."""

    def abort(self) -> None:
        """Delete the files. A file that cannot be deleted is left as an orphan file, without an error."""


class RowInput(Protocol):
    """Rows that an operation writes into data files."""

    def write(self, state: TableState) -> WrittenRows:
        """Write the rows into new data files."""


class SourceInput(Protocol):
    """Rows that an operation compares with the rows of a table."""

    def hold(self, state: TableState, *, exact: bool) -> Source:
        """Read all rows into memory; see `Source`."""


class Nothing:
    """The prepared input of operations without rows."""

    def fit(self, state: TableState) -> Self:  # noqa: ARG002 - as of `Ready`
        """Return self, because there is nothing to fit."""
        return self

    def abort(self) -> None:
        """Do nothing, because no files were written."""


NOTHING = Nothing()


class WrittenRows:
    """Rows in new data files of one partition spec, which no snapshot references yet."""

    def __init__(self, files: NewFiles, written: Written, state: TableState, source: ArrowInput | None = None) -> None:
        """Keep files that were written for `state`; `source` allows writing the rows again, None does not."""
        self.files = files
        self.spec_id = state.metadata.default_spec_id
        self.scan = source.scan if source is not None else None
        """The table scan that the rows come from, if any."""
        self._written, self._source = written, source

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.files.written()[1]

    def write(self, state: TableState) -> WrittenRows:  # noqa: ARG002 - as of `RowInput`
        """Return self, because the rows are already written."""
        return self

    def fit(self, state: TableState) -> WrittenRows:
        """Return the rows in the form that `state` requires; see `Ready.fit`."""
        try:
            self.files.check(state.native)
        except CommitConflictError:
            if self._source is None or not self._source.is_repeatable:
                raise
            self.abort()
            return self._source.write(state)
        return self

    def abort(self) -> None:
        """Delete the files."""
        self._written.abort()


class ArrowInput:
    """Rows from any Arrow-compatible object, record batches or dictionaries."""

    def __init__(self, data: Any) -> None:
        """Keep the user's data without reading it."""
        self._data = data
        self._held: list[pa.RecordBatch] | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether the rows can be read twice, which is not possible for a stream."""
        return hasattr(self._data, "__len__")

    @property
    def scan(self) -> Scan | None:
        """The table scan that the rows are read from, if any."""
        return self._data if isinstance(self._data, Scan) else None

    def write(self, state: TableState) -> WrittenRows:
        """Write the rows into new data files."""
        written = write_rows(state.native, state.properties, self._data)
        return WrittenRows(written.rows, written, state, self)

    def read(self, state: TableState) -> list[pa.RecordBatch]:
        """Read all rows into memory once; values without an Arrow type get the types of the columns in `state`."""
        if self._held is None:
            self._held = source_parts(self._data, state.arrow_schema(), TypeNames(type_name))
        return self._held

    def hold(self, state: TableState, *, exact: bool) -> Source:
        """Read all rows into memory."""
        return Source(state, self.read(state), exact=exact)


class Source(Nothing):
    """The source rows of a merge in memory, with the names and types of the table's columns, as `append` converts them.

    A column that `append` would reject keeps its own type, because expressions may use the column. If `exact` is set,
    such a column is an error.
    """

    def __init__(self, state: TableState, rows: list[pa.RecordBatch], *, exact: bool = False) -> None:
        """Convert rows to the column types of `state`."""
        self.batches = _native.source_batches(state.native, rows, exact=exact)

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""
        return self.batches[0].schema

    def __getstate__(self) -> bytes:
        """Return the rows as a serialized Arrow stream, for sending them to workers."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema) as stream:
            for batch in self.batches:
                stream.write_batch(batch)
        return bytes(sink.getvalue())

    def __setstate__(self, content: bytes) -> None:
        """Restore the rows from a serialized Arrow stream."""
        self.batches = list(pa.ipc.open_stream(content))
