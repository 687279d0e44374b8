"""Tests of concurrent changes between the plan of an operation and its commit: every plan with every change.

Each pair must be serializable. The resulting rows are those of the operation and the change in some order, or those of
the change alone if the operation raises a typed error. Snapshots never change, and the remaining ones can be read.

`FRAZIL_RACES=all` runs all pairs in all catalogs; by default a sample runs in `hadoop` and `rest` catalogs.
"""

from __future__ import annotations

import copy
import functools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.errors import (
    CommitConflictError,
    CommitValidationError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchSnapshotError,
    NoSuchTableError,
)
from support.rest_server import RestServer
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Apply = Callable[[], Any]

ALL = bool(size("FRAZIL_RACES"))
SCHEMA = {"id": "long", "p": "string", "v": "long", "note": "string"}
FUTURE_MS = 4_000_000_000_000
REFUSALS = (CommitConflictError, CommitValidationError, InvalidArgumentError, NoSuchSnapshotError, NoSuchTableError)
"""The errors that an operation may raise if it was planned before a change."""


class Lake:
    """A table of a catalog that is created once and then restored."""

    def __init__(self, kind: str, root: Path) -> None:
        self.kind, self.root, self._saved = kind, root / "lake", root / "saved"
        self.root.mkdir()
        self._server = RestServer(self.root) if kind == "rest" else None
        properties: dict[str, dict[str, str]] = {
            "hadoop": {"type": "hadoop", "warehouse": str(self.root)},
            "sql": {"type": "sql", "uri": f"sqlite:///{self.root}/c.db", "warehouse": str(self.root)},
            "rest": {"type": "rest", "uri": self._server.uri if self._server else ""},
        }
        self.catalog = frazil.load_catalog("c", **properties[kind])
        self.catalog.create_namespace("ns")
        self._make()
        shutil.copytree(self.root, self._saved)
        self._tables = copy.deepcopy(self._server.tables) if self._server else {}
        self.contents = contents(self) or {}

    def _make(self) -> None:
        """Create the table with snapshots, a branch, an expired tag, delete files and orphan files."""
        properties = {"write.delete.mode": "merge-on-read", "commit.retry.min-wait-ms": "1"}
        table = self.catalog.create_table("ns.t", SCHEMA, partition_by=["p"], properties=properties)
        table.append(rows(1, 2))
        table.append(rows(3, p="b"))
        table.append(rows(4, 5, p="b"))
        table.delete("id = 5")
        table.append(rows(6))
        ids = [snapshot.snapshot_id for snapshot in table.snapshots()]
        references = table.manage_snapshots().create_tag(ids[2], "old", max_ref_age_ms=1)
        references.create_branch(ids[1], "dev").commit()
        orphan = Path(table.location.removeprefix("file://"), "data", "orphan.parquet")
        orphan.touch()
        for path in self.root.rglob("*.*"):
            os.utime(path, (0, 0))

    def restore(self) -> None:
        """Restore the initial state of the table."""
        shutil.rmtree(self.root)
        shutil.copytree(self._saved, self.root)
        if self._server is not None:
            self._server.tables = copy.deepcopy(self._tables)

    def load(self) -> Any:
        return self.catalog.load_table("ns.t")

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


def rows(*ids: int, p: str = "a") -> list[dict[str, Any]]:
    return [{"id": one, "p": p, "v": 0} for one in ids]


