"""Run the checks, the tests and the demonstration as a graph of steps that keeps every core busy.

`.ci/run` runs all steps in a copy of the checkout, `make test` those of the tests in the checkout itself. A step runs
when the steps that it needs have passed and cores are free; a failed step stops only the steps that need it. At the end
all failures are listed, with the time of each step and of the slowest test files. The likeliest failures run first.

`tools/ci.py lint` runs a group of steps, and `tools/ci.py fuzz` a single step, each with what it needs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import ci_cache
import ci_choice
import ci_report
from ci_processes import Processes

ROOT = Path(__file__).resolve().parent.parent
HEARTBEAT_SECONDS = 60
FAST_SECONDS = 600
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Step:
    """A target of the Makefile.

    `cores` is the number of cores that it keeps busy: a step with as many as there are runs with one more step, and one
    with `ALL` runs alone. One step with `compiles` runs at a time, because they would wait for each other in cargo.
    `fast` steps also run with `--fast`.
    """

    target: str
    group: str
    needs: tuple[str, ...] = ()
    cores: int = 1
    compiles: bool = False
    fast: bool = False


ALL = 1 << 16
CORES = max(2, os.cpu_count() or 2)

# In the order in which they start: first what fails most often and is quick, then the longest.
STEPS = (
    Step("tools", "set-up", fast=True),
    Step("build-extension", "compile", cores=CORES, compiles=True, fast=True),
    Step("lint-style", "lint", ("tools",), fast=True),
    Step("lint-stub", "lint", ("tools", "build-extension"), fast=True),
    Step("test-early", "test", ("tools", "build-extension"), fast=True),
    Step("test-rest", "test", ("tools", "build-extension"), cores=CORES, fast=True),
    Step("lint-types", "lint", ("tools",), fast=True),
    Step("lint-rust", "lint", ("build-extension",), compiles=True, fast=True),
    Step("build-tests", "compile", ("build-extension",), compiles=True),
    Step("test-rust", "test", ("build-tests",), compiles=True),
    Step("fuzz", "test", ("build-tests",), compiles=True),
    Step("test-docstrings", "test", ("tools", "build-extension")),
    Step("test-oldest", "test", ("tools", "build-extension")),
    Step("test-spark", "test", ("tools", "build-extension")),
    Step("demo", "demo", ("tools", "build-extension"), compiles=True),
    Step("test-alone", "test", ("tools", "build-extension"), cores=ALL),
)


def main() -> int:
    """Run the chosen steps; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help="steps or groups of steps; all by default")
    parser.add_argument("--copy", action="store_true", help="run in a copy of the checkout in the cache folder")
    parser.add_argument(
        "--fast",
        action="store_true",
        default=os.environ.get("FAST") == "1",
        help=f"stop after {FAST_SECONDS // 60} minutes; run the tests that the changed files are likeliest to fail",
    )
    arguments = parser.parse_args()
    start = time.monotonic()
    # A run that is stopped ends its steps, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    known = {step.target for step in STEPS} | {step.group for step in STEPS}
    if unknown := [name for name in arguments.steps if name not in known]:
        parser.error(f"unknown step {unknown[0]}; known are {', '.join(sorted(known))}")
    if arguments.copy:
        cache = ci_cache.cache_folder(ROOT)
        with ci_cache.locked(cache):
            copy, warm = ci_cache.copy_checkout(ROOT, cache)
            print(f"testing {copy}, with {'the builds of an earlier run' if warm else 'an empty cache'}", flush=True)
            os.environ.setdefault("FRAZIL_SHARED", str(ROOT.parent / "shared"))
            # Builds belong to the copy.
            os.environ.pop("CARGO_TARGET_DIR", None)
            return run(copy, cache, chosen(arguments.steps, fast=arguments.fast), start, fast=arguments.fast)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return run(ROOT, target / "ci", chosen(arguments.steps, fast=arguments.fast), start, fast=arguments.fast)


def chosen(names: list[str], *, fast: bool) -> list[Step]:
    """Return the steps with these names or in these groups, and those that they need."""
    steps = [step for step in STEPS if (not names or {step.target, step.group} & {*names}) and (step.fast or not fast)]
    wanted = {name for step in steps for name in (step.target, *step.needs)}
    wanted |= {name for step in STEPS if step.target in wanted for name in step.needs}
    return [step for step in STEPS if step.target in wanted]


