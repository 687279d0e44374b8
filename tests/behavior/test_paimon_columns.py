"""Tests of columns of Paimon tables: filters, names and projections that the golden cases do not cover."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import frazil
from frazil.paimon import Split
from support.cases import GOLDEN

TABLES = GOLDEN / "paimon" / "d.db"


def rows(name: str, row_filter: str = "true", *columns: str) -> list[dict[str, Any]]:
    found = frazil.load_table(TABLES / name).scan(row_filter, columns or ("*",)).to_arrow().to_pylist()
    return sorted(found, key=repr)


@pytest.mark.parametrize(
    ("name", "row_filter", "expected"),
    [
        ("hive_time", "v = '12:34:56'", [{"v": dt.time(12, 34, 56), "n": 1}]),
        ("hive_time", "v in ('01:02:03', '05:00:00')", [{"v": dt.time(1, 2, 3), "n": 2}]),
        ("hive_timestamp", "v = TIMESTAMP '2024-01-01 00:00:00'", []),
    ],
)
def test_filters_on_keys_of_hive_buckets(name: str, row_filter: str, expected: list[dict[str, Any]]) -> None:
    assert rows(name, row_filter) == expected


def test_a_decimal_beyond_its_precision_in_avro_is_null() -> None:
    assert rows("decsum_avro", "d is null", "k") == [{"k": 1}]
    assert rows("decsum_avro", "k = 2", "k") == [{"k": 2}]


def test_a_not_null_column_with_values_that_a_cast_does_not_keep_is_nullable() -> None:
    scan = frazil.load_table(TABLES / "cast_not_null").scan()
    assert [field.nullable for field in scan.schema()] == [field.nullable for field in scan.to_arrow().schema]
    assert scan.schema().field("d").nullable
    assert rows("cast_not_null", "d is null", "k") == [{"k": 1}]
    assert rows("cast_not_null", "d is not null", "k") == [{"k": 2}]


@pytest.mark.parametrize(
    ("name", "row_filter", "columns", "expected"),
    [
        ("fallback_nested", "true", ("r.a",), [{"r": {"a": 1}}, {"r": {"a": 3}}]),
        ("fallback_nested", "r.a = 1", ("r.b", "p"), [{"p": 2, "r": {"b": 2}}]),
        ("fallback_nested", "r.a > 2", ("k",), [{"k": 1}]),
        ("fallback_renamed", "k2 = 2", ("*",), [{"p": 2, "k2": 2}]),
        ("fallback_renamed", "k2 < 2", ("k2",), [{"k2": 1}]),
    ],
)
def test_columns_of_a_fallback_branch(
    name: str, row_filter: str, columns: tuple[str, ...], expected: list[dict[str, Any]]
) -> None:
    assert rows(name, row_filter, *columns) == expected
    scan = frazil.load_table(TABLES / name).scan(row_filter, columns)
    remote = [sent.to_arrow() for split in scan.plan_files() for sent in Split.from_bytes(split.to_bytes())]
    assert all(part.schema == scan.schema() for part in remote)
    assert sorted(pa.concat_tables(remote).to_pylist(), key=repr) == expected


@pytest.mark.parametrize("name", ["k2", '"k2"', "`k2`"])
def test_selected_fields_may_be_quoted(name: str) -> None:
    assert rows("fallback_renamed", "true", name) == [{"k2": 1}, {"k2": 2}]
    with pytest.raises(frazil.errors.InvalidArgumentError, match='unknown column `"nope"`'):
        rows("fallback_renamed", "true", '"nope"')


def test_the_audit_log_has_sequence_numbers_if_the_option_says_so() -> None:
    log = frazil.load_table(TABLES / "file_prefixes").audit_log()
    scan = log.scan(options={"table-read.sequence-number.enabled": "true"})
    assert scan.schema().names == ["rowkind", "_SEQUENCE_NUMBER", "k", "p", "v"]
    found = {row["k"]: row["_SEQUENCE_NUMBER"] for row in scan.to_arrow().to_pylist()}
    assert found == {0: 0, 1: 2, 2: 2, 3: 1}
    remote = [sent.to_arrow() for split in scan.plan_files() for sent in Split.from_bytes(split.to_bytes())]
    assert pa.concat_tables(remote).schema == scan.schema()
    assert "_SEQUENCE_NUMBER" not in log.scan().schema().names
    assert log.scan(selected_fields=("_SEQUENCE_NUMBER", "k")).schema().names == ["k", "_SEQUENCE_NUMBER"]
