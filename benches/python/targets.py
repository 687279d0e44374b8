"""What jobs work on: tables that `benches/tables` made, and columns that are made up on the spot."""

from __future__ import annotations

import datetime as dt
import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

SEED = 20
PERCENT_DELETED = 10
SCATTERED_IDS = 1_000
MERGED_ROWS = 100_000
PAIMON_ROWS = 5_000_000


@dataclass(frozen=True)
class Target:
    """A table of a folder of tables, or only a number of rows; and how many threads may work on it (0: all)."""

    tables: str = ""
    table: str = ""
    rows: int = 0
    workers: int = 0
    # Where the table is, if no index says it.
    at: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """What the index of the tables says about the table."""
        record: dict[str, Any] = json.loads((Path(self.tables) / "index.json").read_text())[self.table]
        return record

    @property
    def location(self) -> str:
        """The `metadata.json` of an Iceberg table, the folder of a Paimon table."""
        if self.at:
            return self.at
        record = self.record
        return str(record["metadata"] if "metadata" in record else record["path"])

    @property
    def folder(self) -> Path:
        location = Path(self.location)
        return location.parent.parent if location.suffix == ".json" else location

    @property
    def is_paimon(self) -> bool:
        return "metadata" not in self.record

    @property
    def paimon_name(self) -> tuple[str, str]:
        """The warehouse of a Paimon table, and its name there."""
        return self.record["warehouse"], self.record["identifier"]

    @property
    def shared(self) -> str:
        """The folder that holds everything: tables of it share data files."""
        return str(Path(self.location).parents[2])

    @property
    def data_files(self) -> list[str]:
        record = self.record
        found = record["data_files"] if "data_files" in record else self.folder.glob("bucket-*/*.parquet")
        return sorted(map(str, found))

    @property
    def absent_id(self) -> int:
        """An `id` between the bounds of all files."""
        return int(self.record["filter"]["id_gap"])

    @property
    def day(self) -> tuple[dt.datetime, dt.datetime]:
        """The start and the end of the day of `ts` that few manifests hold."""
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=self.record["filter"]["day"])
        return start, start + dt.timedelta(days=1)


def int64s(rows: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.random.default_rng(SEED).integers(-(2**62), 2**62, rows))


def strings(rows: int, width: int = 16) -> pa.Array:
    """Give strings of hexadecimal digits."""
    import numpy as np
    import pyarrow as pa

    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = digits[np.random.default_rng(SEED).integers(0, 16, rows * width, dtype=np.uint8)]
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))


def deleted_positions(rows: int) -> Any:
    import numpy as np

    return np.flatnonzero(np.random.default_rng(SEED).random(rows) < PERCENT_DELETED / 100).astype(np.uint32)


def deletion_vector(rows: int) -> bytes:
    """Give the blob of a deletion vector as Puffin files hold it, from its length to its CRC."""
    from pyroaring import BitMap

    bitmap = BitMap(deleted_positions(rows)).serialize()
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    return struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))


def all_rows(target: Target) -> pa.Table:
    """Give the rows of a table to read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables(pq.ParquetFile(file).read() for file in target.data_files).replace_schema_metadata(None)


def some_rows(target: Target) -> pa.Table:
    """Give the first rows of a table to write, one batch after the other."""
    return all_rows(target).slice(0, PAIMON_ROWS)


def scattered_ids(target: Target, count: int = SCATTERED_IDS) -> pa.Array:
    """Give ids of rows here and there in all of the files."""
    return _sample(target.data_files, "id", count)


def merge_files(target: Target) -> list[str]:
    """Give the files that rows are merged into: the first half."""
    return target.data_files[: len(target.data_files) // 2]


def last_merged(target: Target) -> dt.datetime:
    """Give the last `ts` of the rows that others are merged into; those of the files after it are later."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    last: dt.datetime = pc.max(pq.read_table(merge_files(target)[-1], columns=["ts"])["ts"]).as_py()
    return last


def merge_source(target: Target) -> pa.Table:
    """Give rows to merge: nine of ten with the id of a row here or there, the others with ids that no row has."""
    import numpy as np
    import pyarrow as pa

    known = _sample(merge_files(target), "id", MERGED_ROWS * 9 // 10).to_numpy()
    # No made-up id is negative.
    ids = np.concatenate([known, -1 - np.arange(len(known) // 9)])
    numbers = np.arange(len(ids))
    return pa.table(
        {
            "id": ids,
            "ts": pa.array(numbers * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
            "s": [f"merged_{number % 1000}" for number in numbers],
            "d": numbers / 7,
            "v": numbers % 1000,
        }
    )


def _sample(files: list[str], column: str, count: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = pa.concat_arrays([pq.read_table(file, columns=[column])[column].combine_chunks() for file in files])
    count = min(count, len(values) // 2)
    return values.take(pa.array(np.sort(np.random.default_rng(SEED).choice(len(values), count, replace=False))))


def check(result: Any) -> dict[str, float]:
    """Boil a result down to numbers that must be the same for all engines: they are compared before a time counts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(result, dict):
        return result
    if isinstance(result, pa.Array | pa.ChunkedArray):
        return {"rows": len(result), "sum": pc.sum(result.cast(pa.int64())).as_py() or 0}
    sums = {
        f"sum of {field.name}": pc.sum(result.column(field.name)).as_py() or 0
        for field in result.schema
        if pa.types.is_integer(field.type)
    }
    return {"rows": result.num_rows, **sums}
