"""The rows of a large table that a small source of MERGE matches are found where the files are read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.spark
from frazil.spark import _matching_rows, _sql_row_changes

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

ROWS = 1_000
COLUMNS = {
    "id": pa.array(range(ROWS), pa.int64()),
    "small": pa.array([number % 300 for number in range(ROWS)], pa.int32()),
    "text": pa.array([f"k{number}" if number % 7 else None for number in range(ROWS)]),
    "day": pa.array([date(2024, 1, 1 + number % 28) for number in range(ROWS)]),
    "price": pa.array([Decimal(number) / 4 for number in range(ROWS)], pa.decimal128(12, 2)),
    "at": pa.array([datetime(2024, 1, 1, number % 24, tzinfo=UTC) for number in range(ROWS)]),
    "ratio": pa.array([float("nan") if number == 3 else number / 8 for number in range(ROWS)]),
    "state": pa.array(["old"] * ROWS),
}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake[DataFrame]:
    monkeypatch.setattr(_sql_row_changes, "JOIN_LIMIT_BYTES", 0)
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(tmp_path))
    rows = pa.table(COLUMNS)
    table = catalog.create_table("db.t", rows.schema, properties={"write.merge.mode": "merge-on-read"})
    for begin in range(0, ROWS, 100):
        table.append(rows.slice(begin, 100))
    return frazil.spark.connect(spark, {"lake": catalog})


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], int]]:
    """Record the compared columns and the number of rows that workers pass on."""
    found = []
    matching_rows = _matching_rows.matching_rows

    def recorded(spark: SparkSession, state: Any, keys: DataFrame) -> DataFrame:
        rows = matching_rows(spark, state, keys)
        found.append((keys.columns, rows.count()))
        return rows

    monkeypatch.setattr(_matching_rows, "matching_rows", recorded)
    return found


@pytest.mark.parametrize(
    ("source", "on", "columns", "matches"),
    [
        ("SELECT id FROM range(5, 15)", "t.id = s.id", ["id"], 10),
        ("SELECT id FROM range(5, 15)", "s.id = t.id AND t.state = 'old'", ["id"], 10),
        ("SELECT cast(id AS int) id FROM range(5, 15)", "t.id = s.id", ["id"], 10),
        ("SELECT id FROM range(290, 310) UNION ALL SELECT 1L << 40", "small = s.id", ["small"], 30),
        ("SELECT * FROM VALUES ('k1', 2), ('k7', 7), (NULL, 3) AS v(a, b)", "t.text = s.a", ["text"], 1),
        ("SELECT DATE'2024-01-05' a, 4L b", "t.day = s.a AND t.id = s.b", ["day", "id"], 1),
        ("SELECT cast(2.5 AS decimal(12, 2)) p", "t.price = p", ["price"], 1),
        ("SELECT TIMESTAMP'2024-01-01 05:00:00Z' a", "t.at = s.a", ["at"], 42),
        ("SELECT id FROM range(0)", "t.id = s.id", ["id"], 0),
        ("SELECT id, 'x' AS other FROM range(3, 4)", "t.id = s.id AND t.text <=> s.other", ["id"], 1),
    ],
)
def test_only_matching_rows_are_passed_to_spark(
    lake: Lake[DataFrame], passed: list[tuple[list[str], int]], source: str, on: str, columns: list[str], matches: int
) -> None:
    lake.sql(f"MERGE INTO lake.db.t t USING ({source}) s ON {on} WHEN MATCHED THEN UPDATE SET state = 'new'")
    assert passed == [(columns, matches)]
    states = lake.table("lake.db.t").scan().to_arrow()["state"].to_pylist()
    assert states.count("new") == (0 if "<=>" in on else matches)
    assert len(states) == ROWS


@pytest.mark.parametrize(
    ("source", "on"),
    [
        ("SELECT double('NaN') a", "t.ratio = s.a"),
        ("SELECT '5' a", "t.id = s.a"),
        ("SELECT 5 a", "t.id = s.a + 0"),
        ("SELECT 5L a", "t.id <=> s.a"),
        ("SELECT 5L a", "(t.id = s.a OR t.id = 5)"),
        ("SELECT cast(1.25 AS decimal(5, 3)) a", "t.price = s.a"),
        ("SELECT 'K5' a", "t.text COLLATE UTF8_LCASE = s.a"),
    ],
)
def test_spark_compares_other_values(
    lake: Lake[DataFrame], passed: list[tuple[list[str], int]], source: str, on: str
) -> None:
    lake.sql(f"MERGE INTO lake.db.t t USING ({source}) s ON {on} WHEN MATCHED THEN DELETE")
    assert passed == []
    assert lake.table("lake.db.t").scan().count() == ROWS - 1


def test_files_without_matches_are_not_read(lake: Lake[DataFrame], tmp_path: Path) -> None:
    others = [path for path in tmp_path.rglob("*.parquet") if not _has_row(path, 250)]
    assert len(others) == 9
    for path in others:
        path.write_bytes(b"not read")
    lake.sql(
        "MERGE INTO lake.db.t t USING (SELECT 250L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET state = 'new' "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert lake.table("lake.db.t").scan("id = 250").to_arrow()["state"].to_pylist() == ["new"]


def _has_row(path: Path, number: int) -> bool:
    import pyarrow.parquet as pq

    return number in pq.read_table(path)["id"].to_pylist()
