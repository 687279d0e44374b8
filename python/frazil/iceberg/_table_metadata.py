"""The metadata of a table at one state (spec: "Table Metadata")."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil._arguments import flag, whole_number
from frazil.errors import NoSuchSnapshotError
from frazil.iceberg._location import Location
from frazil.iceberg._schema import PartitionSpec, Schema, SortOrder
from frazil.iceberg._snapshot import HistoryEntry, MetadataLogEntry, Snapshot, SnapshotRef

if TYPE_CHECKING:
    from frazil import _native


class TableMetadata:
    """The fields of a metadata file, with the names of the specification. Each field is parsed on access."""

    def __init__(self, native: _native.Table) -> None:
        """Not for direct use; use `Table.metadata`."""
        self._native = native

    @property
    def format_version(self) -> int:
        """The version of the Iceberg format: 1, 2 or 3."""
        return self._native.format_version

    @property
    def table_uuid(self) -> str | None:
        """The UUID of the table; optional in format version 1."""
        found = self._part("table-uuid")
        return None if found is None else str(found)

    @property
    def location(self) -> Location:
        """The location that the table records for itself."""
        return Location(self._part("location"))

    @property
    def last_sequence_number(self) -> int:
        """The highest assigned sequence number; 0 in format version 1."""
        return int(self._part("last-sequence-number"))

    @property
    def last_updated_ms(self) -> int:
        """The time at which the metadata was written, in milliseconds since the epoch."""
        return int(self._part("last-updated-ms"))

    @property
    def last_column_id(self) -> int:
        """The highest assigned field id."""
        return int(self._part("last-column-id"))

    @property
    def schemas(self) -> list[Schema]:
        """All schemas of the table."""
        return [Schema.from_json(schema) for schema in self._part("schemas")]

    @property
    def current_schema_id(self) -> int:
        """The id of the current schema."""
        return int(self._part("current-schema-id"))

    @property
    def partition_specs(self) -> list[PartitionSpec]:
        """All partition specs of the table."""
        return [PartitionSpec.from_json(spec) for spec in self._part("partition-specs")]

    @property
    def default_spec_id(self) -> int:
        """The id of the partition spec for new files."""
        return int(self._part("default-spec-id"))

    @property
    def last_partition_id(self) -> int:
        """The highest assigned partition field id."""
        return int(self._part("last-partition-id"))

    @property
    def sort_orders(self) -> list[SortOrder]:
        """All sort orders of the table."""
        return [SortOrder.from_json(order) for order in self._part("sort-orders")]

    @property
    def default_sort_order_id(self) -> int:
        """The id of the sort order for new files."""
        return int(self._part("default-sort-order-id"))

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the table."""
        return dict(self._part("properties"))

    @property
    def current_snapshot_id(self) -> int | None:
        """The current snapshot of `main`; None for a table without one."""
        found = self._part("current-snapshot-id")
        return None if found is None else int(found)

    @property
    def snapshots(self) -> list[Snapshot]:
        """The snapshots, oldest first."""
        return [Snapshot.from_json(snapshot) for snapshot in self._part("snapshots")]

    @property
    def snapshot_log(self) -> list[HistoryEntry]:
        """The snapshots that were current and the times at which they became current, oldest first."""
        return [HistoryEntry(entry["timestamp-ms"], entry["snapshot-id"]) for entry in self._part("snapshot-log")]

    @property
    def metadata_log(self) -> list[MetadataLogEntry]:
        """The metadata files of earlier states, oldest first."""
        return [MetadataLogEntry(entry["metadata-file"], entry["timestamp-ms"]) for entry in self._part("metadata-log")]

    @property
    def refs(self) -> dict[str, SnapshotRef]:
        """The branches and tags by name."""
        return {name: SnapshotRef.from_json(ref) for name, ref in self._part("refs").items()}

    @property
    def statistics(self) -> list[dict[str, Any]]:
        """The registered statistics files, with the field names of the specification."""
        return [dict(file) for file in self._part("statistics")]

    @property
    def next_row_id(self) -> int | None:
        """The next unassigned row id; None before format version 3."""
        found = self._part("next-row-id")
        return None if found is None else int(found)

    def schema(self) -> Schema:
        """Return the current schema."""
        current = self.current_schema_id
        return next(schema for schema in self.schemas if schema.schema_id == current)

    def spec(self) -> PartitionSpec:
        """Return the partition spec for new files."""
        default = self.default_spec_id
        return next(spec for spec in self.partition_specs if spec.spec_id == default)

    def sort_order(self) -> SortOrder:
        """Return the sort order for new files."""
        default = self.default_sort_order_id
        return next((order for order in self.sort_orders if order.order_id == default), SortOrder(0))

    def snapshot_by_id(self, snapshot_id: int) -> Snapshot | None:
        """Return a snapshot; None if the table does not have it."""
        found = json.loads(self._native.snapshot_json(whole_number("snapshot_id", snapshot_id)))
        return None if found is None else Snapshot.from_json(found)

    def snapshot_by_name(self, name: str) -> Snapshot | None:
        """Return the snapshot of a branch or a tag; None if the ref does not exist or has no snapshot."""
        ref = self.refs.get(name)
        return None if ref is None else self.snapshot_by_id(ref.snapshot_id)

    def snapshot_as_of_timestamp(self, timestamp_ms: int, inclusive: bool = True) -> Snapshot | None:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Return the snapshot that was current on `main` at a time; None before the first one, or if it has expired.

        Args:
            timestamp_ms: The time in milliseconds since the epoch.
            inclusive: Whether a snapshot that became current exactly at this time is considered.

        >>> import frazil
        >>> metadata = frazil.load_table("tests/golden/iceberg/inc_mor").metadata
        >>> last = metadata.snapshot_log[-1]
        >>> metadata.snapshot_as_of_timestamp(last.timestamp_ms).snapshot_id == last.snapshot_id
        True
        """
        limit = whole_number("timestamp_ms", timestamp_ms) + flag("inclusive", inclusive)
        entry = next((entry for entry in reversed(self.snapshot_log) if entry.timestamp_ms < limit), None)
        return None if entry is None else self.snapshot_by_id(entry.snapshot_id)

    def current_snapshot(self) -> Snapshot | None:
        """Return the current snapshot of `main`; None for a table without one."""
        current = self.current_snapshot_id
        return None if current is None else self.snapshot_by_id(current)

    def ancestors_of(self, snapshot_id: int | None = None) -> list[Snapshot]:
        """Return a snapshot, by default the current one, and its ancestors, newest first.

        Raises:
            NoSuchSnapshotError: The table does not have this snapshot.
        """
        by_id = {snapshot.snapshot_id: snapshot for snapshot in self.snapshots}
        if snapshot_id is not None and whole_number("snapshot_id", snapshot_id) not in by_id:
            message = f"the table has no snapshot {snapshot_id}"
            raise NoSuchSnapshotError(
                message, context={"table": self.location}, hint="list them with table.snapshots()"
            )
        parent_id = self.current_snapshot_id if snapshot_id is None else snapshot_id
        found = []
        # Each snapshot is removed when it is found, so that a cycle of parents does not loop forever.
        while parent_id is not None and (snapshot := by_id.pop(parent_id, None)) is not None:
            found.append(snapshot)
            parent_id = snapshot.parent_snapshot_id
        return found

    def _part(self, name: str) -> Any:
        return json.loads(self._native.metadata_json(name))

    def __repr__(self) -> str:
        """Return a representation with the version, the location and the number of snapshots."""
        count = len(self.snapshots)
        return f"<frazil.iceberg.TableMetadata v{self.format_version} {str(self.location)!r}: {count} snapshots>"
