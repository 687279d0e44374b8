"""Tests of errors of Paimon tables, and of valid calls: names, limits, copies for other processes."""

from __future__ import annotations

import json
import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support.cases import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.paimon import Table

TABLES = GOLDEN / "paimon" / "g.db"
INVALID, UNSUPPORTED, NO_SNAPSHOT = errors.InvalidArgumentError, errors.UnsupportedError, errors.NoSuchSnapshotError


def load(name: str) -> Table:
    return frazil.load_table(TABLES / name, format="paimon")


@pytest.fixture(scope="module")
def table() -> Table:
    """Open a table of which only snapshot 6 is left; other snapshots are kept as tags."""
    return load("tags_pk")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"row_filter": "kk > 3"}, INVALID, "did you mean `k`"),
        ({"row_filter": "K > 3"}, INVALID, "did you mean `k`"),
        ({"row_filter": "nothing_like_it > 3"}, INVALID, "nothing_like_it"),
        ({"row_filter": "k > 'abc'"}, INVALID, "'abc'; write a number"),
        ({"row_filter": "k > "}, INVALID, "character 5"),
        ({"row_filter": "k = 1; drop table t"}, INVALID, "`;`"),
        ({"row_filter": "s is nan"}, INVALID, "only float and double columns"),
        ({"row_filter": "v.d = 1"}, INVALID, "v.d"),
        ({"row_filter": "_ROW_KIND = '+I'"}, INVALID, "_ROW_KIND"),
        ({"row_filter": "(" * 100_000 + "k = 1" + ")" * 100_000}, INVALID, "more than 200 nested expressions"),
        ({"row_filter": 7}, INVALID, "row_filter"),
        ({"selected_fields": ("k", "vv")}, INVALID, "did you mean `v`"),
        ({"selected_fields": ("S",)}, INVALID, "did you mean `s`"),
        ({"selected_fields": ("nothing_like_it",)}, INVALID, "the columns are `k`, `v`, `s`"),
        ({"selected_fields": "k"}, INVALID, "sequence"),
        ({"selected_fields": ("rowkind",)}, INVALID, "rowkind"),
        ({"snapshot_id": 1}, NO_SNAPSHOT, "there is only 6"),
        ({"snapshot_id": 99}, NO_SNAPSHOT, "there is only 6"),
        ({"ref": "v1"}, NO_SNAPSHOT, "existing tags and branches: 2024-05-14, latest-tag, old, v1r"),
        ({"as_of": 0}, NO_SNAPSHOT, "the earliest remaining snapshot is 6"),
        ({"snapshot_id": 6, "ref": "old"}, INVALID, "exclusive"),
        ({"limit": -1}, INVALID, "limit"),
        ({"snapshot_id": 2**64}, INVALID, "64-bit"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_invalid_scan_arguments_are_explained(
    table: Table, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        table.scan(**arguments)
    assert text in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"scan.snapshot-id": "1"}, NO_SNAPSHOT, "there is only 6"),
        ({"scan.snapshot-id": "x"}, INVALID, "`scan.snapshot-id` is `x`, expected an integer"),
        ({"scan.snapshot-id": 6, "scan.tag-name": "old"}, INVALID, "`scan.tag-name` contradict each other"),
        ({"scan.mode": "latest", "scan.snapshot-id": 6}, INVALID, "contradict each other"),
        ({"scan.mode": "from-snapshot"}, INVALID, "`scan.mode` = `from-snapshot` requires `scan.snapshot-id`"),
        ({"scan.mode": "nope"}, UNSUPPORTED, "`nope`"),
        ({"scan.tag-name": "nope"}, NO_SNAPSHOT, "existing tags: `2024-05-14`, `latest-tag`, `old`"),
        ({"scan.timestamp": "nonsense"}, INVALID, "for example 2024-05-14 01:02:03 or 2024-05-14T01:02:03+08:00"),
        ({"scan.timestamp": "2024-01-01"}, NO_SNAPSHOT, "the earliest remaining snapshot is 6"),
        ({"scan.watermark": 5}, NO_SNAPSHOT, "has a watermark of at least 5"),
        ({"branch": "nope"}, NO_SNAPSHOT, "no branch `nope`"),
        ({"scan.fallback-branch": "nope"}, NO_SNAPSHOT, "no branch `nope`"),
        ({"incremental-between": "1,6"}, NO_SNAPSHOT, "the table has only 6"),
        ({"incremental-between": "6,1"}, INVALID, "invalid range of an incremental read: snapshot 6 to 1;"),
        ({"incremental-between": "x"}, INVALID, "two values separated by a comma"),
        (
            {"incremental-between": "6,6", "incremental-between-scan-mode": "x"},
            INVALID,
            "auto, delta, changelog or diff",
        ),
        ({"merge-engine": "first-row"}, INVALID, "`merge-engine`"),
        ({"primary-key": "v"}, INVALID, "`primary-key`"),
        ({"type": "format-table"}, INVALID, "`type`"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_named(
    table: Table, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        table.scan(options=options)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"scan.tag-name": "old"}, {"incremental-between": "6,6"}, {"scan.timestamp-millis": 10**13}], ids=str
)
def test_arguments_and_options_do_not_choose_both(table: Table, options: dict[str, Any]) -> None:
    with pytest.raises(INVALID, match="remove either the arguments, or the options"):
        table.scan(snapshot_id=6, options=options)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"merge-engine": "someday"}, UNSUPPORTED, "`merge-engine` with the value `someday`"),
        (
            {"merge-engine": "nope"},
            UNSUPPORTED,
            "supported values are deduplicate, partial-update, aggregation, first-row",
        ),
        ({"primary-key": "v"}, UNSUPPORTED, "`primary-key`"),
        ({"type": "format-table"}, UNSUPPORTED, "frazil.paimon.format_table"),
        ({"scan.fallback-snapshot-branch": "x"}, UNSUPPORTED, "`scan.fallback-snapshot-branch`"),
        ({"type": "someday"}, UNSUPPORTED, "`type`"),
    ],
    ids=str,
)
def test_unknown_options_that_affect_reads_are_rejected_before_reading(
    tmp_path: Path, change: dict[str, str], error: type[Exception], text: str
) -> None:
    copy = shutil.copytree(TABLES / "tags_pk", tmp_path / "t")
    edit_schema(copy, change)
    shutil.rmtree(copy / "bucket-0")
    shutil.rmtree(copy / "manifest")
    with pytest.raises(error) as caught:
        frazil.load_table(copy, format="paimon").scan()
    assert text in str(caught.value)


