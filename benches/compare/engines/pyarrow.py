"""pyarrow on the same data files, one after another: no table format, deletes or merges.

It is the limit of reading and writing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from targets import all_rows, merge_files, scattered_ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("pyarrow",)


def read_files(target: Target) -> Callable[[], pa.Table]:
    files = target.data_files
    # Excludes the columns that Paimon adds for merging.
    columns = [name for name in pq.read_schema(files[0]).names if not name.startswith("_")]
    return lambda: pa.concat_tables(pq.ParquetFile(file).read(columns) for file in files)


def stream_files(target: Target) -> Callable[[], dict[str, float]]:
    """Read the files one by one, and release each one after it is read."""
    files = target.data_files
    return lambda: {"rows": sum(pq.ParquetFile(file).read().num_rows for file in files)}


def write_rows(target: Target) -> Callable[[], dict[str, float]]:
    """Write rows, which are in memory, to one file without partitions."""
    rows, file = all_rows(target), _written(target)

    def run() -> dict[str, float]:
        pq.write_table(rows, file, compression="zstd")
        return {"rows": rows.num_rows}

    return run


def find_ids(target: Target) -> Callable[[], dict[str, float]]:
    """Find the rows to delete by their ids."""
    ids = pc.SetLookupOptions(scattered_ids(target))

    def found(file: str) -> int:
        column = pq.ParquetFile(file).read(["id"])["id"]
        return int(pc.sum(pc.is_in(column, options=ids)).as_py() or 0)

    return lambda: {"deleted": sum(map(found, target.data_files))}


def read_merged(target: Target) -> Callable[[], dict[str, float]]:
    """Read the rows that other rows are merged into."""
    files = merge_files(target)
    return lambda: {"rows_read": sum(pq.ParquetFile(file).read().num_rows for file in files)}


def rewrite_merged(target: Target) -> Callable[[], dict[str, float]]:
    """Read the same rows and rewrite them."""
    files, written = merge_files(target), _written(target)

    def run() -> dict[str, float]:
        for file in files:
            pq.write_table(pq.ParquetFile(file).read(), written, compression="zstd")
        return {"files_written": len(files)}

    return run


def copy_metadata(target: Target) -> Callable[[], dict[str, float]]:
    """Read the metadata of a table and rewrite it."""

    def run() -> dict[str, float]:
        metadata = json.loads(Path(target.location).read_text())
        Path(_written(target)).write_text(json.dumps(metadata))
        return {"snapshots": len(metadata["snapshots"])}

    return run


def _written(target: Target) -> str:
    folder = Path(target.tables) / "written"
    folder.mkdir(exist_ok=True)
    return str(folder / "file")
