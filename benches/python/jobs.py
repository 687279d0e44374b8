"""Time frazil's jobs end to end: `python benches/python/jobs.py JOB TABLE [RUNS]`.

The table is a folder, a `metadata.json`, or a number of rows. A job is a function that takes a `Target`, prepares
everything, and returns the function that is timed. `benches/compare` runs the same jobs next to other engines.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet

import frazil
import frazil.transforms
from clock import Clock
from targets import Target, check, deletion_vector, int64s, strings

if TYPE_CHECKING:
    from collections.abc import Callable

BUCKETS = 64
BOUNDS = "l3 = -1"
PLANNED = ("file_path", "file_format", "spec_id", "partition", "record_count", "file_size_in_bytes", "first_row_id")


def list_files(target: Target) -> Callable[[], dict[str, float]]:
    """Open and list every file with its deletes, as a stream of Arrow batches."""
    _configure(target)
    return partial(_plan, target, "")


def filter_bounds(target: Target) -> Callable[[], dict[str, float]]:
    """Open and plan with a filter that prunes no partition but all files by their bounds."""
    _configure(target)
    return partial(_plan, target, BOUNDS)


def filter_bounds_again(target: Target) -> Callable[[], dict[str, float]]:
    """Plan again in the same process, with another handle of the table."""
    filter_bounds(target)()
    return filter_bounds(target)


def filter_opened(target: Target) -> Callable[[], dict[str, float]]:
    """Plan with the filter on bounds, in an open table."""
    _configure(target)
    table = frazil.load_table(target.location)
    return lambda: _files(table.scan(BOUNDS))


def filter_partition(target: Target) -> Callable[[], dict[str, float]]:
    """Open and plan with a filter that keeps few manifests."""
    _configure(target)
    start, end = (f"TIMESTAMP '{time:%Y-%m-%dT%H:%M:%S}+00:00'" for time in target.day)
    return partial(_plan, target, f"id = {target.absent_id} and ts >= {start} and ts < {end}")


def inspect_planned(target: Target) -> Callable[[], dict[str, float]]:
    """Open and stream the columns of the metadata table `files` that a plan has."""
    _configure(target)
    return partial(_inspect, target, PLANNED)


def inspect_files(target: Target) -> Callable[[], dict[str, float]]:
    """Open and stream all columns of the metadata table `files`, with metrics and bounds in both forms."""
    _configure(target)
    return partial(_inspect, target, ("*",))


def read_rows(target: Target) -> Callable[[], pa.Table]:
    """Open and read all rows into one Arrow table."""
    _configure(target)
    return lambda: frazil.load_table(target.location).scan().to_arrow()


def stream_rows(target: Target) -> Callable[[], dict[str, float]]:
    """Open and read all rows as a stream of batches that are discarded."""
    _configure(target)
    return lambda: {
        "rows": sum(batch.num_rows for batch in frazil.load_table(target.location).scan().to_arrow_batch_reader())
    }


def bucket_int64(target: Target) -> Callable[[], pa.Array]:
    return partial(frazil.transforms.bucket(BUCKETS), int64s(target.rows))


def bucket_string(target: Target) -> Callable[[], pa.Array]:
    return partial(frazil.transforms.bucket(BUCKETS), strings(target.rows))


def deletion_mask(target: Target) -> Callable[[], pa.Array]:
    """Convert the blob of a deletion vector to the mask of the remaining rows."""
    from frazil.iceberg import deletion_vector as vectors

    return partial(vectors.kept_rows, deletion_vector(target.rows), target.rows)


def _configure(target: Target) -> None:
    frazil.config.allowed_locations = [target.shared]
    if target.workers:
        frazil.config.max_workers = target.workers


def _plan(target: Target, row_filter: str) -> dict[str, float]:
    return _files(frazil.load_table(target.location).scan(row_filter))


def _files(scan: Any) -> dict[str, float]:
    files = deletes = 0
    for batch in scan.plan().to_arrow_batch_reader():
        files += batch.num_rows
        if "delete_files" in batch.schema.names:
            deletes += pc.sum(pc.list_value_length(batch.column("delete_files"))).as_py() or 0
    return {"files": files, "deletes": deletes}


def _inspect(target: Target, columns: tuple[str, ...]) -> dict[str, float]:
    rows = frazil.load_table(target.location).inspect["files"].scan(selected_fields=columns)
    return {"files": sum(batch.num_rows for batch in rows.to_arrow_batch_reader())}


def main() -> None:
    """Print the measurements of every run."""
    job, what, *runs = sys.argv[1:]
    target = Target(rows=int(what)) if what.isdecimal() else Target(at=what)
    run = globals()[job](target)
    for _ in range(int(runs[0]) if runs else 3):
        with Clock() as clock:
            result = run()
        figures = ", ".join(f"{name} {value:.4g}" for name, value in (clock.figures() | check(result)).items())
        print(f"{job} {what}: {figures}")


if __name__ == "__main__":
    main()
