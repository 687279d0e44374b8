"""Finds the files of a local Paimon table that nothing needs, without frazil."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.paimon_manifests import entries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["METADATA", "garbage", "missing"]

METADATA = ("schema", "snapshot", "tag", "branch", "changelog", "consumer")
"""The folders of files that are found by their names."""


def garbage(folder: Path) -> set[str]:
    """Return the names of the data, index, statistics and manifest files that no branch, tag or changelog needs."""
    return _present(folder) - set(_needed(folder))


def missing(folder: Path) -> set[str]:
    """Return the names of the files that a branch or a tag needs, and that do not exist."""
    return set(_needed(folder)) - _present(folder)


def _present(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.name for path in files if path.relative_to(folder).parts[0] not in METADATA}


def _needed(folder: Path) -> Iterator[str]:
    roots = [folder, *(folder / "branch").glob("branch-*")]
    for root in roots:
        for path in (*root.glob("snapshot/snapshot-*"), *root.glob("tag/tag-*")):
            yield from _of_snapshot(folder, json.loads(path.read_text()))
        for path in root.glob("changelog/changelog-*"):
            yield from _of_changelog(folder, json.loads(path.read_text()))


def _of_snapshot(folder: Path, snapshot: dict[str, Any]) -> Iterator[str]:
    live: dict[str, dict[str, Any]] = {}
    for name in (snapshot["baseManifestList"], snapshot["deltaManifestList"]):
        for entry in _entries(folder, name):
            if entry["_KIND"] == 0:
                live[entry["_FILE"]["_FILE_NAME"]] = entry["_FILE"]
            else:
                live.pop(entry["_FILE"]["_FILE_NAME"], None)
        yield from _manifests(folder, name)
    for file in live.values():
        yield from (file["_FILE_NAME"], *file["_EXTRA_FILES"])
    yield from _of_changelog(folder, snapshot)
    if snapshot.get("indexManifest"):
        yield snapshot["indexManifest"]
        yield from (entry["_FILE_NAME"] for entry in entries(folder / "manifest" / snapshot["indexManifest"]))
    if snapshot.get("statistics"):
        yield snapshot["statistics"]


def _of_changelog(folder: Path, snapshot: dict[str, Any]) -> Iterator[str]:
    if snapshot.get("changelogManifestList"):
        for entry in _entries(folder, snapshot["changelogManifestList"]):
            yield from (entry["_FILE"]["_FILE_NAME"], *entry["_FILE"]["_EXTRA_FILES"])
        yield from _manifests(folder, snapshot["changelogManifestList"])


def _manifests(folder: Path, name: str) -> Iterator[str]:
    yield name
    yield from (meta["_FILE_NAME"] for meta in entries(folder / "manifest" / name))


def _entries(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    for meta in entries(folder / "manifest" / name):
        yield from entries(folder / "manifest" / meta["_FILE_NAME"])
