"""Tests of appending to Iceberg tables: both frazil and PyIceberg read the rows that were written."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.errors import AlreadyExistsError, InvalidArgumentError, NoSuchSnapshotError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("ts", pa.timestamp("us")),
        ("price", pa.decimal128(9, 2)),
        ("tags", pa.list_(pa.string())),
        ("at", pa.struct([("x", pa.float64()), ("y", pa.int32())])),
        ("seen", pa.map_(pa.string(), pa.int64())),
    ]
)

ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "name": "a",
        "ts": dt.datetime.fromisoformat("2024-02-29T12:00"),
        "price": Decimal("1.25"),
        "tags": ["x", None],
        "at": {"x": 1.5, "y": None},
        "seen": [("k", 1)],
    },
    {
        "id": 2,
        "name": None,
        "ts": dt.datetime.fromisoformat("1969-12-31T23:00"),
        "price": None,
        "tags": [],
        "at": None,
        "seen": [],
    },
    {"id": 3, "name": "é", "ts": None, "price": Decimal("-0.01"), "tags": None, "at": {"x": float("nan"), "y": 7}},
]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows in the order of their ids."""
    found: list[dict[str, Any]] = table.scan().to_arrow().sort_by("id").to_pylist()
    return found


def made(folder: Path, **arguments: Any) -> Any:
    return frazil.create_table(folder / "t", SCHEMA, **arguments)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("partition_by", [[], ["day(ts)"], ["bucket(3, id)", "truncate(1, name)"], ["name"]])
def test_appended_rows_round_trip(tmp_path: Path, version: int, partition_by: list[str]) -> None:
    table = made(tmp_path, format_version=version, partition_by=partition_by)
    expected = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    result = table.append(expected)
    assert (result.added_records, result.attempts) == (3, 1)
    assert table.append(ROWS[:1]).added_records == 1
    for read in (table, frazil.load_table(tmp_path / "t"), table.refresh()):
        assert str(rows_of(read)) == str(pa.concat_tables([expected, expected[:1]]).sort_by("id").to_pylist())
        assert read.scan("id = 2").count() == 1
    assert table.snapshots()[-1].snapshot_id == table.current_snapshot().snapshot_id


@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_reads_the_same_rows(tmp_path: Path, version: int) -> None:
    static = pytest.importorskip("pyiceberg.table").StaticTable
    table = made(tmp_path, format_version=version, partition_by=["bucket(3, id)", "day(ts)"])
    table.append(ROWS)
    table.append(ROWS)
    theirs = static.from_metadata(table.metadata_location)
    assert str(theirs.scan().to_arrow().sort_by("id").to_pylist()) == str(rows_of(table))
    assert theirs.scan("id == 3").to_arrow().num_rows == 2
    assert theirs.current_snapshot().summary["total-records"] == "6"


def test_every_kind_of_arrow_is_taken(tmp_path: Path) -> None:
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
    data = {"id": [1, 2], "s": ["a", None]}
    arrow = pa.table(data)
    kinds = [arrow, arrow.to_batches()[0], arrow.to_reader(), pandas.DataFrame(data), polars.DataFrame(data)]
    for kind in [*kinds, duckdb.sql("select 1::bigint as id, 'a' as s union all select 2, null")]:
        before = table.scan().count()
        table.append(kind)
        assert table.scan().count() == before + 2
    assert table.scan("s is null").count() == len(kinds) + 1


