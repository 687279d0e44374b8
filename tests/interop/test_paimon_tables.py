"""Tests of tables that Apache Paimon (Java) and paimon-cpp wrote, compared with the results of Java."""

from __future__ import annotations

import decimal
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.paimon import ObjectTable, Split, Table, bucket_ids
from support.canonical import canonical_rows, lines
from support.cases import SHARED, PaimonCase, found_paimon_cases, golden_paimon_cases
from support.checks import Want, check_all, check_moments, check_plans, check_refusal, difference, each_case, known
from support.defects import REFUSED

if TYPE_CHECKING:
    from pathlib import Path

CASES = [*golden_paimon_cases(), *found_paimon_cases()]

ALL_CASES = 440
FIXED_BUCKETS = 1

LISTED = {"id", "engine", "db", "dir", "features", "about", "input", "model_checked", "location", "sort_columns"}
"""Keys that describe a case."""

NOT_CHECKED = {
    "changelog_stream": "there is no streaming read; `incremental` shows the same rows between snapshots",
    "system_tables": "there are no system tables; what they list, the other tests compare",
    "hash_index": "only writers look into the index of dynamic buckets",
    "file_index_bytes": "indexes that are embedded in manifests are seen by what `plans` keep",
    "statistics_json": "statistics for planners of queries are not read",
    "changelog_files": "the incremental reads read them",
    "expired": "how many snapshots Java removed",
    "main_before_fast_forward": "that state is gone",
    "postpone_files": "they hold what is not in the table yet",
    "iceberg_metadata_files": "the Iceberg table is read by its current metadata",
    "iceberg_metadata": "the same",
}

OF_ONE_RUN = ("mtime", "atime")
"""Columns of object tables that are not in the cases."""

checked: set[str] = set()


def each(key: str) -> pytest.MarkDecorator:
    checked.add(key)
    return each_case(CASES, key)


def test_every_case_is_there() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"only the {len(CASES)} cases in the repository run: the others lie in {SHARED}")
    assert len(CASES) > ALL_CASES


def test_every_key_is_checked() -> None:
    """Keys that no test reads are listed with the reason."""
    assert {key for case in CASES for key in case.content} <= checked | LISTED | NOT_CHECKED.keys()


@each("schema")
def test_schema(case: PaimonCase) -> None:
    want = case.content["schema"]
    schema = case.table.schema
    if not case.is_plain:
        assert schema().options.items() >= want.get("options", {}).items()
        assert case.table.primary_keys == want.get("primary_key", [])
        assert case.table.partition_keys == want.get("partition_keys", [])
        assert [[field.name, field.type] for field in schema().fields] == want["fields"]


@each("expect")
def test_rows(case: PaimonCase) -> None:
    """Compares the rows of a scan and of its serialized splits, and their schema and number."""
    want = case.content["expect"]
    if case.id in REFUSED:
        check_refusal(case, REFUSED[case.id][0])
        return
    scan = case.table.scan(selected_fields=want.get("fields", ("*",)))
    rows = scan.to_arrow()
    compared = rows.drop_columns(OF_ONE_RUN) if isinstance(case.table, ObjectTable) else rows
    assert known(case, "rows") or not difference(case, compared, want)
    assert rows.schema == scan.schema()
    assert scan.count() == rows.num_rows
    assert case.column_names in {None, tuple(rows.column_names)}
    if isinstance(case.table, Table):
        assert_same(rows, pa.concat_tables([rows.schema.empty_table(), *map(read_remotely, scan.plan_files())]))


@each("snapshots")
def test_snapshots(case: PaimonCase) -> None:
    wanted = case.content["snapshots"]
    kinds = {str(snapshot.snapshot_id): snapshot.commit_kind for snapshot in case.table.snapshots()}
    assert kinds.items() >= {name: want["commit_kind"] for name, want in wanted.items()}.items()
    check_all(
        case,
        ((f"snapshot {name}", want, partial(case.table.scan, snapshot_id=int(name))) for name, want in wanted.items()),
    )
    check_moments(case)


@each("snapshots_left")
def test_snapshots_that_did_not_expire(case: PaimonCase) -> None:
    assert [snapshot.snapshot_id for snapshot in case.table.snapshots()] == case.content["snapshots_left"]


@each("snapshot_count")
def test_number_of_snapshots(case: PaimonCase) -> None:
    assert len(case.table.snapshots()) == case.content["snapshot_count"]


@each("snapshot_times")
def test_moments_of_snapshots(case: PaimonCase) -> None:
    found = {str(snapshot.snapshot_id): snapshot.timestamp_ms for snapshot in case.table.snapshots()}
    assert found == case.content["snapshot_times"]


