"""Tests of Paimon data files below external paths: they are written there, and their rows are found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from frazil.paimon import Table

COLUMNS = [("id", "BIGINT NOT NULL"), ("part", "STRING NOT NULL"), ("name", "STRING")]
PATHS = "data-file.external-paths"
STRATEGY = f"{PATHS}.strategy"
INDEX = {"file-index.bitmap.columns": "name", "file-index.in-manifest-threshold": "0 b"}


def create(folder: Path, *, keys: tuple[str, ...] = (), strategy: str = "round-robin", **options: Any) -> Table:
    given = {PATHS: f"file://{folder}/a, file:{folder}/b/", STRATEGY: strategy, **options}
    return frazil.create_table(
        folder / "t", COLUMNS, format="paimon", partition_keys=["part"], primary_keys=keys, options=given
    )


def some(first: int, count: int = 4) -> list[dict[str, Any]]:
    return [{"id": i, "part": "xy"[i % 2], "name": f"n{i}"} for i in range(first, first + count)]


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: int(row["id"]))


def outside(folder: Path) -> set[str]:
    """Return the paths of the files below the external paths."""
    found = [path for root in ("a", "b") for path in (folder / root).rglob("*")]
    return {path.relative_to(folder).as_posix() for path in found if path.is_file()}


def data_files(table: Table) -> list[str]:
    """Return the recorded paths of the live data files and of the files next to them."""
    found = []
    for split in table.scan().plan_files():
        for file in split.files:
            folder = file.file_path.rpartition("/")[0]
            found += [file.file_path, *(f"{folder}/{name}" for name in file.extra_files)]
    return found


def check(folder: Path, table: Table, expected: list[dict[str, Any]]) -> None:
    """Check that the table has these rows in files outside of it, and no files in its folder."""
    assert rows(table) == expected
    live = data_files(table)
    assert live
    assert {path.removeprefix(f"file:{folder}/") for path in live} <= outside(folder)
    assert not [path for path in (folder / "t").rglob("bucket-*/*") if path.is_file()]


def test_files_are_in_the_folders_of_partitions_and_buckets(tmp_path: Path) -> None:
    table = create(tmp_path, **INDEX)
    for first in (0, 4):
        table.append(some(first))
    check(tmp_path, table, some(0, 8))
    names = sorted(re.sub(r"data-.{36}-\d+", "F", path) for path in outside(tmp_path))
    folders = [f"{root}/part={part}/bucket-0" for root in "ab" for part in "xy"]
    assert {name.rpartition("/")[0] for name in names} <= set(folders)
    # Each write created two files, one for each path.
    assert sorted(name.rpartition("/")[2] for name in names) == ["F.parquet"] * 4 + ["F.parquet.index"] * 4
    assert [name[0] for name in names] == ["a"] * 4 + ["b"] * 4
    assert table.scan("name = 'n5'").to_arrow()["id"].to_pylist() == [5]
    assert sorted(table.inspect.files()["file_path"].to_pylist()) == sorted(
        path for path in data_files(table) if path.endswith(".parquet")
    )


@pytest.mark.parametrize("producer", ["none", "input"])
@pytest.mark.parametrize("strategy", ["round-robin", "entropy-inject", "weight-robin", "specific-fs"])
def test_upserts_compactions_and_overwrites_stay_outside(tmp_path: Path, strategy: str, producer: str) -> None:
    own = {
        f"{PATHS}.specific-fs": "FILE",
        f"{PATHS}.weights": "1,3",
        "changelog-producer": producer,
        "num-sorted-run.compaction-trigger": "3",
        "bucket": "1",
    }
    table = create(tmp_path, keys=("part", "id"), strategy=strategy, **INDEX, **own)
    expected = {row["id"]: row for row in some(0)}
    table.append(some(0))
    check(tmp_path, table, list(expected.values()))
    for number in range(3):
        again = [{**row, "name": f"again {number}"} for row in some(2, 3 + number)]
        table.append(again)
        expected |= {row["id"]: row for row in again}
        check(tmp_path, table, list(expected.values()))
    assert table.compact().snapshot_id is None or rows(table) == list(expected.values())
    table.append([{"id": 2, "part": "x", "_ROW_KIND": "-D"}])
    del expected[2]
    assert table.compact().removed_files > 0
    check(tmp_path, table, list(expected.values()))
    changelogs = [path for path in outside(tmp_path) if "/changelog-" in path and path.endswith(".parquet")]
    assert bool(changelogs) == (producer == "input")
    table.dynamic_partition_overwrite([{"id": 100, "part": "x", "name": None}])
    expected = {key: row for key, row in expected.items() if row["part"] == "y"}
    check(tmp_path, table, [*expected.values(), {"id": 100, "part": "x", "name": None}])
    table.drop_partitions([{"part": "y"}])
    check(tmp_path, table, [{"id": 100, "part": "x", "name": None}])
    assert (strategy == "entropy-inject") == all(
        re.search(r"/bucket-0/[01]{4}/[01]{4}/[01]{4}/[01]{8}/[^/]+$", path) is not None for path in outside(tmp_path)
    )


def test_a_file_that_only_changes_its_level_stays_where_it_is(tmp_path: Path) -> None:
    table = create(
        tmp_path, keys=("part", "id"), bucket=1, **{"target-file-size": "1 b", "write-only": "true"}, **INDEX
    )
    table.append([{"id": 1, "part": "x"}])
    table.append([{"id": 9, "part": "x"}])
    before, paths = outside(tmp_path), sorted(data_files(table))
    table.compact()
    assert set(table.inspect.files()["level"].to_pylist()) == {5}
    assert (outside(tmp_path), sorted(data_files(table))) == (before, paths)
    check(tmp_path, table, [{"id": i, "part": "x", "name": None} for i in (1, 9)])


def test_small_files_of_append_tables_become_others_outside(tmp_path: Path) -> None:
    table = create(tmp_path, bucket=1, **{"bucket-key": "id", "write-only": "true"}, **INDEX)
    for first in range(0, 24, 4):
        table.append(some(first))
    before = set(data_files(table))
    assert table.compact().removed_files == 12
    assert not before & set(data_files(table))
    check(tmp_path, table, some(0, 24))


@pytest.mark.parametrize("keys", [(), ("part", "id")])
def test_a_failed_write_leaves_nothing_outside(tmp_path: Path, keys: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"bucket": 1, "changelog-producer": "input"} if keys else {}
    table = create(tmp_path, keys=keys, **INDEX, **options, **{"target-file-size": "1 b"})
    seen = []

    def batches() -> Iterator[pa.RecordBatch]:
        for first in (0, 4):
            yield pa.RecordBatch.from_pylist(some(first))
            seen.append(outside(tmp_path))
        yield pa.RecordBatch.from_pylist([{"id": None, "part": "x", "name": None}])

    with pytest.raises(errors.InvalidArgumentError, match="NULL in row 8"):
        table.append(batches())
    # Rows without a key are written immediately, so there were files to delete.
    assert keys or any(seen)
    assert outside(tmp_path) == set()
    table.append(some(0))
    check(tmp_path, table, some(0))


def test_a_commit_that_was_made_before_leaves_nothing_outside(tmp_path: Path) -> None:
    options = {"bucket": 1, "changelog-producer": "input"}
    table = create(tmp_path, keys=("part", "id"), **INDEX, **options)
    table.append(some(0), commit_user="me", identifier=1)
    before = outside(tmp_path)
    assert table.append(some(4), commit_user="me", identifier=1).added_files == 0
    assert outside(tmp_path) == before
    check(tmp_path, table, some(0))


def test_a_failed_compaction_leaves_nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, keys=("part", "id"), bucket=1, **{"write-only": "true"}, **INDEX)
    for _ in range(2):
        table.append(some(0))
    before = outside(tmp_path)
    import frazil.paimon._compacting as compacting

    original, calls = compacting.read_split, []

    def second_fails(split: Any) -> Any:
        calls.append(outside(tmp_path))
        if len(calls) == 2:
            message = "out of luck"
            raise OSError(message)
        return original(split)

    monkeypatch.setattr(compacting, "read_split", second_fails)
    monkeypatch.setattr(frazil.config, "max_workers", 1)
    with pytest.raises(OSError, match="out of luck"):
        table.compact()
    assert len(calls[1]) > len(before), "the first bucket was written"
    assert outside(tmp_path) == before
    check(tmp_path, table.refresh(), some(0))


def test_a_later_handle_needs_leave(tmp_path: Path) -> None:
    create(tmp_path).append(some(0))
    before = outside(tmp_path)
    table = frazil.load_table(tmp_path / "t")
    for use in (lambda: table.append(some(4)), lambda: table.scan().to_arrow()):
        with pytest.raises(errors.PathNotAllowedError, match="allowed_locations"):
            use()
    half = frazil.load_table(tmp_path / "t", allowed_locations=[tmp_path / "a"])
    with pytest.raises(errors.PathNotAllowedError, match=PATHS):
        half.append(some(4))
    assert outside(tmp_path) == before
    allowed = frazil.load_table(tmp_path / "t", allowed_locations=[tmp_path / "a", tmp_path / "b"])
    allowed.append(some(4))
    check(tmp_path, allowed, some(0, 8))


def test_external_paths_are_relocated(tmp_path: Path) -> None:
    create(tmp_path).append(some(0))
    for root in "ab":
        (tmp_path / root).rename(tmp_path / f"moved_{root}")
    relocate = {f"file:{tmp_path}/{root}": str(tmp_path / f"moved_{root}") for root in "ab"}
    table = frazil.load_table(tmp_path / "t", relocate=relocate)
    table.append(some(4))
    assert rows(table) == some(0, 8)
    assert outside(tmp_path) == set()
    assert all(path.startswith(f"file:{tmp_path}/") for path in data_files(table))


def test_a_symbolic_link_out_of_an_external_path_is_not_followed(tmp_path: Path) -> None:
    table = create(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for root in "ab":
        (tmp_path / root).mkdir()
        (tmp_path / root / "part=x").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(errors.PathNotAllowedError, match="symbolic link"):
        table.append([{"id": 0, "part": "x"}])
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_without_a_strategy_files_are_in_the_table(tmp_path: Path) -> None:
    table = create(tmp_path, strategy="none")
    table.append(some(0))
    assert rows(table) == some(0)
    assert outside(tmp_path) == set()
    assert all(path.startswith(f"{tmp_path}/t/part=") for path in data_files(table))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({PATHS: "/data/a"}, f"`{PATHS}` contains the path `/data/a`, which does not begin with a scheme"),
        ({PATHS: "file:a"}, f"`{PATHS}` contains the path `file:a`, which is not an absolute path"),
        ({STRATEGY: "any"}, f"`{STRATEGY}` has the value `any`"),
        ({STRATEGY: "specific-fs"}, f"`{PATHS}.specific-fs` is not set"),
        ({STRATEGY: "specific-fs", f"{PATHS}.specific-fs": "oss"}, f"`{PATHS}.specific-fs` has the value `oss`"),
        ({STRATEGY: "weight-robin", f"{PATHS}.weights": "1"}, f"`{PATHS}.weights` has the value `1`"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(tmp_path: Path, options: dict[str, str], named: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(named)):
        create(tmp_path, **options)
    assert not (tmp_path / "t").exists()


def test_unknown_scheme_is_rejected(tmp_path: Path) -> None:
    table = create(tmp_path, **{PATHS: "oss://bucket/x"})
    with pytest.raises(errors.PathNotAllowedError, match=f"(?s)scheme 'oss' is not supported.*{PATHS}"):
        table.append(some(0))
    assert table.current_snapshot() is None


def test_catalog_tables_may_access_the_external_paths_of_their_creator(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="paimon", warehouse=str(tmp_path / "wh"))
    catalog.create_namespace("db")
    options = {PATHS: f"file:{tmp_path}/a", STRATEGY: "round-robin"}
    table = catalog.create_table("db.t", COLUMNS, options=options)
    table.append(some(0))
    assert rows(catalog.load_table("db.t")) == some(0)
    assert {path.split("/")[1] for path in outside(tmp_path)} == {"bucket-0"}
    other = frazil.load_catalog("lake", type="paimon", warehouse=str(tmp_path / "wh"))
    with pytest.raises(errors.PathNotAllowedError):
        rows(other.load_table("db.t"))
