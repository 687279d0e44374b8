"""Tests of removing orphan files: which files are orphans, which never are, and concurrent writers."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import (
    CommitValidationError,
    FrazilError,
    InvalidArgumentError,
    MissingFileError,
    PathNotAllowedError,
    UnsupportedError,
)
from support.cases import golden_cases
from support.garbage import metadata_of, path_of, reachable
from support.object_store import object_store

if TYPE_CHECKING:
    from support.cases import Case

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
DAY_S = 86_400


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "p": ["ab"[one % 2] for one in ids]}, schema=SCHEMA)


def made(folder: Path, **arguments: Any) -> Any:
    table = frazil.create_table(folder / "t", SCHEMA, **arguments)
    table.append(rows(1, 2))
    table.overwrite(rows(3, 4))
    table.append(rows(5, 6))
    return table


def grow_old(folder: Path, days: float = 10) -> None:
    """Set the age of all files."""
    moment = time.time() - days * DAY_S
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (moment, moment))


def stray(path: Path, days: float = 10, content: bytes = b"left by a failed write") -> Path:
    """Write a file that is not referenced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    moment = time.time() - days * DAY_S
    os.utime(path, (moment, moment))
    return path


def planned(table: Any, **arguments: Any) -> set[Path]:
    plan = table.remove_orphan_files(**arguments)
    return {path_of(location) for location in plan.files["location"].to_pylist()}


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_that_nothing_names_go(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version, partition_by=["p"])
    strays = {
        stray(Path(table.location, *parts))
        for parts in [
            ("data", "p=a", "00000-0-x-00001.parquet"),
            ("data", "p=c", "a b%2Fc#d=ä?.parquet"),
            ("metadata", "snap-1-1-x.avro"),
            ("metadata", "00099-x.metadata.json"),
            ("elsewhere", "deep", "er", "x"),
        ]
    }
    grow_old(tmp_path)
    before = files_in(tmp_path)
    plan = table.remove_orphan_files()
    assert {path_of(location) for location in plan.files["location"].to_pylist()} == strays
    assert plan.size_bytes == sum(path.stat().st_size for path in strays)
    assert f"5 of {len(before)} files, {plan.size_bytes} bytes" in repr(plan)
    assert files_in(tmp_path) == before
    size = plan.size_bytes
    result = plan.apply()
    assert (result.deleted_files, result.deleted_bytes) == (5, size)
    assert files_in(tmp_path) == before - strays
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [3, 4, 5, 6]
    with pytest.raises(InvalidArgumentError, match="this plan of remove_orphan_files was already applied"):
        plan.apply()
    assert table.remove_orphan_files().apply().deleted_files == 0


def with_orphan(folder: Path) -> tuple[Any, Path]:
    """Return a table and one of its orphan files."""
    table = frazil.create_table(folder, {"id": "long"})
    table.append([{"id": 1}])
    orphan = folder / "data" / "orphan"
    orphan.write_bytes(b"x")
    grow_old(folder)
    return table, orphan


def test_a_plan_is_shown_without_reading(tmp_path: Path) -> None:
    table, orphan = with_orphan(tmp_path / "t")
    plan = table.remove_orphan_files(force=True)
    assert "not planned yet" in repr(plan)
    plan.apply()
    assert repr(plan).endswith("1 of 7 files, 1 bytes, applied>")
    assert plan.files["location"].to_pylist() == [str(orphan)]


def test_garbage_collection_may_be_disabled_after_the_plan(tmp_path: Path) -> None:
    table, orphan = with_orphan(tmp_path / "t")
    plan = table.remove_orphan_files(force=True)
    assert plan.files.num_rows == 1
    frazil.load_table(tmp_path / "t").set_properties({"gc.enabled": "false"})
    with pytest.raises(CommitValidationError, match=r"gc\.enabled"):
        plan.apply()
    assert orphan.exists()


@pytest.mark.parametrize("below", ["", "data", "metadata"])
def test_the_folder_of_another_table_is_refused(tmp_path: Path, below: str) -> None:
    with_orphan(tmp_path / "t")
    with_orphan(tmp_path / "u")
    before = files_in(tmp_path)
    table = frazil.load_table(tmp_path / "t", allowed_locations=[str(tmp_path)])
    with pytest.raises(CommitValidationError, match="the folder belongs to another table"):
        table.remove_orphan_files(location=tmp_path / "u" / below, force=True).apply()
    assert files_in(tmp_path) == before
    # If the folder contains tables, they are skipped.
    assert table.remove_orphan_files(location=tmp_path, force=True).apply().deleted_files == 0


