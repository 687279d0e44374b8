"""Tests that the system tables of golden Paimon tables have the same columns and rows as in Java."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.errors import InvalidArgumentError, NoSuchSnapshotError, UnsupportedError
from frazil.paimon import Inspect
from frazil.paimon._views import VIEWS
from support.canonical import canonical_rows, lines
from support.cases import Case, golden_paimon_cases
from support.checks import each_case, known

if TYPE_CHECKING:
    import pyarrow as pa

CASES = list(golden_paimon_cases())
FOUND = {case.id: case for case in CASES if not case.shared}


def load(case: Case) -> Any:
    return frazil.load_table(case.opened)


def relative(row: dict[str, Any], top: str) -> dict[str, Any]:
    """Remove the location of the golden tables; for files, keep the form in which Java shows it."""
    if "file_path" not in row:
        return row
    return row | {"file_path": row["file_path"].removeprefix(top).removeprefix("/golden")}


def problem(case: Case, name: str, expected: dict[str, Any]) -> str | None:
    """Return the difference of a system table from Java, except known defects, or None if there is none."""
    columns = [column for column, _ in expected["columns"] if not known(case, f"system table {name} {column}")]
    found = case.table.inspect[name].scan().to_arrow()
    if [column for column in found.column_names if column in columns] != columns:
        return f"the columns {found.column_names} instead of {columns}"
    return different_rows(case, found.select(columns), [{c: row[c] for c in columns} for row in expected["rows"]])


def different_rows(case: Case, found: pa.Table, expected: list[dict[str, Any]]) -> str | None:
    top = case.relocate["/golden"]
    mine = lines(relative(row, top) for row in canonical_rows(found))
    pairs = zip_longest(mine, lines(relative(row, top) for row in expected))
    return next((f"{ours} instead of {other}" for ours, other in pairs if ours != other), None)


@each_case(CASES, "system_tables")
def test_system_tables_are_those_of_java(case: Case) -> None:
    found = {
        name: problem(case, name, expected)
        for name, expected in case.content["system_tables"].items()
        if expected.get("rows") is not None and not known(case, f"system table {name}")
    }
    assert not {name: text for name, text in found.items() if text}


@each_case([case for case in CASES if case.id in {"pk_ignore_delete", "pk_ignore_update_before"}], "system_tables")
def test_tables_that_java_listed_before_a_compaction_are_those_of_that_snapshot(case: Case) -> None:
    for name, expected in case.content["system_tables"].items():
        found = case.table.inspect.open(name, snapshot_id=4).scan().to_arrow()
        assert (
            different_rows(case, found.select([column for column, _ in expected["columns"]]), expected["rows"]) is None
        )


@pytest.fixture(scope="module")
def tagged() -> Any:
    return load(FOUND["tags_pk"])


@pytest.mark.parametrize("name", [name for name in Inspect.names() if name != "row_tracking"])
def test_inspect_method_matches_the_metadata_table(tagged: Any, name: str) -> None:
    assert getattr(tagged.inspect, name)().equals(tagged.inspect[name].scan().to_arrow())


@pytest.mark.parametrize("name", [name for name in Inspect.names() if name not in VIEWS])
def test_columns_and_filters_are_those_of_the_whole(tagged: Any, name: str) -> None:
    table = tagged.inspect[name]
    whole = table.scan().to_arrow()
    for column in whole.column_names:
        assert table.scan(selected_fields=[column]).to_arrow().equals(whole.select([column]))
        nulls = whole[column].null_count
        assert table.scan(f'"{column}" is null').count() == nulls
        assert table.scan(f'"{column}" is not null', ()).count() == whole.num_rows - nulls
    assert table.scan(limit=1).to_arrow().equals(whole.slice(0, 1))
    assert table.scan("false").to_arrow().equals(whole.slice(0, 0))


@pytest.mark.parametrize(
    ("table", "name"),
    [("tags_pk", name) for name in VIEWS if name != "row_tracking"] + [("row_tracking_compacted", "row_tracking")],
)
def test_views_show_the_rows_of_a_snapshot(table: str, name: str) -> None:
    opened = load(FOUND[table])
    view = opened.inspect[name]
    whole = view.scan().to_arrow()
    assert view.schema().equals(whole.schema)
    assert getattr(opened, {"ro": "read_optimized"}.get(name, name))().scan().to_arrow().equals(whole)
    for column in whole.column_names:
        assert view.scan(selected_fields=[column]).to_arrow().equals(whole.select([column]))
    assert view.scan("k >= 0").count() + view.scan("k < 0").count() == view.scan().count() == whole.num_rows
    assert view.scan(limit=1).to_arrow().num_rows == 1
    first = opened.snapshots()[0]
    at_first = getattr(opened.inspect, name)(first.snapshot_id)
    assert at_first.equals(getattr(opened.inspect, name)(as_of=first.timestamp_ms))


@pytest.mark.parametrize("name", ["audit_log", "binlog", "ro"])
def test_views_travel_to_tags(tagged: Any, name: str) -> None:
    counts = {tag: getattr(tagged.inspect, name)(ref=tag).num_rows for tag in tagged.tags()}
    expected = {tag: tagged.scan(ref=tag).count() for tag in tagged.tags()}
    assert len(set(counts.values())) > 1
    assert counts == expected or name == "ro"


def test_only_tables_that_track_rows_have_row_tracking(tagged: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="row tracking is not enabled, so the table has no `row_tracking`"):
        tagged.inspect["row_tracking"]
    with pytest.raises(NoSuchSnapshotError):
        tagged.inspect.open("audit_log", snapshot_id=99)


CHANGES = {"incremental-between": "0,6", "incremental-between-scan-mode": "changelog"}
"""The options that read all changes of `cl_lookup_avro`."""


def packed(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert rows of the audit log, in which updates are consecutive, to rows of the binlog."""
    found: list[dict[str, Any]] = []
    for row in log:
        images = {name: [value] for name, value in row.items() if name != "rowkind"}
        last = found[-1] if found else {}
        if row["rowkind"] == "+U" and last.get("rowkind") == "-U" and last["k"] == images["k"]:
            found[-1] = {"rowkind": "+U"} | {name: last[name] + values for name, values in images.items()}
        else:
            found.append({"rowkind": row["rowkind"]} | images)
    return found


