"""Tests of CALL: binding of arguments, and effects of procedures, without Spark."""

from __future__ import annotations

import ast
import datetime
import os
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchSnapshotError, NoSuchTableError, UnsupportedError
from frazil.sql import Lake
from frazil.sql._procedures import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Engine:
    """An engine that evaluates literals in Python, and returns rows unchanged."""

    def values(self, texts: Sequence[str]) -> list[Any]:
        return [self._value(text) for text in texts]

    def _value(self, text: str) -> Any:
        inner = text.removeprefix("unix_millis(").removeprefix("CAST((").rpartition(") AS ")[0]
        if inner.startswith("map("):
            items = ast.literal_eval(f"[{inner[4:-1]}]")
            return dict(zip(items[::2], items[1::2], strict=True))
        if inner.startswith("array("):
            return ast.literal_eval(f"[{inner[6:-1]}]")
        words = {"true": True, "false": False, "NULL": None}
        return words[inner] if inner in words else ast.literal_eval(inner)

    def is_case_sensitive(self) -> bool:
        return False

    def timestamp_has_zone(self) -> bool:
        return True

    def session_branch(self, table: Any, name: tuple[str, ...], change: str | None = None) -> None:
        del table, name, change

    def frame(self, columns: Sequence[str], rows: Sequence[Any]) -> list[dict[str, Any]]:
        names = [column.partition(" ")[0] for column in columns]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def __init__(self) -> None:
        self.views: dict[str, str] = {}
        self.sources: list[Any] = []

    def query(self, text: str, sources: Any, args: Any = None) -> str:
        del args
        self.sources.extend(sources)
        return f"Spark ran {text}"

    def create_view(self, frame: str, name: str, columns: Any, *, replaces: bool, is_global: bool) -> None:
        assert replaces
        assert not is_global
        assert columns is None
        self.views[name] = frame

    def has_temporary_view(self, name: str) -> bool:
        del name
        return False


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    made = frazil.load_catalog("c", type="local", path=str(tmp_path / "lake"))
    made.create_namespace("db")
    table = made.create_table("db.t", {"id": "long", "p": "string"}, properties={"write.wap.enabled": "true"})
    for number in range(4):
        table.append([{"id": number, "p": "a"}])
    return made


@pytest.fixture
def lake(catalog: Any) -> Any:
    return Lake({"c": catalog}, Engine(), ())


def ids(catalog: Any) -> list[int]:
    return sorted(catalog.load_table("db.t").scan().to_arrow()["id"].to_pylist())


def test_references_move(lake: Any, catalog: Any) -> None:
    table = catalog.load_table("db.t")
    first, second, third, fourth = [snapshot.snapshot_id for snapshot in table.snapshots()]
    moved = lake.sql(f"CALL c.system.rollback_to_snapshot('db.t', {second})")
    assert moved == [{"previous_snapshot_id": fourth, "current_snapshot_id": second}]
    assert ids(catalog) == [0, 1]
    moved = lake.sql(f"call c.SYSTEM.set_current_snapshot(snapshot_id => {fourth}, table => 'c.db.t')")
    assert moved == [{"previous_snapshot_id": second, "current_snapshot_id": fourth}]
    time_ms = table.snapshots()[2].timestamp_ms + 1
    lake.sql(f"CALL c.system.rollback_to_timestamp(table => 'db.t', timestamp => {time_ms})")
    table = table.refresh()
    assert table.current_snapshot().timestamp_ms < time_ms
    lake.sql(f"CALL c.system.set_current_snapshot('db.t', {fourth})")
    table.refresh().manage_snapshots().create_branch(second, "dev").create_tag(third, "tag").commit()
    moved = lake.sql("CALL c.system.fast_forward('db.t', 'dev', 'main')")
    assert moved == [{"branch_updated": "dev", "previous_ref": second, "updated_ref": fourth}]
    moved = lake.sql("CALL c.system.set_current_snapshot(table => 'db.t', ref => 'tag')")
    assert moved[0]["current_snapshot_id"] == third
    ancestors = lake.sql("CALL c.system.ancestors_of('db.t')")
    assert [row["snapshot_id"] for row in ancestors] == [third, second, first]
    assert [row["snapshot_id"] for row in lake.sql(f"CALL c.system.ancestors_of('db.t', {second})")] == [second, first]


