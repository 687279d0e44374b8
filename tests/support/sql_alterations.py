"""ALTER statements on one table, and the changes of its metadata, to compare frazil with Iceberg (Java)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from support.garbage import path_of

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import Table

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("v", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.decimal128(9, 2)),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("l", pa.list_(pa.struct([("a", pa.int32())]))),
        ("m", pa.map_(pa.string(), pa.struct([("b", pa.int32())]))),
    ]
)
ROWS = [{"id": 1, "name": "a"}]

STATEMENTS = """
ADD COLUMN c int
ADD COLUMN c int COMMENT 'a comment'
ADD COLUMN c decimal(12, 3) FIRST
ADD COLUMN c string AFTER id
ADD COLUMNS (c int, e string COMMENT 'x' AFTER id)
ADD COLUMNS c int, e binary
ADD COLUMN s.z bigint
ADD COLUMN s.z bigint AFTER x
ADD COLUMN s.z date FIRST
ADD COLUMN l.element.b double
ADD COLUMN m.value.c boolean
ADD COLUMN c struct<p: int COMMENT 'inner', q: array<string>>
ADD COLUMN c map<string, array<bigint>>
ADD COLUMN c timestamp
ADD COLUMN c timestamp_ntz
ADD COLUMN c tinyint
ADD COLUMN c char(5)
ADD COLUMN c int NOT NULL
ADD COLUMN id int
ADD COLUMN NAME int
ADD COLUMN c int AFTER nothing
ADD COLUMN nothing.c int
ADD COLUMN c int, c string
DROP COLUMN v
DROP COLUMN V
DROP COLUMN IF EXISTS nothing
DROP COLUMN nothing
DROP COLUMNS (v, f)
DROP COLUMN s.x
DROP COLUMN s
DROP COLUMN ts
DROP COLUMN id
RENAME COLUMN v TO w
RENAME COLUMN V TO w
RENAME COLUMN s.x TO z
RENAME COLUMN l.element.a TO b
RENAME COLUMN id TO key
RENAME COLUMN ts TO time
RENAME COLUMN v TO name
RENAME COLUMN nothing TO w
ALTER COLUMN v TYPE bigint
ALTER v TYPE bigint
ALTER COLUMN f TYPE double
ALTER COLUMN d TYPE decimal(12, 2)
ALTER COLUMN d TYPE decimal(12, 3)
ALTER COLUMN v TYPE string
ALTER COLUMN v TYPE int
ALTER COLUMN s.x TYPE bigint
ALTER COLUMN l.element.a TYPE bigint
ALTER COLUMN m.value.b TYPE bigint
ALTER COLUMN m.key TYPE int
ALTER COLUMN name COMMENT 'the name'
ALTER COLUMN s.y COMMENT 'inner'
ALTER COLUMN v FIRST
ALTER COLUMN v AFTER name
ALTER COLUMN v AFTER nothing
ALTER COLUMN s.y FIRST
ALTER COLUMN s.y AFTER x
ALTER COLUMN id DROP NOT NULL
ALTER COLUMN v DROP NOT NULL
ALTER COLUMN v SET NOT NULL
ALTER COLUMN id SET NOT NULL
ALTER COLUMN nothing COMMENT 'x'
CHANGE COLUMN v v bigint COMMENT 'wide' AFTER id
CHANGE v v bigint FIRST
CHANGE COLUMN v w bigint
ADD PARTITION FIELD name
ADD PARTITION FIELD truncate(4, name)
ADD PARTITION FIELD truncate(name, 4) AS short
ADD PARTITION FIELD bucket(16, v)
ADD PARTITION FIELD bucket(16, v) AS shard
ADD PARTITION FIELD hours(ts)
ADD PARTITION FIELD days(ts)
ADD PARTITION FIELD month(ts) AS ts_month
ADD PARTITION FIELD years(ts)
ADD PARTITION FIELD s.x
ADD PARTITION FIELD bucket(4, s.x)
ADD PARTITION FIELD bucket(8, id)
ADD PARTITION FIELD nothing
ADD PARTITION FIELD days(name)
DROP PARTITION FIELD id_bucket
DROP PARTITION FIELD bucket(8, id)
DROP PARTITION FIELD days(ts)
DROP PARTITION FIELD ts_day
DROP PARTITION FIELD bucket(9, id)
DROP PARTITION FIELD name
DROP PARTITION FIELD nothing
REPLACE PARTITION FIELD ts_day WITH hours(ts)
REPLACE PARTITION FIELD days(ts) WITH months(ts) AS m2
REPLACE PARTITION FIELD id_bucket WITH bucket(16, id)
REPLACE PARTITION FIELD id_bucket WITH id
REPLACE PARTITION FIELD nothing WITH id
WRITE ORDERED BY id
WRITE ORDERED BY id DESC, name
WRITE ORDERED BY id ASC NULLS LAST, name DESC NULLS FIRST
WRITE ORDERED BY (id, bucket(8, v) DESC)
WRITE ORDERED BY days(ts), s.x
WRITE LOCALLY ORDERED BY id
WRITE UNORDERED
WRITE DISTRIBUTED BY PARTITION
WRITE DISTRIBUTED BY PARTITION ORDERED BY id
WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id, name
WRITE LOCALLY ORDERED BY id DISTRIBUTED BY PARTITION
WRITE ORDERED BY nothing
SET IDENTIFIER FIELDS id
SET IDENTIFIER FIELDS id, v
SET IDENTIFIER FIELDS v
SET IDENTIFIER FIELDS nothing
DROP IDENTIFIER FIELDS id
DROP IDENTIFIER FIELDS name
DROP IDENTIFIER FIELDS nothing
CREATE BRANCH b2
CREATE BRANCH IF NOT EXISTS b1
CREATE BRANCH b1
CREATE BRANCH b2 AS OF VERSION {first}
CREATE BRANCH b2 RETAIN 7 DAYS
CREATE BRANCH b2 AS OF VERSION {first} RETAIN 2 HOURS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 5 MINUTES
CREATE BRANCH b2 WITH SNAPSHOT RETENTION 3 SNAPSHOTS
CREATE BRANCH b2 WITH SNAPSHOT RETENTION 5 DAYS
CREATE OR REPLACE BRANCH b2
CREATE OR REPLACE BRANCH b1
CREATE OR REPLACE BRANCH b1 RETAIN 1 DAYS
REPLACE BRANCH b1
REPLACE BRANCH b1 AS OF VERSION {second} RETAIN 1 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 3 HOURS
REPLACE BRANCH b2
REPLACE BRANCH v1
CREATE BRANCH b2 AS OF VERSION 77
CREATE TAG v2
CREATE TAG IF NOT EXISTS v1
CREATE TAG v1
CREATE TAG v2 AS OF VERSION {first}
CREATE TAG v2 AS OF VERSION {first} RETAIN 10 DAYS
CREATE OR REPLACE TAG v1
CREATE OR REPLACE TAG v2
REPLACE TAG v1 AS OF VERSION {second}
REPLACE TAG v1 RETAIN 3 DAYS
REPLACE TAG v2
CREATE TAG b1
DROP BRANCH b1
DROP BRANCH IF EXISTS b2
DROP BRANCH b2
DROP BRANCH v1
DROP BRANCH main
DROP TAG v1
DROP TAG IF EXISTS v2
DROP TAG v2
DROP TAG b1
SET TBLPROPERTIES ('a' = '2', 'b' = 'x')
SET TBLPROPERTIES ('comment' = 'about it')
SET TBLPROPERTIES ('current-snapshot-id' = '{first}')
SET TBLPROPERTIES ('current-snapshot-id' = '77')
SET TBLPROPERTIES ('format-version' = '3')
SET TBLPROPERTIES ('format-version' = '1')
SET TBLPROPERTIES ('format-version' = '9')
SET TBLPROPERTIES ('sort-order' = 'id')
SET TBLPROPERTIES ('identifier-fields' = 'id')
SET TBLPROPERTIES ('write.format.default' = 'orc')
SET TBLPROPERTIES ('commit.retry.num-retries' = '7', 'a' = '9')
UNSET TBLPROPERTIES ('a')
UNSET TBLPROPERTIES IF EXISTS ('a', 'nothing')
UNSET TBLPROPERTIES ('nothing')
""".strip().splitlines()
"""The statements, without `ALTER TABLE name`; `{first}` and `{second}` are the ids of the snapshots."""


def make(catalog: Any, name: str, version: int) -> Table:
    """Create the table that is altered."""
    table: Table = catalog.create_table(
        f"db.{name}",
        COLUMNS,
        partition_by=["bucket(8, id)", "day(ts)"],
        format_version=version,
        properties={"a": "1"},
    )
    table.update_schema().set_identifier_fields("id").commit()
    for row in ROWS * 2:
        table.append([row])
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_tag(first, "v1").create_branch(first, "b1").commit()
    return table


def statement(text: str, name: str, table: Table) -> str:
    """Return a statement on a table."""
    first, second = (snapshot.snapshot_id for snapshot in table.snapshots())
    return f"ALTER TABLE {name} {text.format(first=first, second=second)}"


def metadata(location: str) -> dict[str, Any]:
    """Return the newest metadata of a table in a folder."""
    folder: Path = path_of(location) / "metadata"
    hint = int((folder / "version-hint.text").read_text(encoding="utf-8"))
    newest = max(
        (path for path in folder.glob("v*.metadata.json") if int(path.name.split(".")[0][1:]) >= hint),
        key=lambda path: int(path.name.split(".")[0][1:]),
    )
    found: dict[str, Any] = json.loads(newest.read_text(encoding="utf-8"))
    return found


def facts(found: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that statements change, with positions in the snapshot list instead of snapshot ids."""
    places = {one["snapshot-id"]: place for place, one in enumerate(found.get("snapshots", ()))}
    schemas = {one["schema-id"]: one for one in found["schemas"]}
    specs = {one["spec-id"]: one["fields"] for one in found["partition-specs"]}
    orders = {one["order-id"]: one["fields"] for one in found["sort-orders"]}
    schema = schemas[found["current-schema-id"]]
    return {
        "format-version": found["format-version"],
        "fields": schema["fields"],
        "identifiers": sorted(schema.get("identifier-field-ids", ())),
        "last-column-id": found["last-column-id"],
        "last-partition-id": found["last-partition-id"],
        "order": orders[found["default-sort-order-id"]],
        "properties": found.get("properties", {}),
        "refs": {
            name: {key: places[value] if key == "snapshot-id" else value for key, value in ref.items()}
            for name, ref in sorted(found.get("refs", {}).items())
        },
        "spec": specs[found["default-spec-id"]],
    }


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that differ."""
    return {key: value for key, value in after.items() if before[key] != value}


def text(golden: dict[str, dict[str, Any]]) -> str:
    """Return the golden file: JSON with a line for each statement."""
    versions = (
        f'"{version}": {{\n'
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
        + "\n}"
        for version, found in golden.items()
    )
    return "{\n" + ",\n".join(versions) + "\n}\n"
