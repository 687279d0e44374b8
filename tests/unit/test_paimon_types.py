"""Tests of Paimon types and schemas as text, as JSON and in Arrow."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest

from frazil.errors import CorruptMetadataError, InvalidArgumentError, UnsupportedError
from frazil.paimon import Schema
from frazil.paimon._data_types import parse_type, type_of_arrow

TYPES: list[tuple[str, str, pa.DataType]] = [
    ("boolean", "BOOLEAN", pa.bool_()),
    ("TINYINT", "TINYINT", pa.int8()),
    ("integer NOT NULL", "INT NOT NULL", pa.int32()),
    ("DECIMAL", "DECIMAL(10, 0)", pa.decimal128(10, 0)),
    ("NUMERIC(38,10)", "DECIMAL(38, 10)", pa.decimal128(38, 10)),
    ("CHAR(3)", "CHAR(3)", pa.string()),
    ("VARCHAR(2147483647)", "STRING", pa.string()),
    ("BYTES", "BYTES", pa.binary()),
    ("BINARY(4)", "BINARY(4)", pa.binary()),
    ("DATE", "DATE", pa.date32()),
    ("TIME(3)", "TIME(3)", pa.time32("ms")),
    ("TIMESTAMP", "TIMESTAMP(6)", pa.timestamp("us")),
    ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)", pa.timestamp("ms")),
    ("TIMESTAMP(9)", "TIMESTAMP(9)", pa.timestamp("ns")),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", pa.timestamp("us", "UTC")),
    ("timestamp_ltz(0)", "TIMESTAMP(0) WITH LOCAL TIME ZONE", pa.timestamp("ms", "UTC")),
    ("ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>", pa.list_(pa.field("element", pa.int32(), nullable=False))),
    ("MAP<STRING NOT NULL, INT>", "MAP<STRING NOT NULL, INT>", pa.map_(pa.string(), pa.int32())),
    (
        "ROW<`a b` INT, c ARRAY<DATE> 'it''s'> NOT NULL",
        "ROW<`a b` INT, `c` ARRAY<DATE> COMMENT 'it''s'> NOT NULL",
        pa.struct([("a b", pa.int32()), ("c", pa.list_(pa.field("element", pa.date32())))]),
    ),
]


@pytest.mark.parametrize(("text", "normal", "arrow"), TYPES)
def test_text_is_read_written_and_held(text: str, normal: str, arrow: pa.DataType) -> None:
    parsed = parse_type(text)
    assert str(parsed) == normal
    assert parse_type(normal) == parsed
    assert parse_type(parsed.to_json()) == parsed
    assert parsed.arrow() == arrow


NO_TYPES = """INTT;INT INT;INT NOT;DECIMAL(1, 2, 3);DECIMAL(x);ARRAY;ARRAY<INT;MAP<INT>;ROW<a>;ARRAY<INT>>;CHAR(3
;ROW<a INT,>;INT,INT;a|b"""


@pytest.mark.parametrize("text", NO_TYPES.split(";"))
def test_invalid_type_strings(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="unknown type"):
        parse_type(text)


def test_types_do_not_nest_without_end() -> None:
    for form in ("ARRAY<" * 5000 + "INT" + ">" * 5000, nested_json(5000)):
        with pytest.raises(InvalidArgumentError, match="unknown type"):
            parse_type(form)


def nested_json(depth: int) -> dict[str, Any]:
    form: Any = "INT"
    for _ in range(depth):
        form = {"type": "ARRAY", "element": form}
    return dict(form)


@pytest.mark.parametrize(
    "form", [{}, {"type": "ARRAY"}, {"type": "STRUCT", "fields": []}, {"type": "MAP", "key": "INT"}]
)
def test_invalid_type_json(form: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_type(form)


def test_multisets_count() -> None:
    parsed = parse_type("MULTISET<STRING>")
    assert str(parsed) == "MULTISET<STRING>"
    assert parsed.arrow() == pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))


def test_arrow_types_have_types() -> None:
    nested = pa.struct([pa.field("x", pa.list_(pa.timestamp("ns", "UTC")), nullable=False)])
    assert str(type_of_arrow(nested)) == "ROW<`x` ARRAY<TIMESTAMP(9) WITH LOCAL TIME ZONE> NOT NULL>"
    with pytest.raises(UnsupportedError, match="uint8"):
        type_of_arrow(pa.uint8())


def test_schema_from_user_input() -> None:
    pairs = Schema.of([("id", "INT NOT NULL"), ("r", "ROW<x INT>"), ("p", "STRING")], ["p"], {"a": "b"})
    arrow = Schema.of(pairs.arrow(), ["p"])
    assert [column.type for column in arrow.fields] == [column.type for column in pairs.fields]
    assert [str(column) for column in pairs.fields] == ["0: id: INT NOT NULL", "1: r: ROW<`x` INT>", "3: p: STRING"]
    again = Schema.of(pairs.to_json())
    assert again == pairs
    assert again.options == {"a": "b"}
    assert Schema.of(pairs) == pairs
    assert pairs.find_field(3) is pairs.find_field("p")


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        ([("a", "INT"), ("a", "INT")], []),
        ([("a", "INT")], ["b"]),
        ([("a", "INT")], "a"),
        ([("a", "INTT")], []),
        (["a"], []),
        (7, []),
    ],
)
def test_columns_that_make_no_schema(columns: Any, keys: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        Schema.of(columns, keys)


def test_a_schema_file_that_is_damaged() -> None:
    for form in ({}, {"fields": [{}]}, {"fields": 7}, {"fields": [{"id": "x", "name": "a", "type": "INT"}]}):
        with pytest.raises(CorruptMetadataError):
            Schema.from_json(form)


def test_ids_of_fields_of_an_arrow_schema_are_unique_at_all_depths() -> None:
    inner = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.struct([("z", pa.int64())])))])
    schema = Schema.of(pa.schema([("a", inner), ("b", pa.map_(pa.int32(), inner))]))
    ids = re.findall(r'"id": (\d+)', json.dumps(schema.to_json()["fields"]))
    assert len(ids) == len(set(ids)) == 8
