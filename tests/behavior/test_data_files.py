"""Tests of data files as configured by tables: formats, sort orders, partitions, lengths, and manifest entries."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import struct
import uuid
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import frazil
from frazil import _native
from frazil._write_result import RowCounts
from frazil.config import config
from frazil.errors import CorruptMetadataError, InvalidArgumentError, StorageError, UnsupportedError
from frazil.files.write.writer import DataFileWriter, write_memory
from frazil.iceberg._writer_options import writer_options
from frazil.iceberg.operations.values import SnapshotOptions, SnapshotRequest

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = ["parquet", "orc", "avro"]

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("flag", pa.bool_()),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("p4", pa.decimal128(4, 2)),
        ("p18", pa.decimal128(18, 3)),
        ("p38", pa.decimal128(38, 10)),
        ("day", pa.date32()),
        ("time", pa.time64("us")),
        ("ts", pa.timestamp("us")),
        ("tz", pa.timestamp("us", "UTC")),
        ("s", pa.string()),
        ("u", pa.uuid()),
        ("fixed", pa.binary(3)),
        ("b", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("times", pa.list_(pa.time64("us"))),
        ("at", pa.struct([("x", pa.float64()), ("u", pa.uuid())])),
        ("seen", pa.map_(pa.string(), pa.int64())),
        ("by_number", pa.map_(pa.int32(), pa.list_(pa.binary(3)))),
    ]
)

ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "flag": True,
        "i": -(2**31),
        "f": 1.5,
        "d": math.inf,
        "p4": Decimal("-12.34"),
        "p18": Decimal("123456789012345.678"),
        "p38": Decimal("-1234567890123456789012345678.0123456789"),
        "day": dt.date(1, 1, 1),
        "time": dt.time(23, 59, 59, 999999),
        "ts": dt.datetime.fromisoformat("1969-12-31T23:59:59.999999"),
        "tz": dt.datetime.fromisoformat("2024-02-29T12:00:00.000001+00:00"),
        "s": "é" * 20,
        "u": uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes,
        "fixed": b"abc",
        "b": b"\x00\xff",
        "tags": ["x", None, ""],
        "times": [dt.time(1, 2, 3), None],
        "at": {"x": -0.0, "u": b"0123456789abcdef"},
        "seen": [("k", 1), ("l", None)],
        "by_number": [(7, [b"xyz", None]), (8, None)],
    },
    {"id": 2},
    {
        "id": 3,
        "tags": [],
        "times": [],
        "at": {"x": None, "u": None},
        "seen": [],
        "by_number": [],
        "d": math.nan,
        "s": "",
    },
    {
        "id": 4,
        "ts": dt.datetime.fromisoformat("1970-01-01T00:00:00.000001"),
        "day": dt.date(9999, 12, 31),
        "times": None,
    },
]


def data_of(rows: list[dict[str, Any]] = ROWS) -> pa.Table:
    storage = [pa.field(f.name, f.type.storage_type if f.name == "u" else f.type, f.nullable) for f in SCHEMA]
    plain = pa.Table.from_pylist(
        [{k: v for k, v in row.items() if k != "at"} for row in rows],
        schema=pa.schema([field for field in storage if field.name != "at"]),
    )
    at = [row.get("at") for row in rows]
    children = [
        pa.array([a and a["x"] for a in at], pa.float64()),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([a and a["u"] for a in at], pa.binary(16))),
    ]
    mask = pa.array([a is None for a in at])
    struct_ = pa.StructArray.from_arrays(children, fields=list(SCHEMA.field("at").type), mask=mask)
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), plain["u"].combine_chunks())
    columns = {field.name: plain[field.name] for field in storage if field.name not in ("at", "u")}
    columns |= {"at": struct_, "u": uuids}
    return pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA)


def files_of(table: Any) -> list[Any]:
    return [task.file for task in table.scan().plan_files()]


def data_for(data_format: str) -> pa.Table:
    """Return the rows, without the timestamps that ORC does not support."""
    if data_format != "orc":
        return data_of()
    first = ROWS[0] | {"ts": dt.datetime.fromisoformat("1969-12-31T23:59:59")}
    return data_of([first, *ROWS[1:]])


def entries_of(folder: Path) -> list[dict[str, Any]]:
    """Return the manifest entries of data files."""
    fastavro = pytest.importorskip("fastavro")
    entries = []
    for path in (folder / "metadata").glob("*.avro"):
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            entries += [row["data_file"] for row in reader if "data_file" in row]
    return entries


def path_of(file: Any) -> str:
    return str(file.file_path).removeprefix("file:").replace("///", "/")


def rows_of(table: Any) -> str:
    return str(table.scan().to_arrow().sort_by("id").to_pylist())


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("partition_by", [[], ["bucket(2, id)"]])
def test_every_type_round_trips_in_every_format(tmp_path: Path, data_format: str, partition_by: list[str]) -> None:
    properties = {"write.format.default": data_format}
    table = frazil.create_table(tmp_path / "t", SCHEMA, partition_by=partition_by, properties=properties)
    data = data_for(data_format)
    table.append(data)
    assert rows_of(table) == str(data.to_pylist())
    assert {file.file_format for file in files_of(table)} == {data_format.upper()}
    assert all(path_of(file).endswith(f".{data_format}") for file in files_of(table))
    assert table.scan("ts < TIMESTAMP '1970-01-01 00:00:00'").count() == 1
    assert table.scan("time = TIME '23:59:59.999999'").count() == 1


@pytest.mark.parametrize("data_format", ["parquet", "orc"])
def test_pyiceberg_reads_every_type(tmp_path: Path, data_format: str) -> None:
    static = pytest.importorskip("pyiceberg.table").StaticTable
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties={"write.format.default": data_format})
    table.append(data_for(data_format))
    # PyIceberg's ORC reader supports neither times nor fixed-length values.
    left_out = {"time", "times", "u", "at", "fixed", "by_number"} if data_format == "orc" else set()
    names = tuple(name for name in SCHEMA.names if name not in left_out)
    theirs = static.from_metadata(table.metadata_location).scan(selected_fields=names).to_arrow().sort_by("id")
    ours = table.scan().to_arrow().sort_by("id")
    for name in names:
        assert str(theirs[name].to_pylist()) == str(ours[name].to_pylist()), name


@pytest.mark.parametrize("moment", [-1, -1_500_000, -62_135_596_800_000_000, 253_402_300_799_999_999])
@pytest.mark.parametrize("nested", [False, True])
def test_moments_that_other_readers_of_orc_take_for_others_are_refused(
    tmp_path: Path,
    moment: int,
    nested: bool,  # noqa: FBT001
) -> None:
    moments = pa.array([None, 0, moment], pa.int64()).cast(pa.timestamp("us"))
    column = pa.ListArray.from_arrays([0, 2, 2, 3], moments) if nested else moments
    properties = {"write.format.default": "orc"}
    table = frazil.create_table(tmp_path / "t", pa.schema([("ts", column.type)]), properties=properties)
    with pytest.raises(UnsupportedError, match="`ts"):
        table.append(pa.table({"ts": column}))
    assert not list((tmp_path / "t").rglob("*.orc"))
    table.append(pa.table({"ts": column[:2]}))
    assert table.scan().to_arrow()["ts"].to_pylist() == column[:2].to_pylist()


def test_fields_have_ids_in_every_format(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("l", pa.list_(pa.string())),
            ("m", pa.map_(pa.int32(), pa.time64("us"))),
            ("s", pa.struct([("u", pa.uuid())])),
            ("x", pa.map_(pa.string(), pa.binary(3))),
        ]
    )
    paths = {}
    for data_format in FORMATS:
        properties = {"write.format.default": data_format}
        table = frazil.create_table(tmp_path / data_format, schema, properties=properties)
        table.append([{"id": 1}])
        [file] = files_of(table)
        paths[data_format] = path_of(file)
    parquet = str(pq.ParquetFile(paths["parquet"]).schema)
    for id_ in range(1, 12):
        assert f"field_id={id_} " in parquet
    found = orc.ORCFile(paths["orc"]).schema
    required = {name: found.field(name).metadata[b"iceberg.required"] for name in ("id", "l")}
    assert required == {"id": b"true", "l": b"false"}
    key, value = found.field("m").type.key_field, found.field("m").type.item_field
    assert (key.metadata[b"iceberg.id"], key.metadata[b"iceberg.required"]) == (b"7", b"true")
    assert (value.metadata[b"iceberg.id"], value.metadata[b"iceberg.long-type"]) == (b"8", b"TIME")
    inner = found.field("s").type.field("u").metadata
    assert (inner[b"iceberg.id"], inner[b"iceberg.binary-type"]) == (b"9", b"UUID")
    fixed = found.field("x").type.item_field.metadata
    assert (fixed[b"iceberg.binary-type"], fixed[b"iceberg.length"]) == (b"FIXED", b"3")
    fastavro = pytest.importorskip("fastavro")
    with Path(paths["avro"]).open("rb") as avro:
        reader = fastavro.reader(avro)
        avro_schema = json.loads(reader.metadata["avro.schema"])
        assert [row["id"] for row in reader] == [1]
    by_name = {field["name"]: field for field in avro_schema["fields"]}
    assert [field["field-id"] for field in avro_schema["fields"]] == [1, 2, 3, 4, 5]
    assert by_name["l"]["type"][1]["element-id"] == 6
    entry = by_name["m"]["type"][1]
    assert (entry["type"], entry["logicalType"]) == ("array", "map")
    assert [field["field-id"] for field in entry["items"]["fields"]] == [7, 8]
    assert (by_name["x"]["type"][1]["key-id"], by_name["x"]["type"][1]["value-id"]) == (10, 11)


@pytest.mark.parametrize(
    ("data_format", "codec", "level"),
    [
        *(("parquet", codec, None) for codec in ("uncompressed", "snappy", "gzip", "lz4", "brotli", "zstd")),
        ("parquet", "zstd", "9"),
        ("parquet", "snappy", "9"),
        *(("orc", codec, None) for codec in ("none", "zlib", "snappy", "lz4", "zstd")),
        *(("avro", codec, None) for codec in ("uncompressed", "gzip", "snappy", "zstd")),
        ("avro", "gzip", "9"),
        ("avro", "zstd", "1"),
    ],
)
def test_codecs_and_levels_are_those_of_the_table(
    tmp_path: Path, data_format: str, codec: str, level: str | None
) -> None:
    prefix = f"write.{data_format}.compression-"
    properties = {"write.format.default": data_format, f"{prefix}codec": codec.upper()}
    properties |= {f"{prefix}level": level} if level else {}
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    table.append(pa.table({"id": pa.array(range(5_000))}))
    assert table.scan().count() == 5_000
    path = path_of(files_of(table)[0])
    if data_format == "parquet":
        found = pq.ParquetFile(path).metadata.row_group(0).column(0).compression.lower()
    elif data_format == "orc":
        found = orc.ORCFile(path).compression.lower()
    else:
        with Path(path).open("rb") as file:
            found = pytest.importorskip("fastavro").reader(file).metadata["avro.codec"]
    names = {"none": "uncompressed", "gzip": "deflate", "null": "uncompressed", "zstandard": "zstd"}
    assert names.get(found, found) == names.get(codec, codec)


def test_an_older_pyarrow_writes_no_bloom_filters_and_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "__version__", "22.0.0")
    properties = {"write.parquet.bloom-filter-enabled.column.id": "true", "write.parquet.page-row-limit": "10"}
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    with pytest.warns(UserWarning, match="install pyarrow 24 or later"):
        table.append([{"id": 1}])
    assert table.scan().to_arrow()["id"].to_pylist() == [1]
    column = pq.ParquetFile(path_of(files_of(table)[0])).metadata.row_group(0).column(0)
    assert getattr(column, "bloom_filter_length", None) is None


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 24, reason="pyarrow 24 writes the first Bloom filters")
def test_parquet_properties_are_followed(tmp_path: Path) -> None:
    properties = {
        "write.parquet.page-row-limit": "1000",
        "write.parquet.bloom-filter-enabled.column.id": "true",
        "write.parquet.bloom-filter-fpp.column.id": "0.05",
        "write.parquet.bloom-filter-max-bytes": "4096",
        "write.parquet.stats-enabled.column.at.x": "false",
        "write.parquet.row-group-size-bytes": "100000",
    }
    schema = pa.schema([("id", pa.int64()), ("at", pa.struct([("x", pa.int64())])), ("p", pa.decimal128(5, 1))])
    table = frazil.create_table(tmp_path / "t", schema, properties=properties)
    table.append(pa.table({"id": pa.array(range(10_000)), "at": [{"x": 1}] * 10_000}))
    path = path_of(files_of(table)[0])
    metadata = pq.ParquetFile(path).metadata
    assert metadata.num_row_groups > 1
    group = metadata.row_group(0)
    by_path = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert by_path["id"].bloom_filter_length < 4096 + 100
    assert by_path["id"].is_stats_set
    assert not by_path["at.x"].is_stats_set
    assert by_path["id"].has_column_index
    assert by_path["id"].has_offset_index
    assert by_path["p"].physical_type == "INT32"
    [entry] = entries_of(tmp_path / "t")
    assert entry["split_offsets"] == [
        group.column(0).dictionary_page_offset or group.column(0).data_page_offset
        for group in map(metadata.row_group, range(metadata.num_row_groups))
    ]


@pytest.mark.parametrize(
    ("properties", "error", "words"),
    [
        ({"write.format.default": "lance"}, UnsupportedError, "lance"),
        ({"write.parquet.compression-codec": "lzo"}, UnsupportedError, "lzo"),
        ({"write.parquet.page-size-bytes": "much"}, InvalidArgumentError, "page-size-bytes"),
        ({"write.target-file-size-bytes": "0"}, InvalidArgumentError, "target-file-size-bytes"),
        ({"write.parquet.bloom-filter-enabled.column.nope": "true"}, InvalidArgumentError, "`nope`"),
        ({"write.format.default": "orc", "write.orc.compression-strategy": "best"}, InvalidArgumentError, "strategy"),
        ({"write.format.default": "avro", "write.avro.compression-level": "99"}, InvalidArgumentError, "level 99"),
        ({"encryption.key-id": "k"}, UnsupportedError, "encrypted"),
    ],
)
def test_invalid_change_options_are_rejected(
    tmp_path: Path, properties: dict[str, str], error: type[Exception], words: str
) -> None:
    frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    # Other writers may have set properties that frazil rejects.
    edit_metadata(tmp_path / "t", lambda metadata: metadata["properties"].update(properties))
    with pytest.raises(error, match=words):
        frazil.load_table(tmp_path / "t").append([{"id": 1}])
    assert not (tmp_path / "t" / "data").exists()


def edit_metadata(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the first metadata file of a table."""
    path = folder / "metadata" / "v1.metadata.json"
    metadata = json.loads(path.read_text())
    edit(metadata)
    path.write_text(json.dumps(metadata))


