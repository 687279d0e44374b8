"""Writes Paimon tables without Java, with metadata in the layout of Paimon 1.4.

P20k is for planning and has no data files. PM and PA contain rows. PM is one bucket of a primary-key table, whose
sorted runs of level 0 have overlapping keys; PA has the same rows without a key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import avro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import values
from avro import array_of, field, optional, record

if TYPE_CHECKING:
    from pathlib import Path

    from values import Bytes, Integers, Values

RECORD = "org.apache.paimon.avro.generated.record"
TIME_MS = 1_790_000_000_000
KEY_FIELD_ID = 1_073_741_823
SEQUENCE_FIELD_ID, KIND_FIELD_ID = 2_147_483_646, 2_147_483_645
RUNS = 5
FILES_OF_MANIFEST = 100  # one in each partition
IDS_OF_MANIFEST = 1_000_000
CODEC = {"avro.codec": "zstandard"}


@dataclass(frozen=True)
class Table:
    """A table that is being written."""

    folder: Path
    columns: list[tuple[str, str]]  # name, type
    keys: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()

    @property
    def buckets(self) -> int:
        return 1 if self.keys else -1

    def make_folders(self) -> None:
        for name in ("schema", "snapshot", "manifest"):
            (self.folder / name).mkdir(parents=True)

    def manifest_file(self, kind: str, number: int) -> Path:
        return self.folder / "manifest" / f"{kind}-00000000-0000-4000-8000-000000000000-{number}"

    def write_manifest(self, number: int, count: int, partition: Bytes | bytes, **file: Any) -> dict[str, Any]:
        """Write a manifest of added files, whose leaves may be columns, and return its entry for the manifest list."""
        path = self.manifest_file("manifest", number)
        value = {
            "_VERSION": 2,
            "_KIND": 0,
            "_PARTITION": partition,
            "_BUCKET": 0,
            "_TOTAL_BUCKETS": self.buckets,
            "_FILE": EMPTY_FILE | file,
        }
        length = avro.write_columns(path, MANIFEST, CODEC, value, count)
        return {
            "_VERSION": 2,
            "_FILE_NAME": path.name,
            "_FILE_SIZE": length,
            "_NUM_ADDED_FILES": count,
            "_NUM_DELETED_FILES": 0,
            "_PARTITION_STATS": NO_STATS,
            "_SCHEMA_ID": 0,
            "_MIN_BUCKET": 0,
            "_MAX_BUCKET": 0,
            "_MIN_LEVEL": 0,
            "_MAX_LEVEL": 0,
            "_MIN_ROW_ID": None,
            "_MAX_ROW_ID": None,
        }

    def write_metadata(self, manifests: list[dict[str, Any]], rows: int) -> None:
        """Write the schema, the manifest lists and the only remaining snapshot, which added the last manifest."""
        schema = {
            "version": 3,
            "id": 0,
            "fields": [{"id": number, "name": name, "type": kind} for number, (name, kind) in enumerate(self.columns)],
            "highestFieldId": len(self.columns) - 1,
            "partitionKeys": list(self.partitions),
            "primaryKeys": list(self.keys),
            "options": {"bucket": str(self.buckets), "file.format": "parquet"},
            "timeMillis": TIME_MS,
        }
        (self.folder / "schema" / "schema-0").write_text(json.dumps(schema, indent=2))
        base, delta = (self.manifest_file("manifest-list", number) for number in (0, 1))
        base_bytes = avro.write(base, MANIFEST_LIST, CODEC, manifests[:-1])
        delta_bytes = avro.write(delta, MANIFEST_LIST, CODEC, manifests[-1:])
        number = len(manifests)
        snapshot = {
            "version": 3,
            "id": number,
            "schemaId": 0,
            "baseManifestList": base.name,
            "baseManifestListSize": base_bytes,
            "deltaManifestList": delta.name,
            "deltaManifestListSize": delta_bytes,
            "commitUser": "bench",
            "commitIdentifier": number,
            "commitKind": "APPEND",
            "timeMillis": TIME_MS,
            "totalRecordCount": rows,
            "deltaRecordCount": rows // number,
        }
        (self.folder / "snapshot" / f"snapshot-{number}").write_text(json.dumps(snapshot, indent=2))
        for hint in ("EARLIEST", "LATEST"):
            (self.folder / "snapshot" / hint).write_text(str(number))

    def location(self) -> dict[str, Any]:
        """Return the location of the table, for engines that open paths and those that open catalogs."""
        database = self.folder.parent
        return {
            "path": str(self.folder),
            "warehouse": str(database.parent),
            "identifier": f"{database.stem}.{self.folder.name}",
        }


def binary_row(*columns: Values) -> Bytes:
    """Return rows in Paimon's format, preceded by the number of their columns.

    Numbers of up to 64 bits are stored in their slots; strings, which are all longer than seven bytes, are referenced.
    """
    arity, count = len(columns), len(columns[0])
    places, parts = [], []
    start = (arity + 8 + 63) // 64 * 8 + 8 * arity
    for column in columns:
        if column.ndim == 1:
            places.append(values.little_endian(column if column.dtype.itemsize == 8 else column.astype(np.int64)))
            continue
        width = column.shape[1]
        padded = np.zeros((count, -(-width // 8) * 8), np.uint8)
        padded[:, :width] = column
        places.append(values.little_endian(np.full(count, start << 32 | width)))
        parts.append(padded)
        start += padded.shape[1]
    header = arity.to_bytes(4, "big") + bytes((arity + 8 + 63) // 64 * 8)
    return values.join(header, *places, *parts)


def statistics(low: Bytes | bytes, high: Bytes | bytes, columns: int) -> dict[str, Any]:
    return {"_MIN_VALUES": low, "_MAX_VALUES": high, "_NULL_COUNTS": [0] * columns}


def make_planned(folder: Path, scale: float) -> dict[str, Any]:
    """Write P20k: every manifest is a commit with one file in each partition and a separate range of ids."""
    table = Table(folder, PLANNED, partitions=("p",))
    table.make_folders()
    commits = max(2, round(200 * scale))
    partitions = np.arange(FILES_OF_MANIFEST)
    manifests, rows = [], 0
    for commit in range(commits):
        random = np.random.default_rng([11, commit])
        row_counts = random.integers(1000, 2000, FILES_OF_MANIFEST)
        low, high = (binary_row(*columns) for columns in zip(*planned_bounds(random, commit), strict=True))
        files = commit * FILES_OF_MANIFEST + partitions
        listed = table.write_manifest(
            commit,
            FILES_OF_MANIFEST,
            binary_row(partitions),
            _FILE_NAME=values.join(b"data-00000000-0000-4000-8000-", values.digits(files, 12), b"-0.parquet"),
            _FILE_SIZE=random.integers(1 << 20, 1 << 24, FILES_OF_MANIFEST),
            _ROW_COUNT=row_counts,
            _VALUE_STATS=statistics(low, high, len(PLANNED)),
            _VALUE_STATS_COLS=None,
            _MIN_SEQUENCE_NUMBER=0,
            _MAX_SEQUENCE_NUMBER=row_counts - 1,
        )
        first, last = (bytes(binary_row(partitions[[end]])[0]) for end in (0, -1))
        manifests.append(listed | {"_PARTITION_STATS": statistics(first, last, 1)})
        rows += int(row_counts.sum())
    table.write_metadata(manifests, rows)
    return table.location() | {
        "files": commits * FILES_OF_MANIFEST,
        "manifests": commits,
        "rows": rows,
        "filters": {"partition": "p = 42", "range": f"id < {IDS_OF_MANIFEST}", "none": "d2 = -1"},
        "expected_files": {
            "all": commits * FILES_OF_MANIFEST,
            "partition": commits,
            "range": FILES_OF_MANIFEST,
            "none": 0,
        },
    }


def planned_bounds(random: np.random.Generator, commit: int) -> list[tuple[Values, Values]]:
    """Return the bounds of each column of P20k."""
    count = FILES_OF_MANIFEST
    ids = commit * IDS_OF_MANIFEST + random.integers(0, IDS_OF_MANIFEST // 2, count)
    times = TIME_MS + commit * 60_000 + random.integers(0, 30_000, count)
    low = random.integers(0, 1 << 39, count)
    share, amount = random.random((2, count))
    words = values.HEX[random.integers(0, 16, (2, count, 16))]
    segments = random.integers(0, 10, (2, count))
    return [
        (np.arange(count), np.arange(count)),
        (ids, ids + IDS_OF_MANIFEST // 2 - 1),
        (times, times + 29_999),
        (low, low + random.integers(1, 1 << 39, count)),
        (random.integers(0, 4, count), random.integers(990, 1000, count)),
        (share, share + 100),
        (amount.round(2), (1000 + amount).round(2)),
        (low // 1000, low // 1000 + (1 << 40)),
        (
            values.join(b"segment_", values.digits(segments[0], 3)),
            values.join(b"segment_9", values.digits(segments[1], 2)),
        ),
        (values.join(b"0", words[0]), values.join(b"f", words[1])),
    ]


def make_rows(folder: Path, scale: float, *, merged: bool) -> dict[str, Any]:
    """Write PM or PA."""
    table = Table(folder, ROWS, keys=("k",) if merged else ())
    table.make_folders()
    (folder / "bucket-0").mkdir()
    rows = max(1, round(1_000_000 * scale))
    manifests, paths, seen = [], [], np.zeros(2 * rows, bool)
    for run in range(RUNS):
        path = folder / "bucket-0" / f"data-00000000-0000-4000-8000-{run:012}-0.parquet"
        taken = keys_of_run(run, rows)
        seen |= taken
        keys = np.flatnonzero(taken)
        data = stored(run_columns(run, keys), run * rows, merged=merged)
        pq.write_table(data, path, compression="zstd", compression_level=1)
        about_keys: dict[str, Any] = {}
        if merged:
            low, high = (bytes(binary_row(keys[[end]])[0]) for end in (0, -1))
            about_keys = {"_MIN_KEY": low, "_MAX_KEY": high, "_KEY_STATS": statistics(low, high, 1)}
        listed = table.write_manifest(
            run,
            1,
            NO_COLUMNS,
            _FILE_NAME=path.name,
            _FILE_SIZE=path.stat().st_size,
            _ROW_COUNT=rows,
            _MIN_SEQUENCE_NUMBER=run * rows,
            _MAX_SEQUENCE_NUMBER=(run + 1) * rows - 1,
            **about_keys,
        )
        manifests.append(listed)
        paths.append(str(path))
    table.write_metadata(manifests, RUNS * rows)
    return table.location() | {
        "files": RUNS,
        "rows": RUNS * rows,
        "expected_rows": int(seen.sum()) if merged else RUNS * rows,
        "data_files": paths,
    }


def keys_of_run(run: int, rows: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Select half of the keys below twice the number of rows."""
    taken = np.zeros(2 * rows, bool)
    taken[np.random.default_rng(17 + run).permutation(2 * rows)[:rows]] = True
    return taken