def test_staged_snapshots_are_published(lake: Any, catalog: Any) -> None:
    table = catalog.load_table("db.t")
    table.append([{"id": 9, "p": "z"}], snapshot_properties={"wap.id": "w"})
    assert ids(catalog) == [0, 1, 2, 3]
    staged = next(one for one in table.snapshots() if one.summary.get("wap.id") == "w")
    assert lake.sql("CALL c.system.publish_changes('db.t', 'w')")[0]["source_snapshot_id"] == staged.snapshot_id
    assert ids(catalog) == [0, 1, 2, 3, 9]
    with pytest.raises(NoSuchSnapshotError, match=r"wap\.id `v`"):
        lake.sql("CALL c.system.publish_changes('db.t', 'v')")


def test_counts_have_the_types_of_java() -> None:
    counts = TABLES["iceberg"][1]["rewrite_data_files"].columns
    assert [column.split()[1] for column in counts] == ["int", "int", "bigint", "int", "int"]


def test_tables_are_maintained(lake: Any, catalog: Any) -> None:
    options = "map('min-input-files', '2', 'max-concurrent-file-group-rewrites', '9')"
    done = lake.sql(f"CALL c.system.rewrite_data_files(table => 'db.t', options => {options}, where => 'id >= 1')")
    assert (done[0]["rewritten_data_files_count"], done[0]["added_data_files_count"]) == (3, 1)
    assert lake.sql("CALL c.system.rewrite_data_files('db.t')")[0]["rewritten_data_files_count"] == 0
    first = catalog.load_table("db.t").snapshots()[0].snapshot_id
    gone = lake.sql(f"CALL c.system.expire_snapshots(table => 'db.t', snapshot_ids => array({first}))")
    assert (gone[0]["deleted_manifest_lists_count"], gone[0]["deleted_data_files_count"]) == (1, 0)
    gone = lake.sql("CALL c.system.expire_snapshots('db.t', 4000000000000, 1)")
    assert (gone[0]["deleted_manifest_lists_count"], gone[0]["deleted_data_files_count"]) == (3, 3)
    assert lake.sql("CALL c.system.remove_orphan_files(table => 'db.t', dry_run => true)") == []
    assert ids(catalog) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("ID >= 2", 2),
        ('p = "a"', 4),
        ("Id = 1 OR (p LIKE 'a%' AND NOT iD < 3)", 2),
        ("id >= 1 AND c.system.bucket(4, id) = 2", 3),
        ("system.truncate(2, ID) < 7", 4),
    ],
)
def test_conditions_are_those_of_spark(lake: Any, where: str, count: int) -> None:
    condition = where.replace("'", "\\'")
    options = "map('rewrite-all', 'true')"
    done = lake.sql(f"CALL c.system.rewrite_data_files(table => 'db.t', options => {options}, where => '{condition}')")
    assert done[0]["rewritten_data_files_count"] == count


@pytest.mark.parametrize("where", ["nope = 1", "c.system.bucket(4, nope) = 2", "id = 1 OR reverse(p) = 'X'", "id >"])
def test_conditions_that_are_not_supported_rewrite_nothing(lake: Any, catalog: Any, where: str) -> None:
    before = catalog.load_table("db.t").metadata_location
    condition = where.replace("'", "\\'")
    with pytest.raises(FrazilError):
        lake.sql(f"CALL c.system.rewrite_data_files(table => 'db.t', where => '{condition}')")
    assert catalog.load_table("db.t").metadata_location == before


