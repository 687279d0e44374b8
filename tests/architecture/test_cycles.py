"""Tests that there are no import cycles.

In Python, every import of a module counts, including those inside functions and for type checking. In Rust, the
top-level modules of a crate count, without code that is compiled only for tests.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "python"
RUST = ROOT / "rust"

CRATES = ("core", "iceberg", "paimon", "py", "storage")


def cycles(edges: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Return the strongly connected components of more than one node (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            component = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(component)

    for node in edges:
        if node not in order:
            visit(node)
    return found


def python_imports() -> dict[str, set[str]]:
    """Return the modules of the package that each of its modules imports."""
    files = {}
    for path in [*PYTHON.rglob("*.py"), *PYTHON.rglob("*.pyi")]:
        parts = path.relative_to(PYTHON).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    edges = {}
    for module, path in files.items():
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= {member if member in files else node.module for member in members}
        edges[module] = (names & files.keys()) - {module}
    return edges


TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub\S* )?mod \w+ \{", re.MULTILINE)
CRATE_PATH = re.compile(r"\bcrate::(?:\{([^;]*)\}|(\w+))")


def rust_imports(crate: str) -> dict[str, set[str]]:
    """Return the top-level modules that each top-level module of a crate references."""
    source = RUST / crate / "src"
    edges: dict[str, set[str]] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0] == "lib" or any(part == "tests" or part.endswith("_tests") for part in parts):
            continue
        text = TEST_MODULE.split(path.read_text(encoding="utf-8"))[0]
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
        for group, name in CRATE_PATH.findall(code):
            names = set(re.findall(r"(?:^|,)\s*(\w+)", group)) if group else {name}
            edges.setdefault(parts[0], set()).update(names)
    return {module: (names & edges.keys()) - {module} for module, names in edges.items()}


def test_a_cycle_is_found() -> None:
    assert cycles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}) == [{"a", "b", "c"}]
    assert cycles({"a": ["b", "c"], "b": ["c"], "c": []}) == []


def test_python_modules_have_no_cycles() -> None:
    found = cycles(python_imports())
    assert not found


@pytest.mark.parametrize("crate", CRATES)
def test_modules_of_a_crate_have_no_cycles(crate: str) -> None:
    found = cycles(rust_imports(crate))
    assert not found
