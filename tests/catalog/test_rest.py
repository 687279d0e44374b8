"""Tests of REST catalogs: requests, responses, and lost responses."""

from __future__ import annotations

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import requests

import frazil
from frazil.errors import (
    AlreadyExistsError,
    CatalogError,
    CommitConflictError,
    CommitStateUnknownError,
    ForbiddenError,
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedError,
)
from support.object_store import object_store
from support.rest_server import RestServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.object_store import ObjectStore
    from support.rest_server import Handler

ROWS = [{"id": 1, "p": "a"}, {"id": 2, "p": "b"}]
SCHEMA = {"id": "long", "p": "string"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    made = RestServer(tmp_path / "warehouse")
    yield made
    made.close()


def opened(server: RestServer, **properties: str) -> Any:
    return frazil.load_catalog("c", type="rest", uri=server.uri, **properties)


@pytest.fixture
def catalog(server: RestServer) -> Any:
    made = opened(server)
    made.create_namespace("ns")
    return made


def ids(table: Any, **arguments: Any) -> list[int]:
    return sorted(table.scan(**arguments).to_arrow()["id"].to_pylist())


def lose(_: Handler) -> bool:
    """Close the connection instead of responding."""
    return True


def fail(status: int) -> Any:
    def answer(handler: Handler) -> bool:
        handler.send(status, {"error": {"message": "busy", "type": "ServiceFailure", "code": status}})
        return True

    return answer


def sent(server: RestServer) -> list[str]:
    """Return the requests for tables."""
    return [f"{method} {path.rpartition('/')[2]}" for method, path in server.requests]


def change_in_every_way(catalog: Any, name: str, version: int) -> Any:
    """Create a table, and apply every type of change."""
    table = catalog.create_table(
        name, SCHEMA, partition_by=["p"], sort_order=["id"], properties={"a": "b"}, format_version=version
    )
    table.append(ROWS)
    table.append([{"id": 3, "p": "a"}])
    table.delete("id = 1")
    with table.update_schema() as update:
        update.add_column("x", "int")
        update.rename_column("p", "q")
    table.update_spec().add_field("bucket(2, id)").commit()
    table.update_sort_order().desc("x").commit()
    table.set_properties({"a": "c", "d": "e"})
    table.remove_properties("a")
    table.append([{"id": 4, "q": "z", "x": 5}])
    table.manage_snapshots().create_tag(table.snapshots()[0].snapshot_id, "first").commit()
    table.manage_snapshots().create_branch(table.snapshots()[1].snapshot_id, "dev").commit()
    table.append([{"id": 9, "q": "z", "x": 5}], branch="dev")
    assert ids(table) == [2, 3, 4]
    assert ids(table, ref="first") == [1, 2]
    assert ids(table, ref="dev") == [1, 2, 3, 9]
    with table.transaction() as changes:
        changes.append([{"id": 5, "q": "y", "x": None}])
        changes.delete("id = 2")
        changes.set_properties({"f": "g"})
    table.manage_snapshots().remove_branch("dev").commit()
    table.rewrite_data_files(rewrite_all=True).apply()
    table.expire_snapshots("2100-01-01T00:00:00Z").apply()
    if version < 3:
        table.upgrade(3)
    return table


def check_changed(table: Any) -> None:
    """Compare a table with the result of `change_in_every_way`."""
    assert (ids(table), ids(table, ref="first")) == ([3, 4, 5], [1, 2])
    assert (table.properties["d"], table.properties["f"], table.properties.get("a")) == ("e", "g", None)
    assert (table.format_version, set(table.refs()), len(table.snapshots())) == (3, {"main", "first"}, 2)
    assert [field.name for field in table.schema().fields] == ["id", "q", "x"]
    assert [field.name for field in table.spec().fields] == ["p", "id_bucket_2"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_kind_of_change_is_made_by_the_server(server: RestServer, catalog: Any, version: int) -> None:
    table = change_in_every_way(catalog, "ns.t", version)
    for read in (table, opened(server).load_table("ns.t"), table.refresh()):
        check_changed(read)
        assert read.metadata_location == server.tables["ns", "t"]["metadata-location"]


def test_a_table_is_created_with_its_rows_in_one_commit(server: RestServer, catalog: Any) -> None:
    with catalog.create_table_transaction("ns.t", SCHEMA) as changes:
        changes.append(ROWS)
        assert ("ns", "t") not in server.tables
    assert ids(catalog.load_table("ns.t")) == [1, 2]
    with catalog.replace_table_transaction("ns.t", {"id": "long", "z": "date"}) as changes:
        changes.append([{"id": 7, "z": None}])
    table = catalog.load_table("ns.t")
    assert (ids(table), len(table.snapshots())) == ([7], 2)
    with pytest.raises(AlreadyExistsError, match=r"'ns\.t'"):
        catalog.create_table("ns.t", SCHEMA)
    with pytest.raises(NoSuchNamespaceError, match="nowhere"):
        catalog.create_table("nowhere.t", SCHEMA)
    with pytest.raises(NoSuchTableError, match=r"no table 'ns\.u'.*'ns\.t'"):
        catalog.load_table("ns.u")


def test_tables_and_namespaces_are_renamed_registered_and_dropped(catalog: Any) -> None:
    catalog.create_namespace("ns.inner", {"k": "v"})
    catalog.create_namespace(("a.b c", "dé&?"))
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    assert set(catalog.list_namespaces()) == {("ns",), ("a.b c",)}
    assert catalog.list_namespaces("ns") == [("ns", "inner")]
    assert catalog.load_namespace_properties("ns.inner") == {"k": "v"}
    summary = catalog.update_namespace_properties("ns.inner", ["k", "x"], {"y": "z"})
    assert (summary.removed, summary.updated, summary.missing) == (["k"], ["y"], ["x"])
    moved = catalog.rename_table("ns.t", "ns.inner.u")
    assert (ids(moved), catalog.list_tables("ns"), catalog.list_tables("ns.inner")) == (
        [1, 2],
        [],
        [("ns", "inner", "u")],
    )
    place = moved.metadata_location
    with pytest.raises(CatalogError, match="not empty"):
        catalog.drop_namespace("ns.inner")
    catalog.drop_table("ns.inner.u")
    assert not catalog.table_exists("ns.inner.u")
    assert ids(catalog.register_table("ns.back", place)) == [1, 2]
    plan = catalog.purge_table("ns.back")
    assert plan.by_kind()["data"][0] == 1
    catalog.drop_namespace("ns.inner")
    assert not catalog.namespace_exists("ns.inner")


def test_listings_are_paginated(tmp_path: Path) -> None:
    server = RestServer(tmp_path, page_size=2)
    catalog = opened(server)
    for name in "abcde":
        catalog.create_namespace(name)
        catalog.create_table(f"a.{name}", {"id": "int"})
    assert [name for (name,) in catalog.list_namespaces()] == list("abcde")
    assert [name for _, name in catalog.list_tables("a")] == list("abcde")
    server.close()


# Other writers and lost responses


def test_writers_of_one_table_lose_nothing(server: RestServer, catalog: Any) -> None:
    catalog.create_table("ns.t", SCHEMA, properties={"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "1"})
    handles = [opened(server).load_table("ns.t") for _ in range(4)]

    def write(number: int) -> None:
        for step in range(5):
            handles[number].append([{"id": number * 5 + step, "p": "a"}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert ids(catalog.load_table("ns.t")) == list(range(20))


def test_a_conflict_is_planned_again_or_raised(catalog: Any) -> None:
    table = catalog.create_table("ns.t", SCHEMA, properties={"commit.retry.num-retries": "0"})
    table.append(ROWS)
    first, second = catalog.load_table("ns.t"), catalog.load_table("ns.t")
    first.append([{"id": 3, "p": "c"}])
    with pytest.raises(CommitConflictError):
        second.append([{"id": 4, "p": "d"}])
    assert ids(catalog.load_table("ns.t")) == [1, 2, 3]


@pytest.mark.parametrize("fault", [lose, fail(500), fail(502), fail(503), fail(504), fail(409)])
def test_a_commit_whose_answer_is_lost_is_found(server: RestServer, catalog: Any, fault: Any) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    server.faults.append(fault)
    assert table.append(ROWS).added_records == 2
    assert (ids(table), ids(catalog.load_table("ns.t"))) == ([1, 2], [1, 2])
    assert len(table.snapshots()) == 1
    server.faults.append(fault)
    created = catalog.create_table("ns.u", SCHEMA)
    assert created.uuid == catalog.load_table("ns.u").uuid
    assert sent(server).count("POST t") == 2


def test_a_commit_whose_fate_is_unknown_deletes_nothing(server: RestServer, catalog: Any) -> None:
    table = catalog.create_table("ns.t", SCHEMA)

    def vanish(_: Handler) -> bool:
        server.token = "another"  # noqa: S105 - the next requests are refused
        return True

    server.faults.append(vanish)
    with pytest.raises(CommitStateUnknownError):
        table.append(ROWS)
    server.token = None
    assert ids(catalog.load_table("ns.t")) == [1, 2]


def test_a_commit_that_was_refused_leaves_no_file(server: RestServer, catalog: Any, tmp_path: Path) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    server.token = "another"  # noqa: S105
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UnauthorizedError):
        table.append(ROWS)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


OPERATIONS = {
    "append": lambda table: table.append([{"id": 3, "p": "c"}]),
    "fast append": lambda table: table.append([{"id": 3, "p": "c"}], fast=True),
    "delete": lambda table: table.delete("id = 1"),
    "update": lambda table: table.update({"id": "9"}, "id = 1"),
    "overwrite": lambda table: table.overwrite([{"id": 3, "p": "c"}]),
    "compaction": lambda table: table.rewrite_data_files(rewrite_all=True, min_input_files=1).apply(),
    "properties": lambda table: table.set_properties({"a": "b"}),
    "expiry": lambda table: table.expire_snapshots("2100-01-01T00:00:00Z").apply(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_stale_handle_writes_after_an_upgrade(catalog: Any, name: str) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    table.append(ROWS)
    stale = catalog.load_table("ns.t")
    table.upgrade(3)
    OPERATIONS[name](stale)
    assert stale.format_version == catalog.load_table("ns.t").format_version == 3


def test_a_transaction_writes_before_and_after_an_upgrade(catalog: Any) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    with table.transaction() as changes:
        changes.append(ROWS)
        changes.upgrade(3)
        changes.append([{"id": 3, "p": "c"}])
    assert (table.format_version, ids(catalog.load_table("ns.t"))) == (3, [1, 2, 3])


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_server_that_is_down_is_unavailable(server: RestServer, catalog: Any, tmp_path: Path, name: str) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    table.append(ROWS)
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    server.close()
    with pytest.raises(UnavailableError, match="does not respond:"):
        OPERATIONS[name](table)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == files


def test_a_request_that_is_lost_leaves_the_outcome_unknown(server: RestServer, catalog: Any) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    server.rule = lambda *_: "lose-request"
    with pytest.raises(CommitStateUnknownError):
        table.append(ROWS)


CHANGES_OF_NAMES = {
    "drop": lambda catalog, _: catalog.drop_table("ns.t"),
    "purge": lambda catalog, _: catalog.purge_table("ns.t"),
    "rename": lambda catalog, _: catalog.rename_table("ns.t", "ns.u"),
    "register": lambda catalog, place: catalog.register_table("ns.u", place),
}


@pytest.mark.parametrize("name", CHANGES_OF_NAMES)
def test_a_change_of_names_whose_answer_is_lost_is_found(
    server: RestServer, catalog: Any, tmp_path: Path, name: str
) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    table.append(ROWS)
    faults = ["lose-answer"]
    server.rule = lambda method, _: faults.pop() if faults and method in ("POST", "DELETE") else None
    CHANGES_OF_NAMES[name](catalog, table.metadata_location)
    assert faults == []
    assert catalog.table_exists("ns.t") == (name == "register")
    assert catalog.table_exists("ns.u") == (name in ("rename", "register"))
    assert (list(tmp_path.rglob("*.parquet")) == []) == (name == "purge")


@pytest.mark.parametrize("name", CHANGES_OF_NAMES)
def test_a_refused_change_of_names_is_a_typed_error(server: RestServer, catalog: Any, name: str) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    server.rule = lambda method, _: 409 if method in ("POST", "DELETE") else None
    expected = AlreadyExistsError if name in ("rename", "register") else CatalogError
    with pytest.raises(expected) as caught:
        CHANGES_OF_NAMES[name](catalog, table.metadata_location)
    assert type(caught.value) is expected
    # A server that fails before it has an effect leaves the table unchanged.
    server.rule = lambda method, _: 503 if method in ("POST", "DELETE") else None
    with pytest.raises(UnavailableError):
        CHANGES_OF_NAMES[name](catalog, table.metadata_location)
    server.rule = lambda *_: None
    assert ids(catalog.load_table("ns.t")) == []
    with pytest.raises(NoSuchTableError):
        catalog.drop_table("ns.missing")


def test_a_table_is_created_with_two_requests(server: RestServer, catalog: Any) -> None:
    server.requests.clear()
    catalog.create_table("ns.t", SCHEMA).append(ROWS)
    assert sent(server) == ["POST tables", "POST t", "POST t"]


# Authorization and configuration


def test_a_credential_is_exchanged_for_a_token(server: RestServer) -> None:
    server.token = "none"  # noqa: S105
    with pytest.raises(UnauthorizedError, match="Not authorized"):
        opened(server)
    with pytest.raises(UnauthorizedError, match="cannot get a token for catalog 'c'") as caught:
        opened(server, credential="me:wrong")
    assert "wrong" not in str(caught.value).replace("wrong secret", "")
    catalog = opened(server, credential="me:secret")
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", SCHEMA)
    # The server invalidates the token, and a new one is fetched.
    server.tokens += 1
    table.append(ROWS)
    assert ids(pickle.loads(pickle.dumps(table))) == [1, 2]  # noqa: S301
    assert pickle.loads(pickle.dumps(table)).append(ROWS).added_records == 2  # noqa: S301
    assert "secret" not in repr(catalog)


def test_closing_a_catalog_closes_the_idle_connections(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[requests.Session] = []

    def close(session: requests.Session) -> None:
        closed.append(session)

    monkeypatch.setattr(requests.Session, "close", close)
    with opened(server) as catalog:
        catalog.create_namespace("ns")
    assert len(closed) == 1
    server.token = "none"  # noqa: S105
    with opened(server, credential="me:secret") as catalog:
        assert catalog.list_namespaces() == [("ns",)]
    assert len(closed) == 3  # for the API and for the tokens


def test_a_secret_may_contain_colons(server: RestServer) -> None:
    server.secret = "a:b"  # noqa: S105
    assert opened(server, credential="me:a:b").list_namespaces() == []
    assert opened(server, credential="me:a:b", **{"rest.oauth2-basic-auth": "true"}).list_namespaces() == []


def test_a_token_end_point_that_is_busy_is_asked_again(server: RestServer) -> None:
    faults = [503, 503]
    server.rule = lambda _, path: faults.pop() if faults and path.endswith("tokens") else None
    assert opened(server, credential="me:secret").list_namespaces() == []
    server.rule = lambda _, path: 503 if path.endswith("tokens") else None
    with pytest.raises(UnavailableError, match=r"cannot get a token for catalog 'c'.*503"):
        opened(server, credential="me:secret")


@pytest.mark.parametrize("given", ["x", "0", "-1", "nan", "inf", ""])
def test_a_timeout_is_a_positive_number(server: RestServer, given: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"rest\.timeout-s of catalog 'c'"):
        opened(server, **{"rest.timeout-s": given})


def test_a_token_is_sent_as_it_is(server: RestServer) -> None:
    server.token = "abc"  # noqa: S105
    catalog = opened(server, token="abc")  # noqa: S106
    assert catalog.list_namespaces() == []
    assert "abc" not in repr(catalog)


def test_the_server_configures_the_catalog(server: RestServer) -> None:
    server.config = {
        "defaults": {"s3.region": "eu", "clients": "4", "s3.endpoint": "http://a"},
        "overrides": {"prefix": "p1", "s3.endpoint": "http://b"},
    }
    catalog = opened(server, warehouse="wh", **{"s3.region": "us", "header.X-Mine": "1"})
    catalog.create_namespace("ns")
    catalog.create_table("ns.t", SCHEMA)
    assert ("POST", "/v1/p1/namespaces/ns/tables/t") in server.requests
    assert dict(catalog.storage_properties) == {"s3.region": "us", "s3.endpoint": "http://b"}


def test_credentials_of_a_table_are_those_for_the_longest_prefix(server: RestServer, catalog: Any) -> None:
    server.table_config = {"s3.access-key-id": "of-the-table", "expiration-time": "1"}
    catalog.create_table("ns.t", SCHEMA)
    assert catalog.credentials_for(("ns", "t")).current()[0] == {"s3.access-key-id": "of-the-table"}
    place = str(server.warehouse)
    answer = {
        "metadata": {"location": f"{place}/ns/t"},
        "config": {"s3.access-key-id": "1", "s3.region": "r"},
        "storage-credentials": [
            {"prefix": f"{place}/ns/t", "config": {"s3.access-key-id": "3"}},
            {"prefix": place, "config": {"s3.access-key-id": "2", "s3.session-token": "x"}},
            {"prefix": f"{place}/ns/other", "config": {"s3.access-key-id": "4"}},
        ],
    }
    catalog._note_credentials(("ns", "t"), answer)
    found = {"s3.access-key-id": "3", "s3.region": "r", "s3.session-token": "x"}
    assert catalog.credentials_for(("ns", "t")).current()[0] == found


class Vending:
    """A server that issues new keys with each response, and a store that accepts only the latest keys."""

    def __init__(self, server: RestServer, store: ObjectStore, lifetime_ms: int | None) -> None:
        self.server, self.lifetime_ms, self.given = server, lifetime_ms, 0
        self._endpoint = {key: value for key, value in store.properties.items() if "key" not in key}
        server.rule, server.store = self._rule, store.root
        store.is_allowed = lambda key: key == f"key-{self.given}"

    def _rule(self, method: str, path: str) -> None:
        if method == "GET" and "/tables/" in path:
            self.give()

    def give(self) -> None:
        self.given += 1
        number = str(self.given)
        config = {"s3.access-key-id": f"key-{number}", "s3.secret-access-key": f"canary-{number}"}
        if self.lifetime_ms is not None:
            config["s3.session-token-expires-at-ms"] = str(int(time.time() * 1000) + self.lifetime_ms)
        self.server.table_config = {**self._endpoint, **config}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    (tmp_path / "store" / "bucket").mkdir(parents=True)
    with object_store(tmp_path / "store") as made:
        yield made


@pytest.fixture
def vended(server: RestServer, catalog: Any, store: ObjectStore) -> tuple[Any, Vending]:
    """Return a table in a store, and the issuer of its keys."""
    vending = Vending(server, store, lifetime_ms=3_600_000)
    vending.give()
    table = catalog.create_table("ns.t", SCHEMA, location="s3://bucket/t")
    table.append(ROWS)
    return table, vending


def test_credentials_are_renewed_before_they_expire(vended: tuple[Any, Vending]) -> None:
    table, vending = vended
    given = vending.given
    assert ids(table) == [1, 2]
    assert vending.given == given, "valid credentials are not asked for again"
    vending.lifetime_ms = 1000
    handle = opened(vending.server).load_table("ns.t")
    scan = handle.scan()
    # All clients of the store in a handle get new keys in time.
    for number in (3, 4):
        time.sleep(0.6)
        handle.append([{"id": number, "p": "c"}])
        assert ids(handle) == [1, 2, *range(3, number + 1)]
    time.sleep(0.6)
    assert scan.count() == 2
    assert vending.given > given + 3


def test_credentials_without_an_expiry_are_kept_for_a_while(server: RestServer, catalog: Any) -> None:
    server.table_config = {"s3.access-key-id": "a", "s3.secret-access-key": "b"}
    catalog.create_table("ns.t", SCHEMA)
    _, renew_at_ms = catalog.credentials_for(("ns", "t")).current()
    assert 800_000 < renew_at_ms - time.time() * 1000 <= 900_000
    server.table_config = {"s3.region": "eu"}
    catalog.create_table("ns.u", SCHEMA)
    assert catalog.credentials_for(("ns", "u")).current() == ({"s3.region": "eu"}, None)


def test_credentials_that_cannot_be_renewed_are_used_until_they_expire(
    vended: tuple[Any, Vending], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, vending = vended
    credentials = table.catalog.credentials_for(("ns", "t"))
    properties, renew_at_ms = credentials.current()
    pickled = pickle.dumps(table)
    vending.server.close()
    monkeypatch.setattr("frazil.catalog._vended.now_ms", lambda: renew_at_ms + 1)
    assert credentials.current()[0] == properties
    monkeypatch.setattr("frazil.catalog._vended.now_ms", lambda: int(properties["s3.session-token-expires-at-ms"]))
    with pytest.raises(UnavailableError, match="does not respond:"):
        credentials.current()
    # An error of the catalog is reported as that of the read.
    with pytest.raises(UnavailableError, match="does not respond:"):
        pickle.loads(pickled)  # noqa: S301


def test_pickles_have_no_vended_secret(vended: tuple[Any, Vending]) -> None:
    table, vending = vended
    pickled = pickle.dumps(table)
    assert b"canary-" not in pickled
    assert "canary-" not in repr(table.catalog.credentials_for(("ns", "t")))
    given = vending.given
    copy = pickle.loads(pickled)  # noqa: S301
    assert ids(copy) == [1, 2]
    assert vending.given == given + 1
    copy.append([{"id": 3, "p": "c"}])
    assert ids(opened(vending.server).load_table("ns.t")) == [1, 2, 3]
    # Workers get valid credentials, and not those of the catalog.
    state = table.refresh()._state
    shipped = pickle.loads(pickle.dumps(state.for_workers()))  # noqa: S301
    assert "credentials" not in shipped.options
    assert shipped.options["storage"]["s3.secret-access-key"] == f"canary-{vending.given}"
    assert shipped.scan().count() == 3


def test_a_store_that_refuses_vended_credentials_is_named(vended: tuple[Any, Vending]) -> None:
    _, vending = vended
    handle = opened(vending.server).load_table("ns.t")
    # The server issues keys to another client, which invalidates those of this handle.
    vending.give()
    with pytest.raises(ForbiddenError) as caught:
        ids(handle)
    assert "canary-" not in str(caught.value)


def test_a_busy_server_is_asked_again(server: RestServer, catalog: Any) -> None:
    table = catalog.create_table("ns.t", SCHEMA)
    server.busy = 2
    table.append(ROWS)
    assert (ids(table), server.busy) == ([1, 2], 0)
    server.busy = 9
    with pytest.raises(CatalogError, match="429: slow down"):
        table.append(ROWS)
    server.busy = 0
    assert ids(catalog.load_table("ns.t")) == [1, 2]


def test_signed_requests_are_refused(server: RestServer) -> None:
    with pytest.raises(UnsupportedError, match=r"rest\.sigv4-enabled"):
        opened(server, **{"rest.sigv4-enabled": "true"})


def test_invalid_or_unavailable_rest_catalogs_are_reported(server: RestServer) -> None:
    with pytest.raises(InvalidArgumentError, match="must begin with http"):
        frazil.load_catalog("c", type="rest", uri="localhost:8181")
    with pytest.raises(InvalidArgumentError, match="must begin with http"):
        frazil.load_catalog("c", type="rest")
    server.close()
    with pytest.raises(UnavailableError, match="does not respond:"):
        opened(server)
