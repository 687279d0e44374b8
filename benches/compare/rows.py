"""The rows of the benchmark, as data.

A row is the ratio of two figures from one run: that of frazil (`ours`) over that of a limit, a peer, or frazil itself
in another state (`against`). Its mark is also a ratio; the comment next to it explains its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Figure = Literal["cpu_s", "wall_s", "rise_mib"]


@dataclass(frozen=True)
class Work:
    """A job of an engine on a table or on `rows` values, with `workers` threads or the default number."""

    engine: str
    job: str
    table: str = ""
    rows: int = 0
    workers: int = 0
    # The number of repetitions in a process, of which the fastest counts: for kernels, and jobs that are warm by
    # definition.
    repeats: int = 1


@dataclass(frozen=True)
class Mark:
    """The ratio that a row must meet: `reach / of`."""

    reach: float
    of: float = 1.0
    at_least: bool = False

    @property
    def ratio(self) -> float:
        return self.reach / self.of

    def holds(self, ratio: float) -> bool:
        return ratio >= self.ratio if self.at_least else ratio <= self.ratio

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.ratio:.3g}"


@dataclass(frozen=True)
class Row:
    """`(ours - less) / against`, each divided by the value `per` in the index; without `against`, `ours` itself."""

    id: str
    title: str
    ours: Work
    against: Work | None
    mark: Mark
    figure: Figure = "cpu_s"
    less: Work | None = None
    per: str = ""
    # The other engines in `make bench`, and those that `make bench-full` adds.
    peers: tuple[str, ...] = ()
    more_peers: tuple[str, ...] = ()
    # Whether only `make bench-full` includes the row.
    full: bool = False

    def works(self, *, full: bool) -> tuple[Work, ...]:
        """Return everything that is measured for this row."""
        peers = (work for engine in self.peer_names(full=full) for work in self.of_peer(engine).own)
        return tuple(dict.fromkeys((*self.own, *([self.against] if self.against else ()), *peers)))

    @property
    def own(self) -> tuple[Work, ...]:
        """Return the work of the engine of the row."""
        return (self.ours, self.less) if self.less else (self.ours,)

    def peer_names(self, *, full: bool) -> tuple[str, ...]:
        return self.peers + (self.more_peers if full else ())

    def of_peer(self, engine: str) -> Row:
        """Return the row for another engine."""
        less = replace(self.less, engine=engine) if self.less else None
        return replace(self, ours=replace(self.ours, engine=engine), less=less)


INT64S, STRINGS, POSITIONS = 50_000_000, 10_000_000, 10_000_000
# In `make bench`, the result of a kernel and of its limit is the best of this many repetitions.
KERNEL = 5


def limit(job: str, table: str = "") -> Work:
    return Work("limits", job, table)


def frazil(job: str, table: str = "", *, rows: int = 0, workers: int = 0, repeats: int = 1) -> Work:
    return Work("frazil", job, table, rows, workers, repeats)


LIST, BOUNDS, WALK = frazil("list_files", "T1"), frazil("filter_bounds", "T1"), limit("walk", "T1")
BARE, BARE_STREAM = Work("pyarrow", "read_files", "T3r"), Work("pyarrow", "stream_files", "T3r")
STREAM = frazil("stream_rows", "T3r")
SPARK_PARQUET = Work("spark_parquet", "aggregate", "T3r")
IN_SPARK = {table: Work("spark_frazil", "aggregate", table) for table in ("T3r", "T3", "T4", "T5")}
SPARK_SOURCE = Work("spark_frazil", "aggregate_source", "T3r")
SQL_INSERT, API_INSERT = (Work("spark_frazil", job, "T3r") for job in ("sql_insert", "api_insert"))
SQL_QUERY, API_QUERY = (Work("spark_frazil", job, "T3r") for job in ("sql_query", "api_query"))
SQL_DELETE, API_DELETE = (Work("spark_frazil", job, "T3r") for job in ("sql_delete", "api_delete"))
SQL_MERGE, JAVA_MERGE = (Work(engine, "sql_merge", "T3r") for engine in ("spark_frazil", "spark_java"))
APPEND, WRITE = frazil("append_rows", "T3r"), Work("pyarrow", "write_rows", "T3r")
FIND_IDS, MERGE = Work("pyarrow", "find_ids", "T3r"), frazil("merge_on_read", "T3r")
COPY_METADATA = Work("pyarrow", "copy_metadata", "TH")
APPEND_PAIMON, UPSERT_PAIMON = frazil("append_paimon", "T3r"), frazil("upsert_paimon", "T3r")
COMPACT_PAIMON = frazil("compact_paimon", "T3r")
# With twice the threads, the work takes at most this fraction of the time.
TWO_THREADS = Mark(1.7, at_least=True)
# Ten times the input takes ten times the time, except for noise.
LINEAR = Mark(1.15)


ROWS = (
    # One million files of 20 columns with metrics in 200 manifests. Marks are CPU seconds relative to the limit.
    Row("B1", "list 1 M files", LIST, WALK, Mark(2.0, 1.45), peers=("polars",), more_peers=("pyiceberg",)),
    Row("B1x2", "B1: one thread / two", frazil("list_files", "T1", workers=1), LIST, TWO_THREADS, "wall_s"),
    Row("B1g", "B1: a file of 1 M / of 100 k", LIST, frazil("list_files", "T1s"), LINEAR, per="files"),
    Row("B1i", "B1 by inspect.files(): the columns of B1", frazil("inspect_planned", "T1"), LIST, Mark(1.3)),
    Row("B1m", "B1 by inspect.files(): all columns", frazil("inspect_files", "T1"), LIST, Mark(2.8)),
    Row(
        "B2",
        "plan 1 M files by bounds",
        BOUNDS,
        WALK,
        Mark(1.75, 1.45),
        peers=("polars",),
        more_peers=("pyiceberg", "chdb"),
    ),
    Row("B2x2", "B2: one thread / two", frazil("filter_bounds", "T1", workers=1), BOUNDS, TWO_THREADS, "wall_s"),
    Row("B2g", "B2: a manifest of 200 / of 20", BOUNDS, frazil("filter_bounds", "T1s"), LINEAR, per="manifests"),
    Row(
        "B2h",
        "plan after 5,000 commits / after one",
        frazil("filter_opened", "TH", repeats=20),
        frazil("filter_opened", "W", repeats=20),
        LINEAR,
    ),
    # A pass over 40 MB of bounds at memory bandwidth took 1.45 ms; the target was 20 ms.
    Row(
        "B3", "B2 again, warm", frazil("filter_bounds_again", "T1", repeats=KERNEL), limit("bandwidth"), Mark(20, 1.45)
    ),
    Row(
        "B4",
        "plan 1 M files by partition, 2 manifests left",
        frazil("filter_partition", "T1"),
        limit("walk_of_day", "T1"),
        Mark(0.022, 0.015),
        peers=("polars",),
        more_peers=("pyiceberg", "chdb"),
    ),
    # The walk's own columns are 190 MiB.
    Row("B5", "memory of B1", LIST, WALK, Mark(280, 190), "rise_mib", peers=("polars",), more_peers=("pyiceberg",)),
    Row("B5f", "memory of B2", BOUNDS, None, Mark(64), "rise_mib", peers=("polars",), more_peers=("pyiceberg", "chdb")),
    # Limits visit the manifests of data and of deletes.
    Row(
        "B6",
        "list 100 k files with 20 k position deletes",
        frazil("list_files", "T2p"),
        limit("walk", "T2p"),
        Mark(0.35, 0.21),
        more_peers=("polars", "pyiceberg"),
    ),
    Row(
        "B6e",
        "plan them by bounds, with 2 k equality deletes",
        frazil("filter_bounds", "T2"),
        limit("walk", "T2"),
        Mark(0.25, 0.18),
        more_peers=("chdb",),
    ),
    # The limit uses the instructions of the processor; these figures are for AVX-512.
    Row(
        "B7",
        "bucket of 50 M int64",
        frazil("bucket_int64", rows=INT64S, repeats=KERNEL),
        limit("bucket_int64"),
        Mark(0.028, 0.022),
        peers=("daft",),
        more_peers=("pyiceberg_core", "chdb"),
    ),
    Row(
        "B7s",
        "bucket of 10 M strings of 16 bytes",
        frazil("bucket_string", rows=STRINGS, repeats=KERNEL),
        limit("bucket_string"),
        Mark(0.025, 0.012),
        peers=("daft",),
        more_peers=("pyiceberg_core", "chdb"),
    ),
    Row(
        "B8",
        "deletion vector of 10 M rows, 10 %, to a mask",
        frazil("deletion_mask", rows=POSITIONS, repeats=20),
        limit("deletion_mask"),
        Mark(0.25, 0.13),
        peers=("pyroaring",),
        more_peers=("pyiceberg",),
    ),
    # 20 M rows of 5 columns; the limit is pyarrow on the same files without deletes.
    Row(
        "B9",
        "read 20 M rows, 10 % position deletes",
        frazil("read_rows", "T3"),
        BARE,
        Mark(1.2, 0.95),
        peers=("polars",),
        more_peers=("daft", "pyiceberg", "chdb"),
    ),
    Row(
        "B9v",
        "read 20 M rows, 10 % deletion vectors",
        frazil("read_rows", "T4"),
        BARE,
        Mark(1.1, 0.95),
        peers=("polars",),
        more_peers=("pyiceberg",),
    ),
    Row(
        "B9x2",
        "B9 as a stream: one thread / two",
        frazil("stream_rows", "T3", workers=1),
        frazil("stream_rows", "T3"),
        TWO_THREADS,
        "wall_s",
    ),
    # Only the time for deletes: the time for the same rows without deletes is subtracted.
    Row(
        "B10",
        "delete 1 M int64 keys from 20 M rows",
        frazil("stream_rows", "T5"),
        limit("probe_int64"),
        Mark(0.25, 0.064),
        less=STREAM,
        more_peers=("chdb",),
    ),
    Row(
        "B10s",
        "delete 1 M string keys from 20 M rows",
        frazil("stream_rows", "T5b"),
        limit("probe_string"),
        Mark(1.0, 0.3),
        less=STREAM,
        more_peers=("chdb",),
    ),
    Row(
        "B11",
        "Paimon: plan 20,000 files",
        frazil("list_files", "P20k"),
        Work("paimon_rust", "list_files", "P20k"),
        Mark(0.03, 0.066),
        more_peers=("pypaimon",),
    ),
    # Millions of rows read per CPU second: 9.3 without merging, 8 with merging.
    Row(
        "B12",
        "Paimon: merge 5 runs of 1 M rows",
        frazil("read_rows", "PM"),
        Work("pyarrow", "read_files", "PM"),
        Mark(9.3, 8),
        peers=("paimon_rust",),
        more_peers=("pypaimon",),
    ),
    # 20 M rows x 5 columns, read and aggregated by `frazil.spark.read`, and once by the data source, where all rows
    # come from Python.
    Row("B13", "PySpark: no deletes", IN_SPARK["T3r"], SPARK_PARQUET, Mark(1.25), more_peers=("spark_java",)),
    Row("B13f", 'B13 by `format("frazil")`', SPARK_SOURCE, SPARK_PARQUET, Mark(1.25), full=True),
    Row("B13p", "PySpark: position deletes", IN_SPARK["T3"], SPARK_PARQUET, Mark(1.25), more_peers=("spark_java",)),
    Row("B13v", "PySpark: deletion vectors", IN_SPARK["T4"], SPARK_PARQUET, Mark(1.25), more_peers=("spark_java",)),
    Row("B13e", "PySpark: 1 M equality deletes", IN_SPARK["T5"], SPARK_PARQUET, Mark(1.25), more_peers=("spark_java",)),
    *(
        Row(
            f"B13{letter}j",
            f"B13{letter} over Java's source",
            IN_SPARK[table],
            Work("spark_java", "aggregate", table),
            Mark(1.0),
            full=True,
        )
        for letter, table in (("p", "T3"), ("v", "T4"), ("e", "T5"))
    ),
    # 40 statements each, which may take 50 ms more each than the equivalent API calls.
    Row("S1", "Spark SQL: 40 INSERTs over append", SQL_INSERT, None, Mark(40 * 0.05), less=API_INSERT),
    Row("S2", "Spark SQL: 40 SELECTs over frazil.spark.read", SQL_QUERY, None, Mark(40 * 0.05), less=API_QUERY),
    # 20 M rows x 5 columns, zstd, in 8 buckets; the limit writes them to one file without partitions.
    Row("W1", "append 20 M rows", APPEND, WRITE, Mark(6.5, 4.9), more_peers=("pyiceberg",)),
    Row("W1m", "memory of W1", APPEND, None, Mark(1024), "rise_mib", more_peers=("pyiceberg",)),
    # Java takes 2.4 to 3.2; the target is 1.0. The limit reads all ids and looks each one up.
    Row(
        "W2",
        "delete 1,000 ids from 20 M rows",
        frazil("delete_ids", "T3r"),
        FIND_IDS,
        Mark(1.0, 0.5),
        more_peers=("pyiceberg",),
    ),
    Row("W2j", "W2 by a merge", frazil("delete_joined", "T3r"), FIND_IDS, Mark(1.0, 0.5)),
    # Java takes 12 and 29; the limits read the rows, and rewrite them.
    Row(
        "W3",
        "merge 100 k rows into 10 M, merge-on-read",
        MERGE,
        Work("pyarrow", "read_merged", "T3r"),
        Mark(3, 0.5),
    ),
    Row("W3m", "memory of W3", MERGE, None, Mark(1024), "rise_mib"),
    Row(
        "W4",
        "W3, copy-on-write",
        frazil("merge_on_write", "T3r"),
        Work("pyarrow", "rewrite_merged", "T3r"),
        Mark(12, 3),
        more_peers=("pyiceberg",),
    ),
    # Java takes 0.031 to 0.045.
    Row("W5", "append a file to 1 M files", frazil("append_file", "T1"), None, Mark(0.020), more_peers=("pyiceberg",)),
    # Java takes 51. The target was 2.5, but the limit takes longer: decompressing the manifests and compressing them
    # again.
    Row("W5m", "W5 with merging of manifests", frazil("append_merging", "T1"), limit("repack", "T1"), Mark(1.15)),
    # Java takes 0.09 to 0.2; the target is 0.05.
    Row(
        "W6",
        "append after 5,000 snapshots",
        frazil("append_file", "TH"),
        COPY_METADATA,
        Mark(0.05, 0.04),
        more_peers=("pyiceberg",),
    ),
    # Java takes 2.7, 10.7 and 5.6 CPU seconds.
    Row("W7", "Paimon: append 5 M rows", APPEND_PAIMON, None, Mark(1.0), more_peers=("pypaimon",)),
    Row("W7m", "memory of W7", APPEND_PAIMON, None, Mark(512), "rise_mib", more_peers=("pypaimon",)),
    Row("W8", "Paimon: upsert 5 M rows into 4 buckets", UPSERT_PAIMON, None, Mark(4.0), more_peers=("pypaimon",)),
    Row("W8m", "memory of W8", UPSERT_PAIMON, None, Mark(512), "rise_mib", more_peers=("pypaimon",)),
    Row("W9", "Paimon: compact 5 runs of 1 M rows", COMPACT_PAIMON, None, Mark(2.5)),
    Row("W9m", "memory of W9", COMPACT_PAIMON, None, Mark(512), "rise_mib"),
    Row(
        "W10",
        "Paimon: append a row after 1,000 snapshots",
        frazil("append_paimon_row", "T3r"),
        None,
        Mark(0.015),
        more_peers=("pypaimon",),
    ),
    # Java takes 2.7 to 3.2 for the changelog.
    Row("W11", "Paimon: changelog of 100 k rows upserted into 1 M", frazil("log_paimon", "T3r"), None, Mark(1.0)),
    Row("W12", "Paimon: upsert 1 M rows into 10 M, deletion vectors", frazil("mark_paimon", "T3r"), None, Mark(4.0)),
    Row("W13m", "memory of 10 M keys in dynamic buckets", frazil("assign_paimon", "T3r"), None, Mark(512), "rise_mib"),
    Row("W16", "Paimon: update 1,000 of 5 M rows with keys", frazil("update_paimon", "T3r"), None, Mark(1.0)),
    Row("W17", "Paimon: expire 999 snapshots", frazil("expire_paimon", "T3r"), None, Mark(0.5)),
    Row("W18", "Paimon: find orphans among 20,000 files", frazil("find_orphans", "T3r"), None, Mark(0.5)),
    # The statement of W3 in Spark, whose figures include Java's virtual machine.
    Row("W14", "W3 by MERGE in Spark SQL, over Java's source", SQL_MERGE, JAVA_MERGE, Mark(0.6), full=True),
    # 40 statements, as in S1.
    Row("W15", "Spark SQL: 40 DELETEs over delete", SQL_DELETE, None, Mark(40 * 0.05), less=API_DELETE),
)


def select(names: list[str], *, full: bool) -> list[Row]:
    """Return the rows with these names, or all; `W` selects `W1`, `B9` also `B9v`, but `B1` not `B12`."""
    rows = [row for row in ROWS if full or not row.full]
    unknown = [name for name in names if not any(_belongs(row, name) for row in rows)]
    if unknown:
        message = f"unknown row {', '.join(unknown)}; known rows are {', '.join(row.id for row in rows)}"
        raise SystemExit(message)
    return [row for row in rows if not names or any(_belongs(row, name) for name in names)]


def _belongs(row: Row, name: str) -> bool:
    rest = row.id.lower().removeprefix(name.lower())
    return rest != row.id.lower() and not (name[-1:].isdigit() and rest[:1].isdigit())


def groups(rows: list[Row], *, full: bool) -> list[list[Row]]:
    """Group rows that share work, so that compared work runs within seconds."""
    found: list[tuple[list[Row], set[Work]]] = []
    for row in rows:
        works = set(row.works(full=full))
        joined = [group for group in found if group[1] & works]
        found = [group for group in found if group not in joined]
        found.append(
            ([*(row for group in joined for row in group[0]), row], works.union(*(group[1] for group in joined)))
        )
    return [rows for rows, _ in found]
