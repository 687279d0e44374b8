"""Tests of the tools of `.ci/run`: the copy, the graph of steps, the samples and the choice of test files."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.sizes import SIZES

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import ci  # noqa: E402
import ci_cache  # noqa: E402
import ci_choice  # noqa: E402
import ci_report  # noqa: E402


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)  # noqa: S603, S607
    (folder / ".gitignore").write_text("/target\n")
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").write_text("old")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    return folder


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in ci_cache.walk(folder)}


def test_the_copy_has_the_files_of_the_checkout_and_keeps_its_builds(checkout: Path, tmp_path: Path) -> None:
    copy, warm = ci_cache.copy_checkout(checkout, tmp_path / "cache")
    assert not warm
    assert files(copy) == {".gitignore": "/target\n", "src/lib.rs": "old", "run": "#!/bin/sh\n"}
    assert os.access(copy / "run", os.X_OK)
    for build in ("target/debug/build", ".venv/bin/python", "python/frazil/_native.abi3.so"):
        (copy / build).parent.mkdir(parents=True, exist_ok=True)
        (copy / build).write_text("built")
    (copy / "src" / "old").mkdir()
    (copy / "src" / "old" / "mod.rs").write_text("removed")
    (checkout / "run").unlink()
    copy, warm = ci_cache.copy_checkout(checkout, tmp_path / "cache")
    assert warm
    assert files(copy) == {".gitignore": "/target\n", "src/lib.rs": "old"}
    assert not (copy / "src" / "old").exists()
    assert (copy / "python" / "frazil" / "_native.abi3.so").exists()


def test_a_changed_file_is_newer_than_the_build_even_if_the_clone_is_older(checkout: Path, tmp_path: Path) -> None:
    copy, _ = ci_cache.copy_checkout(checkout, tmp_path / "cache")
    same, changed = copy / "run", copy / "src" / "lib.rs"
    before = same.stat().st_mtime_ns
    built = time.time_ns()
    (checkout / "src" / "lib.rs").write_text("new")
    for path in (checkout / "run", checkout / "src" / "lib.rs"):
        os.utime(path, (1, 1))
    ci_cache.copy_checkout(checkout, tmp_path / "cache")
    assert changed.read_text() == "new"
    assert changed.stat().st_mtime_ns >= built - 20_000_000  # the clock of files ticks slowly
    assert same.stat().st_mtime_ns == before


def test_environments_of_another_interpreter_are_removed(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, _ = ci_cache.copy_checkout(checkout, tmp_path / "cache")
    for build in (".venv/bin/python", "target/oldest-venv/bin/python", "target/debug/build"):
        (copy / build).parent.mkdir(parents=True)
        (copy / build).write_text("built")
    monkeypatch.setattr("platform.python_version", lambda: "3.99")
    copy, warm = ci_cache.copy_checkout(checkout, tmp_path / "cache")
    assert not warm
    assert (copy / "target" / "debug" / "build").exists()
    assert not (copy / "target" / "oldest-venv").exists()


def test_the_cache_can_be_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FRAZIL_CI_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert ci_cache.cache_folder(ROOT) == Path("/x/frazil/ci")
    monkeypatch.setenv("FRAZIL_CI_CACHE", str(tmp_path))
    assert ci_cache.cache_folder(ROOT) == tmp_path


@pytest.fixture(scope="module")
def conftest() -> Any:
    spec = importlib.util.spec_from_file_location("conftest_of_tests", ROOT / "tests" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKEFILE = """
first: ; @echo first
broken: ; @echo 'FAILED tests/test_x.py::test_y'; exit 1
after: ; @echo after
busy: ; @python3 -c 'sum(range(20_000_000))' & wait
"""


RUN = """
import dataclasses, json, os, pathlib, sys
import ci
steps = [ci.Step(**step) for step in json.loads(sys.argv[1])]
results = ci.Graph(steps, pathlib.Path(), pathlib.Path(), dict(os.environ)).run(None)
pathlib.Path("results.json").write_text(json.dumps([dataclasses.asdict(result) for result in results]))
"""


@pytest.fixture
def run_steps(tmp_path: Path) -> Callable[..., list[ci_report.Result]]:
    (tmp_path / "Makefile").write_text(MAKEFILE)

    def run(*steps: ci.Step) -> list[ci_report.Result]:
        # In another process, because a run waits for all processes that its own process started.
        command = [sys.executable, "-c", RUN, json.dumps([dataclasses.asdict(step) for step in steps])]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)  # noqa: S603
        results = json.loads((tmp_path / "results.json").read_text())
        return [ci_report.Result(**result) for result in results]

    return run


def test_a_failed_step_stops_only_the_steps_that_need_it(
    run_steps: Callable[..., list[ci_report.Result]], tmp_path: Path
) -> None:
    results = run_steps(ci.Step("broken", "x"), ci.Step("after", "x", ("broken",)), ci.Step("first", "x", cores=ci.ALL))
    assert [result.outcome for result in results] == ["FAILED", "not run, because broken did not pass", "passed"]
    assert ci_report.failures(results[0], tmp_path) == ["    FAILED tests/test_x.py::test_y"]
    assert "FAILED tests/test_x.py::test_y" in ci_report.tail(results[0], tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the time of orphans")
def test_the_processor_time_of_what_a_step_started_is_counted(run_steps: Callable[..., list[ci_report.Result]]) -> None:
    (result,) = run_steps(ci.Step("busy", "x"))
    assert result.outcome == "passed"
    assert result.cpu_seconds > 0.1


def test_the_steps_have_targets_and_earlier_needs() -> None:
    known: set[str] = set()
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for step in ci.STEPS:
        assert f"\n{step.target}:" in targets
        assert {*step.needs} <= known
        known.add(step.target)
    names = [step.target for step in ci.chosen(["fuzz"], fast=False)]
    assert names == ["build-extension", "build-tests", "fuzz"]


@pytest.mark.parametrize(("cases", "count"), [(500, 120), (60, 1), (7, 7), (100, 3), (3, 5)])
def test_each_case_of_a_sample_runs_within_a_month(conftest: Any, cases: int, count: int) -> None:
    days = [conftest.sample("a test", list(range(cases)), count, seed) for seed in range(20_786, 20_816)]
    assert {case for day in days for case in day} == set(range(cases))
    assert all(len({*day}) == len(day) <= max(count, -(-cases // 30)) for day in days)
    assert conftest.sample("a test", list(range(cases)), count, 20_786) == days[0]


def test_the_files_of_one_session_are_distributed_by_their_times(
    conftest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    monkeypatch.setattr(conftest, "file_weights", lambda: {"tests/spark/test_sql.py": 1e6})
    groups = conftest.spark_groups.__wrapped__()
    assert [stem for stem, number in groups.items() if number == groups["test_sql"]] == ["test_sql"]


def test_changed_and_failed_files_are_chosen_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digests = ci_choice.digests()
    monkeypatch.setattr(ci_choice, "digests", lambda: digests)
    ci_choice.record(tmp_path)
    changed = {"tests/unit/test_thrift.py": "1", "python/frazil/paimon/_lookup.py": "1"}
    monkeypatch.setattr(ci_choice, "digests", lambda: digests | changed)
    (tmp_path / "reports").mkdir()
    report = '<testsuite><testcase file="tests/unit/test_cache.py" time="1"><failure/></testcase></testsuite>'
    (tmp_path / "reports" / "x.xml").write_text(report)
    found = ci_choice.likeliest(tmp_path)
    assert found[:2] == ["tests/unit/test_thrift.py", "tests/unit/test_cache.py"]
    assert "tests/behavior/test_paimon_lookup.py" in found[:4]


def test_the_sizes_of_tests_are_in_one_table() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [f"  | `{name}` | {size.default} | {size.sets} |" for name, size in SIZES.items()]
    assert "\n".join(rows) in page
