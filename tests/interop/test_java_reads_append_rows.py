"""Interoperability tests of DELETE, UPDATE and MERGE in Paimon tables without a primary key: Java reads the rows, and
writes on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import frazil

if TYPE_CHECKING:
    from histories.paimon.oracle import Oracle

COLUMNS = {"part": "STRING", "id": "BIGINT", "v": "INT", "name": "STRING", "x": "DOUBLE", "tags": "ARRAY<STRING>"}
BUCKETS = {"bucket": 3, "bucket-key": "id"}
KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "unaware": ([], {}),
    "bucketed": ([], BUCKETS),
    "partitioned": (["part"], {}),
    "partitioned and bucketed": (["part"], BUCKETS),
    "small files": ([], {"target-file-size": "1 kb"}),
    "indexes": ([], {"file-index.bloom-filter.columns": "id,name", "file-index.bitmap.columns": "v"}),
    "vectors": ([], {"deletion-vectors.enabled": "true"}),
    "vectors in partitions": (["part"], {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"}),
    "vectors in buckets": (["part"], {**BUCKETS, "deletion-vectors.enabled": "true"}),
    "small manifests": (["part"], {"manifest.merge-min-count": 2}),
}


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)


def new_row(number: int, name: str, v: int | None = None) -> dict[str, Any]:
    tags = None if number % 3 == 0 else [name, None][: number % 3]
    return {
        "part": [None, "x", "y"][number % 3],
        "id": number,
        "v": number if v is None else v,
        "name": name,
        "x": number / 4,
        "tags": tags,
    }


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("kind", KINDS)
def test_java_reads_changed_rows_and_writes_on_top(oracle: Oracle, kind: str, file_format: str) -> None:
    catalog: Any = frazil.load_catalog("lake", type="paimon", warehouse=str(oracle.table.parent.parent))
    catalog.create_namespace_if_not_exists("db")
    for _, known in catalog.list_tables("db"):
        catalog.purge_table(f"db.{known}")
    parts, options = KINDS[kind]
    table = catalog.create_table("db.t", COLUMNS, partition_keys=parts, options=options | {"file.format": file_format})
    more = catalog.create_table("db.more", COLUMNS)

    def check() -> list[dict[str, Any]]:
        (theirs,) = oracle.plain(("read", "t"))
        assert not isinstance(theirs, str), theirs
        # Java's doubles are compared as text.
        ours = [row | {"x": str(row["x"])} for row in table.scan().to_arrow().to_pylist()]
        assert ordered(theirs) == ordered(ours)
        return ordered(ours)

    def copy(first: int) -> None:
        """Let Java add rows."""
        more.overwrite([new_row(number, "j") for number in range(first, first + 6)])
        assert oracle.plain(("copy", "more", "t", None)) == [None]

    for first in (0, 20):
        table.append([new_row(number, "a") for number in range(first, first + 20)])
    assert table.delete("id % 5 = 0").deleted_rows == 8
    check()
    copy(100)
    assert len(check()) == 38
    assert table.update({"v": "v + 1", "name": "concat(name, '!')"}, "id >= 30").updated_rows == 14
    check()
    copy(110)
    moved = table.update({"part": "'z'", "id": "id + 1000"}, "id in (31, 101, 112)")
    assert moved.updated_rows == 3
    check()
    copy(120)
    source = [new_row(number, "m", 5000) for number in (1, 6, 121, 500, 501)]
    merge = table.merge(source, ["id"]).when_matched_delete("source.id = 6").when_matched_update_all()
    merge = merge.when_not_matched_insert_all().when_not_matched_by_source_delete("target.id = 17")
    merged = merge.execute()
    assert (merged.deleted_rows, merged.updated_rows, merged.inserted_rows) == (2, 2, 2)
    check()
    copy(130)
    assert table.upsert([new_row(2, "u"), new_row(131, "u"), new_row(600, "u")], ["id"]).updated_rows == 2
    check()
    table.compact()
    copy(140)
    found = check()
    assert table.delete("name = 'j'").deleted_rows == sum(row["name"] == "j" for row in found)
    assert len(check()) == len(found) - sum(row["name"] == "j" for row in found)
    assert table.delete().deleted_rows
    assert check() == []
    copy(150)
    assert len(check()) == 6
