"""Tests of the expiry of snapshots of Paimon tables, of rollbacks and of the removal of orphan files: nothing that is
needed is deleted, nothing else remains.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.paimon_garbage import garbage, missing
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.paimon import Table

SCHEMA = {"id": "BIGINT NOT NULL", "part": "STRING NOT NULL", "n": "INT"}
HISTORIES = size("FRAZIL_PAIMON_EXPIRIES")
"""The number of random histories for each kind of table."""

KINDS: dict[str, dict[str, Any]] = {
    "append": {"primary_keys": []},
    "append with indexes": {"primary_keys": [], "file-index.bloom-filter.columns": "n"},
    "append in buckets": {"primary_keys": [], "bucket": 2, "bucket-key": "id", "compaction.min.file-num": 3},
    "keys": {"bucket": 2, "num-sorted-run.compaction-trigger": 2},
    "dynamic buckets": {"bucket": -1},
    "postponed buckets": {"bucket": -2, "postpone.batch-write-fixed-bucket": "false"},
    "vectors": {"bucket": 1, "deletion-vectors.enabled": "true"},
    "first-row": {"bucket": 1, "merge-engine": "first-row"},
    "input": {"bucket": 1, "changelog-producer": "input"},
    "lookup": {"bucket": 1, "changelog-producer": "lookup", "manifest.merge-min-count": 2},
}


def create(folder: Path, **options: Any) -> Table:
    keys = options.pop("primary_keys", ["part", "id"])
    table: Any = frazil.create_table(
        folder / "t", SCHEMA, format="paimon", primary_keys=keys, partition_keys=["part"], options=options
    )
    return table


def rows(table: Any, **state: Any) -> list[tuple[Any, ...]]:
    return sorted((row["part"], row["id"], row["n"]) for row in table.scan(**state).to_arrow().to_pylist())


class World:
    """A table with branches, and what each of its states must contain."""

    def __init__(self, table: Table, chooser: random.Random) -> None:
        self.table, self.chooser = table, chooser
        self.folder = Path(table.location)
        self.numbers = 0

    def branch(self) -> Any:
        name = self.chooser.choice(["main", *self.table.branches()])
        return self.table.with_branch(name)

    def states(self) -> dict[Any, list[tuple[Any, ...]]]:
        """Return the rows of all snapshots and tags."""
        found: dict[Any, list[tuple[Any, ...]]] = {}
        for name in ("main", *self.table.branches()):
            branch = self.table.with_branch(name)
            for snapshot in branch.snapshots():
                found[name, snapshot.snapshot_id] = rows(branch, snapshot_id=snapshot.snapshot_id)
            for tag in branch.tags():
                found[name, tag] = rows(branch, ref=tag)
        return found

    def write(self) -> None:
        choose = self.chooser
        news = [
            {"id": choose.randrange(12), "part": choose.choice("xy"), "n": choose.randrange(9)}
            for _ in range(choose.randrange(1, 6))
        ]
        branch = self.branch()
        if choose.random() < 0.2:
            branch.overwrite(news)
        else:
            branch.append(news)

    def compact(self) -> None:
        self.branch().compact(full=self.chooser.random() < 0.5)

    def tag(self) -> None:
        branch = self.branch()
        snapshots = branch.snapshots()
        if snapshots:
            self.numbers += 1
            chosen = self.chooser.choice(snapshots).snapshot_id
            branch.manage_snapshots().create_tag(chosen, f"t{self.numbers}").commit()

    def untag(self) -> None:
        branch = self.branch()
        tags = sorted(branch.tags())
        if tags:
            branch.manage_snapshots().remove_tag(self.chooser.choice(tags)).commit()

    def make_branch(self) -> None:
        tags = sorted(self.table.tags())
        if tags and len(self.table.branches()) < 3:
            self.numbers += 1
            self.table.manage_snapshots().create_branch(self.chooser.choice(tags), f"b{self.numbers}").commit()

    def drop_branch(self) -> None:
        names = self.table.branches()
        if names and self.chooser.random() < 0.3:
            self.table.manage_snapshots().remove_branch(self.chooser.choice(sorted(names))).commit()

    def expire(self) -> None:
        branch = self.branch()
        least = self.chooser.randint(1, 4)
        most = self.chooser.choice([None, least, least + 3])
        older_than = self.chooser.choice([None, "2100-01-01T00:00:00Z"])
        plan = branch.expire_snapshots(
            older_than, retain_min=least, retain_max=most, max_deletes=self.chooser.choice([None, 1, 3])
        )
        planned = sorted(plan.files["location"].to_pylist())
        before = {snapshot.snapshot_id for snapshot in branch.snapshots()}
        result = plan.apply()
        assert before - {snapshot.snapshot_id for snapshot in branch.snapshots()} == set(plan.snapshot_ids)
        assert result.snapshot_ids == plan.snapshot_ids
        assert not [location for location in planned if Path(location).exists()]
        if older_than is not None or most is not None:
            kept = len(branch.snapshots())
            assert kept >= min(least, len(before)) or not before

    def roll_back(self) -> None:
        branch = self.branch()
        snapshots = branch.snapshots()
        if snapshots and self.chooser.random() < 0.4:
            target = self.chooser.choice(snapshots[-4:]).snapshot_id
            wanted = rows(branch, snapshot_id=target)
            branch.rollback_to(target).apply()
            assert rows(branch) == wanted
            assert all(snapshot.snapshot_id <= target for snapshot in branch.snapshots())

    def check(self, before: dict[Any, Any]) -> dict[Any, Any]:
        assert missing(self.folder) == set()
        assert garbage(self.folder) == set()
        after = self.states()
        assert all(after[state] == before[state] for state in after.keys() & before.keys())
        return after


def weighted(world: World) -> list[Callable[[], None]]:
    return [
        *[world.write] * 5, *[world.compact] * 2, *[world.tag] * 2, *[world.expire] * 3,
        world.untag, world.make_branch, world.drop_branch, world.roll_back,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.parametrize("kind", KINDS)
def test_random_histories(tmp_path: Path, kind: str, seed: int) -> None:
    world = World(create(tmp_path, **KINDS[kind]), random.Random(seed))  # noqa: S311 - of a test
    known: dict[Any, Any] = {}
    for _ in range(30):
        step = world.chooser.choice(weighted(world))
        step()
        if step == world.roll_back:
            # Snapshots that follow have the ids of deleted ones.
            known = {}
        known = world.check(known)
    world.table.refresh()
    world.table.append([{"id": 1, "part": "x", "n": 1}])
    known = world.check(known)
    leave_orphans(world)
    orphans = garbage(world.folder)
    age(world.folder)
    plan = world.table.remove_orphan_files(force=True)
    assert {Path(location).name for location in plan.files["location"].to_pylist()} == orphans | TEMPORARY
    assert plan.apply().deleted_files == len(orphans | TEMPORARY)
    world.check(known)
    assert not [path for path in world.folder.rglob("*.tmp") if path.name in TEMPORARY]


def is_found(folder: Path, lost: str) -> bool:
    """Return whether the checks of a history report that a file is missing."""
    try:
        return missing(folder) == {lost}
    except FileNotFoundError as error:
        return lost in str(error)


def test_the_checks_find_each_file_that_is_left_or_lost(tmp_path: Path) -> None:
    """A defect of an expiry leaves a file of an expired snapshot, or deletes one that another state needs."""
    table = create(tmp_path, bucket=-1, **{"changelog-producer": "lookup"})
    world = World(table, random.Random(5))  # noqa: S311 - of a test
    for make in (world.write, world.write, world.tag, world.make_branch, *[world.write] * 4):
        make()
    plan, folder = world.table.expire_snapshots(retain_min=2, retain_max=2), world.folder
    kinds = {"data", "changelog", "index", "index-manifest", "manifest", "manifest-list"}
    assert plan.by_kind().keys() == kinds
    contents = {Path(location): Path(location).read_bytes() for location in plan.files["location"].to_pylist()}
    plan.apply()
    world.check({})
    for path, content in contents.items():
        path.write_bytes(content)
        assert garbage(folder) == {path.name}
        path.unlink()
    needed = [
        path for name in ("part=*", "index", "manifest") for path in folder.glob(f"{name}/**/*") if path.is_file()
    ]
    assert {kind for kind in kinds if any(path.name.startswith(f"{kind}-") for path in needed)} == kinds
    for path in needed:
        path.rename(tmp_path / "aside")
        assert is_found(folder, path.name), path
        (tmp_path / "aside").rename(path)
    world.check({})


TEMPORARY = {".snapshot-9.1f.tmp", ".frazil-1f.tmp"}


def leave_orphans(world: World) -> None:
    """Create files that killed writers leave: of lost commits, of a deleted snapshot, and temporary files."""
    folder = world.folder
    copied = next(folder.rglob("data-*"))
    shutil.copy(copied, copied.with_name("data-0000-0" + copied.suffix))
    for name in ("manifest", "index", "statistics"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"{name}-0000").write_bytes(b"x")
    (folder / "snapshot" / ".snapshot-9.1f.tmp").write_bytes(b"x")
    copied.with_name(".frazil-1f.tmp").write_bytes(b"x")
    first = min(world.table.snapshots(), key=lambda snapshot: snapshot.snapshot_id)
    tags = {snapshot.snapshot_id for snapshot in world.table.tags().values()}
    if len(world.table.snapshots()) > 1 and first.snapshot_id not in tags:
        (folder / f"snapshot/snapshot-{first.snapshot_id}").unlink()
        (folder / "snapshot/EARLIEST").unlink(missing_ok=True)


def age(folder: Path) -> None:
    """Make all files two days old."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 2 * 86_400,) * 2)


