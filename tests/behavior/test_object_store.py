"""Tests of tables and warehouses in an object store, read by `s3://` from a server on this machine."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
import frazil.paimon
from frazil import _native, errors
from frazil.files.read import parquet
from frazil.files.read.open import open_data_file
from frazil.files.read.remote import RemoteFile
from support.cases import GOLDEN
from support.object_store import ACCESS_KEY, SECRET_KEY, ObjectStore, object_store

if TYPE_CHECKING:
    from collections.abc import Iterator

ICEBERG = GOLDEN / "iceberg"
PAIMON = GOLDEN / "paimon_catalogs" / "jdbc" / "wh"
READS = json.loads((GOLDEN / "paimon_catalogs" / "catalog_jdbc.json").read_text())["reads"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """Start a store with the buckets `iceberg` (with a warehouse `wh`), `paimon` (which is a warehouse) and `plain`."""
    root = tmp_path_factory.mktemp("buckets")
    for name, golden in (
        ("wh/sales/orders", "del_pos_file_parquet_part"),
        ("wh/sales/eu/orders", "inc_mor"),
        ("wh/sales/eu/odd name ü%2F+", "hadoop_gz_no_hint"),
        ("wh/top", "empty_table"),
        ("vectors", "dv_spark_parquet_part"),
        ("mixed", "fmt_mixed"),
        ("keys", "del_eq_sequence"),
    ):
        shutil.copytree(ICEBERG / golden, root / "iceberg" / name)
    for name in ("a", "b", "c", "d", "e"):
        (root / "iceberg" / "wh" / "many" / name / "data").mkdir(parents=True)
        (root / "iceberg" / "wh" / "many" / name / "data" / "x").touch()
    shutil.copytree(PAIMON, root / "paimon")
    plain = root / "plain"
    for day, rows in (("2024-01-01", "1,a\n2,b\n"), ("2024-01-02", "3,c\n")):
        (plain / "csv" / f"day={day}").mkdir(parents=True)
        (plain / "csv" / f"day={day}" / "data 1.csv").write_text(rows)
    (plain / "parquet").mkdir()
    pq.write_table(pa.table({"x": range(5)}), plain / "parquet" / "one.parquet")
    with object_store(root) as server:
        server.markers |= {"iceberg/wh/", "iceberg/wh/empty/", "plain/csv/", "plain/csv/day=2024-01-01/"}
        yield server


def text_of(error: BaseException) -> str:
    context = str(getattr(error, "context", "")) + str(getattr(error, "hint", ""))
    return str(error) + repr(error) + context + "".join(traceback.format_exception(error))


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize(
    ("place", "golden"),
    [
        ("wh/sales/orders", "del_pos_file_parquet_part"),
        ("vectors", "dv_spark_parquet_part"),
        ("mixed", "fmt_mixed"),
        ("wh/sales/eu/odd name ü%2F+", "hadoop_gz_no_hint"),
    ],
)
def test_an_iceberg_table_is_the_same_as_on_this_machine(
    store: ObjectStore, scheme: str, place: str, golden: str
) -> None:
    table = frazil.load_table(f"{scheme}://iceberg/{place}", storage=store.properties)
    local = frazil.load_table(str(ICEBERG / golden))
    # Compared as text, because NaN is not equal to itself.
    assert str(table.scan().to_arrow().to_pylist()) == str(local.scan().to_arrow().to_pylist())
    assert table.scan().count() == local.scan().count()
    tasks = pickle.loads(pickle.dumps(list(table.scan().plan_files())))  # noqa: S301 - made here
    assert len(tasks) == len(list(local.scan().plan_files()))


def test_single_files_of_a_table(store: ObjectStore) -> None:
    table = frazil.load_table("s3://iceberg/vectors", storage=store.properties)
    assert table.io.properties == store.properties
    written = table.io.new_output("s3://iceberg/vectors/metadata/new.bin")
    assert not written.exists()
    with written.create() as stream:
        stream.write(b"abc")
    with written.to_input_file().open() as content:
        assert content.read() == b"abc"
    with pytest.raises(errors.AlreadyExistsError):
        written.create()
    with pytest.raises(errors.PathNotAllowedError):
        table.io.new_input("s3://plain/csv/day=2024-01-01/data 1.csv").exists()


def test_a_plan_asks_for_each_manifest_once(store: ObjectStore) -> None:
    """The key columns of equality deletes are known only from decoded manifests."""
    table = frazil.load_table("s3://iceberg/keys", storage=store.properties)
    store.requests.clear()
    tasks = list(table.scan().plan_files())
    assert any(task.delete_files for task in tasks)
    asked = [request for request in store.requests if request.startswith("GET") and request.endswith(".avro")]
    assert len(asked) == len(set(asked)) > 3


def test_an_iceberg_warehouse_is_listed(store: ObjectStore) -> None:
    for warehouse in ("s3://iceberg/wh", "s3://iceberg/wh/", "s3a://iceberg/wh"):
        catalog: Any = frazil.load_catalog("far", warehouse=warehouse, **store.properties)
        assert catalog.list_namespaces() == [("empty",), ("many",), ("sales",)]
        assert catalog.list_namespaces("many") == [("many", name) for name in "abcde"]
        assert catalog.list_namespaces("sales") == [("sales", "eu")]
        assert catalog.list_tables(()) == [("top",)]
        assert catalog.list_tables("sales.eu") == [("sales", "eu", "odd name ü%2F+"), ("sales", "eu", "orders")]
        assert catalog.list_tables("empty") == catalog.list_tables("many") == []
        names = ((), "sales", "empty", "top", "no")
        assert [catalog.namespace_exists(name) for name in names] == [True, True, True, False, False]
        assert [catalog.table_exists(name) for name in ("top", "sales.orders", "sales.no")] == [True, True, False]
        with pytest.raises(errors.NoSuchNamespaceError):
            catalog.list_tables("no")
        with pytest.raises(errors.NoSuchTableError, match=r"no table 'sales\.no'"):
            catalog.load_table("sales.no")
        assert catalog.load_table("sales.orders").scan("id > 3").count() > 0


def test_a_bucket_may_be_the_warehouse(store: ObjectStore) -> None:
    catalog: Any = frazil.load_catalog("far", warehouse="s3://iceberg", **store.properties)
    assert catalog.list_namespaces() == [("wh",)]
    assert catalog.list_tables(()) == [("keys",), ("mixed",), ("vectors",)]


def test_a_paimon_warehouse_is_listed_and_read(store: ObjectStore) -> None:
    catalog: Any = frazil.load_catalog("far", type="paimon", warehouse="s3://paimon", **store.properties)
    assert catalog.list_namespaces() == [("d1",), ("d2",)]
    assert catalog.list_tables("d1") == [("d1", "t1"), ("d1", "t2")]
    assert [catalog.namespace_exists(name) for name in ("d1", "d3")] == [True, False]
    assert [catalog.table_exists(name) for name in ("d2.t3r", "d2.t3")] == [True, False]
    for name, expected in READS.items():
        table = catalog.load_table(name)
        assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["k"]) == expected["rows_inline"]
        location = f"s3a://paimon/{name.replace('.', '.db/')}"
        opened = frazil.load_table(location, storage=store.properties)
        assert opened.scan().count() == expected["rows"]
        assert len(table.snapshots()) == len(opened.snapshots()) > 0


def test_format_tables_are_read(store: ObjectStore) -> None:
    schema = [("id", "INT"), ("s", "STRING"), ("day", "DATE")]
    options = {"partition_keys": ["day"], "storage": store.properties}
    table = frazil.paimon.format_table("s3://plain/csv", schema=schema, **options)
    rows = table.scan("day > date '2024-01-01' or id = 2").to_arrow().to_pylist()
    assert [(row["id"], row["s"], str(row["day"])) for row in rows] == [
        (2, "b", "2024-01-02"[:-1] + "1"),
        (3, "c", "2024-01-02"),
    ]
    parquet = frazil.paimon.format_table("s3://plain/parquet/", schema=[("x", "BIGINT")], storage=store.properties)
    assert parquet.scan("x > 1").count() == 3
    nothing = frazil.paimon.format_table("s3://plain/none", schema=schema, **options)
    with pytest.raises(errors.NoSuchTableError, match="is not a folder"):
        nothing.scan().to_arrow()


def test_format_tables_are_overwritten(store: ObjectStore) -> None:
    schema, options = [("id", "INT"), ("day", "STRING")], {"partition_keys": ["day"], "storage": store.properties}
    table = frazil.paimon.format_table("s3://plain/written", schema=schema, **options)
    table.overwrite([{"id": 1, "day": "a"}, {"id": 2, "day": "b"}])
    result = table.dynamic_partition_overwrite([{"id": 3, "day": "a"}])
    assert (result.added_files, result.removed_files) == (1, 1)
    table.append([{"id": 4, "day": "b"}])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4]
    assert table.overwrite([{"id": 5, "day": "c"}]).removed_files == 3
    assert table.scan().to_arrow()["id"].to_pylist() == [5]


def test_object_tables_are_read(store: ObjectStore) -> None:
    rows = frazil.paimon.object_table("s3://plain/csv", storage=store.properties).scan().to_arrow().to_pylist()
    assert [(row["path"], row["name"], row["length"]) for row in rows] == [
        ("day=2024-01-01/data 1.csv", "data 1.csv", 8),
        ("day=2024-01-02/data 1.csv", "data 1.csv", 4),
    ]
    assert {row["mtime"] for row in rows} == {1_893_553_445_678}


def test_failures_are_typed_and_hold_no_secret(store: ObjectStore) -> None:
    location = "s3://iceberg/wh/sales/orders"
    with pytest.raises(errors.NoSuchTableError) as caught:
        frazil.load_table("s3://iceberg/none", storage=store.properties)
    texts = [text_of(caught.value)]
    wrong = store.properties | {"s3.access-key-id": "AKIACANARYWRONG"}
    calls: list[Any] = [
        lambda: frazil.load_table(location, storage=wrong),
        lambda: frazil.load_catalog("far", warehouse="s3://iceberg/wh", **wrong).list_namespaces(),
        lambda: frazil.load_catalog("far", type="paimon", warehouse="s3://paimon", **wrong).list_tables("d1"),
        lambda: frazil.paimon.object_table("s3://plain/csv", storage=wrong).scan().to_arrow(),
    ]
    for call in calls:
        with pytest.raises(errors.FrazilError) as refused:
            call()
        assert type(refused.value) in {errors.ForbiddenError, errors.NoSuchTableError}, refused.value
        texts.append(text_of(refused.value))
    catalog = frazil.load_catalog("far", warehouse="s3://iceberg/wh", **store.properties)
    texts += [repr(catalog), repr(catalog.properties), repr(catalog.load_table("top"))]
    folder = store.root / "iceberg" / "broken"
    shutil.copytree(ICEBERG / "del_pos_file_parquet_part", folder)
    for file in (folder / "data").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(errors.MissingFileError) as missing:
        frazil.load_table("s3://iceberg/broken", storage=store.properties).scan().to_arrow()
    texts.append(text_of(missing.value))
    assert not [text for text in texts if "CANARY" in text or SECRET_KEY in text or ACCESS_KEY in text]


def test_a_remote_parquet_file_is_asked_for_in_parts(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 8 * 65_536
    content = pa.table({"x": range(rows)})
    path = store.root / "plain" / "groups.parquet"
    pq.write_table(content, path, row_group_size=65_536, compression="none", use_dictionary=False)
    read: list[int] = []
    whole = RemoteFile.read

    def counted(remote: Any, size: int = -1) -> bytes:
        found = whole(remote, size)
        read.append(len(found))
        return found

    monkeypatch.setattr(RemoteFile, "read", counted)
    files = _native.Files("s3://plain", [], [], store.properties)
    for ahead, parts in ((1 << 20, 4), (64 << 20, 1)):
        monkeypatch.setattr(parquet, "AHEAD_BYTES", ahead + (1 << 16))
        read.clear()
        with open_data_file(files, "s3://plain/groups.parquet", "PARQUET", int96_unit="us") as opened:
            batches = opened.batches(([0], [0]), None)
            first = next(batches)
            asked = sum(read)
            rest = list(batches)
        assert asked == pytest.approx(path.stat().st_size / parts, rel=0.1)
        assert [position for position, _, _ in (first, *rest)] == [65_536 * 2 * at for at in range(4)]
        assert (
            pa.table({"x": pa.concat_arrays([batch.column(0) for _, batch, _ in (first, *rest) if batch])}) == content
        )


READ = """
import sys, frazil
print(frazil.load_table(sys.argv[1]).scan().count())
"""


def test_an_endpoint_of_the_environment_may_be_plain_http(store: ObjectStore) -> None:
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": store.properties["s3.endpoint"],
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }
    command = [sys.executable, "-c", READ, "s3://iceberg/wh/sales/orders"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our text
    assert run.stdout.strip() == str(frazil.load_table(ICEBERG / "del_pos_file_parquet_part").scan().count()), (
        run.stderr
    )
