"""The values that define operations and form the input of commits. The native module reads their fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from frazil import _native
    from frazil._write_result import RowCounts

    NewFiles: TypeAlias = _native.RowWriter | _native.CommitMessages
    """New data files, written by this process or by other processes."""

__all__ = ["Evolution", "Filter", "Replace", "SnapshotOptions", "SnapshotRequest", "Validation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A row filter as an SQL expression; empty for all rows."""

    text: str = ""
    case_sensitive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOptions:
    """The branch of a new snapshot, and entries for its summary."""

    branch: str = "main"
    creates_branch: bool = False
    """Whether the branch is created from `main` if it does not exist."""
    properties: Mapping[str, str] = field(default_factory=dict)

    def head(self, refs: Container[str]) -> str:
        """Return the branch whose rows the operation changes: `main` if the branch is still to be created."""
        return "main" if self.creates_branch and self.branch not in refs else self.branch


class Replace(StrEnum):
    """The data files that a snapshot removes in addition to the files in which rows are deleted."""

    NONE = "none"
    ALL = "all"
    PARTITIONS = "partitions"
    """All existing files in the partitions of the added files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The conditions that concurrent commits must not violate."""

    planned_on: int | None
    """The snapshot of the branch that was read; None if the branch was empty."""
    isolation: str
    """`serializable` or `snapshot`, from `write.*.isolation-level`."""
    filter: Filter
    """The filter that selected the rows that were read."""
    refuses_new_deletes: bool
    """Whether deletes added after `planned_on` conflict, even if they apply to data files that are retained."""
    passes_over_equality_deletes: bool = False
    """Whether equality deletes added after `planned_on` are accepted, because they also apply to the new files."""
    refuses_removals: bool = False
    """Whether every concurrent removal of rows conflicts, because the rows that were read are rewritten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """A request for a new snapshot."""

    options: SnapshotOptions
    files: Sequence[NewFiles]
    counts: RowCounts
    delta: _native.RowDelta | None = None
    """The deleted rows and the removed data files."""
    replace: Replace = Replace.NONE
    validation: Validation | None = None
    fast: bool = False
    """Whether small manifests are left unmerged."""
    operation: str | None = None
    """The operation recorded in the snapshot; None to derive it from the files."""
    data_sequence_number: int | None = None
    """The sequence number of the new data files; None for the sequence number of the snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """A change to the schema, partition spec, sort order, properties or references."""

    json: str
    known: _native.Table | None
    """The state on which the user based the change; None if this is the state to be changed."""
