"""Checks that Java and frazil agree on a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.written import compare

if TYPE_CHECKING:
    from frazil.iceberg import Table
    from support.java import Java

LINEAGE = ("_row_id", "_last_updated_sequence_number")
LINEAGE_VERSION = 3
DELETED = 2

ENTRIES = (
    "select status, sequence_number, data_file.content as content, data_file.file_path as path, "
    "data_file.record_count as rows, {bytes} as bytes, {first_row_id} as first_row_id from {name}.entries"
)


def check_rows(java: Java, table: Table, name: str, *, signs: bool = True) -> None:
    """Check that Java's rows of each branch and tag match frazil's, with their ids if the version has them."""
    fields = ("*", *LINEAGE) if table.format_version >= LINEAGE_VERSION else ("*",)
    refs = [ref for ref in table.refs() if ref != "main"]
    suffixes = ["", *(f" version as of '{ref}'" for ref in refs)]
    found = java.many(f"select {', '.join(fields)} from {name}{suffix}" for suffix in suffixes)  # noqa: S608
    for ref, rows in zip((None, *refs), found, strict=True):
        compare(rows, table.scan(selected_fields=fields, ref=ref).to_arrow(), signs=signs)


def check_metadata(java: Java, table: Table, name: str, *, dangling: bool = False) -> None:
    """Check that summaries match manifests, and manifests match rows.

    `dangling`: deletes may apply to removed files, as Java leaves them in v2.
    """
    lineage = table.format_version >= LINEAGE_VERSION
    # Deletion vectors are counted separately, because a file may contain several.
    size = "coalesce(data_file.content_size_in_bytes, data_file.file_size_in_bytes)"
    parts = (size, "data_file.first_row_id") if lineage else ("data_file.file_size_in_bytes", "null")
    question = ENTRIES.format(name=name, bytes=parts[0], first_row_id=parts[1])
    found, snapshots = java.many([question, f"select snapshot_id, summary from {name}.snapshots"])  # noqa: S608
    live = [entry for entry in found.to_pylist() if entry["status"] != DELETED]
    data = [entry for entry in live if entry["content"] == 0]
    rows = sum(entry["rows"] for entry in data)
    gone = sum(entry["rows"] for entry in live) - rows
    count = table.scan().count()
    assert rows - gone <= count if dangling else rows - gone == count
    assert all(entry["sequence_number"] is not None for entry in live)
    assert not lineage or all(entry["first_row_id"] is not None for entry in data)
    summaries = {found["snapshot_id"]: dict(found["summary"]) for found in snapshots.to_pylist()}
    current = table.current_snapshot()
    if current is not None:
        _check_summary(summaries[current.snapshot_id], live, rows=rows, gone=gone)


def _check_summary(summary: dict[str, Any], live: list[dict[str, Any]], *, rows: int, gone: int) -> None:
    data = sum(entry["content"] == 0 for entry in live)
    size = sum(entry["bytes"] for entry in live)
    totals = {"data-files": data, "delete-files": len(live) - data, "records": rows}
    totals |= {"position-deletes": gone, "files-size": size}
    assert {name: int(summary[f"total-{name}"]) for name in totals} == totals