def ordered(folder: Path, schema: pa.Schema, order: list[dict[str, Any]], **arguments: Any) -> Any:
    """Create a table with a sort order."""
    frazil.create_table(folder, schema, **arguments)
    order_1 = {"order-id": 1, "fields": order}
    edit_metadata(
        folder,
        lambda metadata: metadata.update(
            {"sort-orders": [*metadata["sort-orders"], order_1], "default-sort-order-id": 1}
        ),
    )
    return frazil.load_table(folder)


def by(source: int, direction: str = "asc", nulls: str = "nulls-first", transform: str = "identity") -> dict[str, Any]:
    return {"source-id": source, "transform": transform, "direction": direction, "null-order": nulls}


def in_file(table: Any, column: str) -> list[list[Any]]:
    return [pq.read_table(path_of(file))[column].to_pylist() for file in files_of(table)]


@pytest.mark.parametrize(
    ("order", "key", "reverse", "nulls"),
    [
        ([by(1)], lambda n: n, False, "first"),
        ([by(1, "desc", "nulls-last")], lambda n: n, True, "last"),
        ([by(1, "asc", "nulls-last", "truncate[10]")], lambda n: n // 10, False, "last"),
    ],
)
def test_rows_are_sorted_within_each_file(
    tmp_path: Path,
    order: list[dict[str, Any]],
    key: Any,
    reverse: bool,  # noqa: FBT001
    nulls: str,
) -> None:
    schema = pa.schema([("n", pa.int64()), ("id", pa.int64())])
    table = ordered(tmp_path / "t", schema, order, partition_by=["bucket(3, id)"])
    numbers = [None if i % 17 == 0 else (i * 7_919) % 101 - 50 for i in range(1_000)]
    table.append(pa.table({"n": pa.array(numbers, pa.int64()), "id": pa.array(range(1_000))}))
    files = files_of(table)
    assert {entry["sort_order_id"] for entry in entries_of(tmp_path / "t")} == {1}
    assert len(files) == 3
    for found in in_file(table, "n"):
        values = [n for n in found if n is not None]
        assert [key(n) for n in values] == sorted((key(n) for n in values), reverse=reverse)
        nones = found[: found.count(None)] if nulls == "first" else found[len(values) :]
        assert set(nones) == {None}
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == list(range(1_000))


def test_floats_are_sorted_as_the_spec_says(tmp_path: Path) -> None:
    def of_bits(bits: int) -> float:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])

    values = [of_bits(0xFFF8 << 48), -math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, of_bits(0x7FF8 << 48)]
    table = ordered(tmp_path / "t", pa.schema([("d", pa.float64())]), [by(1)])
    table.append(pa.table({"d": pa.array(values[::-1], pa.float64())}))
    [found] = in_file(table, "d")
    assert [struct.pack("<d", value) for value in found] == [struct.pack("<d", value) for value in values]


