"""The changes that ALTER TABLE statements make, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._column_types import ColumnType
    from frazil.sql._parts import PartitionField, PartitionValue, SortKey
    from frazil.sql._reader import Name, Text

Unset = Literal["unset"]
"""Marks an attribute to be removed."""


@dataclass(frozen=True, slots=True)
class Position:
    """`FIRST`, or `AFTER` another column of the same struct."""

    after: str | None = None
    """The other column; None for the first position."""


@dataclass(frozen=True, slots=True)
class AddColumn:
    """`ADD COLUMN path type …`."""

    path: Name
    type: ColumnType
    type_text: str
    required: bool = False
    comment: str | None = None
    default: Text | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """`ALTER COLUMN path …`; attributes that are None are not changed."""

    path: Name
    type: ColumnType | None = None
    required: bool | None = None
    comment: str | None = None
    default: Text | Unset | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """`RENAME COLUMN path TO name`."""

    path: Name
    new_name: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    """`DROP COLUMN path`."""

    path: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddPartitionField:
    """`ADD PARTITION FIELD transform AS name`."""

    field: PartitionField
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DropPartitionField:
    """`DROP PARTITION FIELD`, with a transform or the name of a partition field."""

    field: PartitionField


@dataclass(frozen=True, slots=True)
class ReplacePartitionField:
    """`REPLACE PARTITION FIELD transform WITH transform AS name`."""

    old: PartitionField
    new: PartitionField
    name: str | None = None


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """`WRITE …`: the sort order of new files, and how rows are distributed among the files."""

    keys: tuple[SortKey, ...] = ()
    distribution: Literal["none", "hash", "range"] | None = None
    """The distribution mode; None if it is not changed."""


@dataclass(frozen=True, slots=True)
class SetIdentifierFields:
    """`SET IDENTIFIER FIELDS a, b`."""

    paths: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class DropIdentifierFields:
    """`DROP IDENTIFIER FIELDS a, b`."""

    paths: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class SetReference:
    """`CREATE`, `CREATE OR REPLACE` and `REPLACE`, each of a branch or a tag. Ages are in milliseconds."""

    kind: Literal["branch", "tag"]
    name: str
    creates: bool = True
    replaces: bool = False
    if_not_exists: bool = False
    snapshot_id: int | None = None
    max_ref_age_ms: int | None = None
    max_snapshot_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None


@dataclass(frozen=True, slots=True)
class DropReference:
    """`DROP BRANCH name` and `DROP TAG name`."""

    kind: Literal["branch", "tag"]
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetProperties:
    """`SET TBLPROPERTIES (…)`; also `COMMENT ON TABLE`, because the comment is a property."""

    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """`UNSET TBLPROPERTIES (…)`."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetLocation:
    """`SET LOCATION`."""

    location: str


@dataclass(frozen=True, slots=True)
class RenameTable:
    """`RENAME TO name`."""

    new_name: Name


@dataclass(frozen=True, slots=True)
class RenameTag:
    """`RENAME TAG name TO new_name`, for Paimon tables."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """`DROP PARTITION (column = constant, …), …`, for Paimon tables."""

    partitions: tuple[tuple[PartitionValue, ...], ...]
    if_exists: bool = False


Alteration = (
    AddColumn
    | AlterColumn
    | RenameColumn
    | DropColumn
    | AddPartitionField
    | DropPartitionField
    | ReplacePartitionField
    | WriteOrder
    | SetIdentifierFields
    | DropIdentifierFields
    | SetReference
    | DropReference
    | SetProperties
    | UnsetProperties
    | SetLocation
    | RenameTable
    | RenameTag
    | DropPartitions
)
