"""Writes tables for planning: twenty columns with full metrics, partitioned by day and bucket, without data files.

File `n` is in bucket `n % FILES_OF_DAY % BUCKETS` of day `n // FILES_OF_DAY`: a manifest covers one or two days.
"""

from __future__ import annotations

import os
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import iceberg
import numpy as np
import values
from values import DAY_US, FIRST_DAY, ID_LIMIT, Bytes, Integers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS: iceberg.Columns = [
    ("id", "long"),
    ("ts", "timestamptz"),
    *((f"l{n}", "long") for n in range(1, 6)),
    *((f"s{n}", "string") for n in range(1, 6)),
    *((f"t{n}", "timestamptz") for n in range(1, 3)),
    *((f"d{n}", "double") for n in range(1, 4)),
    *((f"m{n}", "decimal(18, 2)") for n in range(1, 4)),
]
# The columns whose bounds differ between files; those of the remaining columns are similar.
VARIED = {"l1", "l3", "l5", "s2", "s4", "d1", "m1"}
FILES_OF_DAY = 4_000  # 62 or 63 in each partition
FILES_OF_MANIFEST = 5_000
ID_SLOT = ID_LIMIT // 63  # the ids of the n-th file of a partition are in the n-th slot
SEGMENTS = np.frombuffer(b"".join(b"customer_seg_%03d" % n for n in range(64)), np.uint8).reshape(64, 16)

Bounds = tuple[Bytes, Bytes]


@dataclass(frozen=True)
class Size:
    """The numbers of files by type."""

    files: int
    position_deletes: int = 0
    equality_deletes: int = 0
    snapshots: int = 1

    def scaled(self, scale: float) -> Size:
        def part(count: int) -> int:
            return max(1, round(count * scale)) if count > 1 else count

        fixed = self.files <= 10
        return Size(
            self.files if fixed else part(self.files),
            part(self.position_deletes),
            part(self.equality_deletes),
            part(self.snapshots),
        )


def make(folder: Path, size: Size) -> dict[str, Any]:
    """Write a table, and return a description of its contents."""
    table = iceberg.Table(folder, COLUMNS, iceberg.DAY_AND_BUCKET)
    table.make_folders()
    starts = range(0, size.files, FILES_OF_MANIFEST)

    # Nearly all of the time is spent in deflate, which runs in parallel threads.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        table.manifests = list(pool.map(lambda start: data_manifest(table, start, size.files), starts))
    for count, deletes in ((size.position_deletes, position_deletes), (size.equality_deletes, equality_deletes)):
        for start in range(0, count, FILES_OF_MANIFEST):
            numbers = np.arange(start, min(start + FILES_OF_MANIFEST, count))
            file = deletes(table, numbers, size.files)
            table.manifests.append(table.write_manifest(len(table.manifests), len(numbers), **file))
    partitions = partitions_of(size.files)
    return {
        "metadata": str(table.write_metadata(size.snapshots)),
        "files": size.files,
        "manifests": len(starts),
        "snapshots": size.snapshots,
        "manifest_bytes": sum(manifest["manifest_length"] for manifest in table.manifests),
        "position_deletes": size.position_deletes,
        "equality_deletes": size.equality_deletes,
        "position_pairs": int(files_in(np.arange(size.position_deletes) % partitions, size.files).sum()),
        **filters(size.files),
    }


def partitions_of(files: int) -> int:
    """Return the number of partitions of the files; partition `n` is bucket `n % BUCKETS` of a day."""
    whole_days, rest = divmod(files, FILES_OF_DAY)
    return whole_days * iceberg.BUCKETS + min(rest, iceberg.BUCKETS)


def first_of(partitions: Integers) -> Integers:
    """Return the first file of each partition."""
    return partitions // iceberg.BUCKETS * FILES_OF_DAY + partitions % iceberg.BUCKETS


