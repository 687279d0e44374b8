"""Write Paimon tables to be timed, without Java: `python benches/paimon_tables.py FOLDER [--rows N] [--runs N]`.

`FOLDER/bench.db/merge`   a primary-key table of one bucket: sorted runs of level 0 whose keys overlap; each run has a
                          half of all keys, so that of 5 x 1,000,000 rows some 1,940,000 are left
`FOLDER/bench.db/append`  the same columns without a key, as many files of as many rows

Rows depend on the arguments only. The layout of the metadata is that of Paimon 1.4.
"""

from __future__ import annotations

import argparse
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RECORD = "org.apache.paimon.avro.generated.record"
TIME_MS = 1_790_000_000_000
FIELDS = [(0, "k", "BIGINT NOT NULL"), (1, "v1", "DOUBLE"), (2, "v2", "DOUBLE"), (3, "s", "STRING")]
KEY_FIELD_ID = 1_073_741_823
SEQUENCE_FIELD_ID, KIND_FIELD_ID = 2_147_483_646, 2_147_483_645
NO_COLUMNS = struct.pack(">i", 0) + bytes(8)


def main() -> None:
    """Write both tables; what was there is removed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each file")
    parser.add_argument("--runs", type=int, default=5, help="files")
    parser.add_argument("--row-group", type=int, default=1_048_576, help="rows of a row group")
    parser.add_argument("--only", choices=["merge", "append"], help="write only this table")
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else ["merge", "append"]:
        location = arguments.folder / "bench.db" / name
        shutil.rmtree(location, ignore_errors=True)
        write_table(location, arguments, merged=name == "merge")
        print(location)


def write_table(location: Path, arguments: argparse.Namespace, *, merged: bool) -> None:
    for folder in ("schema", "snapshot", "manifest", "bucket-0"):
        (location / folder).mkdir(parents=True)
    rows = arguments.rows
    entries = []
    for run in range(arguments.runs):
        columns = make_rows(run, rows)
        name = f"data-00000000-0000-4000-8000-{run:012}-0.parquet"
        path = location / "bucket-0" / name
        table = stored(columns, run * rows, merged=merged)
        pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=arguments.row_group)
        keys = columns["k"]
        ends = (keys[0].as_py(), keys[-1].as_py()) if merged else None
        entries.append(manifest_entry(name, path.stat().st_size, rows, ends, run))
    write_metadata(location, entries, merged=merged)


def make_rows(run: int, rows: int) -> dict[str, Any]:
    """Give rows sorted by key: a half of the keys below twice the number of rows, so that runs overlap."""
    random = np.random.default_rng(17 + run)
    taken = np.zeros(2 * rows, dtype=bool)
    taken[random.permutation(2 * rows)[:rows]] = True
    keys = np.flatnonzero(taken).astype(np.int64)
    words = pa.array([f"word-{number:05}" for number in range(10_000)])
    text = pc.binary_join_element_wise(words.take(pa.array(random.integers(0, 10_000, rows))), f"run-{run}", " ")
    return {
        "k": pa.array(keys),
        "v1": pa.array(random.integers(0, 1_000_000, rows) / 100),
        "v2": pa.array(keys / 8 + run),
        "s": text,
    }


def stored(columns: dict[str, Any], first_number: int, *, merged: bool) -> pa.Table:
    """Give the columns of a data file: key, sequence number, row kind, values."""
    rows = len(columns["k"])
    system = []
    if merged:
        # Rows are numbered as they came, and then sorted by key.
        numbers = pa.array(first_number + np.random.default_rng(first_number).permutation(rows))
        system = [
            (KEY_FIELD_ID, "_KEY_k", columns["k"], False),
            (SEQUENCE_FIELD_ID, "_SEQUENCE_NUMBER", numbers, False),
            (KIND_FIELD_ID, "_VALUE_KIND", pa.array(np.zeros(rows, dtype=np.int8)), False),
        ]
    values = [(number, name, columns[name], "NOT NULL" not in type_text) for number, name, type_text in FIELDS]
    parts = system + values
    fields = [
        pa.field(name, array.type, nullable, {"PARQUET:field_id": str(number)})
        for number, name, array, nullable in parts
    ]
    return pa.Table.from_arrays([array for _, _, array, _ in parts], schema=pa.schema(fields))


def manifest_entry(name: str, size_bytes: int, rows: int, ends: tuple[int, int] | None, run: int) -> dict[str, Any]:
    low, high = (key_row(key) for key in ends) if ends else (NO_COLUMNS, NO_COLUMNS)
    none: dict[str, Any] = {"_MIN_VALUES": NO_COLUMNS, "_MAX_VALUES": NO_COLUMNS, "_NULL_COUNTS": []}
    keys = {"_MIN_VALUES": low, "_MAX_VALUES": high, "_NULL_COUNTS": [0]} if ends else none
    file = {
        "_FILE_NAME": name,
        "_FILE_SIZE": size_bytes,
        "_ROW_COUNT": rows,
        "_MIN_KEY": low,
        "_MAX_KEY": high,
        "_KEY_STATS": keys,
        "_VALUE_STATS": none,
        "_MIN_SEQUENCE_NUMBER": run * rows,
        "_MAX_SEQUENCE_NUMBER": (run + 1) * rows - 1,
        "_SCHEMA_ID": 0,
        "_LEVEL": 0,
        "_EXTRA_FILES": [],
        "_CREATION_TIME": TIME_MS,
        "_DELETE_ROW_COUNT": 0,
        "_EMBEDDED_FILE_INDEX": None,
        "_FILE_SOURCE": 0,
        "_VALUE_STATS_COLS": [],
        "_EXTERNAL_PATH": None,
        "_FIRST_ROW_ID": None,
        "_WRITE_COLS": None,
    }
    buckets = 1 if ends else -1
    return {
        "_VERSION": 2,
        "_KIND": 0,
        "_PARTITION": NO_COLUMNS,
        "_BUCKET": 0,
        "_TOTAL_BUCKETS": buckets,
        "_FILE": file,
    }


def key_row(key: int) -> bytes:
    """Give a row of one BIGINT: the number of columns, row kind and NULL bits, the value."""
    return struct.pack(">i", 1) + bytes(8) + struct.pack("<q", key)


def write_metadata(location: Path, entries: list[dict[str, Any]], *, merged: bool) -> None:
    schema = {
        "version": 3,
        "id": 0,
        "fields": [{"id": number, "name": name, "type": type_text} for number, name, type_text in FIELDS],
        "highestFieldId": 3,
        "partitionKeys": [],
        "primaryKeys": ["k"] if merged else [],
        "options": {"bucket": "1" if merged else "-1", "file.format": "parquet"},
        "timeMillis": TIME_MS,
    }
    (location / "schema" / "schema-0").write_text(json.dumps(schema, indent=2))
    manifest = location / "manifest" / "manifest-00000000-0000-4000-8000-000000000000-0"
    write_avro(manifest, MANIFEST, entries)
    listed = {
        "_VERSION": 2,
        "_FILE_NAME": manifest.name,
        "_FILE_SIZE": manifest.stat().st_size,
        "_NUM_ADDED_FILES": len(entries),
        "_NUM_DELETED_FILES": 0,
        "_PARTITION_STATS": {"_MIN_VALUES": NO_COLUMNS, "_MAX_VALUES": NO_COLUMNS, "_NULL_COUNTS": []},
        "_SCHEMA_ID": 0,
        "_MIN_BUCKET": 0,
        "_MAX_BUCKET": 0,
        "_MIN_LEVEL": 0,
        "_MAX_LEVEL": 0,
        "_MIN_ROW_ID": None,
        "_MAX_ROW_ID": None,
    }
    lists = [location / "manifest" / f"manifest-list-00000000-0000-4000-8000-000000000000-{part}" for part in (0, 1)]
    for path, records in zip(lists, ([], [listed]), strict=True):
        write_avro(path, MANIFEST_LIST, records)
    rows = sum(entry["_FILE"]["_ROW_COUNT"] for entry in entries)
    snapshot = {
        "version": 3,
        "id": 1,
        "schemaId": 0,
        "baseManifestList": lists[0].name,
        "baseManifestListSize": lists[0].stat().st_size,
        "deltaManifestList": lists[1].name,
        "deltaManifestListSize": lists[1].stat().st_size,
        "commitUser": "bench",
        "commitIdentifier": 1,
        "commitKind": "APPEND",
        "timeMillis": TIME_MS,
        "totalRecordCount": rows,
        "deltaRecordCount": rows,
    }
    (location / "snapshot" / "snapshot-1").write_text(json.dumps(snapshot, indent=2))
    for hint in ("EARLIEST", "LATEST"):
        (location / "snapshot" / hint).write_text("1")


def write_avro(path: Path, schema: dict[str, Any], records: list[dict[str, Any]]) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), records, codec="deflate")


def field(name: str, kind: Any) -> dict[str, Any]:
    optional = isinstance(kind, list)
    return {"name": name, "type": kind} | ({"default": None} if optional else {})


def optional(kind: Any) -> list[Any]:
    return ["null", kind]


def record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


def stats(name: str) -> dict[str, Any]:
    counts = optional({"type": "array", "items": ["null", "long"]})
    fields = [field("_MIN_VALUES", "bytes"), field("_MAX_VALUES", "bytes"), field("_NULL_COUNTS", counts)]
    return record(name, fields)


STRINGS = {"type": "array", "items": "string"}
MANIFEST_LIST = record(
    RECORD,
    [
        field("_VERSION", "int"),
        field("_FILE_NAME", "string"),
        field("_FILE_SIZE", "long"),
        field("_NUM_ADDED_FILES", "long"),
        field("_NUM_DELETED_FILES", "long"),
        field("_PARTITION_STATS", stats(RECORD + "__PARTITION_STATS")),
        field("_SCHEMA_ID", "long"),
        field("_MIN_BUCKET", optional("int")),
        field("_MAX_BUCKET", optional("int")),
        field("_MIN_LEVEL", optional("int")),
        field("_MAX_LEVEL", optional("int")),
        field("_MIN_ROW_ID", optional("long")),
        field("_MAX_ROW_ID", optional("long")),
    ],
)
FILE = record(
    RECORD + "__FILE",
    [
        field("_FILE_NAME", "string"),
        field("_FILE_SIZE", "long"),
        field("_ROW_COUNT", "long"),
        field("_MIN_KEY", "bytes"),
        field("_MAX_KEY", "bytes"),
        field("_KEY_STATS", stats(RECORD + "__FILE__KEY_STATS")),
        field("_VALUE_STATS", stats(RECORD + "__FILE__VALUE_STATS")),
        field("_MIN_SEQUENCE_NUMBER", "long"),
        field("_MAX_SEQUENCE_NUMBER", "long"),
        field("_SCHEMA_ID", "long"),
        field("_LEVEL", "int"),
        field("_EXTRA_FILES", STRINGS),
        field("_CREATION_TIME", optional({"type": "long", "logicalType": "timestamp-millis"})),
        field("_DELETE_ROW_COUNT", optional("long")),
        field("_EMBEDDED_FILE_INDEX", optional("bytes")),
        field("_FILE_SOURCE", optional("int")),
        field("_VALUE_STATS_COLS", optional(STRINGS)),
        field("_EXTERNAL_PATH", optional("string")),
        field("_FIRST_ROW_ID", optional("long")),
        field("_WRITE_COLS", optional(STRINGS)),
    ],
)
MANIFEST = record(
    RECORD,
    [
        field("_VERSION", "int"),
        field("_KIND", "int"),
        field("_PARTITION", "bytes"),
        field("_BUCKET", "int"),
        field("_TOTAL_BUCKETS", "int"),
        field("_FILE", FILE),
    ],
)


if __name__ == "__main__":
    main()
