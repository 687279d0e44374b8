"""Tests of tags and branches of Paimon tables: what they keep, what their removal deletes, and refusals."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import InvalidArgumentError, NoSuchSnapshotError, UnsupportedError

GOLDEN = Path("tests/golden/paimon/g.db")
KEYED = {"bucket": "2", "num-sorted-run.compaction-trigger": "2"}


def keyed(folder: Path, **options: str) -> Any:
    """Return a table with a primary key and three snapshots or more."""
    table = frazil.create_table(
        str(folder / "t"),
        pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]),
        format="paimon",
        primary_keys=["id"],
        options={**KEYED, **options},
    )
    for number in range(3):
        table.append([{"id": id_, "v": f"{number}"} for id_ in range(number, number + 4)])
    return table


def rows(table: Any, ref: str | None = None) -> list[tuple[Any, ...]]:
    """Return the rows as sorted tuples."""
    return sorted((tuple(row.values()) for row in table.scan(ref=ref).to_arrow().to_pylist()), key=repr)


def data_files(folder: Path) -> set[str]:
    """Return the names of all files but those of references and hints."""
    return {file.name for file in folder.rglob("*") if file.is_file() and file.parent.name.startswith("bucket-")}


def live(table: Any) -> set[str]:
    """Return the names of the data files that snapshots, tags and branches need, as the system tables tell."""
    found: set[str] = set()
    branches = [table, *(table.with_branch(name) for name in table.branches())]
    for branch in branches:
        refs = [{"snapshot_id": one.snapshot_id} for one in branch.snapshots()]
        for ref in [*refs, *({"ref": name} for name in branch.tags())]:
            paths = branch.inspect.files(**ref)["file_path"].to_pylist()
            found |= {path.rpartition("/")[2] for path in paths}
    return found


def test_tags_keep_snapshots(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    ids = [snapshot.snapshot_id for snapshot in table.snapshots()]
    before = {id_: rows_at for id_ in ids for rows_at in [table.scan(snapshot_id=id_).to_arrow().to_pylist()]}
    with table.manage_snapshots() as references:
        references.create_tag(ids[0], "first").create_tag(None, "v é_x", max_ref_age_ms=86_400_500)
    table.append([{"id": 99, "v": "new"}])
    assert table.scan(ref="first").to_arrow().to_pylist() == before[ids[0]]
    assert {name: tag.snapshot_id for name, tag in table.tags().items()} == {"first": ids[0], "v é_x": ids[-1]}
    shown = {row["tag_name"]: row for row in table.inspect.tags().to_pylist()}
    assert shown["first"]["create_time"] is None
    assert shown["v é_x"]["time_retained"] == "PT24H0.5S"
    assert shown["v é_x"]["create_time"] is not None
    table.manage_snapshots().replace_tag("first", ids[1]).rename_tag("v é_x", "last").commit()
    assert {name: tag.snapshot_id for name, tag in table.tags().items()} == {"first": ids[1], "last": ids[-1]}
    table.manage_snapshots().remove_tag("first").remove_tag("last").commit()
    assert table.tags() == {}
    assert [snapshot.snapshot_id for snapshot in table.snapshots()][: len(ids)] == ids
    assert live(table) == data_files(tmp_path / "t")


def test_a_branch_of_a_branch(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    table.manage_snapshots().create_tag(None, "v").create_branch("v", "b").commit()
    branch = table.with_branch("b")
    branch.append([{"id": 50, "v": "b"}])
    with branch.update_schema() as change:
        change.add_column("w", "INT")
    branch = table.with_branch("b")
    branch.append([{"id": 51, "v": "b", "w": 1}])
    branch.manage_snapshots().create_tag(None, "w").create_branch("w", "c").create_branch(None, "empty").commit()
    inner = table.with_branch("c")
    assert rows(inner) == rows(branch)
    assert table.with_branch("empty").schema().column_names == ["id", "v", "w"]
    inner.append([{"id": 52, "v": "c", "w": 2}])
    main = rows(table)
    branch.manage_snapshots().fast_forward("c").commit()
    assert rows(table.with_branch("b")) == rows(inner)
    assert rows(table) == main
    with pytest.raises(InvalidArgumentError, match="to itself"):
        branch.manage_snapshots().fast_forward("b").commit()
    with pytest.raises(NoSuchSnapshotError, match="there is no tag `w`"):
        table.manage_snapshots().create_branch("w", "d").commit()
    assert live(table) == data_files(tmp_path / "t")


def test_the_default_retention_of_tags(tmp_path: Path) -> None:
    table = keyed(tmp_path, **{"tag.default-time-retained": "2 d"})
    table.manage_snapshots().create_tag(None, "a").create_tag(None, "b", max_ref_age_ms=0).commit()
    table.manage_snapshots().create_tag(None, "c", time_retained="90 min").commit()
    assert [row["time_retained"] for row in table.inspect.tags().to_pylist()] == ["PT48H", "PT0S", "PT1H30M"]


def test_removing_tags_of_expired_snapshots_deletes_what_only_they_kept(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "tags_pk", tmp_path / "t")
    table = frazil.load_table(str(tmp_path / "t"))
    existing = {snapshot.snapshot_id for snapshot in table.snapshots()}
    kept = {id_: table.scan(snapshot_id=id_).to_arrow().to_pylist() for id_ in existing}
    tags = {tag: rows(table, tag) for tag in table.tags()}
    garbage = data_files(tmp_path / "t") - live(table)
    for tag in list(tags):
        table.manage_snapshots().remove_tag(tag).commit()
        del tags[tag]
        assert data_files(tmp_path / "t") - garbage == live(table)
        assert {other: rows(table, other) for other in table.tags()} == tags
        assert {id_: table.scan(snapshot_id=id_).to_arrow().to_pylist() for id_ in existing} == kept


def test_branches(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_tag(first, "base").create_branch("base", "dev").create_branch(
        None, "empty"
    ).commit()
    assert table.branches() == ["dev", "empty"]
    dev, before = table.with_branch("dev"), rows(table)
    assert rows(dev) == rows(table, "base")
    assert list(dev.tags()) == ["base"]
    assert rows(table.with_branch("empty")) == []
    dev.append([{"id": 1, "v": "branch"}, {"id": 77, "v": "branch"}])
    table.with_branch("empty").append([{"id": 5, "v": "alone"}])
    assert (77, "branch") in rows(dev.refresh())
    assert rows(table) == before
    table.manage_snapshots().rename_branch("dev", "renamed").commit()
    assert (77, "branch") in rows(table.with_branch("renamed"))
    table.manage_snapshots().remove_branch("renamed").remove_branch("empty").remove_tag("base").commit()
    assert table.branches() == []
    assert not list((tmp_path / "t" / "branch").iterdir())
    assert rows(table) == before
    assert live(table) == data_files(tmp_path / "t")


def test_a_branch_keeps_the_files_of_a_tag_that_is_removed(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "tags_pk", tmp_path / "t")
    table = frazil.load_table(str(tmp_path / "t"))
    before = rows(table, "old")
    table.manage_snapshots().create_branch("old", "kept").remove_tag("old").commit()
    assert rows(table.with_branch("kept")) == before
    assert live(table) <= data_files(tmp_path / "t")
    garbage = data_files(tmp_path / "t") - live(table)
    table.manage_snapshots().remove_branch("kept").commit()
    assert data_files(tmp_path / "t") == live(table) | garbage


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda r: r.create_tag(None, "7"), InvalidArgumentError, "a tag cannot have the name `7`"),
        (lambda r: r.create_tag(None, " "), InvalidArgumentError, "is not a valid name of a tag"),
        (lambda r: r.create_tag(None, "a/b"), InvalidArgumentError, "is not a valid name of a tag"),
        (lambda r: r.create_tag(None, "a\nb"), InvalidArgumentError, "control character"),
        (lambda r: r.create_tag(None, "known"), InvalidArgumentError, "the tag `known` already exists"),
        (lambda r: r.create_tag(99, "x"), NoSuchSnapshotError, "there is no snapshot 99"),
        (lambda r: r.create_tag(None, "x", max_ref_age_ms=-1), InvalidArgumentError, "a duration such as 10 s"),
        (lambda r: r.create_tag(None, "x", time_retained="1 x"), InvalidArgumentError, "a duration such as 10 s"),
        (lambda r: r.create_tag(None, "x", 1, time_retained="1 d"), InvalidArgumentError, "mutually exclusive"),
        (lambda r: r.create_tag(None, 5), InvalidArgumentError, "tag_name must be a string"),
        (lambda r: r.replace_tag("x"), NoSuchSnapshotError, "there is no tag `x`"),
        (lambda r: r.remove_tag("x"), NoSuchSnapshotError, "existing tags: `known`"),
        (lambda r: r.rename_tag("known", "known"), InvalidArgumentError, "already exists"),
        (lambda r: r.rename_tag("known", "8"), InvalidArgumentError, "cannot have the name"),
        (lambda r: r.create_branch("x", "b"), NoSuchSnapshotError, "there is no tag `x`"),
        (lambda r: r.create_branch(None, "main"), InvalidArgumentError, "the branch `main` already exists"),
        (lambda r: r.create_branch(None, "dev"), InvalidArgumentError, "the branch `dev` already exists"),
        (lambda r: r.create_branch(None, "12"), InvalidArgumentError, "a branch cannot have the name `12`"),
        (lambda r: r.remove_branch("main"), InvalidArgumentError, "every table has it"),
        (lambda r: r.remove_branch("x"), NoSuchSnapshotError, "there is no branch `x`"),
        (lambda r: r.rename_branch("dev", "main"), InvalidArgumentError, "already exists"),
    ],
)
def test_refusals_change_nothing(tmp_path: Path, change: Any, error: type[Exception], words: str) -> None:
    table = keyed(tmp_path)
    table.manage_snapshots().create_tag(None, "known").create_branch(None, "dev").commit()
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(error, match=words):
        change(table.manage_snapshots()).commit()
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_views_and_tables_without_snapshots(tmp_path: Path) -> None:
    table = keyed(tmp_path)
    with pytest.raises(UnsupportedError, match="is read-only"):
        frazil.load_table(f"{tmp_path}/t$ro").manage_snapshots().create_tag(None, "x").commit()
    table.manage_snapshots().create_branch(None, "empty").commit()
    with pytest.raises(NoSuchSnapshotError, match="the table has no snapshot"):
        table.with_branch("empty").manage_snapshots().create_tag(None, "x").commit()
