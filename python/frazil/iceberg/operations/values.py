"""The values that operations consist of, and what a commit takes. The native module reads them by their fields."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil import _native
    from frazil._write_result import RowCounts

    NewFiles: TypeAlias = _native.RowWriter | _native.CommitMessages
    """New data files: written by this process, or by others."""

__all__ = ["Evolution", "Filter", "Replace", "SnapshotOptions", "SnapshotRequest", "Validation", "statement_time_us"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which rows: those for which SQL text is true; empty for all rows."""

    text: str = ""
    case_sensitive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions:
    """The branch that gets a snapshot, and entries for its summary."""

    branch: str = "main"
    properties: Mapping[str, str] = field(default_factory=dict)


class Replace(StrEnum):
    """Which data files a snapshot removes besides those that lose rows."""

    NONE = "none"
    ALL = "all"
    PARTITIONS = "partitions"
    """Those in the partitions of the added files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What concurrent commits may not have changed."""

    planned_on: int | None
    """The snapshot of the branch that was read; None if it had none."""
    isolation: str
    """`serializable` or `snapshot`, from `write.*.isolation-level`."""
    filter: Filter
    """The rows that were read."""
    refuses_new_deletes: bool
    """Whether deletes that were added since conflict, even those of data files that stay."""
    passes_over_equality_deletes: bool = False
    """Whether equality deletes that were added since do not conflict: they also apply to the new files."""
    refuses_removals: bool = False
    """Whether every concurrent removal of rows conflicts: rows that were read are written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """A snapshot to be made."""

    options: SnapshotOptions
    files: Sequence[NewFiles]
    counts: RowCounts
    delta: _native.RowDelta | None = None
    """Deleted rows, and data files that are removed."""
    replace: Replace = Replace.NONE
    validation: Validation | None = None
    fast: bool = False
    """Whether small manifests stay as they are."""
    operation: str | None = None
    """What the snapshot calls itself; None for what its files tell."""
    data_sequence_number: int | None = None
    """The sequence number of the new data files; None for that of the snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """A change of schema, partition spec, sort order, properties or references."""

    json: str
    known: _native.Table | None
    """The state that the user decided on, if it is not the one that is changed."""


def statement_time_us() -> int:
    """Return the time of a statement that begins now, in microseconds since the epoch.

    `current_timestamp` is this in all rows, whichever process computes them.
    """
    return time.time_ns() // 1000