def test_options_for_writers_and_unknown_ones_do_not_matter(table: Table) -> None:
    options = {"write-only": True, "no.such.option": 1, "target-file-size": "1 kb", "file.format": "orc"}
    assert table.scan(options=options).to_arrow().equals(table.scan().to_arrow())


def test_row_ids_are_there_where_they_are_tracked(table: Table) -> None:
    with pytest.raises(INVALID, match=r"set the table option `row-tracking\.enabled`"):
        table.scan(selected_fields=["_ROW_ID"]).to_arrow()
    rows = load("row_tracking_compacted").scan(selected_fields=["_ROW_ID"]).to_arrow()
    assert rows.schema.types == [pa.int64()]
    assert len(set(rows["_ROW_ID"].to_pylist())) == rows.num_rows


def test_missing_branches(table: Table) -> None:
    with pytest.raises(NO_SNAPSHOT, match="no branch `nope`"):
        table.with_branch("nope")
    with pytest.raises(NO_SNAPSHOT, match="existing tags and branches: t2, empty, fromtag"):
        load("branches_pk").scan(ref="mian")


def test_missing_tables(tmp_path: Path) -> None:
    with pytest.raises(errors.NoSuchTableError, match="Paimon"):
        frazil.load_table(tmp_path / "none", format="paimon")


def test_rows_whose_bucket_is_asked_for_have_the_key() -> None:
    table = load("pk_multi_key")
    rows = table.scan().to_arrow()
    with pytest.raises(INVALID, match="column `c` is missing"):
        table.bucket_ids(rows.select(["a", "b"]))
    wrong = rows.set_column(rows.schema.get_field_index("c"), "c", pa.array(["x"] * rows.num_rows))
    with pytest.raises(INVALID, match="column `c` has type Utf8, expected Date32"):
        table.bucket_ids(wrong)
    assert table.bucket_ids(rows.slice(0, 0)).to_pylist() == []


def test_names_of_columns_without_case(table: Table) -> None:
    found = table.scan("K < 2", ["S", "k"], case_sensitive=False).to_arrow()
    assert found.to_pylist() == [{"k": 0, "s": "s0"}, {"k": 1, "s": "s0"}]


