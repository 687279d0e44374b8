"""Tests of Paimon data files in Parquet, ORC and Avro: the types that they support, and their encoding."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import frazil
from frazil import errors
from support.paimon_values import FORMATS, at, values_for

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table


def create(folder: Path, schema: Any, **arguments: Any) -> Table:
    return frazil.create_table(folder / "t", schema, format="paimon", **arguments)


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def data_files(folder: Path) -> list[Path]:
    return sorted((folder / "t").rglob("bucket-*/*"))


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("data_format", FORMATS)
def test_every_type_is_read_as_it_was_written(tmp_path: Path, data_format: str, keyed: bool) -> None:  # noqa: FBT001
    values = values_for(data_format)
    arguments: dict[str, Any] = {"primary_keys": ["id"], "options": {"bucket": 1}} if keyed else {"options": {}}
    arguments["options"]["file.format"] = data_format
    columns = [("id", "INT NOT NULL"), *((name, text) for name, (text, _) in values.items())]
    table = create(tmp_path, columns, **arguments)
    given = [{"id": i, **{name: found[i] for name, (_, found) in values.items()}} for i in range(2)]
    table.append(given)
    nulls = [{"id": 9, **{name: found[0] for name, (text, found) in values.items() if "NOT NULL" in text[-8:]}}]
    table.append(nulls)
    assert {path.suffix for path in data_files(tmp_path)} == {f".{data_format}"}
    assert rows(table)[:2] == given
    before = table.scan().to_arrow()
    if not keyed:
        table.append(before.slice(0, 1))
    assert table.compact().removed_files >= 2
    assert {path.suffix for path in data_files(tmp_path)} == {f".{data_format}"}
    assert rows(table)[-1] == rows(table)[-1]
    assert [row for row in rows(table) if row["id"]][:2] == before.to_pylist()[1:]


def test_each_row_is_found_by_each_value(tmp_path: Path) -> None:
    """Bounds in manifests match the values that are read, in all formats."""
    for data_format in FORMATS:
        values = values_for(data_format) | {"blanks": ("CHAR(4)", ["a ", " b  "])}
        columns = [("id", "INT"), *((name, text) for name, (text, _) in values.items())]
        folder = tmp_path / data_format
        table = create(folder, columns, options={"file.format": data_format, "metadata.stats-mode": "full"})
        for i in range(2):
            table.append([{"id": i, **{name: found[i] for name, (_, found) in values.items()}}])
        blanks = [row["blanks"] for row in rows(table)]
        assert blanks == (["a", " b"] if data_format == "orc" else ["a ", " b  "])
        for name in ("code", "blanks", "text", "short_decimal", "day", "whole"):
            for row in rows(table):
                value = row[name]
                if value is not None:
                    written = str(value).replace("'", "''")
                    literal = written if isinstance(value, int) else f"'{written}'"
                    found = table.scan(f"{name} = {literal}").to_arrow().to_pylist()
                    assert row in found, (data_format, name, value)


def test_orc_files_have_the_types_and_ids_of_java(tmp_path: Path) -> None:
    columns = [
        ("id", "BIGINT NOT NULL"),
        ("a", "ARRAY<TIMESTAMP(9)>"),
        ("m", "MAP<INT, STRING>"),
        ("r", "ROW<x DECIMAL(9, 2), z TIMESTAMP(6) WITH LOCAL TIME ZONE>"),
        ("t", "TIME(3)"),
    ]
    options = {"file.format": "orc", "bucket": 1}
    table = create(tmp_path, columns, primary_keys=["id"], options=options)
    table.append([{"id": 1}])
    [path] = data_files(tmp_path)
    file = orc.ORCFile(path)
    schema = file.schema
    base = 2**31 // 4 - 1

    def ids(field: pa.Field) -> Any:
        own = int(field.metadata[b"paimon.id"])
        parts = [ids(field.type.field(i)) for i in range(field.type.num_fields)] if not _is_map(field) else []
        return [own, *parts] if parts else own

    assert schema.names == ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "a", "m", "r", "t"]
    assert [ids(field) for field in schema if not _is_map(field)] == [
        2**30 - 1,
        2**31 - 2,
        2**31 - 3,
        0,
        [1, base + 1024 + 1],
        [3, 4, 5],
        6,
    ]
    assert schema.field("a").type.value_type == pa.timestamp("ns")
    assert schema.field("r").type.field("z").type == pa.timestamp("ns", "UTC")
    assert (schema.field("t").type, schema.field("_VALUE_KIND").type) == (pa.int32(), pa.int8())
    assert file.compression == "ZSTD"


def _is_map(field: pa.Field) -> bool:
    return bool(pa.types.is_map(field.type))


def test_a_parquet_file_has_int96_where_java_has_it(tmp_path: Path) -> None:
    columns = [
        ("id", "INT"),
        ("n", "TIMESTAMP(9)"),
        ("m", "TIMESTAMP(3)"),
        ("r", "ROW<u TIMESTAMP(6), n TIMESTAMP(8)>"),
    ]
    columns += [("z", "TIMESTAMP(6) WITH LOCAL TIME ZONE"), ("a", "ARRAY<TIMESTAMP(3) WITH LOCAL TIME ZONE>")]
    table = create(tmp_path, columns)
    moment = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
    nanos = pa.array([1, -1, None], pa.timestamp("ns"))
    row = {"m": at(1, 1, 1), "r": {"u": at(1, 1, 1), "n": at(1969, 12, 31)}, "z": moment, "a": [moment, None]}
    given = pa.Table.from_pylist([row] * 3).append_column("id", pa.array(range(3), pa.int32()))
    table.append(given.append_column("n", nanos))
    [path] = data_files(tmp_path)
    schema = pq.ParquetFile(path).schema
    found = {schema.column(i).path: schema.column(i) for i in range(len(schema))}
    assert [found[name].physical_type for name in ("n", "r.n")] == ["INT96", "INT96"]
    assert str(found["m"].logical_type).startswith("Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds")
    assert str(found["r.u"].logical_type).startswith("Timestamp(isAdjustedToUTC=false, timeUnit=microseconds")
    assert str(found["z"].logical_type).startswith("Timestamp(isAdjustedToUTC=true, timeUnit=microseconds")
    assert str(found["a.list.element"].logical_type).startswith("Timestamp(isAdjustedToUTC=true, timeUnit=milliseconds")
    back = table.scan().to_arrow()
    assert back.column("n").combine_chunks().equals(nanos)
    assert back.select(given.column_names).to_pylist() == given.to_pylist()


@pytest.mark.parametrize(
    ("data_format", "text", "named"),
    [
        ("orc", "BINARY(4)", "to ORC files is not supported"),
        ("orc", "ARRAY<VARBINARY(4)>", "to ORC files is not supported"),
        ("orc", "VARIANT", "to ORC files is not supported"),
        ("orc", "MULTISET<STRING>", "to ORC files is not supported"),
        ("avro", "MULTISET<STRING>", "to Avro files is not supported"),
        ("avro", "VARIANT", "to Avro files is not supported"),
        ("avro", "TIMESTAMP(7)", r"TIMESTAMP\(7\) to Avro files is not supported.*column: c"),
        ("avro", "ROW<t TIMESTAMP(9) WITH LOCAL TIME ZONE>", "to Avro files is not supported"),
        ("avro", "TIME(6)", "to Avro files is not supported"),
        ("avro", "ROW<`a b` INT>", "the column name is not valid in Avro files"),
    ],
)
def test_types_that_a_format_does_not_hold_are_refused_before_a_byte(
    tmp_path: Path, data_format: str, text: str, named: str
) -> None:
    with pytest.raises(errors.UnsupportedError, match=named):
        create(tmp_path, {"c": text}, options={"file.format": data_format})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [at(1969, 12, 31, 23, 59, 59, 999_000), at(1500, 1, 1)])
def test_orc_refuses_moments_that_it_would_change(tmp_path: Path, value: dt.datetime) -> None:
    table = create(tmp_path, {"t": "TIMESTAMP(3)"}, options={"file.format": "orc"})
    with pytest.raises(errors.UnsupportedError, match=r"`t` contains 1\d{3}-\d\d-.*`file\.format` to parquet"):
        table.append([{"t": value}])
    assert data_files(tmp_path) == []
    assert table.current_snapshot() is None


CODECS = {"orc": ["zstd", "snappy", "zlib", "lz4", "none"], "avro": ["zstd", "zstandard", "snappy", "deflate", "null"]}


@pytest.mark.parametrize(("data_format", "codec"), [(name, codec) for name, found in CODECS.items() for codec in found])
def test_every_codec_is_read(tmp_path: Path, data_format: str, codec: str) -> None:
    options = {"file.format": data_format, "file.compression": codec, "file.compression.zstd-level": "3"}
    table = create(tmp_path, {"id": "BIGINT", "name": "STRING"}, options=options)
    given = pa.table({"id": range(3_000), "name": [f"{i % 100}" for i in range(3_000)]})
    table.append(given)
    assert table.scan().to_arrow().to_pylist() == given.to_pylist()
    if data_format == "orc":
        [path] = data_files(tmp_path)
        assert orc.ORCFile(path).compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())


@pytest.mark.parametrize(("data_format", "codec"), [("orc", "brotli"), ("avro", "none"), ("avro", "xz")])
def test_codecs_that_are_not_written_are_named(tmp_path: Path, data_format: str, codec: str) -> None:
    with pytest.raises(errors.UnsupportedError, match=f"codec `{codec}`.*supported codecs are"):
        create(tmp_path, {"id": "INT"}, options={"file.format": data_format, "file.compression": codec})


def test_levels_have_their_own_formats_and_codecs(tmp_path: Path) -> None:
    options = {
        "bucket": 1,
        "file.format": "parquet",
        "file.format.per.level": "0:avro,5:orc",
        "file.compression.per.level": "0:snappy,5:zlib",
    }
    table = create(tmp_path, {"id": "INT NOT NULL", "c": "CHAR(3)"}, primary_keys=["id"], options=options)
    for i in range(2):
        table.append([{"id": i, "c": "a "}])
    assert [path.suffix for path in data_files(tmp_path)] == [".avro", ".avro"]
    assert b"avro.codec\x0csnappy" in data_files(tmp_path)[0].read_bytes()
    table.compact()
    [path] = [path for path in data_files(tmp_path) if path.suffix != ".avro"]
    assert (path.suffix, orc.ORCFile(path).compression) == (".orc", "ZLIB")
    assert rows(table) == [{"id": 0, "c": "a"}, {"id": 1, "c": "a"}]


@pytest.mark.parametrize("data_format", ["orc", "avro"])
def test_files_are_rolled_and_partitioned(tmp_path: Path, data_format: str) -> None:
    options = {"file.format": data_format, "target-file-size": "100 kb"}
    table = create(tmp_path, {"id": "BIGINT", "p": "STRING"}, partition_keys=["p"], options=options)
    ids = [i * 7_919_777_777 % 2**40 for i in range(200_000)]
    table.append(pa.table({"id": ids, "p": ["ab"[i % 2] for i in range(200_000)]}))
    files = table.inspect.files().to_pylist()
    assert len(files) > 4
    assert max(file["file_size_in_bytes"] for file in files) < 400_000
    assert sum(file["record_count"] for file in files) == 200_000
    assert table.scan(f"id = {ids[199_999]}").to_arrow().to_pylist() == [{"id": ids[199_999], "p": "b"}]
