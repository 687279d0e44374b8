"""Virtual tables: read-only tables whose rows are computed, such as metadata tables and system tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from frazil import _native
from frazil import _scan as scan
from frazil._arguments import field_names, filter_text, flag, row_limit
from frazil._boundary import operation_of
from frazil._frames import Frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    import pyarrow as pa

    from frazil._arguments import RowFilter

__all__ = ["ReadOptions", "VirtualPlan", "VirtualScan", "VirtualTable", "split_metadata_table"]


class ReadOptions(TypedDict, total=False):
    """The options for reading a virtual table: the arguments of `VirtualTable.scan`."""

    row_filter: RowFilter
    selected_fields: Sequence[str]
    case_sensitive: bool
    limit: int | None


def split_metadata_table(location: str) -> tuple[str, str | None]:
    """Split the location of a metadata table, such as `/lake/t$files`, at the last `$`; None without a `$`.

    >>> split_metadata_table("s3://lake/t$files"), split_metadata_table("/lake/a$b/t"), split_metadata_table("$files")
    (('s3://lake/t', 'files'), ('/lake/a$b/t', None), ('$files', None))
    """
    table, dollar, name = location.rstrip("/").rpartition("$")
    is_split = dollar and name and "/" not in name and table.rpartition("/")[2]
    return (table, name) if is_split else (location, None)


class VirtualTable(Frames):
    """A read-only table whose rows are computed. It shows the table state at which it was opened."""

    def __init__(self, native: _native.VirtualTable, name: str, place: str) -> None:
        """Not for direct use; open virtual tables with `table.inspect`."""
        self._native = native
        self._place = place
        self.name = name

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return self._native.schema()

    def scan(
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as the scans of tables have it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        limit: int | None = None,
    ) -> scan.Scan[Any, Any]:
        """Define a read; no data is read until rows are requested.

        Args:
            row_filter: An SQL expression such as `record_count > 10 and partition.day = '2024-01-31'`; True for all
                rows.
            selected_fields: Column names; `*` selects all columns.
            case_sensitive: Whether column names are case-sensitive.
            limit: The maximum number of rows.

        Raises:
            InvalidArgumentError: A column, literal or option is invalid.
        """
        arguments = {
            "row_filter": filter_text(row_filter),
            "selected_fields": field_names(selected_fields),
            "case_sensitive": flag("case_sensitive", case_sensitive),
            "limit": row_limit(limit),
        }
        return VirtualScan(self._native, arguments, self._place)

    def __repr__(self) -> str:
        """Return a representation with the name, the table and the columns."""
        return f"<frazil.VirtualTable {self.name!r} of {self._place!r}: {', '.join(self.schema().names)}>"


class VirtualPlan(scan.Plan[_native.VirtualPlan]):
    """The parts of a read of a virtual table."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the parts, one row per part, with its serialized form."""
        import pyarrow as pa

        parts = pa.table({"part": pa.array([self._native.part(i) for i in range(len(self))], pa.binary())})
        return parts.to_reader()

    def explain(self) -> str:
        """Return a one-line summary with the number of parts to read."""
        return f"{len(self)} parts"


class VirtualScan(scan.Scan[_native.VirtualPlan, bytes]):
    """A read of a virtual table. Rows are read on request; several threads read parts ahead."""

    def __init__(self, table: _native.VirtualTable, arguments: dict[str, Any], place: str) -> None:
        """Not for direct use; create scans with `VirtualTable.scan`."""
        self._virtual = _bound(table, arguments)
        super().__init__(self._virtual, arguments["limit"])
        self._table = table
        self._arguments = arguments
        self._location = place

    def plan(self) -> VirtualPlan:
        """Plan the parts to read."""
        return VirtualPlan(self._plan())

    def _place(self) -> str:
        return self._location

    @operation_of
    def count(self) -> int:
        """Count the rows, decoding only the columns of the filter."""
        scan = self._with(selected_fields=[])
        return sum(batch.num_rows for batch in scan.to_arrow_batch_reader())

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, self._arguments | arguments, self._location)

    def _without_columns(self) -> _native.VirtualScan:
        return _bound(self._table, self._arguments | {"selected_fields": []})

    def _part(self, plan: _native.VirtualPlan, index: int) -> bytes:
        return plan.part(index)

    def _read(self, part: bytes) -> Iterator[pa.RecordBatch]:
        return self.read(part)

    def read(self, part: bytes) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a part returned by `plan().groups(...)`, possibly in another process."""
        file = self._virtual.file(part)
        if file is not None:
            yield from self._read_file(part, *file)
            return
        batches = self._virtual.read(part)
        while (batch := batches.next_batch()) is not None:
            yield batch

    def _read_file(self, part: bytes, files: _native.Files, path: str, file_format: str) -> Iterator[pa.RecordBatch]:
        from frazil.files.read.open import open_data_file

        with open_data_file(files, path, file_format, int96_unit="us") as data:
            opened = self._virtual.open(part, data.schema)
            for _, batch, count in data.batches(opened.wanted, None):
                rows = opened.rows(batch, count)
                if rows is not None:
                    yield rows

    def __repr__(self) -> str:
        """Return a representation with the columns and the filter."""
        return f"<frazil.VirtualScan of {', '.join(self.schema().names)} where {self.row_filter}>"


def _bound(table: _native.VirtualTable, arguments: dict[str, Any]) -> _native.VirtualScan:
    return table.scan(arguments["row_filter"], arguments["selected_fields"], arguments["case_sensitive"])