@each("watermarks")
def test_watermarks_of_snapshots(case: PaimonCase) -> None:
    found = {str(snapshot.snapshot_id): snapshot.watermark for snapshot in case.table.snapshots()}
    assert found == case.content["watermarks"]


@each("tags")
def test_tags(case: PaimonCase) -> None:
    wanted = case.content["tags"]
    assert case.table.tags().keys() == wanted.keys()
    check_all(case, ((f"tag {name}", want, partial(case.table.scan, ref=name)) for name, want in wanted.items()))
    by_option = {name: partial(case.table.scan, options={"scan.tag-name": name}) for name in wanted}
    check_all(case, ((f"tag {name} by option", want, by_option[name]) for name, want in wanted.items()))


@each("branches")
def test_branches(case: PaimonCase) -> None:
    wanted = case.content["branches"]
    assert set(case.table.branches()) == wanted.keys()
    check_all(case, ((f"branch {name}", want, partial(case.table.scan, ref=name)) for name, want in wanted.items()))
    check_all(
        case,
        (
            (
                f"branch {name}, snapshot {number}",
                want,
                partial(case.table.with_branch(name).scan, snapshot_id=int(number)),
            )
            for name, branch in wanted.items()
            for number, want in branch["snapshots"].items()
        ),
    )


@each("main_reads")
def test_main_branch_is_read_alongside_other_branches(case: PaimonCase) -> None:
    check_all(case, [("main", case.content["main_reads"], partial(case.table.scan, ref="main"))])


@each("before_compaction")
def test_the_state_before_a_compaction(case: PaimonCase) -> None:
    snapshots = case.table.snapshots()
    assert snapshots[-1].commit_kind == "COMPACT"
    scan = partial(case.table.scan, snapshot_id=snapshots[-2].snapshot_id)
    check_all(case, [("before", case.content["before_compaction"], scan)])


@each("rows_after_truncate")
def test_the_state_after_a_truncation(case: PaimonCase) -> None:
    assert case.table.scan(snapshot_id=2).count() == case.content["rows_after_truncate"]


@each("expired_partitions")
def test_partitions_that_expired(case: PaimonCase) -> None:
    there = [dict(split.partition) for split in case.table.scan().plan_files()]
    assert there
    assert not any(partition in there for partition in case.content["expired_partitions"])


@each("plans")
def test_plans(case: PaimonCase) -> None:
    """Separately read splits return the rows, and files pruned by the reference planner are pruned."""
    if case.is_plain:
        wanted = case.content["plans"]
        check_all(case, ((want["filter"], want, partial(case.table.scan, want["filter"])) for want in wanted))
    else:
        check_plans(case, plan_difference)


@each("incremental")
def test_incremental_reads(case: PaimonCase) -> None:
    check_all(
        case,
        (
            (
                f"{mode_of(want)} {between(want)}",
                want,
                partial(case.table.scan, selected_fields=("*", "_ROW_KIND"), options=options(want)),
            )
            for want in case.content["incremental"]
        ),
    )


@each("incremental")
def test_incremental_reads_of_the_audit_log(case: PaimonCase) -> None:
    """The log has the row kind in a column; a log of a difference, which has no kinds, is rejected."""
    log = case.table.audit_log()
    wanted = [want for want in case.content["incremental"] if "audit_log" in want]
    check_all(
        case,
        (
            (
                f"audit log of {mode_of(want)} {between(want)}",
                want["audit_log"],
                partial(log.scan, options=options(want)),
            )
            for want in wanted
            if not is_difference(want)
        ),
    )
    for want in filter(is_difference, wanted):
        with pytest.raises(frazil.errors.UnsupportedError, match="difference of snapshots"):
            log.scan(options=options(want))


@each("incremental")
def test_differences_are_of_whole_rows(case: PaimonCase) -> None:
    """Whether a row is new depends on all columns, not only on the returned ones."""
    for want in filter(is_difference, case.content["incremental"]):
        rows = case.table.scan(options=options(want)).to_arrow()
        assert case.table.scan(options=options(want)).count() == rows.num_rows
        for name in rows.column_names:
            projected = case.table.scan(selected_fields=(name,), options=options(want)).to_arrow()
            assert lines(canonical_rows(projected)) == lines(canonical_rows(rows.select([name])))


@each("time_travel")
def test_time_travel(case: PaimonCase) -> None:
    wanted = case.content["time_travel"]
    scans = {str(want["options"]): partial(case.table.scan, options=want["options"]) for want in wanted}
    check_all(case, ((str(want["options"]), want, scans[str(want["options"])]) for want in wanted))
    for want in wanted:
        if want.get("error"):
            with pytest.raises(frazil.errors.NoSuchSnapshotError):
                case.table.scan(options=want["options"]).to_arrow()


