"""Tests of tables whose primary key lacks a partition column: a key is in one partition, whoever writes it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support.paimon_files import HINTS, files_in, files_known

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

SCHEMA = {"id": "BIGINT NOT NULL", "name": "STRING NOT NULL", "day": "STRING", "n": "INT", "m": "INT"}
INPUT = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("day", pa.string()),
        ("n", pa.int32()),
        ("m", pa.int32()),
        ("_ROW_KIND", pa.string()),
    ]
)
DAYS = ["x", "y", "é /=", None]
Key = tuple[int, str]
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "first-row": {},
    "partial-update": {},
    "aggregation": {"fields.n.aggregate-function": "sum", "fields.m.aggregate-function": "sum"},
}


def create(folder: Path, **options: Any) -> Table:
    table: Any = frazil.create_table(
        folder / "t",
        SCHEMA,
        format="paimon",
        primary_keys=["id", "name"],
        partition_keys=["day"],
        options={name.replace("_", "-"): value for name, value in options.items()},
    )
    return table


def row(number: int, day: str | None, n: int | None = None, **others: Any) -> dict[str, Any]:
    return {"id": number, "name": "k", "day": day, "n": n, **others}


def rows(table: Table) -> list[tuple[Any, ...]]:
    found = table.scan().to_arrow().to_pylist()
    return sorted(((one["id"], one["name"], one["day"], one["n"], one["m"]) for one in found), key=str)


def test_a_row_moves_its_key_to_its_partition(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1, "x", 1), row(2, "x", 2)])
    assert table.append([row(1, "y", 3), row(1, None, 4)]).snapshot_id == 2
    assert rows(table) == [(1, "k", None, 4, None), (2, "k", "x", 2, None)]
    assert {name.split("/")[0] for name in files_in(table)} >= {"day=x", "day=y", "day=__DEFAULT_PARTITION__"}


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_a_merged_row_stays_in_the_partition_of_its_key(tmp_path: Path, engine: str) -> None:
    table = create(tmp_path, merge_engine=engine, **ENGINES[engine])
    table.append([row(1, "x", 1, m=5)])
    table.append([row(1, "y", 3), row(2, "y", 1)])
    merged = 4 if engine == "aggregation" else 3
    assert rows(table) == [(1, "k", "x", merged, 5), (2, "k", "y", 1, None)]


def test_the_first_row_of_a_key_stays(tmp_path: Path) -> None:
    table = create(tmp_path, merge_engine="first-row")
    table.append([row(1, "x", 1), row(1, "y", 2)])
    table.append([row(1, "y", 3), row(1, "x", 4), row(2, "y", 5)])
    assert rows(table) == [(1, "k", "x", 1, None), (2, "k", "y", 5, None)]


def test_a_change_of_rows_can_set_the_partition(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1, "x", 1), row(2, "x", 2), row(3, "y", 3)])
    assert table.update({"day": "'y'"}, "n = 1").updated_rows == 1
    assert rows(table) == [(1, "k", "y", 1, None), (2, "k", "x", 2, None), (3, "k", "y", 3, None)]
    assert table.upsert([row(2, "z", 7, m=1), row(4, "z", 8, m=1)]).updated_rows == 1
    assert table.delete("day = 'y'").deleted_rows == 2
    assert rows(table) == [(2, "k", "z", 7, 1), (4, "k", "z", 8, 1)]


def test_another_writer_may_not_move_keys_meanwhile(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1, "x", 1)])

    def batches() -> Any:
        yield pa.RecordBatch.from_pylist([row(2, "x", 2)], schema=INPUT)
        frazil.load_table(table.location, format="paimon").append([row(2, "y", 3)])

    with pytest.raises(errors.CommitConflictError, match="another writer changed"):
        table.append(batches())
    assert rows(table) == [(1, "k", "x", 1, None), (2, "k", "y", 3, None)]
    assert files_known(table) == files_in(table) - HINTS


def test_a_change_of_rows_is_planned_again_after_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path)
    table.append([row(1, "x", 1)])
    other: Any = frazil.load_table(table.location, format="paimon")
    pending = [[row(1, "y", 10)], [row(2, "x", 20)]]
    from frazil.paimon import _row_changes

    write = _row_changes.write_rows

    def slow(*arguments: Any, **options: Any) -> Any:
        messages = write(*arguments, **options)
        if pending:
            other.append(pending.pop())
        return messages

    monkeypatch.setattr(_row_changes, "write_rows", slow)
    result = table.update({"n": "n + 1"})
    assert (result.updated_rows, result.attempts) == (2, 3)
    assert rows(table) == [(1, "k", "y", 11, None), (2, "k", "x", 21, None)]
    assert files_known(table) == files_in(table) - HINTS


def test_other_overwrites_than_of_the_whole_table_are_refused(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row(1, "x", 1), row(2, "y", 1)])
    for overwrite in (
        lambda: table.overwrite([row(2, "x")], partitions=[{"day": "x"}]),
        lambda: table.dynamic_partition_overwrite([row(2, "x")]),
    ):
        with pytest.raises(errors.UnsupportedError, match="lacks a partition column"):
            overwrite()
    table.drop_partitions([{"day": "x"}])
    assert rows(table) == [(2, "k", "y", 1, None)]
    table.overwrite([row(3, "x"), row(3, "y")])
    assert rows(table) == [(3, "k", "y", None, None)]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"bucket": "2"}, "`bucket` = `2`"),
        ({"bucket": "-2"}, "`bucket` = `-2`"),
        ({"sequence.field": "n"}, "`sequence.field` = `n`"),
        ({"ignore-delete": "true"}, "ignore-delete"),
    ],
)
def test_options_that_need_the_partition_in_the_key_are_refused(
    tmp_path: Path, options: dict[str, str], named: str
) -> None:
    with pytest.raises((errors.InvalidArgumentError, errors.UnsupportedError), match=named):
        create(tmp_path, **options)


class Model:
    """The rows that random writes give."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.rows: dict[Key, dict[str, Any]] = {}
        self.days: dict[Key, Any] = {}

    def write(self, record: dict[str, Any]) -> None:
        key = record["id"], record["name"]
        known = key in self.days
        if self.engine == "first-row":
            if not known:
                self.rows[key] = record
        elif record["_ROW_KIND"] == "-D":
            self.rows.pop(key, None)
        elif self.engine == "deduplicate" or key not in self.rows:
            self.rows[key] = {**record, "day": record["day"] if self._moves(key) else self.days[key]}
        else:
            merged = self.rows[key]
            for name in ("n", "m"):
                if self.engine == "partial-update":
                    merged[name] = merged[name] if record[name] is None else record[name]
                else:
                    merged[name] = sum(value for value in (merged[name], record[name]) if value is not None)
        if not known or self.engine == "deduplicate":
            self.days[key] = record["day"]

    def _moves(self, key: Key) -> bool:
        return self.engine == "deduplicate" or key not in self.days

    def forget(self) -> None:
        """Forget the partitions of deleted keys, as a new writer does."""
        self.days = {key: day for key, day in self.days.items() if key in self.rows}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(6))