def test_two_tables_in_one_folder_are_refused(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "wh"))
    catalog.create_namespace("ns")
    old = catalog.create_table("ns.t", {"id": "long"})
    old.append([{"id": 1}])
    catalog.drop_table("ns.t")
    new = catalog.create_table("ns.t", {"id": "long"})
    new.append([{"id": 2}])
    plan = new.remove_orphan_files(force=True)
    grow_old(tmp_path / "wh")
    assert plan.files.num_rows > 0
    catalog.register_table("ns.old", old.metadata_location)
    for refused in (plan, new.remove_orphan_files(force=True)):
        with pytest.raises(CommitValidationError, match=r"shares its folder with table 'ns\.old'"):
            refused.apply()
    assert catalog.load_table("ns.old").scan().count() == 1


def test_temporary_files_of_killed_writers_are_orphans(tmp_path: Path) -> None:
    table, orphan = with_orphan(tmp_path / "t")
    left = tmp_path / "t" / "metadata" / ".frazil-1-2-3.tmp"
    hidden = tmp_path / "t" / "data" / ".frazil"
    strange = tmp_path / "t" / "data" / "a\tb\x1b.parquet"
    for path in (left, hidden, strange):
        path.touch()
        os.utime(path, (0, 0))
    assert table.remove_orphan_files(force=True).apply().deleted_files == 2
    assert [path.exists() for path in (orphan, left, hidden, strange)] == [False, False, True, True]


def test_young_files_stay(tmp_path: Path) -> None:
    table = made(tmp_path)
    folder = Path(table.location, "data")
    old, young = stray(folder / "old", 3.1), stray(folder / "young", 2.9)
    stray(folder / "now", 0)
    assert planned(table) == {old}
    moment = int((time.time() - 2.5 * DAY_S) * 1000)
    assert planned(table, older_than=moment) == {old, young}
    assert planned(table, older_than=0) == set()
    with pytest.raises(InvalidArgumentError, match="less than 24 hours ago"):
        table.remove_orphan_files(older_than=int(time.time() * 1000) - DAY_S * 1000 + 60_000)