def test_files_of_an_unsorted_table_say_so(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append([{"id": 2}, {"id": 1}])
    assert [entry["sort_order_id"] for entry in entries_of(tmp_path / "t")] == [0]


def test_a_sort_beyond_memory_spills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "memory_limit", 400_000)
    assert write_memory() == 100_000
    schema = pa.schema([("k", pa.int64()), ("s", pa.string()), ("id", pa.int64())])
    table = ordered(tmp_path / "t", schema, [by(1), by(2, "desc")])
    rows = 20_000
    keys = [(i * 7_919) % 1_009 for i in range(rows)]
    texts = [f"text {(i * 31) % 977}" if i % 13 else None for i in range(rows)]
    ids = pa.array(range(rows), pa.int64())
    monkeypatch.setattr(config, "memory_limit", 400_000_000)
    monkeypatch.setattr("frazil.iceberg._write.write_memory", lambda: 100_000)
    table.append(pa.table({"k": pa.array(keys, pa.int64()), "s": texts, "id": ids}))
    [file] = files_of(table)
    found = pq.read_table(path_of(file)).to_pylist()
    assert [row["k"] for row in found] == sorted(keys)
    groups: dict[int, list[str | None]] = {}
    for row in found:
        groups.setdefault(row["k"], []).append(row["s"])
    for group in groups.values():
        values = [text for text in group if text is not None]
        assert group[: len(group) - len(values)] == [None] * (len(group) - len(values))
        assert values == sorted(values, reverse=True)
    assert sorted(row["id"] for row in found) == list(range(rows))