def content(table: Any, **choice: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a table, whatever the table has the columns called."""
    return sorted(tuple(row.values())[:3] for row in table.scan(**choice).to_arrow().to_pylist())


def contents(lake: Lake) -> dict[int, list[tuple[Any, ...]]] | None:
    """Return the rows of every snapshot, or None if the table does not exist."""
    if not lake.catalog.table_exists("ns.t"):
        return None
    table = lake.load()
    return {one.snapshot_id: content(table, snapshot_id=one.snapshot_id) for one in table.snapshots()}


def newest(lake: Lake) -> list[tuple[Any, ...]] | None:
    return content(lake.load()) if lake.catalog.table_exists("ns.t") else None


def snapshot(table: Any, number: int) -> int:
    return int(table.snapshots()[number].snapshot_id)


# Operations that are planned, and applied later


def planned(plan: Any, attribute: str) -> Apply:
    """Return a function that plans on first use."""
    getattr(plan, attribute)
    return plan.apply  # type: ignore[no-any-return]


def expire_by_id(lake: Lake) -> Apply:
    table = lake.load()
    return planned(table.expire_snapshots(snapshot_ids=[snapshot(table, 0)]), "files")


def purge(lake: Lake) -> Apply:
    plan = lake.catalog.plan_purge("ns.t")
    return lambda: lake.catalog.purge_table("ns.t", plan)


def staged(change: Callable[[Any], Any]) -> Callable[[Lake], Apply]:
    """Stage a change in a transaction."""

    def plan(lake: Lake) -> Apply:
        changes = lake.load().transaction()
        change(changes)
        return changes.commit_transaction  # type: ignore[no-any-return]

    return plan


def overwrite_by_scan(lake: Lake) -> Apply:
    table = lake.load()
    scan = table.scan("id > 1")
    return lambda: table.overwrite(scan)


def replace(lake: Lake) -> Apply:
    changes = lake.catalog.replace_table_transaction("ns.t", SCHEMA)
    changes.append(rows(50))
    return changes.commit_transaction


def evolve(changes: Any) -> None:
    changes.update_schema().add_column("new", "int").commit()
    changes.append([{**rows(51)[0], "new": 1}])


def upgrade(changes: Any) -> None:
    changes.append(rows(52))
    changes.upgrade(3)
    changes.append(rows(53))


PLANS: dict[str, Callable[[Lake], Apply]] = {
    "expire all": lambda lake: planned(lake.load().expire_snapshots(FUTURE_MS), "files"),
    "expire, keep two": lambda lake: planned(lake.load().expire_snapshots(FUTURE_MS, retain_last=2), "files"),
    "expire by id": expire_by_id,
    "compact": lambda lake: planned(lake.load().rewrite_data_files(min_input_files=2), "groups"),
    "compact all": lambda lake: planned(lake.load().rewrite_data_files(rewrite_all=True), "groups"),
    "compact in parts": lambda lake: planned(lake.load().rewrite_data_files(rewrite_all=True, max_commits=5), "groups"),
    "orphans": lambda lake: planned(lake.load().remove_orphan_files(force=True), "files"),
    "purge": purge,
    "append": staged(lambda changes: changes.append(rows(40))),
    "append to a branch": staged(lambda changes: changes.append(rows(41), branch="dev")),
    "overwrite": staged(lambda changes: changes.overwrite(rows(42), "p = 'a'")),
    "overwrite partitions": staged(lambda changes: changes.dynamic_partition_overwrite(rows(43))),
    "delete": staged(lambda changes: changes.delete("id in (1, 3)")),
    "update": staged(lambda changes: changes.update({"v": "v + 1"}, "id < 4")),
    "upsert": staged(lambda changes: changes.upsert(rows(1, 44), ["id"])),
    "evolve": staged(evolve),
    "upgrade": staged(upgrade),
    "tag": staged(lambda changes: changes.manage_snapshots().create_tag(snapshot(changes.table(), 0), "t").commit()),
    "overwrite by scan": overwrite_by_scan,
    "replace": replace,
}


# Concurrent changes by another writer


def drop(lake: Lake) -> None:
    # A hadoop catalog has no names other than its folders.
    (lake.catalog.purge_table if lake.kind == "hadoop" else lake.catalog.drop_table)("ns.t")


def recreate(lake: Lake) -> None:
    drop(lake)
    if lake.kind == "hadoop":
        lake.catalog.create_table("ns.t", SCHEMA).append(rows(60))
    else:
        place = lake.root / "elsewhere"
        lake.catalog.create_table("ns.t", SCHEMA, location=str(place)).append(rows(60))


def references(change: Callable[[Any, Any], Any]) -> Callable[[Lake], None]:
    def make(lake: Lake) -> None:
        table = lake.load()
        change(table.manage_snapshots(), table).commit()

    return make


def rename_column(lake: Lake) -> None:
    lake.load().update_schema().rename_column("note", "remark").commit()


CHANGES: dict[str, Callable[[Lake], Any]] = {
    "nothing": lambda _: None,
    "append": lambda lake: lake.load().append(rows(30)),
    "append to a branch": lambda lake: lake.load().append(rows(31), branch="dev"),
    "overwrite": lambda lake: lake.load().overwrite(rows(32)),
    "overwrite partitions": lambda lake: lake.load().dynamic_partition_overwrite(rows(33, p="b")),
    "delete": lambda lake: lake.load().delete("id = 2"),
    "delete files": lambda lake: lake.load().delete("p = 'b'"),
    "update": lambda lake: lake.load().update({"v": "9"}, "id = 3"),
    "upsert": lambda lake: lake.load().upsert(rows(1, 2, 34), ["id"]),
    "add a column": lambda lake: lake.load().update_schema().add_column("x", "int").commit(),
    "rename a column": rename_column,
    "partition otherwise": lambda lake: lake.load().update_spec().add_field("bucket(2, id)").commit(),
    "sort otherwise": lambda lake: lake.load().update_sort_order().desc("id").commit(),
    "keep garbage": lambda lake: lake.load().set_properties({"gc.enabled": "false"}),
    "tag": references(lambda manage, table: manage.create_tag(snapshot(table, 0), "kept")),
    "branch": references(lambda manage, table: manage.create_branch(snapshot(table, 1), "kept")),
    "rollback": references(lambda manage, table: manage.rollback_to_snapshot(snapshot(table, 0))),
    "remove a branch": references(lambda manage, _: manage.remove_branch("dev")),
    "expire": lambda lake: lake.load().expire_snapshots(FUTURE_MS).apply(),
    "compact": lambda lake: lake.load().rewrite_data_files(rewrite_all=True).apply(),
    "compact and expire": lambda lake: (
        lake.load().rewrite_data_files(rewrite_all=True).apply(),
        lake.load().expire_snapshots(FUTURE_MS).apply(),
    ),
    "upgrade": lambda lake: lake.load().upgrade(3),
    "drop": drop,
    "drop and create": recreate,
}


MAINTENANCE = {plan for plan in PLANS if plan.split(",")[0].split()[0] in ("expire", "compact", "orphans")}
"""Plans whose operations change no rows."""


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Lake]]:
    @functools.cache
    def lake(kind: str) -> Lake:
        return Lake(kind, tmp_path_factory.mktemp(kind))

    yield lake
    for kind in ("hadoop", "sql", "rest"):
        lake(kind).close()


def one_after_the_other(lake: Lake, plan: str, change: str) -> list[Any]:
    """Return the final rows of both orders of an operation and a change, for those that succeed."""
    found = []
    steps = [lambda: PLANS[plan](lake)(), lambda: CHANGES[change](lake)]  # noqa: PLW0108 - each plans when it is called
    for first, second in (steps, steps[::-1]):
        lake.restore()
        try:
            first()
            second()
        except (*REFUSALS, MissingFileError):
            continue
        found.append(newest(lake))
    return found


@pytest.mark.sampled(24)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sql", "hadoop", "rest"])
@pytest.mark.parametrize("plan", PLANS)
def test_an_operation_and_a_concurrent_change_are_serializable(
    lakes: Callable[[str], Lake], plan: str, kind: str
) -> None:
    failed = []
    for number, change in enumerate(CHANGES):
        if ALL or kind == "sql" or (number + list(PLANS).index(plan)) % 4 == 0:
            try:
                check(lakes(kind), plan, change)
            except Exception as error:  # noqa: BLE001 - all pairs are reported together
                failed.append(f"{change}: {type(error).__name__} {error}")
    assert not failed, "\n".join(failed)


def check(lake: Lake, plan: str, change: str) -> None:
    lake.restore()
    apply = PLANS[plan](lake)
    CHANGES[change](lake)
    between, alone = contents(lake), newest(lake)
    refs = set(lake.load().refs()) if between is not None else set()
    refused = None
    # A scan may read an expired snapshot.
    typed = (*REFUSALS, MissingFileError) if plan == "overwrite by scan" else REFUSALS
    try:
        apply()
    except typed as error:
        refused = error
    after, rows_after = contents(lake), newest(lake)
    check_snapshots(lake, lake.contents | (between or {}), after, refs)
    if refused is not None:
        assert rows_after == alone, f"{refused!r}, and the rows changed"
    elif plan in MAINTENANCE:
        assert rows_after == alone, "maintenance changed rows"
        assert change != "keep garbage" or plan.startswith("compact"), "files were deleted in spite of gc.enabled"
    else:
        expected = one_after_the_other(lake, plan, change)
        assert rows_after in expected, f"{rows_after} is not any of {expected}"


def check_snapshots(lake: Lake, known: dict[int, Any], after: dict[int, Any] | None, refs: set[str]) -> None:
    """Check that snapshots have not changed, and that references of another writer are kept and readable."""
    if after is None:
        return
    for snapshot_id, found in after.items():
        assert found == known.get(snapshot_id, found), f"snapshot {snapshot_id} has changed"
    table = lake.load()
    assert {"kept"} & refs <= set(table.refs()), "a branch or tag of another writer was removed"
    for name in table.refs():
        content(table, ref=name)


def test_every_operation_succeeds_without_a_change(lakes: Callable[[str], Lake]) -> None:
    lake = lakes("sql")
    for plan, make in PLANS.items():
        lake.restore()
        apply = make(lake)
        try:
            apply()
        except frazil.FrazilError as error:
            pytest.fail(f"{plan}: {error!r}")
