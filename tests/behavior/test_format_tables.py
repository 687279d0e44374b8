"""Tests of format tables and object tables: files in folders without metadata."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import frazil.paimon
from frazil import _native, errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = [("id", "INT"), ("s", "STRING")]
needs_filters = pytest.mark.skipif(not hasattr(_native, "filter_batch"), reason="the native module filters no batches")


def write(root: Path, name: str, content: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def rows(root: Path, columns: Any = COLUMNS, **arguments: Any) -> list[dict[str, Any]]:
    found = frazil.paimon.format_table(root, schema=columns, **arguments).scan().to_arrow()
    found.validate(full=True)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def test_csv_by_its_options(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "id|s\n1|'x|y'\n2|NULL\nNULL|''\n")
    options = {
        "csv.field-delimiter": "|",
        "csv.quote-character": "'",
        "csv.null-literal": "NULL",
        "csv.include-header": "true",
    }
    expected = [{"id": 1, "s": "x|y"}, {"id": 2, "s": None}, {"id": None, "s": ""}]
    assert rows(tmp_path, options=options) == expected
    short = {"delimiter": "|", "quote": "'", "nullvalue": "NULL", "header": "TRUE", "format": "csv"}
    assert rows(tmp_path, options=short) == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("permissive", [1, None, 3]), ("DropMalformed", [1, 3]), ("failfast", None)],
)
@pytest.mark.parametrize("text", ["1,a\nx,b\n3,c\n", '1,a\nx,b\n3,"\\""\n'])
def test_malformed_fields_of_csv(tmp_path: Path, text: str, mode: str, expected: list[int | None] | None) -> None:
    write(tmp_path, "a.csv", text)
    if expected is None:
        with pytest.raises(errors.CorruptDataFileError, match="'x', which is not a valid INT") as caught:
            rows(tmp_path, options={"csv.mode": mode})
        assert caught.value.context["column"] == "id"
        assert caught.value.context["file"].endswith("a.csv")
    else:
        assert [row["id"] for row in rows(tmp_path, options={"csv.mode": mode})] == expected


def test_csv_of_ragged_lines_and_other_line_ends(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "1\n2,b,more\n\n4,d")
    write(tmp_path, "b.csv", "")
    expected = [{"id": 1, "s": None}, {"id": 2, "s": "b"}, {"id": None, "s": None}, {"id": 4, "s": "d"}]
    assert rows(tmp_path) == expected
    write(tmp_path, "a.csv", "1;2,b,more;;4,d;")
    assert rows(tmp_path, options={"csv.line-delimiter": ";"}) == expected


def test_large_files_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from frazil.paimon import _text_files as text_files

    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    lines = [f"{number},{'x' * (number % 90)}" for number in range(500)]
    write(tmp_path, "a.csv", "\n".join(lines))
    scan = frazil.paimon.format_table(tmp_path, schema=COLUMNS).scan()
    assert [f"{row['id']},{row['s'] or ''}" for row in scan.to_arrow().to_pylist()] == lines
    assert scan.count() == 500


def test_json_as_paimon_and_as_others_write_it(tmp_path: Path) -> None:
    columns = [("id", "BIGINT"), ("d", "DECIMAL(10, 2)"), ("b", "BOOLEAN"), ("s", "STRING")]
    write(tmp_path, "a.json", '{"id":"1","d":"1.25","b":"true","s":"1970-01-01"}\n{"id":null,"other":7}\n')
    write(tmp_path, "b.json", '{"s":"x","id":9223372036854775807,"d":0.1,"b":false}\n{"s":7}\n')
    found = [tuple(row.values()) for row in rows(tmp_path, columns)]
    assert [tuple(map(str, row)) for row in found] == [
        ("1", "1.25", "True", "1970-01-01"),
        ("None", "None", "None", "None"),
        ("9223372036854775807", "0.10", "False", "x"),
        ("None", "None", "None", "7"),
    ]


def test_json_nests(tmp_path: Path) -> None:
    columns = [("a", "ARRAY<INT>"), ("m", "MAP<STRING, ARRAY<DATE>>"), ("r", "ROW<x INT, y ROW<z STRING>>")]
    values: list[dict[str, Any]] = [
        {"a": [1, None, "2"], "m": {"k": ["2024-02-29"], "l": None}, "r": {"x": "1", "y": {"z": "t"}}},
        {"a": [], "m": {}, "r": {}},
        {"a": None},
    ]
    write(tmp_path, "a.json", "\n".join(json.dumps(value) for value in values))
    first, second, third = rows(tmp_path, columns)
    assert first["a"] == [1, None, 2]
    assert [(key, value and [str(day) for day in value]) for key, value in first["m"]] == [
        ("k", ["2024-02-29"]),
        ("l", None),
    ]
    assert first["r"] == {"x": 1, "y": {"z": "t"}}
    assert second == {"a": [], "m": [], "r": {"x": None, "y": None}}
    assert third == {"a": None, "m": None, "r": None}


@pytest.mark.parametrize("line", ["{", "[1]", '{"id": "x"}', '{"id": {}}', "[" * 100_000], ids=range(5))
def test_json_that_is_malformed(tmp_path: Path, line: str) -> None:
    write(tmp_path, "a.json", f'{{"id": 1}}\n{line}\n{{"id": 3}}')
    with pytest.raises(errors.CorruptDataFileError):
        rows(tmp_path, [("id", "INT")])
    kept = rows(tmp_path, [("id", "INT")], options={"json.ignore-parse-errors": "true"})
    assert [row["id"] for row in kept] == [1, 3]


def test_text_is_lines(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "one\ntwo, three\r\n\nfour")
    assert [row["line"] for row in rows(tmp_path, [("line", "STRING")])] == ["one", "two, three", "", "four"]
    write(tmp_path, "a.txt", b"\xff")
    with pytest.raises(errors.CorruptDataFileError, match="UTF-8"):
        rows(tmp_path, [("line", "STRING")])


def test_compressed_text(tmp_path: Path) -> None:
    write(tmp_path, "a.csv.gz", gzip.compress(b"1,a\n2,b\n"))
    assert [row["id"] for row in rows(tmp_path)] == [1, 2]
    write(tmp_path, "a.csv.gz", b"no gzip")
    with pytest.raises(errors.CorruptDataFileError, match="cannot be decoded"):
        rows(tmp_path)


@pytest.mark.parametrize(("extension", "save"), [("parquet", pq.write_table), ("orc", orc.write_table)])
def test_columnar_files_by_name(tmp_path: Path, extension: str, save: Callable[..., None]) -> None:
    content = pa.table(
        {
            "s": ["a", "b"],
            "r": [{"x": 1, "y": [2]}, None],
            "extra": [1, 2],
            "id": pa.array([1, 2], pa.int64()),
            "t": pa.array([0, 1_000_000_000], pa.timestamp("ns")),
        }
    )
    save(content, str(tmp_path / f"a.{extension}"))
    columns = [
        ("id", "INT"),
        ("new", "DATE"),
        ("r", "ROW<x BIGINT, y ARRAY<BIGINT>>"),
        ("t", "TIMESTAMP(6)"),
        *COLUMNS[1:],
    ]
    found = frazil.paimon.format_table(tmp_path, schema=columns).scan()
    assert found.to_arrow().drop_columns("t").to_pylist() == [
        {"id": 1, "new": None, "r": {"x": 1, "y": [2]}, "s": "a"},
        {"id": 2, "new": None, "r": None, "s": "b"},
    ]
    assert found.count() == 2
    only = frazil.paimon.format_table(tmp_path, schema=columns).scan(selected_fields=["new", "s"], limit=1)
    assert only.to_arrow().to_pylist() == [{"new": None, "s": "a"}]
    write(tmp_path, f"b.{extension}", b"damage")
    with pytest.raises(errors.CorruptDataFileError):
        found.to_arrow()


PARTITIONED = [("s", "STRING"), ("d", "DATE"), ("id", "INT")]


def test_partition_values_come_from_directory_names(tmp_path: Path) -> None:
    write(tmp_path, "d=2024-02-29/s=a%2Fb c/x.csv", "1\n")
    write(tmp_path, "d=__DEFAULT_PARTITION__/s=/x.csv", "2\n")
    write(tmp_path, "d=2024-02-29/s=é/deeper/x.csv", "3\n")
    for hidden in ("_SUCCESS", "d=2024-02-29/.x.csv.crc", "d=2024-02-29/s=é/_temporary/x.csv", "_tmp/s=1/x.csv"):
        write(tmp_path, hidden, "hidden")
    write(tmp_path, "outside.csv", "9\n")
    found = rows(tmp_path, PARTITIONED, partition_keys=["d", "s"])
    assert [(row["id"], row["s"], str(row["d"])) for row in found] == [
        (1, "a/b c", "2024-02-29"),
        (3, "é", "2024-02-29"),
        (2, "", "None"),
    ]
    table = frazil.paimon.format_table(tmp_path, schema=PARTITIONED, partition_keys=["d", "s"])
    assert next(file.partition for file in table.scan().plan_files()) == {"d": "2024-02-29", "s": "a/b c"}
    only = table.scan(selected_fields=["s"]).to_arrow()
    assert only.to_pylist() == [{"s": "a/b c"}, {"s": "é"}, {"s": ""}]


def test_partitions_by_value_alone(tmp_path: Path) -> None:
    write(tmp_path, "2024-02-29/__DEFAULT_PARTITION__/x.csv", "1\n")
    options = {"format-table.partition-path-only-value": "true"}
    (row,) = rows(tmp_path, PARTITIONED, partition_keys=["d", "s"], options=options)
    assert (row["id"], row["s"], str(row["d"])) == (1, None, "2024-02-29")


@pytest.mark.parametrize("folder", ["d=2024-02-30/s=1", "s=1/d=2024-02-29", "plain/s=1"])
def test_invalid_partition_folders(tmp_path: Path, folder: str) -> None:
    write(tmp_path, f"{folder}/x.csv", "1\n")
    with pytest.raises(errors.CorruptMetadataError):
        rows(tmp_path, PARTITIONED, partition_keys=["d", "s"])


def test_unsupported_and_missing_format_tables_are_rejected(tmp_path: Path) -> None:
    write(tmp_path, "a.lance", "x")
    for options in ({}, {"file.format": "lance"}):
        with pytest.raises(errors.UnsupportedError, match="are not supported"):
            rows(tmp_path, options=options)
    with pytest.raises(errors.NoSuchTableError):
        rows(tmp_path / "missing")
    with pytest.raises(errors.NoSuchTableError):
        rows(tmp_path / "a.lance")
    with pytest.raises(
        errors.InvalidArgumentError, match="a format table needs at least one column that is not a partition key"
    ):
        rows(tmp_path, [("a", "INT")], partition_keys=["a"])


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "1,a\n")
    table = frazil.paimon.format_table(tmp_path, schema=[*COLUMNS, ("S", "STRING")])
    assert table.scan(selected_fields=["s", "*"]).schema().names == ["s", "id", "S"]
    assert table.scan(selected_fields=["ID"], case_sensitive=False).to_arrow().to_pylist() == [{"id": 1}]
    for names, sensitive in ((["x"], True), (["ID"], True), (["s"], False), ("id", True)):
        with pytest.raises(errors.InvalidArgumentError):
            table.scan(selected_fields=names, case_sensitive=sensitive)
    with pytest.raises(errors.InvalidArgumentError, match="limit"):
        table.scan(limit=-1)


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/a.csv", "7,x\n")
    write(tmp_path, "table/a.csv", "1,x\n")
    (tmp_path / "table" / "link").symlink_to(tmp_path / "elsewhere")
    assert [row["id"] for row in rows(tmp_path / "table")] == [1]
    (tmp_path / "table" / "b.csv").symlink_to(tmp_path / "elsewhere" / "a.csv")
    with pytest.raises(errors.PathNotAllowedError):
        rows(tmp_path / "table")


def test_tables_travel(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "1,a\n")
    table = frazil.paimon.format_table(tmp_path, schema=COLUMNS, options={"file.format": "csv"})
    again = pickle.loads(pickle.dumps(table))  # noqa: S301
    assert again.scan().to_arrow() == table.scan().to_arrow()
    assert repr(table) == f"<frazil.paimon.FormatTable '{tmp_path}': columns id, s>"
    assert table.scan().to_pandas()["s"].tolist() == ["a"]


def test_an_object_table_lists_files(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "12345")
    write(tmp_path, "sub/ü.bin", "")
    write(tmp_path, "sub/.hidden", "x")
    table = frazil.paimon.object_table(tmp_path)
    found = table.scan().to_arrow()
    assert found.schema.names == ["path", "name", "length", "mtime", "atime", "owner"]
    assert found.select(["path", "name", "length", "owner"]).to_pylist() == [
        {"path": "a.txt", "name": "a.txt", "length": 5, "owner": None},
        {"path": "sub/.hidden", "name": ".hidden", "length": 1, "owner": None},
        {"path": "sub/ü.bin", "name": "ü.bin", "length": 0, "owner": None},
    ]
    assert found["mtime"][0].as_py() == (tmp_path / "a.txt").stat().st_mtime_ns // 1_000_000
    assert table.scan(limit=2).count() == 2
    assert pickle.loads(pickle.dumps(table)).scan().count() == 3  # noqa: S301


@needs_filters
def test_filters_leave_out_rows_and_partitions(tmp_path: Path) -> None:
    for day, number in (("2024-02-28", 1), ("2024-02-29", 2), ("__DEFAULT_PARTITION__", 3)):
        write(tmp_path, f"d={day}/x.csv", f"a,{number}\nb,{number + 10}\n")
    table = frazil.paimon.format_table(tmp_path, schema=PARTITIONED, partition_keys=["d"])

    def ids(row_filter: str) -> tuple[list[int], int]:
        scan = table.scan(row_filter, ["id"])
        return scan.to_arrow()["id"].to_pylist(), len(list(scan.plan_files()))

    assert ids("d = date '2024-02-29'") == ([2, 12], 1)
    assert ids("d is null and s = 'b'") == ([13], 3)
    assert ids("id > 10") == ([11, 12, 13], 3)
    assert table.scan("id > 10").count() == 3
    assert table.scan(False).count() == 0  # noqa: FBT003
    with pytest.raises(errors.InvalidArgumentError):
        table.scan("nope = 1")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("DATE", "2024-2-9", dt.date(2024, 2, 9)),
        ("TIME(3)", "1:2:3.5", dt.time(1, 2, 3, 500_000)),
        ("TIME(3)", "3723000", dt.time(1, 2, 3)),
        ("TIMESTAMP(3)", "2024-2-9 1:2:3", dt.datetime(2024, 2, 9, 1, 2, 3)),  # noqa: DTZ001 - without a zone
        ("TIMESTAMP(0)", "1709168523", dt.datetime(2024, 2, 29, 1, 2, 3)),  # noqa: DTZ001 - without a zone
        ("TIMESTAMP(3)", "1709168523000", dt.datetime(2024, 2, 29, 1, 2, 3)),  # noqa: DTZ001 - without a zone
        ("TIMESTAMP(6)", "1709168523000001", dt.datetime(2024, 2, 29, 1, 2, 3, 1)),  # noqa: DTZ001 - without a zone
        ("TIMESTAMP(4)", "1709168523000", None),
        ("BYTES", "YWI", b"ab"),
        ("BYTES", "YWJjZ", None),
    ],
)
def test_notations_that_java_reads(tmp_path: Path, kind: str, text: str, value: object) -> None:
    (tmp_path / "a.csv").write_text(f"{text}\n")
    table = frazil.paimon.format_table(tmp_path, schema=[("v", kind)], options={"file.format": "csv"})
    assert table.scan().to_arrow()["v"].to_pylist() == [value]