def test_random_writes_give_the_rows_of_the_model(tmp_path: Path, engine: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not a secret
    options: dict[str, Any] = {"merge-engine": engine, **ENGINES[engine]}
    options["dynamic-bucket.target-row-num"] = chance.choice([1, 3, 1000])
    options["changelog-producer"] = chance.choice(["none", "lookup"])
    if engine != "first-row" and seed % 3 == 0:
        options["deletion-vectors.enabled"] = "true"
    if seed % 4 == 0:
        options["num-sorted-run.compaction-trigger"] = 2
    table = create(tmp_path, **options)
    model = Model(engine)
    for _ in range(8):
        records = [
            {
                "id": chance.randint(0, 12),
                "name": chance.choice(["a", "é"]),
                "day": chance.choice(DAYS),
                "n": chance.choice([1, 2, 3]),
                "m": chance.choice([1, 2]) if engine == "aggregation" else chance.choice([None, 1, 2]),
                "_ROW_KIND": "-D" if engine == "deduplicate" and chance.random() < 0.2 else "+I",
            }
            for _ in range(chance.choice([1, 5, 40]))
        ]
        step = chance.choice(["append", "append", "append", "overwrite", "compact"])
        writer: Any = frazil.load_table(table.location, format="paimon")
        if step == "compact":
            writer.compact()
            continue
        if step == "overwrite":
            model = Model(engine)
        model.forget()
        getattr(writer, step)(iter(pa.Table.from_pylist(records, schema=INPUT).to_batches(max_chunksize=7)))
        for record in records:
            model.write(record)
        expected = ((one["id"], one["name"], one["day"], one["n"], one["m"]) for one in model.rows.values())
        assert rows(table) == sorted(expected, key=str), step
        assert len({tuple(one[:2]) for one in rows(table)}) == len(rows(table))
        assert files_known(table) == files_in(table) - HINTS
