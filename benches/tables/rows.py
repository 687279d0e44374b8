"""Writes tables for reading: the same rows without deletes and with each type of deletes.

T3r has none, T3 position delete files, T4 deletion vectors, T5 equality deletes by an integer, and T5b by a string. The
data files are written once and linked into every table, because some engines require them below its location.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import iceberg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import roaring
import values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from values import Bytes, Integers

COLUMNS: iceberg.Columns = [("id", "long"), ("ts", "timestamptz"), ("s", "string"), ("d", "double"), ("v", "long")]
TYPES = {
    "long": pa.int64(),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "string": pa.string(),
    "double": pa.float64(),
}
DELETED_SHARE = 0.1
DELETED_WORDS = 5_000  # of T5b, of all `WORDS`
WORDS = 100_000
EQUALITY_FILES = 4


@dataclass(frozen=True)
class Rows:
    """The rows of all tables: the number of rows and files, and the folder of the files."""

    folder: Path
    files: int
    rows_of_file: int
    keys: int  # of the equality deletes

    @staticmethod
    def scaled(folder: Path, scale: float) -> Rows:
        return Rows(folder, 20, max(1, round(1_000_000 * scale)), max(EQUALITY_FILES, round(1_000_000 * scale)))

    @property
    def rows(self) -> int:
        return self.files * self.rows_of_file

    @cached_property
    def paths(self) -> list[Path]:
        return [self.folder / f"part-{number:05}.parquet" for number in range(self.files)]

    @cached_property
    def deleted(self) -> list[Integers]:
        """Return the positions that are deleted from each file, in order."""
        count = int(self.rows_of_file * DELETED_SHARE)
        return [
            np.sort(np.random.default_rng([7, number]).choice(self.rows_of_file, count, replace=False))
            for number in range(self.files)
        ]

    def write(self) -> None:
        """Write the files that do not exist yet."""
        marker = self.folder / "made_by.json"
        made_by = json.dumps([self.files, self.rows_of_file])
        if marker.exists() and marker.read_text() == made_by:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.write_file, range(self.files)))
        marker.write_text(made_by)

    def write_file(self, number: int) -> None:
        count = self.rows_of_file
        random = np.random.default_rng([8, number])
        rows = np.arange(number * count, (number + 1) * count)
        columns = [
            pa.array(values.scramble(rows)),
            pa.array(values.FIRST_DAY_US + rows * 1000 + random.integers(0, 1000, count)),
            words(np.arange(WORDS)).take(pa.array(self.word_numbers(number))),
            pa.array((random.random(count) * 1000).round(2)),
            pa.array(random.integers(0, 1000, count)),
        ]
        fields = [parquet_field(name) for name, _ in COLUMNS]
        arrays = [column.cast(field.type) for column, field in zip(columns, fields, strict=True)]
        table = pa.table(arrays, schema=pa.schema(fields))
        pq.write_table(table, self.paths[number], compression="zstd", row_group_size=1 << 20)

    def word_numbers(self, number: int) -> Integers:
        return np.random.default_rng([9, number]).integers(0, WORDS, self.rows_of_file)

    def rows_with_words_below(self, limit: int) -> int:
        return sum(int((self.word_numbers(number) < limit).sum()) for number in range(self.files))


def make(folder: Path, rows: Rows, name: str) -> dict[str, Any]:
    """Write a table, and return a description of its contents."""
    rows.write()
    delete, version = KINDS[name]
    table = iceberg.Table(folder, COLUMNS, version=version)
    table.make_folders()
    for path in rows.paths:
        os.link(path, folder / "data" / path.name)
    sizes = sizes_of(rows.paths)
    data = {
        "file_path": uris(table, rows.paths),
        "record_count": rows.rows_of_file,
        "file_size_in_bytes": sizes,
    }
    table.manifests.append(table.write_manifest(0, rows.files, **data))
    left = rows.rows - delete(table, rows)
    return {
        "metadata": str(table.write_metadata()),
        "files": rows.files,
        "rows": rows.rows,
        "expected_rows": left,
        "parquet_bytes": int(sizes.sum()),
        "data_files": [str(path) for path in rows.paths],
    }


def parquet_field(name: str) -> pa.Field:
    number = [column for column, _ in COLUMNS].index(name)
    return pa.field(name, TYPES[COLUMNS[number][1]], metadata={"PARQUET:field_id": str(number + 1)})


def words(numbers: Integers, prefix: bytes = b"name_") -> pa.Array:
    """Return strings of sixteen characters, distinct for distinct numbers below 99,999,999,999."""
    rows = values.join(prefix, values.digits(numbers * 2_654_435_761 % 99_999_999_999, 11))
    return (
        pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(rows), [None, pa.py_buffer(rows.tobytes())])
        .cast(pa.binary())
        .cast(pa.string())
    )


def uris(table: iceberg.Table, paths: list[Path]) -> Bytes:
    """Return the locations of files in a table; all names have the same length."""
    return np.array([list(f"{table.uri}/data/{path.name}".encode()) for path in paths], np.uint8)


def sizes_of(paths: list[Path]) -> Integers:
    return np.array([path.stat().st_size for path in paths])


def counts_of(parts: Sequence[Any]) -> Integers:
    return np.array([len(part) for part in parts])


def add_deletes(table: iceberg.Table, count: int, **file: Any) -> None:
    table.manifests.append(table.write_manifest(1, count, **file))


def no_deletes(_table: iceberg.Table, _rows: Rows) -> int:
    return 0


def position_deletes(table: iceberg.Table, rows: Rows) -> int:
    """Write a delete file for each data file, and return the number of deleted rows."""
    schema = pa.schema(
        [
            delete_field("file_path", pa.string(), iceberg.FILE_PATH_ID),
            delete_field("pos", pa.int64(), iceberg.POSITION_ID),
        ]
    )
    data = uris(table, rows.paths)
    files = [table.folder / "data" / f"{number:05}-deletes.parquet" for number in range(rows.files)]
    for path, uri, positions in zip(files, values.texts(data), rows.deleted, strict=True):
        paths = pa.array([uri]).take(pa.array(np.zeros(len(positions), np.int8)))
        pq.write_table(pa.table([paths, pa.array(positions)], schema=schema), path, compression="zstd")
    add_deletes(
        table,
        rows.files,
        content=iceberg.POSITION_DELETES,
        file_path=uris(table, files),
        record_count=counts_of(rows.deleted),
        file_size_in_bytes=sizes_of(files),
        lower_bounds={iceberg.FILE_PATH_ID: data},
        upper_bounds={iceberg.FILE_PATH_ID: data},
        referenced_data_file=data,
    )
    return sum(map(len, rows.deleted))


def delete_field(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"PARQUET:field_id": str(number)})


def deletion_vectors(table: iceberg.Table, rows: Rows) -> int:
    """Write a deletion vector for each data file, all to one Puffin file."""
    path = table.folder / "data" / "deletes.puffin"
    data = uris(table, rows.paths)
    body, blobs = bytearray(b"PFA1"), []
    for uri, positions in zip(values.texts(data), rows.deleted, strict=True):
        blob = vector_blob(positions)
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [iceberg.POSITION_ID],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(body),
                "length": len(blob),
                "properties": {"referenced-data-file": uri, "cardinality": str(len(positions))},
            }
        )
        body += blob
    footer = json.dumps({"blobs": blobs, "properties": {"created-by": "benches"}}).encode()
    body += b"PFA1" + footer + struct.pack("<i", len(footer)) + bytes(4) + b"PFA1"
    path.write_bytes(body)
    add_deletes(
        table,
        rows.files,
        content=iceberg.POSITION_DELETES,
        file_path=uris(table, [path])[0].tobytes(),
        file_format="PUFFIN",
        record_count=counts_of(rows.deleted),
        file_size_in_bytes=len(body),
        referenced_data_file=data,
        content_offset=np.array([blob["offset"] for blob in blobs]),
        content_size_in_bytes=np.array([blob["length"] for blob in blobs]),
    )
    return sum(map(len, rows.deleted))


def vector_blob(positions: Integers) -> bytes:
    checked = b"\xd1\xd3\x39\x64" + roaring.encode64(positions)
    return struct.pack(">I", len(checked)) + checked + struct.pack(">I", zlib.crc32(checked))


def equality_deletes_by_id(table: iceberg.Table, rows: Rows) -> int:
    """Delete scattered rows by their ids."""
    which = np.random.default_rng(10).choice(rows.rows, rows.keys, replace=False)
    write_equality_deletes(table, "id", pa.array(values.scramble(np.sort(which))))
    return rows.keys


def equality_deletes_by_word(table: iceberg.Table, rows: Rows) -> int:
    """Delete by strings of which only a few are in the rows, so that not all rows are deleted."""
    hits = min(DELETED_WORDS, rows.keys // 2)
    keys = [words(np.arange(hits)), words(np.arange(hits, rows.keys), b"miss_")]
    write_equality_deletes(table, "s", pa.concat_arrays(keys))
    return rows.rows_with_words_below(hits)


def write_equality_deletes(table: iceberg.Table, column: str, keys: pa.Array) -> None:
    field = parquet_field(column)
    number = int(field.metadata[b"PARQUET:field_id"])
    rows_of_file = -(-len(keys) // EQUALITY_FILES)
    parts = [keys.slice(start, rows_of_file) for start in range(0, len(keys), rows_of_file)]
    files = [table.folder / "data" / f"eq-{part:05}.parquet" for part in range(len(parts))]
    for path, part in zip(files, parts, strict=True):
        pq.write_table(pa.table([part], schema=pa.schema([field])), path, compression="zstd")
    add_deletes(
        table,
        len(files),
        content=iceberg.EQUALITY_DELETES,
        file_path=uris(table, files),
        record_count=counts_of(parts),
        file_size_in_bytes=sizes_of(files),
        equality_ids=[number],
        sort_order_id=0,
    )


# By name: the function that deletes rows and returns their number, and the format version.
KINDS: dict[str, tuple[Callable[[iceberg.Table, Rows], int], int]] = {
    "T3r": (no_deletes, 2),
    "T3": (position_deletes, 2),
    "T4": (deletion_vectors, 3),
    "T5": (equality_deletes_by_id, 2),
    "T5b": (equality_deletes_by_word, 2),
}