def test_recent_files_are_kept_and_most_bytes_need_force(tmp_path: Path) -> None:
    table = filled(tmp_path)
    folder = Path(table.location)
    orphan = folder / "part=x" / "bucket-0" / "data-0000-0.parquet"
    orphan.write_bytes(b"x" * 200_000)
    other = folder / "part=x" / "notes.txt"
    other.write_text("not ours")
    assert table.remove_orphan_files().files.num_rows == 0
    age(folder)
    plan = table.remove_orphan_files()
    assert plan.files["location"].to_pylist() == [str(orphan)]
    assert plan.size_bytes == 200_000
    with pytest.raises(errors.CommitValidationError, match="more than half of the bytes"):
        plan.apply()
    table.append([{"id": 50, "part": "x", "n": 1}])
    assert table.remove_orphan_files(force=True).apply().deleted_files == 1
    assert (orphan.exists(), other.exists(), len(rows(table))) == (False, True, 7)
    with pytest.raises(errors.InvalidArgumentError, match="the default is 1 day ago"):
        table.remove_orphan_files(int(time.time() * 1000))


def test_a_damaged_manifest_stops_the_removal_of_orphans(tmp_path: Path) -> None:
    table = filled(tmp_path)
    folder = Path(table.location)
    (folder / "part=x" / "bucket-0" / "data-0000-0.parquet").write_bytes(b"x")
    age(folder)
    plan = table.remove_orphan_files(force=True)
    assert plan.files.num_rows == 1
    (folder / "manifest" / table.snapshots()[2].delta_manifest_list).write_bytes(b"x")
    with pytest.raises(errors.FrazilError):
        plan.apply()
    assert (folder / "part=x" / "bucket-0" / "data-0000-0.parquet").exists()