def test_defaults_of_java_and_tuning_are_accepted(lake: Any, catalog: Any) -> None:
    lake.sql(
        "CALL c.system.remove_orphan_files(table => 'db.t', prefix_mismatch_mode => 'error', prefix_listing => true, "
        "max_concurrent_deletes => 4, stream_results => true)"
    )
    lake.sql("CALL c.system.expire_snapshots(table => 'db.t', clean_expired_metadata => false)")
    assert ids(catalog) == [0, 1, 2, 3]


def test_a_branch_is_rewritten(lake: Any, catalog: Any) -> None:
    table = catalog.load_table("db.t")
    table.manage_snapshots().create_branch(table.snapshots()[2].snapshot_id, "dev").commit()
    options = "map('min-input-files', '2')"
    done = lake.sql(f"CALL c.system.rewrite_data_files(table => 'db.t', options => {options}, branch => 'dev')")
    assert (done[0]["rewritten_data_files_count"], done[0]["added_data_files_count"]) == (3, 1)
    table = table.refresh()
    assert table.snapshot_by_name("dev").operation == "replace"
    assert table.current_snapshot().operation == "append"


def test_a_view_of_changes_is_created(catalog: Any) -> None:
    engine = Engine()
    lake: Lake[Any] = Lake({"c": catalog}, engine, ())  # type: ignore[arg-type] - only what CALL needs
    assert lake.sql("CALL c.system.create_changelog_view('db.t')") == [{"changelog_view": "`t_changes`"}]
    lake.sql(
        "CALL c.system.create_changelog_view(table => 'db.t', changelog_view => 'v', identifier_columns => "
        "array('id', 'a,b'), compute_updates => true, options => map('start-snapshot-id', '5'))"
    )
    assert list(engine.views) == ["t_changes", "v"]
    first, second = engine.sources
    assert (first.metadata_table, first.options) == ("changes", {"net-changes": "false"})
    assert second.options == {
        "start-snapshot-id": "5",
        "net-changes": "false",
        "compute-updates": "true",
        "identifier-columns": '"id", "a,b"',
    }


@pytest.fixture
def paimon(tmp_path: Path) -> Any:
    made = frazil.load_catalog("p", type="paimon", warehouse=str(tmp_path / "paimon"))
    made.create_namespace("db")
    made.create_namespace("other")
    for name in ("db.t", "db.u", "other.t"):
        table = made.create_table(name, {"id": "int", "day": "int"}, partition_keys=["day"])
        for number in range(3):
            table.append([{"id": number, "day": 1}, {"id": number, "day": 2}])
    return made


@pytest.fixture
def paimon_lake(paimon: Any) -> Any:
    return Lake({"p": paimon}, Engine(), ())  # type: ignore[arg-type] - only what CALL needs


def test_paimon_tables_are_rolled_back_and_expired(paimon_lake: Any, paimon: Any) -> None:
    table = paimon.load_table("db.t")
    table.manage_snapshots().create_tag(2, "two").commit()
    moved = lambda before, after: [{"previous_snapshot_id": before, "current_snapshot_id": after}]  # noqa: E731
    assert paimon_lake.sql("CALL p.sys.rollback('db.t', 'two')") == moved(3, 2)
    table.append([{"id": 5, "day": 1}])
    assert paimon_lake.sql("CALL p.sys.rollback(table => 'db.t', snapshot => 2)") == moved(3, 2)
    second = table.snapshots()[1].timestamp_ms
    table.append([{"id": 5, "day": 1}])
    assert paimon_lake.sql("CALL p.sys.rollback(table => 'db.t', tag => 'two')") == moved(3, 2)
    assert paimon_lake.sql(f"CALL p.sys.rollback_to_timestamp('db.t', {second})") == moved(2, 2)
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == [0, 0, 1, 1]

    for number in range(8):
        table.append([{"id": number, "day": 1}])
    expired = "CALL p.sys.expire_snapshots(table => 'db.t', "
    assert paimon_lake.sql(f"{expired}older_than => '2001-01-01', retain_min => 1)") == [{"deleted_snapshots_count": 0}]
    assert paimon_lake.sql(f"{expired}retain_max => 5, retain_min => 5, max_deletes => 2)") == [
        {"deleted_snapshots_count": 2}
    ]
    assert paimon_lake.sql(f"{expired}older_than => '2100-01-01 00:00:00', retain_min => 1)") == [
        {"deleted_snapshots_count": 7}
    ]
    assert [one.snapshot_id for one in table.snapshots()] == [10]
    assert table.scan(ref="two").count() == 4


