"""Snapshots, branches, tags and history of Iceberg tables (spec: "Snapshots", "Snapshot References")."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: the state of a table after one commit."""

    snapshot_id: int
    parent_snapshot_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    schema_id: int | None
    summary: dict[str, str] = field(default_factory=dict)

    @property
    def operation(self) -> str | None:
        """The operation that created the snapshot: `append`, `overwrite`, `delete` or `replace`."""
        return self.summary.get("operation")

    @property
    def committed_at(self) -> datetime.datetime:
        """The commit time, in UTC."""
        return datetime.datetime.fromtimestamp(self.timestamp_ms / 1000, tz=datetime.UTC)

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> Snapshot:
        """Create a snapshot from the JSON form defined by the spec."""
        return cls(
            snapshot_id=json["snapshot-id"],
            parent_snapshot_id=json.get("parent-snapshot-id"),
            sequence_number=json.get("sequence-number", 0),
            timestamp_ms=json["timestamp-ms"],
            manifest_list=json.get("manifest-list"),
            schema_id=json.get("schema-id"),
            summary=json.get("summary", {}),
        )


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A branch or a tag. A retention setting of None means that the table properties apply."""

    snapshot_id: int
    type: str
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> SnapshotRef:
        """Create a reference from the JSON form defined by the spec."""
        return cls(
            json["snapshot-id"],
            json["type"],
            json.get("min-snapshots-to-keep"),
            json.get("max-snapshot-age-ms"),
            json.get("max-ref-age-ms"),
        )


@dataclass(frozen=True, slots=True)
class MetadataLogEntry:
    """A metadata file of an earlier state of a table."""

    metadata_file: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The time at which a snapshot became current."""

    timestamp_ms: int
    snapshot_id: int