def test_spill_failure_suggests_setting_tmpdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ordered(tmp_path / "t", pa.schema([("k", pa.int64())]), [by(1)])
    monkeypatch.setattr("frazil.iceberg._write.write_memory", lambda: 1_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(StorageError, match="TMPDIR"):
        table.append(pa.table({"k": pa.array(range(10_000))}))
    assert table.current_snapshot() is None


def test_thousands_of_partitions_are_a_file_each(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("p", pa.int32())]), partition_by=["p"])
    rows, partitions = 20_000, 5_000
    parts = pa.array([(i * 7) % partitions for i in range(rows)], pa.int32())
    batches = pa.table({"id": pa.array(range(rows)), "p": parts}).to_batches(max_chunksize=1_500)
    result = table.append(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert (result.added_files, result.added_records) == (partitions, rows)
    assert table.scan("p = 4321").to_arrow()["p"].to_pylist() == [4_321] * 4
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(rows))


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("is_sorted", [False, True])
def test_files_are_as_long_as_the_table_says(tmp_path: Path, data_format: str, is_sorted: bool) -> None:  # noqa: FBT001
    target = 300_000
    properties = {
        "write.target-file-size-bytes": str(target),
        "write.format.default": data_format,
        f"write.{data_format}.compression-codec": "zstd",
    }
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("few", pa.string())])
    order = [by(1)] if is_sorted else []
    table = (
        ordered(tmp_path / "t", schema, order, properties=properties)
        if is_sorted
        else frazil.create_table(tmp_path / "t", schema, properties=properties)
    )
    chance = random.Random(5)  # noqa: S311 - no secret
    rows = 120_000
    texts = [f"{chance.getrandbits(64):016x}" for _ in range(rows)]
    table.append(pa.table({"id": pa.array(range(rows)), "s": texts, "few": ["a", "b", "c"] * (rows // 3)}))
    sizes = [file.file_size_in_bytes for file in files_of(table)]
    assert sizes == [Path(path_of(file)).stat().st_size for file in files_of(table)]
    whole = sorted(sizes)[1:]
    assert len(whole) >= 3
    assert all(0.9 * target < size < 1.12 * target for size in whole), sizes
    assert table.scan().count() == rows


def test_every_form_of_a_column_arrives(tmp_path: Path) -> None:
    texts = [None if i % 5 == 0 else f"t{(i * 7) % 50}" for i in range(1_000)]
    table = frazil.create_table(tmp_path / "t", pa.schema([("s", pa.string()), ("l", pa.list_(pa.int32()))]))
    plain = pa.array(texts)
    huge = pa.DictionaryArray.from_arrays(
        pa.array([None if t is None else 99_950 + int(t[1:]) for t in texts], pa.int32()),
        pa.array(["x"] * 99_950 + [f"t{i}" for i in range(50)]),
    )
    forms = [
        plain,
        plain.dictionary_encode(),
        huge,
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        pa.concat_arrays([pa.array(["gone"]), plain]).slice(1),
        pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 1_001), pa.int32()), plain),
    ]
    for form in forms:
        table.append(pa.table({"s": form}))
        assert table.scan().to_arrow()["s"].to_pylist()[-1_000:].count("t1") == texts.count("t1")
    total = table.scan().to_arrow()["s"].to_pylist()
    assert sorted(t or "" for t in total) == sorted([t or "" for t in texts] * len(forms))
    lists = pa.array([[1, None], None, []], pa.large_list(pa.int64()))
    table.append(pa.table({"l": lists.cast(pa.large_list(pa.int32())), "s": pa.nulls(3)}))
    found = table.scan("s is null").to_arrow()["l"].to_pylist()
    assert [1, None] in found
    assert [] in found


def test_rows_can_carry_their_lineage(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), format_version=3)
    table.append([{"id": 9}] * 80)
    [old] = (tmp_path / "t" / "data").glob("*.parquet")
    native, files = table._native, table._files
    rows = _native.RowWriter(native, memory_bytes=1 << 20, lineage_of=native)
    writer = DataFileWriter(files, rows, writer_options(rows, {}))
    data = {"id": [1, 2], "_row_id": [70, None], "_last_updated_sequence_number": [1, None]}
    writer.write([pa.record_batch(data)])
    writer.close()
    assert rows.written()[:2] == (1, 2)
    changes = _native.Transaction(native)
    changes.snapshot(SnapshotRequest(options=SnapshotOptions(), files=[rows], counts=RowCounts(0, inserted=2)))
    changes.commit(_native.Attempts())
    table = table.refresh()
    [path] = [path for path in (tmp_path / "t" / "data").glob("*.parquet") if path != old]
    schema = pq.ParquetFile(path).schema_arrow
    ids = [field.metadata[b"PARQUET:field_id"] for field in schema]
    assert ids == [b"1", b"2147483540", b"2147483539"]
    lineage = ("id", "_row_id", "_last_updated_sequence_number")
    found = table.scan("id < 9", selected_fields=lineage).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, 70, 1), (2, 81, 2)]


