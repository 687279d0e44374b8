"""Tests of files by other writers that a strict reader of the formats would reject."""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.errors import CorruptDeletesError
from frazil.files.read import parquet_schema
from frazil.files.write import parquet_footer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNKNOWN = bytes([0x1C, 0xBC, 0x00, 0x00])
"""The logical type of a column that contains only NULL (field 10: a union whose field 11 is an empty struct)."""


def one(folder: Path, pattern: str) -> Path:
    (found,) = folder.rglob(pattern)
    return found


def rewritten(path: Path, change: Callable[[dict[str, Any]], None], schema: Any = None) -> None:
    """Rewrite an Avro file with changed records; `schema` overrides how its bytes are read."""
    content = path.read_bytes()
    as_stated = fastavro.reader(io.BytesIO(content))
    written, metadata = as_stated.writer_schema, as_stated.metadata
    records = list(fastavro.reader(io.BytesIO(content if schema is None else schema(content))))
    for record in records:
        change(record)
    kept = {key: value for key, value in metadata.items() if not key.startswith("avro.")}
    with path.open("wb") as file:
        fastavro.writer(file, written, records, metadata=kept)


def unchanged(_: dict[str, Any]) -> None:
    """Return a record unchanged."""


@pytest.mark.parametrize("stated", [1, 2, 3])
def test_a_delete_file_with_more_rows_than_its_manifest_states_is_read_whole(tmp_path: Path, stated: int) -> None:
    properties = {"write.delete.mode": "merge-on-read"}
    table = frazil.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    table.append([{"id": i} for i in range(5)])
    table.delete("id in (1, 3)")

    def state(entry: dict[str, Any]) -> None:
        if entry["data_file"]["content"] == 1:
            entry["data_file"]["record_count"] = stated

    for path in (tmp_path / "t" / "metadata").glob("*-m*.avro"):
        rewritten(path, state)
    table = frazil.load_table(tmp_path / "t")
    if stated > 2:
        with pytest.raises(CorruptDeletesError, match="has 2 rows, but its manifest records 3"):
            table.scan().to_arrow()
        return
    assert table.scan().to_arrow()["id"].to_pylist() == [0, 2, 4]
    assert table.scan().count() == 3


def sized(content: bytes) -> bytes:
    """Read `fixed` as bytes with a length, as Java writes it."""

    def bytes_of_the_same_length(found: re.Match[bytes]) -> bytes:
        return b'"bytes"'.ljust(len(found[0]))

    return re.sub(rb'\{[^{}]*"fixed_3"[^{}]*\}', bytes_of_the_same_length, content, count=1)


def test_partitions_by_fixed_are_written_as_java_reads_them_and_read_in_both_forms(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("f", pa.binary(3))])
    table = frazil.create_table(tmp_path / "t", schema, partition_by=["f"])
    values = [b"abc", b"\x06\x06\x06", b"\x00\x00\x00", None, b"\xff\xff\xff", b"\x06ab"]
    rows = [{"id": number, "f": value} for number, value in enumerate(values)]
    table.append(rows)

    def check() -> None:
        opened = frazil.load_table(tmp_path / "t")
        assert opened.scan().to_arrow().sort_by("id").to_pylist() == rows
        for row in rows:
            literal = "f is null" if row["f"] is None else f"f = x'{row['f'].hex()}'"
            assert opened.scan(literal).to_arrow().to_pylist() == [row]

    check()
    manifest = one(tmp_path / "t" / "metadata", "*-m*.avro")
    written = [
        record["data_file"]["partition"]["f"] for record in fastavro.reader(io.BytesIO(sized(manifest.read_bytes())))
    ]
    assert sorted(written, key=str) == sorted(values, key=str)
    rewritten(manifest, unchanged, sized)
    # The same value in the encoding of the Avro specification.
    plain = [record["data_file"]["partition"]["f"] for record in fastavro.reader(io.BytesIO(manifest.read_bytes()))]
    assert sorted(plain, key=str) == sorted(values, key=str)
    check()
    frazil.load_table(tmp_path / "t").delete("id = 1")
    rows.pop(1)
    check()


COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("x", pa.int32()), ("inner", pa.struct([("y", pa.string())]))])),
        ("l", pa.list_(pa.struct([("z", pa.float64())]))),
    ]
)
ROWS = [
    {"id": 1, "s": {"x": 1, "inner": {"y": "a"}}, "l": [{"z": 0.5}, None]},
    {"id": 2, "s": None, "l": []},
    {"id": 3, "s": {"x": None, "inner": None}, "l": None},
]


def test_a_parquet_file_whose_groups_have_logical_types_is_read(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", COLUMNS)
    table.append(pa.Table.from_pylist(ROWS, schema=COLUMNS))
    path = one(tmp_path / "t" / "data", "*.parquet")
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # The root is 0, followed by id, s, s.x, s.inner.
    metadata = parquet_footer.annotated(content[start:-8], dict.fromkeys([2, 4], UNKNOWN))
    path.write_bytes(content[:start] + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(OSError, match="applied to group node"):
        pq.ParquetFile(path)
    opened = frazil.load_table(tmp_path / "t")
    assert opened.scan().to_arrow().to_pylist() == ROWS
    assert opened.scan("id > 1 and s.x is null", selected_fields=["l"]).to_arrow().to_pylist() == [
        {"l": []},
        {"l": None},
    ]
    for at in range(start, path.stat().st_size - 8):
        damaged = bytearray(path.read_bytes())
        damaged[at] ^= 0x5A
        with contextlib.suppress(ValueError, IndexError, RecursionError):
            parquet_schema._without_group_types(bytes(damaged[start:-8]))