def test_an_iterator_gives_rows_part_by_part(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
    parts = [
        pa.record_batch({"id": [1]}),
        [{"id": 2, "s": "b"}, {"s": "c"}],
        pa.table({"id": pa.array([3], pa.int32())}),
    ]
    assert table.append(iter(parts)).added_records == 4
    assert table.overwrite((part for part in parts[:2]), "id = 3").inserted_rows == 3
    assert table.upsert(iter([[{"id": 1, "s": "new"}]]), ["id"]).updated_rows == 2
    assert sorted(table.scan("s = 'new'").to_arrow()["id"].to_pylist()) == [1, 1]
    assert table.upsert(iter([]), ["id"]).updated_rows == 0
    for wrong in (iter([{"id": 4}]), iter("ab")):
        with pytest.raises(InvalidArgumentError):
            table.merge(wrong, ["id"]).when_matched_delete().execute()
    with pytest.raises(InvalidArgumentError, match="not dict"):
        table.append(iter([{"id": 4}]))
    assert table.append(iter([])).snapshot_id is None
    assert table.scan().count() == 6


def test_a_long_file_is_followed_by_another(tmp_path: Path) -> None:
    properties = {"write.target-file-size-bytes": "100000", "write.parquet.row-group-size-bytes": "50000"}
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    batches = pa.table({"id": pa.array(range(100_000))}).to_batches(max_chunksize=5_000)
    result = table.append(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert result.added_files > 1
    files = sorted((tmp_path / "t" / "data").glob("*.parquet"))
    assert (len(files), sum(file.stat().st_size for file in files)) == (result.added_files, result.added_bytes)
    assert table.scan().count() == 100_000
    assert table.scan("id >= 99999").count() == 1


def test_files_hold_field_ids_and_the_codec_of_the_table(tmp_path: Path) -> None:
    made(tmp_path, properties={"write.parquet.compression-codec": "snappy"}).append(ROWS)
    file = pq.ParquetFile(next((tmp_path / "t" / "data").glob("*.parquet")))
    assert file.metadata.row_group(0).column(0).compression == "SNAPPY"
    ids = [field.metadata[b"PARQUET:field_id"] for field in file.schema_arrow]
    assert ids == [b"%d" % n for n in range(1, 8)]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"id": 1, "nope": 2}], "no column `nope`"),
        ([{"name": "a"}], "`id` is required, but NULL in row 0"),
        (pa.table({"id": pa.array([1, None, 3], pa.int64())}), "`id` is required, but NULL in row 1"),
        (pa.table({"id": ["1"]}), "`id` has the type string"),
        ([{"id": "x"}], "does not fit"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["id", "id"]), "two columns have the same name `id`"),
        (17, "rows must be Arrow"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_leave_nothing(tmp_path: Path, rows: Any, words: str) -> None:
    table = made(tmp_path)
    with pytest.raises(InvalidArgumentError, match=words):
        table.append(rows)
    assert table.current_snapshot() is None
    assert not list((tmp_path / "t").rglob("*.parquet"))


def test_failure_amid_the_rows_deletes_the_written_files(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))

    def batches() -> Any:
        yield pa.record_batch({"id": pa.array(range(10))})
        message = "the source is gone"
        raise RuntimeError(message)

    with pytest.raises(Exception, match="the source is gone"):
        table.append(pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches()))
    assert table.current_snapshot() is None
    assert not list((tmp_path / "t").rglob("*.parquet"))


def test_empty_append_does_not_commit(tmp_path: Path) -> None:
    table = made(tmp_path)
    result = table.append(pa.Table.from_pylist([], schema=SCHEMA))
    assert (result.snapshot_id, result.added_files) == (None, 0)
    assert table.metadata_location.endswith("v1.metadata.json")


