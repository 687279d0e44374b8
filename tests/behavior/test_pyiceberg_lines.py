"""Tests of typical PyIceberg code on frazil tables."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg import expressions as ex
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

import frazil
import frazil.iceberg
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
NESTED = Schema(
    NestedField(1, "id", LongType(), required=True, doc="the key"),
    NestedField(2, "at", TimestampType(), required=False),
    NestedField(3, "tags", ListType(4, StringType(), element_required=True), required=False),
    NestedField(5, "prices", MapType(6, StringType(), 7, DecimalType(9, 2), value_required=False), required=False),
    NestedField(8, "point", StructType(NestedField(9, "x", IntegerType(), required=False)), required=False),
    identifier_field_ids=[1],
)


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    made = frazil.load_catalog("c", type="memory", warehouse=str(tmp_path / "wh"))
    made.create_namespace("ns")
    return made


@pytest.fixture
def table(catalog: Any) -> Any:
    made = catalog.create_table("ns.t", SCHEMA)
    made.append(ROWS)
    made.append([{"id": 3}])
    return made


def test_metadata(table: Any) -> None:
    found = table.metadata
    assert isinstance(found, frazil.iceberg.TableMetadata)
    assert found.format_version == 2
    assert str(found.table_uuid) == table.uuid
    assert found.location == table.location
    assert found.current_snapshot_id == table.current_snapshot().snapshot_id
    assert [snapshot.snapshot_id for snapshot in found.snapshots] == [entry.snapshot_id for entry in found.snapshot_log]
    assert found.schemas == [found.schema()] == table.schemas()
    assert found.partition_specs == [found.spec()] == table.specs()
    assert found.sort_orders == [found.sort_order()]
    assert found.properties == table.properties
    assert (found.last_sequence_number, table.last_sequence_number) == (2, 2)
    assert (found.last_column_id, found.last_partition_id, found.next_row_id) == (2, 999, None)
    assert (found.current_schema_id, found.default_spec_id, found.default_sort_order_id) == (0, 0, 0)
    assert list(found.refs) == ["main"]
    assert found.last_updated_ms >= found.snapshots[-1].timestamp_ms
    assert "2 snapshots" in repr(found)


def test_snapshots_by_id_and_name(table: Any) -> None:
    current = table.current_snapshot()
    assert table.snapshot_by_id(current.snapshot_id) == current == table.snapshot_by_name("main")
    assert table.snapshot_by_id(17) is None
    assert table.snapshot_by_name("nope") is None


def test_snapshots_by_time(table: Any) -> None:
    first, last = table.history()
    for found in (table, table.metadata):
        assert found.snapshot_as_of_timestamp(first.timestamp_ms - 1) is None
        assert found.snapshot_as_of_timestamp(first.timestamp_ms, inclusive=False) is None
        assert found.snapshot_as_of_timestamp(first.timestamp_ms + 1) in table.snapshots()
        assert found.snapshot_as_of_timestamp(last.timestamp_ms) == table.current_snapshot()
        assert found.snapshot_as_of_timestamp(last.timestamp_ms + 1, inclusive=False) == table.current_snapshot()
    with pytest.raises(errors.InvalidArgumentError, match="timestamp_ms"):
        table.snapshot_as_of_timestamp("2024-01-31")
    with pytest.raises(errors.InvalidArgumentError, match="inclusive"):
        table.snapshot_as_of_timestamp(0, inclusive=1)


def test_maintenance(table: Any) -> None:
    first, last = (snapshot.snapshot_id for snapshot in table.snapshots())
    table.append([{"id": 4}])
    table.maintenance.expire_snapshots().by_id(first).commit()
    assert table.snapshot_by_id(first) is None
    with pytest.raises(ZeroDivisionError), table.maintenance.expire_snapshots().by_id(last):
        _ = 1 / 0
    assert len(table.snapshots()) == 2
    with table.maintenance.expire_snapshots() as expire:
        expire.by_ids([last])
    assert table.snapshots() == [table.current_snapshot()]
    table.append([{"id": 5}])
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
    table.maintenance.expire_snapshots().older_than(moment).commit()
    assert table.snapshots() == [table.current_snapshot()]


def test_a_location_is_text_and_can_be_called(table: Any) -> None:
    assert table.location() == table.location == str(table.location)
    assert type(table.location()) is str
    assert pickle.loads(pickle.dumps(table.location)) == table.location  # noqa: S301 - own bytes


def test_schemas(catalog: Any) -> None:
    table = catalog.create_table("ns.nested", NESTED)
    schema = table.schema()
    assert schema.as_arrow() == table.scan().schema()
    assert [schema.find_type(name) for name in ("id", "prices.value", 9)] == ["long", "decimal(9, 2)", "int"]
    assert (schema.find_column_name(9), schema.find_column_name(99)) == ("point.x", None)
    assert [field.field_type for field in schema.fields[:2]] == ["long", "timestamp"]
    assert schema.select("point.x", "id").column_names == ["id", "point"]
    assert schema.select("ID", case_sensitive=False).identifier_field_names() == ["id"]
    assert schema.select("at").identifier_field_ids == ()
    with pytest.raises(errors.InvalidArgumentError, match="no column `nope`"):
        schema.select("nope")
    with pytest.raises(KeyError):
        schema.find_type("nope")


def test_scans(table: Any) -> None:
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_tag(first, "v1").commit()
    scan = table.scan("id > 1").use_ref("v1").select("name")
    assert scan.to_arrow().to_pylist() == [{"name": "b"}]
    assert table.scan().select("*").to_arrow().column_names == ["id", "name"]
    with pytest.raises(
        errors.InvalidArgumentError, match="the scan already selects a snapshot, which a ref would replace"
    ):
        table.scan(snapshot_id=first).use_ref("v1")
    with pytest.raises(errors.NoSuchSnapshotError, match="nope"):
        table.scan().use_ref("nope")
    with pytest.raises(errors.InvalidArgumentError, match="no column `nope`"):
        table.scan().select("nope")


def paimon_table(folder: Path) -> Any:
    made = frazil.create_table(folder / "p", SCHEMA, format="paimon")
    made.append([*ROWS, {"id": 3}])
    return made


def format_table(folder: Path) -> Any:
    columns = [("id", "BIGINT"), ("name", "STRING")]
    made = frazil.paimon.format_table(folder / "f", schema=columns, options={"file.format": "parquet"})
    made.append([*ROWS, {"id": 3}])
    return made


def object_table(folder: Path) -> Any:
    (folder / "o").mkdir()
    for name in ("a", "b", "c"):
        (folder / "o" / name).write_text("x", encoding="utf-8")
    return frazil.paimon.object_table(folder / "o")


TABLES: dict[str, tuple[Callable[[Any, Path], Any], str, Any]] = {
    "Iceberg": (lambda table, _: table, "id", 2),
    "Paimon": (lambda _, folder: paimon_table(folder), "id", 2),
    "format table": (lambda _, folder: format_table(folder), "id", 2),
    "object table": (lambda _, folder: object_table(folder), "name", "b"),
    "metadata table": (lambda table, _: table.inspect["history"], "parent_id", 0),
    "changes": (lambda table, _: Changed(table), "id", 2),
}
"""For each kind of table: how to make one with three rows (two metadata rows), a column, and a value in it."""


class Changed:
    """The changes of a table as a table."""

    def __init__(self, table: Any) -> None:
        self.scan = table.changes


@pytest.mark.parametrize("kind", TABLES)
def test_filters_of_scans_are_narrowed(table: Any, tmp_path: Path, kind: str) -> None:
    make, column, value = TABLES[kind]
    made, literal = make(table, tmp_path), f"'{value}'" if isinstance(value, str) else str(value)
    wide = made.scan(row_filter=f"{column} = {literal} or {column} is null or {column} > {literal}")
    scan = wide.filter(f"{column} <= {literal} or {column} is null")
    expected = [row for row in wide.to_arrow().to_pylist() if row[column] is None or row[column] <= value]
    assert scan.to_arrow().to_pylist() == expected
    assert 0 < scan.count() == len(expected) < wide.count()
    assert [wide.filter(expr).count() for expr in (True, False)] == [wide.count(), 0]
    assert made.scan().filter(f"{column} = {literal}").row_filter == f"{column} = {literal}"
    assert scan.select(column).schema().names[0] == column
    assert (
        scan.with_case_sensitive(case_sensitive=False)
        .filter(f"{column.upper()} = {literal}")
        .select(column.upper())
        .count()
        <= 1
    )
    with pytest.raises(errors.InvalidArgumentError):
        scan.filter(f"{column.upper()} = {literal}")
    for wrong in ("nope = 1", f"{column} = {literal}) or ({column} = {literal}", 5):
        with pytest.raises(errors.InvalidArgumentError):
            wide.filter(wrong)
    with pytest.raises(errors.InvalidArgumentError, match="case_sensitive"):
        scan.with_case_sensitive("no")


def test_a_filter_keeps_the_rest_of_the_scan(table: Any) -> None:
    first = table.snapshots()[0].snapshot_id
    scan = table.scan(snapshot_id=first, selected_fields=["name"], limit=1).filter("id > 0")
    assert (scan.snapshot_id, scan.to_arrow().to_pylist()) == (first, [{"name": "a"}])
    appended = table.incremental_append_scan(from_snapshot_id_exclusive=first).filter("id > 0")
    assert appended.to_arrow()["id"].to_pylist() == [3]
    with table.transaction() as changes:
        changes.append([{"id": 7}])
        staged = changes.table().scan().filter("id = 7")
        assert (staged.is_staged, staged.count()) == (True, 1)


def test_refs_of_paimon_scans() -> None:
    table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
    assert table.scan().use_ref("main").count() == table.scan().count()
    with pytest.raises(errors.NoSuchSnapshotError, match="nope"):
        table.scan().use_ref("nope")
    for scan in (table.scan(snapshot_id=1), table.scan(options={"scan.snapshot-id": 1})):
        with pytest.raises(errors.InvalidArgumentError, match="a ref would replace"):
            scan.use_ref("main")


def test_statistics_files_are_registered(table: Any) -> None:
    statistics = pytest.importorskip("pyiceberg.table.statistics")
    first, last = (snapshot.snapshot_id for snapshot in (table.snapshots()[0], table.snapshots()[-1]))
    blob = {"type": "ndv", "snapshot-id": first, "sequence-number": 1, "fields": [1], "properties": {"ndv": "2"}}
    fields = {"statistics-path": "s.puffin", "file-size-in-bytes": 9, "file-footer-size-in-bytes": 4}
    with table.update_statistics() as update:
        update.set_statistics({"snapshot-id": first, **fields, "blob-metadata": [blob]})
        update.set_statistics(statistics.StatisticsFile(**{"snapshot-id": last, **fields, "blob-metadata": []}))
    known = {file["snapshot-id"]: file for file in table.metadata.statistics}
    assert known == {
        first: {"snapshot-id": first, **fields, "blob-metadata": [blob]},
        last: {"snapshot-id": last, **fields, "blob-metadata": []},
    }
    table.update_statistics().set_statistics({**known[last], "statistics-path": "t.puffin"}).commit()
    table.update_statistics().remove_statistics(first).remove_statistics(7).commit()
    assert [file["statistics-path"] for file in table.refresh().metadata.statistics] == ["t.puffin"]
    for wrong, error, words in (
        ({"snapshot-id": last}, errors.InvalidArgumentError, "statistics-path"),
        ({**known[last], "snapshot-id": 7}, errors.NoSuchSnapshotError, "7"),
        (5, errors.InvalidArgumentError, "must be a mapping of fields, not 5"),
    ):
        with pytest.raises(error, match=words):
            table.update_statistics().set_statistics(wrong).commit()
    assert len(table.refresh().metadata.statistics) == 1


def test_read_options(table: Any) -> None:
    for options in ({}, None):
        assert table.scan(options=options).count() == table.incremental_append_scan(options=options).count() == 3
    expected = {
        "snapshot-id": "use the argument `snapshot_id`",
        "as_of_timestmp": "use the argument `as_of`",
        "branch": "use the argument `ref`",
        "s3.endpoint": "omit it",
    }
    for name, hint in expected.items():
        with pytest.raises(errors.InvalidArgumentError, match=f"unknown read option `{name}`; {hint}"):
            table.scan(options={name: 1})
    with pytest.raises(errors.InvalidArgumentError, match="options must be a mapping of names to values, not str"):
        table.scan(options="snapshot-id")


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind != "changes"])
def test_tables_as_lazy_frames(table: Any, tmp_path: Path, kind: str) -> None:
    pl = pytest.importorskip("polars")
    make, column, value = TABLES[kind]
    made = make(table, tmp_path)
    frame = made.to_polars()
    assert isinstance(frame, pl.LazyFrame)
    rows = made.scan().to_polars()
    assert frame.collect().equals(rows)
    assert frame.collect_schema() == rows.schema
    last = rows.columns[-1]
    assert frame.select(last, column).collect().equals(rows.select(last, column))
    assert frame.head(1).collect().equals(rows.head(1))
    assert (
        frame.filter(pl.col(column) != value)
        .select(last)
        .collect()
        .equals(rows.filter(pl.col(column) != value).select(last))
    )
    assert frame.head(2).filter(pl.col(column) != value).collect().equals(rows.head(2).filter(pl.col(column) != value))
    assert frame.select(pl.len()).collect().item() == len(rows)


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind != "changes"])
def test_tables_in_daft(table: Any, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("daft")
    make, column, value = TABLES[kind]
    made = make(table, tmp_path)
    rows = made.scan().to_arrow()
    last = rows.column_names[-1]

    def values(frame: Any) -> Any:
        return frame.to_arrow().to_pylist()

    def found(**arguments: Any) -> Any:
        return made.scan(**arguments).to_arrow().to_pylist()

    frame = made.to_daft()
    assert values(frame) == rows.to_pylist()
    assert values(made.to_daft().select(last)) == found(selected_fields=[last])
    assert values(made.to_daft().limit(1)) == found(limit=1)
    frame = made.to_daft()
    same = f"{column} = '{value}'" if isinstance(value, str) else f"{column} = {value}"
    assert values(frame.where(frame[column] == value).select(last)) == found(row_filter=same, selected_fields=[last])
    assert values(frame.where(frame[column] == value).limit(1)) == found(row_filter=same, limit=1)
    assert made.to_daft().count_rows() == rows.num_rows


def test_daft_that_is_not_installed(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "daft", None)
    with pytest.raises(errors.UnsupportedError, match=r"to_daft requires Daft.*pip install 'frazil\[daft\]'"):
        table.to_daft()


def test_a_lazy_frame_keeps_the_state_of_the_table(table: Any) -> None:
    pytest.importorskip("polars")
    frame = table.to_polars()
    table.append([{"id": 4}])
    assert (len(frame.collect()), len(table.to_polars().collect())) == (3, 4)


@pytest.mark.parametrize("kind", ["Iceberg", "Paimon"])
def test_files_of_a_table(table: Any, tmp_path: Path, kind: str) -> None:
    table = TABLES[kind][0](table, tmp_path)
    io = table.io
    assert io.properties == table.storage_properties
    written = io.new_output(f"{table.location}/statistics/1.puffin")
    assert (written.exists(), bool(written)) == (False, True)
    with pytest.raises(ZeroDivisionError), written.create():
        _ = 1 / 0
    written.create().write(b"discarded")
    with pytest.raises(errors.MissingFileError):
        written.to_input_file().open()
    with written.create() as stream:
        assert (stream.write(b"abc"), stream.tell()) == (3, 3)
    stream.close()
    found = io.new_input(written.location)
    assert (found.location, len(found), found.exists(), written.exists()) == (written.location, 3, True, True)
    with found.open(seekable=False) as content:
        content.seek(1)
        assert (content.read(1), content.tell(), content.read()) == (b"b", 2, b"c")
    with pytest.raises(errors.AlreadyExistsError, match="already exists"):
        written.create()
    with pytest.raises(errors.UnsupportedError, match="cannot be overwritten"):
        written.create(overwrite=True)
    outside = tmp_path / "outside"
    actions: list[Callable[[], Any]] = [
        lambda: io.new_input(outside).exists(),
        lambda: io.new_input(outside).open(),
        lambda: io.new_output(outside).create(),
    ]
    for action in actions:
        with pytest.raises(errors.PathNotAllowedError):
            action()
    assert not outside.exists()
    late = io.new_output(f"{table.location}/statistics/2.puffin")
    first, second = late.create(), late.create()
    first.close()
    with pytest.raises(errors.AlreadyExistsError):
        second.close()


TYPED = {
    "id": "long",
    "f": "float",
    "s": "string",
    "t": "timestamp",
    "tz": "timestamptz",
    "day": "date",
    "h": "time",
    "u": "uuid",
    "b": "binary",
    "n": "decimal(9, 2)",
    "bo": "boolean",
    "st": "struct<x: int>",
}
UTC_5 = dt.datetime(2024, 1, 1, 5, tzinfo=dt.UTC)
KEY = uuid.UUID(int=7)
TYPED_ROWS = [
    {
        "id": 1,
        "f": 1.5,
        "s": "a_%b",
        "t": UTC_5.replace(tzinfo=None),
        "tz": UTC_5,
        "day": UTC_5.date(),
        "h": dt.time(5, 6, 7, 8),
        "u": KEY,
        "b": b"x",
        "n": decimal.Decimal("1.20"),
        "bo": True,
        "st": {"x": 3},
    },
    {"id": 2, "f": float("inf"), "s": "axxb'"},
    {"id": 3, "f": float("nan")},
]
EXPRESSIONS: list[tuple[Any, list[int]]] = [
    (ex.AlwaysTrue(), [1, 2, 3]),
    (ex.AlwaysFalse(), []),
    (ex.EqualTo("id", 1), [1]),
    (ex.NotEqualTo("s", "axxb'"), [1]),
    (ex.GreaterThan("id", 1), [2, 3]),
    (ex.GreaterThanOrEqual("id", 2.0), [2, 3]),
    (ex.LessThan("f", 2), [1]),
    (ex.LessThanOrEqual("f", 1.5), [1]),
    (ex.EqualTo("f", float("inf")), [2]),
    (ex.IsNaN("f"), [3]),
    (ex.NotNaN("f"), [1, 2]),
    (ex.IsNull("s"), [3]),
    (ex.NotNull("s"), [1, 2]),
    (ex.StartsWith("s", "a_%"), [1]),
    (ex.NotStartsWith("s", "a_"), [2]),
    (ex.In("id", [1, 3]), [1, 3]),
    (ex.NotIn("id", [1, 3]), [2]),
    (ex.EqualTo("t", UTC_5.replace(tzinfo=None)), [1]),
    (ex.EqualTo("tz", UTC_5.astimezone(dt.timezone(dt.timedelta(hours=2)))), [1]),
    (ex.EqualTo("day", UTC_5.date()), [1]),
    (ex.EqualTo("h", dt.time(5, 6, 7, 8)), [1]),
    (ex.EqualTo("u", KEY), [1]),
    (ex.EqualTo("b", b"x"), [1]),
    (ex.EqualTo("n", decimal.Decimal("1.2")), [1]),
    (ex.EqualTo("bo", True), [1]),  # noqa: FBT003 - as PyIceberg has it
    (ex.EqualTo("st.x", 3), [1]),
    (ex.And(ex.GreaterThan("id", 1), ex.Or(ex.IsNull("s"), ex.EqualTo("id", 9))), [3]),
    (ex.Not(ex.Or(ex.EqualTo("id", 1), ex.EqualTo("id", 2))), [3]),
    (~ex.EqualTo("id", 1) & ex.LessThan("id", 3), [2]),
]


def test_expressions_of_pyiceberg_are_filters(catalog: Any) -> None:
    table = catalog.create_table("ns.typed", TYPED)
    table.append(TYPED_ROWS)
    for expression, ids in EXPRESSIONS:
        found = table.scan(row_filter=expression).to_arrow()["id"].to_pylist()
        assert found == ids == table.scan().filter(expression).to_arrow()["id"].to_pylist(), expression
    table.delete(ex.EqualTo("id", 1))
    table.overwrite([{"id": 9}], overwrite_filter=ex.In("id", {2, 3}))
    assert table.scan().to_arrow()["id"].to_pylist() == [9]
    with pytest.raises(errors.InvalidArgumentError, match="no column `nope`"):
        table.scan(ex.EqualTo("nope", 1))
    deep = ex.EqualTo("id", 1)
    for _ in range(5000):
        deep = ex.And(ex.EqualTo("id", 1), deep)
    for wrong, why in ((deep, "nested too deeply"), (ex.Reference("id"), "cannot be used as a filter")):
        with pytest.raises(errors.InvalidArgumentError, match=why):
            table.scan(wrong)


def test_upserts(table: Any) -> None:
    result = table.upsert([{"id": 1, "name": "z"}, {"id": 9, "name": "y"}], join_cols="id")
    assert (result.rows_updated, result.rows_inserted) == (1, 1)


def test_types_of_pyiceberg(table: Any) -> None:
    with table.update_schema() as update:
        update.add_column("n", IntegerType())
        update.add_column("l", ListType(100, StringType(), element_required=True))
        update.add_column("m", MapType(100, StringType(), 101, LongType(), value_required=False))
        update.add_column("s", StructType(NestedField(100, "x", DecimalType(9, 2), required=True, doc="of x")))
    schema = table.schema()
    assert schema.find_type("n") == "int"
    assert schema.find_field("l.element").required
    assert schema.find_type("m.value") == "long"
    assert (schema.find_type("s.x"), schema.find_field("s.x").doc) == ("decimal(9, 2)", "of x")
    table.update_schema().update_column("n", LongType()).commit()
    assert table.schema().find_type("n") == "long"
    table.update_schema().union_by_name(Schema(NestedField(1, "more", StringType(), required=False))).commit()
    assert table.schema().find_type("more") == "string"


def test_schemas_specs_and_orders_of_pyiceberg(catalog: Any, tmp_path: Path) -> None:
    spec = PartitionSpec(
        PartitionField(source_id=1, field_id=1000, transform=BucketTransform(4), name="id_b"),
        PartitionField(source_id=2, field_id=1001, transform=DayTransform(), name="at_day"),
    )
    keys = [
        SortField(source_id=2, transform=DayTransform(), direction=SortDirection.DESC, null_order=NullOrder.NULLS_LAST),
        SortField(source_id=1, transform=IdentityTransform()),
    ]
    table = catalog.create_table("ns.p", NESTED, partition_spec=spec, sort_order=SortOrder(*keys))
    assert table.schema().find_field("id").doc == "the key"
    assert table.schema().identifier_field_names() == ["id"]
    fields = [(field.name, field.transform, field.source_ids) for field in table.spec().fields]
    assert fields == [("id_b", "bucket[4]", (1,)), ("at_day", "day", (2,))]
    order = [(f.source_ids, f.transform, f.direction, f.null_order) for f in table.sort_order().fields]
    assert order == [((2,), "day", "desc", "nulls-last"), ((1,), "identity", "asc", "nulls-first")]
    table.append([{"id": 1, "at": dt.datetime(2024, 1, 31), "point": {"x": 5}}])  # noqa: DTZ001 - without a zone
    assert table.scan(selected_fields=("point.x",)).to_arrow().to_pylist() == [{"point": {"x": 5}}]
    copy = catalog.create_table("ns.copy", table.schema(), partition_spec=table.spec(), sort_order=table.sort_order())
    assert copy.schema() == table.schema()
    assert copy.spec().fields == table.spec().fields
    assert copy.sort_order() == table.sort_order()
    for number, empty in enumerate((PartitionSpec(), (), None)):
        order = SortOrder() if number == 0 else empty
        made = catalog.create_table(f"ns.e{number}", NESTED, partition_spec=empty, sort_order=order, properties=None)
        assert (made.spec().fields, made.sort_order().fields) == ((), ())
    for number, empty in enumerate(((), None)):
        made = catalog.create_table(f"ns.by{number}", NESTED, partition_spec=empty, partition_by=["id"])
        assert [field.name for field in made.spec().fields] == ["id"]
    without = frazil.create_table(tmp_path / "without", NESTED, partition_by=None, sort_order=None)
    assert (without.spec().fields, without.sort_order().fields) == ((), ())


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["id"], [("identity", "asc", "nulls-first")]),
        (
            ["bucket(4, id) DESC", "name asc nulls last"],
            [("bucket[4]", "desc", "nulls-last"), ("identity", "asc", "nulls-last")],
        ),
        ((), []),
    ],
)
def test_a_sort_order_of_text(catalog: Any, keys: Any, expected: Any) -> None:
    table = catalog.create_table("ns.o", SCHEMA, sort_order=keys)
    assert [(f.transform, f.direction, f.null_order) for f in table.sort_order().fields] == expected
    table.append(ROWS)


@pytest.mark.parametrize(
    ("keys", "expected"), [("id", "sort_order"), (["nope"], "nope"), ([""], "empty"), (["id", "id"], "twice")]
)
def test_a_wrong_sort_order(catalog: Any, keys: Any, expected: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=expected):
        catalog.create_table("ns.o", SCHEMA, sort_order=keys)


def pandas_frame() -> Any:
    frame = pytest.importorskip("pandas").DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    return frame[frame["id"] > 1]


def duckdb_relation() -> Any:
    return pytest.importorskip("duckdb").sql("select 1::bigint as id, 'a' as name")


FRAMES: dict[str, Callable[[], Any]] = {
    "Arrow table": lambda: pa.table({"id": [1], "name": ["a"]}),
    "record batch": lambda: pa.record_batch({"id": [1], "name": ["a"]}),
    "reader": lambda: pa.table({"id": [1], "name": ["a"]}).to_reader(),
    "pandas": pandas_frame,
    "Polars": lambda: pytest.importorskip("polars").DataFrame({"id": [1], "name": ["a"]}),
    "DuckDB": duckdb_relation,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_data_frame_is_a_schema(catalog: Any, kind: str) -> None:
    frame = FRAMES[kind]()
    table = catalog.create_table("ns.f", frame)
    assert [(field.name, field.type) for field in table.schema().fields] == [("id", "long"), ("name", "string")]
    assert table.append(frame).added_records >= 1


def test_types_by_name_are_a_schema(tmp_path: Path) -> None:
    columns = {"id": "required bigint", "at": pa.timestamp("us"), "s": "struct<x: int>", "n": IntegerType()}
    table = frazil.create_table(tmp_path / "t", columns, partition_by=["day(at)"])
    found = [(field.field_id, field.name, field.type, field.required) for field in table.schema().fields]
    assert [field[:2] for field in found] == [(1, "id"), (2, "at"), (3, "s"), (4, "n")]
    assert (found[0][2:], found[1][2], found[3][2]) == (("long", True), "timestamp", "int")
    for wrong in ({"id": "int, y: int"}, {"id": "nope"}, {5: "int"}, {"id": 5}):
        with pytest.raises(errors.InvalidArgumentError):
            frazil.create_table(tmp_path / "wrong", wrong)


@pytest.mark.parametrize("wrong", [None, 5, [("id", "long")]])
def test_invalid_schema_error_names_the_accepted_forms(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"such as pyarrow\.schema"):
        frazil.create_table(tmp_path / "t", wrong)


def test_catalogs_have_no_views(catalog: Any) -> None:
    assert catalog.list_views("ns") == []
    with pytest.raises(errors.NoSuchNamespaceError):
        catalog.list_views("nope")


def test_a_static_table_is_read_only(table: Any) -> None:
    old = table.metadata_location
    table.append([{"id": 4}])
    static = frazil.iceberg.StaticTable.from_metadata(old)
    assert static.scan().count() == 3
    assert static.refresh().scan().count() == 3
    assert pickle.loads(pickle.dumps(static)).scan().count() == 3  # noqa: S301 - own bytes
    changes: list[Callable[[Any], Any]] = [
        lambda t: t.append(ROWS),
        lambda t: t.delete("id = 1"),
        lambda t: t.overwrite(ROWS),
        lambda t: t.transaction(),
        lambda t: t.set_properties(a="b"),
        lambda t: t.update_schema().add_column("x", "int").commit(),
    ]
    for which in (static, pickle.loads(pickle.dumps(static))):  # noqa: S301 - own bytes
        for change in changes:
            with pytest.raises(errors.UnsupportedError, match="read-only"):
                change(which)
    assert static.metadata_location == old


def test_a_datetime_without_a_zone_is_local_time(table: Any) -> None:
    last = table.snapshots()[-1]
    local = dt.datetime.fromtimestamp(last.timestamp_ms / 1000)  # noqa: DTZ006 - local time is meant
    assert table.scan(as_of=local + dt.timedelta(seconds=1)).snapshot_id == last.snapshot_id
    with pytest.raises(errors.NoSuchSnapshotError):
        table.scan(as_of=local - dt.timedelta(days=1))


def test_types_are_annotations_after_one_import() -> None:
    code = "import sys, frazil\ndef f(t: frazil.iceberg.Table) -> frazil.iceberg.Scan: ...\nassert f.__annotations__"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own text


def test_the_format_version_is_an_argument_or_a_property(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("m", type="memory")
    catalog.create_namespace("db")
    made = [
        frazil.create_table(tmp_path / "a", {"id": "long"}, properties={"format-version": "3"}),
        frazil.create_table(tmp_path / "b", {"id": "long"}, properties={"format-version": "3"}, format_version=3),
        catalog.create_table("db.t", {"id": "long"}, properties={"format-version": "1"}),
        catalog.create_table("db.u", {"id": "long"}),
    ]
    assert [(table.format_version, "format-version" in table.properties) for table in made] == [
        (3, False),
        (3, False),
        (1, False),
        (2, False),
    ]
    for properties, arguments in [
        ({"format-version": "3"}, {"format_version": 2}),
        ({"format-version": "4"}, {}),
        ({"format-version": "two"}, {}),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match="format_version"):
            frazil.create_table(tmp_path / "c", {"id": "long"}, properties=properties, **arguments)
    assert not (tmp_path / "c").exists()
