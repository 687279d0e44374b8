"""Writes metadata of Iceberg tables: schemas of manifests, manifest lists, and the metadata file."""

from __future__ import annotations

import json
import struct
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import avro
import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

DATA, DELETES = 0, 1  # contents of a manifest
ADDED = 1  # status of an entry
POSITION_DELETES, EQUALITY_DELETES = 1, 2  # contents of a file
FILE_PATH_ID, POSITION_ID = 2_147_483_546, 2_147_483_545
TIME_MS = 1_760_000_000_000
SNAPSHOT_ID = 3_055_729_675_574_597_004
BUCKETS = 64
DAY_AND_BUCKET = [
    {"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1000},
    {"name": "id_bucket", "transform": f"bucket[{BUCKETS}]", "source-id": 1, "field-id": 1001},
]

Columns = list[tuple[str, str]]  # name, type; ids count from one


@dataclass
class Table:
    """A table that is being written: its location, its columns, and its manifests so far."""

    folder: Path
    columns: Columns
    partitions: list[dict[str, Any]] = field(default_factory=list)
    version: int = 2
    manifests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def uri(self) -> str:
        return f"file://{self.folder}"

    def make_folders(self) -> None:
        for name in ("data", "metadata"):
            (self.folder / name).mkdir(parents=True)

    def manifest_file(self, number: int) -> Path:
        """Return the path of a manifest, which depends only on its number."""
        return self.folder / "metadata" / f"{self.uuid(f'm{number}')}-m{number}.avro"

    def uuid(self, name: str = "") -> uuid.UUID:
        return uuid.uuid5(uuid.NAMESPACE_OID, self.folder.name + name)

    def schema_json(self) -> dict[str, Any]:
        fields = [
            {"id": number, "name": name, "required": False, "type": kind}
            for number, (name, kind) in enumerate(self.columns, start=1)
        ]
        return {"type": "struct", "schema-id": 0, "fields": fields}

    def manifest_header(self, content: int) -> dict[str, str]:
        return {
            "schema": json.dumps(self.schema_json()),
            "schema-id": "0",
            "partition-spec": json.dumps(self.partitions),
            "partition-spec-id": "0",
            "format-version": str(self.version),
            "content": "deletes" if content else "data",
        }

    def entry_schema(self) -> avro.Schema:
        kinds = {"day": {"type": "int", "logicalType": "date"}}
        fields = [
            avro.field(
                part["name"], avro.optional(kinds.get(part["transform"], "int")), **{"field-id": part["field-id"]}
            )
            for part in self.partitions
        ]
        return entry_schema(self.version, fields)

    def write_manifest(self, number: int, count: int, **data_file: Any) -> dict[str, Any]:
        """Write a manifest of added files, and return its entry for the manifest list.

        Each leaf of `data_file` is a column or a value that all files share; missing leaves are null.
        """
        empty = dict.fromkeys(field["name"] for field in data_file_fields(self.version, []))
        file = empty | {"content": 0, "file_format": "PARQUET", "partition": {}} | data_file
        content = DELETES if file["content"] else DATA
        entry = {
            "status": ADDED,
            "snapshot_id": SNAPSHOT_ID + content,
            "sequence_number": None,
            "file_sequence_number": None,
            "data_file": file,
        }
        path = self.manifest_file(number)
        length = avro.write_columns(path, self.entry_schema(), self.manifest_header(content), entry, count)
        rows = int(np.broadcast_to(file["record_count"], count).sum())
        ends = [(int(values.min()), int(values.max())) for values in file["partition"].values()]
        return self.listed(path, content, length, count, rows, ends)

    def listed(
        self, path: Path, content: int, length: int, files: int, rows: int, ends: list[tuple[int, int]]
    ) -> dict[str, Any]:
        """Return the entry of a manifest for the manifest list."""
        summaries = [
            {
                "contains_null": False,
                "contains_nan": None,
                "lower_bound": struct.pack("<i", low),
                "upper_bound": struct.pack("<i", high),
            }
            for low, high in ends
        ]
        return {
            "manifest_path": f"{self.uri}/metadata/{path.name}",
            "manifest_length": length,
            "partition_spec_id": 0,
            "content": content,
            "sequence_number": content + 1,
            "min_sequence_number": content + 1,
            "added_snapshot_id": SNAPSHOT_ID + content,
            "added_files_count": files,
            "existing_files_count": 0,
            "deleted_files_count": 0,
            "added_rows_count": rows,
            "existing_rows_count": 0,
            "deleted_rows_count": 0,
            "partitions": summaries,
            "key_metadata": None,
            "first_row_id": None,
        }

    def write_metadata(self, snapshots: int = 1) -> Path:
        """Write the manifest list of every snapshot, which all have the same manifests, and the metadata file."""
        rows = 0
        for manifest in self.manifests:
            if self.version >= 3 and manifest["content"] == DATA:
                manifest["first_row_id"] = rows
                rows += manifest["added_rows_count"]
        sequence = max(manifest["sequence_number"] for manifest in self.manifests) + snapshots - 1
        last = SNAPSHOT_ID + sequence - 1
        history = [
            self.write_snapshot(last - back, sequence - back, TIME_MS - back * 1000, rows)
            for back in reversed(range(snapshots))
        ]
        document = {
            "format-version": self.version,
            "table-uuid": str(self.uuid()),
            "location": self.uri,
            "last-sequence-number": sequence,
            "last-updated-ms": TIME_MS,
            "last-column-id": len(self.columns),
            "current-schema-id": 0,
            "schemas": [self.schema_json()],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": self.partitions}],
            "last-partition-id": 999 + len(self.partitions),
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": last,
            "refs": {"main": {"snapshot-id": last, "type": "branch"}},
            "snapshots": history,
            "statistics": [],
            "snapshot-log": [
                {"snapshot-id": snapshot["snapshot-id"], "timestamp-ms": snapshot["timestamp-ms"]}
                for snapshot in history
            ],
            "metadata-log": [],
        }
        if self.version >= 3:
            document["next-row-id"] = rows
        path = self.folder / "metadata" / "v1.metadata.json"
        path.write_text(json.dumps(document))
        (self.folder / "metadata" / "version-hint.text").write_text("1")
        return path

    def write_snapshot(self, number: int, sequence: int, time_ms: int, rows: int) -> dict[str, Any]:
        path = self.folder / "metadata" / f"snap-{number}-1-{self.uuid(str(number))}.avro"
        header = {
            "snapshot-id": str(number),
            "parent-snapshot-id": "null",
            "sequence-number": str(sequence),
            "format-version": str(self.version),
        }
        snapshot = {
            "snapshot-id": number,
            "sequence-number": sequence,
            "timestamp-ms": time_ms,
            "manifest-list": f"{self.uri}/metadata/{path.name}",
            "summary": {"operation": "append"},
            "schema-id": 0,
        }
        if self.version >= 3:
            header["first-row-id"] = "0"
            snapshot |= {"first-row-id": 0, "added-rows": rows}
        avro.write(path, manifest_list_schema(self.version), header, self.manifests)
        return snapshot


def numbered(name: str, kind: avro.Schema, number: int, **attributes: Any) -> avro.Schema:
    return avro.field(name, kind, **{"field-id": number}, **attributes)


def optional(name: str, kind: avro.Schema, number: int) -> avro.Schema:
    return numbered(name, avro.optional(kind), number)


def by_column(name: str, number: int, key: int, value: int, kind: str) -> avro.Schema:
    """Return a field that maps column ids to statistics."""
    pair = avro.record(f"k{key}_v{value}", [numbered("key", "int", key), numbered("value", kind, value)])
    return optional(name, {"type": "array", "items": pair, "logicalType": "map"}, number)


def numbers(kind: str, number: int) -> avro.Schema:
    return {"type": "array", "items": kind, "element-id": number}


def data_file_fields(version: int, partition: list[avro.Schema]) -> list[avro.Schema]:
    fields = [
        numbered("content", "int", 134),
        numbered("file_path", "string", 100),
        numbered("file_format", "string", 101),
        numbered("partition", avro.record("r102", partition), 102),
        numbered("record_count", "long", 103),
        numbered("file_size_in_bytes", "long", 104),
        by_column("column_sizes", 108, 117, 118, "long"),
        by_column("value_counts", 109, 119, 120, "long"),
        by_column("null_value_counts", 110, 121, 122, "long"),
        by_column("nan_value_counts", 137, 138, 139, "long"),
        by_column("lower_bounds", 125, 126, 127, "bytes"),
        by_column("upper_bounds", 128, 129, 130, "bytes"),
        optional("key_metadata", "bytes", 131),
        optional("split_offsets", numbers("long", 133), 132),
        optional("equality_ids", numbers("int", 136), 135),
        optional("sort_order_id", "int", 140),
        optional("first_row_id", "long", 142),
        optional("referenced_data_file", "string", 143),
        optional("content_offset", "long", 144),
        optional("content_size_in_bytes", "long", 145),
    ]
    of_version_3 = {"first_row_id", "content_offset", "content_size_in_bytes"}
    return [field for field in fields if version >= 3 or field["name"] not in of_version_3]


def entry_schema(version: int, partition: list[avro.Schema]) -> avro.Schema:
    return avro.record(
        "manifest_entry",
        [
            numbered("status", "int", 0),
            optional("snapshot_id", "long", 1),
            optional("sequence_number", "long", 3),
            optional("file_sequence_number", "long", 4),
            numbered("data_file", avro.record("r2", data_file_fields(version, partition)), 2),
        ],
    )


def manifest_list_schema(version: int) -> avro.Schema:
    summary = avro.record(
        "r508",
        [
            numbered("contains_null", "boolean", 509),
            optional("contains_nan", "boolean", 518),
            optional("lower_bound", "bytes", 510),
            optional("upper_bound", "bytes", 511),
        ],
    )
    fields = [
        numbered("manifest_path", "string", 500),
        numbered("manifest_length", "long", 501),
        numbered("partition_spec_id", "int", 502),
        numbered("content", "int", 517),
        numbered("sequence_number", "long", 515),
        numbered("min_sequence_number", "long", 516),
        numbered("added_snapshot_id", "long", 503),
        numbered("added_files_count", "int", 504),
        numbered("existing_files_count", "int", 505),
        numbered("deleted_files_count", "int", 506),
        numbered("added_rows_count", "long", 512),
        numbered("existing_rows_count", "long", 513),
        numbered("deleted_rows_count", "long", 514),
        optional("partitions", {"type": "array", "items": summary, "element-id": 508}, 507),
        optional("key_metadata", "bytes", 519),
    ]
    return avro.record("manifest_file", fields + ([optional("first_row_id", "long", 520)] if version >= 3 else []))
