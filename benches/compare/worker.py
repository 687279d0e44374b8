"""One measurement in this process: `worker.py '{"engine": "frazil", "job": "list_files", ...}'` prints a line of JSON.

The argument has the fields of `rows.Work` and the folder of the tables.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
# `engines.polars` and `polars` are distinct modules, because this folder's parent is not on the path.
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

from clock import Clock  # noqa: E402
from targets import Target, check  # noqa: E402

if TYPE_CHECKING:
    from types import ModuleType

WARM_ROWS = 1_000


def measure(engine: str, job: str, target: Target, repeats: int) -> dict[str, Any]:
    """Run a job; return its minimum figures, its result, and the versions of the packages."""
    module = importlib.import_module(f"engines.{engine}")
    if not hasattr(module, job):
        sys.exit(f"{engine} has no job {job}")
    warm_up(module, job, target)
    run = getattr(module, job)(target)
    says_figures = hasattr(module, "SAYS_FIGURES")
    # Repeated work runs back to back, like its limit: reading the clock in between would cool the caches.
    passes = []
    with Clock() as clock:
        for _ in range(repeats):
            start = time.perf_counter(), time.process_time()
            result = run()
            passes.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    figures = result if says_figures else clock.figures()
    if repeats > 1 and not says_figures:
        figures |= {"wall_s": min(wall for wall, _ in passes), "cpu_s": min(cpu for _, cpu in passes)}
    return figures | {"check": {} if says_figures else check(result), "versions": versions(module)}


def warm_up(module: ModuleType, job: str, target: Target) -> None:
    """Load lazily imported code of an engine, on a table of ten files or a few rows; limits need no warm-up."""
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
    # Some engines leave threads that would keep the process alive.
    os._exit(0)
