"""Operations on tables in an object store, each with one fault, and the checks that follow."""

from __future__ import annotations

import contextlib
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from frazil.catalog._purge import PurgePlan
from frazil.errors import CommitStateUnknownError, FrazilError, InternalError
from support.addresses import change, selected
from support.object_store import fits, object_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from support.object_store import ObjectStore

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
LOCATION = "s3://b/ns/t"

WORKERS = 4
"""The number of fault points that are tested concurrently, since clients mostly wait before they retry."""


class World:
    """A table in an object store without a catalog; the name of the table is always the same."""

    kind = "hadoop"
    optional: frozenset[str] = frozenset({"b/ns/t/metadata/version-hint.text"})
    """The files that readers do not need."""

    def __init__(self, root: Path, store: ObjectStore) -> None:
        self.root, self.store = root, store
        self.options = store.properties

    def create(self, **options: Any) -> Any:
        return frazil.create_table(LOCATION, SCHEMA, storage=self.options, **options)

    def table(self, _: str = "ns.t") -> Any:
        return frazil.load_table(LOCATION, storage=self.options)

    def state(self) -> dict[str, Any]:
        """Return the existing tables as users see them."""
        return {table.location: state_of(table) for table in self.tables()}

    def known(self) -> set[str]:
        """Return the files that the tables reference, and the hint."""
        found = {"b/ns/t/metadata/version-hint.text"}
        for table in self.tables():
            locations: list[str] = PurgePlan.of((), table).batch["location"].to_pylist()
            found |= {location.removeprefix("s3://") for location in locations}
        return found

    def show(self, table: Any) -> None:
        """Make rows visible that were written but not compacted."""

    def publishes(self, path: str) -> bool:
        """Return whether the outcome may be unknown if a PUT of this path fails."""
        del path
        return True

    def met(self) -> contextlib.AbstractContextManager[list[FrazilError]]:
        """Collect the errors after which an operation continued."""
        return contextlib.nullcontext([])

    def is_after(self, state: dict[str, Any], after: dict[str, Any], met: Sequence[FrazilError]) -> bool:
        """Return whether a state is the expected one after an operation that continued after some errors."""
        del met
        return state == after

    def tables(self) -> list[Any]:
        """Return the existing tables, read without the server."""
        folder = self.root / "b" / "ns" / "t"
        found = list((folder / "metadata").glob("*.metadata.json"))
        return [frazil.load_table(str(folder), relocate=self.nearby)] if found else []

    @property
    def nearby(self) -> dict[str, str]:
        return {"s3://b": str(self.root / "b")}


class CatalogWorld(World):
    """A world with a catalog in a SQLite file."""

    kind = "sql"

    def catalog(self, **more: Any) -> Any:
        path = f"sqlite:///{self.root}/catalog.db"
        return frazil.load_catalog("c", uri=path, warehouse="s3://b", type="sql", **self.options, **more)

    def create(self, **options: Any) -> Any:
        catalog = self.catalog()
        catalog.create_namespace_if_not_exists("ns")
        return catalog.create_table("ns.t", SCHEMA, **options)

    def table(self, name: str = "ns.t") -> Any:
        return self.catalog().load_table(name)

    def state(self) -> dict[str, Any]:
        return {".".join(table.name()): state_of(table) for table in self.tables()}

    def tables(self) -> list[Any]:
        catalog = self.catalog(relocate=self.nearby)
        if not (self.root / "catalog.db").exists() or not catalog.namespace_exists("ns"):
            return []
        return [catalog.load_table(name) for name in sorted(catalog.list_tables("ns"))]


def state_of(table: Any) -> dict[str, Any]:
    """Return the state of a table that users see, without random values."""
    snapshots = [snapshot.snapshot_id for snapshot in table.snapshots()]
    refs = {name: snapshots.index(reference.snapshot_id) for name, reference in sorted(table.refs().items())}
    rows = {
        number: sorted(str(row) for row in table.scan(snapshot_id=snapshots[number]).to_arrow().to_pylist())
        for number in sorted(set(refs.values()))
    }
    return {
        "refs": refs,
        "rows": rows,
        "schema": str(table.schema()),
        "spec": str(table.spec()),
        "order": str(table.sort_order()),
        "properties": table.properties,
        "snapshots": len(snapshots),
        "version": table.format_version,
    }


