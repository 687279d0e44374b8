"""Tables that frazil writes for other readers: each value of each axis with each format version.

Values of interacting axes are combined in pairs.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from support.canonical import canonical_rows, lines
from support.defects import WRITTEN_DEFECTS, WRITTEN_REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from frazil.iceberg import Table

VERSIONS = (1, 2, 3)

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("kind", pa.string()),
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us")),
        ("tz", pa.timestamp("us", "UTC")),
        ("ok", pa.bool_()),
        ("raw", pa.binary()),
        ("at", pa.struct([("lat", pa.float64()), ("tags", pa.list_(pa.string()))])),
        ("seen", pa.map_(pa.string(), pa.int64())),
    ]
)


def row(i: int, **others: Any) -> dict[str, Any]:
    """Return the row of an id; the values include special cases: NULL, NaN, zeros, and times before 1970."""
    moment = dt.datetime(1969, 12, 30, 22, 59, 59) + dt.timedelta(hours=i * 7)  # noqa: DTZ001 - the column says
    given = {
        "id": i,
        "name": (None, "", "a", "ab", "abc", "é", "z")[i % 7],
        "kind": ("a", "b", None)[i % 3],
        "n": (None, -1, 0, 1, 2147483647, -2147483648)[i % 6],
        "x": (1.5, math.nan, -0.0, 0.0, None, -math.inf, 1e300)[i % 7],
        "f": (None, -0.0, math.nan, 0.1, math.inf)[i % 5],
        "price": (None, Decimal("-0.01"), Decimal("1.25"), Decimal("9999999.99"))[i % 4],
        "day": None if i % 8 == 7 else moment.date(),
        "ts": None if i % 9 == 8 else moment,
        "tz": None if i % 10 == 9 else moment.replace(tzinfo=dt.UTC),
        "ok": (True, False, None)[i % 3],
        "raw": (None, b"", b"\x00\xff", b"abc")[i % 4],
        "at": (None, {"lat": 1.5, "tags": ["x", None]}, {"lat": None, "tags": []}, {"lat": 0.0, "tags": None})[i % 4],
        "seen": (None, [], [("k", 1)], [("k", None), ("l", 2)])[i % 4],
    }
    return given | others


def rows(*ids: int, **others: Any) -> pa.Table:
    """Return the rows of ids."""
    return pa.Table.from_pylist([row(i, **others) for i in ids], schema=SCHEMA)


FIRST = rows(*range(20))
SECOND = rows(*range(20, 30))


@dataclass(frozen=True, eq=False)
class Written:
    """The definition of a table."""

    name: str
    version: int
    change: Callable[[Table], Any]
    partition_by: tuple[str, ...] = ()
    schema: pa.Schema = SCHEMA
    first: pa.Table | None = field(default_factory=lambda: FIRST, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def identifier(self) -> str:
        """Return the name of the table: axis, value and version."""
        return f"{self.name}_v{self.version}"

    def known(self, reader: str) -> bool:
        """Return whether a reader is known to read the table incorrectly."""
        return any((reader, name) in WRITTEN_DEFECTS for name in (self.name, self.identifier))

    def refused(self, reader: str) -> str | None:
        """Return the known error of a reader that cannot read the table."""
        found = (WRITTEN_REFUSED.get((reader, name)) for name in (self.identifier, self.name))
        return next(filter(None, found), None)

    def make(self, database: Path) -> Table:
        """Create the table in the folder of a database."""
        table = frazil.create_table(
            str(database / self.identifier),
            self.schema,
            partition_by=self.partition_by,
            format_version=self.version,
            properties={"commit.retry.num-retries": "0", **self.properties},
        )
        if self.first is not None:
            table.append(self.first)
        self.change(table)
        return table


MOR = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}


def _nothing(_: Table) -> None:
    pass


def _branches(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "audit").create_tag(None, "v1").commit()
    table.append(SECOND, branch="audit")
    table.delete("id < 4", branch="audit")


def _rollback(table: Table) -> None:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.append(SECOND)
    table.manage_snapshots().rollback_to_snapshot(snapshot.snapshot_id).commit()
    table.append(rows(40, 41))


def _published(table: Table) -> None:
    _branches(table)
    table.manage_snapshots().fast_forward("main", "audit").commit()


def _several(table: Table) -> None:
    with table.transaction() as changes:
        changes.append(SECOND)
        changes.delete("id in (3, 22)")
        changes.update({"name": "'new'"}, "id in (4, 23)")
        changes.update_schema().add_column("added", "long").commit()
        changes.append(rows(50, 51).append_column("added", pa.array([1, None])))


def _merge(table: Table) -> None:
    source = rows(1, 2, 3, 100, 101, name="merged")
    (
        table.merge(source, ["id"])
        .when_matched_delete("source.id = 2")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete("target.id > 17")
        .execute()
    )


def _merge_moves(table: Table) -> None:
    """Merge with updates that move rows to other partitions."""
    source = rows(1, 2, 3, 100, kind="moved")
    table.merge(source, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()


def _merged_manifests(table: Table) -> None:
    for i in range(20, 26):
        table.append(rows(i))


def _deletes(table: Table) -> None:
    table.append(SECOND)
    table.delete("id in (2, 5, 21)")
    table.delete("id in (6, 22)")


OPERATIONS: dict[str, tuple[Callable[[Table], Any], dict[str, str]]] = {
    "append": (lambda table: table.append(SECOND, snapshot_properties={"job": "nightly"}), {}),
    "fast_append": (lambda table: table.append(SECOND, fast=True), {}),
    "merged_manifests": (_merged_manifests, {"commit.manifest.min-count-to-merge": "2"}),
    "overwrite": (lambda table: table.overwrite(SECOND, "id < 7"), {}),
    "overwrite_all": (lambda table: table.overwrite(SECOND), {}),
    "dynamic_overwrite": (lambda table: table.dynamic_partition_overwrite(rows(61, 64)), {}),
    "delete_cow": (_deletes, {}),
    "delete_file": (_deletes, {**MOR, "write.delete.granularity": "file"}),
    "delete_partition": (_deletes, {**MOR, "write.delete.granularity": "partition"}),
    "delete_whole_partition": (lambda table: table.delete("kind = 'a'"), MOR),
    "delete_all": (lambda table: table.delete(), MOR),
    "update_cow": (lambda table: table.update({"name": "'new'", "x": "x + id"}, "id in (1, 8)"), {}),
    "update_mor": (lambda table: table.update({"name": "'new'", "x": "x + id"}, "id in (1, 8)"), MOR),
    "upsert": (lambda table: table.upsert(rows(2, 3, 70, name="up"), ["id"]), MOR),
    "merge_cow": (_merge, {}),
    "merge_mor": (_merge, MOR),
    "merge_moves": (_merge_moves, MOR),
    "several": (_several, MOR),
    "branches": (_branches, MOR),
    "published": (_published, MOR),
    "rollback": (_rollback, {}),
}

PARTITIONS: dict[str, tuple[str, ...]] = {
    "identity_text": ("name",),
    "identity_double": ("x",),
    "identity_float": ("f",),
    "identity_decimal_date": ("price", "day"),
    "identity_timestamp": ("ts", "tz"),
    "identity_bool_binary": ("ok", "raw"),
    "identity_int": ("n",),
    "bucket": ("bucket(4, id)", "bucket(3, name)"),
    "bucket_others": ("bucket(2, price)", "bucket(2, day)", "bucket(2, ts)", "bucket(2, raw)"),
    "truncate": ("truncate(10, id)", "truncate(2, name)", "truncate(10, n)"),
    "truncate_others": ("truncate(50, price)", "truncate(1, raw)"),
    "year_month": ("year(day)", "month(ts)"),
    "day_hour": ("day(ts)", "hour(tz)"),
    "void": ("void(kind)", "bucket(2, id)"),
}


def _changed(table: Table) -> None:
    table.append(SECOND)
    table.delete("id in (2, 21)")
    _merge(table)


def _column_added(table: Table) -> None:
    with table.update_schema() as update:
        update.add_column("note", "string")
        update.add_column("at.deep", "int")
        if table.format_version >= 3:
            update.add_column("score", "long", default_value=7)
            update.add_column("rate", "decimal(9, 2)", required=True, default_value=Decimal("0.50"))
            update.add_column("seen_on", "date", default_value=dt.date(2024, 2, 29))
    table.append([{"id": 200, "note": "x"}, {"id": 201, "at": {"lat": 1.0, "tags": None, "deep": 4}}])
    table.delete("id in (2, 200)")


def _column_renamed(table: Table) -> None:
    table.update_schema().rename_column("name", "title").rename_column("at.lat", "latitude").commit()
    table.append([{"id": 200, "title": "x"}])
    table.update({"title": "'y'"}, "id in (2, 200)")


def _column_dropped(table: Table) -> None:
    table.update_schema().delete_column("name").delete_column("at.tags").commit()
    table.update_schema().add_column("name", "string").move_first("name").commit()
    table.append([{"id": 200, "name": "x"}])
    table.delete("id in (2, 200)")


def _column_promoted(table: Table) -> None:
    table.delete("n = 1")
    table.update_schema().update_column("n", "long").update_column("f", "double").update_column(
        "price", "decimal(18, 2)"
    ).commit()
    table.append([{"id": 200, "n": 1 << 40, "f": 0.1, "price": Decimal("123456789012.25")}])
    table.delete("n = -1 or price = 1.25")
    table.update({"n": "n + 1"}, "id = 200")


def _spec_evolved(table: Table) -> None:
    table.update_spec().add_field("kind").commit()
    table.append(SECOND)
    table.delete("id in (2, 21)")
    table.update_spec().remove_field("kind").add_field("bucket(4, id)").commit()
    table.append(rows(31, 32))
    table.delete("id in (3, 22, 31)")
    _merge(table)


def _upgraded(table: Table) -> None:
    """Upgrade from v2: deletion vectors replace position deletes, and rows had no ids."""
    table.delete("id in (1, 2)")
    for version in range(table.format_version + 1, VERSIONS[-1] + 1):
        table.upgrade(version)
        table.delete(f"id in ({2 * version - 1}, {2 * version})")
    table.append(SECOND)
    table.update({"name": "'up'"}, "id in (7, 21)")
    _merge(table)


EVOLUTIONS: dict[str, Callable[[Table], Any]] = {
    "column_added": _column_added,
    "column_renamed": _column_renamed,
    "column_dropped": _column_dropped,
    "column_promoted": _column_promoted,
    "spec_evolved": _spec_evolved,
    "spec_granularity": _spec_evolved,
    "upgraded": _upgraded,
}


def _sorted(table: Table) -> None:
    table.update_sort_order().asc("kind").desc("bucket(4, id)").desc("x", nulls_first=True).commit()
    _changed(table)


TYPES = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("fixed", pa.binary(4)),
        ("uid", pa.uuid()),
        ("small", pa.decimal128(4, 1)),
        ("wide", pa.decimal128(38, 10)),
        ("lists", pa.list_(pa.list_(pa.int32()))),
        ("structs", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.date32()))]))),
        ("maps", pa.map_(pa.int32(), pa.struct([("v", pa.timestamp("us", "UTC"))]))),
        ("keys", pa.map_(pa.struct([("k", pa.string())]), pa.map_(pa.string(), pa.float32()))),
    ]
)

TYPED: list[dict[str, Any]] = [
    {"id": 1},
    {
        "id": 2,
        "fixed": b"\x00\x01\xfe\xff",
        "uid": uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes,
        "small": Decimal("-999.9"),
        "wide": Decimal("-1234567890123456789012345678.0123456789"),
        "lists": [[1, None], None, []],
        "structs": [{"a": 1, "b": [dt.date(1969, 12, 31)]}, None, {"a": None, "b": None}],
        "maps": [(1, {"v": dt.datetime(1970, 1, 1, tzinfo=dt.UTC)}), (2, None), (3, {"v": None})],
        "keys": [({"k": "a"}, [("x", math.nan), ("y", None)]), ({"k": None}, None)],
    },
    {"id": 3, "lists": [], "structs": [], "maps": [], "keys": []},
]


FIXED = pa.schema([TYPES.field("id"), TYPES.field("fixed")])
FIXED_ROWS = pa.table({"id": [1, 2, 3], "fixed": pa.array([None, b"\x00\x01\xfe\xff", b"abcd"], pa.binary(4))}, FIXED)


def _fixed(table: Table) -> None:
    table.delete("id = 3")
    table.append([{"id": 4, "fixed": b"\x00\x00\x00\x00"}])


def _types(table: Table) -> None:
    table.delete("id = 3")
    table.append([{"id": 4, "small": Decimal("0.5")}])
    table.update({"small": "1.5"}, "id = 4")


def _matrix(version: int) -> Iterator[Written]:
    for name, (change, properties) in OPERATIONS.items():
        yield Written(name, version, change, ("kind",), properties=properties)
    for name in ("delete_file", "merge_mor", "dynamic_overwrite"):
        change, properties = OPERATIONS[name]
        yield Written(f"{name}_unpartitioned", version, change, properties=properties)
    for name, partition_by in PARTITIONS.items():
        yield Written(f"by_{name}", version, _changed, partition_by, properties=MOR)
    for name, change in EVOLUTIONS.items():
        granularity = {"write.delete.granularity": "partition"} if name == "spec_granularity" else {}
        yield Written(name, version, change, properties=MOR | granularity)
    typed = pa.Table.from_pylist(TYPED, schema=TYPES)
    for kind in ("parquet", "orc", "avro"):
        properties = {**MOR, "write.format.default": kind}
        yield Written(f"types_{kind}", version, _types, schema=TYPES, first=typed, properties=properties)
        if kind != "parquet":
            yield Written(kind, version, _changed, ("kind",), properties=properties)
            yield Written(f"{kind}_promoted", version, _column_promoted, properties=properties)
    yield Written("by_fixed", version, _fixed, ("fixed",), schema=FIXED, first=FIXED_ROWS, properties=MOR)
    yield Written("sorted", version, _sorted, ("kind",), properties=MOR)
    yield Written("empty", version, _nothing, first=None)


WRITTEN = [written for version in VERSIONS for written in _matrix(version)]

_OLDER = {
    *("append_v1", "delete_cow_v1", "merge_mor_v1", "spec_evolved_v1", "upgraded_v1"),
    *("delete_file_v2", "delete_partition_v2", "merge_mor_v2", "column_promoted_v2", "spec_granularity_v2"),
    *("upgraded_v2", "types_orc_v2", "types_avro_v2"),
}

SUBSET = [written for written in WRITTEN if written.version == VERSIONS[-1] or written.identifier in _OLDER]
"""The tables that are tested in every run."""

CHOSEN = WRITTEN if os.environ.get("FRAZIL_INTEROP") else SUBSET
"""The tables that are tested in this run: `make interop` tests all."""


def compare(theirs: pa.Table, ours: pa.Table, *, wrong: bool = False, signs: bool = True) -> None:
    """Check that columns and rows are equal.

    `wrong`: known incorrect rows are required, so that a fix is noticed. `signs`: the signs of zeros matter.
    """
    assert theirs.column_names == ours.column_names
    theirs_lines, ours_lines = ([_line(line, signs) for line in lines(canonical_rows(of))] for of in (theirs, ours))
    assert (sorted(theirs_lines) != sorted(ours_lines)) == wrong


def _line(line: str, signs: bool) -> str:  # noqa: FBT001 - of one caller
    return line if signs else line.replace('"-0.0"', '"0.0"')
