"""Small tables of Apache Paimon (Java) 1.4.2 that frazil once read incorrectly, in `golden/paimon/found.db`."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support.cases import GOLDEN

if TYPE_CHECKING:
    from frazil.paimon import Table

FOUND = GOLDEN / "paimon" / "found.db"

MERGED = [
    # A leading retract is the row that later records are merged onto.
    ("pu_group_first_retract", [(1, 2, 20, 100)]),
    ("pu_group_first_retract_compacted", [(1, 2, 20, 100)]),
    ("pu_group_sum_first_retract", [(1, 2, 20, 100)]),
    # So is a delete that removes the row.
    ("pu_remove_on_delete", [(1, 2, 6, 7)]),
    ("pu_remove_on_group", [(1, 6, None, 7)]),
    ("agg_remove_on_delete", [(1, 2, 16, 7)]),
    # Late records, and retracted values of a NOT NULL column.
    ("late_null", [(1, 5, None)]),
    ("late_null_2", [(1, 5, None)]),
    ("late_twice", [(1, 5, 30)]),
    ("not_null", [(1, None)]),
    # An ignored retract is not the first value: a late record does not replace it.
    ("group_first_value_retract", [(1, 5, 15, 1)]),
    ("group_first_value_descending", [(1, 9, 15, 3)]),
]

LOOKED_UP = [
    ("lookup_sum", [(1, 2, 15), (2, 3, 1), (3, 2, 2)], [(1, 1, 1), (2, 1, 1)]),
    ("lookup_groups", [(1, 3, 15), (2, 3, 1), (3, 2, 2)], [(1, 1, 1), (2, 1, 1)]),
    ("lookup_vectors", [(1, 2, 3), (2, 1, 1), (3, 2, 2)], [(2, 1, 1)]),
]
"""Tables with levels 0, 4 and 5: rows of the keys 1 to 3, and those in the read-optimized view."""

OLD_TIME = datetime.datetime(1000, 1, 6)  # noqa: DTZ001

ALTERED = [
    ("char_append", "c = 'ab'", [(1, "ab"), (3, "ab")]),
    ("char_append", "c <= 'ab'", [(1, "ab"), (3, "ab")]),
    ("char_append", "c IN ('ab', 'q')", [(1, "ab"), (3, "ab")]),
    ("char_append", "c > 'ab'", [(2, "zz")]),
    ("char_key", "c = 'ab'", [(2, "ab", "new")]),
    ("char_key", "c <= 'ab'", [(1, "a", "x"), (2, "ab", "new")]),
    ("char_to_string", "c = 'ab'", [(1, "ab")]),
    ("oldts", "c = TIMESTAMP '1000-01-06 00:00:00'", [(1, OLD_TIME)]),
    ("oldts", "c >= TIMESTAMP '1000-01-06 00:00:00'", [(1, OLD_TIME)]),
    ("oldts", "c <= TIMESTAMP '1000-01-06 00:00:00'", [(1, OLD_TIME)]),
]
"""Filters on values that differ between ORC files and their statistics."""


def table(name: str) -> Table:
    return frazil.load_table(FOUND / name, format="paimon")


def rows(scan: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in scan.to_arrow().to_pylist()), key=str)


@pytest.mark.parametrize(("name", "expected"), MERGED)
def test_records_are_merged_as_java_merges_them(name: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(table(name).scan()) == expected


def test_a_removed_row_is_in_the_audit_log_with_all_columns_of_the_delete() -> None:
    assert rows(table("pu_remove_on_delete_audit").audit_log().scan()) == [("-D", 1, 5, 6, 7)]


@pytest.mark.parametrize(("name", "merged", "optimized"), LOOKED_UP)
def test_of_the_levels_above_0_only_the_lowest_takes_part(
    name: str, merged: list[tuple[Any, ...]], optimized: list[tuple[Any, ...]]
) -> None:
    found, few = table(name), "k <= 3"
    assert rows(found.scan(few)) == merged
    assert rows(found.scan(few, ("a",))) == sorted((row[-1:] for row in merged), key=str)
    assert rows(found.audit_log().scan(few)) == [("+I", *row) for row in merged]
    assert rows(found.read_optimized().scan(few)) == optimized
    changed = {"incremental-between": "2,6", "incremental-between-scan-mode": "diff"}
    assert rows(found.scan(few, options=changed)) == [row for row in merged if row != (2, 1, 1)]


@pytest.mark.parametrize(("name", "condition", "expected"), ALTERED)
def test_statistics_of_altered_values_leave_no_file_out(
    name: str, condition: str, expected: list[tuple[Any, ...]]
) -> None:
    assert rows(table(name).scan(condition)) == expected
    assert table(name).scan(condition).count() == len(expected)


@pytest.mark.parametrize("snapshot", [4, 5], ids=["cast by frazil", "compacted by Java"])
def test_times_that_were_timestamps_before_1970_are_within_the_day(snapshot: int) -> None:
    found = table("negative_time")
    late, noon, early = datetime.time(23, 59, 58, 500_000), datetime.time(12, 34, 56), datetime.time(0, 0, 0, 123_000)
    times = [(1, late), (2, noon), (3, early)]
    assert rows(found.scan(snapshot_id=snapshot)) == times
    for condition, expected in [
        ("v >= '23:00:00'", times[:1]),
        ("v <= '01:00:00'", times[2:]),
        ("v = '23:59:58.5'", times[:1]),
        ("v IN ('00:00:00.123', '12:34:56')", times[1:]),
        ("v > '23:59:58.5'", []),
    ]:
        assert rows(found.scan(condition, snapshot_id=snapshot)) == expected, condition
        assert found.scan(condition, snapshot_id=snapshot).count() == len(expected), condition


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("which", [-2, -1], ids=["cast by frazil", "compacted by Java"])
def test_invalid_utf8_in_former_binary_columns_reads_as_replacement_character(file_format: str, which: int) -> None:
    found = table(f"utf8_{file_format}")
    snapshot = found.snapshots()[which].snapshot_id
    texts = [(1, "\ufffd\ufffd"), (2, "ok"), (3, "\ufffd\ufffd")]
    assert rows(found.scan(snapshot_id=snapshot)) == texts
    for condition, expected in [
        ("v = '\ufffd\ufffd'", [texts[0], texts[2]]),
        ("v > 'ok'", [texts[0], texts[2]]),
        ("v < '\ufffd'", [texts[1]]),
        ("v IN ('ok', '\ufffd')", [texts[1]]),
        ("v LIKE '\ufffd%'", [texts[0], texts[2]]),
        ("v > '\ufffe'", []),
    ]:
        assert rows(found.scan(condition, snapshot_id=snapshot)) == expected, condition


def test_a_map_with_its_entries_in_another_order_has_not_changed() -> None:
    changed = {"incremental-between": "3,4", "incremental-between-scan-mode": "diff"}
    assert rows(table("map_order").scan(options=changed)) == []
