"""One measurement in this process: `worker.py '{"engine": "frazil", "job": "list_files", ...}'` prints a line of JSON.

What it takes are the fields of `rows.Work` and the folder of the tables.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
# `engines.polars` and `polars` are different modules, since this folder's parent is not on the path.
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

from clock import Clock  # noqa: E402
from targets import Target, check  # noqa: E402

if TYPE_CHECKING:
    from types import ModuleType

WARM_ROWS = 1_000


def measure(engine: str, job: str, target: Target, repeats: int) -> dict[str, Any]:
    """Do a job and say what it took at least, what came out, and which versions did it."""
    module = importlib.import_module(f"engines.{engine}")
    if not hasattr(module, job):
        sys.exit(f"{engine} has no job {job}")
    warm_up(module, job, target)
    run = getattr(module, job)(target)
    best: dict[str, Any] = {}
    for _ in range(repeats):
        with Clock() as clock:
            result = run()
        figures = result if hasattr(module, "SAYS_FIGURES") else clock.figures()
        best = {
            name: (max if name == "rise_mib" else min)(value, best.get(name, value)) for name, value in figures.items()
        }
        checked = {} if hasattr(module, "SAYS_FIGURES") else check(result)
        del result
    return best | {"check": checked, "versions": versions(module)}


def warm_up(module: ModuleType, job: str, target: Target) -> None:
    """Load what an engine loads late, on a table of ten files or on few rows; limits need none."""
    if hasattr(module, "SAYS_FIGURES"):
        return
    if hasattr(module, "warm_up"):
        module.warm_up(target)
    elif not target.table:
        getattr(module, job)(Target(target.tables, rows=WARM_ROWS))()
    elif not target.is_paimon and hasattr(module, "filter_bounds"):
        module.filter_bounds(Target(target.tables, "W"))()


def versions(module: ModuleType) -> dict[str, str]:
    found = {}
    for package in module.PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "source"
    return found


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    on = Target(asked["tables"], asked["table"], asked["rows"], asked["workers"])
    print(json.dumps(measure(asked["engine"], asked["job"], on, asked["repeats"])), flush=True)
    # Some engines leave threads that would keep the process.
    os._exit(0)
