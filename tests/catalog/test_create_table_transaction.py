"""Tests of transactions that create a table with its first rows."""

from __future__ import annotations

import gc
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import AlreadyExistsError, InvalidArgumentError, NoSuchTableError, UnsupportedError
from support.catalogs import KINDS, catalog_in

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.catalog import Catalog

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def rows(*ids: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": str(number)} for number in ids]


@pytest.fixture(params=KINDS)
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog[Any]:
    return catalog_in(tmp_path / "root", request.param)


def left(tmp_path: Path) -> set[str]:
    """Return the files and folders below the warehouse."""
    root = tmp_path / "root"
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.name.startswith("catalog.db")}


def test_the_table_appears_with_its_rows_at_the_commit(catalog: Catalog[Any]) -> None:
    with catalog.create_table_transaction(
        "ns.t", SCHEMA, partition_by=["bucket(2, id)"], properties={"owner": "me"}, format_version=3
    ) as changes:
        result = changes.append(rows(1, 2))
        changes.append(rows(3))
        changes.delete("id = 2")
        changes.update_schema().add_column("more", "int").commit()
        assert changes.table().scan().count() == 2
        assert not catalog.table_exists("ns.t")
        assert catalog.list_tables("ns") == []
        with pytest.raises(NoSuchTableError):
            catalog.load_table("ns.t")
    assert result.added_records == 2
    table = catalog.load_table("ns.t")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 3]
    assert table.schema().as_arrow().names == ["id", "name", "more"]
    assert (table.properties["owner"], table.format_version, len(table.snapshots())) == ("me", 3, 3)
    assert table.inspect.metadata_log_entries().num_rows == 1


def test_the_committed_table_can_be_used_at_once(catalog: Catalog[Any]) -> None:
    changes = catalog.create_table_transaction("ns.t", SCHEMA)
    changes.append(rows(1))
    table = changes.commit_transaction()
    assert table.name() == ("ns", "t")
    table.append(rows(2))
    assert changes.commit_transaction().scan().count() == 2, "committed once"
    assert table.refresh().scan().count() == catalog.load_table("ns.t").scan().count() == 2
    assert pickle.loads(pickle.dumps(table)).scan().count() == 2  # noqa: S301 - own data


def test_a_table_without_rows_is_created_too(catalog: Catalog[Any]) -> None:
    with catalog.create_table_transaction("ns.t", SCHEMA):
        pass
    assert catalog.load_table("ns.t").scan().count() == 0