def test_orphan_files_of_paimon_tables_are_removed(paimon_lake: Any, paimon: Any, tmp_path: Path) -> None:
    for name in ("t", "u"):
        orphan = next((tmp_path / f"paimon/db.db/{name}").rglob("bucket-0")) / "data-0000-0.parquet"
        orphan.write_bytes(b"x" * 10)
        os.utime(orphan, (0, 0))
    found = {"deletedFileCount": 1, "deletedFileTotalLenInBytes": 10}
    for _ in range(2):
        assert paimon_lake.sql("CALL p.sys.remove_orphan_files('db.t', dry_run => true)") == [found]
    both = {"deletedFileCount": 2, "deletedFileTotalLenInBytes": 20}
    assert paimon_lake.sql("CALL p.sys.remove_orphan_files(table => 'db.*', older_than => '2001-01-01 00:00:00')") == [
        both
    ]
    assert files(paimon) == [3, 3]


def files(paimon: Any, name: str = "db.t") -> list[int]:
    """Return the number of files of each partition."""
    counts = [row["partition"] for row in paimon.load_table(name).inspect.files().to_pylist()]
    return [counts.count(one) for one in sorted(set(counts))]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'db.t'", [1, 1]),
        ("table => 'db.t', partitions => 'day=1'", [1, 3]),
        ("table => 'db.t', partitions => \"day='2'; day=7\"", [3, 1]),
        ("table => 'db.t', partitions => 'day=7'", [3, 3]),
        ("table => 'db.t', where => 'day > 1'", [3, 1]),
        ("table => 'db.t', compact_strategy => 'Minor'", [3, 3]),
        ("'db.t', '', 'full', 'NONE', '', ' ', '', ''", [1, 1]),
    ],
)
def test_buckets_are_compacted(paimon_lake: Any, paimon: Any, arguments: str, expected: list[int]) -> None:
    assert paimon_lake.sql(f"CALL p.sys.compact({arguments})") == [{"result": True}]
    assert files(paimon) == expected


@pytest.mark.parametrize(
    ("arguments", "compacted"),
    [
        ("", {"db.t", "db.u", "other.t"}),
        ("including_databases => 'db|x'", {"db.t", "db.u"}),
        ("including_databases => 'd'", set()),
        ("including_tables => '.*[.]t'", {"db.t", "other.t"}),
        ("'.*', '.*', 'other[.].*|db.t'", {"db.u"}),
        ("excluding_tables => ' '", {"db.t", "db.u", "other.t"}),
    ],
)
def test_databases_are_compacted(paimon_lake: Any, paimon: Any, arguments: str, compacted: set[str]) -> None:
    result = f"Compact database finished. Success: {len(compacted)}, Failed: 0"
    assert paimon_lake.sql(f"CALL p.sys.compact_database({arguments})") == [{"result": result}]
    names = ("db.t", "db.u", "other.t")
    assert {name for name in names if files(paimon, name) == [1, 1]} == compacted