@each("values_refused_at_read")
def test_values_that_a_cast_refuses(case: PaimonCase, tmp_path: Path) -> None:
    """A value in an old file that cannot be cast to the new type is an error, or NULL if Java overflows."""
    copy = shutil.copytree(case.root, tmp_path / "t")
    split = min(case.table.scan().plan_files(), key=lambda split: split.files[0].schema_id)
    place = copy / case.relative(split.files[0].file_path)
    rows = pq.read_table(place)
    for value, reason in case.content["values_refused_at_read"]:
        refused = pa.array([old_value(value, rows.schema.field("c").type)] * rows.num_rows)
        pq.write_table(rows.set_column(1, rows.schema.field("c"), refused), place)
        table = frazil.load_table(copy, format="paimon")
        if reason.startswith("'NoneType'"):
            assert table.scan("c is null").count() >= rows.num_rows
        else:
            with pytest.raises(frazil.errors.CorruptDataFileError):
                table.scan().to_arrow()


@each("buckets")
def test_buckets(case: PaimonCase) -> None:
    """Every row is in the same partition and bucket as in the reference, and that is its computed bucket."""
    wanted = case.content["buckets"]
    names = list(wanted[0]["row"])
    found = []
    for split in case.table.scan().plan_files():
        rows = split.to_arrow()
        folder = case.relative(split.files[0].file_path).split("/")[:-2]
        found += [
            {"row": row, "partition": "/".join(folder), "bucket": split.bucket}
            for row in canonical_rows(rows.select(names))
        ]
        if int(case.table.options.get("bucket", -1)) >= FIXED_BUCKETS:
            assert bucket_ids(case.table, rows).to_pylist() == [split.bucket] * rows.num_rows
    assert lines(found) == lines(wanted)


@each("data_files_left")
def test_no_files_but_those_of_the_snapshots_are_left(case: PaimonCase) -> None:
    scans = [case.table.scan(snapshot_id=snapshot.snapshot_id) for snapshot in case.table.snapshots()]
    names = {file.file_name for scan in scans for split in scan.plan_files() for file in split.files}
    assert names == set(case.content["data_files_left"])


@each("index_files")
def test_index_files(case: PaimonCase) -> None:
    extra = [name for split in case.table.scan().plan_files() for file in split.files for name in file.extra_files]
    assert sorted(extra) == sorted(name.rpartition("/")[2] for name in case.content["index_files"])


@each("files")
def test_files_of_format_tables(case: PaimonCase) -> None:
    found = [case.relative(file.file_path) for file in case.table.scan().plan_files()]
    assert sorted(found) == sorted(case.content["files"])


@each("iceberg_current")
def test_iceberg_metadata_of_paimon_tables(case: PaimonCase) -> None:
    """Iceberg readers see the latest compacted state, which is the latest state of these tables."""
    place = case.root / case.content["iceberg_current"]
    table = frazil.load_table(place, format="iceberg", relocate={f"/golden/{case.content['dir']}": str(case.root)})
    rows = table.scan().to_arrow()
    assert not difference(case, rows, case.content["expect"])


def old_value(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return a value in canonical form as an Arrow scalar."""
    value: Any = decimal.Decimal(text[2:]) if pa.types.is_decimal(kind) else text
    return pa.scalar(float(text) if pa.types.is_floating(kind) else value, kind)


def read_remotely(split: Split) -> pa.Table:
    """Read a split from its wire form."""
    (sent,) = Split.from_bytes(split.to_bytes())
    return sent.to_arrow()


def assert_same(left: pa.Table, right: pa.Table) -> None:
    """Check that two tables are equal, with NaN equal to NaN."""
    assert left.equals(right) or lines(canonical_rows(left)) == lines(canonical_rows(right))


def plan_difference(case: PaimonCase, splits: list[Any], want: Want) -> str | None:
    if "files" not in want or want.get("java_result_is_wrong"):
        return None
    extra = sorted({case.relative(file.file_path) for split in splits for file in split.files} - set(want["files"]))
    return f"keeps {len(extra)} files that the reference planner prunes, such as {extra[0]}" if extra else None


def mode_of(want: Want) -> str:
    return str(want["mode"])


def is_difference(want: Want) -> bool:
    """Return whether two states are compared, which is the only mode between tags."""
    first, last = between(want).split(",")
    return first != last and (mode_of(want) == "diff" or not (first + last).isdecimal())


def between(want: Want) -> str:
    return str(want.get("between") or want["between_timestamp"])


def options(want: Want) -> dict[str, str]:
    """Return the options of an incremental read."""
    option = "incremental-between" if "between" in want else "incremental-between-timestamp"
    return {option: between(want), "incremental-between-scan-mode": mode_of(want)}