def test_a_failed_block_leaves_no_table_and_no_file(catalog: Catalog[Any], tmp_path: Path) -> None:
    before = left(tmp_path)

    def fail() -> None:
        with catalog.create_table_transaction("ns.t", SCHEMA) as changes:
            changes.append(rows(1, 2))
            changes.overwrite(rows(3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert left(tmp_path) == before
    assert not catalog.table_exists("ns.t")
    catalog.create_table("ns.t", SCHEMA).append(rows(1))
    assert catalog.load_table("ns.t").scan().count() == 1


def test_a_failed_change_leaves_the_others(catalog: Catalog[Any]) -> None:
    with catalog.create_table_transaction("ns.t", SCHEMA) as changes:
        changes.append(rows(1))
        with pytest.raises(InvalidArgumentError):
            changes.append([{"id": "a"}])
    assert catalog.load_table("ns.t").scan().count() == 1


def test_an_aborted_transaction_leaves_nothing(catalog: Catalog[Any], tmp_path: Path) -> None:
    before = left(tmp_path)
    changes = catalog.create_table_transaction("ns.t", SCHEMA)
    changes.append(rows(1))
    changes.abort()
    assert left(tmp_path) == before


def test_a_transaction_that_is_collected_warns(catalog: Catalog[Any]) -> None:
    def leave() -> None:
        catalog.create_table_transaction("ns.t", SCHEMA).append(rows(1))
        gc.collect()

    with pytest.warns(ResourceWarning, match="was not committed"):
        leave()
    assert not catalog.table_exists("ns.t")


def test_a_table_that_exists_is_refused_at_the_beginning(catalog: Catalog[Any]) -> None:
    catalog.create_table("ns.t", SCHEMA)
    with pytest.raises(AlreadyExistsError, match=r"already has a table 'ns\.t'"):
        catalog.create_table_transaction("ns.t", SCHEMA)


def test_the_second_creator_loses_at_its_commit(catalog: Catalog[Any], tmp_path: Path) -> None:
    late = catalog.create_table_transaction("ns.t", SCHEMA)
    late.append(rows(7))
    catalog.create_table("ns.t", SCHEMA).append(rows(1))
    data = {name for name in left(tmp_path) if name.endswith((".parquet", ".avro"))}
    with pytest.raises(AlreadyExistsError, match=r"already has a table 'ns\.t'"):
        late.commit_transaction()
    table = catalog.load_table("ns.t")
    assert table.scan().to_arrow()["id"].to_pylist() == [1]
    kept = {name for name in left(tmp_path) if name.endswith((".parquet", ".avro"))}
    assert kept < data
    assert len(kept) == 3, "a data file, a manifest and a manifest list"


@pytest.mark.parametrize("_", range(5))
def test_of_racing_creators_one_wins(catalog: Catalog[Any], _: int) -> None:
    begun, written = threading.Barrier(4, timeout=30), threading.Barrier(4, timeout=30)

    def create(number: int) -> int | None:
        begun.wait()
        try:
            changes = catalog.create_table_transaction("ns.t", SCHEMA)
            changes.append(rows(number))
        except BaseException:
            # Other transactions would wait for this one.
            written.abort()
            raise
        written.wait()
        try:
            changes.commit_transaction()
        except AlreadyExistsError:
            return None
        return number

    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(create, number) for number in range(4)]
    errors = [error for one in made if (error := one.exception()) and not isinstance(error, BrokenBarrierError)]
    assert errors == []
    winners = [number for one in made if (number := one.result()) is not None]
    assert catalog.load_table("ns.t").scan().to_arrow()["id"].to_pylist() == winners
    assert len(winners) == 1


def test_an_uncommitted_table_is_not_a_namespace(catalog: Catalog[Any], tmp_path: Path) -> None:
    before = left(tmp_path)
    changes = catalog.create_table_transaction("ns.t", SCHEMA)
    assert catalog.list_namespaces("ns") == []
    another = catalog.create_table_transaction("ns.t", SCHEMA)
    changes.append(rows(1))
    another.append(rows(2))
    assert catalog.list_namespaces("ns") == catalog.list_tables("ns") == []
    changes.abort()
    another.abort()
    assert left(tmp_path) == before


def test_invalid_tables_are_refused_at_the_beginning(catalog: Catalog[Any], tmp_path: Path) -> None:
    before = left(tmp_path)
    for arguments in ({"partition_by": ["missing"]}, {"format_version": 4}, {"sort_order": ["missing"]}):
        with pytest.raises(InvalidArgumentError):
            catalog.create_table_transaction("ns.t", SCHEMA, **arguments)
    assert left(tmp_path) == before


def test_data_outside_of_the_folder_is_allowed(catalog: Catalog[Any], tmp_path: Path) -> None:
    outside = {"write.data.path": f"{tmp_path}/outside"}
    with catalog.create_table_transaction("ns.t", SCHEMA, properties=outside) as changes:
        changes.append(rows(1))
        assert changes.table().scan().count() == 1
    assert catalog.load_table("ns.t").scan().count() == 1
    assert list((tmp_path / "outside").rglob("*.parquet"))


def test_paimon_catalogs_refuse(tmp_path: Path) -> None:
    (tmp_path / "p" / "db.db").mkdir(parents=True)
    paimon = frazil.load_catalog("p", type="paimon", warehouse=f"{tmp_path}/p")
    with pytest.raises(UnsupportedError):
        paimon.create_table_transaction("db.t", SCHEMA)
