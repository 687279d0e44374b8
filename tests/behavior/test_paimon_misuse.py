"""Tests of incorrect use of Paimon tables: no request is silently changed, and errors include a hint."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.cases import GOLDEN

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

DATABASE = GOLDEN / "paimon" / "g.db"


@pytest.fixture(scope="module")
def table() -> Table:
    return frazil.load_table(DATABASE / "branches_pk", format="paimon")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"incremental_between": "1,2"}, "did you mean `incremental-between`?"),
        ({"scan.snapshotid": 1}, "did you mean `scan.snapshot-id`?"),
        ({"SCAN.TAG-NAME": "t2"}, "did you mean `scan.tag-name`?"),
        ({"scan.snapshot-id": None}, "omit it"),
        ("scan.snapshot-id=1", "options must be a mapping of names to values, not"),
        ({"incremental-between": "1"}, "two values separated by a comma"),
        ({"incremental-between": (2, 1)}, "the first id must not be greater than the second one"),
        ({"incremental-between": "1,2", "scan.snapshot-id": "1"}, "contradict each other"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(table: Table, options: Any, says: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        table.scan(options=options)
    assert says in str(caught.value)


@pytest.mark.parametrize("option", ["bucket", "bucket-key", "merge-engine", "sequence.field", "rowkind.field"])
def test_no_read_changes_how_a_table_was_written(table: Table, option: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"`{option}`"):
        table.scan(options={option: "7"})
    same = {"bucket": table.options["bucket"]}
    assert table.scan(options=same).count() == table.scan().count()


def test_numbers_and_names_are_such(table: Table) -> None:
    for argument in ("snapshot_id", "as_of", "limit"):
        arguments: dict[str, Any] = {argument: "1"}
        with pytest.raises(errors.InvalidArgumentError, match=argument):
            table.scan(**arguments)
    with pytest.raises(errors.InvalidArgumentError, match="ref must be the name of a tag or branch"):
        table.scan(ref=1)  # type: ignore[arg-type]


def test_buckets_are_of_rows(table: Table) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="PyCapsule"):
        table.bucket_ids([1])


def test_options_that_nothing_is_like_are_kept(table: Table) -> None:
    assert table.scan(options={"scan.manifest.parallelism": 2, "my.own": True}).count() == table.scan().count()


def test_lists_are_text_with_commas(table: Table) -> None:
    by_text = table.scan(options={"incremental-between": "1,3"}).to_arrow()
    assert table.scan(options={"incremental-between": [1, 3]}).to_arrow() == by_text
    assert by_text.num_rows


def test_branch_directory_is_not_a_table(table: Table) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="call with_branch") as caught:
        frazil.load_table(DATABASE / "branches_pk" / "branch" / "branch-fromtag")
    assert "'fromtag'" in str(caught.value)
    assert table.with_branch("fromtag").branch == "fromtag"


def test_a_folder_without_a_table_has_none_of_either_format(tmp_path: Path) -> None:
    with pytest.raises(errors.NoSuchTableError, match=r"no Iceberg table .*Paimon"):
        frazil.load_table(tmp_path)


def test_views_show_themselves(table: Table) -> None:
    assert "audit-log" in repr(table.audit_log())
    assert "read-optimized" in repr(table.read_optimized())


def test_consumers_are_read_as_numbers(tmp_path: Path) -> None:
    copy = shutil.copytree(DATABASE / "branches_pk", tmp_path / "t")
    (copy / "consumer").mkdir()
    (copy / "consumer" / "consumer-c1").write_text('{"nextSnapshot": 3}')
    assert frazil.load_table(copy, format="paimon").consumers() == {"c1": 3}
    (copy / "consumer" / "consumer-c2").write_text("{}")
    with pytest.raises(errors.CorruptMetadataError, match="nextSnapshot"):
        frazil.load_table(copy, format="paimon").consumers()


KEYED: dict[str, Any] = {"bucket": "1"}

# The columns of the primary key, options, and the option that the error names.
REFUSED_BY_JAVA: list[tuple[list[str], dict[str, str], str]] = [
    (["k"], {"sequence.field": "v,v"}, "sequence.field"),
    (
        ["k"],
        {"merge-engine": "aggregation", "sequence.field": "v", "fields.v.aggregate-function": "sum"},
        "fields.v.aggregate-function",
    ),
    (["k"], {"merge-engine": "aggregation", "fields.v.aggregate-function": "bool_and"}, "bool_and"),
    (
        ["k"],
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.v.ignore-retract": "perhaps"},
        "fields.v.ignore-retract",
    ),
    (["k"], {"num-sorted-run.compaction-trigger": "x"}, "num-sorted-run.compaction-trigger"),
    (["k"], {"num-sorted-run.compaction-trigger": "0"}, "num-sorted-run.compaction-trigger"),
    (["k"], {"num-levels": "1"}, "num-levels"),
    (["k"], {"write-only": "yes"}, "write-only"),
    (["k"], {"write-buffer-size": "lots"}, "write-buffer-size"),
    ([], {"changelog-producer": "input"}, "changelog-producer"),
    ([], {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "2"}, "snapshot.num-retained.min"),
    ([], {"snapshot.num-retained.max": "many"}, "snapshot.num-retained.max"),
    ([], {"snapshot.time-retained": "soon"}, "snapshot.time-retained"),
    ([], {"metadata.stats-mode": "truncate(0)"}, "metadata.stats-mode"),
    ([], {"parquet.page.size": "x"}, "parquet.page.size"),
    ([], {"target-file-size": "-1"}, "target-file-size"),
    ([], {"manifest.compression": "zz"}, "manifest.compression"),
    ([], {"manifest.target-file-size": "x"}, "manifest.target-file-size"),
    ([], {"file.compression.zstd-level": "x"}, "file.compression.zstd-level"),
    ([], {"data-file.prefix": "a/b-"}, "data-file.prefix"),
    ([], {"changelog-file.prefix": "../c"}, "changelog-file.prefix"),
    ([], {"partition.expiration-time": "1 d"}, "partition.expiration-time"),
]


@pytest.mark.parametrize(("keys", "options", "named"), REFUSED_BY_JAVA)
def test_options_that_java_refuses_make_no_table(
    tmp_path: Path, keys: list[str], options: dict[str, str], named: str
) -> None:
    given = (KEYED if keys else {}) | options
    with pytest.raises(errors.InvalidArgumentError) as caught:
        frazil.create_table(
            tmp_path / "t", {"k": "INT NOT NULL", "v": "INT"}, format="paimon", primary_keys=keys, options=given
        )
    assert f"`{named}`" in str(caught.value)
    assert not (tmp_path / "t").exists()


def test_a_table_with_an_option_that_java_refuses_is_read_and_not_written(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", {"k": "INT"}, format="paimon")
    table.append([{"k": 1}])
    schema = tmp_path / "t" / "schema" / "schema-0"
    text = json.loads(schema.read_text())
    for name, value in {"write-only": "yes", "data-file.prefix": "a/b", "commit.max-retries": "x"}.items():
        schema.write_text(json.dumps(text | {"options": {name: value}}))
        opened = frazil.load_table(tmp_path / "t")
        assert opened.scan().count() == 1
        for write in (lambda t: t.append([{"k": 2}]), lambda t: t.truncate(), lambda t: t.compact()):
            with pytest.raises(errors.InvalidArgumentError, match=f"`{name}`"):
                write(opened)
    assert len(list((tmp_path / "t" / "bucket-0").iterdir())) == 1


def test_misspelt_options_emit_a_warning(tmp_path: Path) -> None:
    options = {"bukcet": "2", "write-olny": "true", "my-label": "x", "fields.id.stats-mode": "none"}
    with pytest.warns(UserWarning, match="did you mean") as found:
        frazil.create_table(tmp_path / "t", [("id", "INT")], format="paimon", options=options)
    assert [str(one.message) for one in found] == [
        "unknown table option `bukcet`; did you mean `bucket`?",
        "unknown table option `write-olny`; did you mean `write-only`?",
    ]
    assert found[0].filename == __file__
