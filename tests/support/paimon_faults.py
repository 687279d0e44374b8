"""Operations on Paimon tables in an object store, each with one fault: the sweep of `support.faults`."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import frazil
from frazil.errors import FrazilError
from support.faults import LOCATION, Operation, World
from support.paimon_files import HINTS, branch_root, files_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Row = tuple[int, str, int | None]

SCHEMA = {"id": "BIGINT NOT NULL", "p": "STRING NOT NULL", "n": "INT"}
OTHER_FILE = "b/ns.db/README"
BRANCH = "dev"
ATTEMPTS = 3
"""The number of attempts of a stream to make the same commit."""


class PaimonWorld(World):
    """A Paimon table in an object store without a catalog."""

    kind = "paimon"
    folder = "ns/t"

    def create(self, **options: Any) -> Any:
        return frazil.create_table(LOCATION, SCHEMA, format="paimon", storage=self.options, **options)

    def fill(self, table: Any, commits: Sequence[Sequence[Row]]) -> None:
        """Write the rows of each snapshot before the operation."""
        for rows in commits:
            table.append(dicts(rows))

    def table(self, _: str = "ns.t") -> Any:
        return frazil.load_table(LOCATION, format="paimon", storage=self.options)

    def state(self) -> dict[str, Any]:
        tables = self.tables()
        return {"ns.t": paimon_state(tables[0])} if tables else {}

    def tables(self) -> list[Any]:
        place = self.root / "b" / self.folder
        return [frazil.load_table(place, format="paimon")] if list(place.glob("schema/schema-*")) else []

    @property
    def optional(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(f"b/{self.folder}/{name}" for name in HINTS)

    def known(self) -> set[str]:
        return {f"b/{self.folder}/{name}" for table in self.tables() for name in {*HINTS, *files_known(table)}}

    def show(self, table: Any) -> None:
        if {"deletion-vectors.enabled", "postpone.batch-write-fixed-bucket"} & set(table.options):
            table.compact()

    def publishes(self, path: str) -> bool:
        return re.search(r"/(snapshot/snapshot|schema/schema)-\d+$", path) is not None

    @contextlib.contextmanager
    def met(self) -> Iterator[list[FrazilError]]:
        self.tried: list[FrazilError] = []
        handler = _Logged(self.tried)
        logger = logging.getLogger("frazil")
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(min(level or logging.INFO, logging.INFO))
        try:
            yield self.tried
        finally:
            logger.removeHandler(handler)

    def is_after(self, state: dict[str, Any], after: dict[str, Any], met: Sequence[FrazilError]) -> bool:
        if state == after or not met or not after or not state:
            return state == after
        # A failed compaction leaves the rows that were written before it.
        snapshots = after["ns.t"]["snapshots"]
        without = {**after["ns.t"], "snapshots": snapshots[:-1]}
        return bool(snapshots) and snapshots[-1][0] == "compact" and state == {"ns.t": without}


class PaimonCatalogWorld(PaimonWorld):
    """A Paimon table in a catalog, which is a folder of the store."""

    kind = "paimon catalog"
    folder = "ns.db/t"

    def catalog(self) -> Any:
        return frazil.load_catalog("c", type="paimon", warehouse="s3://b", **self.options)

    def make_namespace(self) -> None:
        """Create a file in the folder, because an object store has no empty folders."""
        (self.root / "b" / "ns.db").mkdir(parents=True, exist_ok=True)
        (self.root / OTHER_FILE).touch()

    def create(self, **options: Any) -> Any:
        self.make_namespace()
        return self.catalog().create_table("ns.t", SCHEMA, **options)

    def known(self) -> set[str]:
        return super().known() | {OTHER_FILE}

    def table(self, name: str = "ns.t") -> Any:
        return self.catalog().load_table(name)


class PaimonBranchWorld(PaimonWorld):
    """A branch that was created from the first snapshot of the table; the main branch has another snapshot after it."""

    kind = "paimon branch"

    def fill(self, table: Any, commits: Sequence[Sequence[Row]]) -> None:
        for rows in commits[:1]:
            table.append(dicts(rows))
        folder = self.root / "b" / self.folder
        for name in ("schema", "snapshot") if commits else ("schema",):
            shutil.copytree(folder / name, folder / branch_root(BRANCH) / name)
        table.append(dicts(ON_MAIN))
        super().fill(table.with_branch(BRANCH), commits[1:])

    def table(self, name: str = "ns.t") -> Any:
        return super().table(name).with_branch(BRANCH)

    def state(self) -> dict[str, Any]:
        main, branch = self.tables()
        return {"ns.t": {**paimon_state(branch), "main": paimon_state(main)}}

    def tables(self) -> list[Any]:
        return [branch for table in super().tables() for branch in (table, table.with_branch(BRANCH))]

    @property
    def optional(self) -> frozenset[str]:  # type: ignore[override]
        return super().optional | {f"b/{self.folder}/{branch_root(BRANCH)}{name}" for name in HINTS}

    def known(self) -> set[str]:
        return super().known() | self.optional


class _Logged(logging.Handler):
    """A handler that collects the errors logged by this thread."""

    def __init__(self, errors: list[FrazilError]) -> None:
        super().__init__()
        self.errors, self.by = errors, threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Collect the error of a record."""
        if record.thread == self.by and isinstance(record.args, tuple):
            self.errors += [one for one in record.args if isinstance(one, FrazilError)]


