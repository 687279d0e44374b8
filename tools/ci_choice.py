"""Choose the test files that the changed files are likeliest to fail."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from check import ROOT, digests
from ci_report import failed_files

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 400
"""The time of the chosen files in one process."""

UNKNOWN_SECONDS = 5.0
CHANGED = 1000.0
FAILED = 500.0
IMPORTS = 100.0


def record(cache: Path) -> None:
    """Record the files whose tests passed."""
    (cache / "green.json").write_text(json.dumps(digests()), encoding="utf-8")


def likeliest(cache: Path) -> list[str]:
    """Return test files, the likeliest to fail first, which take at most `SECONDS`.

    A file is likely to fail if it changed since all tests passed, or failed in the last run. It is also likely if it
    mentions a changed module, or if its name has words of changed paths; rare words count more.
    """
    green = cache / "green.json"
    before = json.loads(green.read_text(encoding="utf-8")) if green.exists() else {}
    changed = {path for path, digest in digests().items() if before.get(path) != digest}
    tests = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.glob("tests/**/test_*.py"))}
    tests = {name: path for name, path in tests.items() if not name.startswith("tests/golden/")}
    frequency = Counter(word for name in tests for word in words(name))
    changed_words = {word for path in changed for word in words(path)}
    modules = {module for path in changed if (module := module_of(path))}
    failed = failed_files(cache / "reports")
    scores = {}
    for name, path in tests.items():
        mentioned = set(re.findall(r"frazil[\w.]*", path.read_text(encoding="utf-8")))
        scores[name] = (
            CHANGED * (name in changed)
            + FAILED * (name in failed)
            + IMPORTS * len(mentioned & modules)
            + sum(1 / frequency[word] for word in words(name) & changed_words)
        )
    seconds = json.loads((ROOT / "tests" / "support" / "weights.json").read_text(encoding="utf-8"))
    found, left = [], SECONDS
    for name in sorted(tests, key=lambda name: (-scores[name], name)):
        taken = seconds.get(name, UNKNOWN_SECONDS)
        if taken <= left:
            found.append(name)
            left -= taken
    return found


def words(path: str) -> set[str]:
    """Return the words of a path, in the singular."""
    return {word.removesuffix("s") for word in re.split(r"[^a-z0-9]+", path.lower()) if word} - {"test", "py", "rs"}


def module_of(path: str) -> str | None:
    """Return the name of a module of the package, or None for another file."""
    if not path.startswith("python/") or not path.endswith(".py"):
        return None
    return path.removeprefix("python/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
