"""Tests of snapshot expiry: which files it keeps and deletes, and what it rejects."""

from __future__ import annotations

import datetime as dt
import pickle
import random
import re
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import (
    CommitValidationError,
    CorruptManifestError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchSnapshotError,
    StorageError,
    UnsupportedError,
)
from support.garbage import metadata_of, path_of, reachable, retained

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
FUTURE_MS = 4_000_000_000_000
DAY_MS = 86_400_000


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": ["ab"[one % 2] for one in ids]}, schema=SCHEMA)


def made(folder: Path, **arguments: Any) -> Any:
    """Return a table of four snapshots: an append, two overwrites of all rows, and an append."""
    table = frazil.create_table(folder / "t", SCHEMA, **arguments)
    table.append(rows(1))
    table.overwrite(rows(2))
    table.overwrite(rows(3))
    table.append(rows(4))
    return table


def files_in(folder: Path) -> set[Path]:
    """Return the files of a table, except metadata files and hints, which expiry does not delete."""
    found = {path for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if not path.name.endswith((".metadata.json", "version-hint.text"))}


def ids_of(table: Any, **arguments: Any) -> list[int]:
    return sorted(table.scan(**arguments).to_arrow()["id"].to_pylist())


def snapshot_ids(table: Any) -> list[int]:
    return [snapshot.snapshot_id for snapshot in table.snapshots()]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_old_snapshots_and_their_files_go(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version)
    old = snapshot_ids(table)[:-1]
    before = files_in(tmp_path)
    plan = table.expire_snapshots(older_than=FUTURE_MS)
    assert plan.snapshot_ids == tuple(old)
    assert files_in(tmp_path) == before
    planned = {path_of(location) for location in plan.files["location"].to_pylist()}
    size = sum(path.stat().st_size for path in planned)
    assert plan.size_bytes == size
    assert re.search(r"3 snapshots; 2 data, .* bytes", repr(plan))
    result = plan.apply()
    assert (result.snapshot_ids, result.refs, result.deleted_bytes) == (tuple(old), (), size)
    assert result.deleted_files["data"] == 2
    assert before - files_in(tmp_path) == planned
    assert files_in(tmp_path) >= reachable(metadata_of(table))
    assert snapshot_ids(table) == snapshot_ids(table.refresh())
    assert ids_of(table) == [3, 4]
    with pytest.raises(NoSuchSnapshotError):
        table.scan(snapshot_id=old[0]).count()
    table.append(rows(5))
    assert ids_of(table) == [3, 4, 5]