@dataclass(frozen=True)
class Operation:
    """A change, and the table that it is applied to."""

    name: str
    act: Callable[[World], Any]
    version: int = 2
    partition_by: Sequence[str] = ("p",)
    properties: dict[str, str] = field(default_factory=dict)
    has_table: bool = True
    world: type[World] = World
    is_repeatable: bool = False
    """Whether a second call changes nothing."""

    def check(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Check the result of the operation without faults."""
        assert before != after, self.name

    def prepare(self, world: World) -> None:
        if not self.has_table:
            if isinstance(world, CatalogWorld):
                world.catalog().create_namespace("ns")
            return
        properties = {"commit.retry.min-wait-ms": "1", **self.properties}
        table = world.create(format_version=self.version, partition_by=self.partition_by, properties=properties)
        table.append([{"id": i, "p": "ab"[i % 2]} for i in range(6)])
        table.append([{"id": i, "p": "bc"[i % 2]} for i in range(6, 9)])
        table.manage_snapshots().create_branch(None, "dev").create_tag(None, "v1").commit()


def on_table(change: Callable[[Any], Any]) -> Callable[[World], Any]:
    return lambda world: change(world.table())


ROWS = [{"id": 1, "p": "b"}, {"id": 20, "p": "a"}]


def merge(table: Any) -> None:
    builder = table.merge(pa.Table.from_pylist([*ROWS, {"id": 3, "p": "b"}], schema=SCHEMA), ["id"])
    builder = builder.when_matched_delete("source.id = 3").when_matched_update({"p": "'z'"})
    builder.when_not_matched_insert_all().execute()


def several(table: Any) -> None:
    with table.transaction() as changes:
        changes.append(ROWS)
        with changes.update_schema() as update:
            update.add_column("n", "int")
        changes.delete("id = 4")
        changes.set_properties({"a": "b"})
        changes.append([{"id": 30, "p": "c", "n": 1}])


def rollback(table: Any) -> None:
    table.manage_snapshots().rollback_to_snapshot(table.snapshots()[0].snapshot_id).commit()


def evolve_schema(table: Any) -> None:
    with table.update_schema() as update:
        update.add_column("n", "int")
        update.rename_column("p", "q")


def mode(operation: str, name: str = "merge-on-read", **more: str) -> dict[str, str]:
    return {f"write.{operation}.mode": name, **more}


GRANULARITY = {"write.delete.granularity": "partition"}
MERGING = {"commit.manifest.min-count-to-merge": "2"}
REWRITE = on_table(lambda table: table.rewrite_data_files(rewrite_all=True).apply())
UPSERT = on_table(lambda table: table.upsert(ROWS, ["id"]))
UPDATE = on_table(lambda table: table.update({"p": "'z'"}, "id in (1, 7)"))
DELETE = on_table(lambda table: table.delete("id in (1, 7)"))
APPEND = on_table(lambda table: table.append(ROWS))


def change_rows(table: Any) -> None:
    found = selected(table, "id in (1, 7)")
    change(table, "update", found, "id < 9", p=pa.array(["z", "y"]))


CHANGES = [
    Operation("append", APPEND),
    Operation("append v1", APPEND, 1),
    Operation("append v3", APPEND, 3),
    Operation("append ORC", APPEND, properties={"write.format.default": "orc"}),
    Operation("append Avro", APPEND, properties={"write.format.default": "avro"}),
    Operation("append unpartitioned", APPEND, partition_by=()),
    Operation("fast append", on_table(lambda table: table.append(ROWS, fast=True))),
    Operation("append that merges manifests", APPEND, properties=MERGING),
    Operation("append to a branch", on_table(lambda table: table.append(ROWS, branch="dev"))),
    Operation("overwrite by filter", on_table(lambda table: table.overwrite(ROWS, "id in (1, 7)"))),
    Operation("overwrite all", on_table(lambda table: table.overwrite(ROWS))),
    Operation("dynamic overwrite", on_table(lambda table: table.dynamic_partition_overwrite(ROWS))),
    Operation("delete copy-on-write", DELETE),
    Operation("delete copy-on-write v3", DELETE, 3),
    Operation("delete by file", DELETE, properties=mode("delete")),
    Operation("delete by partition", DELETE, properties=mode("delete") | GRANULARITY),
    Operation("delete by vectors", DELETE, 3, properties=mode("delete")),
    Operation("delete of whole files", on_table(lambda table: table.delete("p = 'a'"))),
    Operation("delete of all", on_table(lambda table: table.delete())),
    Operation("update copy-on-write", UPDATE),
    Operation("update merge-on-read", UPDATE, properties=mode("update")),
    Operation("update by vectors", UPDATE, 3, properties=mode("update")),
    Operation("upsert copy-on-write", UPSERT, 3),
    Operation("upsert merge-on-read", UPSERT, properties=mode("merge")),
    Operation("merge copy-on-write", on_table(merge)),
    Operation("merge by vectors", on_table(merge), 3, properties=mode("merge")),
    Operation("addressed rows copy-on-write", on_table(change_rows)),
    Operation("addressed rows by vectors", on_table(change_rows), 3, properties=mode("update")),
    Operation("transaction of several", on_table(several)),
    Operation("transaction of several by vectors", on_table(several), 3, properties=mode("delete")),
    Operation("update_schema", on_table(evolve_schema)),
    Operation("update_spec", on_table(lambda table: table.update_spec().add_field("bucket(4, id)").commit())),
    Operation("update_sort_order", on_table(lambda table: table.update_sort_order().asc("id").commit())),
    Operation("set_properties", on_table(lambda table: table.set_properties({"a": "b"}))),
    Operation("upgrade", on_table(lambda table: table.upgrade(3))),
    Operation("create branch", on_table(lambda table: table.manage_snapshots().create_branch(None, "x").commit())),
    Operation("create tag", on_table(lambda table: table.manage_snapshots().create_tag(None, "x").commit())),
    Operation("drop branch", on_table(lambda table: table.manage_snapshots().remove_branch("dev").commit())),
    Operation("drop tag", on_table(lambda table: table.manage_snapshots().remove_tag("v1").commit())),
    Operation("rollback", on_table(rollback)),
    Operation("rewrite_data_files", REWRITE),
    Operation("rewrite_data_files of v3", REWRITE, 3),
    Operation("expire_snapshots", on_table(lambda table: table.expire_snapshots(4_000_000_000_000).apply())),
]


def create(world: World) -> None:
    world.create(partition_by=["p"], properties={"commit.retry.min-wait-ms": "1"})


def of_catalog(change: Callable[[Any], Any]) -> Callable[[World], Any]:
    def act(world: World) -> Any:
        assert isinstance(world, CatalogWorld)
        return change(world.catalog())

    return act


def register(catalog: Any) -> None:
    place = catalog.load_table("ns.t").metadata_location
    catalog.register_table("ns.u", place)


CATALOG_CHANGES = [
    Operation("drop", of_catalog(lambda catalog: catalog.drop_table("ns.t")), world=CatalogWorld),
    Operation("rename", of_catalog(lambda catalog: catalog.rename_table("ns.t", "ns.u")), world=CatalogWorld),
    Operation("register", of_catalog(register), world=CatalogWorld),
    Operation("purge", of_catalog(lambda catalog: catalog.drop_table("ns.t", purge=True)), world=CatalogWorld),
]

IN_A_CATALOG = (
    "append",
    "append that merges manifests",
    "overwrite by filter",
    "delete by file",
    "delete by vectors",
    "merge copy-on-write",
    "transaction of several",
    "update_schema",
    "set_properties",
    "create branch",
)

OPERATIONS = [
    Operation("create", create, has_table=False),
    *CHANGES,
    Operation("create in a catalog", create, has_table=False, world=CatalogWorld),
    *(
        Operation(f"{it.name} in a catalog", it.act, it.version, it.partition_by, it.properties, world=CatalogWorld)
        for it in CHANGES
        if it.name in IN_A_CATALOG
    ),
    *CATALOG_CHANGES,
]


@dataclass
class Sweep:
    """An operation with one fault after another."""

    operation: Operation
    template: Path
    before: dict[str, Any]
    after: dict[str, Any]
    calls: list[tuple[str, str]]
    """The requests of the operation without faults."""

    @classmethod
    @contextlib.contextmanager
    def of(cls, operation: Operation, folder: Path) -> Iterator[Sweep]:
        """Create the table, and apply the change once without a fault."""
        template = folder / "template"
        template.mkdir()
        with object_store(template) as store:
            world = operation.world(template, store)
            operation.prepare(world)
            before = world.state()
        with copied(operation, template, folder / "healthy") as world:
            world.store.arm()
            operation.act(world)
            calls = list(world.store.calls)
            after = world.state()
        operation.check(before, after)
        yield cls(operation, template, before, after, calls)

    def points(self, fault: str) -> list[int]:
        """Return the requests that a fault affects."""
        return [at for at, (method, path) in enumerate(self.calls) if fits(fault, method, path)]

    def run(self, points: Sequence[tuple[str, int]]) -> int:
        """Test fault points, each a fault and a request; return their number."""
        with ThreadPoolExecutor(WORKERS) as pool:
            return sum(pool.map(self._look, points))

    def _look(self, point: tuple[str, int]) -> bool:
        fault, at = point
        name = f"{fault.replace(' ', '-')}-{at}"
        with copied(self.operation, self.template, self.template.parent / name) as world:
            try:
                return check(self, world, partial(world.store.arm, fault, at))
            except BaseException as error:
                call = self.calls[at] if at < len(self.calls) else None
                error.add_note(f"{self.operation.name}: {fault} at request {at}: {call}; of {self.calls}")
                raise


@contextlib.contextmanager
def copied(operation: Operation, template: Path, root: Path) -> Iterator[World]:
    """Yield a copy of a world, which is deleted afterwards."""
    shutil.copytree(template, root)
    try:
        with object_store(root) as store:
            yield operation.world(root, store)
    finally:
        shutil.rmtree(root)


def check(sweep: Sweep, world: World, arm: Callable[[], None]) -> bool:
    """Apply the change with a fault and check the table; return whether the fault occurred."""
    operation, store, before_files = sweep.operation, world.store, files_of(world)
    error: FrazilError | None = None
    with world.met() as met:
        arm()
        try:
            operation.act(world)
        except FrazilError as raised:
            error = raised
    is_tripped, calls = store.is_tripped, list(store.calls)
    failed = calls[store.fault_at] if is_tripped else ("", "")
    # Files that cannot be deleted remain.
    may_leave = store.fault in ("read-only", "expired", "gone") or failed[0] == "POST"
    store.arm()
    state = world.state()
    assert not isinstance(error, InternalError), error
    check_outcome(sweep, world, (error, met), state)
    if unknown := [one for one in (error, *met) if isinstance(one, CommitStateUnknownError)]:
        assert not is_tripped or world.publishes(failed[1]), unknown
        # Files must not be deleted either, even if a store might reject that.
        assert operation.is_repeatable or not [call for call in calls if is_deletion(*call)], calls
    elif not may_leave:
        assert orphans(world) <= orphans_before(before_files, state), (error, met)
        if state == sweep.before:
            assert files_of(world) == before_files, (error, files_of(world) ^ before_files)
    go_on(sweep, world, state)
    return is_tripped


def check_outcome(
    sweep: Sweep, world: World, errors: tuple[FrazilError | None, Sequence[FrazilError]], state: dict[str, Any]
) -> None:
    """Check that the table is in a state that the error of the operation permits."""
    error, met = errors
    # A commit with an unknown outcome may be in the table without the steps that should follow it.
    ended = [error] if isinstance(error, CommitStateUnknownError) else []
    is_after = world.is_after(state, sweep.after, [*met, *ended])
    if error is None:
        assert is_after, (state, met)
    elif isinstance(error, CommitStateUnknownError) or any(isinstance(one, CommitStateUnknownError) for one in met):
        assert is_after or state == sweep.before, state
    elif any(str(one).startswith("the rows were written to") for one in (error, *met)):
        assert world.is_after(state, sweep.after, [*met, error]), state
    elif re.match("the (table was (dropped|created|renamed|registered)|snapshots were removed), but ", str(error)):
        assert is_after, state
    else:
        assert state == sweep.before, error


def go_on(sweep: Sweep, world: World, state: dict[str, Any]) -> None:
    """Repeat the failed change, or apply another one."""
    if state == sweep.before:
        sweep.operation.act(world)
        assert world.state() == sweep.after
    elif sweep.operation.is_repeatable:
        files = files_of(world)
        sweep.operation.act(world)
        if state == sweep.after:
            assert (world.state(), files_of(world)) == (state, files)
        else:
            # A compaction that failed after its rows were committed is done by the repeated change.
            assert world.state() == sweep.after
    elif state:
        # Continue with a table that other clients see.
        name = "ns.u" if "ns.u" in state else "ns.t"
        table = world.table(name)
        world.show(table)
        count = table.scan().count()
        row = {"id": 99, "p": "a"}
        # `update_schema` renames a column.
        table.append([{name: row[name] for name in table.scan().schema().names if name in row}])
        world.show(table)
        assert world.table(name).scan().count() == count + 1
    check_files(world)


def is_deletion(method: str, path: str) -> bool:
    """Return whether a request deletes files, not parts of an upload."""
    return (method == "POST" and path.endswith("?delete")) or (method == "DELETE" and "?" not in path)


def check_files(world: World) -> None:
    """Check that no files of a table are missing."""
    assert world.known() - files_of(world) <= world.optional, world.known() - files_of(world)


def files_of(world: World) -> set[str]:
    """Return the files in the store."""
    return {path.relative_to(world.root).as_posix() for path in (world.root / "b").rglob("*") if path.is_file()}


def orphans(world: World) -> set[str]:
    """Return the files that no table references."""
    return files_of(world) - world.known()


def orphans_before(before_files: set[str], state: dict[str, Any]) -> set[str]:
    """Return the files of a dropped table, which remain."""
    return before_files if not state else set()
