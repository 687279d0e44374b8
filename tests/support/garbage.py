"""Files that expiry must keep and delete, computed from local table metadata with only `json` and `fastavro`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import fastavro

if TYPE_CHECKING:
    from collections.abc import Iterable

_DAY_MS = 86_400_000


def path_of(location: str) -> Path:
    """Return the local path of a location."""
    return Path(unquote(urlsplit(location).path) if location.startswith("file:") else location)


def metadata_of(table: Any) -> dict[str, Any]:
    """Return the metadata of a handle as in its file."""
    found: dict[str, Any] = json.loads(path_of(table.metadata_location).read_text(encoding="utf-8"))
    return found


def reachable(metadata: dict[str, Any]) -> set[Path]:
    """Return the manifest lists, manifests, data files, delete files and statistics that a state references."""
    found = set()
    manifests: set[str] = set()
    for snapshot in metadata.get("snapshots", []):
        if "manifest-list" in snapshot:
            found.add(path_of(snapshot["manifest-list"]))
            manifests |= {row["manifest_path"] for row in _avro(snapshot["manifest-list"])}
        manifests |= set(snapshot.get("manifests", []))
    for manifest in manifests:
        found.add(path_of(manifest))
        found |= {path_of(row["data_file"]["file_path"]) for row in _avro(manifest) if row["status"] != 2}
    for kind in ("statistics", "partition-statistics"):
        found |= {path_of(file["statistics-path"]) for file in metadata.get(kind, [])}
    return found


def retained(
    metadata: dict[str, Any], now_ms: int, older_than_ms: int | None, retain_last: int | None
) -> tuple[set[int], set[str]]:
    """Return the snapshots, branches and tags that are kept on expiry by age (spec: "Snapshot Retention Policy")."""
    properties = metadata.get("properties", {})
    age_ms = int(properties.get("history.expire.max-snapshot-age-ms", 5 * _DAY_MS))
    cutoff_ms = now_ms - age_ms if older_than_ms is None else older_than_ms
    least = int(properties.get("history.expire.min-snapshots-to-keep", 1)) if retain_last is None else retain_last
    ref_age_ms = int(properties.get("history.expire.max-ref-age-ms", (1 << 63) - 1))
    snapshots = {snapshot["snapshot-id"]: snapshot for snapshot in metadata.get("snapshots", [])}
    refs = {}
    for name, ref in metadata.get("refs", {}).items():
        made_ms = snapshots[ref["snapshot-id"]]["timestamp-ms"]
        if name == "main" or now_ms - made_ms <= ref.get("max-ref-age-ms", ref_age_ms):
            refs[name] = ref
    kept, referenced = set(), set()
    for ref in refs.values():
        kept.add(ref["snapshot-id"])
        referenced.add(ref["snapshot-id"])
        if ref["type"] == "tag":
            continue
        line = list(_line(snapshots, ref["snapshot-id"]))
        referenced |= set(line)
        oldest_ms = now_ms - ref["max-snapshot-age-ms"] if "max-snapshot-age-ms" in ref else cutoff_ms
        for place, snapshot_id in enumerate(line):
            if place >= ref.get("min-snapshots-to-keep", least) and snapshots[snapshot_id]["timestamp-ms"] < oldest_ms:
                break
            kept.add(snapshot_id)
    young = {snapshot_id for snapshot_id, one in snapshots.items() if one["timestamp-ms"] >= cutoff_ms}
    return kept | (young - referenced), set(refs)


def _line(snapshots: dict[int, Any], snapshot_id: int | None) -> Iterable[int]:
    while snapshot_id in snapshots:
        yield snapshot_id
        snapshot_id = snapshots[snapshot_id].get("parent-snapshot-id")


def _avro(location: str) -> list[Any]:
    with path_of(location).open("rb") as file:
        return list(fastavro.reader(file))
