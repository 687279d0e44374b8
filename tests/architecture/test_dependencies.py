"""Tests of the direction of dependencies: which modules may import which, and what importing frazil costs."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PYTHON = Path(__file__).parents[2] / "python"
FORMATS = ("frazil.iceberg", "frazil.paimon")
# Code that opens a table, or creates it by a statement, chooses its format.
ABOVE_FORMATS = ("frazil._formats", "frazil._table", "frazil.catalog", "frazil.sql")
OUTERMOST = ("frazil.spark", "frazil.cli", "frazil.__main__", "pyspark_frazil")
DATA_FILES = "frazil.files"
# The members of the native module that are independent of formats.
SHARED_NATIVES = {"BatchReader", "Files", "Upload", "encode_variant", "int96_timestamps"}
INNERMOST = ("frazil.errors", "frazil.config", "frazil._secrets")
# Modules that are imported on demand, never with `import frazil`.
HEAVY = ("pyarrow", "pyspark", "pandas", "polars", "duckdb", "numpy", "click")


def module_name(path: Path) -> str:
    parts = path.relative_to(PYTHON).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that a file imports, at any depth; `from a import b` may mean the module a.b."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, packages: tuple[str, ...]) -> str | None:
    return next((p for p in packages if module == p or module.startswith(p + ".")), None)


def is_native(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "_native"


FILES = {module_name(path): path for path in sorted(PYTHON.rglob("*.py"))}


def test_there_are_modules_to_look_at() -> None:
    assert "frazil.errors" in FILES


def breaches(modules: Iterable[str], is_forbidden: Callable[[str], object]) -> list[str]:
    return [f"{module} imports {name}" for module in modules for name in imports(FILES[module]) if is_forbidden(name)]


@pytest.mark.parametrize("own", FORMATS)
def test_formats_never_import_each_other(own: str) -> None:
    modules = [module for module in FILES if within(module, (own,))]
    assert modules
    assert not breaches(modules, lambda name: within(name, FORMATS) not in (None, own))


def test_shared_modules_do_not_import_formats() -> None:
    # The package itself references the packages of the formats.
    above = (*FORMATS, *ABOVE_FORMATS, *OUTERMOST)
    modules = [module for module in FILES if module != "frazil" and not within(module, above)]
    assert "frazil.errors" in modules
    assert not breaches(modules, lambda name: within(name, FORMATS))


def test_data_files_belong_to_no_format() -> None:
    modules = {module: path for module, path in FILES.items() if within(module, (DATA_FILES,))}
    assert {f"{DATA_FILES}.{part}" for part in ("read.open", "rows.batches", "write.writer")} <= modules.keys()
    for module, path in modules.items():
        formats = {name for name in imports(path) if within(name, FORMATS)}
        natives = {node.attr for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_native(node)}
        assert not formats, module
        assert natives <= SHARED_NATIVES, module


SHARED_PYTHON = [path for module, path in FILES.items() if within(module, (DATA_FILES, "frazil._run"))]
SHARED_RUST = [
    path for path in sorted((PYTHON.parent / "rust" / "core" / "src").rglob("*.rs")) if not path.stem.endswith("tests")
]


def test_shared_code_names_no_format() -> None:
    found = []
    for path in (*SHARED_PYTHON, *SHARED_RUST):
        text = path.read_text(encoding="utf-8")
        # Comments are excluded because they cite specifications and libraries.
        code = rust_code(text) if path.suffix == ".rs" else ast.unparse(without_docstrings(ast.parse(text)))
        found += [f"{path}: {name}" for name in re.findall("iceberg|paimon", code, re.IGNORECASE)]
    assert SHARED_PYTHON
    assert SHARED_RUST
    assert not found


def test_a_format_in_code_is_found() -> None:
    assert "iceberg" in rust_code('fn f() -> &str { "iceberg" } // Paimon')
    assert "paimon" not in rust_code("// paimon\n#[cfg(test)]\nmod tests { paimon }").lower()
    assert "paimon" in ast.unparse(without_docstrings(ast.parse('"""Iceberg."""\nx = "paimon"')))


def rust_code(text: str) -> str:
    """Return the code of a file without comments and tests."""
    code = re.sub(r"//[^\n]*", "", text)
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", code)[0]


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove strings that are standalone statements."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [
                one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ] or [ast.Pass()]
    return tree


def test_spark_and_the_command_line_are_outermost() -> None:
    # The package itself references them, too; `test_importing_frazil_imports_no_heavy_library`.
    modules = [module for module in FILES if module != "frazil" and not within(module, OUTERMOST)]
    assert not breaches(modules, lambda name: within(name, OUTERMOST))


@pytest.mark.parametrize("module", INNERMOST)
def test_errors_and_settings_import_nothing_above_them(module: str) -> None:
    used = {name for name in imports(FILES[module]) if within(name, ("frazil",))}
    assert all(within(name, INNERMOST) for name in used)


@pytest.mark.parametrize("module", ["frazil", "frazil.iceberg", "frazil.paimon"])
def test_importing_frazil_imports_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own text
    assert run.stdout.split() == []
