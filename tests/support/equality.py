"""Commits equality deletes, which frazil only reads, to a local Hadoop table as Flink does."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from support.copies import read_avro
from support.garbage import metadata_of, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def delete_by_key(table: Any, keys: dict[str, Sequence[Any]], partition: dict[str, Any], spec_id: int) -> None:
    """Delete rows by the values of columns, in one partition of a spec, or everywhere if the spec has no fields.

    The table must have a data manifest of the spec, whose schema is used for the new manifest.
    """
    metadata = metadata_of(table)
    root, number = path_of(table.location), metadata["last-sequence-number"] + 1
    snapshot_id, parent = random.getrandbits(62), metadata["current-snapshot-id"]
    current = next(one for one in metadata["snapshots"] if one["snapshot-id"] == parent)
    header, listed = read_avro(path_of(current["manifest-list"]))
    manifest_header = next(
        read_avro(path_of(one["manifest_path"]))[0]
        for one in listed
        if one["partition_spec_id"] == spec_id and one.get("content", 0) == 0
    )
    data, count = _file(table, keys, root / f"data/eq-{number}.parquet")
    data["partition"] = partition
    entry = {
        "status": 1,
        "snapshot_id": snapshot_id,
        "sequence_number": None,
        "file_sequence_number": None,
        "data_file": data,
    }
    manifest = root / f"metadata/eq-{number}-m0.avro"
    _write(manifest, manifest_header | {"content": "deletes"}, [entry])
    row = {
        "manifest_path": str(manifest),
        "manifest_length": manifest.stat().st_size,
        "partition_spec_id": spec_id,
        "content": 1,
        "sequence_number": number,
        "min_sequence_number": number,
        "added_snapshot_id": snapshot_id,
        "added_files_count": 1,
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": count,
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": None,
    }
    manifest_list = root / f"metadata/snap-{snapshot_id}-1-eq.avro"
    _write(manifest_list, header | {"snapshot-id": str(snapshot_id)}, [row, *listed])
    snapshot = {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": parent,
        "sequence-number": number,
        "timestamp-ms": metadata["last-updated-ms"] + 1,
        "manifest-list": str(manifest_list),
        "summary": {"operation": "delete"},
        "schema-id": metadata["current-schema-id"],
    }
    if metadata["format-version"] > 2:
        snapshot |= {"first-row-id": metadata["next-row-id"], "added-rows": 0}
    metadata |= {"last-sequence-number": number, "current-snapshot-id": snapshot_id}
    metadata["last-updated-ms"] += 1
    metadata["snapshots"].append(snapshot)
    metadata["snapshot-log"].append({"snapshot-id": snapshot_id, "timestamp-ms": snapshot["timestamp-ms"]})
    metadata["refs"]["main"]["snapshot-id"] = snapshot_id
    version = int(path_of(table.metadata_location).name.split(".")[0][1:]) + 1
    with (root / f"metadata/v{version}.metadata.json").open("x", encoding="utf-8") as file:
        json.dump(metadata, file)


def _file(table: Any, keys: dict[str, Sequence[Any]], path: Path) -> tuple[dict[str, Any], int]:
    """Write the file of keys; return its manifest entry and the number of rows."""
    ids = {field.name: field.field_id for field in table.schema().fields}
    types = {field.name: field.type for field in table.scan().schema()}
    fields = [pa.field(name, types[name], metadata={"PARQUET:field_id": str(ids[name])}) for name in keys]
    rows = pa.table([pa.array(values, types[name]) for name, values in keys.items()], schema=pa.schema(fields))
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(sink.getvalue())
    found = {
        "content": 2,
        "file_path": str(path),
        "file_format": "PARQUET",
        "record_count": rows.num_rows,
        "file_size_in_bytes": path.stat().st_size,
        "equality_ids": [ids[name] for name in keys],
        "value_counts": _map({ids[name]: len(values) for name, values in keys.items()}),
        "null_value_counts": _map({ids[name]: rows[name].null_count for name in keys}),
        "lower_bounds": _map({ids[name]: _bound(pc.min(rows[name])) for name in keys}),
        "upper_bounds": _map({ids[name]: _bound(pc.max(rows[name])) for name in keys}),
    }
    return found, rows.num_rows


def _map(values: dict[int, Any]) -> list[dict[str, Any]]:
    """Return a map in the form used in manifests, without unknown values."""
    return [{"key": key, "value": value} for key, value in values.items() if value is not None]


def _bound(value: pa.Scalar) -> bytes | None:
    """Serialize a bound of a key (spec: "Binary single-value serialization")."""
    if not value.is_valid:
        return None
    if pa.types.is_integer(value.type):
        return value.as_py().to_bytes(value.type.bit_width // 8, "little", signed=True)
    return value.as_py().encode() if pa.types.is_string(value.type) else None


def _write(path: Path, header: dict[str, str], records: list[dict[str, Any]]) -> None:
    schema = fastavro.parse_schema(json.loads(header["avro.schema"]))
    metadata = {key: value for key, value in header.items() if not key.startswith("avro.")}
    with path.open("xb") as file:
        fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)
