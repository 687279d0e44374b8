"""The system tables of a Paimon table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._arguments import snapshot_choice
from frazil._boundary import operation
from frazil._inspect import InspectTables
from frazil.paimon._views import VIEWS, ViewTable

if TYPE_CHECKING:
    import datetime
    from typing import Unpack

    import pyarrow as pa

    from frazil._inspect import SnapshotOptions
    from frazil._virtual_table import ReadOptions, VirtualTable

__all__ = ["Inspect"]


class Inspect(InspectTables):
    """The system tables of a table, with the columns of Paimon's Java library.

    Each method returns the rows of a system table as a `pyarrow.Table` and accepts `row_filter`, `selected_fields`,
    `case_sensitive` and `limit`. Methods that show one snapshot also accept `snapshot_id`, `ref` or `as_of`.
    `inspect["files"]` returns the system table itself, for `scan(...).to_pandas()`, `.to_polars()` or
    `.to_duckdb(...)`.

    >>> import frazil
    >>> table = frazil.load_table("tests/golden/paimon/g.db/tags_pk")
    >>> table.inspect.tags(row_filter="snapshot_id = 4", selected_fields=["tag_name", "record_count"]).to_pylist()
    [{'tag_name': '2024-05-14', 'record_count': 20}]
    >>> table.inspect["files"].scan("level > 0", ["file_path"]).count()
    1
    """

    _FORMAT = "paimon"

    @staticmethod
    def names() -> list[str]:
        """Return the names of all system tables available in `inspect`."""
        return [name for name, _, _ in _native.paimon_system_tables()]

    def open(
        self,
        name: str,
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: int | str | datetime.datetime | None = None,
    ) -> VirtualTable:
        """Return the system table of this name, as `InspectTables.open` does."""
        if name not in VIEWS or not isinstance(self._table, _native.PaimonTable):
            return super().open(name, snapshot_id=snapshot_id, ref=ref, as_of=as_of)
        with operation("inspect", lambda: self._place):
            return ViewTable(self._table, name, snapshot_choice(snapshot_id, ref, as_of))

    def aggregation_fields(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the columns of the table with their aggregate functions and options."""
        return self["aggregation_fields"].scan(**options).to_arrow()

    def audit_log(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the rows of a snapshot with their row kinds, including delete records."""
        return self._of_snapshot("audit_log", snapshot_id, options)

    def binlog(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the rows of a snapshot with their row kinds, each column as a list of its images."""
        return self._of_snapshot("binlog", snapshot_id, options)

    def branches(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the branches other than `main`."""
        return self["branches"].scan(**options).to_arrow()

    def buckets(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the buckets of a snapshot, with their row and file counts."""
        return self._of_snapshot("buckets", snapshot_id, options)

    def consumers(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the consumers, with the next snapshot that each one reads."""
        return self["consumers"].scan(**options).to_arrow()

    def file_key_ranges(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the data files of a snapshot, with their smallest and largest keys."""
        return self._of_snapshot("file_key_ranges", snapshot_id, options)

    def files(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the data files of a snapshot with their statistics."""
        return self._of_snapshot("files", snapshot_id, options)

    def manifests(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the manifests of a snapshot."""
        return self._of_snapshot("manifests", snapshot_id, options)

    def options(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the options of the table."""
        return self["options"].scan(**options).to_arrow()

    def partitions(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the partitions of a snapshot, with their row and file counts."""
        return self._of_snapshot("partitions", snapshot_id, options)

    def ro(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the rows of a snapshot that can be read without merging; recently written rows may be missing."""
        return self._of_snapshot("ro", snapshot_id, options)

    def row_tracking(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the rows of a snapshot with their row ids and sequence numbers."""
        return self._of_snapshot("row_tracking", snapshot_id, options)

    def schemas(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the schemas of the table."""
        return self["schemas"].scan(**options).to_arrow()

    def snapshots(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the snapshots of the table that have not expired."""
        return self["snapshots"].scan(**options).to_arrow()

    def statistics(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the statistics that ANALYZE recorded for a snapshot."""
        return self._of_snapshot("statistics", snapshot_id, options)

    def table_indexes(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the index files of a snapshot, including deletion vectors."""
        return self._of_snapshot("table_indexes", snapshot_id, options)

    def tags(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the tags, with the snapshots that they keep."""
        return self["tags"].scan(**options).to_arrow()
