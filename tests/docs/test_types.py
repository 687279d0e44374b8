"""Tests that the code of README.md and of docs/ passes `mypy --strict`, so that the API is usefully typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docs.test_readme import PAGES, blocks

ROOT = Path(__file__).parents[2]


def test_the_code_of_the_pages_passes_a_strict_type_checker(tmp_path: Path) -> None:
    names = []
    for page in PAGES:
        # Line numbers are kept, so that a message refers to the page.
        lines = [""] * page.read_text(encoding="utf-8").count("\n")
        for first, code in blocks(page):
            lines[first - 1 : first - 1 + code.count("\n")] = code.splitlines()
        if any(lines):
            names.append(f"page_{page.stem.replace('-', '_').lower()}.py")
            (tmp_path / names[-1]).write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--ignore-missing-imports"]
    command += ["--cache-dir", str(tmp_path / "cache"), *names]
    environment = {"MYPYPATH": str(ROOT / "python"), "PATH": ""}
    run = subprocess.run(  # noqa: S603
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