def run_columns(run: int, keys: Integers) -> list[pa.Array]:
    random = np.random.default_rng([12, run])
    words = pa.array([f"word-{number:05}" for number in range(10_000)])
    text = pc.binary_join_element_wise(words.take(pa.array(random.integers(0, 10_000, len(keys)))), f"run-{run}", " ")
    return [pa.array(keys), pa.array(random.integers(0, 1_000_000, len(keys)) / 100), pa.array(keys / 8 + run), text]


def stored(columns: list[pa.Array], first_number: int, *, merged: bool) -> pa.Table:
    """Return the columns of a data file; with a key, also the key, sequence number and row kind."""
    count = len(columns[0])
    parts = [
        (number, name, array, "NOT NULL" not in kind)
        for number, ((name, kind), array) in enumerate(zip(ROWS, columns, strict=True))
    ]
    if merged:
        # Rows are numbered in order of arrival, and then sorted by key.
        numbers = pa.array(first_number + np.random.default_rng(first_number).permutation(count))
        parts = [
            (KEY_FIELD_ID, "_KEY_k", columns[0], False),
            (SEQUENCE_FIELD_ID, "_SEQUENCE_NUMBER", numbers, False),
            (KIND_FIELD_ID, "_VALUE_KIND", pa.array(np.zeros(count, np.int8)), False),
            *parts,
        ]
    fields = [
        pa.field(name, array.type, nullable, {"PARQUET:field_id": str(number)})
        for number, name, array, nullable in parts
    ]
    return pa.table([array for _, _, array, _ in parts], schema=pa.schema(fields))


