"""The code of README.md and of docs/ runs as it stands there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.spark_settings import use_this_python

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Every Python block with the line on which its code starts."""
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


@pytest.mark.parametrize("page", parameters())
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Blocks name tables as a reader in the repository's folder would; what they write goes elsewhere.
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    environment = dict(os.environ)
    use_this_python(environment)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks(page):
        padded = "\n" * (line - 1) + code
        exec(compile(padded, str(page), "exec"), namespace)  # noqa: S102 - the project's own pages