def filled(folder: Path, count: int = 6, **options: Any) -> Table:
    table = create(folder, **{"bucket": 1, "num-sorted-run.compaction-trigger": 100, **options})
    for number in range(count):
        table.append([{"id": number, "part": "x", "n": number}])
    return table


def ids(table: Any) -> list[int]:
    return [snapshot.snapshot_id for snapshot in table.snapshots()]


def test_options_are_the_defaults(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"snapshot.num-retained.min": 2, "snapshot.num-retained.max": 5, "write-only": "true"})
    assert table.expire_snapshots().snapshot_ids == (1,)
    assert table.expire_snapshots("2001-01-01T00:00:00Z").snapshot_ids == (1,)
    assert table.expire_snapshots(2**62).snapshot_ids == (1, 2, 3, 4)
    assert table.expire_snapshots(2**62, retain_min=1).snapshot_ids == (1, 2, 3, 4, 5)
    assert table.expire_snapshots(2**62, retain_min=5).snapshot_ids == (1,)
    assert table.expire_snapshots(2**62, max_deletes=1).snapshot_ids == (1,)
    assert table.expire_snapshots(table.snapshots()[2].timestamp_ms, retain_max=6).snapshot_ids in {(1, 2), (1,), ()}
    plan = table.expire_snapshots(2**62)
    assert "not planned yet" in repr(plan)
    assert plan.size_bytes > 0
    assert "4 snapshots" in repr(plan)
    assert ids(table) == [1, 2, 3, 4, 5, 6], "a plan changes nothing"
    assert plan.apply().snapshot_ids == (1, 2, 3, 4)
    assert ids(table) == [5, 6]
    with pytest.raises(errors.InvalidArgumentError, match="already applied"):
        plan.apply()
    with pytest.raises(errors.NoSuchSnapshotError, match="no snapshot 2"):
        table.scan(snapshot_id=2)
    assert (Path(table.location) / "snapshot/EARLIEST").read_text() == "5"


