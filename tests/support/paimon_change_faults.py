"""Changes of rows and of schemas of Paimon tables, each with one fault: the sweep of `support.faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.paimon_addresses import Selected, change
from support.paimon_faults import (
    BUCKETS,
    DELETED,
    KEYED,
    KEYED_PARTED,
    LOGGED,
    NEW,
    ON_BRANCH,
    PARTED,
    VECTORS,
    PaimonCatalogWorld,
    PaimonOperation,
    dicts,
    on_table,
    repeated,
)

if TYPE_CHECKING:
    from support.faults import Operation
    from support.paimon_faults import Row

MOVING: Any = {**PARTED, "primary_keys": ("id",), "properties": {"bucket": "-1"}}
UNKEYED_BUCKETS: Any = {"properties": {"bucket": "2", "bucket-key": "id"}}
MARKED: Any = {"properties": {"deletion-vectors.enabled": "true", "bucket": "-1"}}
MARKED_PARTED: Any = {**PARTED, **MARKED}
CHANGED_IDS = (1, 7)
MATCHES = "id in (1, 7)"


def deleted(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[0] not in CHANGED_IDS]


def without_a(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[1] != "a"]


def updated(rows: list[Row]) -> list[Row]:
    return [(i, p, (n or 0) + 100) if i in CHANGED_IDS else (i, p, n) for i, p, n in rows]


def moved(rows: list[Row]) -> list[Row]:
    return [(i, "z", n) if i in CHANGED_IDS else (i, p, n) for i, p, n in rows]


def merged(rows: list[Row]) -> list[Row]:
    found = {row[:2]: row for row in rows}
    return [*(found | {row[:2]: row for row in NEW if row[0] != DELETED[0]}).values()]


def merged_and_deleted(rows: list[Row]) -> list[Row]:
    return [row for row in merged(rows) if row[:2] != DELETED[:2]]


def merge(table: Any, **about: Any) -> None:
    builder = table.merge(dicts([*NEW, DELETED]), ["id", "p"], **about)
    builder.when_matched_delete("source.id = 3").when_matched_update_all().when_not_matched_insert_all().execute()


def evolve(table: Any) -> None:
    with table.update_schema() as update:
        update.add_column("m", "STRING", default_value="x")
        update.update_column("n", "BIGINT")
        update.set_option("snapshot.num-retained.min", 5)


def by_address(rows: list[Row]) -> list[Row]:
    return [(i, p, 107 if i == 7 else n) for i, p, n in rows if i != 1]


def moved_by_key(rows: list[Row]) -> list[Row]:
    return [*({row[0]: row for row in rows} | {row[0]: row for row in NEW}).values()]


DELETE = on_table(lambda table: table.delete(MATCHES))
DELETE_PARTITION = on_table(lambda table: table.delete("p = 'a'"))
DELETE_ALL = on_table(lambda table: table.delete())
UPDATE = on_table(lambda table: table.update({"n": "n + 100"}, MATCHES))
MOVE = on_table(lambda table: table.update({"p": "'z'"}, MATCHES))
MERGE = on_table(merge)
UPSERT = on_table(lambda table: table.upsert(dicts(NEW), ["id", "p"]))
STREAM_OF_UPDATES = repeated(lambda table, **about: table.update({"n": "n + 100"}, MATCHES, **about))
STREAM_OF_MERGES = repeated(merge)
BY_ADDRESS = on_table(lambda table: change(table, Selected("id = 1", {"id = 7": {"n": 107}})))
APPEND = on_table(lambda table: table.append(dicts(NEW)))
COMPACT_MANIFESTS = on_table(lambda table: table.compact_manifests())
ALTER = on_table(evolve)
SET_OPTION = on_table(lambda table: table.set_properties({"snapshot.num-retained.min": 5}))

OPERATIONS: list[Operation] = [
    PaimonOperation("paimon delete", DELETE, model=deleted),
    PaimonOperation("paimon delete in partitions", DELETE, model=deleted, **PARTED),
    PaimonOperation("paimon delete in buckets", DELETE, model=deleted, **UNKEYED_BUCKETS),
    PaimonOperation("paimon delete of whole files", DELETE_PARTITION, model=without_a, **PARTED),
    PaimonOperation("paimon delete of all rows", DELETE_ALL, model=lambda _: [], **PARTED),
    PaimonOperation("paimon update", UPDATE, model=updated),
    PaimonOperation("paimon update ORC", UPDATE, model=updated, properties={"file.format": "orc"}),
    PaimonOperation("paimon update Avro", UPDATE, model=updated, properties={"file.format": "avro"}),
    PaimonOperation("paimon update in buckets", UPDATE, model=updated, **BUCKETS),
    PaimonOperation("paimon update that moves rows", MOVE, model=moved, **PARTED),
    PaimonOperation("paimon update that moves rows of buckets", MOVE, model=moved, **BUCKETS),
    PaimonOperation("paimon update in a catalog", UPDATE, model=updated, world=PaimonCatalogWorld),
    PaimonOperation("paimon update of a branch", UPDATE, model=updated, **PARTED, **ON_BRANCH),
    PaimonOperation("paimon delete that marks rows", DELETE, model=deleted, **MARKED),
    PaimonOperation("paimon update that marks rows", UPDATE, model=updated, **MARKED_PARTED),
    PaimonOperation("paimon merge that marks rows", MERGE, model=merged_and_deleted, **MARKED_PARTED),
    PaimonOperation("paimon merge", MERGE, model=merged_and_deleted),
    PaimonOperation("paimon merge in partitions", MERGE, model=merged_and_deleted, **PARTED),
    PaimonOperation("paimon merge in buckets", MERGE, model=merged_and_deleted, **UNKEYED_BUCKETS),
    PaimonOperation("paimon merge into an empty table", MERGE, writes=0, model=lambda _: [*NEW, DELETED]),
    PaimonOperation("paimon upsert without keys", UPSERT, model=merged, **PARTED),
    PaimonOperation("paimon stream of updates", STREAM_OF_UPDATES, model=updated, is_repeatable=True),
    PaimonOperation("paimon stream of merges", STREAM_OF_MERGES, model=merged_and_deleted, is_repeatable=True),
    PaimonOperation("paimon delete with keys", DELETE, model=deleted, **KEYED_PARTED),
    PaimonOperation("paimon delete with vectors", DELETE, model=deleted, **VECTORS),
    PaimonOperation("paimon update with keys", UPDATE, model=updated, **KEYED),
    PaimonOperation("paimon update with a changelog", UPDATE, model=updated, **LOGGED),
    PaimonOperation("paimon merge with keys", MERGE, model=merged_and_deleted, **KEYED_PARTED),
    PaimonOperation("paimon upsert that moves keys", APPEND, writes=1, model=moved_by_key, **MOVING),
    PaimonOperation("paimon update that moves keys", MOVE, writes=1, model=moved, **MOVING),
    PaimonOperation("paimon change by addresses", BY_ADDRESS, model=by_address, **PARTED),
    PaimonOperation("paimon compact_manifests", COMPACT_MANIFESTS, writes=3),
    PaimonOperation("paimon alter", ALTER),
    PaimonOperation("paimon alter in a catalog", ALTER, world=PaimonCatalogWorld),
    PaimonOperation("paimon alter of an empty table", ALTER, writes=0),
    PaimonOperation("paimon set_properties", SET_OPTION, **KEYED),
    PaimonOperation("paimon analyze", on_table(lambda table: table.analyze()), **PARTED),
]
"""The names of the operations include whether they compact."""
