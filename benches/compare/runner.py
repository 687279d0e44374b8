"""Runs the work of rows: each run in a new process, engines in turn, results compared before times count."""

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
# Engines that need no additional packages run in the environment of the project.
OWN = ("frazil", "pyarrow", "limits", "spark_frazil", "spark_parquet", "spark_java")
LEAST_ROUNDS = {False: 2, True: 3}
# The time after which a group of rows starts no further round, and a peer is not repeated.
GROUP_SECONDS = {False: 15, True: 900}
SLOW_SECONDS = {False: 20, True: 60}


@dataclass
class Measured:
    """The measurements of one work: a dict for each round, or the reason why there are none."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""

    @property
    def why(self) -> str:
        """Return the reason why there is no figure, or an empty string."""
        return self.failure or ("" if self.runs else "not measured")


# The required results of jobs that write to tables of full size or to their own small tables. Merge-on-read deletes
# remove no data file.
_DELETED = {"deleted": 1_000, "files_removed": 0}
_MERGED = {"updated": 90_000, "inserted": 10_000}
WRITTEN: dict[str, dict[str, float]] = {
    "delete_ids": _DELETED,
    "delete_joined": _DELETED,
    "find_ids": {"deleted": 1_000},
    "merge_on_read": _MERGED | {"files_removed": 0},
    "merge_on_write": _MERGED,
    "sql_merge": _MERGED | {"files_removed": 0},
    # Small tables, after twice 40 statements.
    "sql_insert": {"rows": 80},
    "api_insert": {"rows": 80},
    "sql_query": {"rows": 1},
    "api_query": {"rows": 1},
    "sql_delete": {"rows": 99_200},
    "api_delete": {"rows": 99_200},
    "append_file": {"rows_added": 1, "files_added": 1},
    "append_merging": {"rows_added": 1, "files_added": 1},
    "append_paimon": {"rows": 5_000_000},
    "upsert_paimon": {"rows": 5_000_000},
    "compact_paimon": {"rows": 1_000_000},
    "append_paimon_row": {"rows": 1},
    "update_paimon": {"updated": 1_000},
    "expire_paimon": {"snapshots": 999},
    "find_orphans": {"files": 100},
    "log_paimon": {"rows": 100_000},
    "mark_paimon": {"rows": 1_000_000},
    "assign_paimon": {"rows": 10_000_000},
}

Results = dict["Work", Measured]


@dataclass
class Setting:
    """The locations of inputs, and the limits of measuring."""

    tables: str
    peers: dict[str, str]  # the Python interpreter of each peer environment
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
    """Measure the rows, group by group; after an interrupt, the rest is `not measured`."""
    results: Results = {work: Measured() for row in rows for work in row.works(full=setting.full)}
    start = time.monotonic()
    try:
        for group in groups(rows, full=setting.full):
            _say(f"{', '.join(row.id for row in group)}")
            _run_group(group, results, setting)
    except KeyboardInterrupt:
        _say("interrupted: reporting the measurements so far")
    compare(results, setting)
    _say(f"{len(rows)} rows in {(time.monotonic() - start) / 60:.1f} minutes")
    return results


def _run_group(rows: Iterable[Row], results: Results, setting: Setting) -> None:
    works = list(dict.fromkeys(work for row in rows for work in row.works(full=setting.full)))
    start = time.monotonic()
    for turn in range(setting.rounds):
        if turn >= LEAST_ROUNDS[setting.full] and time.monotonic() - start > GROUP_SECONDS[setting.full]:
            break
        # Each round begins with a different engine, because the first one runs on a different state of the machine.
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
    """Return the measurement of one process, or the reason why it failed."""
    if work.table and work.table not in setting.index:
        return f"{setting.tables} has no table {work.table}"
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
    """Discard times of engines whose results differ from the index of the tables, or else from frazil's."""
    for work, measured in results.items():
        if not measured.runs:
            continue
        expected = expectations(work, setting.index)
        own = next((m for w, m in results.items() if w.engine == "frazil" and same_question(w, work) and m.runs), None)
        wanted = (own.runs[0]["check"] if own else {}) | expected
        found = [(name, value) for once in measured.runs for name, value in once["check"].items()]
        wrong = next(((name, value) for name, value in found if value != wanted.get(name, value)), None)
        if wrong:
            measured.failure = f"incorrect result: {wrong[0]} is {wrong[1]}, not {wanted[wrong[0]]}"
            _say(f"  {_name(work)}: {measured.failure}")


def expectations(work: Work, index: dict[str, Any]) -> dict[str, float]:
    """Return the expected results in the index of the tables."""
    record = index.get(work.table, {})
    if work.job in WRITTEN:
        return dict(WRITTEN[work.job])
    if work.job.startswith("filter"):
        return {"files": 0}
    listed = {"files": "files", "deletes": "position_pairs"}
    wanted = listed if work.job == "list_files" else {"rows": "expected_rows"}
    if work.engine in {"pyarrow", "spark_parquet"}:  # these engines delete nothing
        return {}
    return {name: record[key] for name, key in wanted.items() if record.get(key) is not None}


def same_question(one: Work, other: Work) -> bool:
    """Return whether both works have the same result: warm and cold runs do, and streams count rows like reads."""
    return (one.job, one.table, one.rows) == (other.job, other.table, other.rows)


def _name(work: Work) -> str:
    return " ".join(
        filter(None, (work.engine, work.job, work.table, f"({work.workers} threads)" if work.workers else ""))
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
