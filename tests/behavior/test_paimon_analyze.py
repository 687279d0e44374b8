"""Tests of the statistics of Paimon tables."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.paimon_garbage import garbage

if TYPE_CHECKING:
    from frazil.paimon import Table

SCHEMA = {
    "id": "BIGINT NOT NULL",
    "text": "STRING",
    "bytes": "BYTES",
    "day": "DATE",
    "at": "TIMESTAMP(3)",
    "instant": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "number": "DOUBLE",
    "price": "DECIMAL(20, 3)",
    "flag": "BOOLEAN",
    "time": "TIME(3)",
    "numbers": "ARRAY<INT>",
}
NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 5000)  # noqa: DTZ001 - without a time zone
ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": "é", "bytes": b"xyz", "day": NOON.date(), "at": NOON, "instant": NOON.replace(tzinfo=dt.UTC)},
    {"id": 2, "text": "abc", "number": -1.5, "price": Decimal("1.5"), "flag": True, "time": dt.time(1, 2, 3)},
    {"id": 3, "text": "abc", "number": float("nan"), "price": Decimal(-7), "flag": False, "numbers": [1]},
]


def create(folder: Path, **options: Any) -> Table:
    table: Any = frazil.create_table(folder / "t", SCHEMA, format="paimon", **options)
    return table


def recorded(table: Any, **state: Any) -> dict[str, Any]:
    """Return the statistics of a snapshot, with those of the columns as a dictionary."""
    (row,) = table.inspect.statistics(**state).to_pylist()
    return row | {"colstat": json.loads(row["colstat"])}


def test_each_type_has_statistics(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append(ROWS)
    result = table.analyze()
    assert (result.snapshot_id, table.snapshots()[-1].operation) == (2, "analyze")
    found = recorded(table)
    assert (found["snapshot_id"], found["mergedRecordCount"]) == (1, 3)
    assert found["mergedRecordSize"] == sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    columns = found["colstat"]
    assert columns.keys() == SCHEMA.keys() - {"numbers"}
    assert [columns[name]["colId"] for name in SCHEMA if name != "numbers"] == list(range(10))
    assert columns["text"] == {
        "colId": 1,
        "distinctCount": 2,
        "nullCount": 0,
        "min": "abc",
        "max": "é",
        "avgLen": 3,
        "maxLen": 3,
    }
    assert columns["bytes"] == {"colId": 2, "distinctCount": 1, "nullCount": 2, "avgLen": 3, "maxLen": 3}
    extremes = {name: (one["min"], one["max"]) for name, one in columns.items() if "min" in one}
    assert extremes == {
        "id": ("1", "3"),
        "text": ("abc", "é"),
        "day": ("19782", "19782"),
        "at": ("2024-02-29 12:00:00.005",) * 2,
        "instant": ("2024-02-29 12:00:00.005000",) * 2,
        "number": ("-1.5", "NaN"),
        "price": ("-7.000", "1.500"),
        "flag": ("false", "true"),
        "time": ("3723000",) * 2,
    }


def test_rows_are_counted_after_merging(tmp_path: Path) -> None:
    table = create(tmp_path, primary_keys=["id"], options={"write-only": "true", "bucket": "1"})
    for number in range(4):
        table.append([{"id": key, "text": f"{number}"} for key in range(100)])
    table.analyze(["text"])
    found = recorded(table)
    assert found["mergedRecordCount"] == 100
    assert found["mergedRecordSize"] == sum(table.inspect.files()["file_size_in_bytes"].to_pylist()) // 4
    assert found["colstat"]["text"]["distinctCount"] == 1


def test_many_distinct_values_are_estimated(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([{"id": number // 2, "text": f"{number}"} for number in range(20_000)])
    table.analyze(["id", "text"])
    columns = recorded(table)["colstat"]
    assert columns["id"]["distinctCount"] == pytest.approx(10_000, rel=0.03)
    assert columns["text"]["distinctCount"] == pytest.approx(20_000, rel=0.03)


def test_later_snapshots_keep_statistics_until_the_schema_changes(tmp_path: Path) -> None:
    table = create(tmp_path)
    assert table.analyze().snapshot_id is None
    table.append(ROWS)
    table.analyze([])
    assert recorded(table)["colstat"] == {}
    table.append(ROWS)
    assert recorded(table)["snapshot_id"] == 1
    with table.update_schema() as update:
        update.add_column("more", "INT")
    table.append(ROWS)
    assert table.inspect.statistics().num_rows == 0
    table.analyze(["more"])
    assert recorded(table)["colstat"]["more"] == {
        "colId": 11,
        "distinctCount": 0,
        "nullCount": 9,
        "avgLen": 4,
        "maxLen": 4,
    }
    assert recorded(table, snapshot_id=3)["snapshot_id"] == 1
    table.expire_snapshots(retain_max=1, retain_min=1).apply()
    assert garbage(Path(table.location)) == set()
    assert len(list((Path(table.location) / "statistics").iterdir())) == 1


def test_a_branch_has_statistics(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append(ROWS)
    table.manage_snapshots().create_tag(1, "t").create_branch("t", "b").commit()
    branch = table.with_branch("b")
    branch.append(ROWS)
    assert branch.analyze(["id"]).snapshot_id == 3
    assert recorded(branch)["mergedRecordCount"] == 6
    assert table.refresh().inspect.statistics().num_rows == 0


def test_what_cannot_be_analyzed_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path)
    table.append(ROWS)
    for columns, kind, named in [
        (["none"], errors.InvalidArgumentError, "no column `none`"),
        ("id", errors.InvalidArgumentError, "must be a sequence of names"),
        (["numbers"], errors.UnsupportedError, "`numbers` cannot be analyzed"),
    ]:
        with pytest.raises(kind, match=named):
            table.analyze(columns)
    other = frazil.load_table(table.location)
    finish = frazil._native.PaimonAnalysis.finish

    class Analysis:
        """An analysis during which another writer alters the table."""

        def __init__(self, *arguments: Any) -> None:
            self._made = frazil._native.PaimonAnalysis(*arguments)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._made, name)

        def finish(self, *arguments: Any) -> Any:
            other.set_properties({"write-only": "true"})
            return finish(self._made, *arguments)

    native = type("Native", (), {"PaimonAnalysis": Analysis})
    monkeypatch.setattr("frazil.paimon._file_verbs._native", native)
    with pytest.raises(errors.CommitConflictError, match="altered while it was analyzed"):
        table.analyze()
    assert len(table.refresh().snapshots()) == 1
    assert list((Path(table.location) / "statistics").iterdir()) == []
