"""Tests of REST catalogs: the server of Iceberg (Java) applies frazil's requests, and PyIceberg reads the result.

The server is the test fixture of `iceberg-open-api`; `FRAZIL_ICEBERG_REST` is its address.
"""

from __future__ import annotations

import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import frazil
from catalog.test_rest import ROWS, SCHEMA, change_in_every_way, check_changed, ids

ADDRESS = os.environ.get("FRAZIL_ICEBERG_REST", "")

pytestmark = pytest.mark.skipif(not ADDRESS, reason="FRAZIL_ICEBERG_REST names no server")


@pytest.fixture
def catalog() -> Any:
    return frazil.load_catalog("c", uri=ADDRESS)


@pytest.fixture
def namespace(catalog: Any) -> str:
    name = f"n{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name, {"owner": "me"})
    return name


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_makes_every_kind_of_change(catalog: Any, namespace: str, version: int) -> None:
    table = change_in_every_way(catalog, f"{namespace}.t", version)
    for read in (table, frazil.load_catalog("c", uri=ADDRESS).load_table(f"{namespace}.t")):
        check_changed(read)


def test_pyiceberg_and_frazil_write_in_turns(catalog: Any, namespace: str) -> None:
    from pyiceberg.catalog.rest import RestCatalog

    table = catalog.create_table(f"{namespace}.t", SCHEMA, partition_by=["p"])
    table.append(ROWS)
    theirs = RestCatalog("c", uri=ADDRESS).load_table(f"{namespace}.t")
    assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    theirs.append(theirs.scan().to_arrow())
    table.append([{"id": 3, "p": "c"}])
    assert ids(table) == [1, 1, 2, 2, 3]
    assert sorted(theirs.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 1, 2, 2, 3]


def test_writers_lose_nothing(catalog: Any, namespace: str) -> None:
    properties = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "10"}
    catalog.create_table(f"{namespace}.t", SCHEMA, properties=properties)
    handles = [frazil.load_catalog("c", uri=ADDRESS).load_table(f"{namespace}.t") for _ in range(4)]

    def write(number: int) -> None:
        for step in range(5):
            handles[number].append([{"id": number * 5 + step, "p": "a"}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert ids(catalog.load_table(f"{namespace}.t")) == list(range(20))


def test_names_move_and_go(catalog: Any, namespace: str) -> None:
    catalog.create_namespace((namespace, "in ner"))
    with catalog.create_table_transaction(f"{namespace}.t", SCHEMA) as changes:
        changes.append(ROWS)
    with catalog.replace_table_transaction(f"{namespace}.t", {"id": "long", "z": "date"}) as changes:
        changes.append([{"id": 7, "z": None}])
    moved = catalog.rename_table(f"{namespace}.t", (namespace, "in ner", "u v"))
    assert (ids(moved), catalog.list_tables(namespace)) == ([7], [])
    assert catalog.list_namespaces(namespace) == [(namespace, "in ner")]
    assert (namespace,) in catalog.list_namespaces()
    assert catalog.list_tables((namespace, "in ner")) == [(namespace, "in ner", "u v")]
    with pytest.raises(frazil.errors.CatalogError, match="not empty"):
        catalog.drop_namespace((namespace, "in ner"))
    place = moved.metadata_location
    catalog.drop_table((namespace, "in ner", "u v"))
    assert ids(catalog.register_table(f"{namespace}.back", place)) == [7]
    catalog.purge_table(f"{namespace}.back")
    catalog.drop_namespace((namespace, "in ner"))
    summary = catalog.update_namespace_properties(namespace, ["owner", "x"], {"y": "z"})
    assert (summary.removed, summary.updated, summary.missing) == (["owner"], ["y"], ["x"])
    catalog.drop_namespace(namespace)
    assert not catalog.namespace_exists(namespace)
