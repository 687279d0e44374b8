"""Copies of golden tables whose metadata, manifests and data a test may change."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import fastavro

import frazil
from support.cases import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.iceberg import Table

Record = dict[str, Any]


class Copy:
    """A golden table in another folder."""

    def __init__(self, name: str, folder: Path) -> None:
        self.original = GOLDEN / "iceberg" / name
        self.root = folder / name
        shutil.copytree(self.original, self.root)
        source = frazil.load_table(str(self.original))
        self.location = source.location.removeprefix("file:")
        self.metadata_file = self.root / "metadata" / source.metadata_location.rpartition("/")[2]

    def open(self, **options: Any) -> Table:
        return frazil.load_table(str(self.root), **options)

    def local(self, recorded: str) -> Path:
        """Return the location of a recorded path in the copy."""
        return self.root / recorded.removeprefix("file:").removeprefix(self.location + "/")

    def metadata(self) -> Record:
        content: Record = json.loads(self.metadata_file.read_bytes())
        return content

    def edit_metadata(self, edit: Callable[[Record], object]) -> None:
        content = self.metadata()
        edit(content)
        self.metadata_file.write_text(json.dumps(content), encoding="utf-8")

    def manifest_list(self) -> Path:
        content = self.metadata()
        current = content["current-snapshot-id"]
        snapshot = next(found for found in content["snapshots"] if found["snapshot-id"] == current)
        return self.local(snapshot["manifest-list"])

    def manifests(self, content: int = 0) -> list[Path]:
        """Return the manifests of data files (0) or delete files (1)."""
        records = read_avro(self.manifest_list())[1]
        return [self.local(record["manifest_path"]) for record in records if record.get("content", 0) == content]

    def edit_list(self, edit: Callable[[list[Record]], object]) -> None:
        edit_avro(self.manifest_list(), edit)

    def edit_manifest(self, edit: Callable[[list[Record]], object], content: int = 0) -> None:
        """Edit the live entries of the first manifest that has any."""
        for path in self.manifests(content):
            if any(entry["status"] != DELETED for entry in read_avro(path)[1]):
                edit_avro(path, edit)
                self.edit_list(self._fix_lengths)
                return
        raise AssertionError("the table has no such manifest")

    def forget_version(self, content: int = 0) -> None:
        """Remove the format version from the metadata of manifests, which some writers omit."""
        for path in self.manifests(content):
            edit_avro(path, lambda _: None, without=("format-version",))
        self.edit_list(self._fix_lengths)

    def edit_file(self, edit: Callable[[Record], object], content: int = 0) -> None:
        """Edit the data file or delete file of the first live entry."""
        self.edit_manifest(lambda entries: edit(live(entries)["data_file"]), content)

    def file(self, content: int = 0) -> Path:
        """Return the first live data file or delete file."""
        for path in self.manifests(content):
            entries = [entry for entry in read_avro(path)[1] if entry["status"] != DELETED]
            if entries:
                return self.local(entries[0]["data_file"]["file_path"])
        raise AssertionError("the table has no such file")

    def _fix_lengths(self, records: list[Record]) -> None:
        for record in records:
            path = self.local(record["manifest_path"])
            if path.is_file():
                record["manifest_length"] = path.stat().st_size


DELETED = 2


def live(entries: list[Record]) -> Record:
    return next(entry for entry in entries if entry["status"] != DELETED)


def read_avro(path: Path) -> tuple[dict[str, str], list[Record]]:
    """Return the metadata and the records of an Avro container."""
    with path.open("rb") as file:
        reader: Any = fastavro.reader(file)
        return reader.metadata, list(reader)


def edit_avro(path: Path, edit: Callable[[list[Record]], object], without: tuple[str, ...] = ()) -> None:
    header, records = read_avro(path)
    edit(records)
    schema = fastavro.parse_schema(json.loads(header["avro.schema"]))
    metadata = {key: value for key, value in header.items() if not key.startswith("avro.") and key not in without}
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)
