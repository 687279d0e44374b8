"""Interoperability tests of DELETE, UPDATE and MERGE in Paimon tables: Java reads the rows, and writes on top."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import frazil

if TYPE_CHECKING:
    from histories.paimon.oracle import Oracle

COLUMNS = {"part": "STRING", "id": "BIGINT", "v": "INT", "name": "STRING"}
TABLES: dict[str, dict[str, Any]] = {
    "fixed": {"bucket": 2},
    "dynamic": {"bucket": -1},
    "input": {"bucket": 2, "changelog-producer": "input"},
    "sequence": {"bucket": 2, "sequence.field": "v"},
    "partial": {
        "bucket": 2,
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "orc": {"bucket": 1, "file.format": "orc"},
    "vectors": {"bucket": 2, "deletion-vectors.enabled": "true"},
    "bitmap64": {"bucket": 1, "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "dynamic vectors": {"bucket": -1, "deletion-vectors.enabled": "true"},
    "lookup": {"bucket": 2, "force-lookup": "true"},
    "postponed": {"bucket": -2, "postpone.default-bucket-num": 3},
    "postponed vectors": {"bucket": -2, "deletion-vectors.enabled": "true"},
    "small files": {"bucket": 1, "deletion-vectors.enabled": "true", "target-file-size": "1 kb"},
}


def rows_of(table: Any) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=repr)


def change(table: Any) -> None:
    assert table.delete("id % 5 = 0").deleted_rows
    assert table.update({"v": "v + 1", "name": "concat(name, '!')"}, "id > 10").updated_rows
    source = [{"part": "x", "id": number, "v": 1000 + number, "name": "m"} for number in (3, 6, 9, 900, 901)]
    merge = table.merge(source, ["part", "id"]).when_matched_delete("source.id = 6").when_matched_update_all()
    merged = merge.when_not_matched_insert_all().when_not_matched_by_source_delete("target.id = 17").execute()
    assert merged.deleted_rows
    assert table.upsert([{"part": "y", "id": 1, "v": 5000, "name": "u"}]).updated_rows == 1


@pytest.mark.parametrize("name", TABLES)
def test_java_reads_changed_rows_and_writes_on_top(oracle: Oracle, name: str) -> None:
    catalog: Any = frazil.load_catalog("lake", type="paimon", warehouse=str(oracle.table.parent.parent))
    catalog.create_namespace_if_not_exists("db")
    for _, known in catalog.list_tables("db"):
        catalog.purge_table(f"db.{known}")

    def read(table: str) -> list[dict[str, Any]]:
        (found,) = oracle.plain(("read", table))
        assert not isinstance(found, str), found
        return sorted(found, key=repr)

    keys = {"primary_keys": ["part", "id"], "partition_keys": ["part"]}
    table = catalog.create_table("db.t", COLUMNS, **keys, options=TABLES[name])
    more = catalog.create_table("db.more", COLUMNS, **keys, options={"bucket": 1})
    table.append([{"part": "xy"[n % 2], "id": n, "v": n, "name": "a"} for n in range(30)])
    change(table)
    assert read("t") == rows_of(table)
    more.append([{"part": "x", "id": n, "v": 9000 + n, "name": "j"} for n in (2, 4, 10, 700)])
    if TABLES[name]["bucket"] == -1:
        # The test's writer of Java does not assign rows to dynamic buckets.
        table.append(more.scan())
    else:
        assert oracle.plain(("copy", "more", "t", None)) == [None]
    table = catalog.load_table("db.t")
    if TABLES[name]["bucket"] == -2:
        before = rows_of(table)
        assert read("t") == before, "rows of this writer wait for buckets"
        table.compact()
        assert rows_of(table) != before
    assert read("t") == rows_of(table)
    assert table.update({"v": "v + 1"}, "name = 'j'").updated_rows == 4
    assert table.delete("id = 4").deleted_rows == 1
    assert read("t") == rows_of(table)
    table.compact()
    assert read("t") == rows_of(table)
    assert [row["v"] for row in rows_of(table) if row["name"] == "j"] == [9011, 9003, 9701]


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
def test_java_reads_keys_that_moved(oracle: Oracle, engine: str) -> None:
    catalog: Any = frazil.load_catalog("lake", type="paimon", warehouse=str(oracle.table.parent.parent))
    catalog.create_namespace_if_not_exists("db")
    for _, known in catalog.list_tables("db"):
        catalog.purge_table(f"db.{known}")
    options = {"merge-engine": engine, "dynamic-bucket.target-row-num": 5}
    keys = {"primary_keys": ["id"], "partition_keys": ["part"]}
    table = catalog.create_table("db.t", COLUMNS, **keys, options=options)
    chance = Random(5)  # noqa: S311 - of a test
    for step in range(6):
        rows = [
            {"part": chance.choice("xyz"), "id": n, "v": n + step, "name": "a"} for n in chance.sample(range(40), 20)
        ]
        table.append(rows)
        if step == 3:
            table.compact()
        (found,) = oracle.plain(("read", "t"))
        assert not isinstance(found, str), found
        assert sorted(found, key=repr) == rows_of(table)
    assert len({row["id"] for row in rows_of(table)}) == len(rows_of(table))
