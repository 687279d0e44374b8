"""Tests of filters that compare columns and compute values, on tables of both formats; DuckDB is the judge."""

from __future__ import annotations

import datetime as dt
import functools
import pickle
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("a", pa.int32()),
        ("b", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("t", pa.string()),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us")),
        ("n", pa.decimal128(9, 2)),
        ("flag", pa.bool_()),
        pa.field("p", pa.string(), nullable=False),
    ]
)


def rows(first: int, count: int) -> pa.Table:
    """Return rows with NULLs, NaN and equal values."""

    def some(value: Any, number: int, every: int) -> Any:
        return None if number % every == 0 else value

    made = []
    for number in range(first, first + count):
        text = ["a", "B", "ab ", "", "é"][number % 5]
        made.append(
            {
                "id": number,
                "a": some(number % 4 - 1, number, 7),
                "b": some(number % 3, number, 5),
                "f": some(float("nan") if number % 6 == 1 else number / 4, number, 9),
                "s": some(text, number, 8),
                "t": some(["A", "b", "ab"][number % 3], number, 11),
                "d": some(dt.date(2024, 1, 1) + dt.timedelta(days=number % 3), number, 6),
                "ts": some(dt.datetime(2024, 1, 1 + number % 4, 12 * (number % 2), tzinfo=None), number, 10),  # noqa: DTZ001 - a local time
                "n": some(f"{number % 5}.{number % 2}5", number, 13),
                "flag": some(number % 2 == 0, number, 4),
                "p": "xyz"[number % 3],
            }
        )
    for row in made:
        row["n"] = None if row["n"] is None else pa.scalar(row["n"]).cast(pa.decimal128(9, 2)).as_py()
    return pa.Table.from_pylist(made, schema=SCHEMA)


def iceberg(folder: Path, version: int) -> Any:
    properties = {"format-version": str(version), "write.delete.mode": "merge-on-read"}
    table = frazil.create_table(folder / "t", SCHEMA, properties=properties, partition_by=["p"])
    table.append(rows(0, 30))
    table.append(rows(30, 30))
    table.delete("id in (3, 31, 47)")
    return table


def paimon(folder: Path, keys: list[str]) -> Any:
    options = {"bucket": 2} if keys else {}
    table = frazil.create_table(
        folder / "t", SCHEMA, format="paimon", primary_keys=keys, partition_keys=["p"], options=options
    )
    table.append(rows(0, 30))
    table.append(rows(20 if keys else 30, 30))
    return table


TABLES: dict[str, Callable[[Path], Any]] = {
    "iceberg v2": lambda folder: iceberg(folder, 2),
    "iceberg v3": lambda folder: iceberg(folder, 3),
    "paimon append table": lambda folder: paimon(folder, []),
    "paimon keys": lambda folder: paimon(folder, ["p", "id"]),
}

CONDITIONS = (
    "a = b",
    "a < b",
    "a <> b",
    "f > a",
    "f = f",
    "a + 1 > b",
    "a + b * 2 - 1 >= 2",
    "a % 2 = 1",
    "b / 2 > 0.4",
    "-a < 0",
    "upper(s) = 'A'",
    "upper(s) = t",
    "lower(t) = s",
    "trim(s) = t",
    "s || t = 'aA'",
    "concat(s, '-', t) like 'a%'",
    "length(s) > 1",
    "substring(s, 2) = 'b '",
    "substring(s, 1, 1) = 'a'",
    "coalesce(a, b, 0) = 0",
    "greatest(a, b) = 2",
    "least(a, b) < 0",
    "abs(a) = 1",
    "round(n) = 2",
    "round(f, 1) > 3.2",
    "n > a",
    "n + 1.25 = 2.5",
    "cast(a as string) = '1'",
    "cast(n as int) = b",
    "cast(d as timestamp) = ts",
    "d = cast(ts as date)",
    "case when a > 0 then s else t end = 'b'",
    "case a when 1 then true when 2 then false end",
    "if(flag, a, b) = 1",
    "nullif(a, b) is null",
    "a + 1 is null",
    "a in (b, 2)",
    "case when a = 1 then case when b = 1 then 5 else 6 end else case b when 2 then 7 end end > 5",
    "if(a > 0, if(b > 0, flag, a = b), nullif(nullif(a, 0), -1) = 1)",
    "a + b + a + b + a + b - 1 > 2 * b * a",
    "s || t || s || t like 'aA%'",
    "a not in (b, 1)",
    "a between b and 2",
    "a not between 0 and b",
    "a is distinct from b",
    "a <=> b",
    "a is not distinct from 1",
    "flag = (a > 0)",
    "flag is not true",
    "not (a = b and upper(s) = 'A')",
    "(a = b or p = 'x') and (id > 10 or s = 'a')",
    "upper(p) = 'X'",
    "p = 'x' and a < id",
    "ts >= ts",
    "1 = 1",
    "id % 2 = 0 and 10 % (id - 1) >= 0 and id > 1",
)