def rows_of(table: Any, snapshot_id: int) -> list[Row]:
    found = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
    return sorted((row["id"], row["p"], row["n"]) for row in found)


def paimon_state(table: Any) -> dict[str, Any]:
    """Return the state of a table that users see, without random values."""
    return {
        "snapshots": [
            (snapshot.operation, snapshot.total_record_count, rows_of(table, snapshot.snapshot_id))
            for snapshot in table.snapshots()
        ],
        "schema": str(table.schema()),
        "options": table.options,
        "keys": (table.partition_keys, table.primary_keys),
    }


START: list[Row] = [(i, "ab"[i % 2], i) for i in range(6)]
MORE: list[Row] = [(i, "abc"[i % 3], i) for i in range(6, 9)]
ON_MAIN: list[Row] = [(50, "a", 50), (51, "e", None)]
NEW: list[Row] = [(1, "b", 100), (20, "a", None), (21, "d", 7)]
DELETED: Row = (3, "b", 3)


def dicts(rows: Sequence[Row], **more: Any) -> list[dict[str, Any]]:
    return [{"id": i, "p": p, "n": n, **more} for i, p, n in rows]


def added(rows: list[Row]) -> list[Row]:
    return [*rows, *NEW]


def upserted(rows: list[Row]) -> list[Row]:
    return [*{row[:2]: row for row in [*rows, *NEW]}.values()]


def upserted_and_deleted(rows: list[Row]) -> list[Row]:
    return [row for row in upserted(rows) if row != DELETED]


