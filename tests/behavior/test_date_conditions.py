"""Conditions with functions of dates and timestamps, intervals and ILIKE, and columns set by rounding."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import frazil

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAYS = [
    dt.date(1969, 12, 31),
    dt.date(1970, 1, 1),
    dt.date(2023, 3, 1),
    dt.date(2024, 2, 29),
    dt.date(2024, 3, 1),
    None,
]

CONDITIONS: list[tuple[str, Callable[[dt.date], bool]]] = [
    ("year(d) = 2024 and month(d) = 3", lambda d: (d.year, d.month) == (2024, 3)),
    ("year(d) <> 2024", lambda d: d.year != 2024),
    ("year(d) in (1969, 2023)", lambda d: d.year in {1969, 2023}),
    ("year(ts) < 1970", lambda d: d.year < 1970),
    ("year(ts) between 1970 and 2023", lambda d: 1970 <= d.year <= 2023),
    ("day(ts) = 29", lambda d: d.day == 29),
    ("hour(ts) = 23 and minute(ts) = 59 and second(ts) = 58", lambda d: True),  # noqa: ARG005
    ("hour(d) > 0", lambda d: False),  # noqa: ARG005
    ("date(ts) = DATE '2024-02-29'", lambda d: d == dt.date(2024, 2, 29)),
    ("date(ts) > '2023-03-01'", lambda d: d > dt.date(2023, 3, 1)),
    ("d > DATE '2024-03-31' - INTERVAL 1 MONTH", lambda d: d > dt.date(2024, 2, 29)),
    ("ts >= TIMESTAMP '2024-03-01 00:00:00' - INTERVAL '2' SECONDS", lambda d: d >= dt.date(2024, 2, 29)),
    ("d + INTERVAL '1 day' = DATE '1970-01-01'", lambda d: d == dt.date(1969, 12, 31)),
    ("d < current_date - INTERVAL 1 WEEK", lambda d: True),  # noqa: ARG005
    ("s ilike 'X2024-0%'", lambda d: d.year == 2024),
]


def table_of_days(folder: Path, table_format: str) -> Any:
    long = {"iceberg": "long", "paimon": "bigint"}[table_format]
    columns = {"id": long, "d": "date", "ts": "timestamp", "s": "string"}
    table = frazil.create_table(folder / "t", columns, format=table_format)
    for number, day in enumerate(DAYS):
        moment = None if day is None else dt.datetime.combine(day, dt.time(23, 59, 58))
        table.append([{"id": number, "d": day, "ts": moment, "s": None if day is None else f"x{day}"}])
    return table


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
def test_conditions_with_parts_of_dates_select_the_rows_of_python(tmp_path: Path, table_format: str) -> None:
    table = table_of_days(tmp_path, table_format)
    for condition, holds in CONDITIONS:
        expected = {number for number, day in enumerate(DAYS) if day is not None and holds(day)}
        others = {number for number, day in enumerate(DAYS) if day is not None} - expected
        assert set(table.scan(condition).to_arrow()["id"].to_pylist()) == expected, condition
        assert set(table.scan(f"not ({condition})").to_arrow()["id"].to_pylist()) == others, condition
    table.delete("year(d) = 2024")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 5]


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
@pytest.mark.parametrize(
    "condition",
    ["year(d) = 2023", "year(ts) = 2023", "date(ts) = '2023-03-01'", "d = DATE '2023-04-01' - INTERVAL 1 MONTH"],
)
def test_years_days_and_intervals_skip_files(tmp_path: Path, table_format: str, condition: str) -> None:
    table = table_of_days(tmp_path, table_format)
    scan = table.scan(condition)
    skipped = {"iceberg": "files_skipped_by_bounds", "paimon": "files_skipped_by_stats"}[table_format]
    assert scan.plan().metrics[skipped] == len(DAYS) - 1


@pytest.mark.parametrize("table_format", ["iceberg", "paimon"])
def test_columns_are_set_by_rounding(tmp_path: Path, table_format: str) -> None:
    columns = {"i": "int", "f": "float", "m": "decimal(9, 2)", "d": "date", "ts": "timestamp"}
    table = frazil.create_table(tmp_path / "t", columns, format=table_format)
    row = {"i": 1, "f": 0.5, "m": Decimal("1.05"), "d": dt.date(2024, 1, 31)}
    table.append([row | {"ts": dt.datetime(2024, 2, 29, 12)}])  # noqa: DTZ001
    table.update({"f": "f * 1.5", "m": "m * 1.1", "d": "d + INTERVAL 1 MONTH"})
    table.update({"i": "i + 3000000000 - 3000000000", "m": "m / 8e0", "ts": "date(ts)"})
    expected = {"i": 1, "f": 0.75, "m": Decimal("0.15"), "d": dt.date(2024, 2, 29)}
    assert table.scan().to_arrow().to_pylist() == [expected | {"ts": dt.datetime(2024, 2, 29)}]  # noqa: DTZ001
    for column, value in {"m": "m * 1e8", "i": "i + 3000000000", "d": "ts + INTERVAL 9999999 YEARS"}.items():
        with pytest.raises(frazil.errors.InvalidArgumentError):
            table.update({column: value})
    for value in ("i * 1.5", "f", "'1'"):
        with pytest.raises(frazil.errors.InvalidArgumentError, match="does not accept"):
            table.update({"i": value})
