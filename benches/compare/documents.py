"""Saves the results of a run: figures as JSON, and the tables and the picture of the documentation."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from picture import picture
from report import markdown

if TYPE_CHECKING:
    from report import Verdict
    from runner import Results

BEGIN, END = "<!-- written by make bench-full: begin -->", "<!-- written by make bench-full: end -->"


def save(file: Path, results: Results) -> None:
    """Save all figures of all rounds."""
    file.parent.mkdir(parents=True, exist_ok=True)
    works = [{**dataclasses.asdict(work), **dataclasses.asdict(measured)} for work, measured in results.items()]
    file.write_text(json.dumps({"machine": machine(), "versions": versions(results), "works": works}, indent=1))


def document(page: Path, verdicts: list[Verdict], results: Results) -> None:
    """Write the table between the markers of a page, and the picture next to it."""
    image = page.with_suffix(".svg")
    image.write_text(picture(verdicts), encoding="utf-8")
    used = ", ".join(f"{package} {version}" for package, version in sorted(versions(results).items()))
    shown = f"![frazil and its peers, as multiples of the limit]({image.name})"
    text = "\n\n".join([f"{machine()}. {used}.", shown, markdown(verdicts)])
    page.write_text(between_markers(page.read_text(encoding="utf-8"), text), encoding="utf-8")


def between_markers(page: str, text: str) -> str:
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        message = f"the page lacks the line {BEGIN} or {END}"
        raise ValueError(message)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def versions(results: Results) -> dict[str, str]:
    return {
        name: version
        for measured in results.values()
        for run in measured.runs
        for name, version in run["versions"].items()
    }


def machine() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{os.cpu_count()} processors of {model}, {platform.system()}, Python {platform.python_version()}"
