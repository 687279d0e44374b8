"""Tests that run the code of README.md and of docs/ unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.spark_settings import use_this_python

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDERS = {
    "path/to/iceberg/table": "iceberg/pevo_v2_three_specs",
    "path/to/paimon/table": "paimon/g.db/cl_lookup_avro",
}
"""The placeholders for tables of the reader."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Yield every Python block with the line number of its first line of code."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def uses_spark(page: Path) -> bool:
    return any("pyspark" in code for _, code in blocks(page))


def parameters() -> list[object]:
    return [
        pytest.param(page, id=page.name, marks=[pytest.mark.spark] if uses_spark(page) else [])
        for page in PAGES
        if any(blocks(page))
    ]


def test_the_readme_shows_python() -> None:
    assert any(blocks(ROOT / "README.md"))


def test_the_readme_reads_no_file_of_the_repository() -> None:
    """It is the long description of the wheel, which does not include the tests."""
    assert not [line for line, code in blocks(ROOT / "README.md") if "tests/" in code]


@pytest.mark.parametrize("page", parameters())
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Blocks reference tables relative to the repository; their output is written elsewhere.
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    environment = dict(os.environ)
    use_this_python(environment)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks(page):
        # Absolute paths are needed, because Spark resolves relative ones in the folder where it was started.
        for placeholder, table in PLACEHOLDERS.items():
            code = code.replace(placeholder, str(ROOT / "tests" / "golden" / table))  # noqa: PLW2901 - the same block
        padded = "\n" * (line - 1) + code
        exec(compile(padded, str(page), "exec"), namespace)  # noqa: S102 - the project's own pages


EXTRAS = ("duckdb", "pandas", "polars", "pyspark", "rich", "sqlalchemy", "yaml")

WITHOUT_EXTRAS = f"""
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import frazil
"""


def test_the_write_example_needs_no_extra(tmp_path: Path) -> None:
    [example] = [code for _, code in blocks(ROOT / "README.md") if 'load_catalog("local"' in code]
    (tmp_path / "example.py").write_text(WITHOUT_EXTRAS + example, encoding="utf-8")
    ran = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_page_on_installing_names_every_extra() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = project[project.index("[project.optional-dependencies]") :]
    extras = set(re.findall(r"^(\w+) = \[", listed[: listed.index("\n[", 1)], re.MULTILINE))
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`frazil\[(\w+)\]`", page))
    assert named == extras - {"test", "lint"}