def test_progress_is_told(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), partition_by=["bucket(3, id)"])
    rows = _native.RowWriter(table._native, memory_bytes=1 << 20)
    told: list[tuple[int, int, int]] = []
    options = writer_options(rows, {})
    writer = DataFileWriter(table._files, rows, options, progress=lambda *done: told.append(done))
    writer.write([pa.record_batch({"id": pa.array(range(1_000))})])
    writer.close()
    assert told == sorted(told)
    assert (told[-1][0], told[-1][2]) == (1_000, 3)


def test_a_variant_is_one_column_that_its_file_knows_as_such(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("s", pa.string())]), format_version=3)
    path = tmp_path / "t" / "metadata" / "v1.metadata.json"
    metadata = json.loads(path.read_text())
    fields = metadata["schemas"][0]["fields"]
    fields.insert(1, {"id": 3, "name": "v", "required": False, "type": "variant"})
    metadata["last-column-id"] = 3
    path.write_text(json.dumps(metadata))
    table = frazil.load_table(tmp_path / "t")
    variant = pa.array(
        [{"metadata": b"\x01\x00\x00", "value": b"\x0c\x07"}] * 2,
        pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]),
    )
    table.append(pa.table({"id": [1, 2], "v": variant, "s": ["a" * 500, "b" * 700]}))
    assert table.scan("s like 'a%'").to_arrow()["v"].to_pylist() == variant.to_pylist()[:1]
    [file] = files_of(table)
    parquet = pq.ParquetFile(path_of(file))
    assert "field_id=3 v (Variant(1))" in str(parquet.schema)
    group = parquet.metadata.row_group(0)
    sizes = [group.column(i).total_compressed_size for i in range(4)]
    [entry] = entries_of(tmp_path / "t")
    assert {pair["key"]: pair["value"] for pair in entry["column_sizes"]} == {
        1: sizes[0],
        3: sizes[1] + sizes[2],
        2: sizes[3],
    }


def test_columns_without_rows_hold_their_write_default(tmp_path: Path) -> None:
    frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("n", pa.int32())]), format_version=3)
    path = tmp_path / "t" / "metadata" / "v1.metadata.json"
    metadata = json.loads(path.read_text())
    metadata["schemas"][0]["fields"][1] |= {"initial-default": 5, "write-default": 7}
    path.write_text(json.dumps(metadata))
    table = frazil.load_table(tmp_path / "t")
    table.append([{"id": 1}, {"id": 2}])
    table.append([{"id": 3, "n": None}])
    assert table.scan().to_arrow().sort_by("id")["n"].to_pylist() == [7, 7, None]


def test_reserved_field_ids_are_refused(tmp_path: Path) -> None:
    frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("n", pa.int32())]))
    path = tmp_path / "t" / "metadata" / "v1.metadata.json"
    metadata = json.loads(path.read_text())
    metadata["schemas"][0]["fields"][1]["id"] = metadata["last-column-id"] = 2_147_483_448
    path.write_text(json.dumps(metadata))
    with pytest.raises(CorruptMetadataError, match="2147483448"):
        frazil.load_table(tmp_path / "t").append([{"id": 1}])