def test_an_update_is_one_row_of_the_binlog() -> None:
    table = load(FOUND["cl_lookup_avro"])
    log = table.audit_log().scan(options=CHANGES).to_arrow().to_pylist()
    binlog = table.binlog()
    found = binlog.scan(options=CHANGES).to_arrow()
    assert found.to_pylist() == packed(log)
    assert 0 < sum(len(row["k"]) == 2 for row in found.to_pylist()) < found.num_rows
    assert binlog.scan(options=CHANGES).count() == found.num_rows
    assert binlog.scan(selected_fields=["v"], options=CHANGES).to_arrow().equals(found.select(["v"]))
    assert binlog.scan(limit=2, options=CHANGES).to_arrow().num_rows == 2
    values = {value for row in found["v"].to_pylist() for value in row}
    for value in values - {None}:
        kept = binlog.scan(f"v = {value}", options=CHANGES).to_arrow().to_pylist()
        assert kept == [row for row in found.to_pylist() if value in row["v"]]


def test_the_binlog_of_a_difference_is_refused() -> None:
    options = CHANGES | {"incremental-between": "1,6", "incremental-between-scan-mode": "diff"}
    with pytest.raises(UnsupportedError, match="binlog of a difference"):
        load(FOUND["cl_lookup_avro"]).binlog().scan(options=options)


def test_tables_of_one_snapshot_travel_in_time(tagged: Any) -> None:
    for snapshot in tagged.snapshots():
        files = tagged.inspect.files(snapshot.snapshot_id)
        buckets = tagged.inspect.buckets(snapshot.snapshot_id)
        assert sum(files["record_count"].to_pylist()) == snapshot.total_record_count
        assert sum(buckets["file_count"].to_pylist()) == files.num_rows
        assert tagged.inspect.files(as_of=snapshot.timestamp_ms).equals(files)
    for name, tag in tagged.tags().items():
        files = tagged.inspect.files(ref=name)
        assert sum(files["record_count"].to_pylist()) == tag.snapshot.total_record_count


def test_a_branch_shows_its_own_snapshots() -> None:
    table = load(FOUND["branches_pk"])
    branch = table.with_branch("fromtag").inspect
    assert branch.snapshots()["snapshot_id"].to_pylist() == [2, 3, 4]
    assert table.inspect.manifests(ref="fromtag").equals(branch.manifests())


def test_wrong_names_and_snapshots_are_refused(tagged: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="unknown metadata table `file`") as caught:
        tagged.inspect["file"]
    assert "did you mean `files`" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="`tags` does not support time travel"):
        tagged.inspect.open("tags", snapshot_id=4)
    with pytest.raises(NoSuchSnapshotError):
        tagged.inspect.files(99)
    with pytest.raises(InvalidArgumentError, match="no column `file_pth`"):
        tagged.inspect.files(selected_fields=["file_pth"])


def test_metadata_tables_convert_to_other_libraries(tagged: Any) -> None:
    scan = tagged.inspect["files"].scan("level > 0", ["file_path", "record_count"])
    rows = scan.to_arrow()
    assert len(scan.to_pandas()) == rows.num_rows
    assert scan.to_polars().height == rows.num_rows
    assert scan.to_duckdb("f").execute("select count(*) from f").fetchone() == (rows.num_rows,)
