"""Tests of evolving Iceberg tables: schema, partition spec, sort order, properties, and reads after each step."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import frazil
from frazil.errors import CommitConflictError, CommitValidationError, InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("ts", pa.timestamp("us")),
        ("s", pa.struct([("x", pa.float32()), ("y", pa.int32())])),
        ("l", pa.list_(pa.struct([("a", pa.int32())]))),
        ("m", pa.map_(pa.string(), pa.struct([("v", pa.int32())]))),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
    ]
)

ROW: dict[str, Any] = {
    "id": 1,
    "ts": dt.datetime.fromisoformat("2024-02-29T12:00"),
    "s": {"x": 1.5, "y": 7},
    "l": [{"a": 1}, None],
    "m": [("k", {"v": 2})],
    "price": Decimal("1.25"),
    "day": dt.date(2024, 2, 29),
}


def made(folder: Path, **arguments: Any) -> Any:
    table = frazil.create_table(folder / "t", SCHEMA, **arguments)
    table.append(pa.Table.from_pylist([ROW], schema=SCHEMA))
    return table


def rows_of(table: Any, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.refresh().scan(**arguments).to_arrow().sort_by("id").to_pylist()
    return found


def names_and_ids(table: Any) -> dict[str, int]:
    return {column.name: column.field_id for column in table.schema().fields}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_old_rows_are_read_by_each_new_schema(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version)
    with table.update_schema() as update:
        update.add_column("note", pa.string(), doc="why")
        update.add_column(("s", "z"), "list<int>").add_column("l.b", "long").add_column("m.w", pa.bool_())
    row = ROW | {"s": ROW["s"] | {"z": None}, "l": [{"a": 1, "b": None}, None], "m": [("k", {"v": 2, "w": None})]}
    assert rows_of(table) == [row | {"note": None}]

    with table.update_schema() as update:
        update.rename_column("note", "text").rename_column("s.y", "why").delete_column("l").move_first("text")
        update.update_column("id", "long").update_column("s.x", pa.float64()).update_column("price", "decimal(18, 2)")
    first = {"x": 1.5, "why": 7, "z": None}
    read = rows_of(table)
    assert list(read[0]) == ["text", "id", "ts", "s", "m", "price", "day"]
    assert (read[0]["s"], read[0]["price"], read[0]["text"]) == (first, Decimal("1.25"), None)

    table.append([{"id": 2**40, "text": "new", "s": {"x": 0.1, "why": 8, "z": [1]}}])
    read = rows_of(table)
    assert [row["id"] for row in read] == [1, 2**40]
    assert (read[1]["text"], read[1]["s"]) == ("new", {"x": 0.1, "why": 8, "z": [1]})
    assert rows_of(table, row_filter=f"id = {2**40}") == [read[1]]
    assert rows_of(table, row_filter="s.x > 1.0") == [read[0]]

    # The name is reused, but not the values.
    table.update_schema().delete_column("text").add_column("text", pa.string()).commit()
    assert [row["text"] for row in rows_of(table)] == [None, None]
    # Older snapshots keep their schema.
    old = table.scan(snapshot_id=table.snapshots()[0].snapshot_id).to_arrow()
    assert old.schema.names == SCHEMA.names
    assert old.to_pylist() == [ROW]


def test_defaults_fill_old_rows_and_new_ones(tmp_path: Path) -> None:
    table = made(tmp_path, format_version=3)
    given: list[tuple[str, Any, Any]] = [
        ("i", "int", 7),
        ("f", pa.float64(), 0.1),
        ("c", "decimal(9, 2)", Decimal("1.5")),
        ("t", "string", "text"),
        ("b", "binary", b"\x00\xff"),
        ("d", "date", dt.date(1969, 12, 31)),
        ("u", "uuid", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        ("z", "timestamptz", dt.datetime(2024, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))),
        ("n", "timestamp_ns", dt.datetime.fromisoformat("2024-01-01T00:00:00.000001")),
        ("o", pa.bool_(), True),
        ("li", "list<int>", [1, 2]),
    ]
    with table.update_schema() as update:
        for name, field_type, default in given:
            update.add_column(name, field_type, required=True, default_value=default)
    read = rows_of(table)[0]
    assert (read["i"], read["f"], read["c"], read["t"], read["b"]) == (7, 0.1, Decimal("1.50"), "text", b"\x00\xff")
    assert (read["d"], read["o"], read["li"]) == (dt.date(1969, 12, 31), True, [1, 2])
    assert read["z"] == dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert rows_of(table, row_filter="i = 7 and t = 'text'") == [read]
    assert rows_of(table, row_filter="i = 8") == []

    table.update_schema().set_default_value("i", np.int16(8)).commit()
    assert table.schema().find_field("i").write_default == 8
    table.append([{"id": 2}])
    assert [row["i"] for row in rows_of(table)] == [7, 8], "rows that are there keep theirs"
    assert rows_of(table)[1]["c"] == Decimal("1.50")
    with pytest.raises(InvalidArgumentError, match="invalid value for the type int"):
        table.update_schema().set_default_value("i", "x").commit()


def test_defaults_and_new_types_ask_for_v3(tmp_path: Path) -> None:
    table = made(tmp_path)
    for add in (("i", "int", 1), ("v", "variant", None), ("n", "timestamp_ns", None)):
        name, field_type, default = add
        with pytest.raises(UnsupportedError, match="format version 3"):
            table.update_schema().add_column(name, field_type, default_value=default).commit()
    table.upgrade(3)
    table.update_schema().add_column("i", "int", default_value=1).commit()
    assert rows_of(table)[0]["i"] == 1


@pytest.mark.parametrize("to", ["timestamp", "timestamp_ns"])
def test_dates_become_timestamps_in_v3(tmp_path: Path, to: str) -> None:
    table = made(tmp_path, format_version=3, partition_by=["month(day)"])
    table.update_schema().update_column("day", to).commit()
    assert str(rows_of(table)[0]["day"]) == "2024-02-29 00:00:00"
    for text, count in [("= timestamp '2024-02-29 00:00:00'", 1), ("> timestamp '2024-02-29 00:00:00'", 0)]:
        assert len(rows_of(table, row_filter=f"day {text}")) == count
    assert len(rows_of(table, row_filter="day < timestamp '2024-03-01 00:00:00'")) == 1
    other = made(tmp_path / "other", format_version=3, partition_by=["day"])
    with pytest.raises(InvalidArgumentError, match="partition field `day`"):
        other.update_schema().update_column("day", to).commit()


def test_a_union_takes_the_columns_of_other_rows(tmp_path: Path) -> None:
    table = made(tmp_path)
    rows = pa.table({"id": [2], "s": [{"x": 0.1, "new": "n"}], "more": [[1, 2]]})
    table.update_schema().union_by_name(rows).commit()
    assert names_and_ids(table)["more"] == 16
    table.append(rows)
    read = rows_of(table)
    assert read[0]["s"] == {"x": 1.5, "y": 7, "new": None}
    assert (read[1]["s"], read[1]["more"], read[1]["price"]) == ({"x": 0.1, "y": None, "new": "n"}, [1, 2], None)
    state = table.metadata_location
    table.update_schema().union_by_name(rows.schema).commit()
    assert table.metadata_location == state, "nothing to do, nothing written"
    with pytest.raises(InvalidArgumentError, match="cannot be changed to string"):
        table.update_schema().union_by_name(pa.schema([("ts", pa.string())])).commit()


def test_a_block_that_raises_changes_nothing(tmp_path: Path) -> None:
    table = made(tmp_path)
    state = table.metadata_location
    with pytest.raises(InvalidArgumentError), table.update_schema() as update:
        update.add_column("a", "int").add_column("b", object())
    with pytest.raises(InvalidArgumentError, match="no column `nope`"):
        table.update_schema().add_column("a", "int").delete_column("nope").commit()
    assert table.refresh().metadata_location == state
    # After a commit inside the block, leaving the block does not commit again.
    with table.update_schema() as update:
        update.add_column("a", "int").commit()
    assert "a" in names_and_ids(table)


def test_a_commit_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    table = made(tmp_path)
    order, change = table.update_sort_order().asc("later"), table.update_schema().rename_column("later", "sooner")
    for builder in (order, change):
        with pytest.raises(InvalidArgumentError, match="later"):
            builder.commit()
    table.update_schema().add_column("later", "int").commit()
    later = names_and_ids(table)["later"]
    for builder in (order, change):
        builder.commit()
        builder.commit()
    assert names_and_ids(table)["sooner"] == later
    assert [field.source_ids for field in table.sort_order().fields] == [(later,)]


def test_two_handles_add_columns_of_their_own(tmp_path: Path) -> None:
    mine, theirs = made(tmp_path), frazil.load_table(tmp_path / "t")
    theirs.update_schema().add_column("theirs", "int").commit()
    mine.update_schema().add_column("mine", "int").commit()
    found = names_and_ids(mine)
    assert found["mine"] == found["theirs"] + 1
    with pytest.raises(InvalidArgumentError, match="already"):
        theirs.update_schema().add_column("mine", "int").commit()


@pytest.mark.parametrize("version", [1, 2])
def test_specs_evolve_and_every_file_is_found(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version, partition_by=["day(ts)"])
    table.update_spec().add_field("bucket(4, id)").remove_field("ts_day").commit()
    later = ROW | {"id": 2, "ts": dt.datetime.fromisoformat("2024-03-01T00:00")}
    table.append(pa.Table.from_pylist([later], schema=SCHEMA))
    table.update_spec().add_field("ts", "month", "ts_m").rename_field("id_bucket_4", "shard").commit()
    table.append(pa.Table.from_pylist([later | {"id": 3}], schema=SCHEMA))
    fields = [(field.name, field.transform) for field in table.spec().fields]
    dropped = [("ts_day", "void")] if version == 1 else []
    assert fields == [*dropped, ("shard", "bucket[4]"), ("ts_m", "month")]
    for text, ids in [("ts < '2024-03-01'", [1]), ("ts >= '2024-03-01'", [2, 3]), ("id = 2", [2]), ("true", [1, 2, 3])]:
        assert [row["id"] for row in rows_of(table, row_filter=text)] == ids
    # The field of an old spec is removed, but its files remain readable.
    table.update_spec().remove_field("ts_m").commit()
    table.update_schema().delete_column("ts").commit()
    assert [row["id"] for row in rows_of(table)] == [1, 2, 3]
    assert [row["id"] for row in rows_of(table, row_filter="id = 3")] == [3]
    table.append(pa.Table.from_pylist([{"id": 4}], schema=pa.schema([pa.field("id", pa.int32(), nullable=False)])))
    assert [row["id"] for row in rows_of(table)] == [1, 2, 3, 4]
    assert table.append([{"id": 5}]).added_records == 1


def test_a_column_that_is_needed_is_not_dropped(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["day(ts)"])
    table.update_sort_order().asc("id").desc("bucket(4, price)", nulls_first=True).commit()
    for column, needed in [("ts", "partition field `ts_day`"), ("price", "the sort order")]:
        with pytest.raises(InvalidArgumentError, match=needed):
            table.update_schema().delete_column(column).commit()
    order = table.sort_order()
    assert [(f.transform, f.direction, f.null_order) for f in order.fields] == [
        ("identity", "asc", "nulls-first"),
        ("bucket[4]", "desc", "nulls-first"),
    ]
    with table.update_sort_order():
        pass
    assert table.sort_order().fields == ()
    table.update_schema().delete_column("price").commit()
    assert "price" not in rows_of(table)[0]


def test_identifier_fields_are_required_and_stay(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.update_schema().set_identifier_fields("id").rename_column("id", "key").commit()
    assert table.schema().identifier_field_ids == (1,)
    with pytest.raises(InvalidArgumentError, match="`key` cannot be dropped: it is an identifier field"):
        table.update_schema().delete_column("key").commit()
    with pytest.raises(InvalidArgumentError, match="`ts` cannot be an identifier field: it may be NULL"):
        table.update_schema().set_identifier_fields("ts").commit()
    table.update_schema().set_identifier_fields().delete_column("key").commit()
    assert table.schema().identifier_field_ids == ()


def test_properties_are_set_checked_and_removed(tmp_path: Path) -> None:
    table = made(tmp_path, format_version=1)
    table.set_properties({"write.wap.enabled": "true"}, owner="me")
    table.set_properties({"commit.retry.num-retries": 9, "write.object-storage.enabled": False})
    assert table.refresh().properties == {
        "commit.retry.num-retries": "9",
        "owner": "me",
        "write.object-storage.enabled": "false",
        "write.wap.enabled": "true",
    }
    table.remove_properties("owner", "nope")
    assert "owner" not in table.properties
    with pytest.raises(InvalidArgumentError, match="pass the names as separate arguments"):
        table.remove_properties(["owner"])
    for name, value in [("format-version", "2"), ("write.delete.mode", "mor"), ("write.target-file-size-bytes", "1M")]:
        with pytest.raises(InvalidArgumentError, match=name):
            table.set_properties({name: value})
    with pytest.raises(UnsupportedError, match="the location of a table without a catalog cannot change"):
        table.update_location(str(tmp_path / "elsewhere"))


def test_tables_are_upgraded_one_way(tmp_path: Path) -> None:
    table = made(tmp_path, format_version=1)
    for version in (2, 3):
        table.upgrade(version)
        assert table.refresh().format_version == version
        table.append(pa.Table.from_pylist([ROW | {"id": version}], schema=SCHEMA))
        assert len(rows_of(table)) == version
    with pytest.raises(InvalidArgumentError, match="cannot be downgraded to version 2"):
        table.upgrade(2)
    table.upgrade(3)


def test_invalid_types_and_paths_are_rejected(tmp_path: Path) -> None:
    table = made(tmp_path)
    for field_type in ("frob", 7, "list<", pa.duration("s")):
        with pytest.raises(InvalidArgumentError):
            table.update_schema().add_column("a", field_type).commit()
    for path in ((), 7, ("a", 7)):
        with pytest.raises(InvalidArgumentError, match="a column must be given as a string or a tuple of strings"):
            table.update_schema().delete_column(path)
    with pytest.raises(InvalidArgumentError, match="a default must be a plain value, not"):
        table.update_schema().set_default_value("id", object())


def opened_by_pyiceberg(table: Any) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(table.metadata_location.replace("file://", ""))


def test_pyiceberg_makes_of_the_same_updates_the_same_schema(tmp_path: Path) -> None:
    from pyiceberg.catalog.memory import InMemoryCatalog
    from pyiceberg.types import IntegerType, ListType, LongType, StringType, StructType
    from pyiceberg.types import NestedField as Field

    catalog = InMemoryCatalog("c", warehouse=str(tmp_path / "theirs"))
    catalog.create_namespace("n")
    theirs = catalog.create_table("n.t", SCHEMA)
    ours = made(tmp_path)
    nested = StructType(Field(1, "p", IntegerType(), required=False), Field(2, "q", StringType(), required=False))
    for table, types in (
        (theirs, (LongType(), ListType(3, nested, element_required=False), LongType())),
        (ours, ("long", "list<struct<p: int, q: string>>", "long")),
    ):
        with table.update_schema() as update:
            update.add_column("a", types[0], doc="d")
            update.add_column(("s", "z"), types[1])
            update.rename_column("ts", "at").delete_column("day").move_first("price").move_after("id", "s")
            update.update_column("id", types[2])
    table_schema = opened_by_pyiceberg(ours).schema()
    assert [str(column) for column in table_schema.fields] == [str(column) for column in theirs.schema().fields]


def test_pyiceberg_reads_evolved_tables(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["day(ts)"])
    table.update_spec().remove_field("ts_day").add_field("bucket(4, id)").commit()
    table.update_schema().add_column("note", "string").rename_column("price", "cost").update_column(
        "id", "long"
    ).commit()
    table.append([{"id": 2**40, "note": "n", "cost": Decimal("2.50")}])
    theirs = opened_by_pyiceberg(table).scan().to_arrow().sort_by("id").select(["id", "cost", "note"]).to_pylist()
    assert theirs == [{key: row[key] for key in ("id", "cost", "note")} for row in rows_of(table)]
    assert [str(field.transform) for field in opened_by_pyiceberg(table).spec().fields] == ["bucket[4]"]


def test_commits_that_lose_are_made_again_or_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    stale = frazil.load_table(tmp_path / "t")
    table.append(pa.Table.from_pylist([ROW | {"id": 2}], schema=SCHEMA))
    stale.set_properties(owner="me")
    assert stale.properties["owner"] == "me"
    assert len(rows_of(stale)) == 2
    with pytest.raises(CommitValidationError, match="an ancestor"):
        stale.manage_snapshots().cherry_pick(stale.current_snapshot().snapshot_id).commit()


def test_a_transaction_changes_and_writes_as_one(tmp_path: Path) -> None:
    table = made(tmp_path)
    with table.transaction() as changes:
        changes.update_schema().add_column("note", "string").rename_column("price", "cost").commit()
        changes.update_spec().add_field("truncate(1, note)").commit()
        changes.update_sort_order().asc("note").commit()
        changes.append([{"id": 2, "note": "ab", "cost": Decimal("2.50")}])
        changes.set_properties(owner="me")
        changes.manage_snapshots().create_tag(None, "v1").commit()
        assert table.schema().column_names == SCHEMA.names, "nobody sees it before its end"
    assert len(table.history()) == 2
    assert [(row["id"], row["note"], row["cost"]) for row in rows_of(table)] == [
        (1, None, Decimal("1.25")),
        (2, "ab", Decimal("2.50")),
    ]
    assert [row["id"] for row in rows_of(table, row_filter="note = 'ab'", ref="v1")] == [2]
    assert table.refresh().properties["owner"] == "me"


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    table = made(tmp_path)
    state = table.metadata_location

    def write(changes: Any) -> None:
        changes.update_schema().add_column("note", "string").commit()
        changes.append([{"id": 2, "nope": "ab"}])

    with pytest.raises(InvalidArgumentError), table.transaction() as changes:
        write(changes)
    assert table.refresh().metadata_location == state


@pytest.mark.parametrize("what", ["schema", "spec"])
def test_files_never_get_the_ids_of_another_writer(tmp_path: Path, what: str) -> None:
    """Both writers would assign the same id, and the later files would be read as the column of the first writer."""
    table, theirs = made(tmp_path), frazil.load_table(tmp_path / "t")

    def write(changes: Any) -> None:
        if what == "schema":
            changes.update_schema().add_column("mine", "string").commit()
            changes.append([{"id": 2, "mine": "m"}])
        else:
            changes.update_spec().add_field("bucket(4, id)").commit()
            changes.append([{"id": 2}])

    changes = table.transaction()
    write(changes)
    if what == "schema":
        theirs.update_schema().add_column("theirs", "string").commit()
    else:
        theirs.update_spec().add_field("bucket(5, id)").commit()
    with pytest.raises(CommitConflictError, match="another writer"):
        changes.commit_transaction()
    assert [row["id"] for row in rows_of(theirs)] == [1]
    # If no id is affected, the change is retried.
    table = table.refresh()
    with table.transaction() as changes:
        write(changes)
        theirs.set_properties(owner="them")
    assert [row["id"] for row in rows_of(table)] == [1, 2]
    assert [row["id"] for row in rows_of(table, row_filter="id = 2")] == [2]


class Model:
    """A table and a model of its rows by column id. Each method applies a random change to both."""

    def __init__(self, table: Any, seed: int) -> None:
        """Start with the column `id`."""
        self.table = table
        self.chance = random.Random(seed)  # noqa: S311 - a test
        self.columns = {"id": 1}
        self.types = {1: "int"}
        self.rows: list[dict[int, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        return [{name: row.get(i) for name, i in self.columns.items()} for row in self.rows]

    def step(self, number: int) -> None:
        kinds = (self.add, self.add, self.drop, self.rename, self.widen, self.partition, *[self.append] * 3)
        self.chance.choice(kinds)(number)

    def some(self) -> str:
        return self.chance.choice([name for name in self.columns if name != "id"] or ["id"])

    def add(self, _: int) -> None:
        name, field_type = self.chance.choice("abcdef"), self.chance.choice(["int", "string"])
        if name in self.columns:
            return
        self.table.update_schema().add_column(name, field_type).move_first(name).commit()
        self.columns[name] = self.table.schema().find_field(name).field_id
        assert self.columns[name] not in self.types, "no id is given twice"
        self.types[self.columns[name]] = field_type

    def append(self, number: int) -> None:
        values = {name: str(number) if self.types[i] == "string" else number for name, i in self.columns.items()}
        given = {name: value for name, value in values.items() if name == "id" or self.chance.random() < 0.7}
        self.table.append([given])
        self.rows.append({self.columns[name]: value for name, value in given.items()})

    def partition(self, number: int) -> None:
        column = self.chance.choice(list(self.columns))
        term = self.chance.choice([f"bucket({number + 2}, {column})", f"truncate({number + 2}, {column})"])
        self.table.update_spec().add_field(term).commit()

    def drop(self, _: int) -> None:
        name = self.some()
        if name == "id":
            return
        of_it = [field.name for field in self.table.spec().fields if self.columns[name] in field.source_ids]
        if of_it and self.table.format_version > 1:
            with pytest.raises(InvalidArgumentError, match="cannot be dropped"):
                self.table.update_schema().delete_column(name).commit()
        with self.table.transaction() as changes:
            with changes.update_spec() as spec:
                for field in of_it:
                    spec.remove_field(field)
            changes.update_schema().delete_column(name).commit()
        del self.columns[name]

    def rename(self, _: int) -> None:
        old, new = self.some(), self.chance.choice("abcdef")
        if old != "id" and new not in self.columns:
            self.table.update_schema().rename_column(old, new).commit()
            self.columns[new] = self.columns.pop(old)

    def widen(self, _: int) -> None:
        name = self.some()
        if self.types[self.columns[name]] == "int":
            self.table.update_schema().update_column(name, "long").commit()
            self.types[self.columns[name]] = "long"


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_rows_survive_random_schema_evolution(tmp_path: Path, version: int, seed: int) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int32())]), format_version=version)
    model = Model(table, seed)
    for number in range(30):
        model.step(number)
        if number % 5 == 4:
            found = frazil.load_table(tmp_path / "t").scan().to_arrow()
            assert {name: table.schema().find_field(name).field_id for name in found.schema.names} == model.columns
            assert found.sort_by("id").to_pylist() == [{n: r[n] for n in found.schema.names} for r in model.read()]
            for row in model.read()[:3]:
                for name, value in row.items():
                    if value is not None:
                        text = f"{name} = {value!r}"
                        assert row["id"] in table.scan(text).to_arrow()["id"].to_pylist(), text


ADD_COLUMNS = """
import sys, frazil
table = frazil.load_table(sys.argv[1])
for i in range(4):
    table.update_schema().add_column(f"c{sys.argv[2]}_{i}", "int").commit()
    table.append([{"id": int(sys.argv[2]) * 10 + i, f"c{sys.argv[2]}_{i}": i}])
