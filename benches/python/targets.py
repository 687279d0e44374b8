"""The input of jobs: tables that `benches/tables` created, and generated columns."""

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
    """A table in a folder of tables, or only a number of rows; and the number of threads (0: all)."""

    tables: str = ""
    table: str = ""
    rows: int = 0
    workers: int = 0
    # The location of the table, if it is not in an index.
    at: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """Return the record of the table in the index."""
        record: dict[str, Any] = json.loads((Path(self.tables) / "index.json").read_text())[self.table]
        return record

    @property
    def location(self) -> str:
        """Return the `metadata.json` of an Iceberg table, or the folder of a Paimon table."""
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
        """Return the warehouse of a Paimon table, and its name there."""
        return self.record["warehouse"], self.record["identifier"]

    @property
    def shared(self) -> str:
        """Return the common root folder, because its tables share data files."""
        return str(Path(self.location).parents[2])

    @property
    def data_files(self) -> list[str]:
        record = self.record
        found = record["data_files"] if "data_files" in record else self.folder.glob("bucket-*/*.parquet")
        return sorted(map(str, found))

    @property
    def absent_id(self) -> int:
        """Return an `id` that is within the bounds of all files but in none."""
        return int(self.record["filter"]["id_gap"])

    @property
    def day(self) -> tuple[dt.datetime, dt.datetime]:
        """Return the start and the end of the day of `ts` that only a few manifests contain."""
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=self.record["filter"]["day"])
        return start, start + dt.timedelta(days=1)


def int64s(rows: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.random.default_rng(SEED).integers(-(2**62), 2**62, rows))


def strings(rows: int, width: int = 16) -> pa.Array:
    """Return strings of hexadecimal digits."""
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
    """Return the blob of a deletion vector as in Puffin files, from its length to its CRC."""
    from pyroaring import BitMap

    bitmap = BitMap(deleted_positions(rows)).serialize()
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    return struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))


def all_rows(target: Target) -> pa.Table:
    """Return the rows of a table to read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables(pq.ParquetFile(file).read() for file in target.data_files).replace_schema_metadata(None)


def some_rows(target: Target) -> pa.Table:
    """Return the first rows of a table to write, batch by batch."""
    return all_rows(target).slice(0, PAIMON_ROWS)


def scattered_ids(target: Target, count: int = SCATTERED_IDS) -> pa.Array:
    """Return ids of rows scattered over all files."""
    return _sample(target.data_files, "id", count)


def merge_files(target: Target) -> list[str]:
    """Return the files that rows are merged into: the first half."""
    return target.data_files[: len(target.data_files) // 2]


def last_merged(target: Target) -> dt.datetime:
    """Return the last `ts` of the rows that are merged into; rows of subsequent files are later."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    last: dt.datetime = pc.max(pq.read_table(merge_files(target)[-1], columns=["ts"])["ts"]).as_py()
    return last


def merge_source(target: Target) -> pa.Table:
    """Return rows to merge: nine of ten have the id of a scattered row, the remaining ones have new ids."""
    import numpy as np
    import pyarrow as pa

    known = _sample(merge_files(target), "id", MERGED_ROWS * 9 // 10).to_numpy()
    # Generated ids are never negative.
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
    """Reduce a result to numbers that must be equal for all engines; they are compared before a time counts."""
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
