"""Tests of replaced tables: frazil's metadata matches Iceberg (Java), and Java can read the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support.java import JavaError
from support.java_checks import check_metadata, check_rows

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import Table
    from support.java import Java

FIRST = "id bigint, ts timestamp_ntz, s struct<x: int, l: array<int>>, `a.b` int"
SECOND = {
    "other columns": ("s struct<l: array<string>, y: int, x: string>, id string not null, new int", []),
    "the same columns": (FIRST, ["id", "days(ts)"]),
    "another partition": (FIRST, ["bucket(4, id)", "id"]),
    "a partition less": (FIRST, ["id"]),
    "a name with a dot": ("a struct<b: int>, `a.c` int", []),
    "a column of the old partition": ("ts int, m map<string, struct<x: int>>", ["ts"]),
}
UNREADABLE = "a column of the old partition"
"""Java cannot read its own table, whose old transform is not valid for its column any more; it can read frazil's."""

PARTS = ("schemas", "current-schema-id", "partition-specs", "default-spec-id", "last-column-id", "last-partition-id")
MORE = ("sort-orders", "default-sort-order-id", "current-snapshot-id", "format-version")


def metadata(table: Table) -> dict[str, Any]:
    found = {part: json.loads(table._native.metadata_json(part)) for part in (*PARTS, *MORE)}
    history = len(json.loads(table._native.metadata_json("snapshot-log")))
    return found | {"refs": sorted(table.refs()), "history": history}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("case", SECOND)
def test_a_definition_is_that_of_java(java: Java, warehouse: Path, case: str, version: int) -> None:
    number = list(SECOND).index(case)
    columns, partition_by = SECOND[case]
    properties = f"tblproperties ('format-version' = '{version}', 'a' = 'b')"
    tables = []
    for writer in ("java", "frazil"):
        table = f"replaced.t{number}_{version}_{writer}"
        java.many(
            [
                f"create table java.{table} ({FIRST}) using iceberg partitioned by (days(ts), id) {properties}",
                f"insert into java.{table} values (1, null, null, 5)",  # noqa: S608
                f"alter table java.{table} create tag v",
            ]
        )
        opened = frazil.load_catalog(type="hadoop", warehouse=str(warehouse)).load_table(table)
        tables.append(opened)
        schema = _schema(java, number, version, columns)
        if writer == "java":
            clause = f"partitioned by ({', '.join(partition_by)})" if partition_by else ""
            java.sql(f"replace table java.{table} ({columns}) using iceberg {clause} tblproperties ('c' = 'd')")
            continue
        catalog = opened.catalog
        terms = [term.replace("days(", "day(") for term in partition_by]
        with catalog.replace_table_transaction(table, schema, partition_by=terms, properties={"c": "d"}):
            pass
    by_java, by_frazil = (table.refresh() for table in tables)
    if case == UNREADABLE:
        with pytest.raises(JavaError, match="Unsupported type: int"):
            java.sql(f"insert into java.replaced.t{number}_{version}_java values (1, null)")  # noqa: S608
    else:
        assert metadata(by_frazil) == metadata(by_java)
    assert by_frazil.properties["a"] == "b"
    assert by_frazil.properties["c"] == "d"
    by_frazil.append([{by_frazil.schema().fields[-1].name: None} | ({"id": "1"} if "not null" in columns else {})])
    name = f"java.replaced.t{number}_{version}_frazil"
    check_rows(java, by_frazil, name)
    check_metadata(java, by_frazil, name)


def _schema(java: Java, number: int, version: int, columns: str) -> Any:
    """Return the schema of the columns in a temporary Java table."""
    name = f"replaced.s{number}_{version}"
    java.sql(f"create table if not exists java.{name} ({columns}) using iceberg")
    location = java.sql(f"describe extended java.{name}").to_pylist()
    place = next(row["data_type"] for row in location if row["col_name"] == "Location")
    return frazil.load_table(str(place).removeprefix("file:")).schema()
