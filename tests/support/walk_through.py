"""A walk-through of what Spark SQL with Iceberg 0.12.1 writes to a hadoop catalog, statement by statement.

The statements are those of the document. `check` compares folders, the version hint and the JSON fields.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import frazil

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from frazil.sql import Lake

STATEMENTS = """
CREATE TABLE local.db.table (id bigint, data string) USING iceberg;

CREATE TABLE local.db.tableV2 (id bigint, data string)
USING iceberg
TBLPROPERTIES ('format-version'='2');

INSERT INTO local.db.table VALUES (1, 'a');

INSERT INTO local.db.table VALUES (2, 'b');
"""

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

LATER_FIELDS = {"refs", "statistics", "partition-statistics"}
"""Metadata fields that Iceberg 0.12.1 did not have."""

LATER_SUMMARY = {"engine-name", "engine-version"}
"""Summary entries that Iceberg 0.12.1 did not have."""

CHANGING = {"last-updated-ms", "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log"}
"""Metadata fields that differ between the states of a table."""

FIELDS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "data", "required": False, "type": "string"},
]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": FIELDS}


def settings(warehouse: Path) -> dict[str, str]:
    """Return the settings of the document, and the default format version of its release."""
    return {
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hive",
        "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.local.type": "hadoop",
        "spark.sql.catalog.local.warehouse": str(warehouse),
        "spark.sql.catalog.local.table-default.format-version": "1",
    }


def run(lake: Lake[DataFrame]) -> dict[str, Any]:
    """Run the statements; return the rows and the properties of the session as JSON values."""
    lake.script(STATEMENTS)
    session = lake.sql("SELECT current_user() AS user").sparkSession
    return {
        "table": sorted(map(list, lake.sql("SELECT * FROM local.db.table").collect())),
        "tableV2": lake.sql("SELECT * FROM local.db.tableV2").collect(),
        "user": lake.sql("SELECT current_user()").collect()[0][0],
        "application": session.conf.get("spark.app.id"),
    }


def check(found: dict[str, Any], warehouse: Path) -> None:
    """Compare the results of a run and the warehouse with the document."""
    assert found["table"] == [[1, "a"], [2, "b"]]
    assert found["tableV2"] == []
    check_files(warehouse / "db")
    folder = warehouse / "db" / "table" / "metadata"
    states = [json.loads((folder / f"v{number}.metadata.json").read_text(encoding="utf-8")) for number in (1, 2, 3)]
    check_states(states, folder, found["user"])
    check_snapshots(states, found["application"])
    check_version_2(warehouse / "db" / "tableV2" / "metadata" / "v1.metadata.json", found["user"])
    check_manifests(warehouse / "db" / "table")


def listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def check_files(namespace: Path) -> None:
    names = listed(namespace / "table")
    expected = [
        # The document has `00000-1-` for the second file: the number of Spark's task, which does not exist here.
        *[rf"data/00000-0-{UUID}-00001\.parquet"] * 2,
        *[rf"metadata/{UUID}-m0\.avro"] * 2,
        *[rf"metadata/snap-\d+-1-{UUID}\.avro"] * 2,
        *[rf"metadata/v{number}\.metadata\.json" for number in (1, 2, 3)],
        r"metadata/version-hint\.text",
    ]
    assert len(names) == len(expected)
    for pattern in expected:
        assert sum(re.fullmatch(pattern, name) is not None for name in names) == expected.count(pattern), pattern
    assert (namespace / "table" / "metadata" / "version-hint.text").read_bytes() == b"3"
    assert listed(namespace / "tableV2") == ["metadata/v1.metadata.json", "metadata/version-hint.text"]
    assert (namespace / "tableV2" / "metadata" / "version-hint.text").read_bytes() == b"1"


def check_states(states: list[dict[str, Any]], folder: Path, user: str) -> None:
    first, second, third = states
    fixed = {
        "format-version": 1,
        "table-uuid": first["table-uuid"],
        "location": str(folder.parent),
        "last-column-id": 2,
        "schema": SCHEMA,
        "current-schema-id": 0,
        "schemas": [SCHEMA],
        "partition-spec": [],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"owner": user},
    }
    for state in states:
        assert {name: state[name] for name in fixed} == fixed
        assert state.keys() - LATER_FIELDS == fixed.keys() | CHANGING
    check_empty(first)
    ids = [snapshot["snapshot-id"] for snapshot in third["snapshots"]]
    assert [second["current-snapshot-id"], third["current-snapshot-id"]] == ids
    assert [entry["snapshot-id"] for entry in third["snapshot-log"]] == ids
    logged = [entry["metadata-file"] for entry in third["metadata-log"]]
    assert logged == [str(folder / f"v{number}.metadata.json") for number in (1, 2)]


def check_empty(state: dict[str, Any]) -> None:
    assert state["current-snapshot-id"] == -1
    assert [state["snapshots"], state["snapshot-log"], state["metadata-log"]] == [[], [], []]


def check_snapshots(states: list[dict[str, Any]], application: str) -> None:
    _, second, third = states
    assert third["snapshots"][0] == second["snapshots"][0]
    assert "parent-snapshot-id" not in third["snapshots"][0]
    assert third["snapshots"][1]["parent-snapshot-id"] == third["snapshots"][0]["snapshot-id"]
    for count, snapshot in enumerate(third["snapshots"], start=1):
        assert snapshot["schema-id"] == 0
        summary = {name: value for name, value in snapshot["summary"].items() if name not in LATER_SUMMARY}
        size = summary["added-files-size"]
        assert int(summary.pop("total-files-size")) >= count * int(size)
        assert summary == {
            "operation": "append",
            "spark.app.id": application,
            "added-data-files": "1",
            "added-records": "1",
            "added-files-size": size,
            "changed-partition-count": "1",
            "total-records": str(count),
            "total-data-files": str(count),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
        }


def check_version_2(path: Path, user: str) -> None:
    state = json.loads(path.read_text(encoding="utf-8"))
    fixed = {
        "format-version": 2,
        "table-uuid": state["table-uuid"],
        "location": str(path.parents[1]),
        "last-sequence-number": 0,
        "last-column-id": 2,
        "current-schema-id": 0,
        "schemas": [SCHEMA],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"owner": user},
    }
    assert {name: state[name] for name in fixed} == fixed
    # `schema` and `partition-spec` are excluded, because they are fields of version 1.
    assert state.keys() - LATER_FIELDS == fixed.keys() | CHANGING
    check_empty(state)


def check_manifests(folder: Path) -> None:
    table = frazil.load_table(folder)
    assert isinstance(table, frazil.iceberg.Table)
    newest = table.current_snapshot()
    assert newest is not None
    manifests = table.inspect.manifests().to_pylist()
    assert [(one["added_data_files_count"], one["deleted_data_files_count"]) for one in manifests] == [(1, 0), (1, 0)]
    # The latest manifest is the first in the list.
    assert manifests[0]["added_snapshot_id"] == newest.snapshot_id
    files = table.inspect.files().to_pylist()
    assert all(file["record_count"] == 1 for file in files)
    bounds = sorted((sorted(file["lower_bounds"]), sorted(file["upper_bounds"])) for file in files)
    values = [[(1, number.to_bytes(8, "little")), (2, text)] for number, text in ((1, b"a"), (2, b"b"))]
    assert bounds == [(value, value) for value in values]
