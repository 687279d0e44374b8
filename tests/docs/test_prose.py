"""Tests of the checks of prose: each kind of passage is found, and each form to avoid is reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_prose  # noqa: E402
import document_stub  # noqa: E402
import prose  # noqa: E402

RUST = """//! Reads files.
//!
//! * An item of the list,
//!   which continues here.

// Why the limit is small.
const LIMIT: &str = "the name of \\"x\\" is \\
    too long";
const KEY: &str = "one";

/// ```
/// let example = 1;
/// ```
fn read() {} // at the end of a line

#[cfg(test)]
mod tests {
    const MESSAGE: &str = "messages of tests are not checked";
}
"""
PYTHON = '''"""Read files.

Second paragraph of the docstring.

>>> 1 + 1
2
"""

def read(path: str) -> str:
    """Return the text.

    Args:
        path: The file to read.
    """
    # Why the path is absolute.
    raise ValueError(f"the file {path!r} does "
                     "not exist")
'''
MARKDOWN = "# Title\n\nA line of text.\n\n```\ncode is skipped\n```\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.rs",
            RUST,
            [
                ("doc", 1, "Reads files."),
                ("doc", 3, "* An item of the list, which continues here."),
                ("comment", 6, "Why the limit is small."),
                ("message", 7, 'the name of \\"x\\" is too long'),
                ("comment", 14, "at the end of a line"),
            ],
        ),
        (
            "a.py",
            PYTHON,
            [
                ("doc", 1, "Read files."),
                ("doc", 3, "Second paragraph of the docstring."),
                ("doc", 10, "Return the text."),
                ("doc", 12, "Args:"),
                ("doc", 13, "path: The file to read."),
                ("comment", 15, "Why the path is absolute."),
                ("message", 16, "the file {path!r} does not exist"),
            ],
        ),
        ("a.md", MARKDOWN, [("markdown", 1, "# Title"), ("markdown", 3, "A line of text.")]),
    ],
)
def test_passages_of_each_language(tmp_path: Path, name: str, text: str, expected: list[tuple[str, int, str]]) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = sorted((one.first, one.kind, one.sentence) for one in prose.passages([path]))
    assert [(kind, first, sentence) for first, kind, sentence in found] == expected


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("message", "`id` is no column", "is no"),
        ("message", "there is no column `id`", None),
        ("doc", "Gives the rows.", "Gives"),
        ("doc", "The files lie in a folder.", "lie"),
        ("comment", "Their order matters.", "Their"),
        ("doc", "What workers wrote.", "What workers"),
        ("markdown", "## What is read", None),
        ("message", "`behind` is not a column", None),
        ("doc", "word " * 31, "a sentence of 31 words"),
        ("message", "word " * 31, None),
        ("markdown", "x" * 121, "a line of 121 columns"),
    ],
)
def test_forms_to_avoid(kind: prose.Kind, text: str, found: str | None) -> None:
    faults = list(check_prose.faults(prose.Passage(ROOT / "x", 1, 1, kind, text)))
    assert (not faults) if found is None else (found in faults[0]), faults


def test_the_repository_has_none_of_them() -> None:
    assert len(prose.sources()) > 1000
    script = ROOT / "tools" / "check_prose.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout


def test_the_stub_has_the_documentation_of_the_native_module() -> None:
    text = document_stub.STUB.read_text(encoding="utf-8")
    assert document_stub.document(text) == (text, [])


def test_docstrings_that_are_missing_or_outdated_are_written() -> None:
    stub = "class Scan:\n    def plan(self) -> Plan: ...\n\ndef unknown() -> None: ...\n"
    written, missing = document_stub.document(stub)
    assert missing == ["unknown"]
    assert written.startswith('class Scan:\n    """A scan that')
    assert document_stub.document(written.replace("A scan", "An old scan")) == (written, missing)
    assert (document_stub.imperative("Returns x."), document_stub.imperative("Copies x.")) == ("Return x.", "Copy x.")
    assert document_stub.imperative("Passes x.") == "Pass x."
