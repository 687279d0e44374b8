"""Rows that a user gives to an operation: written into new files, or held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa

from frazil import _native
from frazil.errors import CommitConflictError
from frazil.files.rows.batches import batches, no_rows
from frazil.files.rows.python_values import TypeNames
from frazil.iceberg._scan import Scan
from frazil.iceberg._type_name import type_name
from frazil.iceberg._write import write_rows

if TYPE_CHECKING:
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.values import NewFiles

__all__ = ["NOTHING", "ArrowInput", "RowInput", "Source", "SourceInput", "Written", "WrittenRows"]


class Written(Protocol):
    """Files that a change wrote."""

    def abort(self) -> None:
        """Delete them. A file that cannot be deleted is an orphan, and not an error."""


class RowInput(Protocol):
    """Rows that become data files."""

    def write(self, state: TableState) -> WrittenRows:
        """Write the rows into new data files."""


class SourceInput(Protocol):
    """Rows that are compared with those of a table."""

    def hold(self, state: TableState, *, exact: bool) -> Source:
        """Read all rows into memory; see `Source`."""


class Nothing:
    """What operations without rows have prepared."""

    def fit(self, state: TableState) -> Self:  # noqa: ARG002 - as of `Ready`
        """Return this: it fits every state."""
        return self

    def abort(self) -> None:
        """Delete nothing."""


NOTHING = Nothing()


class WrittenRows:
    """Rows in new data files of one partition spec, which no snapshot has yet."""

    def __init__(self, files: NewFiles, written: Written, state: TableState, source: ArrowInput | None = None) -> None:
        """Take files that were written for `state`; with `source`, they can be written again."""
        self.files = files
        self.spec_id = state.metadata.default_spec_id
        self.scan = source.scan if source is not None else None
        """The scan of a table that gave the rows, if one did."""
        self._written, self._source = written, source

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.files.written()[1]

    def write(self, state: TableState) -> WrittenRows:  # noqa: ARG002 - as of `RowInput`
        """Return this: it is written already."""
        return self

    def fit(self, state: TableState) -> WrittenRows:
        """Return the rows as `state` takes them; see `Ready.fit`."""
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
    """Rows of anything that gives Arrow, record batches, or dictionaries."""

    def __init__(self, data: Any) -> None:
        """Take what a user gives; nothing is read yet."""
        self._data = data
        self._held: list[pa.RecordBatch] | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether the rows can be read twice, which a stream does not allow."""
        return hasattr(self._data, "__len__")

    @property
    def scan(self) -> Scan | None:
        """The scan of a table that the rows are read by, if there is one."""
        return self._data if isinstance(self._data, Scan) else None

    def write(self, state: TableState) -> WrittenRows:
        """Write the rows into new data files."""
        written = write_rows(state.native, state.properties, self._data)
        return WrittenRows(written.rows, written, state, self)

    def read(self, state: TableState) -> list[pa.RecordBatch]:
        """Read all rows into memory, once; values without an Arrow type become those of `state`."""
        if self._held is None:
            schema = state.arrow_schema()
            parts = list(batches(self._data, schema, TypeNames(type_name), source=True))
            filled = [part for part in parts if part.num_rows]
            # Parts without rows may lack the columns of the others: an empty list has no columns.
            self._held = filled or [part for part in parts if part.num_columns][:1] or [no_rows(schema)]
        return self._held

    def hold(self, state: TableState, *, exact: bool) -> Source:
        """Read all rows into memory."""
        return Source(state, self.read(state), exact=exact)


class Source(Nothing):
    """The rows of a merge in memory, in the types of the table's columns with their names, as `append` converts them.

    A column that `append` would reject keeps its type, because expressions may read it. If `exact`, it is an error.
    """

    def __init__(self, state: TableState, rows: list[pa.RecordBatch], *, exact: bool = False) -> None:
        """Convert rows to the types of `state`."""
        self.batches = _native.source_batches(state.native, rows, exact=exact)

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""
        return self.batches[0].schema

    def __getstate__(self) -> bytes:
        """Return the rows as an Arrow stream, for workers."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema) as stream:
            for batch in self.batches:
                stream.write_batch(batch)
        return bytes(sink.getvalue())

    def __setstate__(self, content: bytes) -> None:
        """Read the rows."""
        self.batches = list(pa.ipc.open_stream(content))
