"""Tests of creating Paimon tables and appending to them."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil import errors
from support.paimon_values import NESTED, TYPES, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil.paimon import Table

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


def create(folder: Path, schema: Any = SCHEMA, **arguments: Any) -> Table:
    return frazil.create_table(folder / "t", schema, format="paimon", **arguments)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])


# Create


def test_table_keeps_its_creation_settings(tmp_path: Path) -> None:
    table = create(tmp_path, options={"file.compression": "snappy"}, comment="events")
    assert files(tmp_path / "t") == {"schema/schema-0"}
    assert [str(field) for field in table.schema().fields] == ["0: id: BIGINT NOT NULL", "1: name: STRING"]
    assert (table.options, table.comment) == ({"file.compression": "snappy"}, "events")
    assert frazil.load_table(tmp_path / "t").scan().count() == 0
    with pytest.raises(errors.AlreadyExistsError, match="a Paimon table already exists"):
        create(tmp_path)
    assert files(tmp_path / "t") == {"schema/schema-0"}


def frames() -> Iterator[Any]:
    arrow = pa.table({"id": pa.array([1], pa.int64()), "name": ["a"]})
    yield arrow
    yield arrow.schema
    yield arrow.to_pandas()
    yield pytest.importorskip("polars").from_arrow(arrow)
    yield [("id", "BIGINT"), ("name", "STRING")]
    yield {"id": pa.int64(), "name": "string"}


def test_schemas_from_arrow_data_frames_and_type_names(tmp_path: Path) -> None:
    for number, schema in enumerate(frames()):
        table = create(tmp_path / str(number), schema)
        assert [str(field) for field in table.schema().fields] == ["0: id: BIGINT", "1: name: STRING"], schema
        if hasattr(schema, "__arrow_c_stream__"):
            table.append(schema)
            assert rows(table) == [{"id": 1, "name": "a"}]


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        (
            {"primary_keys": ["id"], "partition_keys": ["name"], "options": {"bucket": 2}},
            errors.InvalidArgumentError,
            "in the primary key, which lacks `name`",
        ),
        ({"partition_keys": ["nome"]}, errors.InvalidArgumentError, "`nome` is not a column"),
        ({"options": {"bucket": 4}}, errors.InvalidArgumentError, "needs the option `bucket-key`"),
        ({"options": {"bucket": -2}}, errors.InvalidArgumentError, "`bucket` is `-2` on a table without a primary key"),
        ({"options": {"metadata.stats-mode": "most"}}, errors.InvalidArgumentError, "`metadata.stats-mode` is `most`"),
        ({"options": {"file.format": "csv"}}, errors.UnsupportedError, "`file.format` with the value `csv`"),
        ({"options": {"s3.secret-access-key": "x"}}, errors.InvalidArgumentError, "a storage option"),
        ({"schema": {"a": "ARRAY<BLOB>"}}, errors.UnsupportedError, "column: a"),
        ({"schema": {"_SEQUENCE_NUMBER": "INT"}}, errors.InvalidArgumentError, "_SEQUENCE_NUMBER"),
        ({"schema": [("a", "INT"), ("a", "INT")]}, errors.InvalidArgumentError, "two columns"),
        ({"schema": {"a": "INTEGRAL"}}, errors.InvalidArgumentError, "INTEGRAL"),
        ({"schema": 5}, errors.InvalidArgumentError, "int"),
        ({"partition_by": ["id"]}, errors.InvalidArgumentError, "no argument `partition_by`"),
    ],
)
def test_tables_that_are_not_written_are_named_and_nothing_is_left(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        create(tmp_path, **arguments)
    assert not list(tmp_path.iterdir())


def test_formats_have_their_own_arguments(tmp_path: Path) -> None:
    create_table: Any = frazil.create_table
    with pytest.raises(errors.InvalidArgumentError, match="no argument `primary_keys` for iceberg tables"):
        create_table(tmp_path / "t", SCHEMA, primary_keys=["id"])
    with pytest.raises(errors.InvalidArgumentError, match="unknown table format 'delta'"):
        create_table(tmp_path / "t", SCHEMA, format="delta")
    assert not list(tmp_path.iterdir())


def test_a_catalog_creates_databases_and_tables(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="paimon", warehouse=str(tmp_path))
    with pytest.raises(errors.NoSuchNamespaceError):
        catalog.create_table("shop.events", SCHEMA)
    catalog.create_namespace("shop")
    with pytest.raises(errors.AlreadyExistsError):
        catalog.create_namespace("shop")
    table = catalog.create_table("shop.events", SCHEMA, options={"write-only": "true"})
    assert table.location == str(tmp_path / "shop.db" / "events")
    table.append([{"id": 1}])
    assert catalog.list_tables("shop") == [("shop", "events")]
    assert catalog.load_table("shop.events").scan().count() == 1
    with pytest.raises(errors.AlreadyExistsError):
        catalog.create_table("shop.events", SCHEMA)
    assert catalog.create_table_if_not_exists("shop.events", SCHEMA).scan().count() == 1
    for name in ("shop.a$b", "shop.a%2Fb", "shop.sys", "shop..a"):
        with pytest.raises(errors.FrazilError):
            catalog.create_table(name, SCHEMA)
    assert catalog.list_tables("shop") == [("shop", "events")]


# Append


def test_appends_add_up_on_old_handles_too(tmp_path: Path) -> None:
    table = create(tmp_path)
    old = frazil.load_table(tmp_path / "t")
    result = table.append(pa.table({"name": ["a", None], "id": pa.array([1, 2], pa.int32())}))
    assert (result.snapshot_id, result.added_files, result.added_records, result.attempts) == (1, 1, 2, 1)
    [data] = (tmp_path / "t" / "bucket-0").iterdir()
    assert result.added_bytes == data.stat().st_size
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert (snapshot.snapshot_id, snapshot.operation, snapshot.total_record_count) == (1, "append", 2)
    assert old.append([{"id": 3, "name": "c"}]).snapshot_id == 2
    assert rows(table) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]
    assert table.scan(snapshot_id=1).count() == 2
    assert table.append([]).snapshot_id is None
    assert [snapshot.snapshot_id for snapshot in table.snapshots()] == [1, 2]


def test_files_are_as_java_writes_them(tmp_path: Path) -> None:
    table = create(tmp_path, options={"target-file-size": "20 kb"})
    table.append(pa.table({"id": range(20_000), "name": [f"{i * 7919:x}" for i in range(20_000)]}))
    [split] = table.scan().plan_files()
    assert len(split.files) > 2
    ends = [(file.min_sequence_number, file.max_sequence_number) for file in split.files]
    starts = [0, *(end + 1 for _, end in sorted(ends)[:-1])]
    assert [start for start, _ in sorted(ends)] == starts
    names = sorted(path.name for path in (tmp_path / "t" / "bucket-0").iterdir())
    assert {name.rpartition("-")[0] for name in names} == {names[0].rpartition("-")[0]}
    assert {int(name.rpartition("-")[2].removesuffix(".parquet")) for name in names} == set(range(len(names)))
    metadata = pq.ParquetFile(tmp_path / "t" / "bucket-0" / names[0])
    assert metadata.metadata.row_group(0).column(0).compression == "ZSTD"
    assert [metadata.schema_arrow.field(i).metadata[b"PARQUET:field_id"] for i in range(2)] == [b"0", b"1"]
    now = time.time() + (time.localtime().tm_gmtoff or 0)
    created = table.inspect.files().column("creation_time").to_pylist()
    assert all(abs(moment.replace(tzinfo=dt.UTC).timestamp() - now) < 600 for moment in created)


def test_every_type_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = create(tmp_path, [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items())])
    given = [{"id": i, **{name: values[i] for name, (_, values) in TYPES.items()}} for i in range(2)]
    table.append(given)
    assert rows(table) == given
    table.append(table.scan().to_arrow())
    assert table.scan().count() == 4
    for name, (_, values) in TYPES.items():
        if values[1] is None:
            assert table.scan(f"{name} is null").count() == 2, name


def test_nested_types_are_read_as_they_were_written(tmp_path: Path) -> None:
    columns = [("id", "INT"), *((name, text) for name, (text, _) in NESTED.items())]
    table = create(tmp_path, columns)
    given = [{"id": i, **{name: values[i] for name, (_, values) in NESTED.items()}} for i in range(2)]
    table.append(given)
    assert rows(table) == given
    table.append(table.scan().to_arrow())
    assert table.scan().count() == 4
    with pytest.raises(errors.InvalidArgumentError, match=r"`row\.i` is NOT NULL, but NULL in row 1"):
        table.append([{"id": 5}, {"id": 6, "row": {"t": at(2024, 1, 1)}}])
    with pytest.raises(errors.InvalidArgumentError, match=r"`grid\.element\.element` is NOT NULL, but NULL in row 0"):
        table.append([{"id": 5, "grid": [[None]]}])
    with pytest.raises(errors.InvalidArgumentError, match="unknown field 'z'"):
        table.append([{"id": 5, "row": {"i": 1, "z": 1}}])
    assert table.scan().count() == 4


def test_variants_are_read_as_they_were_written(tmp_path: Path) -> None:
    golden = frazil.load_table(Path(__file__).parent.parent / "golden" / "paimon" / "g.db" / "append_variant")
    found = golden.scan().to_arrow()
    table = create(tmp_path, found.schema)
    table.append(found)
    assert table.scan().to_arrow().equals(found)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ([{"id": 1, "nome": "a"}], "no column `nome`"),
        (pa.table([pa.array([1]), pa.array([2])], names=["id", "id"]), "two columns have the same name `id`"),
        (pa.table({"name": ["a"]}), "`id` is NOT NULL, but NULL in row 0"),
        ([{"id": 1}, {"id": 2, "name": "b"}, {"name": "c"}], "`id` is NOT NULL, but NULL in row 2"),
        (pa.table({"id": ["1"]}), "`id` has the type utf8, which cannot be converted to BIGINT NOT NULL"),
        ([{"id": 1, "name": 5}], "the value of `name` in row 0 does not fit STRING"),
        ([{"id": 1}, {"id": 2**63}], "the value of `id` in row 1 does not fit BIGINT"),
        (pa.table({"nome": pa.array([], pa.string())}), "no column `nome`"),
        (SCHEMA.append(pa.field("nome", pa.string())).empty_table(), "no column `nome`"),
        (pa.table({"id": pa.array([], pa.string())}), "`id` has the type utf8"),
        (pa.RecordBatchReader.from_batches(pa.schema([("nome", pa.int64())]), []), "no column `nome`"),
        (5, "not int"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(tmp_path: Path, data: Any, named: str) -> None:
    table = create(tmp_path)
    table.append([{"id": 0}])
    before = files(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match=named):
        table.append(data)
    assert files(tmp_path) == before
    assert table.scan().count() == 1


def test_bad_input_after_files_were_written_leaves_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, options={"target-file-size": "20 kb"})

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, 20_000, 10_000):
            names = [f"{i * 7919:x}" for i in range(start, start + 10_000)]
            yield pa.record_batch({"id": range(start, start + 10_000), "name": names})
        yield pa.record_batch({"id": pa.array([None], pa.int64())})

    with pytest.raises(errors.InvalidArgumentError, match="NULL in row 20000"):
        table.append(batches())
    assert files(tmp_path / "t") == {"schema/schema-0"}
    assert table.current_snapshot() is None


MAP = pa.map_(pa.string(), pa.int32())
TWICE = [("a", 1), ("b", 2), ("a", 3)]


@pytest.mark.parametrize(
    ("kind", "arrow", "value", "named"),
    [
        ("MAP<STRING, INT>", MAP, TWICE, "m"),
        ("MULTISET<STRING>", MAP, TWICE, "m"),
        ("ARRAY<MAP<STRING, INT>>", pa.list_(MAP), [[("a", 1)], TWICE], "m.element"),
        ("ROW<x MAP<STRING, INT>>", pa.struct([("x", MAP)]), {"x": TWICE}, "m.x"),
        ("MAP<INT, MAP<STRING, INT>>", pa.map_(pa.int32(), MAP), [(1, TWICE)], "m.value"),
        ("MAP<ROW<x INT>, INT>", pa.map_(pa.struct([("x", pa.int32())]), pa.int32()), [({"x": 1}, 1)] * 2, "m"),
        ("MAP<DOUBLE, INT>", pa.map_(pa.float64(), pa.int32()), [(float("nan"), 1)] * 2, "m"),
    ],
)
def test_a_map_has_a_key_once(tmp_path: Path, kind: str, arrow: pa.DataType, value: Any, named: str) -> None:
    table = create(tmp_path, {"m": kind})
    table.append(pa.table({"m": pa.array([None, value[:1] if named == "m" else None], arrow)}))
    for data in (pa.table({"m": pa.array([None, value], arrow)}), [{"m": None}, {"m": value}]):
        with pytest.raises(errors.InvalidArgumentError, match=f"`{named}` in row 1 has a duplicate key") as caught:
            table.append(data)
        assert caught.value.context["column"] == named
    assert table.scan().count() == 2


def test_types_in_messages_are_those_of_the_table(tmp_path: Path) -> None:
    types = {
        "a": ("TIMESTAMP(0)", dt.datetime(2024, 1, 1, 1, 1, 1, 5)),  # noqa: DTZ001 - a timestamp without a time zone
        "b": ("TIME(0)", dt.time(1, 2, 3, 4)),
        "c": ("TIMESTAMP(4)", "x"),
        "d": ("CHAR(3)", 5),
        "e": ("VARBINARY(7)", 5),
        "f": ("TIMESTAMP(1) WITH LOCAL TIME ZONE", "x"),
    }
    columns = {name: text for name, (text, _) in types.items()}
    members = ", ".join(f"{name} {text}" for name, text in columns.items())
    nested = {
        "l": "ARRAY<TIME(1) NOT NULL>",
        "m": "MAP<CHAR(3), TIMESTAMP(2)>",
        "s": f"ROW<{members}>",
    }
    table = create(tmp_path, columns | nested)
    values: list[tuple[str, str, Any]] = [(name, text, {name: value}) for name, (text, value) in types.items()]
    values += [(f"s.{name}", text, {"s": {name: value}}) for name, (text, value) in types.items()]
    values += [("l.element", "TIME(1)", {"l": ["x"]}), ("m.key", "CHAR(3)", {"m": {1: None}})]
    values += [("m.value", "TIMESTAMP(2)", {"m": {"a": "x"}})]
    for path, text, row in values:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            table.append([row])
        assert f"`{path}` in row 0 does not fit {text}: " in str(caught.value)


def test_values_that_are_too_long_are_named(tmp_path: Path) -> None:
    table = create(tmp_path, [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items() if "NOT" not in text)])
    too_long: dict[str, Any] = {
        "tiny": 128,
        "short_decimal": Decimal("0.001"),
        "code": "äöüß",
        "label": "123456",
        "fixed": b"abc",
        "time": dt.time(0, 0, 0, 1),
        "second": at(2024, 1, 1, 0, 0, 0, 1000),
        "milli": at(2024, 1, 1, 0, 0, 0, 1),
    }
    for name, value in too_long.items():
        with pytest.raises(errors.InvalidArgumentError, match=f"`{name}` in row 1 does not fit"):
            table.append([{"id": 1}, {"id": 2, name: value}])
    assert files(tmp_path / "t") == {"schema/schema-0"}


def test_tables_of_other_kinds_are_refused_before_a_row_is_read(tmp_path: Path) -> None:
    golden = Path(__file__).parent.parent / "golden" / "paimon" / "g.db"

    def unread() -> Iterator[pa.RecordBatch]:
        pytest.fail("a row was read")
        yield pa.record_batch({})

    with pytest.raises(errors.UnsupportedError, match=r"row-tracking\.enabled"):
        frazil.load_table(golden / "row_tracking_compacted").append(unread())
    with pytest.raises(errors.UnsupportedError, match="read-optimized"):
        create(tmp_path).read_optimized().append(unread())


def test_a_branch_is_written_on_its_own(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([{"id": 1}])
    folder = tmp_path / "t/branch/branch-b/schema"
    folder.mkdir(parents=True)
    shutil.copy(tmp_path / "t/schema/schema-0", folder)
    branch = table.with_branch("b")
    for i in (2, 3):
        branch.append([{"id": i}])
    branch.compact()
    assert [row["id"] for row in rows(branch)] == [2, 3]
    assert [row["id"] for row in rows(table.refresh())] == [1]
    assert [snapshot.operation for snapshot in branch.snapshots()] == ["append", "append", "compact"]
    assert (tmp_path / "t/branch/branch-b/snapshot/LATEST").read_text() == "3"
    branch.truncate()
    assert (branch.scan().count(), table.scan().count()) == (0, 1)


def test_defaults_replace_nulls(tmp_path: Path) -> None:
    schema = {"id": "BIGINT NOT NULL", "name": "STRING", "day": "DATE NOT NULL"}
    for keyed in (False, True):
        folder = tmp_path / str(keyed)
        options = {"bucket": 1} if keyed else {}
        create(folder, schema, primary_keys=["id"] if keyed else [], options=options)
        path = folder / "t/schema/schema-0"
        made = json.loads(path.read_text())
        made["fields"][1]["defaultValue"] = "'none'"
        made["fields"][2]["defaultValue"] = "2024-02-29"
        path.write_text(json.dumps(made))
        table: Any = frazil.load_table(folder / "t")
        day = dt.date(2024, 2, 29)
        table.append([{"id": 1}, {"id": 2, "name": "b"}])
        table.append([{"id": 3, "name": None, "day": dt.date(1970, 1, 1)}])
        assert rows(table) == [
            {"id": 1, "name": "none", "day": day},
            {"id": 2, "name": "b", "day": day},
            {"id": 3, "name": "none", "day": dt.date(1970, 1, 1)},
        ]
        with pytest.raises(errors.InvalidArgumentError, match="day"):
            table.append([{"id": 4, "day": None}])
        made["fields"][2]["defaultValue"] = "someday"
        path.write_text(json.dumps(made))
        with pytest.raises(errors.InvalidArgumentError, match="column: day"):
            frazil.load_table(folder / "t").append([{"id": 4}])
        assert table.scan().count() == 3


def test_defaults_of_arrays_maps_and_rows_are_written(tmp_path: Path) -> None:
    schema = {"id": "BIGINT NOT NULL", "a": "ARRAY<INT>", "m": "MAP<STRING, INT>", "r": "ROW<x INT, y ARRAY<STRING>>"}
    for keyed in (False, True):
        folder = tmp_path / str(keyed)
        create(folder, schema, primary_keys=["id"] if keyed else [], options={"bucket": 1} if keyed else {})
        path = folder / "t/schema/schema-0"
        made = json.loads(path.read_text())
        for field, default in zip(made["fields"][1:], ["[1, null]", "{k -> 7}", "{2, [a, b]}"], strict=True):
            field["defaultValue"] = default
        path.write_text(json.dumps(made))
        table: Any = frazil.load_table(folder / "t")
        table.append([{"id": 1}])
        table.append([{"id": 2, "a": None, "m": [("z", 1)], "r": None}, {"id": 3, "a": [], "r": {"x": 1, "y": None}}])
        default = {"a": [1, None], "m": [("k", 7)], "r": {"x": 2, "y": ["a", "b"]}}
        assert rows(table) == [
            {"id": 1, **default},
            {"id": 2, **default, "m": [("z", 1)]},
            {"id": 3, **default, "a": [], "r": {"x": 1, "y": None}},
        ]


def test_a_commit_has_its_user_watermark_and_properties_once(tmp_path: Path) -> None:
    table = create(tmp_path, options={"commit.user-prefix": "etl"})
    first = table.append([{"id": 1}], commit_user="job", identifier=7, watermark=99, snapshot_properties={"k": "v"})
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_user, snapshot.commit_identifier, snapshot.watermark) == ("job", 7, 99)
    assert json.loads((tmp_path / "t" / "snapshot" / "snapshot-1").read_bytes())["properties"] == {"k": "v"}
    before = files(tmp_path)
    again = table.append([{"id": 1}], commit_user="job", identifier=7)
    assert (first.snapshot_id, again.snapshot_id, again.added_records, again.attempts) == (1, 1, 0, 0)
    assert (files(tmp_path), table.scan().count()) == (before, 1)
    table.append([{"id": 2}])
    newest = table.current_snapshot()
    assert newest is not None
    assert newest.commit_user.startswith("etl_")
    with pytest.raises(
        errors.InvalidArgumentError,
        match="an identifier is a number among the commits of a user and requires commit_user",
    ):
        table.append([{"id": 3}], identifier=8)
    with pytest.raises(errors.InvalidArgumentError, match="must fit BIGINT"):
        table.append([{"id": 3}], watermark=2**63)


@pytest.mark.parametrize("options", [{}, {"bucket": "1", "bucket-key": "id"}])
@pytest.mark.parametrize("keys", [[], ["id"]])
def test_a_compaction_without_files_makes_no_snapshot(tmp_path: Path, keys: list[str], options: dict[str, str]) -> None:
    given = {"snapshot.ignore-empty-commit": "false"} | ({"bucket": "1"} if keys else options)
    table = create(tmp_path, primary_keys=keys, options=given)
    for i in range(3):
        table.append([{"id": i}])
    assert [snapshot.operation for snapshot in table.snapshots()] == ["append"] * 3
    # An append without rows creates a commit.
    table.append([])
    assert len(table.snapshots()) == 4
    table.compact()
    snapshots = len(table.snapshots())
    assert table.compact().snapshot_id is None
    assert len(table.snapshots()) == snapshots


RETENTION = {"tag.num-retained-max": "5", "changelog.time-retained": "1 d"}


@pytest.mark.parametrize("write", ["append", "overwrite", "truncate", "compact"])
def test_options_of_retention_are_named_once(tmp_path: Path, write: str) -> None:
    create(tmp_path, options=RETENTION)
    table = frazil.load_table(tmp_path / "t")

    def run() -> None:
        getattr(table, write)(*([[{"id": 1}]] if write in {"append", "overwrite"} else []))

    with pytest.warns(UserWarning, match="have no effect when frazil commits") as caught:
        run()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(f"`{name}`" in str(caught[0].message) for name in RETENTION)
    run()


def test_nothing_is_said_of_retention_that_java_does_not_do_either(tmp_path: Path) -> None:
    create(tmp_path, options=RETENTION | {"write-only": "true"}).append([{"id": 1}])


def test_a_small_file_size_makes_no_small_steps(tmp_path: Path) -> None:
    count = 40_000
    data = pa.table({"id": range(count), "name": [f"{i % 10}" for i in range(count)]})
    table = create(tmp_path, partition_keys=["name"], options={"target-file-size": "2 kb"})
    table.append(data)
    assert table.scan().count() == count
    sizes = table.inspect.files()["file_size_in_bytes"].to_pylist()
    assert len(sizes) > 20
    assert max(sizes) < 6 << 10
