"""What a write did."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RowCounts", "WriteResult"]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    `snapshot_id` is None where there was nothing to do. Records and files are those of the data files that came and
    went; `deleted_rows`, `updated_rows` and `inserted_rows` are the rows of the table that changed.
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
        """`updated_rows` by its name in PyIceberg."""
        return self.updated_rows

    @property
    def rows_inserted(self) -> int:
        """`inserted_rows` by its name in PyIceberg."""
        return self.inserted_rows


def settle(result: WriteResult, **known: float | None) -> None:
    """Set what is known of a write only after it was made, or only after it was committed."""
    for name, value in known.items():
        object.__setattr__(result, name, value)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows of the table change; `deleted` is None where all rows of the files that go do."""

    deleted: int | None = None
    updated: int = 0
    inserted: int = 0
