"""The cases: tables that other engines wrote, and what is in them.

Golden cases are one JSON file for each table; found cases are one list in `cases.json`. Some lie in the repository,
all of them in the folder that `FRAZIL_SHARED` names, or `shared` beside the repository.
"""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import frazil

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from frazil.iceberg import Table

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "tests" / "golden"
SHARED = Path(os.environ.get("FRAZIL_SHARED", REPOSITORY.parent / "shared"))


@dataclass(frozen=True, eq=False)
class Case:
    """A table and what is expected of it."""

    id: str
    root: Path
    opened: str
    relocate: Mapping[str, str]
    content: Mapping[str, Any]
    shared: bool

    @functools.cached_property
    def table(self) -> Table:
        """The table, opened once."""
        return frazil.load_table(self.opened, relocate=self.relocate)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """The columns that the reference reads, where the case says so."""
        fields = (self.content.get("schema") or {}).get("fields")
        return None if fields is None else tuple(field["name"] for field in fields)

    def relative(self, recorded: str) -> str:
        """Give a path in the table as cases name it."""
        location = str(self.content["location"]).removeprefix("file:").rstrip("/")
        path = recorded.removeprefix("file:")
        return path.removeprefix(location + "/").removeprefix(f"{self.root}/")


def golden_cases() -> Iterator[Case]:
    """Give the golden tables: those in the repository first, then the others."""
    own = sorted((GOLDEN / "iceberg_cases").glob("*.json"))
    names = {path.name for path in own}
    others = sorted((SHARED / "golden" / "iceberg_cases").glob("*.json"))
    for path in own + [path for path in others if path.name not in names]:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "expect" in content:
            yield _golden(content, path.parents[1], shared=path.name not in names)


def found_cases() -> Iterator[Case]:
    """Give the tables that were found in the repositories of other engines."""
    path = SHARED / "cases" / "cases.json"
    if not path.is_file():
        return
    for content in json.loads(path.read_text(encoding="utf-8")):
        if content["kind"] == "iceberg":
            yield _found(content, path.parent)


def _golden(content: dict[str, Any], top: Path, *, shared: bool) -> Case:
    root = top / content["location"].split("/golden/", 1)[1]
    opened = root
    # The hints of hadoop_* are what their cases are about.
    if content.get("metadata_file") and not content["id"].startswith("hadoop_"):
        opened = root / "metadata" / Path(content["metadata_file"]).name
    # Tables need no relocation, but for files that were written outside of the table.
    relocate = {"/golden/iceberg_elsewhere": str(top / "iceberg_elsewhere")} if shared else {}
    return Case(content["id"], root, str(opened), relocate, content, shared)


def _found(content: dict[str, Any], base: Path) -> Case:
    root = base / content["dir"]
    location, metadata_file = content["location"].rstrip("/"), content["metadata_file"]
    relocate = {}
    for prefix in [location, *(content["relocation"].get("recorded_prefixes") or [])]:
        recorded = prefix.rstrip("/")
        below = location[len(recorded) :].strip("/") if location.startswith(recorded) else ""
        depth = len([part for part in below.split("/") if part])
        relocate[recorded] = str(root.parents[depth - 1] if depth else root)
    for recorded, folder in (content["relocation"].get("elsewhere") or {}).items():
        relocate[recorded] = str(base / folder)
    if location.startswith("/"):
        relocate |= {"hdfs://localhost:20500" + recorded: actual for recorded, actual in relocate.items()}
    # Their lists of snapshots and schemas mean something else than those of golden cases.
    content = {"id": content["id"], "location": location, "expect": content["expect"]} | {
        key: value for key, value in content["expect"].items() if key == "snapshots"
    }
    opened = str(root / metadata_file)
    return Case(content["id"], root, opened, relocate, content, shared=True)
