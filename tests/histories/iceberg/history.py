"""Histories as plain data: a table, and steps that change and read it.

The `repr` of a history is Python code that creates it. Handles are numbers. Snapshots are referenced by their position
in the history, so that a history without some of its steps is still valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from histories.inputs import Source

if TYPE_CHECKING:
    from histories.filters import Filter
    from histories.types import Field, Simple, Struct, Type

Path = tuple[str, ...]
MAIN = "main"
TABLE = Source()


@dataclass(frozen=True)
class Term:
    """A partition field or a key of a sort order: a column and a transform."""

    path: Path
    transform: str = "identity"


@dataclass(frozen=True)
class SortKey:
    term: Term
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class NewTable:
    """The definition of the table."""

    columns: Struct
    version: int = 2
    partition_by: tuple[Term, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Batch:
    """The rows of a step, with their columns."""

    columns: Struct
    rows: tuple[dict[str, Any], ...]
    source: Source = TABLE


# Column values in updates and merges


@dataclass(frozen=True)
class Constant:
    type: Simple
    value: Any


@dataclass(frozen=True)
class Column:
    path: Path


@dataclass(frozen=True)
class Coalesce:
    path: Path
    type: Simple
    value: Any


Expression = Constant | Column | Coalesce
Assignments = tuple[tuple[Path, Expression], ...]


# Rows


@dataclass(frozen=True)
class Append:
    handle: int
    batch: Batch
    branch: str = MAIN


@dataclass(frozen=True)
class Overwrite:
    handle: int
    batch: Batch
    where: Filter | None = None
    branch: str = MAIN


@dataclass(frozen=True)
class DynamicOverwrite:
    handle: int
    batch: Batch
    branch: str = MAIN


@dataclass(frozen=True)
class Delete:
    handle: int
    where: Filter | None = None
    branch: str = MAIN


@dataclass(frozen=True)
class Update:
    handle: int
    values: Assignments
    where: Filter | None = None
    branch: str = MAIN


@dataclass(frozen=True)
class Upsert:
    handle: int
    batch: Batch
    keys: tuple[str, ...]
    update: bool = True
    insert: bool = True
    branch: str = MAIN


@dataclass(frozen=True)
class Clause:
    """`when` is matched, not_matched or not_matched_by_source; `action` update, update_all, delete, insert or `_all`."""  # noqa: E501

    when: str
    action: str
    condition: Filter | None = None
    values: Assignments = ()


@dataclass(frozen=True)
class Merge:
    handle: int
    batch: Batch
    keys: tuple[str, ...]
    clauses: tuple[Clause, ...]
    null_safe: bool = False
    branch: str = MAIN


@dataclass(frozen=True)
class BadRows:
    """Rows with one value that does not fit its column, as a list of dictionaries."""

    handle: int
    batch: Batch
    column: str
    value: Any
    operation: str = "append"


# Evolution


@dataclass(frozen=True)
class AddColumn:
    parent: Path
    field: Field


@dataclass(frozen=True)
class DropColumn:
    path: Path


@dataclass(frozen=True)
class RenameColumn:
    path: Path
    name: str


@dataclass(frozen=True)
class WidenColumn:
    path: Path
    type: Type


@dataclass(frozen=True)
class SetRequired:
    path: Path
    required: bool


@dataclass(frozen=True)
class SetDefault:
    path: Path
    type: Simple
    value: Any


@dataclass(frozen=True)
class MoveColumn:
    """Moves a column: `place` is first, before or after; `other` is the name of a sibling."""

    path: Path
    place: str
    other: str = ""


SchemaChange = AddColumn | DropColumn | RenameColumn | WidenColumn | SetRequired | SetDefault | MoveColumn


@dataclass(frozen=True)
class EvolveSchema:
    handle: int
    changes: tuple[SchemaChange, ...]


@dataclass(frozen=True)
class EvolveSpec:
    handle: int
    added: tuple[Term, ...] = ()
    removed: tuple[Term, ...] = ()


@dataclass(frozen=True)
class EvolveOrder:
    handle: int
    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class SetProperties:
    handle: int
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Upgrade:
    handle: int
    version: int


# References


@dataclass(frozen=True)
class CreateRef:
    handle: int
    name: str
    snapshot: int
    is_tag: bool = False


@dataclass(frozen=True)
class RemoveRef:
    handle: int
    name: str


@dataclass(frozen=True)
class FastForward:
    handle: int
    branch: str
    to: str


@dataclass(frozen=True)
class Rollback:
    handle: int
    snapshot: int


@dataclass(frozen=True)
class SetCurrent:
    handle: int
    snapshot: int


@dataclass(frozen=True)
class CherryPick:
    handle: int
    snapshot: int


@dataclass(frozen=True)
class Elsewhere:
    """A change by Iceberg (Java) in Spark to the rows of an `id` range: insert, delete, update or rewrite."""

    action: str
    low: int = 0
    high: int = 0
    branch: str = MAIN


@dataclass(frozen=True)
class Rewrite:
    """Data files are rewritten; the steps `meanwhile` are committed by other writers after the plan."""

    handle: int
    where: Filter | None = None
    rewrite_all: bool = False
    target_bytes: int | None = None
    branch: str = MAIN
    meanwhile: tuple[Step, ...] = ()


# Transactions, handles, reads


@dataclass(frozen=True)
class Transaction:
    """Steps that are committed together, after other writers have committed the steps `meanwhile`."""

    handle: int
    steps: tuple[Step, ...]
    meanwhile: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Load:
    """Reload the table."""

    handle: int


@dataclass(frozen=True)
class Read:
    """A scan with a handle; `choice` is None, ("snapshot", n), ("ref", name) or ("as_of", n-th history entry)."""

    handle: int
    where: Filter | None = None
    fields: tuple[Path, ...] | None = None
    choice: tuple[str, Any] | None = None
    limit: int | None = None
    case_sensitive: bool = True


@dataclass(frozen=True)
class ReadAppends:
    """An incremental scan between two entries of the history."""

    handle: int
    first: int | None
    last: int
    where: Filter | None = None


RowStep = Append | Overwrite | DynamicOverwrite | Delete | Update | Upsert | Merge | BadRows | Elsewhere | Rewrite
Evolution = EvolveSchema | EvolveSpec | EvolveOrder | SetProperties | Upgrade
Reference = CreateRef | RemoveRef | FastForward | Rollback | SetCurrent | CherryPick
Step = RowStep | Evolution | Reference | Transaction | Load | Read | ReadAppends


@dataclass(frozen=True)
class History:
    seed: int
    table: NewTable
    steps: tuple[Step, ...]
