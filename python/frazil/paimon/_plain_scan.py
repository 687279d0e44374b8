"""Scans of folders without metadata: format tables and object tables."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from frazil import _native
from frazil._arguments import field_names, filter_text, flag, row_limit
from frazil._narrowing import Narrowing
from frazil._output import Rows
from frazil._read_ahead import read_parts
from frazil.config import config
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from frazil._arguments import RowFilter
    from frazil.paimon._schema import Schema

Part = TypeVar("Part")
"""A part that can be read independently: a file, or some rows."""


class PlainScan(Narrowing, Rows, Generic[Part]):
    """A read of some columns and rows. Rows are read on request."""

    def __init__(
        self,
        schema: Schema,
        row_filter: RowFilter,
        selected_fields: Sequence[str],
        *,
        case_sensitive: bool,
        limit: int | None,
    ) -> None:
        """Keep the arguments of the scan, and look up the selected columns by name.

        Raises:
            InvalidArgumentError: A column does not exist.
        """
        self._table_schema = schema
        self._filter = filter_text(row_filter)
        self._case_sensitive = flag("case_sensitive", case_sensitive)
        self._limit = row_limit(limit)
        self._arguments = {
            "row_filter": self._filter,
            "selected_fields": field_names(selected_fields),
            "case_sensitive": self._case_sensitive,
            "limit": self._limit,
        }
        self._columns = _bound(
            self._arguments["selected_fields"], schema.column_names, case_sensitive=self._case_sensitive
        )
        if self._filter:
            self._kept(_no_rows(schema.arrow()))

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows."""
        return self._table_schema.arrow(self._columns)

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as Arrow record batches; `config.max_workers` threads read files ahead."""
        import pyarrow as pa

        batches = read_parts(self._parts(), self._rows_of, workers=config.max_workers, limit=self._limit)
        return pa.RecordBatchReader.from_batches(self.schema(), batches)

    def count(self) -> int:
        """Count the rows by reading one column, or all columns if there is a filter."""
        batches = read_parts(self._parts(), self._counted, workers=config.max_workers, limit=self._limit)
        return sum(batch.num_rows for batch in batches)

    @property
    def row_filter(self) -> str:
        """The filter as SQL."""
        return self._filter

    @abstractmethod
    def _parts(self) -> Iterable[Part]: ...

    @abstractmethod
    def _read(self, part: Part, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Stream the given columns of a part, converted to the types of the schema."""

    def _rows_of(self, part: Part) -> Iterator[pa.RecordBatch]:
        schema = self.schema()
        for batch in self._filtered(part, self._columns):
            selected = batch.select(self._columns)
            # pyarrow cannot cast a NULL struct with a NOT NULL field, even to its own type.
            yield selected if selected.schema == schema else selected.cast(schema)

    def _counted(self, part: Part) -> Iterator[pa.RecordBatch]:
        return self._filtered(part, self._table_schema.column_names[:1])

    def _filtered(self, part: Part, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not self._filter:
            yield from self._read(part, names)
            return
        for batch in self._read(part, self._table_schema.column_names):
            yield self._kept(batch)

    def _kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that match the filter; the batch must have all columns of the table."""
        return filtered(batch, self._table_schema, self._filter, case_sensitive=self._case_sensitive)

    def __repr__(self) -> str:
        """Return a representation with the filter."""
        return f"<frazil.paimon.{type(self).__name__} where {self._filter or 'true'}>"


def filtered(batch: pa.RecordBatch, schema: Schema, row_filter: str, *, case_sensitive: bool) -> pa.RecordBatch:
    """Return the rows that match a filter.

    Raises:
        InvalidArgumentError: The filter does not fit the columns of the schema.
    """
    return _native.filter_batch(json.dumps(schema.to_json()), row_filter, batch, case_sensitive=case_sensitive)


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([], column.type) for column in schema], schema=schema)


def _bound(names: list[str], known: list[str], *, case_sensitive: bool) -> list[str]:
    found: list[str] = []
    for name in names:
        matches = known if name == "*" else [column for column in known if _same(column, name, case_sensitive)]
        if not matches or (name != "*" and len(matches) > 1):
            message = f"the table has {'no' if not matches else 'more than one'} column {name!r}"
            raise InvalidArgumentError(message, context={"column": name}, hint=f"the columns are {', '.join(known)}")
        found += [column for column in matches if column not in found]
    return found


def _same(column: str, name: str, case_sensitive: bool) -> bool:  # noqa: FBT001
    return column == name or (not case_sensitive and column.lower() == name.lower())