def test_commits_expire_snapshots(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {"snapshot.num-retained.min": 2, "snapshot.num-retained.max": 3, "deletion-vectors.enabled": "true"}
    table = filled(tmp_path, **options)
    assert ids(table) == [10, 11, 12]
    table.delete("id = 0")
    assert ids(table) == [12, 13, 14]
    assert (garbage(Path(table.location)), missing(Path(table.location))) == (set(), set())
    other: Any = frazil.load_table(table.location)
    table.manage_snapshots().create_tag(13, "kept").commit()
    other.truncate()
    other.append([{"id": 7, "part": "x", "n": 7}])
    assert ids(table) == [15, 16, 17]
    assert (garbage(Path(table.location)), missing(Path(table.location))) == (set(), set())
    assert not caplog.records
    # An expiry that fails does not affect the commit.
    (Path(table.location) / "tag/tag-kept").write_text("{")
    table.append([{"id": 8, "part": "x", "n": 8}])
    assert "were not expired completely" in caplog.text
    assert rows(table) == [("x", 7, 7), ("x", 8, 8)]


def test_commits_expire_at_most_some_snapshots(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"write-only": "true"})
    newest = max((Path(table.location) / "schema").iterdir())
    schema = json.loads(newest.read_text())
    options = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "0 ms", "snapshot.expire.limit": "2"}
    schema["options"] = {**schema["options"], **options, "write-only": "false"}
    newest.write_text(json.dumps(schema))
    table = frazil.load_table(table.location)  # type: ignore[assignment] - a Paimon table
    table.append([{"id": 8, "part": "x", "n": 8}])
    assert ids(table) == [3, 4, 5, 6, 7]


def test_consumers_keep_what_they_have_not_read(tmp_path: Path) -> None:
    table = filled(tmp_path)
    consumers = Path(table.location) / "consumer"
    consumers.mkdir()
    (consumers / "consumer-slow").write_text('{"nextSnapshot": 3}')
    (consumers / "consumer-fast").write_text('{"nextSnapshot": 6}')
    plan = table.expire_snapshots(2**62, retain_min=1)
    assert plan.snapshot_ids == (1, 2)
    (consumers / "consumer-new").write_text('{"nextSnapshot": 2}')
    assert plan.apply().snapshot_ids == (1,)
    assert ids(table) == [2, 3, 4, 5, 6]


def test_a_tag_that_is_created_meanwhile_keeps_its_files(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"deletion-vectors.enabled": "true"})
    plan = table.expire_snapshots(2**62, retain_min=1)
    wanted = rows(table, snapshot_id=4)
    assert plan.files.num_rows
    table.manage_snapshots().create_tag(4, "four").commit()
    plan.apply()
    assert rows(table, ref="four") == wanted
    assert (garbage(Path(table.location)), missing(Path(table.location))) == (set(), set())
    table.manage_snapshots().remove_tag("four").commit()
    assert garbage(Path(table.location)) == set()


def test_commits_continue_after_an_expiry_and_a_rollback(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"deletion-vectors.enabled": "true"})
    stale: Any = frazil.load_table(table.location)
    table.manage_snapshots().create_tag(8, "eight").commit()
    table.expire_snapshots(2**62, retain_min=1).apply()
    table.append([{"id": 0, "part": "x", "n": 100}])
    stale.append([{"id": 1, "part": "x", "n": 101}])
    assert rows(table)[:3] == [("x", 0, 100), ("x", 1, 101), ("x", 2, 2)]
    # The snapshot of the tag has expired, and is created again.
    plan = table.rollback_to(tag="eight")
    assert (plan.snapshot_id, plan.snapshot_ids[-1], plan.tags) == (8, 12, ())
    plan.apply()
    assert ids(table) == [8]
    assert rows(table) == [("x", number, number) for number in range(4)]
    stale.append([{"id": 9, "part": "x", "n": 9}])
    assert rows(table)[-1] == ("x", 9, 9)
    assert (garbage(Path(table.location)), missing(Path(table.location))) == (set(), set())