_OTHER_SPELLINGS = {
    "a <=> b": "a is not distinct from b",
    "concat(s, '-', t) like 'a%'": "s || '-' || t like 'a%'",
    "id % 2 = 0 and 10 % (id - 1) >= 0 and id > 1": "id % 2 = 0 and id > 1",
}


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return TABLES[request.param](tmp_path_factory.mktemp("tables"))


@functools.cache
def duckdb_connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def judged(everything: pa.Table, condition: str) -> list[int]:
    """Return the ids of the rows for which the condition is true in DuckDB."""
    database = duckdb_connection()
    database.register("everything", everything)
    found = database.execute(f"SELECT id FROM everything WHERE {condition} ORDER BY id").fetchall()  # noqa: S608
    return [number for (number,) in found]


def ids(scan: Any) -> list[int]:
    return sorted(scan.to_arrow()["id"].to_pylist())


@pytest.mark.sampled(120)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_select_the_rows_of_another_engine(table: Any, condition: str) -> None:
    everything = table.scan().to_arrow()
    spelled = _OTHER_SPELLINGS.get(condition, condition)
    for form in ("{}", "not ({})", "({}) and id > 20", "({}) or id = 1", "({}) is null"):
        wanted = judged(everything, form.format(spelled))
        scan = table.scan(form.format(condition))
        assert ids(scan) == wanted, form
        assert scan.count() == len(wanted)
        assert ids(table.scan(scan.row_filter)) == wanted, scan.row_filter
    narrow = table.scan(condition, selected_fields=["id"])
    assert narrow.schema().names == ["id"]
    tasks = [pickle.loads(pickle.dumps(task)) for task in narrow.plan_files()]  # noqa: S301 - own bytes
    read = [batch["id"].to_pylist() for task in tasks for batch in task.to_arrow_batches()]
    assert sorted(number for numbers in read for number in numbers) == judged(everything, spelled)
    if wanted_rows := judged(everything, spelled):
        assert len(ids(table.scan(condition, limit=1))) == min(1, len(wanted_rows))


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("a = s", "type int cannot be compared with one of type string"),
        ("a = nope", "no column `nope`"),
        ('s = "ab"', "write 'ab'"),
        ("upper(a) = 'A'", "upper"),
        ("nope(a)", "no function nope"),
        ("substring(s) = 'a'", "substring takes 2 to 3 arguments, not 1"),
        ("a + s > 1", "a + s"),
        ("a + 1", "boolean"),
        ("s like t", "pattern in single quotes"),
        ("cast(a as strin) = '1'", "strin"),
        ("a = 1 +", "character 8"),
    ],
)
def test_conditions_that_have_no_meaning_are_rejected(table: Any, condition: str, named: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=named.replace("(", r"\(").replace("+", r"\+")):
        table.scan(condition).to_arrow()


def test_a_condition_fails_only_for_rows_that_it_decides(table: Any) -> None:
    assert ids(table.scan("id > 1 and 10 % (id - 1) >= 0"))
    with pytest.raises(errors.InvalidArgumentError, match="10 % "):
        table.scan("10 % (id - 1) >= 0").to_arrow()


def test_deletes_updates_and_overwrites_take_conditions(tmp_path: Path) -> None:
    table = iceberg(tmp_path, 2)
    everything = table.scan().to_arrow()
    table.delete("a = b or upper(s) = 'A'")
    left = judged(everything, "(a = b or upper(s) = 'A') is not true")
    assert ids(table.scan()) == left
    table.update({"t": "'new'"}, "length(s) > 1")
    changed = judged(everything, "length(s) > 1")
    assert ids(table.scan("t = 'new'")) == [number for number in left if number in changed]
    table.overwrite(rows(100, 1), overwrite_filter="id % 2 = 0")
    assert ids(table.scan("id < 100")) == [number for number in left if number % 2 == 1]


def test_deleted_rows_do_not_fail_a_condition(tmp_path: Path) -> None:
    table = iceberg(tmp_path, 2)
    table.delete("id = 1")
    assert ids(table.scan("10 % (id - 1) >= 0")) == ids(table.scan())


def test_partitions_to_compact_are_selected_by_conditions(tmp_path: Path) -> None:
    table = paimon(tmp_path, ["p", "id"])
    table.compact(where="upper(p) = 'X'")
    levels = {(row["partition"], row["level"] > 0) for row in table.inspect.files().to_pylist()}
    assert {partition for partition, compacted in levels if compacted} == {"{x}"}
    with pytest.raises(errors.InvalidArgumentError, match="partition keys"):
        table.compact(where="upper(s) = 'X'")


def test_metadata_tables_and_changes_take_conditions(tmp_path: Path) -> None:
    table = iceberg(tmp_path, 2)
    files = table.inspect.files()
    found = files.scan("record_count + 1 > 10 and upper(file_format) = 'PARQUET'") if hasattr(files, "scan") else None
    assert found is None or found.count() >= 1
    first = table.snapshots()[0].snapshot_id
    changes = table.changes(first, row_filter="a = b").to_arrow()
    assert all(row["a"] == row["b"] for row in changes.to_pylist())