def replaced(*partitions: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [*(row for row in rows if row[1] not in partitions), *NEW]


def without(*partitions: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row for row in rows if row[1] not in partitions]


@dataclass(frozen=True)
class PaimonOperation(Operation):
    """A change of a Paimon table, and the resulting rows."""

    partition_by: Sequence[str] = ()
    world: type[World] = PaimonWorld
    model: Callable[[list[Row]], list[Row]] = field(default=list)
    primary_keys: Sequence[str] = ()
    writes: int = 2
    """The number of earlier snapshots."""

    def prepare(self, world: World) -> None:
        """Create the table and write some rows."""
        if not self.has_table:
            if isinstance(world, PaimonCatalogWorld):
                world.make_namespace()
            return
        options = {"commit.min-retry-wait": "1 ms", **self.properties}
        table = world.create(partition_keys=self.partition_by, primary_keys=self.primary_keys, options=options)
        assert isinstance(world, PaimonWorld)
        world.fill(table, self.before())

    @property
    def looks_up(self) -> bool:
        """Whether each write is compacted."""
        looked_up = {"deletion-vectors.enabled", "changelog-producer"}
        return bool(self.primary_keys) and not looked_up.isdisjoint(self.properties)

    @property
    def waits(self) -> bool:
        """Whether rows are not visible until they are compacted."""
        return "postpone.batch-write-fixed-bucket" in self.properties

    def before(self) -> list[list[Row]]:
        """Return the rows of each earlier snapshot."""
        single: list[list[Row]] = [[(i, "a", i), (i, "b", i)] for i in range(9, 7 + self.writes)]
        return [START, MORE, *single][: self.writes]

    def check(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Check that the rows match the model."""
        super().check(before, after)
        written = [row for rows in self.before() for row in rows] if self.has_table else []
        if before:
            made = ["append", "compact"] if self.looks_up else ["append"]
            assert [snapshot[0] for snapshot in before["ns.t"]["snapshots"]] == made * self.writes
            visible = [] if self.waits else sorted(written)
            assert not before["ns.t"]["snapshots"] or before["ns.t"]["snapshots"][-1][2] == visible
        snapshots = after["ns.t"]["snapshots"]
        assert (snapshots[-1][2] if snapshots else []) == sorted(self.model(written)), self.name
        assert (self.looks_up or "compact" in self.name) == (bool(snapshots) and snapshots[-1][0] == "compact"), (
            snapshots
        )


def on_table(change: Callable[[Any], Any]) -> Callable[[World], Any]:
    return lambda world: change(world.table())


def repeated(change: Callable[..., Any]) -> Callable[[World], None]:
    """Repeat a change with the same commit until it succeeds or the attempts are exhausted."""

    def act(world: World) -> None:
        assert isinstance(world, PaimonWorld)
        for attempt in range(ATTEMPTS):
            try:
                change(world.table(), commit_user="stream", identifier=5)
            except FrazilError as error:
                if attempt + 1 == ATTEMPTS:
                    raise
                world.tried.append(error)
            else:
                return

    return act


def changelog(table: Any) -> None:
    table.append([*dicts(NEW), *dicts([DELETED], _ROW_KIND="-D")])


def create(world: World) -> None:
    world.create(partition_keys=["p"])


def create_keyed(world: World) -> None:
    world.create(partition_keys=["p"], primary_keys=["id", "p"], options={"bucket": 2})


APPEND = on_table(lambda table: table.append(dicts(NEW)))
OVERWRITE = on_table(lambda table: table.overwrite(dicts(NEW)))
PARTITIONS = on_table(
    lambda table: table.overwrite(dicts(NEW), partitions=[{"p": "a"}, {"p": "b"}, {"p": "d"}]),
)
DYNAMIC = on_table(lambda table: table.dynamic_partition_overwrite(dicts(NEW)))
TRUNCATE = on_table(lambda table: table.truncate())
DROP = on_table(lambda table: table.drop_partitions([{"p": "a"}, {"p": "c"}]))
COMPACT = on_table(lambda table: table.compact())
ASSIGN = on_table(lambda table: table.compact(full=False))
STREAM = repeated(lambda table, **about: table.append(dicts(NEW), **about))
TRUNCATE_ONCE = repeated(lambda table, **about: table.truncate(**about))
DROP_ONCE = repeated(lambda table, **about: table.drop_partitions([{"p": "a"}, {"p": "c"}], **about))

PARTED: Any = {"partition_by": ("p",)}
BUCKETS: Any = {**PARTED, "properties": {"bucket": "2", "bucket-key": "id"}}
KEYED: Any = {"primary_keys": ("id", "p"), "properties": {"bucket": "1"}}
KEYED_PARTED: Any = {**PARTED, **KEYED}
VECTORS: Any = {**KEYED, "properties": {"bucket": "1", "deletion-vectors.enabled": "true"}}
POSTPONED: Any = {**KEYED_PARTED, "properties": {"bucket": "-2"}}
WAITING: Any = {**POSTPONED, "properties": {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}}
LOGGED: Any = {**KEYED, "properties": {"bucket": "1", "changelog-producer": "lookup"}}
ON_BRANCH: Any = {"world": PaimonBranchWorld}
MERGES: Any = {**PARTED, "properties": {"manifest.merge-min-count": "2"}}
FIVE_FILES: Any = {
    "properties": {"bucket": "1", "bucket-key": "id", "compaction.min.file-num": "5"},
    "writes": 4,
    "model": added,
}


def properties(base: Any, **more: str) -> Any:
    return {**base, "properties": {**base.get("properties", {}), **{k.replace("_", "."): v for k, v in more.items()}}}


INDEXED: Any = {
    **PARTED,
    "properties": {"file-index.bloom-filter.columns": "id", "file-index.in-manifest-threshold": "1 b"},
}

OPERATIONS: list[Operation] = [
    PaimonOperation("paimon create", create, has_table=False),
    PaimonOperation("paimon create with keys", create_keyed, has_table=False),
    PaimonOperation("paimon create in a catalog", create, has_table=False, world=PaimonCatalogWorld),
    PaimonOperation("paimon first append", APPEND, writes=0, model=added),
    PaimonOperation("paimon append", APPEND, model=added),
    PaimonOperation("paimon append to partitions", APPEND, model=added, **PARTED),
    PaimonOperation("paimon append to buckets", APPEND, model=added, **BUCKETS),
    PaimonOperation("paimon append ORC", APPEND, model=added, properties={"file.format": "orc"}),
    PaimonOperation("paimon append Avro", APPEND, model=added, properties={"file.format": "avro"}),
    PaimonOperation("paimon append that merges manifests", APPEND, model=added, **MERGES),
    PaimonOperation("paimon append with file indexes", APPEND, model=added, **INDEXED),
    PaimonOperation("paimon append in a catalog", APPEND, model=added, world=PaimonCatalogWorld, **PARTED),
    PaimonOperation("paimon upsert", on_table(changelog), model=upserted_and_deleted, **KEYED),
    PaimonOperation("paimon upsert to partitions", on_table(changelog), model=upserted_and_deleted, **KEYED_PARTED),
    PaimonOperation("paimon upsert Avro", APPEND, model=upserted, **properties(KEYED, file_format="avro")),
    PaimonOperation("paimon overwrite", OVERWRITE, model=lambda _: NEW, **PARTED),
    PaimonOperation("paimon overwrite with keys", OVERWRITE, model=lambda _: NEW, **KEYED_PARTED),
    PaimonOperation("paimon overwrite of partitions", PARTITIONS, model=replaced("a", "b", "d"), **PARTED),
    PaimonOperation("paimon dynamic overwrite", DYNAMIC, model=replaced("a", "b", "d"), **PARTED),
    PaimonOperation("paimon dynamic overwrite with keys", DYNAMIC, model=replaced("a", "b", "d"), **KEYED_PARTED),
    PaimonOperation("paimon truncate", TRUNCATE, model=lambda _: [], **PARTED),
    PaimonOperation("paimon truncate with keys", TRUNCATE, model=lambda _: [], **KEYED),
    PaimonOperation("paimon drop_partitions", DROP, model=without("a", "c"), **PARTED),
    PaimonOperation("paimon drop_partitions with keys", DROP, model=without("a", "c"), **KEYED_PARTED),
    PaimonOperation("paimon compact", COMPACT, **PARTED),
    PaimonOperation("paimon compact of buckets", COMPACT, **BUCKETS),
    PaimonOperation("paimon compact with keys", COMPACT, **KEYED_PARTED),
    PaimonOperation("paimon compact with file indexes", COMPACT, **INDEXED),
    PaimonOperation("paimon compact of levels only", COMPACT, writes=1, **KEYED),
    PaimonOperation("paimon append that compacts", APPEND, **FIVE_FILES),
    PaimonOperation("paimon upsert that compacts", APPEND, writes=4, model=upserted, **KEYED),
    PaimonOperation("paimon upsert to partitions that compacts", APPEND, writes=4, model=upserted, **KEYED_PARTED),
    PaimonOperation("paimon upsert with vectors", on_table(changelog), model=upserted_and_deleted, **VECTORS),
    PaimonOperation("paimon first upsert with vectors", APPEND, writes=0, model=upserted, **VECTORS),
    PaimonOperation("paimon upsert with a changelog that compacts", APPEND, model=upserted, **LOGGED),
    PaimonOperation("paimon overwrite with vectors", OVERWRITE, model=lambda _: NEW, **VECTORS),
    PaimonOperation("paimon stream with vectors", STREAM, model=upserted, is_repeatable=True, **VECTORS),
    PaimonOperation("paimon upsert to postponed buckets", APPEND, model=upserted, **POSTPONED),
    PaimonOperation("paimon compact that assigns buckets", ASSIGN, **WAITING),
    PaimonOperation("paimon stream", STREAM, model=added, is_repeatable=True, **PARTED),
    PaimonOperation("paimon first commit of a stream", STREAM, writes=0, model=added, is_repeatable=True),
    PaimonOperation("paimon stream of upserts", STREAM, model=upserted, is_repeatable=True, **KEYED),
    PaimonOperation("paimon stream that compacts", STREAM, writes=4, model=upserted, is_repeatable=True, **KEYED),
    PaimonOperation("paimon stream that truncates", TRUNCATE_ONCE, model=lambda _: [], is_repeatable=True, **KEYED),
    PaimonOperation(
        "paimon stream that drops partitions", DROP_ONCE, model=without("a", "c"), is_repeatable=True, **PARTED
    ),
    PaimonOperation("paimon first append to a branch", APPEND, writes=0, model=added, **ON_BRANCH),
    PaimonOperation("paimon append to a branch", APPEND, model=added, **PARTED, **ON_BRANCH),
    PaimonOperation("paimon upsert to a branch", on_table(changelog), model=upserted_and_deleted, **KEYED, **ON_BRANCH),
    PaimonOperation("paimon upsert to a branch that compacts", APPEND, writes=4, model=upserted, **KEYED, **ON_BRANCH),
    PaimonOperation("paimon overwrite of a branch", OVERWRITE, model=lambda _: NEW, **PARTED, **ON_BRANCH),
    PaimonOperation("paimon overwrite of a branch with keys", OVERWRITE, model=lambda _: NEW, **KEYED, **ON_BRANCH),
    PaimonOperation("paimon drop_partitions of a branch", DROP, model=without("a", "c"), **PARTED, **ON_BRANCH),
    PaimonOperation("paimon truncate of a branch with keys", TRUNCATE, model=lambda _: [], **KEYED, **ON_BRANCH),
    PaimonOperation("paimon compact of a branch", COMPACT, **PARTED, **ON_BRANCH),
    PaimonOperation("paimon compact of a branch with keys", COMPACT, **KEYED_PARTED, **ON_BRANCH),
    PaimonOperation("paimon stream to a branch", STREAM, model=added, is_repeatable=True, **PARTED, **ON_BRANCH),
]
"""The names of the operations include whether they compact."""