def run(checkout: Path, cache: Path, steps: list[Step], start: float, *, fast: bool) -> int:
    """Run steps in a checkout; print a report and store it in the cache."""
    reports = cache / "reports"
    logs = cache / "logs"
    files = ci_choice.likeliest(cache) if fast else []
    for folder in (reports, logs):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    environment = {**os.environ, "FRAZIL_REPORTS": str(reports)}
    environment.setdefault("FRAZIL_SEED", str(int(time.time()) // DAY_SECONDS))
    print(f"FRAZIL_SEED={environment['FRAZIL_SEED']} chooses the samples; set it to repeat this run", flush=True)
    if fast:
        environment["FILES"] = " ".join(files)
        print(f"fast: {len(files)} test files, the likeliest to fail: {environment['FILES']}", flush=True)
    graph = Graph(steps, checkout, logs, environment)
    try:
        results = graph.run(start + FAST_SECONDS if fast else None)
    finally:
        graph.processes.kill()
    failed = [result for result in results if result.outcome != "passed"]
    if not failed and not fast:
        ci_choice.record(cache)
    report = ci_report.report(results, reports, time.monotonic() - start)
    (cache / "report.txt").write_text(report, encoding="utf-8")
    print(report)
    for result in failed:
        print(ci_report.tail(result, logs))
    if failed:
        print(f"\n### {len(failed)} of {len(results)} steps failed")
    for result in failed:
        print("\n".join([f"{result.target}: {result.outcome}", *ci_report.failures(result, logs)]), flush=True)
    return bool(failed)


class Graph:
    """Steps that are waiting, running and finished."""

    def __init__(self, steps: list[Step], checkout: Path, logs: Path, environment: dict[str, str]) -> None:
        self.processes = Processes()
        self._waiting = list(steps)
        self._running: dict[int, tuple[Step, float]] = {}
        self._results: dict[str, ci_report.Result] = {}
        self._checkout = checkout
        self._logs = logs
        self._environment = environment

    def run(self, deadline: float | None) -> list[ci_report.Result]:
        """Run the steps until all have finished or the time is up; return their results in the order of the graph."""
        order = [step.target for step in self._waiting]
        shown = time.monotonic()
        while self._waiting or self._running:
            self._skip()
            while (step := self._next()) is not None:
                self._start(step)
            for pid, status, cpu_seconds in self.processes.finished(0.1):
                step, start = self._running.pop(pid)
                self._finish(step, "passed" if status == 0 else "FAILED", time.monotonic() - start, cpu_seconds)
            if deadline is not None and time.monotonic() > deadline:
                self._stop()
            if time.monotonic() - shown > HEARTBEAT_SECONDS:
                shown = time.monotonic()
                self._show_running()
        return [self._results[name] for name in order]

    def _skip(self) -> None:
        for step in list(self._waiting):
            failed = [name for name in step.needs if name in self._results and self._results[name].outcome != "passed"]
            if failed:
                self._waiting.remove(step)
                self._finish(step, f"not run, because {failed[0]} did not pass", 0, 0)

    def _next(self) -> Step | None:
        unfinished = {step.target for step in self._waiting} | {step.target for step, _ in self._running.values()}
        running = [step for step, _ in self._running.values()]
        free = CORES + 1 - sum(step.cores for step in running)
        is_compiling = any(step.compiles for step in running)
        for step in self._waiting:
            if not {*step.needs} & unfinished and not (step.compiles and is_compiling):
                # If a step is too large, the following ones wait, too: they would delay it again and again.
                return step if step.cores <= free or not running else None
        return None

    def _start(self, step: Step) -> None:
        self._waiting.remove(step)
        # Steps that need the extension do not build it again, which would wait for other steps that compile.
        environment = self._environment | ({"FRAZIL_BUILT": "1"} if "build-extension" in step.needs else {})
        pid = self.processes.start(
            ["make", "--no-print-directory", "--keep-going", step.target],
            self._checkout,
            environment,
            self._log(step),
        )
        self._running[pid] = (step, time.monotonic())

    def _finish(self, step: Step, outcome: str, wall_seconds: float, cpu_seconds: float) -> None:
        self._results[step.target] = ci_report.Result(step.target, step.group, outcome, wall_seconds, cpu_seconds)
        print(f"{step.target}: {outcome}" + (f" in {wall_seconds:.0f} s" if wall_seconds else ""), flush=True)

    def _stop(self) -> None:
        """End a run whose time is up; a step that is running is not a failure."""
        for pid, (step, start) in list(self._running.items()):
            self.processes.kill(pid)
            del self._running[pid]
            self._finish(step, "passed", time.monotonic() - start, 0)
            print(f"{step.target}: stopped, because the time is up")
        for step in self._waiting:
            self._finish(step, "passed", 0, 0)
        self._waiting.clear()

    def _show_running(self) -> None:
        for step, start in self._running.values():
            lines = self._log(step).read_text(encoding="utf-8", errors="replace").splitlines() or [""]
            print(f"... {step.target} for {time.monotonic() - start:.0f} s: {lines[-1][-100:]}", flush=True)

    def _log(self, step: Step) -> Path:
        return self._logs / f"{step.target}.log"


if __name__ == "__main__":
    sys.exit(main())
