"""Tests of the contract of every catalog that commits."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support import servers
from support.rest_server import RestServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.catalog import Catalog

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


def properties_of(kind: str, root: Path) -> dict[str, str]:
    """Return the properties of a new catalog in `root`."""
    if kind == "local":
        return {"type": kind, "path": f"{root}/lake"}
    if kind == "sql":
        return {"type": kind, "uri": f"sqlite:///{root}/catalog.db", "warehouse": f"{root}/warehouse"}
    if kind == "rest":
        return {"type": kind, "uri": RestServer(root / "warehouse").uri}
    (root / "warehouse").mkdir(exist_ok=True)
    return {"type": kind, "warehouse": f"{root}/warehouse"}


def new_catalog(request: pytest.FixtureRequest, root: Path) -> Catalog[Any]:
    """Return a catalog with the namespace `ns`, in a folder or in a server database."""
    if request.param in servers.KINDS:
        uri = request.getfixturevalue("servers").new_database(request.param)
        properties = {"type": "sql", "uri": uri, "warehouse": f"{root}/warehouse"}
    else:
        properties = properties_of(request.param, root)
    made = frazil.load_catalog("c", **properties)
    made.create_namespace("ns")
    return made


@pytest.fixture(params=["hadoop", "sql", "memory", "local", "rest", *servers.KINDS])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog[Any]:
    return new_catalog(request, tmp_path)


@pytest.fixture(params=["sql", "memory", "local", *servers.KINDS])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog[Any]:
    """Create a catalog that keeps a row for each table."""
    return new_catalog(request, tmp_path)


def files_below(root: Path) -> list[str]:
    found = (path for path in root.rglob("*") if path.is_file() and "catalog.db" not in path.name)
    return sorted(str(path.relative_to(root)) for path in found)


def test_a_table_is_made_and_grows(catalog: Catalog[Any]) -> None:
    table = catalog.create_table(
        "ns.t", SCHEMA, partition_by=["bucket(2, id)"], properties={"owner": "me"}, format_version=3
    )
    assert (table.name(), table.format_version, table.properties["owner"]) == (("ns", "t"), 3, "me")
    assert catalog.table_exists("ns.t")
    assert catalog.list_tables("ns") == [("ns", "t")]
    assert table.append(ROWS).added_records == 2
    assert table.append(ROWS).attempts == 1
    for read in (table, table.refresh(), catalog.load_table(("ns", "t"))):
        assert sorted(read.scan().to_arrow()["id"].to_pylist()) == [1, 1, 2, 2]
        assert len(read.snapshots()) == 2


def test_a_closed_catalog_and_its_tables_open_connections_again(catalog: Catalog[Any]) -> None:
    with catalog as entered:
        assert entered is catalog
        table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    assert catalog.load_table("ns.t").scan().count() == 2
    catalog.close()
    catalog.close()
    assert catalog.list_tables("ns") == [("ns", "t")]
    closed = []
    catalog.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError), catalog:
        _ = 1 / 0
    assert closed == [True]


def test_writes_from_an_old_handle_are_made_on_the_newest_state(catalog: Catalog[Any]) -> None:
    first = catalog.create_table("ns.t", SCHEMA)
    second = catalog.load_table("ns.t")
    first.append(ROWS)
    assert second.append(ROWS).attempts == 2
    assert first.append(ROWS).attempts == 2
    assert first.scan().count() == catalog.load_table("ns.t").scan().count() == 6


def test_every_change_goes_through_the_catalog(catalog: Catalog[Any]) -> None:
    table = catalog.create_table("ns.t", SCHEMA, format_version=3, properties={"write.delete.mode": "merge-on-read"})
    other = catalog.load_table("ns.t")
    with table.transaction() as changes:
        changes.append(ROWS)
        changes.append([{"id": 3, "name": "c"}])
    assert other.refresh().scan().count() == 3
    other.append([{"id": 4, "name": "d"}])
    assert table.delete("id in (1, 4)").deleted_rows >= 1
    table.delete("id = 4")
    other = other.refresh()
    other.overwrite([{"id": 5, "name": "e"}], "id = 2")
    assert sorted(catalog.load_table("ns.t").scan().to_arrow()["id"].to_pylist()) == [3, 5]
    plan = catalog.plan_purge("ns.t")
    assert plan.by_kind()["position-deletes"][0] >= 1
    catalog.purge_table("ns.t", plan)
    assert not catalog.table_exists("ns.t")


def test_a_name_is_given_once(catalog: Catalog[Any]) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    with pytest.raises(errors.AlreadyExistsError, match="already"):
        catalog.create_table("ns.t", SCHEMA)
    other = catalog.create_table_if_not_exists("ns.t", pa.schema([("other", pa.string())]))
    assert other.uuid == table.uuid
    assert catalog.create_table_if_not_exists("ns.u", SCHEMA).uuid != table.uuid
    with pytest.raises(errors.AlreadyExistsError, match="already has a namespace 'ns'"):
        catalog.create_namespace("ns")
    catalog.create_namespace_if_not_exists("ns")
    catalog.create_namespace_if_not_exists("ns2")
    assert catalog.list_namespaces() == [("ns",), ("ns2",)]


def test_of_tables_made_at_once_one_stays(catalog: Catalog[Any], tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    def make(_: int) -> str | None:
        barrier.wait()
        try:
            return str(catalog.create_table("ns.t", SCHEMA).uuid)
        except errors.AlreadyExistsError:
            return None

    with ThreadPoolExecutor(4) as pool:
        made = [uuid for uuid in pool.map(make, range(4)) if uuid]
    assert made == [catalog.load_table("ns.t").uuid]
    assert len([name for name in files_below(tmp_path) if name.endswith("metadata.json")]) == 1


def test_errors_name_the_missing_object(catalog: Catalog[Any]) -> None:
    missing: list[Callable[[], object]] = [
        lambda: catalog.load_table("ns.no"),
        lambda: catalog.drop_table("ns.no"),
        lambda: catalog.drop_table("no.no"),
        lambda: catalog.purge_table("ns.no"),
        lambda: catalog.plan_purge("ns.no"),
    ]
    for call in missing:
        with pytest.raises(errors.NoSuchTableError, match=r"'(ns|no)\.no'"):
            call()
    missing = [
        lambda: catalog.list_tables("no"),
        lambda: catalog.drop_namespace("no"),
        lambda: catalog.load_namespace_properties("no"),
    ]
    for call in missing:
        with pytest.raises(errors.NoSuchNamespaceError, match="'no'"):
            call()


def test_only_errors_of_creating_name_create_namespace(catalog: Catalog[Any]) -> None:
    for read in (catalog.load_table, catalog.drop_table, catalog.list_tables, catalog.list_namespaces):
        with pytest.raises(errors.FrazilError) as caught:
            read("no.t")
        assert "create_" not in str(caught.value)
    if catalog.type != "hadoop":
        with pytest.raises(errors.NoSuchNamespaceError, match=r"'no'.*create the namespace with create_namespace"):
            catalog.create_table("no.t", SCHEMA)


def test_a_table_without_a_namespace_is_listed_at_the_root(catalog: Catalog[Any]) -> None:
    if catalog.type == "rest":
        with pytest.raises(errors.InvalidArgumentError, match="must be in a namespace"):
            catalog.create_table("t", SCHEMA)
        assert catalog.list_tables() == []
        return
    catalog.create_table("t", SCHEMA).append(ROWS)
    catalog.create_table("ns.t", SCHEMA)
    assert catalog.list_tables() == catalog.list_tables(()) == [("t",)]
    assert catalog.list_namespaces() == [("ns",)]
    assert catalog.table_exists("t")
    assert catalog.load_table("t").scan().count() == 2
    catalog.purge_table("t")
    assert catalog.list_tables() == []


def test_a_metadata_table_exists_if_it_can_be_loaded(catalog: Catalog[Any]) -> None:
    other = "ns.u" if catalog.type == "rest" else "u"
    catalog.create_table("ns.t", SCHEMA)
    catalog.create_table(other, SCHEMA)
    found = {}
    for table in ("ns.t", "ns.none", other, "none"):
        for ending in (
            "$files",
            ".files",
            "$position_deletes",
            ".refs",
            "$file",
            ".file",
            "$FILES",
            ".FILES",
            "$",
            "$ro",
        ):
            name = table + ending
            found[name] = catalog.table_exists(name)
            try:
                catalog.load_table(name)
            except (errors.NoSuchTableError, errors.InvalidArgumentError):
                assert not found[name], name
            else:
                assert found[name], name
    kept = ("$files", ".files", "$position_deletes", ".refs")
    assert {name for name, exists in found.items() if exists} >= {
        t + ending for t in ("ns.t", other) for ending in kept
    }
    assert not any(exists for name, exists in found.items() if "none" in name)


@pytest.mark.parametrize("kind", ["hadoop", "local"])
def test_reading_a_folder_that_does_not_exist_fails(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "misspelt"
    catalog = frazil.load_catalog("c", type=kind, **{"path" if kind == "local" else "warehouse": str(folder)})
    read: list[Callable[[], object]] = [
        *([catalog.list_namespaces] if kind == "local" else []),
        catalog.list_tables,
        lambda: catalog.list_namespaces("ns"),
        lambda: catalog.list_tables("ns"),
        lambda: catalog.load_table("ns.t"),
        lambda: catalog.namespace_exists("ns"),
        lambda: catalog.load_namespace_properties("ns"),
        lambda: catalog.plan_purge("ns.t"),
        lambda: catalog.drop_namespace("ns"),
    ]
    for call in read:
        with pytest.raises(errors.MissingFileError, match=f"{folder}.*create_namespace or create_table") as caught:
            call()
        assert caught.value.context == {"catalog": "c", "file": str(folder)}
    assert not catalog.table_exists("ns.t")
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["hadoop", "paimon"])
def test_a_new_warehouse_has_no_namespaces(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    catalog = frazil.load_catalog("c", type=kind, warehouse=str(folder))
    assert catalog.list_namespaces() == catalog.list_namespaces(()) == []
    for call in (lambda: catalog.list_namespaces("ns"), lambda: catalog.load_table("ns.t")):
        with pytest.raises(errors.MissingFileError, match=f"{folder}.*does not exist"):
            call()
    assert not folder.exists()
    folder.touch()
    with pytest.raises(errors.MissingFileError, match="is not a folder"):
        catalog.list_namespaces()


@pytest.mark.parametrize("kind", ["hadoop", "local"])
@pytest.mark.parametrize("first", ["create_namespace", "create_namespace_if_not_exists", "create_table"])
def test_the_first_write_creates_the_folder(kind: str, first: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "lake"
    catalog = frazil.load_catalog("c", type=kind, **{"path" if kind == "local" else "warehouse": str(folder)})
    if first == "create_table":
        catalog.create_table_if_not_exists("t", SCHEMA)
        assert catalog.list_tables() == [("t",)]
    else:
        getattr(catalog, first)("ns")
        assert catalog.list_namespaces() == [("ns",)]
    catalog.create_namespace_if_not_exists("ns")
    table = catalog.create_table_if_not_exists("ns.t", SCHEMA)
    assert catalog.create_table_if_not_exists("ns.t", SCHEMA).uuid == table.uuid


@pytest.mark.parametrize("name", ["", "a..b", "a/b", "a\\b", "a\0b", "a\nb", ("ns", ".."), ("ns", "a/b"), ("ns", "")])
def test_names_that_would_lead_elsewhere_are_refused(catalog: Catalog[Any], name: Any) -> None:
    for call in (
        lambda: catalog.create_table(name, SCHEMA),
        lambda: catalog.drop_table(name),
        lambda: catalog.create_namespace(name),
        lambda: catalog.drop_namespace(name),
        lambda: catalog.rename_table("ns.t", name),
        lambda: catalog.register_table(name, "/t/metadata/v1.metadata.json"),
    ):
        with pytest.raises(errors.InvalidArgumentError):
            call()


def test_names_are_compared_whole(catalog: Catalog[Any]) -> None:
    """A LIKE pattern would match `my_ns_112` for `my_ns_1_2`."""
    names = ["my_ns_1_2", "my_ns_112", "x%", "xyz", "it's", "é ü"]
    for name in names:
        catalog.create_namespace((name,))
        catalog.create_table((name, "t_1"), SCHEMA).append(ROWS)
    for name in names:
        assert catalog.list_tables((name,)) == [(name, "t_1")]
        assert not catalog.table_exists((name, "t11"))
        assert catalog.load_table((name, "t_1")).scan().count() == 2
    catalog.purge_table(("my_ns_1_2", "t_1"))
    catalog.drop_namespace("my_ns_1_2")
    assert catalog.list_namespaces() == sorted((name,) for name in ("ns", *names[1:]))
    assert catalog.load_table("my_ns_112.t_1").scan().count() == 2


def test_names_may_hold_dots(catalog: Catalog[Any]) -> None:
    catalog.create_namespace(("v1.0",))
    catalog.create_table(("v1.0", "my.table"), SCHEMA).append(ROWS)
    assert catalog.list_tables(("v1.0",)) == [("v1.0", "my.table")]
    assert catalog.load_table(("v1.0", "my.table")).scan().count() == 2
    assert not catalog.table_exists("v1.0.my.table")
    catalog.purge_table(("v1.0", "my.table"))
    catalog.drop_namespace(("v1.0",))
    assert catalog.list_namespaces() == [("ns",)]


def test_namespaces_nest_and_only_empty_ones_are_dropped(catalog: Catalog[Any]) -> None:
    catalog.create_namespace("a.b")
    catalog.create_table("a.b.t", SCHEMA)
    assert catalog.list_namespaces() == [("a",), ("ns",)]
    assert catalog.list_namespaces("a") == [("a", "b")]
    for name in ("a", "a.b"):
        with pytest.raises(errors.CatalogError, match="not empty"):
            catalog.drop_namespace(name)
    catalog.purge_table("a.b.t")
    catalog.drop_namespace("a.b")
    if catalog.namespace_exists("a"):
        catalog.drop_namespace("a")
    assert catalog.list_namespaces() == [("ns",)]
    assert not catalog.namespace_exists("a")


def test_purge_deletes_the_planned_files(catalog: Catalog[Any], tmp_path: Path) -> None:
    table = catalog.create_table("ns.t", SCHEMA, properties={"write.metadata.previous-versions-max": "100"})
    for _ in range(3):
        table.append(ROWS)
    catalog.create_table("ns.other", SCHEMA).append(ROWS)
    plan = catalog.plan_purge("ns.t")
    kinds = {kind: count for kind, (count, _) in plan.by_kind().items()}
    assert kinds == {"data": 3, "manifest": 3, "manifest-list": 3, "metadata": 4}
    assert len(plan) == 13
    assert plan.batch.schema.names == ["kind", "location", "size_bytes"]
    sizes = [path.stat().st_size for path in tmp_path.rglob("ns/t/*/*") if "hint" not in path.name]
    assert plan.size_bytes == sum(sizes) > 0
    assert "3 data" in repr(plan)
    assert catalog.load_table("ns.t").scan().count() == 6
    assert len(catalog.purge_table("ns.t", plan)) == 13
    assert not catalog.table_exists("ns.t")
    assert catalog.list_tables("ns") == [("ns", "other")]
    assert not [name for name in files_below(tmp_path) if "/ns/t/" in name]
    assert catalog.load_table("ns.other").scan().count() == 2
    assert catalog.create_table("ns.t", SCHEMA).append(ROWS).added_records == 2


def test_purge_deletes_files_of_old_snapshots_but_no_foreign_files(catalog: Catalog[Any], tmp_path: Path) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    alien = next(tmp_path.rglob("ns/t/data")) / "notes.txt"
    alien.write_text("mine")
    catalog.drop_table("ns.t", purge=True)
    assert [name for name in files_below(tmp_path) if "/ns/t/" in name] == [str(alien.relative_to(tmp_path))]
    assert not catalog.table_exists("ns.t")
    assert catalog.list_namespaces("ns") == []


def test_a_purge_that_cannot_be_planned_or_has_aged_deletes_nothing(catalog: Catalog[Any], tmp_path: Path) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    plan = catalog.plan_purge("ns.t")
    catalog.load_table("ns.t").append(ROWS)
    before = files_below(tmp_path)
    with pytest.raises(errors.CommitConflictError, match="changed after"):
        catalog.purge_table("ns.t", plan)
    with pytest.raises(errors.InvalidArgumentError, match="the purge plan belongs to table"):
        catalog.purge_table("ns.u", plan)
    assert files_below(tmp_path) == before
    manifest = next(path for path in tmp_path.rglob("ns/t/metadata/*-m0.avro"))
    manifest.rename(tmp_path / "away")
    with pytest.raises(errors.MissingFileError, match=r"m0\.avro"):
        catalog.purge_table("ns.t")
    (tmp_path / "away").rename(manifest)
    assert files_below(tmp_path) == before
    assert catalog.load_table("ns.t").scan().count() == 4
    catalog.create_table("ns.kept", SCHEMA, properties={"gc.enabled": "false"})
    with pytest.raises(errors.CommitValidationError, match=r"gc\.enabled"):
        catalog.purge_table("ns.kept")
    assert catalog.table_exists("ns.kept")


def test_a_table_pickles_with_its_catalog(catalog: Catalog[Any]) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301 - made here
    assert copy.metadata_location == table.metadata_location
    copy.append(ROWS)
    again = pickle.loads(pickle.dumps(copy))  # noqa: S301
    again.append(ROWS)
    assert again.name() == ("ns", "t")
    assert again.refresh().scan().count() == catalog.load_table("ns.t").scan().count() == 4
    assert copy.scan().count() == 2


def test_threads_that_append_lose_nothing(catalog: Catalog[Any]) -> None:
    catalog.create_table("ns.t", SCHEMA, properties={"commit.retry.num-retries": "100"})

    def append(number: int) -> None:
        catalog.load_table("ns.t").append([{"id": number, "name": "x"}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(16)))
    table = catalog.load_table("ns.t")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(16))
    assert len(table.snapshots()) == 16


def test_a_commit_that_always_loses_is_tried_as_often_as_the_table_says(
    rows: Catalog[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = {"commit.retry.num-retries": "2", "commit.retry.min-wait-ms": "1"}
    table = rows.create_table("ns.t", SCHEMA, properties=properties)
    attempts = []

    def lost(_: Any, __: str | None, new: str) -> bool:
        attempts.append(new)
        return False

    monkeypatch.setattr(type(rows.row(("ns", "t"))), "replace", lost)
    with pytest.raises(errors.CommitConflictError, match=r"retry\.num-retries") as refused:
        table.append(ROWS)
    assert (len(attempts), refused.value.context["attempts"]) == (3, "3")


def test_wrong_arguments_make_nothing(catalog: Catalog[Any], tmp_path: Path) -> None:
    for arguments in (
        {"schema": {"id": "nope"}},
        {"schema": SCHEMA, "partition_by": "id"},
        {"schema": SCHEMA, "partition_by": ["no"]},
        {"schema": SCHEMA, "partition_by": ["id"], "partition_spec": ["id"]},
        {"schema": SCHEMA, "location": "/"},
        {"schema": SCHEMA, "location": 5},
        {"schema": SCHEMA, "partition_by": 0},
        {"schema": SCHEMA, "partition_spec": 5},
        {"schema": SCHEMA, "format_version": "2"},
        {"schema": SCHEMA, "properties": ["a"]},
    ):
        with pytest.raises(errors.FrazilError):
            catalog.create_table("ns.t", **arguments)
    assert files_below(tmp_path) == []
    assert not catalog.table_exists("ns.t")


class Failing:
    """Files of which some cannot be deleted."""

    def __init__(self, files: Any, part: str) -> None:
        self._files, self._part = files, part

    def delete(self, location: str) -> None:
        if self._part in location:
            message = "injected fault"
            raise errors.StorageError(message)
        self._files.delete(location)

    def delete_all(self, locations: pa.Array, workers: int) -> list[tuple[int, errors.FrazilError]]:
        del workers
        failures = []
        for index, location in enumerate(locations.to_pylist()):
            try:
                self.delete(location)
            except errors.FrazilError as error:
                failures.append((index, error))
        return failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def test_failed_purge_reports_the_remaining_files(catalog: Catalog[Any], tmp_path: Path) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    if catalog.type == "hadoop":
        # The folder is the name: the table exists as long as its latest metadata file does.
        plan = dataclasses.replace(catalog.plan_purge("ns.t"), files=Failing(table._files, "v2.metadata.json"))
        with pytest.raises(errors.StorageError, match="injected"):
            catalog.purge_table("ns.t", plan)
        assert table.append(ROWS).attempts == 1
        assert catalog.load_table("ns.t").scan().count() == 4
    plan = dataclasses.replace(catalog.plan_purge("ns.t"), files=Failing(table._files, ".parquet"))
    count = plan.by_kind()["data"][0]
    with pytest.raises(
        errors.StorageError, match=f"the table was dropped, but {count} of {len(plan)} files could not be deleted"
    ):
        catalog.purge_table("ns.t", plan)
    assert not catalog.table_exists("ns.t")
    left = [name for name in files_below(tmp_path) if "/ns/t/" in name]
    assert len(left) == count
    assert all(name.endswith(".parquet") for name in left)


# Catalogs with rows


def test_a_dropped_table_keeps_its_files_and_can_be_registered(rows: Catalog[Any], tmp_path: Path) -> None:
    table = rows.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    before = files_below(tmp_path)
    rows.drop_table("ns.t")
    assert files_below(tmp_path) == before
    assert not rows.table_exists("ns.t")
    with pytest.raises(errors.NoSuchTableError):
        table.append(ROWS)
    again = rows.register_table("ns.again", table.metadata_location)
    assert again.uuid == table.uuid
    again.append(ROWS)
    assert rows.load_table("ns.again").scan().count() == 4
    with pytest.raises(errors.AlreadyExistsError):
        rows.register_table("ns.again", table.metadata_location)
    with pytest.raises(errors.FrazilError):
        rows.register_table("ns.wrong", f"{tmp_path}/no.metadata.json")
    with pytest.raises(errors.InvalidArgumentError):
        rows.register_table("ns.wrong", str(tmp_path))
    assert rows.list_tables("ns") == [("ns", "again")]


def test_tables_that_share_files_are_not_purged(rows: Catalog[Any], tmp_path: Path) -> None:
    table = rows.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    clone = rows.register_table("ns.clone", table.metadata_location)
    clone.append(ROWS)
    for name in ("ns.t", "ns.clone"):
        with pytest.raises(errors.CommitValidationError, match="shares its folder"):
            rows.purge_table(name)
    rows.drop_table("ns.clone")
    rows.purge_table("ns.t")
    # Files of the clone are orphans; shared files are deleted.
    assert len([name for name in files_below(tmp_path) if name.endswith(".parquet")]) == 1


def test_a_table_is_renamed_across_namespaces(rows: Catalog[Any]) -> None:
    rows.create_namespace("other.deep")
    table = rows.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    rows.create_table("ns.taken", SCHEMA)
    renamed = rows.rename_table("ns.t", "other.deep.u")
    assert (renamed.name(), renamed.uuid) == (("other", "deep", "u"), table.uuid)
    assert rows.list_tables("ns") == [("ns", "taken")]
    renamed.append(ROWS)
    assert rows.load_table("other.deep.u").scan().count() == 4
    with pytest.raises(errors.NoSuchTableError):
        table.append(ROWS)
    with pytest.raises(errors.AlreadyExistsError, match="taken"):
        rows.rename_table("other.deep.u", "ns.taken")
    with pytest.raises(errors.AlreadyExistsError, match="taken"):
        rows.rename_table("ns.taken", "ns.taken")
    with pytest.raises(errors.NoSuchNamespaceError):
        rows.rename_table("other.deep.u", "no.u")
    for new in ("ns.new", "ns.no"):
        with pytest.raises(errors.NoSuchTableError):
            rows.rename_table("ns.no", new)
    assert rows.load_table("ns.taken").scan().count() == 0
    again = rows.create_table("ns.t", SCHEMA)
    assert again.location.startswith(f"{table.location}-")
    again.append(ROWS)
    rows.purge_table("ns.t")
    assert rows.load_table("other.deep.u").scan().count() == 4


def test_namespaces_have_properties(rows: Catalog[Any], tmp_path: Path) -> None:
    rows.create_namespace("p", {"owner": "me", "note": "x", "location": f"{tmp_path}/elsewhere"})
    assert rows.load_namespace_properties("p") == {"owner": "me", "note": "x", "location": f"{tmp_path}/elsewhere"}
    summary = rows.update_namespace_properties("p", {"note", "absent"}, {"owner": "you", "new": "1"})
    assert (summary.removed, summary.updated, summary.missing) == (["note"], ["new", "owner"], ["absent"])
    found = rows.load_namespace_properties("p")
    assert found == {"owner": "you", "new": "1", "location": f"{tmp_path}/elsewhere"}
    table = rows.create_table("p.t", SCHEMA)
    assert table.location == f"{tmp_path}/elsewhere/t"
    given = rows.create_table("p.u", SCHEMA, f"{tmp_path}/given/")
    given.append(ROWS)
    assert given.location == f"{tmp_path}/given"
    with pytest.raises(errors.InvalidArgumentError, match="both"):
        rows.update_namespace_properties("p", {"owner"}, {"owner": "x"})
    for arguments, words in (
        ({"updates": {"owner": None}}, "the property 'owner' must be a string"),
        ({"updates": ["owner"]}, "updates must be a mapping of names"),
        ({"removals": "owner"}, "removals must be a sequence of names"),
        ({"removals": 5}, "removals must be a sequence of names, not 5"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            rows.update_namespace_properties("p", **arguments)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgumentError, match="properties must be a mapping of names"):
        rows.create_namespace("q", ["owner"])  # type: ignore[arg-type]
    rows.update_namespace_properties("p", updates={"owner": 1, "shared": True})  # type: ignore[dict-item]
    assert rows.load_namespace_properties("p").items() >= {"owner": "1", "shared": "true"}.items()
    for location in (5, b"x"):
        with pytest.raises(errors.InvalidArgumentError, match="metadata_location must be a string"):
            rows.register_table("ns.t", location)  # type: ignore[arg-type]
    rows.update_namespace_properties("ns", updates={"only": "one"})
    rows.update_namespace_properties("ns", ["only"])
    assert rows.namespace_exists("ns")
    rows.drop_namespace("ns")
    assert not rows.namespace_exists("ns")


def test_metadata_is_written_to_the_configured_location(rows: Catalog[Any], tmp_path: Path) -> None:
    properties = {
        "write.metadata.path": f"{tmp_path}/place",
        "write.metadata.compression-codec": "gzip",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
        "commit.retry.num-retries": "0",
    }
    frazil.config.allowed_locations = [str(tmp_path)]
    try:
        table = rows.create_table("ns.t", SCHEMA, properties=properties)
        for _ in range(3):
            table.append(ROWS)
            rows.load_table("ns.t").append(ROWS)
            table = rows.load_table("ns.t")
    finally:
        frazil.config.allowed_locations = []
    names = sorted(path.name[:6] for path in (tmp_path / "place").glob("*.gz.metadata.json"))
    assert names == ["00005-", "00006-"]
    assert table.scan().count() == 12


# Catalogs of folders


def test_a_folder_cannot_be_renamed_registered_or_forgotten(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", **properties_of("hadoop", tmp_path))
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", SCHEMA)
    for call in (
        lambda: catalog.rename_table("ns.t", "ns.u"),
        lambda: catalog.register_table("ns.u", table.metadata_location),
        lambda: catalog.drop_table("ns.t"),
        lambda: catalog.create_namespace("p", {"a": "b"}),
        lambda: catalog.update_namespace_properties("ns", updates={"a": "b"}),
        lambda: catalog.create_table("ns.u", SCHEMA, str(tmp_path / "elsewhere")),
    ):
        with pytest.raises(errors.UnsupportedError, match="catalog 'c' of type hadoop cannot") as caught:
            call()
        assert caught.value.context["catalog"] == "c"
    assert catalog.load_table("ns.t").uuid == table.uuid
    assert catalog.list_namespaces() == [("ns",)]


def test_folders_that_are_something_else_are_not_taken(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", **properties_of("hadoop", tmp_path))
    catalog.create_namespace("ns.deep")
    catalog.create_table("ns.t", SCHEMA)
    for name in ("ns", "ns.deep"):
        with pytest.raises(errors.AlreadyExistsError, match="namespace"):
            catalog.create_table(name, SCHEMA)
    for name in ("ns.metadata", ("ns", ".hidden"), "ns._hidden", "_hidden.t", "new._hidden.t", (".hidden", "t")):
        with pytest.raises(errors.InvalidArgumentError):
            catalog.create_table(name, SCHEMA)
        with pytest.raises(errors.InvalidArgumentError):
            catalog.create_namespace(name)
    for inner in ("ns.t.inner", "ns.t.new.inner", "ns.t.metadata.inner"):
        for create in (catalog.create_namespace, lambda name: catalog.create_table(name, SCHEMA)):
            with pytest.raises(errors.InvalidArgumentError, match="is a table"):
                create(inner)
    assert catalog.list_namespaces("ns") == [("ns", "deep")]
    assert catalog.list_tables("ns") == [("ns", "t")]


def test_a_table_creates_its_namespace_in_a_warehouse(tmp_path: Path) -> None:
    """As in Java's `HadoopCatalog`, namespaces are folders."""
    catalog = frazil.load_catalog("c", **properties_of("hadoop", tmp_path))
    catalog.create_table("db.t", SCHEMA).append(ROWS)
    catalog.create_table_if_not_exists("a.b.t", SCHEMA)
    assert catalog.list_namespaces() == [("a",), ("db",)]
    assert catalog.list_namespaces("a") == [("a", "b")]
    assert catalog.list_tables("a.b") == [("a", "b", "t")]
    assert catalog.load_table("db.t").scan().count() == 2
    with pytest.raises(errors.InvalidArgumentError):
        catalog.create_table("c.d.t", SCHEMA, partition_by=["no"])
    assert not catalog.namespace_exists("c")


