"""The metadata tables of an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._inspect import InspectTables

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

    from frazil._inspect import SnapshotOptions
    from frazil._virtual_table import ReadOptions

__all__ = ["Inspect"]


class Inspect(InspectTables):
    """The metadata tables of a table, with the columns of Iceberg's Java library.

    Each method returns the rows of a metadata table as a `pyarrow.Table` and accepts `row_filter`, `selected_fields`,
    `case_sensitive` and `limit`. Methods that show one snapshot also accept `snapshot_id`, `ref` or `as_of`.
    `inspect["files"]` returns the metadata table itself, for `scan(...).to_pandas()`, `.to_polars()` or
    `.to_duckdb(...)`.

    >>> import frazil
    >>> table = frazil.load_table("tests/golden/iceberg/del_pos_file_parquet_part")
    >>> table.inspect.files(row_filter="content = 0", selected_fields=["record_count"]).num_rows
    13
    >>> table.inspect["refs"].scan(selected_fields=["name", "type"]).to_arrow().to_pylist()
    [{'name': 'main', 'type': 'BRANCH'}]
    """

    _FORMAT = "iceberg"

    @staticmethod
    def names() -> list[str]:
        """Return the names of all metadata tables."""
        return [name for name, _, _ in _native.iceberg_metadata_tables()]

    def snapshots(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the snapshots of the table that have not expired."""
        return self["snapshots"].scan(**options).to_arrow()

    def history(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the snapshots that were current, with their times."""
        return self["history"].scan(**options).to_arrow()

    def metadata_log_entries(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the metadata files of the table, with the latest snapshot of each."""
        return self["metadata_log_entries"].scan(**options).to_arrow()

    def refs(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the branches and tags."""
        return self["refs"].scan(**options).to_arrow()

    def manifests(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the manifests of a snapshot."""
        return self._of_snapshot("manifests", snapshot_id, options)

    def all_manifests(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the manifests of all snapshots, with one row per snapshot and manifest."""
        return self["all_manifests"].scan(**options).to_arrow()

    def entries(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the manifest entries of a snapshot, including those of deleted files."""
        return self._of_snapshot("entries", snapshot_id, options)

    def all_entries(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the manifest entries of all snapshots."""
        return self["all_entries"].scan(**options).to_arrow()

    def files(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the data files and delete files of a snapshot."""
        return self._of_snapshot("files", snapshot_id, options)

    def data_files(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the data files of a snapshot."""
        return self._of_snapshot("data_files", snapshot_id, options)

    def delete_files(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the delete files of a snapshot."""
        return self._of_snapshot("delete_files", snapshot_id, options)

    def all_files(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the data files and delete files of all snapshots; a file may be in several rows."""
        return self["all_files"].scan(**options).to_arrow()

    def all_data_files(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the data files of all snapshots; a file may be in several rows."""
        return self["all_data_files"].scan(**options).to_arrow()

    def all_delete_files(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the delete files of all snapshots; a file may be in several rows."""
        return self["all_delete_files"].scan(**options).to_arrow()

    def partitions(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the partitions of a snapshot, with their row and file counts."""
        return self._of_snapshot("partitions", snapshot_id, options)

    def position_deletes(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the rows that are deleted by position deletes and deletion vectors of a snapshot."""
        return self._of_snapshot("position_deletes", snapshot_id, options)
