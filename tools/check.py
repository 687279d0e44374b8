"""Check the changes since the last successful check: formatters, linters, types, unit tests and fast pytest tests.

`make check` runs this after building the extension. Cargo and Python run in parallel. The target directory stores
digests of the files that passed, so that a second run without edits has nothing to do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from ci_cache import files_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
GREEN = TARGET / "check.json"
CARGO = os.environ.get("CARGO", "cargo")
CRATES = {
    "rust/core": "frazil-core",
    "rust/iceberg": "frazil-iceberg",
    "rust/paimon": "frazil-paimon",
    "rust/storage": "frazil-storage",
    "rust/py": "frazil-py",
    "fuzz": "frazil-fuzz",
    "benches/rust": "frazil-benches",
}
WORKSPACE = ("Cargo.toml", "Cargo.lock", "clippy.toml", "rust/workspace-hack/")
WITHOUT_TESTS = ("frazil-py", "frazil-benches")
FAST = "not spark and not slow"


def main() -> int:
    """Run the steps that the changed files require; record the files if all steps pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default="2", help="number of pytest processes")
    parser.add_argument("--all", action="store_true", help="check everything, even if it passed before")
    arguments = parser.parse_args()
    start = time.monotonic()
    now = digests()
    green = {} if arguments.all or not GREEN.exists() else json.loads(GREEN.read_text(encoding="utf-8"))
    changed = sorted(path for path in now.keys() | green.keys() if now.get(path) != green.get(path))
    with ThreadPoolExecutor(2) as pool:
        passed = all(list(pool.map(run_steps, [rust_steps(changed), python_steps(changed, arguments.jobs)])))
    print(f"check: {'passed' if passed else 'FAILED'} in {time.monotonic() - start:.0f} s", flush=True)
    if passed:
        GREEN.write_text(json.dumps(now), encoding="utf-8")
    return int(not passed)


def digests() -> dict[str, str]:
    """Return the digest of each file that git would commit, by path."""
    return {path: hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in files_of(ROOT)}


def rust_steps(changed: Iterable[str]) -> list[list[str]]:
    """Return the commands for the changed crates, or for all crates if the workspace changed."""
    rust = [path for path in changed if path.endswith((".rs", ".toml", ".lock"))]
    whole = any(path.startswith(WORKSPACE) for path in rust)
    crates = [name for folder, name in CRATES.items() if whole or any(path.startswith(folder + "/") for path in rust)]
    if not crates:
        return []
    packages = [argument for name in crates for argument in ("--package", name)]
    tested = [argument for name in crates if name not in WITHOUT_TESTS for argument in ("--package", name)]
    steps = [
        [CARGO, "fmt", "--all", "--check"],
        [CARGO, "clippy", "--locked", "--quiet", *packages, "--all-targets", "--", "--deny", "warnings"],
    ]
    return [*steps, [CARGO, "test", "--locked", "--quiet", *tested, "--lib", "--bins"]] if tested else steps


def python_steps(changed: Iterable[str], jobs: str) -> list[list[str]]:
    """Return the commands for Python, which also test the extension; what takes seconds checks all files."""
    changed = list(changed)
    if not changed:
        return []
    python = [sys.executable, "-m"]
    steps = [
        [*python, "ruff", "check", "."],
        [*python, "ruff", "format", "--check", "."],
        [sys.executable, "tools/check_budgets.py"],
        [sys.executable, "tools/check_prose.py"],
        [sys.executable, "tools/document_stub.py", "--check"],
    ]
    if any(path.endswith((".py", ".pyi", ".toml")) for path in changed):
        steps += [[*python, "mypy", "python/frazil", "tools"]]
    stubtest = ["mypy.stubtest", "--mypy-config-file", "pyproject.toml", "frazil._native"]
    steps += [["env", "MYPYPATH=python", *python, *stubtest]]
    pytest = [*python, "pytest", "--quiet", "--numprocesses", jobs, "-m", FAST]
    steps += [[*pytest, "tests/architecture", "tests/unit", "tests/catalog", "tests/behavior"]]
    return [*steps, [*python, "pytest", "--quiet", "--doctest-modules", "--pyargs", "frazil"]]


def run_steps(steps: Iterable[list[str]]) -> bool:
    """Run commands until one fails; print the time of each, and the output of the failed one."""
    for step in steps:
        start = time.monotonic()
        done = subprocess.run(step, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        words = [Path(step[0]).name, *step[1:]]
        print(f"{time.monotonic() - start:5.1f} s  {' '.join(words)}", flush=True)
        if done.returncode:
            print(done.stdout, flush=True)
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
