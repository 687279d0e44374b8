"""The test cases: tables that other engines wrote, and their expected contents.

Golden cases are one JSON file for each table; found cases are one list in `cases.json`. Some are in the repository. All
of them are in the folder of `FRAZIL_SHARED`, or else in `shared` next to the repository.
"""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import frazil
from frazil.paimon import FormatTable, ObjectTable, format_table, object_table
from support.canonical import GOLDEN_FORM, Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "tests" / "golden"
SHARED = Path(os.environ.get("FRAZIL_SHARED", REPOSITORY.parent / "shared"))


@dataclass(frozen=True, eq=False)
class Case:
    """A table and its expected contents, in one of several forms."""

    id: str
    root: Path
    opened: str
    relocate: Mapping[str, str]
    content: Mapping[str, Any]
    shared: bool
    # Found cases have UUIDs as bytes.
    forms: tuple[Form, ...] = (GOLDEN_FORM, Form(uuid_text=False))

    @functools.cached_property
    def table(self) -> Any:
        """Return the table, which is opened once."""
        return frazil.load_table(self.opened, relocate=self.relocate)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Return the columns that the reference reads, if the case lists them."""
        fields = (self.content.get("schema") or {}).get("fields")
        return None if fields is None else tuple(field["name"] for field in fields)

    @property
    def unordered_columns(self) -> list[str]:
        """Return the columns whose lists have no defined order in the reference."""
        return list(self.content.get("sort_columns", ()))

    def relative(self, recorded: str) -> str:
        """Return a path in the table in the form of the cases."""
        location = str(self.content["location"]).removeprefix("file:").rstrip("/")
        path = recorded.removeprefix("file:")
        return path.removeprefix(location + "/").removeprefix(f"{self.root}/")


class PaimonCase(Case):
    """A Paimon table, a format table or an object table."""

    @functools.cached_property
    def table(self) -> Any:
        """Return the table, which is opened once."""
        if "files" in self.content:
            return self._format_table()
        if self.id == "object_table":
            return object_table(self.root)
        return frazil.load_table(self.opened, format="paimon", relocate=self.relocate)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Return the columns that the reference reads, if the case lists them."""
        fields = (self.content.get("schema") or {}).get("fields")
        return None if fields is None else tuple(name for name, _ in fields)

    @property
    def is_plain(self) -> bool:
        """Return whether the table has no metadata: a format table or an object table."""
        return isinstance(self.table, FormatTable | ObjectTable)

    def _format_table(self) -> FormatTable:
        schema = self.content["schema"]
        # Cases without the option are named after the format.
        options = {"file.format": self.id.split("_")[1]} | schema["options"]
        return format_table(
            self.root,
            schema=[tuple(field) for field in schema["fields"]],
            partition_keys=schema.get("partition_keys", ()),
            options=options,
        )


def golden_cases() -> Iterator[Case]:
    """Yield the golden Iceberg tables, those in the repository first."""
    for content, top, shared in _golden("iceberg_cases"):
        root = top / content["location"].split("/golden/", 1)[1]
        opened = root
        # The cases hadoop_* test the version hints.
        if content.get("metadata_file") and not content["id"].startswith("hadoop_"):
            opened = root / "metadata" / Path(content["metadata_file"]).name
        # Tables need no relocation, except for files that were written outside of the table.
        relocate = {"/golden/iceberg_elsewhere": str(top / "iceberg_elsewhere")} if shared else {}
        yield Case(content["id"], root, str(opened), relocate, content, shared)


def golden_paimon_cases() -> Iterator[PaimonCase]:
    """Yield the golden Paimon tables, without catalogs and lists of refusals."""
    for content, top, shared in _golden("paimon_cases"):
        root = top / content["dir"]
        if root.is_dir() and "databases" not in content:
            # Only files that were written outside of the table need to be relocated.
            relocate = {"/golden": str(top), "file:/golden": str(top)}
            forms = (Form(plain_variants=True),)
            content["location"] = str(root)
            for name, kind in (content.get("schema") or {}).get("fields", ()):
                if kind.startswith("VARIANT"):
                    _mark_variants(content, name)
            yield PaimonCase(content["id"], root, str(root), relocate, content, shared, forms)


def found_cases() -> Iterator[Case]:
    """Yield the Iceberg tables from the repositories of other engines."""
    for content, base in _found("iceberg"):
        yield _found_iceberg(content, base)


def found_paimon_cases() -> Iterator[PaimonCase]:
    """Yield the Paimon tables from the repositories of other engines.

    If no independent reader read them, the rows are those in their descriptions.
    """
    rows = json.loads((REPOSITORY / "tests" / "interop" / "found_paimon_rows.json").read_text(encoding="utf-8"))
    for found, base in _found("paimon"):
        root = base / found["dir"]
        relocate = {}
        if (root.parent / "external").is_dir():
            relocate = dict.fromkeys(("/tmp/external", "file:/tmp/external"), str(root.parent / "external"))  # noqa: S108
        kind, name = found["dir"].split("/")[-3], root.name
        want = found["expect"]
        listed = rows.get(f"{kind}/{name}") or rows.get(name)
        if listed:
            columns = listed["columns"]
            expected = [dict(zip(columns, row, strict=True)) for row in listed["rows"]]
            want = {"rows": want["rows"], "rows_inline": expected, "fields": columns}
        content = {"location": str(root), "expect": want}
        form = Form(nine_digits=False)
        yield PaimonCase(f"{kind}/{name}", root, str(root), relocate, content, shared=True, forms=(form,))


def _golden(folder: str) -> Iterable[tuple[dict[str, Any], Path, bool]]:
    """Yield the content of cases, the location of `/golden`, and whether that is next to the repository."""
    own = sorted((GOLDEN / folder).glob("*.json"))
    names = {path.name for path in own}
    others = sorted((SHARED / "golden" / folder).glob("*.json"))
    for path in own + [path for path in others if path.name not in names]:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "expect" in content:
            yield content, path.parents[1], path.name not in names


def _mark_variants(content: Any, column: str) -> None:
    """Rewrite the variants of all rows in the form of Iceberg cases: `{"variant_json": text}`."""
    if isinstance(content, dict):
        for row in content.get("rows_inline", ()):
            if row[column] is not None:
                row[column] = {"variant_json": row[column]}
        content = list(content.values())
    for part in content if isinstance(content, list) else ():
        _mark_variants(part, column)


def _found(kind: str) -> Iterator[tuple[dict[str, Any], Path]]:
    path = SHARED / "cases" / "cases.json"
    if path.is_file():
        for content in json.loads(path.read_text(encoding="utf-8")):
            if content["kind"] == kind:
                yield content, path.parent


def _found_iceberg(content: dict[str, Any], base: Path) -> Case:
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
    # The expected lists of snapshots and schemas have a different meaning from those of golden cases.
    content = {"id": content["id"], "location": location, "expect": content["expect"]} | {
        key: value for key, value in content["expect"].items() if key == "snapshots"
    }
    return Case(content["id"], root, str(root / metadata_file), relocate, content, shared=True)
