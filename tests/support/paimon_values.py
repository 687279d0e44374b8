"""Values of the Paimon types that frazil writes: two boundary values for each type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any


def at(*parts: int) -> dt.datetime:
    """Return a timestamp without a zone."""
    return dt.datetime(*parts)  # type: ignore[arg-type,misc]  # noqa: DTZ001


TYPES: dict[str, tuple[str, list[Any]]] = {
    "flag": ("BOOLEAN", [True, None]),
    "tiny": ("TINYINT", [-128, 127]),
    "small": ("SMALLINT", [-32768, 32767]),
    "whole": ("INT NOT NULL", [-(2**31), 2**31 - 1]),
    "big": ("BIGINT", [-(2**63), 2**63 - 1]),
    "single": ("FLOAT", [0.5, None]),
    "double": ("DOUBLE", [0.1, float("inf")]),
    "short_decimal": ("DECIMAL(9, 2)", [Decimal("-1234567.89"), Decimal("0.01")]),
    "long_decimal": ("DECIMAL(18, 0)", [Decimal(10**18 - 1), None]),
    "wide_decimal": ("DECIMAL(38, 10)", [Decimal("-1.0000000001"), Decimal(10**27)]),
    "code": ("CHAR(3)", ["äöü", "abc"]),
    "label": ("VARCHAR(5)", ["", "12345"]),
    "text": ("STRING", ["x" * 1000, None]),
    "fixed": ("BINARY(2)", [b"ab", b"\x00\xff"]),
    "bytes": ("VARBINARY(4)", [b"", b"abcd"]),
    "blob": ("BYTES", [bytes(300), None]),
    "day": ("DATE", [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "time": ("TIME(3)", [dt.time(23, 59, 59, 999_000), dt.time(0)]),
    "second": ("TIMESTAMP(0)", [at(1969, 12, 31, 23, 59, 59), at(2024, 2, 29)]),
    "milli": ("TIMESTAMP(3)", [at(1900, 1, 1, 0, 0, 0, 1000), None]),
    "micro": ("TIMESTAMP(6)", [at(2024, 2, 29, 1, 2, 3, 4), at(1, 1, 1)]),
    "moment": ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [dt.datetime(2024, 2, 29, 1, tzinfo=dt.UTC), None]),
    "moment_ms": ("TIMESTAMP(3) WITH LOCAL TIME ZONE", [dt.datetime(1969, 1, 1, tzinfo=dt.UTC), None]),
}

NESTED: dict[str, tuple[str, list[Any]]] = {
    "words": ("ARRAY<STRING>", [["a", None, "c"], []]),
    "grid": ("ARRAY<ARRAY<INT NOT NULL>>", [[[1, 2], [], None], None]),
    "tags": ("MAP<STRING, DECIMAL(9, 2)>", [[("a", Decimal("1.50")), ("b", None)], []]),
    "deep": ("MAP<INT, ARRAY<ROW<x INT, y STRING>>>", [[(1, [{"x": 1, "y": None}, None]), (2, None)], None]),
    "row": ("ROW<i INT NOT NULL, t TIMESTAMP(3), r ROW<b BYTES>>", [{"i": 1, "t": None, "r": {"b": b"x"}}, None]),
    "counts": ("MULTISET<STRING>", [[("a", 2), ("b", 1)], None]),
}
"""The same of nested types; maps are not lists of pairs."""

NANOS: dict[str, tuple[str, list[Any]]] = {
    "nano": ("TIMESTAMP(9)", [at(2024, 2, 29, 1, 2, 3, 4), at(1970, 1, 1)]),
    "tenth": ("TIMESTAMP(7)", [None, at(2200, 1, 1, 0, 0, 0, 1)]),
    "moment_ns": ("TIMESTAMP(9) WITH LOCAL TIME ZONE", [dt.datetime(2024, 2, 29, 1, 2, 3, 999_999, dt.UTC), None]),
    "nanos": ("ARRAY<TIMESTAMP(9)>", [[at(2024, 2, 29), None], []]),
    "times": ("ROW<t TIMESTAMP(3), n TIMESTAMP(9)>", [{"t": at(1, 1, 1), "n": None}, {"t": None, "n": at(2000, 1, 1)}]),
}
"""Values of timestamps with seven to nine digits."""

FORMATS = ["parquet", "orc", "avro"]

_NOT_IN_ORC = {"fixed", "bytes", "counts"}
_NOT_IN_AVRO = {"counts", *NANOS}
_OF_ORC: dict[str, tuple[str, list[Any]]] = {
    # pyarrow cannot write fractions of seconds before 1970 to ORC files, nor years before 1677. Java does not find rows
    # by dates before 1582 in its own ORC files.
    "day": ("DATE", [dt.date(1600, 2, 29), dt.date(9999, 12, 31)]),
    "milli": ("TIMESTAMP(3)", [at(1900, 1, 1), at(2024, 1, 1, 0, 0, 0, 1000)]),
    "micro": ("TIMESTAMP(6)", [at(2024, 2, 29, 1, 2, 3, 4), at(1969, 12, 31)]),
    "times": ("ROW<t TIMESTAMP(3), n TIMESTAMP(9)>", [{"t": at(1700, 1, 1), "n": None}, None]),
}


def values_for(data_format: str) -> dict[str, tuple[str, list[Any]]]:
    """Return the types that a file format supports, flat and nested, with two values of each."""
    found = TYPES | NESTED | NANOS
    if data_format == "orc":
        return {name: one for name, one in found.items() if name not in _NOT_IN_ORC} | _OF_ORC
    if data_format == "avro":
        return {name: one for name, one in found.items() if name not in _NOT_IN_AVRO}
    return found