def test_newer_tags_go_with_a_rollback(tmp_path: Path) -> None:
    table = filled(tmp_path)
    references = table.manage_snapshots().create_tag(2, "old").create_tag(5, "new")
    references.create_branch("new", "b").commit()
    branch = rows(table.with_branch("b"))
    plan = table.rollback_to(3)
    assert plan.tags == ("new",)
    assert plan.apply().deleted_tags == ("new",)
    assert sorted(table.tags()) == ["old"]
    assert rows(table.with_branch("b")) == branch, "files of a branch are kept"
    assert table.rollback_to(as_of=2**62).apply().deleted_snapshot_ids == ()


@pytest.mark.parametrize(
    ("call", "kind", "named"),
    [
        (
            lambda table: table.expire_snapshots(retain_min=0).snapshot_ids,
            errors.InvalidArgumentError,
            "retain_min is 0",
        ),
        (
            lambda table: table.expire_snapshots(retain_min=5, retain_max=2).snapshot_ids,
            errors.InvalidArgumentError,
            r"retain_max \(2\) is less than retain_min \(5\)",
        ),
        (lambda table: table.expire_snapshots("soon"), errors.InvalidArgumentError, "older_than is 'soon'"),
        (
            lambda table: table.rollback_to(),
            errors.InvalidArgumentError,
            "needs a snapshot_id, a tag, as_of or a watermark",
        ),
        (lambda table: table.rollback_to(1, tag="a"), errors.InvalidArgumentError, "mutually exclusive"),
        (lambda table: table.rollback_to(99).tags, errors.NoSuchSnapshotError, "no snapshot 99"),
        (lambda table: table.rollback_to(tag="none").tags, errors.NoSuchSnapshotError, "no tag `none`"),
        (lambda table: table.audit_log().expire_snapshots(), errors.UnsupportedError, "read-only"),
        (lambda table: table.audit_log().rollback_to(1), errors.UnsupportedError, "read-only"),
    ],
)
def test_bad_requests_are_named(tmp_path: Path, call: Any, kind: type[Exception], named: str) -> None:
    table = filled(tmp_path)
    with pytest.raises(kind, match=named):
        call(table)
    assert ids(table) == [1, 2, 3, 4, 5, 6]


def test_longer_changelogs_are_refused(tmp_path: Path) -> None:
    options = {"changelog.num-retained.max": 100, "snapshot.num-retained.max": 2, "snapshot.num-retained.min": 1}
    with pytest.warns(UserWarning, match="`changelog.num-retained.max` has no effect"):
        table = filled(tmp_path, **options)
    assert len(ids(table)) == 6
    with pytest.raises(errors.UnsupportedError, match="changelogs are retained longer"):
        table.expire_snapshots().snapshot_ids  # noqa: B018 - plans the expiry


