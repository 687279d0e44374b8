"""The metadata tables of an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from frazil import _native
from frazil._arguments import snapshot_choice, text
from frazil._operation import operation
from frazil._virtual_table import VirtualTable

if TYPE_CHECKING:
    import datetime
    from typing import Unpack

    import pyarrow as pa

    from frazil._virtual_table import ReadOptions

__all__ = ["Inspect", "SnapshotOptions"]

if TYPE_CHECKING:

    class SnapshotOptions(ReadOptions, total=False):
        """How a metadata table of one snapshot is read: the current snapshot, unless one is chosen."""

        ref: str | None
        as_of: int | str | datetime.datetime | None


class Inspect:
    """The metadata tables of a table, with the columns of Iceberg's Java library.

    Each method returns the rows of a metadata table as a `pyarrow.Table`. It takes `row_filter`, `selected_fields`,
    `case_sensitive` and `limit`; methods that show one snapshot also take `snapshot_id`, `ref` or `as_of`.
    `inspect["files"]` is the metadata table itself, for `scan(...).to_pandas()`, `.to_polars()` or `.to_duckdb(...)`.

    >>> import frazil
    >>> table = frazil.load_table("tests/golden/iceberg/del_pos_file_parquet_part")
    >>> table.inspect.files(row_filter="content = 0", selected_fields=["record_count"]).num_rows
    13
    >>> table.inspect["refs"].scan(selected_fields=["name", "type"]).to_arrow().to_pylist()
    [{'name': 'main', 'type': 'BRANCH'}]
    """

    def __init__(self, table: _native.Table, place: str) -> None:
        """Use `Table.inspect` instead."""
        self._table = table
        self._place = place

    def __getitem__(self, name: str) -> VirtualTable:
        """Return a metadata table by name, of the current snapshot if it shows one."""
        return self.open(name)

    def open(
        self,
        name: str,
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: int | str | datetime.datetime | None = None,
    ) -> VirtualTable:
        """Return a metadata table by name.

        Args:
            name: `snapshots`, `files` or another name in `names()`.
            snapshot_id: The snapshot that the table shows.
            ref: The branch or tag whose snapshot it shows.
            as_of: Show what was current then, as in `Table.scan`.

        Raises:
            InvalidArgumentError: An unknown name, or a snapshot for a table that shows all of them.
            NoSuchSnapshotError: No such snapshot, branch or tag.
        """
        choice = snapshot_choice(snapshot_id, ref, as_of)
        with operation("inspect", lambda: self._place):
            return VirtualTable(_native.VirtualTable.open(self._table, text("name", name), choice), name, self._place)

    @staticmethod
    def names() -> list[str]:
        """Return the names of all metadata tables."""
        return [name for name, _, _ in _native.iceberg_metadata_tables()]

    def snapshots(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the snapshots of the table that have not expired."""
        return self["snapshots"].scan(**options).to_arrow()

    def history(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return which snapshot was current, and since when."""
        return self["history"].scan(**options).to_arrow()

    def metadata_log_entries(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the metadata files of the table, with the newest snapshot of each."""
        return self["metadata_log_entries"].scan(**options).to_arrow()

    def refs(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the branches and tags."""
        return self["refs"].scan(**options).to_arrow()

    def manifests(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the manifests of a snapshot."""
        return self._of_snapshot("manifests", snapshot_id, options)

    def all_manifests(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the manifests of all snapshots: a row for each snapshot and manifest."""
        return self["all_manifests"].scan(**options).to_arrow()

    def entries(self, snapshot_id: int | None = None, **options: Unpack[SnapshotOptions]) -> pa.Table:
        """Return the entries of the manifests of a snapshot, of deleted files too."""
        return self._of_snapshot("entries", snapshot_id, options)

    def all_entries(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the entries of the manifests of all snapshots."""
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
        """Return the partitions of a snapshot, with the rows and files in each."""
        return self._of_snapshot("partitions", snapshot_id, options)

    def _of_snapshot(self, name: str, snapshot_id: int | None, options: SnapshotOptions) -> pa.Table:
        table = self.open(name, snapshot_id=snapshot_id, ref=options.pop("ref", None), as_of=options.pop("as_of", None))
        return table.scan(**cast("ReadOptions", options)).to_arrow()

    def __repr__(self) -> str:
        """Return the names of the metadata tables."""
        return f"<frazil.iceberg.Inspect of {self._place!r}: {', '.join(self.names())}>"