def test_tags_and_branches_are_changed(paimon_lake: Any, paimon: Any) -> None:
    def call(text: str) -> None:
        assert paimon_lake.sql(f"CALL p.sys.{text}") == [{"result": True}]

    call("create_tag('db.t', 'first', 1)")
    call("create_tag(table => 'db.t', tag => 'last', time_retained => '1 d')")
    call("create_tag('db.t', 'third')")
    call("replace_tag('db.t', 'third', 1)")
    call("rename_tag('db.t', 'third', 'again')")
    table = paimon.load_table("db.t")
    latest = table.current_snapshot().snapshot_id
    assert {name: tag.snapshot_id for name, tag in table.tags().items()} == {"first": 1, "last": latest, "again": 1}
    assert table.tags()["last"].time_retained == datetime.timedelta(days=1)
    call("create_branch('db.t', 'a', 'first')")
    call("create_branch(table => 'db.t', branch => 'b')")
    call("create_branch(table => 'db.t', branch => 'b', ignoreIfExists => 'true')")
    call("rename_branch('db.t', 'b', 'c')")
    assert table.branches() == ["a", "c"]
    call("delete_tag('db.t', 'first, last,again')")
    call("delete_branch('db.t', 'a,c')")
    assert (table.tags(), table.branches()) == ({}, [])


def test_partitions_tags_and_consumers_expire(paimon_lake: Any, paimon: Any) -> None:
    table = paimon.create_table("db.days", {"id": "int", "day": "string"}, partition_keys=["day"])
    call = "CALL p.sys."
    none = [{"expired_partitions": "No expired partitions."}]
    assert paimon_lake.sql(f"{call}expire_partitions('db.days', '30 d')") == none
    table.append([{"id": 1, "day": "20200131"}, {"id": 2, "day": "29991231"}])
    text = f"{call}expire_partitions(table => 'db.days', expiration_time => '30 d', timestamp_formatter => 'yyyyMMdd')"
    assert paimon_lake.sql(text) == [{"expired_partitions": "day=20200131"}]
    assert paimon.load_table("db.days").scan().to_arrow()["id"].to_pylist() == [2]
    paimon_lake.sql(f"{call}create_tag(table => 'db.days', tag => 'short', time_retained => '0 ms')")
    [found] = paimon_lake.sql(f"{call}create_tag_from_timestamp('db.days', 'first', 0)")
    assert (found["tagName"], found["snapshot"], found["watermark"]) == ("first", 1, None)
    assert paimon_lake.sql(f"{call}expire_tags('db.days')") == [{"expired_tags": "short"}]
    assert paimon_lake.sql(f"{call}expire_tags('db.days')") == [{"expired_tags": "No expired tags."}]
    for name in ("a1", "a2", "b1"):
        assert paimon_lake.sql(f"{call}reset_consumer('db.days', '{name}', 1)") == [{"result": True}]
    paimon_lake.sql(f"{call}reset_consumer('db.days', 'a2')")
    paimon_lake.sql(f"{call}clear_consumers(table => 'db.days', includingConsumers => 'a.*')")
    assert paimon.load_table("db.days").inspect.consumers()["consumer_id"].to_pylist() == ["b1"]


def test_a_table_is_rolled_back_to_a_watermark(paimon_lake: Any, paimon: Any) -> None:
    table = paimon.create_table("db.marked", {"id": "int"})
    for watermark in (10, 20, 30):
        table.append([{"id": watermark}], watermark=watermark)
    moved = paimon_lake.sql("CALL p.sys.rollback_to_watermark('db.marked', 25)")
    assert moved == [{"previous_snapshot_id": 3, "current_snapshot_id": 2}]
    assert sorted(paimon.load_table("db.marked").scan().to_arrow()["id"].to_pylist()) == [10, 20]


