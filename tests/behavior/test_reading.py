"""Tests of tables, scans and tasks that apply to all file formats."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest

import frazil
from frazil import errors
from frazil.files.read.open import open_data_file
from frazil.iceberg import FileScanTask
from frazil.iceberg import _read as reading
from support.cases import GOLDEN
from support.copies import Copy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.iceberg import Table

TABLES = [
    "del_pos_file_parquet_part",
    "del_pos_partition_orc_part",
    "del_eq_sequence",
    "dv_spark_avro_part",
    "edit_v1_inline_manifests",
    "empty_table",
    "pevo_v2_three_specs",
]


def golden(name: str) -> Table:
    return frazil.load_table(str(GOLDEN / "iceberg" / name))


@pytest.fixture(scope="module")
def table() -> Table:
    return golden("pevo_v2_three_specs")


def sort(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@pytest.mark.parametrize("name", TABLES)
def test_a_count_is_the_number_of_rows(name: str) -> None:
    table = golden(name)
    column = table.schema().column_names[0]
    for row_filter in (True, f"{column} is not null", f"{column} is null", "false"):
        scan = table.scan(row_filter)
        assert scan.count() == scan.to_arrow().num_rows


@pytest.mark.parametrize("name", TABLES)
def test_all_ways_to_read_give_the_same_rows(name: str) -> None:
    scan = golden(name).scan()
    rows = scan.to_arrow()
    assert rows.schema == scan.schema()
    assert sort(scan.to_arrow_batch_reader().read_all()) == sort(rows)
    assert sort(pa.table(scan)) == sort(rows)
    assert sum(task.to_arrow().num_rows for task in scan.plan_files()) == rows.num_rows
    assert len(scan.to_pandas()) == rows.num_rows
    assert scan.to_polars().shape == rows.shape
    assert pl.DataFrame(scan).shape == rows.shape
    found = scan.to_duckdb("rows").execute("select count(*) from rows").fetchone()
    assert found == (rows.num_rows,)


@pytest.mark.parametrize("name", TABLES)
def test_tasks_are_read_alone_and_elsewhere(name: str) -> None:
    scan = golden(name).scan()
    there = [sort(FileScanTask.from_bytes(task.to_bytes())[0].to_arrow()) for task in scan.plan_files()]
    pickled = [sort(pickle.loads(pickle.dumps(task)).to_arrow()) for task in scan.plan_files()]  # noqa: S301 - own bytes
    here = [sort(task.to_arrow()) for task in scan.plan_files()]
    assert there == here
    assert pickled == here


def test_a_pickled_table_reads_the_same_state(table: Table) -> None:
    again = pickle.loads(pickle.dumps(table))  # noqa: S301 - own bytes
    assert again.metadata_location == table.metadata_location
    assert sort(again.scan().to_arrow()) == sort(table.scan().to_arrow())


def test_a_plan_is_a_table_of_its_files(table: Table) -> None:
    plan = table.scan("id > 100").plan()
    assert pa.table(plan).num_rows == len(plan) == plan.metrics["tasks"]
    assert pl.DataFrame(plan).height == len(plan)
    assert plan.metrics["files"] > len(plan)
    assert f"{len(plan)} of" in plan.explain()


@pytest.mark.parametrize("opened", ["{}", "{}/", "file:{}", "file://{}"])
def test_a_table_is_opened_by_folder_or_uri(opened: str) -> None:
    root = GOLDEN / "iceberg" / "del_pos_overlap"
    assert frazil.load_table(opened.format(root)).scan().count() == 13


def test_a_table_is_opened_by_relative_path_and_by_path_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    for place in ("iceberg/del_pos_overlap", "./iceberg/del_pos_overlap", Path("iceberg/del_pos_overlap")):
        assert frazil.load_table(place).scan().count() == 13


def test_a_table_is_opened_by_any_of_its_metadata_files() -> None:
    files = sorted((GOLDEN / "iceberg" / "del_pos_overlap" / "metadata").glob("*.metadata.json"))
    counts = {frazil.load_table(str(file)).scan().count() for file in files}
    assert 13 in counts
    assert len(counts) > 1


def test_moved_table_is_read_in_place(tmp_path: Path) -> None:
    copy = Copy("del_pos_file_parquet_part", tmp_path)
    assert sort(copy.open().scan().to_arrow()) == sort(golden("del_pos_file_parquet_part").scan().to_arrow())
    # If metadata and data are in different places, the location of the data is specified.
    elsewhere = tmp_path / "elsewhere"
    (copy.root / "data").rename(elsewhere)
    relocated = copy.open(relocate={copy.location + "/data": str(elsewhere)})
    assert sort(relocated.scan().to_arrow()) == sort(golden("del_pos_file_parquet_part").scan().to_arrow())
    with pytest.raises(errors.MissingFileError):
        copy.open().scan().to_arrow()


def test_names_differ_by_case_only_where_asked_for(table: Table) -> None:
    scan = table.scan("ID > 200", ("CAT", "iD"), case_sensitive=False)
    assert scan.to_arrow().column_names == ["id", "cat"]
    assert scan.count() == table.scan("id > 200").count()
    with pytest.raises(errors.InvalidArgumentError):
        table.scan(selected_fields=("CAT",))


def test_columns_are_returned_in_table_order(table: Table) -> None:
    assert table.scan(selected_fields=("d", "id")).to_arrow().column_names == ["id", "d"]
    assert table.scan(selected_fields=()).to_arrow().num_rows == table.scan().count()


def test_a_moment_is_milliseconds_or_an_aware_datetime(table: Table) -> None:
    entry = table.history()[1]
    moment = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=entry.timestamp_ms)
    zone = dt.timezone(dt.timedelta(hours=-5))
    for as_of in (entry.timestamp_ms, moment, moment.astimezone(zone)):
        assert table.scan(as_of=as_of).snapshot_id == entry.snapshot_id
    earlier = table.history()[0].snapshot_id
    assert table.scan(as_of=entry.timestamp_ms - 1).snapshot_id == earlier


@pytest.mark.parametrize("limit", [0, 1, 7, 10**9])
def test_a_limit_limits(table: Table, limit: int) -> None:
    everything = table.scan().count()
    assert table.scan(limit=limit).to_arrow().num_rows == min(limit, everything)
    assert table.scan(limit=limit).count() == min(limit, everything)


def test_a_limit_stops_reading_early(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    original = open_data_file

    def counting(files: Any, path: str, file_format: str, **options: Any) -> Any:
        opened.append(path)
        return original(files, path, file_format, **options)

    monkeypatch.setattr(reading, "open_data_file", counting)
    assert table.scan(limit=1).to_arrow().num_rows == 1
    few = len(opened)
    table.scan().to_arrow()
    assert few <= 2 * frazil.config.max_workers + 1 < len(opened) - few


def test_threads_share_a_table(table: Table) -> None:
    expected = sort(table.scan().to_arrow())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = pool.map(lambda _: sort(table.scan().to_arrow()), range(16))
        assert all(result == expected for result in results)


def test_one_worker_reads_the_same_rows(table: Table, one_worker: None) -> None:
    del one_worker
    expected = sort(table.scan().to_arrow())
    frazil.config.max_workers = 4
    assert sort(table.scan().to_arrow()) == expected


def test_a_reader_that_is_given_up_leaves_no_threads(table: Table) -> None:
    for _ in range(20):
        reader = table.scan().to_arrow_batch_reader()
        reader.read_next_batch()
        del reader
    tasks = len(os.listdir("/proc/self/task")) if Path("/proc/self/task").is_dir() else 0  # noqa: PTH208 - a count
    assert tasks < 200


def test_reprs_describe_their_objects(table: Table) -> None:
    scan = table.scan("id > 100")
    task = next(scan.plan_files())
    assert "pevo_v2_three_specs" in repr(table)
    assert "amount" in repr(table)
    assert "id > 100" in repr(scan)
    assert str(scan.snapshot_id) in repr(scan)
    assert task.file.file_path in repr(task)
    assert "files" in repr(scan.plan())


def test_tables_describe_themselves(table: Table) -> None:
    assert table.format_version == 2
    assert table.location == "/golden/iceberg/pevo_v2_three_specs"
    assert table.schema().column_names[:2] == ["id", "cat"]
    assert len(table.specs()) > 1
    assert table.spec().fields
    assert table.sort_order().order_id == 0
    assert table.snapshots()[-1] == table.current_snapshot()
    assert table.refs()["main"].snapshot_id == table.scan().snapshot_id
    assert isinstance(table.properties, dict)


@pytest.fixture
def one_worker() -> Iterator[None]:
    before = frazil.config.max_workers
    frazil.config.max_workers = 1
    yield
    frazil.config.max_workers = before


@pytest.fixture
def memory_limit() -> Iterator[int]:
    before = frazil.config.memory_limit
    yield before
    frazil.config.memory_limit = before


@pytest.mark.usefixtures("memory_limit")
def test_memory_has_a_limit(table: Table) -> None:
    frazil.config.memory_limit = 1000
    with pytest.raises(errors.LimitExceededError, match="memory"):
        table.scan().to_arrow()


DELETES = ["del_pos_file_parquet_part", "del_pos_partition_orc_part", "del_eq_sequence", "dv_spark_avro_part"]


@pytest.mark.parametrize("name", DELETES)
def test_decoded_deletes_count_within_the_limit_of_memory(name: str, memory_limit: int) -> None:
    table = golden(name)
    frazil.config.memory_limit = 10
    scan = table.scan()
    frazil.config.memory_limit = memory_limit
    tasks = [task.to_bytes() for task in scan.plan_files()]
    with pytest.raises(errors.LimitExceededError, match="memory_limit") as refused:
        scan.to_arrow()
    assert "file" in refused.value.context
    frazil.config.memory_limit = 10
    elsewhere = [task for content in tasks for task in FileScanTask.from_bytes(content)]
    with pytest.raises(errors.LimitExceededError, match="memory_limit"):
        [task.to_arrow() for task in elsewhere]
    frazil.config.memory_limit = memory_limit
    assert table.scan().to_arrow().num_rows == table.scan().count()