PLANNED = [
    ("p", "INT"),
    ("id", "BIGINT"),
    ("ts", "TIMESTAMP(3)"),
    ("l1", "BIGINT"),
    ("l2", "BIGINT"),
    ("d1", "DOUBLE"),
    ("d2", "DOUBLE"),
    ("m1", "DECIMAL(18, 2)"),
    ("s1", "STRING"),
    ("s2", "STRING"),
]
ROWS = [("k", "BIGINT NOT NULL"), ("v1", "DOUBLE"), ("v2", "DOUBLE"), ("s", "STRING")]
NO_COLUMNS = bytes(12)
NO_STATS = {"_MIN_VALUES": NO_COLUMNS, "_MAX_VALUES": NO_COLUMNS, "_NULL_COUNTS": []}
EMPTY_FILE: dict[str, Any] = {
    "_MIN_KEY": NO_COLUMNS,
    "_MAX_KEY": NO_COLUMNS,
    "_KEY_STATS": NO_STATS,
    "_VALUE_STATS": NO_STATS,
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


def stats_schema(name: str) -> avro.Schema:
    counts = optional(array_of(["null", "long"]))
    fields = [field("_MIN_VALUES", "bytes"), field("_MAX_VALUES", "bytes"), field("_NULL_COUNTS", counts)]
    return record(RECORD + name, fields)


MANIFEST_LIST = record(
    RECORD,
    [
        field("_VERSION", "int"),
        field("_FILE_NAME", "string"),
        field("_FILE_SIZE", "long"),
        field("_NUM_ADDED_FILES", "long"),
        field("_NUM_DELETED_FILES", "long"),
        field("_PARTITION_STATS", stats_schema("__PARTITION_STATS")),
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
        field("_KEY_STATS", stats_schema("__FILE__KEY_STATS")),
        field("_VALUE_STATS", stats_schema("__FILE__VALUE_STATS")),
        field("_MIN_SEQUENCE_NUMBER", "long"),
        field("_MAX_SEQUENCE_NUMBER", "long"),
        field("_SCHEMA_ID", "long"),
        field("_LEVEL", "int"),
        field("_EXTRA_FILES", array_of("string")),
        field("_CREATION_TIME", optional({"type": "long", "logicalType": "timestamp-millis"})),
        field("_DELETE_ROW_COUNT", optional("long")),
        field("_EMBEDDED_FILE_INDEX", optional("bytes")),
        field("_FILE_SOURCE", optional("int")),
        field("_VALUE_STATS_COLS", optional(array_of("string"))),
        field("_EXTERNAL_PATH", optional("string")),
        field("_FIRST_ROW_ID", optional("long")),
        field("_WRITE_COLS", optional(array_of("string"))),
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