def test_hidden_names_and_folders_of_other_tables_stay(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", {"id": "long", "_p": "string"}, partition_by=["_p"])
    table.append([{"id": 1, "_p": "a"}])
    frazil.create_table(tmp_path / "t" / "inner", SCHEMA).append(rows(1))
    root = Path(table.location)
    for parts in [("data", "_SUCCESS"), (".hidden", "x"), ("_temporary", "0", "x"), ("data", ".x.crc")]:
        stray(root.joinpath(*parts))
    for mark in [("delta", "_delta_log", "0.json"), ("hudi", ".hoodie", "x"), ("paimon", "schema", "schema-0")]:
        stray(root.joinpath(*mark))
        stray(root.joinpath(mark[0], "rows.parquet"))
    (root / "paimon" / "snapshot").mkdir()
    found = stray(root / "data" / "_p=a" / "x")
    grow_old(tmp_path)
    assert planned(table) == {found}


def test_files_referenced_by_any_snapshot_are_retained(tmp_path: Path) -> None:
    table = made(tmp_path, properties={"write.wap.enabled": "true", "write.metadata.previous-versions-max": "2"})
    table.append(rows(7), snapshot_properties={"wap.id": "staged"})
    table.manage_snapshots().create_tag(table.snapshots()[0].snapshot_id, "first").commit()
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "dev").commit()
    table.append(rows(8), branch="dev")
    table.manage_snapshots().rollback_to_snapshot(table.snapshots()[0].snapshot_id).commit()
    assert len(table.metadata.metadata_log) == 2
    grow_old(tmp_path)
    # All metadata files are referenced, including those that are no longer in the log of the latest one.
    assert planned(table) == set()


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_remove_the_same_orphans_as_an_oracle(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    table = made(tmp_path, format_version=chance.choice([1, 2, 3]), properties={"write.delete.mode": "merge-on-read"})
    for number in range(10):
        match chance.randrange(5):
            case 0:
                table.overwrite(rows(number))
            case 1:
                table.delete(f"id = {chance.randrange(10)}")
            case 2:
                table.expire_snapshots(older_than="2100-01-01T00:00:00Z", retain_last=2).apply()
            case 3:
                stray(Path(table.location, chance.choice(["data", "metadata"]), f"{number}.avro"))
            case _:
                table.append(rows(number))
    grow_old(tmp_path)
    kept = {path for path in files_in(tmp_path) if path.name.endswith((".metadata.json", "version-hint.text"))}
    assert planned(table) == files_in(tmp_path) - kept - reachable(metadata_of(table))
    before = table.scan().to_arrow()
    table.remove_orphan_files(force=True).apply()
    assert table.refresh().scan().to_arrow() == before
    assert planned(table) == set()


# Other writers


def test_files_that_are_committed_after_the_plan_stay(tmp_path: Path) -> None:
    table = made(tmp_path)
    other = table.refresh()
    with table.transaction() as changes:
        changes.append(rows(7))
        grow_old(tmp_path)
        plan = other.remove_orphan_files()
        listed = {path_of(location) for location in plan.files["location"].to_pylist()}
        assert any(path.suffix == ".parquet" for path in listed)
    assert plan.apply().deleted_files == 0
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [3, 4, 5, 6, 7]


# Refusals


def test_deleting_more_than_half_requires_force(tmp_path: Path) -> None:
    table = made(tmp_path)
    found = stray(Path(table.location, "data", "x"), content=bytes(1 << 20))
    with pytest.raises(
        CommitValidationError, match=r"1 of \d+ files, 1048576 of \d+ bytes, .* more than half"
    ) as caught:
        table.remove_orphan_files().apply()
    assert "force=True" in str(caught.value.hint)
    assert "frazil orphans --force" in str(caught.value.hint)
    assert found.exists()
    assert table.remove_orphan_files(force=True).apply().deleted_files == 1
    assert not found.exists()


def test_a_missing_manifest_stops_the_removal(tmp_path: Path) -> None:
    table = made(tmp_path)
    found = stray(Path(table.location, "data", "x"))
    manifest = path_of(table.inspect.manifests().to_pylist()[0]["path"])
    manifest.rename(manifest.with_suffix(".gone"))
    with pytest.raises(MissingFileError, match=manifest.name):
        table.remove_orphan_files().apply()
    assert found.exists()


def test_shared_files_are_not_deleted(tmp_path: Path) -> None:
    table = made(tmp_path, properties={"gc.enabled": "false"})
    with pytest.raises(CommitValidationError, match=r"gc\.enabled=false"):
        _ = table.remove_orphan_files().files


def test_only_allowed_locations_are_listed(tmp_path: Path) -> None:
    table = made(tmp_path)
    found = stray(tmp_path / "elsewhere" / "x")
    with pytest.raises(PathNotAllowedError, match="elsewhere"):
        _ = table.remove_orphan_files(location=tmp_path / "elsewhere").files
    opened = frazil.load_table(table.location, allowed_locations=[tmp_path / "elsewhere"])
    assert planned(opened, location=tmp_path / "elsewhere") == {found}
    assert planned(table, location=Path(table.location, "nowhere")) == set()
    inside = stray(Path(table.location, "data", "x"))
    assert planned(table, location=Path(table.location, "data")) == {inside}


def test_links_are_not_followed(tmp_path: Path) -> None:
    table = made(tmp_path)
    outside = stray(tmp_path / "outside" / "x")
    Path(table.location, "link").symlink_to(outside.parent)
    assert planned(table) == set()


def test_data_below_a_link_is_not_taken_for_orphans(tmp_path: Path) -> None:
    table = made(tmp_path)
    data = Path(table.location, "data")
    shutil.move(data, tmp_path / "t" / "moved")
    data.symlink_to(tmp_path / "t" / "moved")
    grow_old(tmp_path)
    assert table.scan().count() == 4
    assert planned(table) == set()
    found = stray(tmp_path / "t" / "moved" / "x")
    assert planned(table) == {found}


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_table_in_an_object_store_is_maintained(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "lake").mkdir()
    with object_store(tmp_path) as store:
        store.has_real_times = True
        table = frazil.create_table("s3://lake/t", SCHEMA, storage=store.properties)
        for number in range(5):
            table.append(rows(number))
        other = frazil.load_table(f"{scheme}://lake/t", storage=store.properties)
        assert other.rewrite_data_files().apply().added_files == 1
        found = stray(tmp_path / "lake" / "t" / "data" / "a b+ä%2F")
        grow_old(tmp_path)
        plan = other.remove_orphan_files()
        assert [location.rpartition("/data/")[2] for location in plan.files["location"].to_pylist()] == ["a b+ä%2F"]
        assert (plan.apply().deleted_files, found.exists()) == (1, False)
        assert other.expire_snapshots(older_than="2100-01-01T00:00:00Z").apply().deleted_files["data"] == 5
        assert other.remove_orphan_files().files.num_rows == 0
        assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("case", list(golden_cases()), ids=lambda case: case.id)
def test_tables_that_others_wrote_lose_nothing_that_they_need(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / case.root.name
    shutil.copytree(case.root, folder)
    try:
        table = frazil.load_table(folder, format="iceberg")
        before = {one.snapshot_id: table.scan(snapshot_id=one.snapshot_id).count() for one in table.snapshots()}
    except FrazilError:
        pytest.skip("the table is damaged")
    grow_old(tmp_path)
    with contextlib.suppress(UnsupportedError, CommitValidationError, MissingFileError):
        table.remove_orphan_files(force=True).apply()
    again = frazil.load_table(folder, format="iceberg")
    assert again.metadata_location == table.metadata_location
    assert {one.snapshot_id: again.scan(snapshot_id=one.snapshot_id).count() for one in again.snapshots()} == before
