"""Tests of writes to format tables: round trips of every format, partitions, overwrites and failures."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil.paimon
from frazil import errors
from frazil.paimon import FormatTable, _format_write
from support.paimon_values import FORMATS, NANOS, NESTED, TYPES, values_for

if TYPE_CHECKING:
    from pathlib import Path

ALL = ["csv", "json", "text", *FORMATS]


def table_of(root: Path, columns: Any, file_format: str, keys: Any = (), **options: str) -> FormatTable:
    options = {"file.format": file_format} | {name.replace("__", "-"): value for name, value in options.items()}
    return frazil.paimon.format_table(root, schema=columns, partition_keys=keys, options=options)


def names_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def values_of_format(file_format: str) -> dict[str, tuple[str, list[Any]]]:
    if file_format in FORMATS:
        found = values_for(file_format)
    elif file_format == "text":
        return {"text": ("STRING", ["a,b", "ü\\\"'"])}
    else:
        found = TYPES | {name: one for name, one in NANOS.items() if name not in {"nanos", "times"}}
        nested = {name: one for name, one in NESTED.items() if name != "counts"}
        found |= nested if file_format == "json" else {"label": ("VARCHAR(5)", ["x", ""])}
    return found


@pytest.mark.parametrize("file_format", ALL)
def test_every_type_of_every_format_is_read_back(tmp_path: Path, file_format: str) -> None:
    found = values_of_format(file_format)
    table = table_of(tmp_path, [(name, text) for name, (text, _) in found.items()], file_format)
    given = [{name: values[i] for name, (_, values) in found.items()} for i in range(2)]
    assert table.append(given).added_records == 2
    nulls_as_empty = {"label", "bytes"} if file_format == "csv" else set()
    expected = [
        {name: None if name in nulls_as_empty and not value else value for name, value in row.items()} for row in given
    ]
    assert table.scan().to_arrow().to_pylist() == expected
    (name,) = names_below(tmp_path)
    assert name.startswith("data-")
    assert name.endswith(f"-0.{file_format}")


STRINGS = ["plain", 'quote "q"', "a,b", "back\\slash", "\\", '"', ",", "ü😀", " pad ", " ", "NULL", "#", "'", '\\"']


@pytest.mark.parametrize("file_format", ALL)
def test_hostile_strings_are_read_back(tmp_path: Path, file_format: str) -> None:
    columns = [("s", "STRING")] if file_format == "text" else [("a", "STRING"), ("s", "STRING"), ("z", "INT")]
    table = table_of(tmp_path, columns, file_format)
    lines = [] if file_format in {"csv", "text"} else ["line\nbreak", "\r", "\x00\x1f", ""]
    strings = [*STRINGS, *lines]
    table.append([{"s": text} | ({} if file_format == "text" else {"a": text, "z": 1}) for text in strings])
    assert table.scan(selected_fields=["s"]).to_arrow()["s"].to_pylist() == strings
    if file_format in {"csv", "text"}:
        with pytest.raises(errors.InvalidArgumentError, match="contains the line delimiter"):
            table.append([{"s": "line\nbreak"}])
        assert table.scan().count() == len(strings)


def test_the_options_of_csv_apply_to_writes(tmp_path: Path) -> None:
    options = {
        "csv.field-delimiter": "|",
        "csv.quote-character": "'",
        "csv.null-literal": "NULL",
        "csv.include-header": "true",
        "format-table.file.compression": "gzip",
    }
    table = table_of(tmp_path, [("id", "INT"), ("s", "STRING")], "csv", **options)
    table.append([{"id": 1, "s": "x|y'z"}, {"id": 2, "s": None}, {"id": None, "s": ""}])
    (name,) = names_below(tmp_path)
    assert name.endswith(".csv.gz")
    assert gzip.decompress((tmp_path / name).read_bytes()).decode() == "id|s\n1|'x|y\\'z'\n2|NULL\nNULL|\n"
    assert table.scan().to_arrow()["s"].to_pylist() == ["x|y'z", None, ""]


def test_json_has_the_notation_of_java(tmp_path: Path) -> None:
    columns = [("i", "INT"), ("s", "STRING"), ("a", "ARRAY<INT>"), ("m", "MAP<INT, DATE>")]
    table_of(tmp_path, columns, "json").append([{"i": 1, "s": None, "a": [1, None], "m": [(7, dt.date(2024, 2, 29))]}])
    (name,) = names_below(tmp_path)
    assert json.loads((tmp_path / name).read_text()) == {
        "i": "1",
        "s": None,
        "a": ["1", None],
        "m": {"7": "2024-02-29"},
    }


HOSTILE = ["a/b", None, "%", "=", "x=y/z", "ü😀", "..", "a b", "%2F", "_x", "{}[]^#?*:'\"\\"]


@pytest.mark.parametrize("file_format", ["csv", "parquet", "avro"])
@pytest.mark.parametrize("only_values", ["false", "true"])
def test_hostile_partition_values(tmp_path: Path, file_format: str, only_values: str) -> None:
    values = [value for value in HOSTILE if only_values == "false" or value not in {"..", "_x"}]
    options = {"format-table.partition-path-only-value": only_values}
    table = table_of(tmp_path, [("p", "STRING"), ("id", "INT"), ("q", "INT")], file_format, ["p", "q"], **options)
    table.append([{"p": value, "q": number % 2, "id": number} for number, value in enumerate(values)])
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [(row["p"], row["q"]) for row in found] == [(value, number % 2) for number, value in enumerate(values)]
    folder = "a%2Fb/0" if only_values == "true" else "p=a%2Fb/q=0"
    assert (tmp_path / folder).is_dir()


def test_an_empty_partition_value_is_null(tmp_path: Path) -> None:
    table = table_of(tmp_path, [("p", "STRING"), ("id", "INT")], "csv", ["p"])
    table.append([{"p": "", "id": 1}])
    assert names_below(tmp_path)[0] == "p=__DEFAULT_PARTITION__"
    assert table.scan().to_arrow()["p"].to_pylist() == [None]


@pytest.mark.parametrize("value", ["..", "_x", ".x"])
def test_hidden_folders_are_rejected(tmp_path: Path, value: str) -> None:
    options = {"format-table.partition-path-only-value": "true"}
    table = table_of(tmp_path, [("p", "STRING"), ("id", "INT")], "csv", ["p"], **options)
    with pytest.raises(errors.InvalidArgumentError, match="cannot be a folder name"):
        table.append([{"p": value, "id": 1}])
    assert names_below(tmp_path) == []


def test_nested_values_of_several_partitions(tmp_path: Path) -> None:
    columns = [("p", "INT"), ("a", "ARRAY<INT>"), ("m", "MAP<STRING, ARRAY<INT>>")]
    table = table_of(tmp_path, columns, "json", ["p"])
    rows = [{"p": n % 3, "a": [n] * (n % 4) if n % 5 else None, "m": [("k", [n, None])]} for n in range(40)]
    table.append(pa.Table.from_pylist(rows, table.schema().arrow()).slice(3))
    assert sorted(table.scan().to_arrow().to_pylist(), key=repr) == sorted(rows[3:], key=repr)


def ids(table: FormatTable) -> list[tuple[Any, int]]:
    return sorted(((row["p"], row["id"]) for row in table.scan().to_arrow().to_pylist()), key=repr)


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_partitions_are_overwritten(tmp_path: Path, file_format: str) -> None:
    table = table_of(tmp_path, [("p", "INT"), ("id", "INT")], file_format, ["p"])
    table.append([{"p": 1, "id": 1}, {"p": 2, "id": 2}, {"p": None, "id": 3}])
    assert table.overwrite([{"p": 1, "id": 10}], partitions=[{"p": 1}]).removed_files == 1
    assert ids(table) == [(1, 10), (2, 2), (None, 3)]
    with pytest.raises(errors.InvalidArgumentError, match="is not replaced"):
        table.overwrite([{"p": 7, "id": 10}], partitions=[{"p": 1}])
    with pytest.raises(errors.InvalidArgumentError, match="not a partition key"):
        table.overwrite([], partitions=[{"id": 1}])
    assert "p=7" not in names_below(tmp_path)
    table.dynamic_partition_overwrite([{"p": None, "id": 30}, {"p": 4, "id": 4}])
    assert ids(table) == [(1, 10), (2, 2), (4, 4), (None, 30)]
    table.drop_partitions([{"p": None}, {"p": "4"}])
    assert ids(table) == [(1, 10), (2, 2)]
    table.overwrite([{"p": 9, "id": 9}])
    assert ids(table) == [(9, 9)]
    table.truncate()
    assert ids(table) == []


def test_a_failure_leaves_the_old_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path, [("p", "INT"), ("id", "INT")], "csv", ["p"])
    table.append([{"p": 1, "id": 1}])
    before = names_below(tmp_path)

    def batches() -> Any:
        yield pa.record_batch({"p": pa.array([1, 2], pa.int32()), "id": pa.array([5, 6], pa.int32())})
        message = "no more rows"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError):
        table.append(batches())
    assert names_below(tmp_path) == before
    with pytest.raises(errors.InvalidArgumentError):
        table.append([{"p": 3, "id": "x"}])
    assert names_below(tmp_path) == before
    renamed: list[Path] = []
    rename = _format_write.Path.rename

    def second_fails(path: Path, target: str) -> Path:
        if renamed:
            raise OSError(5, "disk failed", str(path))
        renamed.append(path)
        return rename(path, target)

    monkeypatch.setattr(_format_write.Path, "rename", second_fails)
    with pytest.raises(errors.StorageError, match="cannot be renamed"):
        table.overwrite([{"p": 8, "id": 1}, {"p": 9, "id": 1}])
    assert names_below(tmp_path) == before
    assert ids(table) == [(1, 1)]


def test_input_of_other_libraries(tmp_path: Path) -> None:
    table = table_of(tmp_path, [("id", "BIGINT"), ("s", "STRING")], "json")
    table.append(pd.DataFrame({"id": [1], "s": ["a"]}))
    table.append(pl.DataFrame({"id": [2], "s": ["b"]}))
    table.append(pa.table({"s": ["c"], "id": pa.array([3], pa.int32())}))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    with pytest.raises(errors.InvalidArgumentError, match="x"):
        table.append([{"x": 1}])
    assert table.append([]).added_files == 0


def test_text_has_the_notation_of_java(tmp_path: Path) -> None:
    columns = [("a", "TIME(3)"), ("b", "TIMESTAMP(0)"), ("c", "TIMESTAMP(7)"), ("d", "TIMESTAMP(3)"), ("e", "TIME(0)")]
    moment, time = dt.datetime(2024, 2, 29, 1, 2, 3), dt.time(1, 2, 3)  # noqa: DTZ001 - columns without a zone
    table = table_of(tmp_path, columns, "csv")
    table.append([dict(zip("abcde", (time, moment, moment, moment, time), strict=True))])
    (name,) = names_below(tmp_path)
    assert (tmp_path / name).read_text() == (
        "01:02:03.0,2024-02-29 01:02:03,2024-02-29 01:02:03.0000000,2024-02-29 01:02:03.000,01:02:03\n"
    )


@pytest.mark.parametrize("file_format", FORMATS)
def test_not_null_fields_of_null_structs(tmp_path: Path, file_format: str) -> None:
    columns = [
        ("r", "ROW<i INT NOT NULL, t TIMESTAMP(3), x ROW<d DATE NOT NULL>>"),
        ("a", "ARRAY<ROW<i INT NOT NULL, t TIMESTAMP(3)>>"),
        ("m", "MAP<STRING, ROW<i INT NOT NULL, t TIMESTAMP(3)>>"),
    ]
    row = {"i": 1, "t": None}
    nested = row | {"x": {"d": dt.date(2024, 2, 29)}}
    structs = [None, nested, row | {"x": None}]
    full = {"a": [row, None], "m": [("k", None), ("l", row)]}
    rows = [full | {"r": structs[n % 3]} if n % 4 else dict.fromkeys("ram") for n in range(30)]
    table = table_of(tmp_path, columns, file_format)
    table.append(rows)
    assert table.scan().to_arrow().to_pylist() == rows
    assert table.scan(limit=7).to_arrow().to_pylist() == rows[:7]


def test_null_in_a_not_null_field_is_rejected(tmp_path: Path) -> None:
    table_of(tmp_path, [("r", "ROW<i INT>")], "orc").append([{"r": {"i": None}}])
    with pytest.raises(errors.CorruptDataFileError, match="'i' is NOT NULL"):
        table_of(tmp_path, [("r", "ROW<i INT NOT NULL>")], "orc").scan().to_arrow()


def test_compression_options_have_the_precedence_of_java(tmp_path: Path) -> None:
    options = {"compression": "none", "format-table.file.compression": "bzip2", "file.compression": "gzip"}
    for expected in ("gz", "bz2", "csv"):
        table = table_of(tmp_path / expected, [("a", "INT")], "csv", **options)
        table.append([{"a": 1}])
        assert names_below(tmp_path / expected)[0].endswith(f".{expected}")
        options.popitem()


def test_map_keys_that_java_writes_to_json_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"d":{"19782":1},"t":{"3723000":1}}\n')
    table = table_of(tmp_path, [("d", "MAP<DATE, INT>"), ("t", "MAP<TIME(3), INT>")], "json")
    assert table.scan().to_arrow().to_pylist() == [{"d": [(dt.date(2024, 2, 29), 1)], "t": [(dt.time(1, 2, 3), 1)]}]


def test_types_that_a_format_cannot_store_are_rejected(tmp_path: Path) -> None:
    for kind in ("MULTISET<INT>", "ARRAY<MAP<BYTES, INT>>", "ROW<v VARIANT>"):
        with pytest.raises(errors.UnsupportedError, match="cannot be written to JSON files"):
            table_of(tmp_path, [("a", kind)], "json").append([{"a": None}])
    with pytest.raises(errors.UnsupportedError, match="cannot be written to CSV files"):
        table_of(tmp_path, [("a", "ARRAY<INT>")], "csv").append([{"a": [1]}])
    with pytest.raises(errors.UnsupportedError, match="compression 'lz4' of csv files"):
        table_of(tmp_path, [("a", "INT")], "csv", **{"format-table.file.compression": "lz4"}).append([{"a": 1}])
    with pytest.raises(errors.UnsupportedError):
        table_of(tmp_path, [("a", "INT")], "lance").append([{"a": 1}])
    assert names_below(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "literal", "value"),
    [
        ("INT", "1", 1),
        ("STRING", "NULL", "NULL"),
        ("BOOLEAN", "false", False),
        ("DATE", "2024-02-29", dt.date(2024, 2, 29)),
    ],
)
def test_values_that_would_be_read_as_null_are_rejected(tmp_path: Path, text: str, literal: str, value: Any) -> None:
    table = table_of(tmp_path, [("a", text), ("b", "INT")], "csv", **{"csv.null-literal": literal})
    with pytest.raises(errors.InvalidArgumentError, match=rf"column 'a': the value '{literal}' would be read as NULL"):
        table.append([{"a": None, "b": 7}, {"a": value, "b": 7}])
    assert names_below(tmp_path) == []
    table.append([{"a": None, "b": 7}])
    assert table.scan().to_arrow().to_pylist() == [{"a": None, "b": 7}]


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_partitions_are_named_by_moments_with_time_zones(tmp_path: Path, legacy: str) -> None:
    columns = [("p", "TIMESTAMP(9) WITH LOCAL TIME ZONE"), ("id", "INT")]
    table = table_of(tmp_path, columns, "csv", ["p"], **{"partition.legacy-name": legacy})
    moment = dt.datetime(2024, 1, 1, 12, 30, 0, 250_000, tzinfo=dt.UTC)
    table.append([{"p": moment, "id": 1}, {"p": None, "id": 2}])
    east = moment.astimezone(dt.timezone(dt.timedelta(hours=2)))
    for wanted in (moment, east, "2024-01-01 12:30:00.25", "2024-01-01T10:30:00.250000000-02:00"):
        assert table.overwrite([{"p": east, "id": 3}], partitions=[{"p": wanted}]).removed_files == 1
    assert table.drop_partitions([{"p": east}]).removed_files == 1
    assert table.scan(selected_fields=["id"]).to_arrow()["id"].to_pylist() == [2]
    with pytest.raises(errors.InvalidArgumentError, match="is not a valid TIMESTAMP"):
        table.drop_partitions([{"p": "2024-13-01 12:00:00+00:00"}])


def test_prefixes_that_hide_files_are_rejected(tmp_path: Path) -> None:
    table = table_of(tmp_path, [("id", "INT")], "csv", **{"data-file.prefix": "_x"})
    with pytest.raises(errors.InvalidArgumentError, match=r"`data-file\.prefix` is '_x'"):
        table.append([{"id": 1}])


def test_a_failed_write_keeps_empty_folders_that_existed_before(tmp_path: Path) -> None:
    table = table_of(tmp_path, [("p", "STRING"), ("q", "INT"), ("s", "STRING")], "csv", ["p", "q"])
    (tmp_path / "p=a" / "q=1").mkdir(parents=True)
    rows = [{"p": "a", "q": 1, "s": "x"}, {"p": "a", "q": 2, "s": "x"}, {"p": "b", "q": 1, "s": "line\nbreak"}]
    with pytest.raises(errors.InvalidArgumentError, match="line delimiter"):
        table.append(rows)
    assert names_below(tmp_path) == ["p=a", "p=a/q=1"]
