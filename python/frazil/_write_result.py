"""The result of a write."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["RowCounts", "WriteResult", "both", "settle"]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write.

    `snapshot_id` is None if nothing was committed. Record and file counts are those of the added and removed data
    files; `deleted_rows`, `updated_rows` and `inserted_rows` count the changed rows of the table.
    """

    snapshot_id: int | None
    added_files: int = 0
    added_records: int = 0
    added_bytes: int = 0
    added_delete_files: int = 0
    removed_files: int = 0
    removed_records: int = 0
    removed_delete_files: int = 0
    deleted_rows: int = 0
    updated_rows: int = 0
    inserted_rows: int = 0
    attempts: int = 0
    seconds: float = 0.0

    @property
    def rows_updated(self) -> int:
        """`updated_rows` under its PyIceberg name."""
        return self.updated_rows

    @property
    def rows_inserted(self) -> int:
        """`inserted_rows` under its PyIceberg name."""
        return self.inserted_rows


def settle(result: WriteResult, **known: float | None) -> None:
    """Set the values of a write result that are known only after the write or the commit."""
    for name, value in known.items():
        object.__setattr__(result, name, value)


def both(first: WriteResult, later: WriteResult) -> WriteResult:
    """Return the result of two writes of one call."""
    counts = [field.name for field in fields(WriteResult) if field.name != "snapshot_id"]
    snapshot_id = first.snapshot_id if later.snapshot_id is None else later.snapshot_id
    return WriteResult(snapshot_id, **{name: getattr(first, name) + getattr(later, name) for name in counts})


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The number of table rows that change; `deleted` is None if all rows of the removed files are deleted."""

    deleted: int | None = None
    updated: int = 0
    inserted: int = 0
