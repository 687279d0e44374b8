"""The report of a run: the time of each step, the slowest test files, and all failures.

`python tools/ci_report.py` records the times of the test files of the last `.ci/run`. They distribute the files that
share a Spark session over processes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ci_cache import cache_folder

WEIGHTS = Path(__file__).resolve().parents[1] / "tests" / "support" / "weights.json"
SLOWEST = 40
TAIL_LINES = 60
FAILURE = re.compile(r"^(FAILED|ERROR) .*|^error(\[\w+\])?: .*|^test .* \.\.\. FAILED|^\S+:\d+:.*(error|:) .*")


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a step, with its times."""

    target: str
    group: str
    outcome: str
    wall_seconds: float
    cpu_seconds: float


def report(results: list[Result], reports: Path, wall_seconds: float) -> str:
    """Return the tables of a run."""
    lines = [f"\n{'step':<16} {'group':<8} {'wall':>7} {'CPU':>7}  outcome"]
    lines += [
        f"{r.target:<16} {r.group:<8} {r.wall_seconds:>5.0f} s {r.cpu_seconds:>5.0f} s  {r.outcome}" for r in results
    ]
    lines += [f"{'everything':<25} {wall_seconds:>5.0f} s {sum(r.cpu_seconds for r in results):>5.0f} s"]
    seconds, cases = file_times(reports)
    if seconds:
        lines += [f"\n{'the slowest test files':<60} {'cases':>6} {'wall':>7}"]
        lines += [f"{name:<60} {cases[name]:>6} {taken:>5.1f} s" for name, taken in slowest(seconds)[:SLOWEST]]
        lines += [f"{f'all {len(seconds)} test files':<60} {cases.total():>6} {sum(seconds.values()):>5.1f} s"]
    return "\n".join(lines) + "\n"


def file_times(reports: Path) -> tuple[dict[str, float], Counter[str]]:
    """Return the seconds and the number of cases of each test file, from the reports of pytest."""
    seconds: dict[str, float] = {}
    cases: Counter[str] = Counter()
    for path in reports.glob("*.xml"):
        for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314 - pytest wrote it
            name = case.get("file", "")
            seconds[name] = seconds.get(name, 0) + float(case.get("time", 0))
            cases[name] += 1
    return seconds, cases


def slowest(seconds: dict[str, float]) -> list[tuple[str, float]]:
    """Return the files with their seconds, the slowest first."""
    return sorted(seconds.items(), key=lambda item: -item[1])


def failed_files(reports: Path) -> set[str]:
    """Return the test files with a failed case in the reports of pytest."""
    return {
        case.get("file", "")
        for path in reports.glob("*.xml")
        for case in ElementTree.parse(path).iter("testcase")  # noqa: S314 - pytest wrote it
        if case.find("failure") is not None or case.find("error") is not None
    }


def tail(result: Result, logs: Path) -> str:
    """Return the last lines of the log of a step."""
    return "\n".join([f"\n### {result.target}: {result.outcome}", *log_lines(result, logs)[-TAIL_LINES:]])


def failures(result: Result, logs: Path) -> list[str]:
    """Return the lines in the log of a step that identify a failure."""
    return list(dict.fromkeys(f"    {line}" for line in log_lines(result, logs) if FAILURE.match(line)))


def log_lines(result: Result, logs: Path) -> list[str]:
    """Return the log of a step."""
    log = logs / f"{result.target}.log"
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []


def main() -> None:
    """Record the times of the test files of the last run in the cache."""
    seconds, _ = file_times(cache_folder(WEIGHTS.parents[2]) / "reports")
    rounded = {name: round(taken, 1) for name, taken in sorted(seconds.items()) if name.startswith("tests/")}
    WEIGHTS.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