"""


def test_processes_that_add_columns_at_once_get_ids_of_their_own(tmp_path: Path) -> None:
    properties = {"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10"}
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    command = [sys.executable, "-c", ADD_COLUMNS, str(tmp_path / "t")]
    processes = [subprocess.Popen([*command, str(i)]) for i in range(5)]  # noqa: S603 - ourselves
    assert [process.wait() for process in processes] == [0] * 5
    columns = table.refresh().schema().fields
    assert sorted(column.field_id for column in columns) == list(range(1, 22))
    for row in rows_of(table):
        expected = f"c{row['id'] // 10}_{row['id'] % 10}"
        assert {name: value for name, value in row.items() if value is not None and name != "id"} == {
            expected: row["id"] % 10
        }


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_are_deleted_from_evolved_tables(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, format_version=version, partition_by=["day(ts)"])
    table.append([{"id": i, "ts": dt.datetime.fromisoformat(f"2024-03-0{i}")} for i in range(2, 6)])
    table.update_spec().remove_field("ts_day").add_field("bucket(2, id)").commit()
    with table.update_schema() as update:
        update.delete_column("ts").rename_column("price", "cost").update_column("id", "long").add_column(
            "note", "string"
        )
    table.append([{"id": 2**40, "note": "n"}])
    table.delete("id = 3")
    assert [row["id"] for row in rows_of(table)] == [1, 2, 4, 5, 2**40]
    table.delete("note is null and cost is null")
    assert [(row["id"], row["cost"]) for row in rows_of(table)] == [(1, Decimal("1.25")), (2**40, None)]


def test_rows_may_leave_out_structs_with_required_fields(tmp_path: Path) -> None:
    table = made(tmp_path, format_version=3)
    with table.update_schema() as update:
        update.add_column("r", "struct<x: required int, y: required struct<z: required string>>")
        update.add_column("v", "variant").add_column("rs", "list<struct<x: required int>>")
    full = {"id": 3, "r": {"x": 1, "y": {"z": "z"}}, "rs": [{"x": 1}, None]}
    table.append([{"id": 2}, full])
    table.append([{"id": 4}])
    read = rows_of(table)
    assert [(row["r"], row["rs"], row["v"]) for row in read if row["id"] != 3] == [(None, None, None)] * 3
    assert (read[2]["r"], read[2]["rs"]) == (full["r"], full["rs"])
    # Invisible values are not included in bounds.
    assert [row["id"] for row in rows_of(table, row_filter="r.x is null")] == [1, 2, 4]
    assert rows_of(table, row_filter="r.x = 0") == []


DYNAMIC = [{"c": "A", "r": "us", "v": 1}, {"c": "A", "r": "eu", "v": 2}, {"c": "B", "r": "us", "v": 3}]


def partitioned(folder: Path, *fields: str) -> Any:
    table = frazil.create_table(folder / "t", {"c": "string", "r": "string", "v": "long"}, partition_by=list(fields))
    table.append(DYNAMIC)
    return table


def values(table: Any) -> list[int]:
    return sorted(table.scan().to_arrow()["v"].to_pylist())


@pytest.mark.parametrize("earlier", [["c"], ["r"], []])
def test_a_dynamic_overwrite_is_refused_if_files_of_an_earlier_spec_mix_partitions(
    tmp_path: Path, earlier: list[str]
) -> None:
    table = partitioned(tmp_path, *earlier)
    update = table.update_spec()
    for field in {"c", "r"} - set(earlier):
        update.add_field(field)
    update.commit()
    with pytest.raises(CommitValidationError, match="of partition spec 0 may have rows of the replaced partitions"):
        table.dynamic_partition_overwrite([{"c": "A", "r": "us", "v": 10}])
    assert values(table) == [1, 2, 3]
    # No file of the earlier spec can have such rows if the specs have a field in common.
    if earlier in (["c"], ["r"]):
        table.dynamic_partition_overwrite([{"c": "Z", "r": "zz", "v": 10}])
        assert values(table) == [1, 2, 3, 10]
    table.rewrite_data_files(rewrite_all=True).apply()
    table.dynamic_partition_overwrite([{"c": "A", "r": "us", "v": 11}])
    assert values(table) == ([2, 3, 10, 11] if earlier in (["c"], ["r"]) else [2, 3, 11])


@pytest.mark.parametrize("later", [["c"], ["r"], []])
def test_a_dynamic_overwrite_replaces_whole_files_of_an_earlier_spec(tmp_path: Path, later: list[str]) -> None:
    table = partitioned(tmp_path, "c", "r")
    update = table.update_spec()
    for field in {"c", "r"} - set(later):
        update.remove_field(field)
    update.commit()
    table.dynamic_partition_overwrite([{"c": "A", "r": "us", "v": 10}])
    assert values(table) == {"c": [3, 10], "r": [2, 10], "": [10]}["".join(later)]
