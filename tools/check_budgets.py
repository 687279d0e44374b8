"""Check the budgets of this repository: sizes of files and of the wheel, a single Arrow version, no aborts.

Clippy and ruff check functions and lines; this script checks what they cannot. It prints every violation and exits with
1.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from ci_cache import files_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
WHEELS = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "wheels"
FILE_CODE_LINES = 600
WHEEL_BYTES = 25 * 1000 * 1000
GOLDEN_BYTES = 10 * 1000 * 1000
FILE_BYTES = 200 * 1000
# Files by other engines, with which results are compared.
RECORDED = re.compile(r"tests/golden/|rust/\w+/testdata/")
README_LINES = 120
# Clippy rejects unwrap, expect, panic and indexing; these are the remaining ways to end a process.
ABORTS = re.compile(
    r"\b(todo|unimplemented|unreachable|dbg)!\s*[(\[{]|process::(exit|abort)|(?<!debug_)\bassert(_eq|_ne)?!"
)
RUST_COMMENT = re.compile(r"^\s*//")
TYPE = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (?P<name>\w+)", re.MULTILINE)
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*(?:pub\S* )?mod \w+ \{", re.MULTILINE)


def main() -> int:
    """Run every check."""
    found = [*long_files(), *aborts(), *repeated_types(), *arrow_versions(), *unused_dependencies()]
    found += [*wheel_size(), *golden_size(), *large_files(), *readme_length()]
    for violation in found:
        print(f"error: {violation}")
    print(f"budgets: {len(found)} violations" if found else "budgets: all met")
    return bool(found)


def rust_sources() -> Iterator[tuple[Path, str]]:
    """Yield every shipped Rust file without its test module."""
    for path in sorted(ROOT.glob("rust/*/src/**/*.rs")):
        if not path.stem.endswith("tests") and "tests" not in path.relative_to(ROOT).parts:
            yield path.relative_to(ROOT), TEST_MODULE.split(path.read_text(encoding="utf-8"))[0]


def python_sources() -> Iterator[tuple[Path, str]]:
    """Yield every shipped Python file."""
    for path in sorted(ROOT.glob("python/**/*.py")):
        yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def long_files() -> Iterator[str]:
    """Yield files that are too long: a file should have a single subject, and longer ones should be split."""
    for path, text in [*rust_sources(), *python_sources()]:
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("//", "#"))]
        if len(lines) > FILE_CODE_LINES:
            yield f"{path} has {len(lines)} lines of code, but {FILE_CODE_LINES} are allowed"


def aborts() -> Iterator[str]:
    """Yield code that may abort: no input may end the process."""
    for path, text in rust_sources():
        for number, line in enumerate(text.splitlines(), start=1):
            if ABORTS.search(line) and not RUST_COMMENT.match(line):
                yield f"{path}:{number} can abort: {line.strip()}"


def repeated_types() -> Iterator[str]:
    """The name of a type identifies it within its crate."""
    places: dict[tuple[str, str], list[str]] = {}
    for path, text in rust_sources():
        for match in TYPE.finditer(text) if path.stem != "testing" else ():
            places.setdefault((path.parts[1], match["name"]), []).append(str(path))
    for (crate, name), paths in places.items():
        if len(paths) > 1:
            yield f"{crate} has {len(paths)} types named {name}: {', '.join(paths)}"


def arrow_versions() -> Iterator[str]:
    """Yield multiple major versions of arrow-rs, which have incompatible arrays and take megabytes."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    versions: dict[str, set[str]] = {}
    for package in lock["package"]:
        if package["name"] == "arrow" or re.fullmatch(r"arrow-[a-z]+", package["name"]):
            versions.setdefault(package["version"].split(".")[0], set()).add(package["name"])
    if len(versions) > 1:
        names = "; ".join(f"{major}: {', '.join(sorted(packages))}" for major, packages in sorted(versions.items()))
        yield f"the build contains {len(versions)} major versions of arrow-rs: {names}"


def unused_dependencies() -> Iterator[str]:
    """A dependency that no source references only lengthens the build. The workspace hack only unifies features."""
    for manifest in sorted(set(ROOT.glob("rust/*/Cargo.toml")) - {ROOT / "rust/workspace-hack/Cargo.toml"}):
        dependencies = set(tomllib.loads(manifest.read_text(encoding="utf-8")).get("dependencies", ()))
        sources = "\n".join(path.read_text(encoding="utf-8") for path in manifest.parent.glob("src/**/*.rs"))
        for name in sorted(dependencies):
            if not name.endswith("-workspace-hack") and not re.search(rf"\b{name.replace('-', '_')}\b", sources):
                yield f"{manifest.relative_to(ROOT)} has the dependency {name}, which is not used"


def wheel_size() -> Iterator[str]:
    """Yield a wheel that is too large, because every Spark worker downloads it."""
    for wheel in sorted(WHEELS.glob("*.whl")):
        size = wheel.stat().st_size
        print(f"wheel: {size / 1e6:.1f} MB of {WHEEL_BYTES / 1e6:.0f}")
        if size > WHEEL_BYTES:
            yield f"{wheel.name} has {size} bytes, but {WHEEL_BYTES} are allowed"


def golden_size() -> Iterator[str]:
    """Yield golden tables that are too large, because every clone of the repository contains them."""
    size = sum(path.stat().st_size for path in (ROOT / "tests" / "golden").rglob("*") if path.is_file())
    if size > GOLDEN_BYTES:
        yield f"tests/golden has {size} bytes, but {GOLDEN_BYTES} are allowed"


def large_files() -> Iterator[str]:
    """Yield large files and wheels, which stay in every clone of the repository for ever."""
    for name in sorted(files_of(ROOT)):
        size = (ROOT / name).stat().st_size
        if name.endswith(".whl"):
            yield f"{name} is a wheel; install it from a registry"
        elif size > FILE_BYTES and not RECORDED.match(name):
            yield f"{name} has {size} bytes, but {FILE_BYTES} are allowed outside tests/golden and testdata"


def readme_length() -> Iterator[str]:
    """Yield a README.md that is longer than two screens."""
    lines = len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > README_LINES:
        yield f"README.md has {lines} lines, but {README_LINES} are allowed"


if __name__ == "__main__":
    sys.exit(main())