def test_buckets_and_manifests_are_written_again(paimon_lake: Any, paimon: Any) -> None:
    keys = {"primary_keys": ["day", "id"], "partition_keys": ["day"], "options": {"bucket": 1}}
    table = paimon.create_table("db.keyed", {"id": "int", "day": "string"}, **keys)
    for day in ("a", "b"):
        table.append([{"id": number, "day": day} for number in range(9)])

    def buckets() -> dict[str, int]:
        splits = paimon.load_table("db.keyed").scan().plan_files()
        return {dict(split.partition)["day"]: split.total_buckets for split in splits}

    assert paimon_lake.sql("CALL p.sys.rescale('db.keyed', 2, 'day=a')") == [{"result": True}]
    assert buckets() == {"'a'": 2, "'b'": 1}
    paimon_lake.sql("CALL p.sys.rescale('db.keyed')")
    assert buckets() == {"'a'": 2, "'b'": 2}
    assert paimon_lake.sql("CALL p.sys.compact_manifest('db.keyed')") == [{"result": True}]
    assert paimon.load_table("db.keyed").inspect.manifests().num_rows == 1
    paimon_lake.sql("CALL p.sys.create_tag('db.keyed', 'v')")
    paimon_lake.sql("CALL p.sys.create_branch('db.keyed', 'dev', 'v')")
    paimon.load_table("db.keyed").with_branch("dev").append([{"id": 100, "day": "c"}])
    assert paimon_lake.sql("CALL p.sys.mark_partition_done('db.keyed', 'day=a; day=z')") == [{"result": True}]
    assert paimon_lake.sql("CALL p.sys.fast_forward('db.keyed', 'dev')") == [{"result": True}]
    assert paimon.load_table("db.keyed").scan().count() == 19
    purged = [{"result": "Success purge files with table: db.keyed."}]
    assert paimon_lake.sql("CALL p.sys.purge_files('db.keyed')") == purged
    assert paimon.load_table("db.keyed").scan().count() == 0