def test_a_damaged_manifest_stops_an_expiry(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.overwrite([{"id": 1, "part": "x", "n": 1}])
    table.manage_snapshots().create_tag(3, "three").commit()
    folder = Path(table.location)
    (folder / "manifest" / table.snapshots()[2].delta_manifest_list).write_bytes(b"")
    before = {path for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(errors.FrazilError):
        table.expire_snapshots(2**62, retain_min=1).apply()
    assert {path for path in folder.rglob("*") if path.is_file()} == before


def work(table: Table, seed: int) -> None:
    """Write, compact, tag and expire as one of several writers; a snapshot may expire before it is tagged or read."""
    chooser = random.Random(seed)  # noqa: S311 - of a test
    own: Any = frazil.load_table(table.location)
    for number in range(40):
        step = chooser.random()
        with contextlib.suppress(errors.CommitConflictError, errors.NoSuchSnapshotError, errors.MissingFileError):
            if step < 0.6:
                own.append([{"id": chooser.randrange(30), "part": "x", "n": chooser.randrange(9)}])
            elif step < 0.7:
                own.compact()
            elif step < 0.8:
                chosen = chooser.choice(own.snapshots()).snapshot_id
                own.manage_snapshots().create_tag(chosen, f"t{seed}_{number}").commit()
            elif step < 0.9:
                for tag in [name for name in own.tags() if name.startswith(f"t{seed}_")][:1]:
                    own.manage_snapshots().remove_tag(tag).commit()
            else:
                own.expire_snapshots(2**62, retain_min=chooser.randint(1, 3)).apply()


@pytest.mark.parametrize("kind", ["vectors", "input", "dynamic buckets"])
def test_many_writers_expire_snapshots(tmp_path: Path, kind: str) -> None:
    options = {"snapshot.num-retained.min": 1, "snapshot.num-retained.max": 4, "commit.max-retries": 50}
    table = create(tmp_path, **KINDS[kind], **options)
    table.append([{"id": 1, "part": "x", "n": 1}])
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, [table] * 3, range(3)))
    for state in [*table.snapshots(), *table.tags()]:
        rows(table, **({"ref": state} if isinstance(state, str) else {"snapshot_id": state.snapshot_id}))
    assert missing(Path(table.location)) == set()
    table.expire_snapshots(2**62, retain_min=1).apply()
    assert garbage(Path(table.location)) == set()


def test_a_rollback_to_an_expired_tag_leaves_nothing(tmp_path: Path) -> None:
    table = filled(tmp_path, 8, **{"changelog-producer": "input"})
    table.manage_snapshots().create_tag(2, "two").create_tag(8, "mid").commit()
    table.compact()
    table.expire_snapshots(2**62, retain_min=2).apply()
    folder = Path(table.location)
    changelogs = folder / "changelog"
    changelogs.mkdir()
    # As Java leaves it for a changelog that is retained longer.
    first = ids(table)[0]
    content = json.loads((folder / "snapshot" / f"snapshot-{first}").read_text())
    (changelogs / f"changelog-{first - 1}").write_text(json.dumps({**content, "id": first - 1}))
    table.rollback_to(tag="two").apply()
    assert ids(table) == [2]
    assert len(rows(table)) == 2
    assert not list(changelogs.iterdir())
    assert (garbage(folder), missing(folder)) == (set(), set())


def test_an_interrupted_rollback_and_other_histories_lose_nothing(tmp_path: Path) -> None:
    table = filled(tmp_path, 8)
    references = table.manage_snapshots().create_tag(2, "two").create_tag(5, "mid").create_tag(4, "four")
    references.create_branch("four", "b").commit()
    branch: Any = table.with_branch("b")
    for number in range(3):
        branch.overwrite([{"id": number, "part": "x", "n": number}])
    table.expire_snapshots(2**62, retain_min=2).apply()
    folder = Path(table.location)
    # An interrupted rollback: the snapshot of the tag exists next to later ones.
    shutil.copy(folder / "tag/tag-two", folder / "snapshot/snapshot-2")
    (folder / "snapshot/EARLIEST").write_text("2")
    table.manage_snapshots().remove_tag("mid").commit()
    assert missing(folder) == set()
    assert len(rows(table)) == 8
    table.append([{"id": 20, "part": "x", "n": 1}])
    table.expire_snapshots(2**62, retain_min=1).apply()
    assert (missing(folder), len(ids(table))) == (set(), 1)
    # Java's fast-forward: main continues with the snapshots of the branch.
    for snapshot in (folder / "branch/branch-b/snapshot").glob("snapshot-*"):
        shutil.copy(snapshot, folder / "snapshot" / snapshot.name)
    table.expire_snapshots(2**62, retain_min=2, max_deletes=1).apply()
    kept = rows(table)
    table.manage_snapshots().remove_branch("b").commit()
    assert missing(folder) == set()
    assert rows(table) == kept


def test_a_rollback_goes_to_the_planned_state(tmp_path: Path) -> None:
    table = filled(tmp_path, 3)
    plan = table.rollback_to(as_of=2**62)
    assert plan.snapshot_id == 3
    table.append([{"id": 9, "part": "x", "n": 9}])
    done = plan.apply()
    assert (done.snapshot_id, done.deleted_snapshot_ids, ids(table)) == (3, (4,), [1, 2, 3])
