"""Tests of transactions that replace the definition and the rows of a table."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitConflictError, FrazilError, InvalidArgumentError, NoSuchTableError, UnsupportedError
from support.catalogs import KINDS, catalog_in

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.catalog import Catalog

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("s", pa.struct([("x", pa.int32())]))])
OTHER = pa.schema([("s", pa.struct([("y", pa.int32()), ("x", pa.string())])), ("id", pa.string()), ("new", pa.int32())])


@pytest.fixture(params=KINDS)
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog[Any]:
    made = catalog_in(tmp_path / "root", request.param)
    table = made.create_table("ns.t", SCHEMA, partition_by=["bucket(2, id)"], properties={"a": "1", "b": "2"})
    table.append([{"id": 1, "name": "a", "s": {"x": 1}}, {"id": 2, "name": "b", "s": None}])
    table.manage_snapshots().create_tag(table.snapshots()[0].snapshot_id, "v1").commit()
    return made


def files(tmp_path: Path) -> set[Path]:
    return {
        path for path in (tmp_path / "root").rglob("*") if path.is_file() and not path.name.startswith("catalog.db")
    }


def test_replacement_definition_and_rows_commit_atomically(catalog: Catalog[Any]) -> None:
    before = catalog.load_table("ns.t")
    with catalog.replace_table_transaction(
        "ns.t", OTHER, partition_by=["new"], sort_order=["id"], properties={"b": "3"}, format_version=3
    ) as changes:
        assert changes.table().scan().count() == 0
        changes.append([{"id": "x", "new": 7, "s": {"y": 1, "x": "z"}}])
        assert catalog.load_table("ns.t").scan().count() == 2
        assert pickle.loads(pickle.dumps(changes.table())).scan().to_arrow().num_rows == 1  # noqa: S301 - own data
    table = catalog.load_table("ns.t")
    assert table.scan().to_arrow().to_pylist() == [{"s": {"y": 1, "x": "z"}, "id": "x", "new": 7}]
    assert table.uuid == before.uuid
    assert (table.properties["a"], table.properties["b"], table.format_version) == ("1", "3", 3)
    assert [field.name for field in table.spec().fields] == ["new"]
    assert len(table.sort_order().fields) == 1
    assert {name: table.schema().find_field(name).field_id for name in ("id", "s", "s.x", "s.y", "new")} == {
        "id": 1,
        "s": 3,
        "s.x": 4,
        "s.y": 6,
        "new": 5,
    }
    assert [snapshot.parent_snapshot_id for snapshot in table.snapshots()] == [None, None]
    assert table.scan(ref="v1").to_arrow().column_names == ["id", "name", "s"]
    assert table.scan(ref="v1").count() == 2
    table.append([{"id": "y", "new": 8, "s": None}])
    assert table.scan().count() == 2


def test_a_transaction_that_fails_changes_nothing(catalog: Catalog[Any], tmp_path: Path) -> None:
    before = files(tmp_path)

    def fail() -> None:
        with catalog.replace_table_transaction("ns.t", OTHER) as changes:
            changes.append([{"id": "x", "new": 7, "s": None}])
            changes.append([{"nope": 1}])

    with pytest.raises(InvalidArgumentError, match="no column `nope`"):
        fail()
    assert files(tmp_path) == before
    for arguments in ({"partition_by": ["nope"]}, {"format_version": 1}, {"format_version": 4}):
        with pytest.raises(FrazilError):
            catalog.replace_table_transaction("ns.t", OTHER, **arguments)
    with pytest.raises(NoSuchTableError):
        catalog.replace_table_transaction("ns.other", OTHER)
    assert files(tmp_path) == before


def test_rows_that_others_appended_since_are_replaced_too(catalog: Catalog[Any]) -> None:
    changes = catalog.replace_table_transaction("ns.t", OTHER)
    changes.append([{"id": "x", "new": 7, "s": None}])
    catalog.load_table("ns.t").append([{"id": 3, "name": "c", "s": None}])
    changes.commit_transaction()
    table = catalog.load_table("ns.t")
    assert table.scan().to_arrow()["id"].to_pylist() == ["x"]
    assert len(table.snapshots()) == 3


def test_columns_that_others_added_since_are_a_conflict(catalog: Catalog[Any], tmp_path: Path) -> None:
    changes = catalog.replace_table_transaction("ns.t", OTHER)
    changes.append([{"id": "x", "new": 7, "s": None}])
    catalog.load_table("ns.t").update_schema().add_column("more", "int").commit()
    before = files(tmp_path)
    with pytest.raises(CommitConflictError, match="another writer changed the schema"):
        changes.commit_transaction()
    assert files(tmp_path) < before, "the files of the transaction are deleted"
    assert catalog.load_table("ns.t").scan().count() == 2


def test_a_definition_without_rows_empties_the_table(catalog: Catalog[Any]) -> None:
    with catalog.replace_table_transaction("ns.t", SCHEMA):
        pass
    table = catalog.load_table("ns.t")
    assert (table.scan().count(), table.current_snapshot(), len(table.snapshots())) == (0, None, 1)
    assert table.spec().fields == ()
    assert list(table.refs()) == ["v1"]


def test_files_may_be_elsewhere(catalog: Catalog[Any], tmp_path: Path) -> None:
    elsewhere = tmp_path / "root" / "elsewhere"
    with catalog.replace_table_transaction("ns.t", OTHER, properties={"write.data.path": str(elsewhere)}) as changes:
        changes.append([{"id": "x", "new": 7, "s": None}])
    assert len(list(elsewhere.rglob("*.parquet"))) == 1
    assert catalog.load_table("ns.t").scan().count() == 1


def test_paimon_tables_are_not_replaced(tmp_path: Path) -> None:
    catalog = frazil.load_catalog(type="paimon", warehouse=str(tmp_path / "p"))
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(UnsupportedError, match="replace tables"):
        catalog.replace_table_transaction("db.t", OTHER)
