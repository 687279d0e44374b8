"""The state of an Iceberg table that operations plan on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import table_files
from frazil._opened import storage_of
from frazil.iceberg._scan import Scan
from frazil.iceberg._table_metadata import TableMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from frazil._arguments import SnapshotChoice

__all__ = ["TableState", "folder_of"]


class TableState:
    """An immutable table state. A pickle holds its metadata file, or the metadata itself if there is no such file."""

    __slots__ = ("is_staged", "metadata", "native", "options")

    def __init__(self, native: _native.Table, options: Mapping[str, Any], *, is_staged: bool = False) -> None:
        """Keep a state and the open options; `is_staged` marks the uncommitted state of a transaction."""
        self.native = native
        self.options = options
        self.is_staged = is_staged
        self.metadata = TableMetadata(native)

    @property
    def files(self) -> _native.Files:
        """The files that the table may access."""
        return self.native.files

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the table."""
        return self.metadata.properties

    def scan(
        self,
        row_filter: str = "",
        selected_fields: Sequence[str] = ("*",),
        *,
        snapshot: SnapshotChoice | None = None,
        append: tuple[int | None, int | None] | None = None,
        limit: int | None = None,
        case_sensitive: bool = True,
    ) -> Scan:
        """Create a scan from checked arguments, which are those of `Table.scan`."""
        arguments = {
            "row_filter": row_filter,
            "selected_fields": selected_fields,
            "snapshot": snapshot,
            "append": append,
            "limit": limit,
            "case_sensitive": case_sensitive,
        }
        return Scan(self.native, arguments, is_staged=self.is_staged)

    def bind(
        self,
        row_filter: str,
        columns: Sequence[str],
        *,
        branch: str | None = None,
        case_sensitive: bool = True,
        metadata_columns: Sequence[str] = (),
    ) -> _native.Scan:
        """Bind a scan of a branch to this state; metadata columns are added at the end.

        Raises:
            NoSuchSnapshotError: The branch does not exist; the message lists the branches of the table.
        """
        return _native.Scan(
            self.native,
            row_filter=row_filter,
            selected_fields=columns,
            snapshot=None if branch is None else ("ref", branch),
            append=None,
            limit=None,
            case_sensitive=case_sensitive,
            metadata_columns=metadata_columns,
        )

    def arrow_schema(self) -> pa.Schema:
        """Return the Arrow schema of rows with all columns."""
        return self.bind("", ["*"]).schema()

    def lineage(self) -> list[str]:
        """Return the names of the row lineage columns in data files; empty if rows do not have ids."""
        return self.native.lineage_names()

    def for_workers(self) -> TableState:
        """Return this state in a form for worker processes: without the catalog, with currently valid credentials."""
        if "credentials" not in self.options:
            return self
        options = {key: value for key, value in self.options.items() if key != "credentials"}
        return TableState(self.native, options | {"storage": storage_of(self.options)}, is_staged=self.is_staged)

    def __reduce__(self) -> tuple[Any, ...]:
        staged = self.native.to_json() if self.is_staged else None
        return _restored, (self.native.metadata_location, self.native.recorded_location, self.options, staged)


def _restored(location: str, recorded: str, options: Mapping[str, Any], staged: bytes | None) -> TableState:
    files = table_files(folder_of(location), **options)
    if staged is None:
        return TableState(_native.Table.open(files, location, recorded), options)
    return TableState(_native.Table.restore(files, location, staged), options, is_staged=True)


def folder_of(location: str) -> str:
    """Return the table folder for the location of a metadata file; return any other location unchanged."""
    trimmed = location.rstrip("/")
    head, _, tail = trimmed.rpartition("/")
    if tail.endswith((".json", ".json.gz")):
        parent, _, last = head.rpartition("/")
        return (parent or "/") if last == "metadata" else head or "."
    return trimmed or "/"
