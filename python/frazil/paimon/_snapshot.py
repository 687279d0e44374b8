"""Snapshots, tags and history of Paimon tables (spec: "Snapshot"; documentation: "Manage Tags")."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from frazil.errors import CorruptMetadataError

NO_WATERMARK = -(2**63)
"""The value that Java writes if there is no watermark."""

_PARTS = 7
"""The number of parts of a time with nanoseconds."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: the state of a table after one commit."""

    snapshot_id: int
    schema_id: int
    commit_kind: str
    timestamp_ms: int
    commit_user: str
    commit_identifier: int
    base_manifest_list: str
    delta_manifest_list: str
    changelog_manifest_list: str | None = None
    index_manifest: str | None = None
    total_record_count: int | None = None
    delta_record_count: int | None = None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    next_row_id: int | None = None

    @property
    def operation(self) -> str:
        """The operation that created the snapshot: `append`, `compact`, `overwrite` or `analyze`."""
        return self.commit_kind.lower()

    @property
    def committed_at(self) -> datetime.datetime:
        """The commit time, in UTC."""
        return datetime.datetime.fromtimestamp(self.timestamp_ms / 1000, tz=datetime.UTC)

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> Snapshot:
        """Create a snapshot from the JSON form of snapshot files."""
        watermark = json.get("watermark")
        try:
            return cls(
                snapshot_id=json["id"],
                schema_id=json["schemaId"],
                commit_kind=json["commitKind"],
                timestamp_ms=json["timeMillis"],
                commit_user=json["commitUser"],
                commit_identifier=json["commitIdentifier"],
                base_manifest_list=json["baseManifestList"],
                delta_manifest_list=json["deltaManifestList"],
                changelog_manifest_list=json.get("changelogManifestList"),
                index_manifest=json.get("indexManifest"),
                total_record_count=json.get("totalRecordCount"),
                delta_record_count=json.get("deltaRecordCount"),
                changelog_record_count=json.get("changelogRecordCount"),
                watermark=None if watermark == NO_WATERMARK else watermark,
                statistics=json.get("statistics"),
                next_row_id=json.get("nextRowId"),
            )
        except KeyError as error:
            message = f"the snapshot does not have the field {error.args[0]}"
            raise CorruptMetadataError(message) from error


@dataclass(frozen=True, slots=True)
class Tag:
    """A named snapshot, which does not expire."""

    name: str
    snapshot: Snapshot
    time_retained: datetime.timedelta | None = None
    created_at: datetime.datetime | None = None
    """The local time of creation, which is recorded only for tags that expire."""

    @property
    def snapshot_id(self) -> int:
        """The id of the snapshot."""
        return self.snapshot.snapshot_id

    @classmethod
    def from_json(cls, name: str, json: dict[str, Any]) -> Tag:
        """Create a tag from the JSON form of tag files."""
        retained = json.get("tagTimeRetained")
        kept = datetime.timedelta(seconds=retained) if isinstance(retained, int | float) else None
        return cls(name, Snapshot.from_json(json), kept, _local_time(json.get("tagCreateTime")))


def _local_time(parts: Any) -> datetime.datetime | None:
    """Return the time in Java's form: year, month, day, hour, minute, and perhaps second and nanosecond."""
    if not isinstance(parts, list):
        return None
    year, month, day, hour, minute, second, nanos = (int(part) for part in [*parts, 0, 0][:_PARTS])
    return datetime.datetime(year, month, day, hour, minute, second, nanos // 1000)  # noqa: DTZ001 - a local time


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The time at which a snapshot became current."""

    timestamp_ms: int
    snapshot_id: int