def test_columns_inside_columns() -> None:
    table = load("evo_nested_parquet")
    whole = table.scan().to_arrow()
    part = table.scan(selected_fields=("r.yy", "r.z.p", "id")).to_arrow()
    assert part.schema == table.scan(selected_fields=("r.yy", "r.z.p", "id")).schema()
    assert part.column_names == ["id", "r"]
    assert [field.name for field in part.schema.field("r").type] == ["yy", "z"]
    cut = [row and {"yy": row["yy"], "z": row["z"] and {"p": row["z"]["p"]}} for row in whole["r"].to_pylist()]
    assert part["r"].to_pylist() == cut
    filtered = table.scan("r.yy is not null").to_arrow()
    assert filtered.num_rows == sum(1 for row in cut if row and row["yy"] is not None)


def test_metadata_columns_follow_the_others(table: Table) -> None:
    found = table.scan("k < 2", ["_SEQUENCE_NUMBER", "_ROW_KIND", "k"]).to_arrow()
    assert found.column_names == ["k", "_SEQUENCE_NUMBER", "_ROW_KIND"]
    assert found["_ROW_KIND"].to_pylist() == ["+I", "+I"]
    only = table.scan(selected_fields=["_ROW_KIND"]).to_arrow()
    assert only.num_rows == table.scan().count()


@pytest.mark.parametrize("name", ["tags_pk", "pk_levels_universal", "data_evolution", "append_dv_parquet_b64_bucketed"])
def test_limits(name: str) -> None:
    table = load(name)
    total = table.scan().count()
    for limit in (0, 1, 7, total, total + 1):
        scan = table.scan(limit=limit)
        assert scan.to_arrow().num_rows == scan.count() == min(limit, total)
    assert table.scan(selected_fields=()).to_arrow().num_rows == total


def test_filter_and_limit_combine(table: Table) -> None:
    assert table.scan("k >= 10", limit=2).count() == 2
    assert table.scan("k >= 10", limit=2).to_arrow()["k"].to_pylist() == [10, 11]


def test_a_table_is_as_it_was_when_opened_until_it_is_refreshed(tmp_path: Path) -> None:
    copy = shutil.copytree(TABLES / "cl_from_timestamp", tmp_path / "t")
    newest = copy / "snapshot" / "snapshot-6"
    hint = copy / "snapshot" / "LATEST"
    kept, shown = newest.read_bytes(), hint.read_bytes() if hint.exists() else None
    newest.unlink()
    hint.unlink(missing_ok=True)
    table = frazil.load_table(copy, format="paimon")
    assert table.scan().snapshot_id == 5
    newest.write_bytes(kept)
    if shown is not None:
        hint.write_bytes(shown)
    assert table.refresh().scan().snapshot_id == 6
    edit_schema(copy, {"a": "b"}, number=1)
    assert "a" not in table.options
    assert table.refresh().options["a"] == "b"


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table,
        lambda table: table.with_branch("fromtag"),
        lambda table: table.audit_log(),
        lambda table: table.with_branch("fromtag").audit_log(),
    ],
    ids=range(4),
)
def test_tables_travel_to_other_processes(change: Callable[[Table], Table]) -> None:
    table = change(load("branches_pk"))
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301 - our own bytes
    assert copy.branch == table.branch
    assert copy.scan().to_arrow().equals(table.scan().to_arrow())
    assert repr(copy) == repr(table)


def test_splits_travel_to_other_processes(table: Table) -> None:
    for split in table.scan("k > 3", ["s", "_ROW_KIND"]).plan_files():
        copy = pickle.loads(pickle.dumps(split))  # noqa: S301 - our own bytes
        assert copy.to_arrow().equals(split.to_arrow())
        assert copy.schema() == split.schema()
        assert repr(copy) == repr(split)


def test_reprs(table: Table) -> None:
    place = str(TABLES)
    assert repr(table) == f"<frazil.paimon.Table '{place}/tags_pk': snapshot 6; columns k, v, s with key k>"
    branch = load("branches_pk").with_branch("fromtag")
    assert repr(branch) == (
        f"<frazil.paimon.Table '{place}/branches_pk' branch 'fromtag': snapshot 4; columns k, v, s, extra with key k>"
    )
    assert repr(table.scan("k>3")) == "<frazil.paimon.Scan snapshot 6 where k > 3>"
    (split,) = table.scan().plan_files()
    assert repr(split) == "<frazil.paimon.Split bucket-0: 1 files, as they are>"
    assert repr(table.scan().plan()).startswith("<frazil.paimon.Plan ")


def edit_schema(folder: Path, options: dict[str, str], number: int = 0) -> None:
    """Write the schema with other options under a schema id."""
    schema = json.loads((folder / "schema" / "schema-0").read_text(encoding="utf-8"))
    schema["options"].update(options)
    schema["id"] = number
    (folder / "schema" / f"schema-{number}").write_text(json.dumps(schema), encoding="utf-8")
