"""Runs the work of rows: every run a fresh process, engines in turn, results compared before a time counts."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rows import groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rows import Row, Work

WORKER = Path(__file__).resolve().parent / "worker.py"
# Engines that need neither an environment nor packages of their own run in that of the project.
OWN = ("frazil", "pyarrow", "limits", "spark_frazil", "spark_parquet", "spark_java")
LEAST_ROUNDS = {False: 2, True: 3}
# A group of rows makes no further round after this, a peer none after a run that took so long.
GROUP_SECONDS = {False: 15, True: 900}
SLOW_SECONDS = {False: 20, True: 60}


@dataclass
class Measured:
    """What was measured of one work: a dict for each round, or why there is none."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""

    @property
    def why(self) -> str:
        """Why there is no figure; empty if there is one."""
        return self.failure or ("" if self.runs else "not measured")


# What jobs that write must say, on tables of the full size. Where deletes are written no data file goes.
_DELETED = {"deleted": 1_000, "files_removed": 0}
_MERGED = {"updated": 90_000, "inserted": 10_000}
WRITTEN: dict[str, dict[str, float]] = {
    "delete_ids": _DELETED,
    "delete_joined": _DELETED,
    "find_ids": {"deleted": 1_000},
    "merge_on_read": _MERGED | {"files_removed": 0},
    "merge_on_write": _MERGED,
    "append_file": {"rows_added": 1, "files_added": 1},
    "append_merging": {"rows_added": 1, "files_added": 1},
    "append_paimon": {"rows": 5_000_000},
    "upsert_paimon": {"rows": 5_000_000},
    "compact_paimon": {"rows": 1_000_000},
    "append_paimon_row": {"rows": 1},
}

Results = dict["Work", Measured]


@dataclass
class Setting:
    """Where things are, and how long to measure."""

    tables: str
    peers: dict[str, str]  # the Python of each environment of peers
    rounds: int
    full: bool
    timeout_s: float

    @cached_property
    def index(self) -> dict[str, Any]:
        index: dict[str, Any] = json.loads((Path(self.tables) / "index.json").read_text())
        return index

    def python(self, engine: str) -> str:
        if engine in OWN:
            return sys.executable
        return self.peers["pypaimon"] if engine == "pypaimon" else self.peers["peers"]


def run(rows: list[Row], setting: Setting) -> Results:
    """Measure the rows, group by group; what an interrupt leaves out is `not measured`."""
    results: Results = {work: Measured() for row in rows for work in row.works(full=setting.full)}
    start = time.monotonic()
    try:
        for group in groups(rows, full=setting.full):
            _say(f"{', '.join(row.id for row in group)}")
            _run_group(group, results, setting)
    except KeyboardInterrupt:
        _say("interrupted: what was measured so far is reported")
    compare(results, setting)
    _say(f"{len(rows)} rows in {(time.monotonic() - start) / 60:.1f} minutes")
    return results


def _run_group(rows: Iterable[Row], results: Results, setting: Setting) -> None:
    works = list(dict.fromkeys(work for row in rows for work in row.works(full=setting.full)))
    start = time.monotonic()
    for turn in range(setting.rounds):
        if turn >= LEAST_ROUNDS[setting.full] and time.monotonic() - start > GROUP_SECONDS[setting.full]:
            break
        # Each round begins with another: the first of a round finds another machine than the last.
        first = turn % len(works)
        for work in works[first:] + works[:first]:
            measured = results[work]
            slow = work.engine not in OWN and any(once["wall_s"] > SLOW_SECONDS[setting.full] for once in measured.runs)
            if measured.failure or slow:
                continue
            measured_now = _run_once(work, setting)
            if isinstance(measured_now, str):
                measured.failure = measured_now
                _say(f"  {_name(work)}: {measured_now}")
            else:
                measured.runs.append(measured_now)
                _say(f"  {_name(work)}: {measured_now['cpu_s']:.4g} CPU s, +{measured_now['rise_mib']:.0f} MiB")


def _run_once(work: Work, setting: Setting) -> dict[str, Any] | str:
    """Give what one process measured, or why it did not."""
    if work.table and work.table not in setting.index:
        return f"no table {work.table} in {setting.tables}"
    task = json.dumps({"tables": setting.tables, **dataclasses.asdict(work)})
    command = [setting.python(work.engine), str(WORKER), task]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=setting.timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return f"took more than {setting.timeout_s:.0f} s"
    except OSError as error:
        return f"not installed: {error}"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"not installed: {last}" if "ModuleNotFoundError" in last else last[:300]
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def compare(results: Results, setting: Setting) -> None:
    """Take back the times of engines whose results differ from the index of the tables, or else from frazil's."""
    for work, measured in results.items():
        if not measured.runs:
            continue
        expected = expectations(work, setting.index)
        own = next((m for w, m in results.items() if w.engine == "frazil" and same_question(w, work) and m.runs), None)
        wanted = (own.runs[0]["check"] if own else {}) | expected
        found = [(name, value) for once in measured.runs for name, value in once["check"].items()]
        wrong = next(((name, value) for name, value in found if value != wanted.get(name, value)), None)
        if wrong:
            measured.failure = f"wrong result: {wrong[0]} is {wrong[1]}, not {wanted[wrong[0]]}"
            _say(f"  {_name(work)}: {measured.failure}")


def expectations(work: Work, index: dict[str, Any]) -> dict[str, float]:
    """Give what the index of the tables says that must come out."""
    record = index.get(work.table, {})
    if work.job in WRITTEN:
        return dict(WRITTEN[work.job])
    if work.job.startswith("filter"):
        return {"files": 0}
    listed = {"files": "files", "deletes": "position_pairs"}
    wanted = listed if work.job == "list_files" else {"rows": "expected_rows"}
    if work.engine in {"pyarrow", "spark_parquet"}:  # they delete nothing
        return {}
    return {name: record[key] for name, key in wanted.items() if record.get(key) is not None}


def same_question(one: Work, other: Work) -> bool:
    """Whether both must give the same. What is warm must give what is cold; a stream counts rows as a read does."""
    return (one.job, one.table, one.rows) == (other.job, other.table, other.rows)


def _name(work: Work) -> str:
    return " ".join(
        filter(None, (work.engine, work.job, work.table, f"({work.workers} threads)" if work.workers else ""))
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