def test_tables_that_cannot_be_compacted_are_counted(
    paimon_lake: Any, paimon: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for folder in (tmp_path / "paimon/db.db/u/snapshot").iterdir():
        folder.write_text("{}")
    result = "Compact database finished. Success: 2, Failed: 1"
    assert paimon_lake.sql("CALL p.sys.compact_database()") == [{"result": result}]
    assert "table db.u was not compacted" in caplog.text
    assert files(paimon) == [1, 1]


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("CALL p.sys.rollback('db.t')", InvalidArgumentError, "exactly one of snapshot, tag and version"),
        ("CALL p.sys.rollback('db.t', '1', 1)", InvalidArgumentError, "exactly one of snapshot, tag and version"),
        ("CALL p.sys.rollback('db.t', '99')", NoSuchSnapshotError, "no snapshot 99"),
        ("CALL p.sys.rollback('db.t', 'none')", NoSuchSnapshotError, "no tag `none`"),
        ("CALL p.sys.expire_snapshots('db.t', older_than => 'then')", InvalidArgumentError, "older_than is 'then'"),
        ("CALL p.sys.expire_snapshots('db.t', retain_min => 0)", InvalidArgumentError, "retain_min is 0"),
        ("CALL p.sys.expire_snapshots('db.t', options => 'a=b')", UnsupportedError, "options is not supported"),
        ("CALL p.sys.repair('db.t')", UnsupportedError, "repair is not supported.*omit it"),
        ("CALL p.sys.mark_partition_done('db.t', 'day')", InvalidArgumentError, "invalid partition 'day'"),
        ("CALL p.sys.create_tag('db.t', '5')", InvalidArgumentError, "cannot have the name `5`"),
        ("CALL p.sys.create_tag('db.t', 'a', 99)", NoSuchSnapshotError, "no snapshot 99"),
        ("CALL p.sys.create_tag('db.t', 'a', 1, 'x')", InvalidArgumentError, "a duration such as"),
        ("CALL p.sys.delete_tag('db.t', 'none')", NoSuchSnapshotError, "no tag `none`"),
        ("CALL p.sys.create_branch('db.t', 'main')", InvalidArgumentError, "already exists"),
        ("CALL p.sys.delete_branch('db.t', 'none')", NoSuchSnapshotError, "no branch `none`"),
        ("CALL p.sys.rescale('db.t', 2)", InvalidArgumentError, "not fixed"),
        ("CALL p.sys.rescale(table => 'db.t', where => 'day = 1')", UnsupportedError, "argument where"),
        ("CALL p.sys.fast_forward('db.t', 'none')", NoSuchSnapshotError, "no branch `none`"),
        ("CALL p.sys.expire_tags('db.t', 'then')", InvalidArgumentError, "older_than is 'then'"),
        ("CALL p.sys.clear_consumers('db.t', '(')", InvalidArgumentError, "not a regular expression"),
        ("CALL p.sys.copy('db.t', 'db.u')", UnsupportedError, "copy is not supported.*CREATE TABLE"),
        ("CALL p.system.compact('db.t')", InvalidArgumentError, "unknown procedure system.compact .*use p.sys.<name>"),
        ("CALL p.sys.compact(' ')", InvalidArgumentError, "table must not be NULL"),
        ("CALL p.sys.compact('db.`t$files`')", UnsupportedError, "`t.files` is not a table with data files"),
        ("CALL p.sys.compact('db.`t$audit_log`')", UnsupportedError, "read-only"),
        ("CALL p.sys.compact('db.no')", NoSuchTableError, "db.no"),
        ("CALL p.sys.compact('db.t', 'day')", InvalidArgumentError, "invalid partition 'day'.*column=value"),
        ("CALL p.sys.compact('db.t', 'id=1')", InvalidArgumentError, "id"),
        ("CALL p.sys.compact('db.t', 'day=x')", InvalidArgumentError, "x"),
        ("CALL p.sys.compact(table => 'db.t', partitions => 'day=1', where => 'day = 1')", InvalidArgumentError, "com"),
        ("CALL p.sys.compact(table => 'db.t', compact_strategy => 'all')", InvalidArgumentError, "use full or minor"),
        ("CALL p.sys.compact(table => 'db.t', order_strategy => 'zorder')", UnsupportedError, "order_strategy"),
        ("CALL p.sys.compact(table => 'db.t', order_by => 'id')", UnsupportedError, "argument order_by"),
        ("CALL p.sys.compact(table => 'db.t', options => 'a=b')", UnsupportedError, "argument options"),
        ("CALL p.sys.compact(table => 'db.t', partition_idle_time => '1d')", UnsupportedError, "partition_idle_time"),
        ("CALL p.sys.compact_database('(')", InvalidArgumentError, "including_databases '\\(' is not a regular"),
        ("CALL p.sys.compact_database(options => 'a=b')", UnsupportedError, "argument options"),
    ],
)
def test_wrong_calls_in_paimon_change_nothing(
    paimon_lake: Any, paimon: Any, statement: str, kind: type[FrazilError], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        paimon_lake.sql(statement)
    assert "line" in caught.value.context
    assert [files(paimon, name) for name in ("db.t", "db.u", "other.t")] == [[3, 3]] * 3


def test_a_table_is_registered(lake: Any, catalog: Any) -> None:
    place = catalog.load_table("db.t").metadata_location
    catalog.drop_table("db.t")
    made = lake.sql(f"CALL c.system.register_table(table => 'db.t', metadata_file => '{place}')")
    assert (made[0]["total_records_count"], made[0]["total_data_files_count"], ids(catalog)) == (4, 4, [0, 1, 2, 3])


def test_names_are_completed_by_the_current_namespace(lake: Any, catalog: Any) -> None:
    assert lake.sql("CALL spark_catalog.system.x(1)") == "Spark ran CALL spark_catalog.system.x(1)"
    lake.sql("USE c.db")
    assert len(lake.sql("CALL c.system.ancestors_of('t')")) == 4
    assert len(lake.sql("CALL system.ancestors_of('db.`t`')")) == 4
    del catalog


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        (
            "CALL c.system.expire_snapshot('db.t')",
            InvalidArgumentError,
            "unknown procedure system.expire_snapshot .*expire_sn",
        ),
        ("CALL c.other.expire_snapshots('db.t')", InvalidArgumentError, "unknown procedure other"),
        ("CALL c.system.expire_snapshots()", InvalidArgumentError, "argument table is missing"),
        (
            "CALL c.system.expire_snapshots('db.t', older => 5)",
            InvalidArgumentError,
            "unknown parameter older .*older_than",
        ),
        ("CALL c.system.fast_forward('db.t', 'a', 'b', 'c')", InvalidArgumentError, "too many arguments"),
        (
            "CALL c.system.fast_forward(table => 'db.t', 'a')",
            InvalidArgumentError,
            "a positional argument follows a named one",
        ),
        ("CALL c.system.fast_forward('db.t', table => 'a')", InvalidArgumentError, "table is specified twice"),
        ("CALL c.system.expire_snapshots('db.t',)", InvalidArgumentError, "expected a value"),
        ("CALL c.system.expire_snapshots('db.t'", InvalidArgumentError, "expected"),
        ("CALL c.system.expire_snapshots 'db.t'", InvalidArgumentError, "expected"),
        ("CALL c.system.expire_snapshots('db.no')", NoSuchTableError, "no table 'db.no'"),
        ("CALL c.system.rollback_to_snapshot('db.t', 7)", FrazilError, "7"),
        ("CALL c.system.rollback_to_snapshot('db.t', NULL)", InvalidArgumentError, "snapshot_id must not be NULL"),
        ("CALL c.system.set_current_snapshot('db.t')", InvalidArgumentError, "either snapshot_id or ref"),
        ("CALL c.system.ancestors_of('db.t', 7)", NoSuchSnapshotError, "no snapshot 7"),
        ("CALL c.system.rewrite_data_files('db.t', 'sort')", UnsupportedError, "'sort'.*sort order of the table"),
        (
            "CALL c.system.rewrite_data_files(table => 'db.t', options => map('min-input-file', '2'))",
            InvalidArgumentError,
            "no option 'min-input-file'.*min-input-files",
        ),
        (
            "CALL c.system.rewrite_data_files(table => 'db.t', options => map('min-input-files', 'x'))",
            InvalidArgumentError,
            "'x', expected a number",
        ),
        ("CALL c.system.migrate('db.t')", UnsupportedError, "migrate is not supported.*session catalog"),
        ("CALL c.system.create_changelog_view('db.t', 'a.b')", InvalidArgumentError, "one part, not 'a.b'"),
        (
            "CALL c.system.create_changelog_view(table => 'db.t', options => map('start-timestamp', '5'))",
            UnsupportedError,
            "'start-timestamp' is not supported.*start-snapshot-id",
        ),
        (
            "CALL c.system.create_changelog_view(table => 'db.t', options => map('start-snapshot', '5'))",
            InvalidArgumentError,
            "no option 'start-snapshot'.*start-snapshot-id",
        ),
        ("CALL c.sys.expire_snapshots('db.t')", InvalidArgumentError, "use c.system.<name>"),
        (
            "CALL c.system.expire_snapshots(table => 'db.t', clean_expired_metadata => true)",
            UnsupportedError,
            "expire_snapshots: the argument clean_expired_metadata is not supported",
        ),
        (
            "CALL c.system.expire_snapshots(table => 'db.t', max_concurrent_deletes => 0)",
            InvalidArgumentError,
            "max_concurrent_deletes must be positive, not 0",
        ),
        (
            "CALL c.system.remove_orphan_files(table => 'db.t', prefix_mismatch_mode => 'IGNORE')",
            UnsupportedError,
            "prefix_mismatch_mode is not supported",
        ),
        (
            "CALL c.system.remove_orphan_files(table => 'db.t', equal_schemes => map('s3a', 's3'))",
            UnsupportedError,
            "equal_schemes is not supported",
        ),
        ("CALL c.system.remove_orphan_files('db.t', NULL, NULL, true, 1, 'v')", UnsupportedError, "file_list_view"),
        ("CALL c.system.remove_orphan_files('db.t', 4000000000000)", InvalidArgumentError, "less than 24 hours"),
    ],
)
def test_wrong_calls_change_nothing(
    lake: Any, catalog: Any, statement: str, kind: type[FrazilError], message: str
) -> None:
    before = catalog.load_table("db.t").metadata_location
    with pytest.raises(kind, match=message) as caught:
        lake.sql(statement)
    assert "line" in caught.value.context
    assert catalog.load_table("db.t").metadata_location == before