def test_stale_handle_appends_to_the_latest_state(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    behind = frazil.load_table(tmp_path / "t")
    table.append([{"id": 1}])
    table.append([{"id": 2}])
    result = behind.append([{"id": 3}])
    assert result.attempts == 2
    assert rows_of(behind) == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_invalid_tables_and_appends_are_rejected(tmp_path: Path) -> None:
    table = made(tmp_path)
    with pytest.raises(AlreadyExistsError):
        made(tmp_path)
    with pytest.raises(NoSuchSnapshotError):
        table.append(ROWS, branch="dev")
    with pytest.raises(InvalidArgumentError, match="`weekly"):
        frazil.create_table(tmp_path / "u", SCHEMA, partition_by=["weekly(ts)"])
    with pytest.raises(InvalidArgumentError, match="column: d"):
        frazil.create_table(tmp_path / "u", pa.schema([("d", pa.duration("s"))]))
    with pytest.raises(UnsupportedError, match="timestamp_ns"):
        frazil.create_table(tmp_path / "u", pa.schema([("t", pa.timestamp("ns"))]))
    assert not (tmp_path / "u").exists()


def test_a_table_in_a_relative_folder_is_found_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = frazil.create_table("wh/t/", SCHEMA)
    table.append(ROWS)
    assert table.location == f"{tmp_path}/wh/t"
    monkeypatch.chdir("/")
    assert table.append(ROWS).added_records == len(ROWS)
    static = pytest.importorskip("pyiceberg.table").StaticTable
    assert static.from_metadata(table.metadata_location).scan().to_arrow().num_rows == 2 * len(ROWS)
    for nowhere in ("", "/"):
        with pytest.raises(InvalidArgumentError, match="the location of the table is empty"):
            frazil.create_table(nowhere, SCHEMA)


def test_properties_are_strings_or_convertible_scalars(tmp_path: Path) -> None:
    table = made(tmp_path, properties={"commit.retry.num-retries": 7, "write.object-storage.enabled": False})
    assert table.properties == {"commit.retry.num-retries": "7", "write.object-storage.enabled": "false"}
    table.append(ROWS, snapshot_properties={"batch": 7})
    assert table.current_snapshot().summary["batch"] == "7"
    with pytest.raises(InvalidArgumentError, match="the property 'a' must be a string, not list"):
        frazil.create_table(tmp_path / "u", SCHEMA, properties={"a": ["b"]})
    with pytest.raises(InvalidArgumentError, match="the property 'a' must be a string, not NoneType"):
        table.append(ROWS, snapshot_properties={"a": None})
    assert table.scan().count() == len(ROWS)


def test_metadata_is_compressed_as_the_table_says(tmp_path: Path) -> None:
    table = made(tmp_path, properties={"write.metadata.compression-codec": "gzip"})
    table.append(ROWS)
    table.append(ROWS)
    names = sorted(file.name for file in (tmp_path / "t" / "metadata").glob("*.json"))
    assert names == ["v1.metadata.json", "v2.gz.metadata.json", "v3.gz.metadata.json"]
    assert frazil.load_table(tmp_path / "t").scan().count() == 6


def test_object_storage_layout_spreads_files_by_a_hash(tmp_path: Path) -> None:
    made(tmp_path, partition_by=["name"], properties={"write.object-storage.enabled": "true"}).append(ROWS)
    files = [file.relative_to(tmp_path / "t" / "data").parts for file in (tmp_path / "t").rglob("*.parquet")]
    assert all([len(part) for part in parts[:4]] == [4, 4, 4, 8] for parts in files)
    assert sorted(parts[4] for parts in files) == ["name=%C3%A9", "name=a", "name=null"]


APPENDS = """
import sys
import frazil
from frazil.errors import CommitConflictError
folder, writer = sys.argv[1], int(sys.argv[2])
table = frazil.load_table(folder)
for i in range(8):
    while True:
        try:
            table.append([{"id": writer * 100 + i}])
            break
        except CommitConflictError:
            pass
"""


def test_processes_that_append_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    properties = {"commit.retry.min-wait-ms": "5"}
    frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    command = [sys.executable, "-c", APPENDS, str(tmp_path / "t")]
    writers = [subprocess.Popen([*command, str(writer)]) for writer in range(6)]  # noqa: S603 - our own text
    assert [writer.wait(timeout=300) for writer in writers] == [0] * 6
    table = frazil.load_table(tmp_path / "t")
    ids = [row["id"] for row in rows_of(table)]
    assert ids == sorted(writer * 100 + i for writer in range(6) for i in range(8))
    assert [s.sequence_number for s in table.snapshots()] == list(range(1, 49))
    parents = [snapshot.parent_snapshot_id for snapshot in table.snapshots()]
    assert parents == [None, *(snapshot.snapshot_id for snapshot in table.snapshots()[:-1])]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("write.delete.mode", "mor"),
        ("commit.retry.num-retries", "often"),
        ("write.metadata.metrics.default", "some"),
        ("write.metadata.metrics.column.nobody", "full"),
    ],
)
def test_a_table_is_not_made_with_a_property_that_no_write_would_take(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError):
        frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties={key: value})
    assert not list(tmp_path.rglob("*.json"))