def test_reading_an_expired_snapshot_explains_the_likely_cause(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.overwrite(rows(5))
    stale, scan = frazil.load_table(table.location), table.scan()
    table.overwrite(rows(6))
    table.expire_snapshots(older_than=FUTURE_MS).apply()
    for read in (scan.count, lambda: stale.scan().to_arrow()):
        with pytest.raises(MissingFileError, match="may have expired since the table was loaded; refresh the table"):
            read()
    assert ids_of(stale.refresh()) == [6]


def test_by_default_only_snapshots_older_than_five_days_expire(tmp_path: Path) -> None:
    table = made(tmp_path)
    plan = table.expire_snapshots()
    assert (plan.snapshot_ids, plan.refs, plan.size_bytes) == ((), (), 0)
    version = table.metadata_location
    assert plan.apply().snapshot_ids == ()
    assert table.refresh().metadata_location == version
    table.set_properties({"history.expire.max-snapshot-age-ms": "1", "history.expire.min-snapshots-to-keep": "2"})
    time.sleep(0.01)
    assert table.expire_snapshots().snapshot_ids == tuple(snapshot_ids(table)[:2])


def test_arguments_replace_properties_and_branches_take_precedence(tmp_path: Path) -> None:
    table = made(tmp_path)
    ids = snapshot_ids(table)
    assert table.expire_snapshots(FUTURE_MS, retain_last=3).snapshot_ids == (ids[0],)
    table.manage_snapshots().create_tag(ids[0], "first").create_branch(ids[2], "dev", min_snapshots_to_keep=2).commit()
    plan = table.expire_snapshots(FUTURE_MS)
    assert plan.snapshot_ids == ()
    table.manage_snapshots().set_retention("dev", min_snapshots_to_keep=1).commit()
    assert table.expire_snapshots(FUTURE_MS).snapshot_ids == (ids[1],)
    # The maximum age is a property of each branch.
    table.manage_snapshots().set_retention("dev", max_snapshot_age_ms=10 * DAY_MS).commit()
    assert table.expire_snapshots(FUTURE_MS).snapshot_ids == ()


def test_branches_and_tags_expire(tmp_path: Path) -> None:
    table = made(tmp_path)
    ids = snapshot_ids(table)
    snapshots = table.manage_snapshots().create_tag(ids[0], "old", max_ref_age_ms=1).create_tag(ids[1], "kept")
    snapshots.create_branch(ids[2], "dev", max_ref_age_ms=1).commit()
    time.sleep(0.01)
    plan = table.expire_snapshots(FUTURE_MS)
    assert (sorted(plan.refs), set(plan.snapshot_ids)) == (["dev", "old"], {ids[0], ids[2]})
    assert sorted(plan.apply().refs) == ["dev", "old"]
    assert sorted(table.refs()) == ["kept", "main"]
    assert (ids_of(table, ref="kept"), ids_of(table)) == ([2], [3, 4])


def test_only_the_snapshots_that_are_named_expire(tmp_path: Path) -> None:
    table = made(tmp_path)
    ids = snapshot_ids(table)
    table.set_properties({"history.expire.max-snapshot-age-ms": "1"})
    time.sleep(0.01)
    result = table.expire_snapshots(snapshot_ids=[ids[1]]).apply()
    assert result.snapshot_ids == (ids[1],)
    assert snapshot_ids(table) == [ids[0], ids[2], ids[3]]
    assert ids_of(table, snapshot_id=ids[0]) == [1]
    # The file that it replaced still belongs to the first snapshot.
    assert result.deleted_files["data"] == 1


def test_the_calls_of_pyiceberg(tmp_path: Path) -> None:
    table = made(tmp_path)
    ids = snapshot_ids(table)
    table.expire_snapshots().by_id(ids[0]).by_ids([ids[1]]).commit()
    assert snapshot_ids(table) == ids[2:]
    table.expire_snapshots().older_than(dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).retain_last(1).commit()
    assert snapshot_ids(table) == ids[3:]


def test_rejected_operations_change_nothing(tmp_path: Path) -> None:
    table = made(tmp_path)
    ids = snapshot_ids(table)
    table.manage_snapshots().create_tag(ids[0], "v1").commit()
    before, version = files_in(tmp_path), table.metadata_location
    with pytest.raises(InvalidArgumentError, match=f"snapshot {ids[0]} cannot expire: the tag `v1` references it"):
        table.expire_snapshots(snapshot_ids=[ids[0]]).apply()
    with pytest.raises(InvalidArgumentError, match="the branch `main` references it"):
        table.expire_snapshots(FUTURE_MS, snapshot_ids=[ids[3]]).apply()
    with pytest.raises(NoSuchSnapshotError, match="no snapshot 7"):
        table.expire_snapshots(snapshot_ids=[7]).apply()
    with pytest.raises(InvalidArgumentError, match="retain_last is 0"):
        table.expire_snapshots(retain_last=0)
    with pytest.raises(InvalidArgumentError, match="older_than"):
        table.expire_snapshots("yesterday")
    table.set_properties({"gc.enabled": "false"})
    with pytest.raises(CommitValidationError, match=r"gc\.enabled=false"):
        table.expire_snapshots(FUTURE_MS).apply()
    table.set_properties({"gc.enabled": "true"})
    assert table.metadata_location != version
    assert files_in(tmp_path) == before
    assert snapshot_ids(table.refresh()) == ids


def test_manifests_of_retained_snapshots_must_be_readable(tmp_path: Path) -> None:
    table = made(tmp_path)
    plan = table.expire_snapshots(FUTURE_MS)
    manifest = next(path for path in reachable(metadata_of(table)) if path not in _planned(plan) and "-m" in path.name)
    content = manifest.read_bytes()
    before = snapshot_ids(table)
    manifest.write_bytes(content[: len(content) // 2])
    with pytest.raises(CorruptManifestError):
        table.expire_snapshots(FUTURE_MS).apply()
    manifest.unlink()
    with pytest.raises(MissingFileError):
        table.expire_snapshots(FUTURE_MS).apply()
    manifest.write_bytes(content)
    assert snapshot_ids(table.refresh()) == before


def test_missing_files_of_expired_snapshots_are_ignored(tmp_path: Path) -> None:
    table = made(tmp_path)
    first = path_of(table.snapshots()[0].manifest_list)
    first.unlink()
    result = table.expire_snapshots(FUTURE_MS).apply()
    assert len(result.snapshot_ids) == 3
    assert ids_of(table) == [3, 4]


def test_files_that_cannot_be_deleted_are_named(tmp_path: Path) -> None:
    table = made(tmp_path)
    plan = table.expire_snapshots(FUTURE_MS)
    data = next(path for path in _planned(plan) if path.suffix == ".parquet")
    data.unlink()
    data.mkdir()
    (data / "x").touch()
    with pytest.raises(
        StorageError, match=r"the snapshots were removed, but 1 of \d+ files could not be deleted"
    ) as raised:
        plan.apply()
    assert data.name in str(raised.value)
    assert len(snapshot_ids(table)) == 1


def test_concurrent_changes_between_plan_and_apply(tmp_path: Path) -> None:
    table = made(tmp_path)
    ids = snapshot_ids(table)
    other = frazil.load_table(tmp_path / "t")
    plan = table.expire_snapshots(FUTURE_MS)
    assert plan.snapshot_ids == tuple(ids[:3])
    # Another writer tags a snapshot of the plan. The latest snapshot has become old by then, but was not planned.
    other.manage_snapshots().create_tag(ids[1], "saved").commit()
    other.overwrite(rows(8))
    result = plan.apply()
    assert result.snapshot_ids == (ids[0], ids[2])
    assert snapshot_ids(table)[:2] == [ids[1], ids[3]]
    assert (ids_of(table, ref="saved"), ids_of(table, snapshot_id=ids[3]), ids_of(table)) == ([2], [3, 4], [8])
    # Two plans of the same snapshots: the second has nothing left to do.
    first, second = table.expire_snapshots(FUTURE_MS), other.expire_snapshots(FUTURE_MS)
    assert first.snapshot_ids == second.snapshot_ids == (ids[3],)
    first.apply()
    assert second.apply().snapshot_ids == ()
    assert ids_of(other.refresh(), ref="saved") == [2]


@pytest.mark.parametrize("kind", ["tag", "branch", "rollback"])
def test_files_of_a_concurrently_referenced_snapshot_are_kept(tmp_path: Path, kind: str) -> None:
    table = frazil.create_table(tmp_path / "t", {"id": "long"})
    table.append([{"id": 1}])
    (old,) = snapshot_ids(table)
    table.overwrite([{"id": 2}])
    plan = table.expire_snapshots(FUTURE_MS)
    assert plan.snapshot_ids == (old,)
    references = frazil.load_table(tmp_path / "t").manage_snapshots()
    match kind:
        case "tag":
            references.create_tag(old, "kept").commit()
        case "branch":
            references.create_branch(old, "kept").commit()
        case _:
            references.rollback_to_snapshot(old).commit()
    result = plan.apply()
    assert (result.snapshot_ids, dict(result.deleted_files), result.deleted_bytes) == ((), {}, 0)
    assert ids_of(frazil.load_table(tmp_path / "t"), snapshot_id=old) == [1]


CHANGES = {
    "append": (lambda table: table.append(rows(5)), [3, 4, 5]),
    "append a stream": (lambda table: table.append(rows(5).to_reader()), [3, 4, 5]),
    "overwrite": (lambda table: table.overwrite(rows(6)), [6]),
    "delete": (lambda table: table.delete("id = 3"), [4]),
    "update": (lambda table: table.update({"id": "7"}, "id = 3"), [4, 7]),
    "upsert": (lambda table: table.upsert([{"id": 3, "p": "z"}, {"id": 8, "p": "z"}], ["id"]), [3, 4, 8]),
    "tag": (lambda table: table.manage_snapshots().create_tag(None, "now").commit(), [3, 4]),
    "expire": (lambda table: table.expire_snapshots(FUTURE_MS).apply(), [3, 4]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_handles_whose_state_has_expired_still_change_the_table(tmp_path: Path, change: str, mode: str) -> None:
    properties = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties=properties)
    table.append(rows(1))
    table.overwrite(rows(2))
    stale = frazil.load_table(tmp_path / "t")
    table.overwrite(rows(3, 4))
    table.expire_snapshots(FUTURE_MS).apply()
    act, expected = CHANGES[change]
    act(stale)
    assert ids_of(stale.refresh()) == expected
    assert files_in(tmp_path) >= reachable(metadata_of(stale.refresh()))


def test_expiration_in_catalogs_and_unsupported_tables(tmp_path: Path) -> None:
    catalog = frazil.load_catalog(type="local", path=str(tmp_path / "lake"))
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(rows(1))
    table.overwrite(rows(2))
    loaded = pickle.loads(pickle.dumps(catalog.load_table("ns.t")))  # noqa: S301 - our own
    assert len(loaded.expire_snapshots(FUTURE_MS).apply().snapshot_ids) == 1
    assert (snapshot_ids(catalog.load_table("ns.t")), ids_of(catalog.load_table("ns.t"))) == (snapshot_ids(loaded), [2])
    static = frazil.load_table(catalog.load_table("ns.t").metadata_location)
    with pytest.raises(UnsupportedError):
        static.expire_snapshots(FUTURE_MS).apply()


def _planned(plan: Any) -> set[Path]:
    return {path_of(location) for location in plan.files["location"].to_pylist()}


def _change(chance: random.Random, table: Any) -> None:
    """Apply a random change to a table: rows, branches, tags or properties."""
    branch = chance.choice([name for name, ref in table.refs().items() if ref.type == "branch"] or ["main"])
    ids = snapshot_ids(table)
    age_ms = chance.choice([None, 1, DAY_MS])
    name = f"r{chance.randrange(4)}"
    match chance.randrange(9):
        case 0 | 1:
            table.append(rows(chance.randrange(100), chance.randrange(100)), branch=branch)
        case 2:
            table.overwrite(rows(chance.randrange(100)), branch=branch)
        case 3:
            table.delete(f"id > {chance.randrange(100)}", branch=branch)
        case 4:
            table.dynamic_partition_overwrite(rows(chance.randrange(100)), branch=branch)
        case 5 if ids and name not in table.refs():
            table.manage_snapshots().create_tag(chance.choice(ids), name, max_ref_age_ms=age_ms).commit()
        case 6 if ids and name not in table.refs():
            least = chance.choice([None, 1, 3])
            table.manage_snapshots().create_branch(
                chance.choice(ids), name, age_ms, chance.choice([None, 1, DAY_MS]), least
            ).commit()
        case 7 if name in table.refs():
            snapshots = table.manage_snapshots()
            (snapshots.remove_tag if table.refs()[name].type == "tag" else snapshots.remove_branch)(name).commit()
        case 8:
            number = str(chance.choice([1, DAY_MS]))
            table.set_properties(
                {chance.choice(["history.expire.max-snapshot-age-ms", "history.expire.max-ref-age-ms"]): number}
            )


@pytest.mark.parametrize("seed", range(24))
def test_random_tables_retain_snapshots_per_specification(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    mode = chance.choice(["copy-on-write", "merge-on-read"])
    properties = {"write.delete.mode": mode, "commit.manifest.min-count-to-merge": chance.choice(["2", "100"])}
    version = chance.choice([1, 2, 3]) if mode == "copy-on-write" else chance.choice([2, 3])
    table = frazil.create_table(
        tmp_path / "t", SCHEMA, partition_by=["p"], format_version=version, properties=properties
    )
    for _ in range(4):
        for _ in range(chance.randrange(1, 7)):
            _change(chance, table)
        time.sleep(0.003)
        before, present = metadata_of(table), files_in(tmp_path)
        reached = reachable(before)
        older_than = chance.choice([None, FUTURE_MS, *(snapshot.timestamp_ms for snapshot in table.snapshots())])
        retain_last = chance.choice([None, 1, 2])
        plan = table.expire_snapshots(older_than, retain_last=retain_last)
        kept, kept_refs = retained(before, plan._now_ms, older_than, retain_last)
        known = {snapshot["snapshot-id"] for snapshot in before.get("snapshots", [])}
        assert set(plan.snapshot_ids) == known - kept
        assert set(plan.refs) == before.get("refs", {}).keys() - kept_refs
        states = {snapshot_id: ids_of(table, snapshot_id=snapshot_id) for snapshot_id in kept}
        planned = _planned(plan)
        result = plan.apply()
        after = metadata_of(table)
        assert {snapshot["snapshot-id"] for snapshot in after.get("snapshots", [])} == kept
        assert planned == reached - reachable(after)
        assert present - files_in(tmp_path) == planned
        assert sum(result.deleted_files.values()) == len(planned)
        assert {snapshot_id: ids_of(table, snapshot_id=snapshot_id) for snapshot_id in kept} == states
