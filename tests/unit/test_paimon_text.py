"""Tests of text values: CSV lines split as in Java, and casts of fields."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon import Schema
from frazil.paimon._data_types import parse_type
from frazil.paimon._text_files import Columns, CsvDialect, read_csv, split_csv
from frazil.paimon._text_values import value_of, values_of

UTC = dt.UTC


@pytest.mark.parametrize(
    ("text", "type_text", "expected"),
    [
        ("TRUE", "BOOLEAN", True),
        ("yes", "BOOLEAN", False),
        ("+5", "INT", 5),
        (" 7", "BIGINT", 7),
        ("-128", "TINYINT", -128),
        ("Infinity", "DOUBLE", math.inf),
        (" 1.5 ", "FLOAT", 1.5),
        ("1.255", "DECIMAL(10, 2)", decimal.Decimal("1.26")),
        ("-1.255", "DECIMAL(10, 2)", decimal.Decimal("-1.26")),
        ("1E2", "DECIMAL(10, 2)", decimal.Decimal("100.00")),
        ("123456789", "DECIMAL(10, 2)", None),
        ("99999999.995", "DECIMAL(10, 2)", None),
        ("2024-02-29", "DATE", dt.date(2024, 2, 29)),
        ("19782", "DATE", dt.date(2024, 2, 29)),
        ("12:34:56.789", "TIME(3)", dt.time(12, 34, 56, 789000)),
        ("2024-02-29 12:34:56.789012", "TIMESTAMP(6)", dt.datetime(2024, 2, 29, 12, 34, 56, 789012)),  # noqa: DTZ001
        ("1969-12-31 23:59:59.999999", "TIMESTAMP(3)", dt.datetime(1969, 12, 31, 23, 59, 59, 999000)),  # noqa: DTZ001
        ("2024-02-29T12:34:56.1234567", "TIMESTAMP(6)", dt.datetime(2024, 2, 29, 12, 34, 56, 123456)),  # noqa: DTZ001
        ("2024-02-29 12:34:56", "TIMESTAMP(6) WITH LOCAL TIME ZONE", dt.datetime(2024, 2, 29, 12, 34, 56, tzinfo=UTC)),
        ("2024-02-29 12:34:56Z", "TIMESTAMP(6) WITH LOCAL TIME ZONE", dt.datetime(2024, 2, 29, 12, 34, 56, tzinfo=UTC)),
        (" x ", "STRING", " x "),
        ("AAE=", "BYTES", b"\x00\x01"),
        (None, "INT", None),
    ],
)
def test_text_has_a_value(text: str | None, type_text: str, expected: Any) -> None:
    data_type = parse_type(type_text)
    found = value_of(text, data_type)
    assert found.type == data_type.arrow()
    assert found.as_py() == expected


@pytest.mark.parametrize(
    ("text", "type_text"),
    [
        ("", "INT"),
        ("1.5", "INT"),
        ("1_0", "INT"),
        ("128", "TINYINT"),
        ("9223372036854775808", "BIGINT"),
        ("x", "DOUBLE"),
        ("NaN", "DECIMAL(10, 2)"),
        ("1e999999999", "DECIMAL(10, 2)"),
        ("2024-02-30", "DATE"),
        ("99999999999", "DATE"),
        ("12:60:00", "TIME(3)"),
        ("today", "TIMESTAMP(6)"),
        ("A", "BYTES"),
        ("é", "BYTES"),
    ],
)
def test_text_has_no_value(text: str, type_text: str) -> None:
    if text == "1e999999999":
        assert value_of(text, parse_type(type_text)).as_py() is None
        return
    with pytest.raises(ValueError, match="is not a valid"):
        value_of(text, parse_type(type_text))


def test_one_malformed_text_leaves_the_others() -> None:
    found, malformed = values_of(pa.array(["1", "x", None, " 3"]), parse_type("INT"))
    assert found.to_pylist() == [1, None, None, 3]
    assert malformed == [1]
    with pytest.raises(UnsupportedError, match="ARRAY<INT>"):
        values_of(pa.array(["[1]"]), parse_type("ARRAY<INT>"))


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a,b,c", ["a", "b", "c"]),
        ("a,,", ["a", "", ""]),
        ("a", ["a", None, None]),
        ("a,b,c,d", ["a", "b", "c"]),
        ("", [None, None, None]),
        ("  ", [None, None, None]),
        ('"a,b",c,d', ["a,b", "c", "d"]),
        ('x,"a""b",c', ["x", 'a"b', "c"]),
        (r'x,"a\"b",c', ["x", 'a"b', "c"]),
        (r"x,a\\b,c", ["x", r"a\b", "c"]),
        (r"x,new\nline,c", ["x", "newnline", "c"]),
        ('a,bc"d"ef,g', ["a", 'bc"d"ef', "g"]),
        ('x,y,"open', ["x", "y", None]),
    ],
)
def test_lines_are_split_as_java_does(line: str, fields: list[str | None]) -> None:
    assert split_csv(line, CsvDialect(), 3) == fields


@pytest.mark.parametrize("extra", ["", '5,"\\"",y\n'], ids=["by pyarrow", "line by line"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_ways_through_a_file_agree(extra: str, end: str) -> None:
    text = '1,a b,x\n2,,\n3,"q,r","s""t"\n,  ,Ünï😀\n' + extra
    columns = Columns(Schema.of([("k", "INT"), ("s", "STRING"), ("t", "STRING")]).fields, ["t", "k"])
    stream = pa.BufferReader(text.replace("\n", end).encode())
    rows = [row for batch in read_csv(stream, columns, CsvDialect()) for row in batch.to_pylist()]
    expected = [{"t": "x", "k": 1}, {"t": None, "k": 2}, {"t": 's"t', "k": 3}, {"t": "Ünï😀", "k": None}]
    assert rows == expected + ([{"t": "y", "k": 5}] if extra else [])


@pytest.mark.parametrize(
    "options",
    [{"csv.mode": "lenient"}, {"csv.field-delimiter": '"'}, {"quote": ""}, {"csv.escape-character": ","}],
)
def test_options_of_csv_that_cannot_be_meant(options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgumentError):
        CsvDialect.of(options)