def test_copied_warehouse_is_purged_in_place(warehouse: Path) -> None:
    """The tables record a different folder from the one that contains them."""
    catalog = frazil.load_catalog("c", warehouse=str(warehouse))
    for namespace in ((), ("sales",), ("sales", "eu")):
        for name in catalog.list_tables(namespace):
            plan = catalog.plan_purge(name)
            folder = warehouse.joinpath(*name)
            before = {path for path in folder.rglob("*") if path.is_file()}
            catalog.purge_table(name, plan)
            left = {path for path in folder.rglob("*") if path.is_file()}
            assert left < before
            assert not catalog.table_exists(name)
            assert not [path for path in left if path.suffix in {".avro", ".parquet"} and "metadata" in path.parts]


def test_a_commit_during_the_deletion_of_a_folder_loses(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", **properties_of("hadoop", tmp_path))
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", SCHEMA, properties={"commit.retry.num-retries": "0"})
    metadata = tmp_path / "warehouse" / "ns" / "t" / "metadata"
    # When the deletion begins.
    (metadata / "v2.metadata.json").touch()
    with pytest.raises(errors.CommitConflictError):
        table.append(ROWS)
    assert catalog.load_table("ns.t").scan().count() == 0


def test_a_catalog_that_cannot_commit_refuses_by_name(tmp_path: Path) -> None:
    paimon = frazil.load_catalog("p", **{**properties_of("hadoop", tmp_path), "type": "paimon"})
    paimon.create_namespace("ns")
    for call in (
        lambda: paimon.create_namespace("other", {"owner": "me"}),
        lambda: paimon.rename_table("ns.t", "ns.u"),
        lambda: paimon.register_table("ns.t", f"{tmp_path}/t"),
    ):
        with pytest.raises(errors.UnsupportedError, match="catalog 'p' of type paimon cannot"):
            call()
