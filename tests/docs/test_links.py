"""Links of the pages lead somewhere. Those of README.md work on PyPI, too, where it is the long description."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
FILES = f"{REPOSITORY}/blob/main/"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)|^\[[^\]\n]+\]: (\S+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page: Path) -> list[str]:
    text = CODE.sub("code", page.read_text(encoding="utf-8"))
    return [inline or reference for inline, reference in LINK.findall(text)]


def anchors(page: Path) -> set[str]:
    """The anchors of headings, as GitHub names them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def target(page: Path, link: str) -> tuple[Path, str] | None:
    """The file of this repository that a link leads to, with the anchor; None for another site."""
    place, _, anchor = link.partition("#")
    if place.startswith(FILES):
        return ROOT / place.removeprefix(FILES), anchor
    if "://" in place:
        return None
    return (page.parent / place if place else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_of_this_repository_exist(page: Path) -> None:
    for link in links(page):
        found = target(page, link)
        if found is not None:
            file, anchor = found
            assert file.exists(), link
            assert not anchor or anchor in anchors(file), link


def test_links_of_the_readme_are_absolute() -> None:
    found = links(ROOT / "README.md")
    assert len(found) > 5
    assert all(link.startswith("https://") for link in found)


def test_the_urls_of_the_project_lead_to_its_files() -> None:
    assert set(PROJECT["urls"]) == {"Homepage", "Documentation", "Repository", "Changelog", "Issues"}
    for url in PROJECT["urls"].values():
        assert url.startswith(REPOSITORY)
        if url.startswith(FILES):
            assert (ROOT / url.removeprefix(FILES)).is_file(), url


def test_the_classifiers_name_the_versions_of_python() -> None:
    """The licence is in `license`, which excludes a classifier for it."""
    versions = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert PROJECT["classifiers"] == sorted(PROJECT["classifiers"])
    assert not [text for text in PROJECT["classifiers"] if text.startswith("License")]
