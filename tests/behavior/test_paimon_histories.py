"""Tests of random histories of Paimon tables, written by handles of different ages, against a simple model.

`FRAZIL_PAIMON_MODELS` sets the number of histories. A failure reports its seed.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support.sizes import size

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

HISTORIES = size("FRAZIL_PAIMON_MODELS")
QUICK = 10
"""The number of histories that are not marked as slow."""
STEPS = 14
KEYS = 6
PARTITIONS = ("x", "y", "z")
KINDS = ("+I", "+I", "+U", "-U", "-D")
RETRACTS = {"-U", "-D"}

Row = dict[str, Any]
State = list[Row]

COLUMNS = [("part", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("at", "INT"), ("n", "INT"), ("name", "STRING")]


@dataclass(frozen=True)
class Engine:
    """A type of table, and the rule that merges a row with the existing row of its key."""

    options: dict[str, str] = field(default_factory=dict)
    has_key: bool = True
    kinds: tuple[str, ...] = ("+I", "+U")

    def merged(self, before: Row | None, new: Row, kind: str) -> Row | None:
        """Return the row of a key, or None if there is none."""
        if "sequence.field" in self.options:
            late = before is not None and _order(new["at"]) < _order(before["at"])
            return before if late else new
        match self.options.get("merge-engine"):
            case "partial-update":
                return {name: _or(value, (before or {}).get(name)) for name, value in new.items()}
            case "aggregation" if before is not None:
                return new | {
                    "at": _or(max((v for v in (before["at"], new["at"]) if v is not None), default=None), None),
                    "n": before["n"] if new["n"] is None else new["n"] + (before["n"] or 0),
                    "name": _or(new["name"], before["name"]),
                }
        return None if kind in RETRACTS else new


def _or(value: Any, other: Any) -> Any:
    return other if value is None else value


def _order(value: int | None) -> tuple[bool, int]:
    return value is not None, value or 0


ENGINES = {
    "append": Engine(has_key=False, kinds=("+I",)),
    "deduplicate": Engine(kinds=KINDS),
    "sequence": Engine({"sequence.field": "at"}),
    "partial-update": Engine({"merge-engine": "partial-update"}),
    "aggregation": Engine(
        {"merge-engine": "aggregation", "fields.at.aggregate-function": "max", "fields.n.aggregate-function": "sum"}
    ),
}


class History:
    """A table and its expected rows."""

    def __init__(self, seed: int, folder: Path) -> None:
        """Create the table."""
        self.rng = Random(f"model {seed}")  # noqa: S311 - not a secret
        self.folder = folder / "t"
        self.engine = ENGINES[self.rng.choice(sorted(ENGINES))]
        self.is_partitioned = self.rng.random() < 0.6
        partition_keys = ["part"] if self.is_partitioned else []
        keys = ["part", "id"] if self.engine.has_key else []
        options = self.engine.options | self._options()
        table = frazil.create_table(
            self.folder, COLUMNS, format="paimon", primary_keys=keys, partition_keys=partition_keys, options=options
        )
        self.handles = [table]
        self.states: dict[str, State] = {"main": []}
        self.past: dict[tuple[str, int], State] = {}

    def _options(self) -> dict[str, str]:
        rng = self.rng
        options = {"file.format": rng.choice(("parquet", "orc", "avro"))}
        if self.engine.has_key or rng.random() < 0.5:
            options["bucket"] = rng.choice(("1", "2", "3"))
        if "bucket" in options and not self.engine.has_key:
            options |= {"bucket-key": "id", "compaction.min.file-num": rng.choice(("2", "4"))}
        if rng.random() < 0.4:
            options["write-only"] = "true"
        if self.engine.has_key:
            options["num-sorted-run.compaction-trigger"] = rng.choice(("1", "2", "3", "5"))
            options["changelog-producer"] = rng.choice(("none", "input"))
            options["data-file.thin-mode"] = rng.choice(("true", "false"))
        return options

    def step(self) -> None:
        """Apply a change with a handle of any age, and check the table with another handle."""
        rng = self.rng
        branch = rng.choice(sorted(self.states))
        table: Any = self._on(rng.choice(self.handles), branch)
        do = rng.choices((self._append, self._replace, self._drop, self._compact, self._branch), (60, 12, 6, 16, 6))[0]
        do(table, branch)
        if rng.random() < 0.3:
            self.handles.append(self._opened())
        reader = self._on(rng.choice(self.handles).refresh(), branch)
        newest = reader.current_snapshot()
        if newest is not None:
            self.past[branch, newest.snapshot_id] = list(self.states[branch])
        assert lines(reader.scan().to_arrow().to_pylist()) == lines(self.states[branch]), do.__name__

    def _opened(self) -> Table:
        table: Any = frazil.load_table(self.folder)
        return table

    def _on(self, table: Table, branch: str) -> Table:
        return table if branch == "main" else table.with_branch(branch)

    def _rows(self, parts: tuple[str, ...] = PARTITIONS) -> State:
        rng = self.rng
        return [
            {
                "part": rng.choice(parts),
                "id": rng.randrange(KEYS),
                "at": rng.choice((None, 0, 1, 2, 3)),
                "n": rng.choice((None, -1, 0, 5)),
                "name": rng.choice((None, "", "a", "é😀")),
                "_ROW_KIND": rng.choice(self.engine.kinds),
            }
            for _ in range(rng.choice((0, 1, 2, 5, 20)))
        ]

    def _given(self, rows: State) -> State:
        """Return rows in the form in which they are written: only tables with keys have row kinds."""
        if self.engine.has_key:
            return rows
        return [{name: value for name, value in row.items() if name != "_ROW_KIND"} for row in rows]

    def _add(self, state: State, rows: State) -> State:
        plain = [{name: value for name, value in row.items() if name != "_ROW_KIND"} for row in rows]
        if not self.engine.has_key:
            return state + plain
        by_key = {(row["part"], row["id"]): row for row in state}
        for row, kind in zip(plain, (row["_ROW_KIND"] for row in rows), strict=True):
            key = (row["part"], row["id"])
            merged = self.engine.merged(by_key.pop(key, None), row, kind)
            if merged is not None:
                by_key[key] = merged
        return list(by_key.values())

    # Steps

    def _append(self, table: Any, branch: str) -> None:
        rows = self._rows()
        table.append(self._given(rows))
        self.states[branch] = self._add(self.states[branch], rows)

    def _replace(self, table: Any, branch: str) -> None:
        how = self.rng.choice(("table", "dynamic", "partitions") if self.is_partitioned else ("table", "dynamic"))
        if how == "table":
            rows, kept = self._rows(), []
            table.overwrite(self._given(rows))
        elif how == "dynamic":
            rows = self._rows(PARTITIONS[:2])
            gone = {row["part"] for row in rows} if self.is_partitioned else set(PARTITIONS if rows else ())
            kept = [row for row in self.states[branch] if row["part"] not in gone]
            table.dynamic_partition_overwrite(self._given(rows))
        else:
            rows = self._rows(("y",))
            kept = [row for row in self.states[branch] if row["part"] != "y"]
            table.overwrite(self._given(rows), partitions=[{"part": "y"}])
        self.states[branch] = self._add(kept, rows)

    def _drop(self, table: Any, branch: str) -> None:
        if self.is_partitioned and self.rng.random() < 0.7:
            table.drop_partitions([{"part": "x"}, {"part": "nowhere"}])
            self.states[branch] = [row for row in self.states[branch] if row["part"] != "x"]
        else:
            table.truncate()
            self.states[branch] = []

    def _compact(self, table: Any, branch: str) -> None:
        del branch
        where = "part <> 'x'" if self.is_partitioned and self.rng.random() < 0.3 else True
        table.compact(full=self.rng.random() < 0.6, where=where)

    def _branch(self, table: Any, branch: str) -> None:
        del table, branch
        name = f"b{len(self.states)}"
        folder = self.folder / "branch" / f"branch-{name}" / "schema"
        folder.mkdir(parents=True)
        shutil.copy(self.folder / "schema" / "schema-0", folder)
        self.states[name] = []

    # Final checks

    def check_past(self) -> None:
        """Check all known snapshots, the totals of the latest ones, and that there are no orphan files."""
        table = self._opened()
        for (branch, snapshot_id), state in self.past.items():
            found = self._on(table, branch).scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
            assert lines(found) == lines(state), (branch, snapshot_id)
        known: set[str] = set()
        for branch in self.states:
            one: Any = self._on(table, branch)
            newest = one.current_snapshot()
            if newest is None:
                continue
            assert newest.total_record_count == sum(one.inspect.files()["record_count"].to_pylist())
            for snapshot in one.snapshots():
                paths = one.inspect.files(snapshot_id=snapshot.snapshot_id)["file_path"].to_pylist()
                known.update(path.rpartition("/")[2] for path in paths)
        there = {path.name for path in self.folder.rglob("data-*")}
        assert {name for name in there if not name.endswith(".index")} <= known


def lines(rows: State) -> list[str]:
    """Return rows in a canonical order, with their columns by name."""
    return sorted(str(sorted(row.items())) for row in rows)


@pytest.mark.parametrize(
    "seed", [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(HISTORIES)]
)
def test_random_histories_of_paimon_tables_give_the_rows_of_a_model(tmp_path: Path, seed: int) -> None:
    history = History(seed, tmp_path)
    for _ in range(STEPS):
        history.step()
    history.check_past()