def files_in(partitions: Integers, files: int) -> Integers:
    """Return the number of files in each partition."""
    first = first_of(partitions)
    end: Integers = np.minimum((first // FILES_OF_DAY + 1) * FILES_OF_DAY, files)
    return -((first - end) // iceberg.BUCKETS)


def partition_of(files: Integers) -> dict[str, Integers]:
    return {"ts_day": FIRST_DAY + files // FILES_OF_DAY, "id_bucket": files % FILES_OF_DAY % iceberg.BUCKETS}


def filters(files: int) -> dict[str, Any]:
    """Return filters that match no file, so that only planning is timed.

    Engines that cannot plan without reading can be timed too.

    F1 is one day of two manifests (if there are as many) and an id in the gap of all bounds; F2 is only the id. F3 is a
    column other than the partition columns, below all bounds. H1 is F1 with an id that files of that day may contain.
    """
    days = range(-(-files // FILES_OF_DAY))
    middle = [*days[len(days) // 2 :], *days]
    day = next(
        (day for day in middle if day * FILES_OF_DAY // FILES_OF_MANIFEST < last_manifest(day, files)), middle[0]
    )
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=FIRST_DAY + day)
    ends = [f"{end:%Y-%m-%dT%H:%M:%S+00:00}" for end in (start, start + timedelta(days=1))]
    gap, hit = ID_SLOT * 5 + ID_SLOT * 15 // 16, ID_SLOT * 5 + ID_SLOT // 2
    of_day = f"ts >= '{ends[0]}' AND ts < '{ends[1]}'"
    return {
        "filter": {"day": FIRST_DAY + day, "id_gap": gap, "id_hit": hit, "ts": ends},
        "filters": {
            "F1": f"id = {gap} AND {of_day}",
            "F2": f"id = {gap}",
            "F3": "l3 = -1",
            "H1": f"id = {hit} AND {of_day}",
        },
        "expected_files": {"all": files, "F1": 0, "F2": 0, "F3": 0},
        "F1_manifests": last_manifest(day, files) - day * FILES_OF_DAY // FILES_OF_MANIFEST + 1,
    }


def last_manifest(day: int, files: int) -> int:
    return (min((day + 1) * FILES_OF_DAY, files) - 1) // FILES_OF_MANIFEST


def data_manifest(table: iceberg.Table, start: int, files: int) -> dict[str, Any]:
    """Write the manifest of the data files from `start` on, and return its entry for the manifest list."""
    numbers = np.arange(start, min(start + FILES_OF_MANIFEST, files))
    random = np.random.default_rng(start)
    count, ids = len(numbers), range(1, len(COLUMNS) + 1)
    rows = random.integers(1 << 20, 1 << 22, count)
    bounds = {number: make_bounds(random, numbers, *column) for number, column in enumerate(COLUMNS, start=1)}
    return table.write_manifest(
        start // FILES_OF_MANIFEST,
        count,
        file_path=paths(table, numbers),
        partition=partition_of(numbers),
        record_count=rows,
        file_size_in_bytes=random.integers(1 << 27, 1 << 29, count),
        column_sizes={number: random.integers(1 << 20, 1 << 26, count) for number in ids},
        value_counts=dict.fromkeys(ids, rows),
        # Half of the columns have NULLs.
        null_value_counts={
            number: random.integers(64, 8192, count) if number > 2 and number % 2 == 0 else 0 for number in ids
        },
        nan_value_counts={number: 0 for number, (_, kind) in enumerate(COLUMNS, start=1) if kind == "double"},
        lower_bounds={number: low for number, (low, _) in bounds.items()},
        upper_bounds={number: high for number, (_, high) in bounds.items()},
        split_offsets=[4, 1 << 27],
        sort_order_id=0,
    )


def folder_of(table: iceberg.Table, files: Integers) -> Bytes:
    partition = partition_of(files)
    day, bucket = values.dates(partition["ts_day"]), values.digits(partition["id_bucket"], 2)
    return values.join(f"{table.uri}/data/ts_day=".encode(), day, b"/id_bucket=", bucket, b"/")


def paths(table: iceberg.Table, files: Integers) -> Bytes:
    """Return paths in Java's form; the part like a UUID depends only on the number of the file."""
    high = (files.astype(np.uint64) + np.uint64(1)) * values.GOLDEN
    low = (high ^ high >> np.uint64(29)) * np.uint64(0xBF58_476D_1CE4_E5B9)
    digits = np.concatenate([values.hexadecimal(high, 16), values.hexadecimal(low, 16)], axis=1)
    cuts = [digits[:, start:end] for start, end in ((0, 8), (8, 12), (13, 16), (17, 20), (20, 32))]
    name = values.join(
        values.digits(files, 7), b"-", cuts[0], b"-", cuts[1], b"-4", cuts[2], b"-a", cuts[3], b"-", cuts[4]
    )
    return values.join(folder_of(table, files), name, b"-00001.parquet")


def make_bounds(random: np.random.Generator, files: Integers, name: str, kind: str) -> Bounds:
    """Return the bounds of a column."""
    if name == "id":
        return id_bounds(random, files)
    if kind == "timestamptz":
        return time_bounds(random, files, within_day=name == "ts")
    return BOUNDS[kind](random, len(files), name in VARIED)


def id_bounds(random: np.random.Generator, files: Integers) -> Bounds:
    """Return bounds of ids that leave the last eighth of every slot empty."""
    start = files % FILES_OF_DAY // iceberg.BUCKETS * ID_SLOT
    noise = random.integers(0, 1 << 20, (2, len(files)))
    return values.little_endian(start + noise[0]), values.little_endian(start + ID_SLOT * 7 // 8 - noise[1])


def time_bounds(random: np.random.Generator, files: Integers, *, within_day: bool) -> Bounds:
    start = (FIRST_DAY + files // FILES_OF_DAY) * DAY_US
    if within_day:
        noise = random.integers(0, DAY_US // 8, (2, len(files)))
        return values.little_endian(start + noise[0]), values.little_endian(start + DAY_US - 1 - noise[1])
    noise = random.integers(0, DAY_US, (2, len(files)))
    return values.little_endian(start - noise[0]), values.little_endian(start + noise[1])


def long_bounds(random: np.random.Generator, count: int, varied: bool) -> Bounds:  # noqa: FBT001 - one of a table
    if varied:
        low = random.integers(0, 1 << 39, count)
        return values.little_endian(low), values.little_endian(low + random.integers(1, 1 << 39, count))
    return values.little_endian(random.integers(0, 4, count)), values.little_endian(random.integers(990, 1000, count))


def double_bounds(random: np.random.Generator, count: int, varied: bool) -> Bounds:  # noqa: FBT001
    low, more = random.random((2, count))
    if not varied:
        return values.little_endian(low.round(2)), values.little_endian((1000 + more).round(2))
    return values.little_endian(low), values.little_endian(low + 100 * more)


def string_bounds(random: np.random.Generator, count: int, varied: bool) -> Bounds:  # noqa: FBT001
    """Return bounds of sixteen characters, the length to which Iceberg truncates them."""
    if not varied:
        return SEGMENTS[random.integers(0, 8, count)], SEGMENTS[random.integers(56, 64, count)]
    low, high = values.HEX[random.integers(0, 16, (2, count, 16))]
    low[:, 0], high[:, 0] = ord("0"), ord("f")
    return low, high


def decimal_bounds(random: np.random.Generator, count: int, varied: bool) -> Bounds:  # noqa: FBT001
    """Return unscaled numbers of seven bytes."""
    low = random.integers(1 << 47, 1 << 53, count)
    if not varied:
        low = low // 1_000_000 * 1_000_000
    return values.big_endian(low, 7), values.big_endian(low + (1 << 53), 7)


BOUNDS: dict[str, Callable[[np.random.Generator, int, bool], Bounds]] = {
    "long": long_bounds,
    "double": double_bounds,
    "string": string_bounds,
    "decimal(18, 2)": decimal_bounds,
}


def position_deletes(table: iceberg.Table, numbers: Integers, files: int) -> dict[str, Any]:
    """Return delete files for one partition each, whose bounds include the paths of all of its data files."""
    partitions = numbers % partitions_of(files)
    first = first_of(partitions)
    last = first + (files_in(partitions, files) - 1) * iceberg.BUCKETS
    ends = zip((first, last), (0, 4_000_000), strict=True)
    low, high = (
        {iceberg.FILE_PATH_ID: paths(table, end), iceberg.POSITION_ID: struct.pack("<q", position)}
        for end, position in ends
    )
    kind = {"content": iceberg.POSITION_DELETES, "lower_bounds": low, "upper_bounds": high}
    return delete_files(table, numbers, first, b"pos-", kind)


def equality_deletes(table: iceberg.Table, numbers: Integers, files: int) -> dict[str, Any]:
    """Return files of deleted ids for one partition each."""
    half = ID_LIMIT // 2
    low, high = np.random.default_rng(int(numbers[0])).integers(0, half, (2, len(numbers)))
    kind = {
        "content": iceberg.EQUALITY_DELETES,
        "equality_ids": [1],
        "sort_order_id": 0,
        "lower_bounds": {1: values.little_endian(low)},
        "upper_bounds": {1: values.little_endian(half + high)},
    }
    return delete_files(table, numbers, first_of(numbers % partitions_of(files)), b"eq-", kind)


def delete_files(
    table: iceberg.Table, numbers: Integers, first: Integers, prefix: bytes, kind: dict[str, Any]
) -> dict[str, Any]:
    """Return the common properties of both types; `first` are data files of the partitions."""
    ids = list(kind["lower_bounds"])
    return kind | {
        "file_path": values.join(folder_of(table, first), prefix, values.digits(numbers, 7), b"-deletes.parquet"),
        "partition": partition_of(first),
        "record_count": 1000,
        "file_size_in_bytes": 20_000,
        "column_sizes": dict.fromkeys(ids, 9000),
        "value_counts": dict.fromkeys(ids, 1000),
        "null_value_counts": dict.fromkeys(ids, 0),
        "nan_value_counts": {},
        "split_offsets": [4],
    }
