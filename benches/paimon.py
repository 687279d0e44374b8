"""Time reading Paimon tables, next to other engines: `python benches/paimon.py FOLDER [--peers PYTHON] [...]`.

`FOLDER` is one that `benches/paimon_tables.py` wrote. `--peers` is the Python of an environment with the packages of
`benches/paimon_peers.txt`; without it only frazil is timed, and pyarrow on the same files, which merges nothing.

Every figure is of a fresh process with a warm page cache: CPU seconds of all threads, from opening the table to the
last row, and how much the resident set grew at most over what it was after the imports. Engines take turns; given is
the best run. Before anything is timed, all engines must give the same rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

MIB = 1024
SORT = [("k", "ascending"), ("v2", "ascending")]


def main() -> int:
    """Time the jobs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", help="the Python of the other engines")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", nargs="*", default=["table", "stream"], choices=["table", "stream"])
    parser.add_argument("--columns", nargs="*", help="read only these")
    parser.add_argument("--tables", nargs="*", default=["merge", "append"])
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--unchecked", action="store_true", help="do not compare the rows of the engines")
    parser.add_argument("--worker", nargs=3, metavar=("ENGINE", "JOB", "TABLE"), help=argparse.SUPPRESS)
    parser.add_argument("--save", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--compare", nargs="*", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(*arguments.worker, arguments)
        return 0
    if arguments.compare:
        return compare(arguments.compare)
    return measure(arguments)


def measure(arguments: argparse.Namespace) -> int:
    engines = {name: sys.executable if ENGINES[name][0] else arguments.peers for name in arguments.engines}
    engines = {name: python for name, python in engines.items() if python}
    print(f"{os.cpu_count()} processors, best of {arguments.runs}")
    head = f"{'table':<8} {'job':<7} {'engine':<16} {'rows':>9} {'wall s':>8} {'CPU s':>8}"
    print(f"{head} {'M rows in/CPU s':>15} {'MiB':>7}")
    failed = False
    for table in arguments.tables:
        if not arguments.unchecked:
            failed |= not same_rows(table, engines, arguments)
        rows_in = rows_of_snapshot(arguments.folder / "bench.db" / table)
        for job in arguments.jobs:
            best: dict[str, dict[str, float]] = {}
            for _ in range(arguments.runs):
                for engine, python in engines.items():
                    got = run(python, engine, job, table, arguments, [])
                    if got is None:
                        failed = True
                    elif engine not in best or got["cpu"] < best[engine]["cpu"]:
                        best[engine] = got
            for engine, got in best.items():
                rate = rows_in / got["cpu"] / 1e6
                figures = f"{got['rows']:>9} {got['wall']:>8.2f} {got['cpu']:>8.2f} {rate:>15.2f} {got['mib']:>7.0f}"
                print(f"{table:<8} {job:<7} {engine:<16} {figures}", flush=True)
    return int(failed)


def same_rows(table: str, engines: dict[str, str], arguments: argparse.Namespace) -> bool:
    """Compare the rows that engines give, but for those of bare files of a table that is merged."""
    with tempfile.TemporaryDirectory() as folder:
        saved = []
        for engine, python in engines.items():
            if engine == "pyarrow" and table == "merge":
                continue
            path = Path(folder) / f"{engine}.arrow"
            if run(python, engine, "table", table, arguments, ["--save", str(path)]) is None:
                return False
            saved.append(str(path))
        command = [sys.executable, __file__, "-", "--compare", *saved]
        same = subprocess.run(command, check=False).returncode == 0  # noqa: S603 - this script
    print(f"{table}: {', '.join(Path(path).stem for path in saved)} {'agree' if same else 'DIFFER'}", flush=True)
    return same


def compare(paths: list[Path]) -> int:
    from pyarrow import feather

    first = feather.read_table(paths[0])
    for path in paths[1:]:
        other = feather.read_table(path)
        if not other.select(first.column_names).cast(first.schema).equals(first):
            print(f"{path.stem} and {paths[0].stem} differ: {other.num_rows} and {first.num_rows} rows")
            return 1
    return 0


def run(
    python: str, engine: str, job: str, table: str, arguments: argparse.Namespace, more: list[str]
) -> dict[str, float] | None:
    command = [python, __file__, str(arguments.folder), *more, "--worker", engine, job, table]
    if arguments.columns:
        command += ["--columns", *arguments.columns]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this script
    if done.returncode:
        print(f"{table:<8} {job:<7} {engine:<16} failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
        return None
    got: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return got


def rows_of_snapshot(location: Path) -> int:
    rows: int = json.loads((location / "snapshot" / "snapshot-1").read_text())["totalRecordCount"]
    return rows


def work(engine: str, job: str, table: str, arguments: argparse.Namespace) -> None:
    """Do a job and print what it took, as JSON."""
    location = arguments.folder / "bench.db" / table
    read = ENGINES[engine][1]
    begin = read(location, arguments.columns)
    # The high-water mark is set to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    start_mib, wall, cpu = resident_mib("VmRSS"), time.perf_counter(), time.process_time()
    result = begin(stream=job == "stream")
    rows = sum(batch.num_rows for batch in result) if job == "stream" else result.num_rows
    figures = {
        "rows": rows,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "mib": resident_mib("VmHWM") - start_mib,
    }
    if arguments.save:
        from pyarrow import feather

        feather.write_feather(result.sort_by(SORT).combine_chunks(), str(arguments.save), compression="uncompressed")
    print(json.dumps(figures))


def resident_mib(what: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what + ":")) / MIB


# Each engine imports what it needs, then gives a function that opens and reads.


def frazil(location: Path, columns: list[str] | None) -> Callable[..., Any]:
    import pyarrow as pa  # noqa: F401 - is imported by what is timed
    import pyarrow.parquet  # noqa: F401

    import frazil

    def begin(*, stream: bool) -> Any:
        scan = frazil.load_table(str(location)).scan(selected_fields=tuple(columns or ("*",)))
        return scan.to_arrow_batch_reader() if stream else scan.to_arrow()

    return begin


def pyarrow_files(location: Path, columns: list[str] | None) -> Callable[..., Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = columns or ["k", "v1", "v2", "s"]

    def batches() -> Iterator[pa.RecordBatch]:
        for path in sorted((location / "bucket-0").iterdir()):
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(131_072, columns=columns, use_threads=False)

    def begin(*, stream: bool) -> Any:
        return batches() if stream else pa.Table.from_batches(batches())

    return begin


def pypaimon_with(options: dict[str, str]) -> Callable[..., Any]:
    def engine(location: Path, columns: list[str] | None) -> Callable[..., Any]:
        import pypaimon

        def begin(*, stream: bool) -> Any:
            catalog = pypaimon.CatalogFactory.create({"warehouse": str(location.parent.parent)})
            table = catalog.get_table(f"bench.{location.name}")
            builder = table.copy(options).new_read_builder()
            if columns:
                builder = builder.with_projection(columns)
            splits = builder.new_scan().plan().splits()
            read = builder.new_read()
            return read.to_arrow_batch_reader(splits) if stream else read.to_arrow(splits)

        return begin

    return engine


def paimon_rust(location: Path, columns: list[str] | None) -> Callable[..., Any]:
    import pyarrow as pa
    from pypaimon_rust.datafusion import PaimonCatalog

    def begin(*, stream: bool) -> Any:
        catalog = PaimonCatalog({"warehouse": str(location.parent.parent)})
        builder = catalog.get_table(f"bench.{location.name}").new_read_builder()
        if columns:
            builder = builder.with_projection(columns)
        batches: Iterable[pa.RecordBatch] = builder.new_read().read_arrow(builder.new_scan().plan().splits())
        return batches if stream else pa.Table.from_batches(batches)

    return begin


# By name: whether it runs where this script runs, and how it reads.
ENGINES: dict[str, tuple[bool, Callable[..., Callable[..., Any]]]] = {
    "frazil": (True, frazil),
    "pyarrow": (True, pyarrow_files),
    "paimon-rust": (False, paimon_rust),
    "pypaimon native": (False, pypaimon_with({"read.native.enabled": "true"})),
    "pypaimon": (False, pypaimon_with({})),
}

if __name__ == "__main__":
    sys.exit(main())
